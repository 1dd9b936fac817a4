"""The Parquet data set: its layout, manifests, and how logs come into it."""
