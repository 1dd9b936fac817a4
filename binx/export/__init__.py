"""What is made of logs: slices, Parquet, SQL, JSON, THL and index files, and where they are written."""
