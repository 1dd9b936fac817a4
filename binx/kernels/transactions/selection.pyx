# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Selected transactions: the ranges of a log's bytes that they are, and whether they fit each other."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from binx.kernels.hashing cimport slot_entry
from binx.kernels.output cimport Output, append, bytes_in, release
from binx.kernels.transactions.table cimport (
    GTID_MYSQL,
    HAS_CLOCK,
    LENGTH_WRONG,
    Transaction,
    TransactionTable,
)

cdef enum:
    UUID_SIZE = 16
    # In place of the number of transactions: one, which stands apart.
    APART = -1

cdef struct TransactionRange:
    int64_t start
    int64_t end
    int64_t transactions


def merged_ranges(TransactionTable table not None, const uint8_t[::1] mask, bint lengths_change):
    """The marked transactions as byte ranges, those that follow each other in the file merged into one."""
    cdef Output ranges
    memset(&ranges, 0, sizeof(Output))
    if mask is not None and mask.shape[0] != table.length():
        raise ValueError(f"a mask of {mask.shape[0]} for {table.length()} records")
    try:
        with nogil:
            merge(table, mask, lengths_change, &ranges)
        return bytes_in(&ranges)
    finally:
        release(&ranges)


cdef int merge(TransactionTable table, const uint8_t[::1] mask, bint lengths_change, Output *ranges) except -1 nogil:
    cdef Transaction *record
    cdef TransactionRange *last
    cdef TransactionRange fresh
    cdef int64_t i
    cdef bint masked = mask is not None
    for i in range(table.length()):
        if masked and not mask[i]:
            continue
        record = table.record(i)
        fresh.start = record.start
        fresh.end = record.end
        fresh.transactions = APART if stands_apart(table, record, lengths_change) else 1
        if ranges.size and fresh.transactions != APART:
            last = <TransactionRange *> (ranges.data + ranges.size) - 1
            if last.end == fresh.start and last.transactions != APART:
                last.end = fresh.end
                last.transactions += 1
                continue
        append(ranges, &fresh, sizeof(TransactionRange))
    return 0


cdef bint stands_apart(TransactionTable table, Transaction *record, bint lengths_change) noexcept nogil:
    """Whether a transaction's GTID event takes more than patching in place."""
    return (
        record.flags & LENGTH_WRONG
        or (lengths_change and record.claimed_length)
        or (record.gtid_kind == GTID_MYSQL and slot_entry(table.sources, record.source).size > UUID_SIZE)
    )


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
