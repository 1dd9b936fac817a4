# cython: language_level=3
"""What transactions are ranked by."""

cpdef enum Measure:
    MEASURE_BYTES = 0
    MEASURE_ROWS = 1
    MEASURE_DURATION = 2
    MEASURE_COMMIT_TIME = 3
