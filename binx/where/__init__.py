"""Conditions on rows, as SQL says them, and the keys that rows have."""
