"""Parse DDL statements and keep the catalog of tables that results from them."""
