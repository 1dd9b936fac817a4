"""Transactions as SQL, and SQL that undoes them."""
