"""The Parquet data set: layout, manifests, and the export of binary logs."""
