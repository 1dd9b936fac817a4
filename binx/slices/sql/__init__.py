"""Transactions as SQL, and the SQL that takes them back."""
