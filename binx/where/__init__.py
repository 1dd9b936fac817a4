"""Conditions on rows in SQL syntax, and row keys."""
