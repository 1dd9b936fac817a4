# cython: language_level=3
"""How the values of a column are spelled: the numbers that Python and the kernel of row texts share."""
