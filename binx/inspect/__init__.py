"""Transactions and the lives of rows, as people read them."""
