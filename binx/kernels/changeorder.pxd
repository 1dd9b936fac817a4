# cython: language_level=3
"""The order of row changes of several tables: by transaction, and by their numbers within it."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.output cimport Output
from binx.kernels.rowparts cimport Bytes

cdef struct Group:
    # Changes that are written alike, in order.
    const int64_t *versions
    const int64_t *numbers
    const int64_t *rows
    const uint8_t *marks
    # The rows events that the batch's rows are of, and the low byte of these events' flags; NULL where not told.
    const int64_t *events
    const uint8_t *flags
    # What stands before the first and behind the last of the changes that a statement takes together; else empty.
    Bytes head
    Bytes tail
    # What stands behind their number, which follows the tail; empty where the number is not wanted.
    Bytes behind_count
    int64_t length
    int32_t count
    int64_t first_part
    int64_t parts

cdef struct Place:
    int32_t group
    int32_t row

cdef struct Order:
    Output groups
    Output places
    Output run_versions
    Output run_marks
    Output run_ends
    int64_t total
    # Then there are no places: a change's number is its row.
    bint one_group


cdef inline Group *group_at(const Order *order, Place place) noexcept nogil:
    return (<Group *> order.groups.data) + place.group


cdef inline Place place_at(const Order *order, int64_t at) noexcept nogil:
    """The change that stands at a place of the order."""
    cdef Place place
    if order.one_group:
        place.group = 0
        place.row = <int32_t> at
        return place
    return (<Place *> order.places.data)[at]


cdef inline int64_t batch_row(const Group *group, Place place) noexcept nogil:
    """The row of the batch that a change stands in."""
    return group.rows[place.row] if group.rows != NULL else place.row


cdef inline int64_t version_of(const Order *order, Place place) noexcept nogil:
    cdef const Group *group = group_at(order, place)
    return group.versions[batch_row(group, place)]


cdef inline int64_t number_of(const Order *order, Place place) noexcept nogil:
    cdef const Group *group = group_at(order, place)
    return group.numbers[batch_row(group, place)]


cdef int merge_groups(Order *order, bint backwards) except -1 nogil
cdef void release_order(Order *order) noexcept nogil
