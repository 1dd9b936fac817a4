"""Schema statements: their parser, and the catalog of tables that they lead to."""
