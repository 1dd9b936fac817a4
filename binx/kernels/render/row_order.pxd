# cython: language_level=3
"""The order of row changes of several tables: by transaction, and by their numbers within it."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

from binx.kernels.output cimport append, append_byte, no_memory, release, reserve
from binx.kernels.render.row_changes cimport *



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


cdef inline int not_in_order() except -1 with gil:
    raise ValueError("the changes that were added together are not in order")


cdef inline int merge_groups(Order *order, bint backwards) except -1 nogil:
    """Put all changes in order, those of each run backwards where so asked, and find the runs."""
    cdef int64_t count = order.groups.size // <int64_t> sizeof(Group)
    order.one_group = count == 1 and not backwards
    if not order.one_group and order.total:
        reserve(&order.places, order.total * <int64_t> sizeof(Place))
        merge_by_heap(order, count)
        if backwards:
            turn_round(order)
    return find_runs(order)


cdef inline void release_order(Order *order) noexcept nogil:
    release(&order.groups)
    release(&order.places)
    release(&order.run_versions)
    release(&order.run_marks)
    release(&order.run_ends)


cdef inline bint before(const Order *order, Place one, Place other) noexcept nogil:
    cdef int64_t ours = version_of(order, one)
    cdef int64_t theirs = version_of(order, other)
    return ours < theirs or (ours == theirs and number_of(order, one) < number_of(order, other))


cdef inline uint8_t mark_of(const Order *order, Place place) noexcept nogil:
    cdef const Group *group = group_at(order, place)
    return group.marks[place.row] if group.marks != NULL else 0


cdef inline bint same_run(const Order *order, Place one, Place other) noexcept nogil:
    return version_of(order, one) == version_of(order, other) and mark_of(order, one) == mark_of(order, other)


cdef inline int merge_by_heap(Order *order, int64_t count) except -1 nogil:
    """Merge the groups by a heap of their first rows."""
    cdef const Group *groups = <const Group *> order.groups.data
    cdef Place *heap = <Place *> malloc((count + 1) * sizeof(Place))
    cdef Place *next_place = <Place *> order.places.data
    cdef Place top
    cdef int64_t size = 0
    cdef int64_t i
    if heap == NULL:
        no_memory(count * <int64_t> sizeof(Place))
    for i in range(count):
        if groups[i].count:
            heap[size].group = <int32_t> i
            heap[size].row = 0
            size += 1
    for i in range(size // 2 - 1, -1, -1):
        sink(order, heap, size, i)
    while size:
        top = heap[0]
        next_place[0] = top
        next_place += 1
        if top.row + 1 < groups[top.group].count:
            heap[0].row += 1
        else:
            size -= 1
            heap[0] = heap[size]
        sink(order, heap, size, 0)
    free(heap)
    return 0


cdef inline void sink(const Order *order, Place *heap, int64_t size, int64_t at) noexcept nogil:
    cdef int64_t child
    cdef Place moved = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and before(order, heap[child + 1], heap[child]):
            child += 1
        if not before(order, heap[child], moved):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


cdef inline void turn_round(Order *order) noexcept nogil:
    """Turn the changes of each run round; whoever wants all backwards takes the runs from the last to the first."""
    cdef Place *places = <Place *> order.places.data
    cdef Place swapped
    cdef int64_t first = 0
    cdef int64_t last
    cdef int64_t end
    while first < order.total:
        end = first + 1
        while end < order.total and same_run(order, places[end], places[first]):
            end += 1
        last = end - 1
        while first < last:
            swapped = places[first]
            places[first] = places[last]
            places[last] = swapped
            first += 1
            last -= 1
        first = end


cdef inline int find_runs(Order *order) except -1 nogil:
    """Where the changes of one transaction and of one mark end."""
    cdef Place place
    cdef int64_t at
    cdef int64_t version
    cdef int64_t last = -1
    cdef uint8_t mark
    cdef uint8_t last_mark = 0
    for at in range(order.total):
        place = place_at(order, at)
        version = version_of(order, place)
        mark = mark_of(order, place)
        if at == 0 or version != last or mark != last_mark:
            if at and version < last:
                not_in_order()
            if at:
                append(&order.run_ends, &at, 8)
            append(&order.run_versions, &version, 8)
            append_byte(&order.run_marks, mark)
            last = version
            last_mark = mark
    if order.total:
        append(&order.run_ends, &order.total, 8)
    return 0
