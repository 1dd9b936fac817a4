# cython: language_level=3
"""The GTIDs to search for: intervals of transaction numbers for each source."""

from libc.stdint cimport int64_t, uint64_t

from binx.kernels.output cimport Output
from binx.kernels.transactions.table cimport Transaction, has_gtid

cdef struct Span:
    int64_t first
    int64_t count

cdef struct Wanted:
    # Pairs of first and last number, ascending; and by source's slot, which pairs are its own.
    Output bounds
    Output spans


cdef inline bint in_intervals(const uint64_t *bounds, int64_t count, uint64_t number) noexcept nogil:
    """Whether a number is in ascending intervals: check the last one that begins at or before it."""
    cdef int64_t low = 0
    cdef int64_t high = count
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if bounds[2 * middle] <= number:
            low = middle + 1
        else:
            high = middle
    return low > 0 and number <= bounds[2 * low - 1]


cdef inline bint is_wanted(const Wanted *wanted, const Transaction *transaction) noexcept nogil:
    """Whether a transaction's GTID is among those searched for."""
    cdef const Span *span
    if not has_gtid(transaction) or transaction.source >= wanted.spans.size // <int64_t> sizeof(Span):
        return False
    span = (<const Span *> wanted.spans.data) + transaction.source
    return in_intervals((<const uint64_t *> wanted.bounds.data) + 2 * span.first, span.count, transaction.number)
