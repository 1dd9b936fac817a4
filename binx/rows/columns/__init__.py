"""Column names and types of tables, and column values as Arrow arrays."""
