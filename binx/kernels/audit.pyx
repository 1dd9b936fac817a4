# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Checks of all transactions of a table against each other."""

from libc.stdint cimport int64_t

from binx.kernels.transactions cimport HAS_CLOCK, Transaction, TransactionTable


def clock_faults(TransactionTable table not None, int64_t reached):
    """Hold the logical clock: (transactions that break it, the first one's index or -1, the last number).

    A transaction's sequence number is more than that of the one before it in the file, and than the number of
    the one that it had to wait for. Transactions that take no part in the clock have 0.
    """
    cdef int64_t faults = 0
    cdef int64_t first = -1
    cdef int64_t i
    cdef const Transaction *record
    with nogil:
        for i in range(table.length()):
            record = table.record(i)
            if not record.flags & HAS_CLOCK or record.sequence_number == 0:
                continue
            if (
                record.sequence_number <= reached
                or record.last_committed < 0
                or record.last_committed >= record.sequence_number
            ):
                if faults == 0:
                    first = i
                faults += 1
            reached = record.sequence_number
    return faults, first, reached


def flagged(TransactionTable table not None, int flag):
    """Transactions that have a flag: (how many, the first one's index or -1)."""
    cdef int64_t count = 0
    cdef int64_t first = -1
    cdef int64_t i
    with nogil:
        for i in range(table.length()):
            if table.record(i).flags & flag:
                if count == 0:
                    first = i
                count += 1
    return count, first
