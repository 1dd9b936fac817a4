"""Row changes: names and types of columns from metadata and DDL, and the values as Arrow arrays."""
