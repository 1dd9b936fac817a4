"""Compiled loops over many events, rows or values, which run without the GIL."""
