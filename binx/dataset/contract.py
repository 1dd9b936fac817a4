"""The version of what readers of a data set and of index files rely on."""

CONTRACT = 1
"""The data set's version: readers refuse one that they do not know."""
