# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What transactions are ranked by, and those of them that have most of it."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from binx.kernels.output cimport Output, append, bytes_in, release
from binx.kernels.transactions.table cimport Transaction, TransactionTable

cdef struct Ranked:
    int64_t value
    int64_t index


cdef inline int64_t measured(const Transaction *record, int measure) noexcept nogil:
    if measure == MEASURE_ROWS:
        return record.rows
    if measure == MEASURE_DURATION:
        return whole_seconds(record)
    if measure == MEASURE_COMMIT_TIME:
        return record.commit_timestamp
    return record.end - record.start


def measures(TransactionTable table, mask, int measure):
    """A measure of the marked records.

    Args:
        table: the records.
        mask: one byte each, or None for all.
        measure: one of ``Measure``.

    Returns:
        8 bytes each, native byte order.
    """
    cdef const uint8_t[::1] marks = table.mask() if mask is None else mask
    cdef Output out
    cdef int64_t value
    cdef int64_t i
    if marks.shape[0] != table.length():
        raise ValueError(f"a mask of {marks.shape[0]} for {table.length()} records")
    memset(&out, 0, sizeof(Output))
    try:
        with nogil:
            for i in range(table.length()):
                if marks[i] == 1:
                    value = measured(table.record(i), measure)
                    append(&out, &value, sizeof(int64_t))
        return bytes_in(&out)
    finally:
        release(&out)


def rank(TransactionTable table, mask, int measure, bint smallest, int64_t limit, floor=None):
    """The marked records that have most (or least) of a measure.

    Args:
        table: the records.
        mask: one byte each, or None for all.
        measure: one of ``Measure``.
        smallest: look for the least.
        limit: how many at most.
        floor: take only what goes beyond this value.

    Returns:
        Pairs of value and index, best first; of equals the earlier ones.
    """
    cdef Output heap
    cdef Ranked item
    cdef Ranked *items
    cdef int64_t sign = -1 if smallest else 1
    cdef bint bounded = floor is not None
    cdef int64_t least = sign * <int64_t> floor if bounded else 0
    cdef const uint8_t[::1] marks = table.mask() if mask is None else mask
    cdef int64_t i
    if marks.shape[0] != table.length():
        raise ValueError(f"a mask of {marks.shape[0]} for {table.length()} records")
    memset(&heap, 0, sizeof(Output))
    try:
        with nogil:
            for i in range(table.length()):
                if not marks[i]:
                    continue
                item.value = sign * measured(table.record(i), measure)
                item.index = i
                if bounded and item.value <= least:
                    continue
                if heap.size // <int64_t> sizeof(Ranked) < limit:
                    append(&heap, &item, sizeof(Ranked))
                    rise(<Ranked *> heap.data, heap.size // <int64_t> sizeof(Ranked) - 1)
                elif limit > 0 and (<Ranked *> heap.data)[0].value < item.value:
                    (<Ranked *> heap.data)[0] = item
                    sink(<Ranked *> heap.data, heap.size // <int64_t> sizeof(Ranked))
        items = <Ranked *> heap.data
        found = [(items[i].value, items[i].index) for i in range(heap.size // <int64_t> sizeof(Ranked))]
    finally:
        release(&heap)
    found.sort(key=lambda pair: (-pair[0], pair[1]))
    return [(sign * value, index) for value, index in found]


cdef inline bint worse(const Ranked *one, const Ranked *other) noexcept nogil:
    """Whether one goes before the other does: it has less, or as much and stands later."""
    return one.value < other.value or (one.value == other.value and one.index > other.index)


cdef void rise(Ranked *heap, int64_t place) noexcept nogil:
    """Put the last item of a heap, whose worst is its first, in its place."""
    cdef Ranked moved
    cdef int64_t parent
    while place > 0:
        parent = (place - 1) // 2
        if not worse(&heap[place], &heap[parent]):
            return
        moved = heap[place]
        heap[place] = heap[parent]
        heap[parent] = moved
        place = parent


cdef void sink(Ranked *heap, int64_t size) noexcept nogil:
    """Put the first item of a heap, whose worst is its first, in its place."""
    cdef Ranked moved
    cdef int64_t place = 0
    cdef int64_t child
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and worse(&heap[child + 1], &heap[child]):
            child += 1
        if not worse(&heap[child], &heap[place]):
            return
        moved = heap[place]
        heap[place] = heap[child]
        heap[child] = moved
        place = child
