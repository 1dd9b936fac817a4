"""Columns of text by their character sets."""
