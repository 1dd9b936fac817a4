"""How binx writes SQL: values, what a statement says about a table, sessions."""
