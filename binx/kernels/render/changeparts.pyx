# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Row changes of several tables as they are told before they are written, put in the log's order.

What a row's text consists of is told part by part: a column, how its values are spelled, and what stands around
them. The columns' own memory is kept, nothing of it is copied.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from binx.kernels.render.changeorder cimport Group, Order, merge_groups, release_order
from binx.kernels.output cimport Output, append, bytes_in, release
from binx.kernels.render.rowparts cimport *


cdef class Held:
    def __cinit__(self, object memory):
        PyObject_GetBuffer(memory, &self.view, PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef Bytes view_of(Held held):
    cdef Bytes view
    view.data = <const uint8_t *> held.view.buf
    view.size = held.view.len
    return view


cdef int no_such_row() except -1 with gil:
    raise ValueError("a change stands in a row that there is not")


cdef class ChangeParts:
    """Row changes, told one kind after the other."""

    def __cinit__(self, *_):
        memset(&self.parts, 0, sizeof(Output))
        memset(&self.order, 0, sizeof(Order))

    def __init__(self):
        self.held = []
        self.askers = []

    def __dealloc__(self):
        release(&self.parts)
        release_order(&self.order)

    cdef Bytes hold(self, object memory):
        """The address of some memory, which stays there as long as this object does; none for None."""
        cdef Bytes bytes_
        cdef Held held
        bytes_.data = NULL
        bytes_.size = 0
        if memory is not None:
            held = Held(memory)
            self.held.append(held)
            bytes_ = view_of(held)
        return bytes_

    def add(
        self,
        object versions,
        object numbers,
        object rows,
        object marks,
        object events,
        int64_t count,
        list parts,
        tuple statement=None,
    ):
        """Add changes of one kind; see the stub."""
        cdef Group group
        cdef Bytes memory
        cdef int64_t row
        memset(&group, 0, sizeof(Group))
        memory = self.hold(versions)
        group.versions = <const int64_t *> memory.data
        group.length = memory.size // 8
        memory = self.hold(numbers)
        group.numbers = <const int64_t *> memory.data
        if memory.size // 8 < group.length:
            raise ValueError("changes need a version and a number each")
        memory = self.hold(rows)
        group.rows = <const int64_t *> memory.data
        if count < 0 or count >> 31 or (rows is not None and memory.size // 8 < count):
            raise ValueError("fewer rows are told than changes are said to be")
        if rows is None and group.length < count:
            raise ValueError("fewer versions are told than changes are said to be")
        with nogil:
            for row in range(count if group.rows != NULL else 0):
                if not 0 <= group.rows[row] < group.length:
                    no_such_row()
        memory = self.hold(marks)
        group.marks = memory.data
        if marks is not None and memory.size < count:
            raise ValueError("fewer marks are told than changes are said to be")
        if events is not None:
            places, flags = events
            memory = self.hold(places)
            group.events = <const int64_t *> memory.data
            if memory.size // 8 < group.length:
                raise ValueError("changes need an event each")
            memory = self.hold(flags)
            group.flags = memory.data
            if flags is not None and memory.size < group.length:
                raise ValueError("changes need the flags of their events")
        if statement is not None:
            group.head = self.hold(statement[0])
            group.tail = self.hold(statement[1])
            group.behind_count = self.hold(statement[2])
        group.count = <int32_t> count
        group.first_part = self.parts.size // <int64_t> sizeof(Part)
        group.parts = len(parts)
        for part in parts:
            self.add_part(part, count)
        append(&self.order.groups, &group, sizeof(Group))
        self.order.total += count

    cdef int add_part(self, tuple given, int64_t count) except -1:
        cdef Part part
        cdef Bytes memory
        cdef int i
        memset(&part, 0, sizeof(Part))
        part.spelling, texts, part.parameter, part.listed, column, rows, mask, asker = given
        for i in range(TEXTS):
            if texts[i]:
                part.texts[i] = self.hold(texts[i])
                part.around += part.texts[i].size
        memory = self.hold(rows)
        part.rows = <const int64_t *> memory.data
        if rows is not None and memory.size // 8 < count:
            raise ValueError("fewer rows are told than changes are said to be")
        if mask is not None:
            bits, part.mask_offset = mask
            memory = self.hold(bits)
            part.mask = memory.data
            if memory.size * 8 < part.mask_offset + count:
                raise ValueError("a mask has fewer bits than there are changes")
        if column is not None:
            (
                data, part.width, offsets, part.offset_width, part.unit, validity, codes, part.code_width, part.offset,
                part.length,
            ) = column
            memory = self.hold(data)
            part.data = memory.data
            part.data_size = memory.size
            memory = self.hold(offsets)
            part.offsets = memory.data
            if offsets is not None:
                part.offset_count = memory.size // part.offset_width
            memory = self.hold(validity)
            part.validity = memory.data
            if validity is not None and memory.size * 8 < part.offset + part.length:
                raise ValueError("a column has fewer validity bits than values")
            memory = self.hold(codes)
            part.codes = memory.data
            if codes is not None and memory.size < (part.offset + part.length) * part.code_width:
                raise ValueError("a column has fewer codes than values")
            if codes is None and offsets is None and part.data_size < (part.offset + part.length) * part.width:
                raise ValueError("a column has fewer bytes than its values take")
        elif part.spelling != SPELL_NOTHING and part.spelling < SPELL_STATEMENT:
            raise ValueError("a part needs a column")
        if part.spelling == SPELL_ASKED:
            part.asker = len(self.askers)
            self.askers.append(asker)
        append(&self.parts, &part, sizeof(Part))
        return 0

    def merge(self, bint backwards):
        """Put the changes in order; see the stub."""
        cdef Order *order = &self.order
        with nogil:
            merge_groups(order, backwards)
        return (
            bytes_in(&order.run_versions),
            bytes_in(&order.run_marks),
            bytes_in(&order.run_ends),
        )
