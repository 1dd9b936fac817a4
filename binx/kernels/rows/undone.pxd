# cython: language_level=3
"""Rows events that their transaction itself undid, with ROLLBACK TO SAVEPOINT."""

from libc.stdint cimport int64_t

cdef struct UndoneRun:
    # Index of the transaction in its table; the first of its rows events that is undone, and the one after the last.
    int64_t index
    int64_t first
    int64_t stop

cdef struct UndoneRuns:
    const UndoneRun *next
    const UndoneRun *end


cdef inline bint is_undone(UndoneRuns *runs, int64_t index, int64_t rows_event) noexcept nogil:
    """Whether a transaction's rows event is in a run; they must be asked for in order."""
    while runs.next < runs.end and (
        runs.next.index < index or (runs.next.index == index and runs.next.stop <= rows_event)
    ):
        runs.next += 1
    return runs.next < runs.end and runs.next.index == index and runs.next.first <= rows_event
