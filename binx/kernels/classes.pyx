# cython: language_level=3
"""The classes that the boundary state machine tells events into."""
