"""Parse the rows of text dumps."""
