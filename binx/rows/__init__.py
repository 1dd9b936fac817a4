"""Decode row changes: column names and types from metadata and DDL, values as Arrow arrays."""
