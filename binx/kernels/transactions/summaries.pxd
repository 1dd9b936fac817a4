# cython: language_level=3
"""Selected transactions: their byte ranges in a log, logical clock checks, and rankings."""

from libc.stdint cimport int64_t

from binx.kernels.calendar cimport SECOND
from binx.kernels.transactions.table cimport COMMIT_TIME_FROM_GTID, Transaction


cpdef enum Measure:
    MEASURE_BYTES = 0
    MEASURE_ROWS = 1
    MEASURE_DURATION = 2
    MEASURE_COMMIT_TIME = 3

cdef inline int64_t committed_at(const Transaction *record) noexcept nogil:
    """Return the commit time on the originating server, in µs since 1970."""
    if record.original_commit_timestamp:
        return record.original_commit_timestamp
    return record.commit_timestamp

cdef inline int64_t whole_seconds(const Transaction *record) noexcept nogil:
    """Return the seconds from the start of the first statement to the commit; -1 if the clock went back.

    The start is logged in whole seconds, so the real duration may be up to a second more or less.
    """
    cdef int64_t seconds = committed_at(record) // SECOND - record.begin_timestamp
    return seconds if seconds >= 0 else -1

cdef inline int64_t sure_seconds(const Transaction *record) noexcept nogil:
    """Return the seconds that passed at least between these; -1 if the clock went back."""
    cdef int64_t seconds = whole_seconds(record)
    return seconds - 1 if seconds > 0 else seconds

cdef inline int64_t duration_most(const Transaction *record) noexcept nogil:
    """Return the maximum time from the start of the first statement to the commit, in µs."""
    cdef int64_t size = committed_at(record) - record.begin_timestamp * SECOND
    return size if record.flags & COMMIT_TIME_FROM_GTID else size + SECOND - 1

cdef inline int64_t duration_least(const Transaction *record) noexcept nogil:
    """Return the minimum of that time, in µs."""
    cdef int64_t size = committed_at(record) - record.begin_timestamp * SECOND - SECOND + 1
    return size if size > 0 else 0
