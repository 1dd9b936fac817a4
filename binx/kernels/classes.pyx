# cython: language_level=3
"""The classes that the boundary state machine tells events into, and what a step does to the transaction."""
