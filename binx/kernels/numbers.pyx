# cython: language_level=3
"""What the values of a column are: the numbers that Python and the page kernel share."""
