# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Render row changes of several tables as one text in log order, directly from the columns' buffers.

The caller describes a row's text part by part: a column, the format of its values, and the text around
them. The text of a whole row or column is never built: the output is returned in pieces of
bounded size, and a long value is split across as many pieces as it takes.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memset

from binx.kernels.output cimport Output, append, bytes_in, release, reserve
from binx.kernels.digits cimport NUMBER_MAXIMUM, put_signed
from binx.kernels.render.row_values cimport *

cdef class BufferView:
    """A view of some memory, kept while its address is in use."""

    cdef Py_buffer view

    def __cinit__(self, object memory):
        PyObject_GetBuffer(memory, &self.view, PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef Bytes bytes_of(BufferView memory):
    cdef Bytes view
    view.data = <const uint8_t *> memory.view.buf
    view.size = memory.view.len
    return view


cdef int no_such_row() except -1 with gil:
    raise ValueError("a change stands in a row that there is not")


cdef class ChangeTexts:
    cdef Output parts
    cdef Output groups
    cdef int64_t total
    # Versions, numbers, rows, marks and count of each group's changes, until they are merged.
    cdef list orders
    # The changes in output order; NULL if that is the order of the only group.
    cdef const RowReference *places
    cdef const int64_t *run_ends
    cdef int64_t runs
    cdef list views
    cdef Writer writer
    cdef Bytes separator
    # The current change, the end of the changes, and the current change's part.
    cdef int64_t at
    cdef int64_t stop
    cdef int64_t part
    # Bytes written of the current row, or of the current statement that combines several rows.
    cdef int64_t written
    cdef bint row_begun
    # With begin_framed: the current run, and the texts before and after each transaction.
    cdef bint framed
    cdef bint headed
    cdef int64_t run
    cdef Bytes heads
    cdef Bytes head_ends
    cdef Bytes foot
    cdef list frame
    # Index of the next head.
    cdef int64_t head
    # The open statement, to which rows can be added: its group, its number of rows, and its maximum bytes.
    cdef const Group *open
    cdef int64_t rows
    cdef int64_t statement_bytes
    cdef int64_t packet
    cdef readonly int64_t last_version
    cdef readonly int64_t long_texts
    cdef readonly int64_t longest

    def __init__(
        self, bytes separator, int64_t limit, int64_t packet, int64_t last_version, int64_t statement_bytes=0
    ):
        self.views = []
        self.orders = []
        self.separator = self.hold(separator)
        self.writer.limit = limit
        self.writer.byte = -1
        self.packet = packet
        self.statement_bytes = statement_bytes
        self.last_version = last_version

    def __dealloc__(self):
        release(&self.parts)
        release(&self.writer.out)
        release(&self.groups)

    cdef Bytes hold(self, object memory):
        """Keep a buffer alive as long as this object, and return its address and size; NULL for None."""
        cdef BufferView view
        if memory is None:
            return Bytes(NULL, 0)
        view = BufferView(memory)
        self.views.append(view)
        return bytes_of(view)

    def add(
        self,
        object versions,
        object numbers,
        object rows,
        object marks,
        int64_t count,
        list parts,
        tuple statement=None,
    ):
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
            raise ValueError("fewer rows than changes")
        if rows is None and group.length < count:
            raise ValueError("fewer versions than changes")
        with nogil:
            for row in range(count if group.rows != NULL else 0):
                if not 0 <= group.rows[row] < group.length:
                    no_such_row()
        memory = self.hold(marks)
        group.marks = memory.data
        if marks is not None and memory.size < count:
            raise ValueError("fewer marks than changes")
        if statement is not None:
            group.head = self.hold(statement[0])
            group.tail = self.hold(statement[1])
            group.behind_count = self.hold(statement[2])
        group.count = <int32_t> count
        group.first_part = self.parts.size // <int64_t> sizeof(Part)
        group.parts = len(parts)
        for part in parts:
            self.add_part(part, count)
        append(&self.groups, &group, sizeof(Group))
        self.orders.append((versions, numbers, rows, marks, count))
        self.total += count

    cdef int add_part(self, tuple fields, int64_t count) except -1:
        cdef Part part
        cdef Bytes memory
        cdef int i
        memset(&part, 0, sizeof(Part))
        part.spelling, texts, part.parameter, part.listed, column, rows, mask = fields
        for i in range(TEXTS):
            if texts[i]:
                part.texts[i] = self.hold(texts[i])
                part.text_size += part.texts[i].size
        memory = self.hold(rows)
        part.rows = <const int64_t *> memory.data
        if rows is not None and memory.size // 8 < count:
            raise ValueError("fewer rows than changes")
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
            if codes is not None and part.code_width not in (1, 4) or offsets is not None and part.offset_width not in (4, 8):
                raise ValueError("a column's codes or offsets are of a width that is not read")
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
        elif part.spelling != SPELL_NOTHING and part.spelling < SPELL_EVENT:
            raise ValueError("a part needs a column")
        append(&self.parts, &part, sizeof(Part))
        return 0

    def merge(self, bint backwards):
        import numpy as np

        parts = [
            (
                np.frombuffer(versions, np.int64)[slice(count) if rows is None else np.frombuffer(rows, np.int64)[:count]],
                np.frombuffer(numbers, np.int64)[slice(count) if rows is None else np.frombuffer(rows, np.int64)[:count]],
                np.zeros(count, np.uint8) if marks is None else np.frombuffer(marks, np.uint8)[:count],
                np.stack([np.full(count, group, np.int32), np.arange(count, dtype=np.int32)], axis=1),
            )
            for group, (versions, numbers, rows, marks, count) in enumerate(self.orders)
            if count
        ]
        self.orders = []
        if not parts:
            return b"", b"", b""
        versions, numbers, marks, places = (np.concatenate(columns) for columns in zip(*parts))
        in_order = len(parts) == self.groups.size // <int64_t> sizeof(Group) == 1 and not backwards
        if len(parts) > 1:
            order = np.lexsort((numbers, versions))
            versions, marks, places = versions[order], marks[order], places[order]
        elif (np.diff(versions) < 0).any():
            raise ValueError("the changes that were added together are not in order")
        starts = np.flatnonzero(np.append(True, (np.diff(versions) != 0) | (np.diff(marks) != 0)))
        ends = np.append(starts[1:], len(versions))
        if backwards:
            places = places[np.repeat(starts + ends - 1, ends - starts) - np.arange(len(versions))]
        if not in_order:
            self.places = <const RowReference *> self.hold(np.ascontiguousarray(places)).data
        ends = ends.astype(np.int64)
        self.run_ends = <const int64_t *> self.hold(ends).data
        self.runs = len(ends)
        return versions[starts].tobytes(), marks[starts].tobytes(), ends.tobytes()

    def begin(self, int64_t first, int64_t last, int64_t ordinal=0):
        if not 0 <= first <= last <= self.total:
            raise ValueError("there are fewer changes")
        self.at = first
        self.stop = last
        self.part = 0
        self.writer.byte = -1
        self.writer.ordinal = ordinal
        self.row_begun = False
        self.framed = False
        self.open = NULL

    def begin_framed(self, int64_t first_run, int64_t last_run, object head_ends, object heads, bytes foot):
        cdef const int64_t *ends = self.run_ends
        if not 0 <= first_run < last_run <= self.runs:
            raise ValueError("there are fewer transactions")
        self.begin(ends[first_run - 1] if first_run else 0, ends[last_run - 1])
        self.frame = [BufferView(head_ends), BufferView(heads), foot]
        self.head_ends = bytes_of(self.frame[0])
        self.heads = bytes_of(self.frame[1])
        self.foot.data = <const uint8_t *> <char *> foot
        self.foot.size = len(foot)
        if self.head_ends.size // 8 < last_run - first_run:
            raise ValueError("there are fewer heads than transactions")
        self.framed = True
        self.headed = False
        self.run = first_run
        self.head = 0

    def number_at(self, int64_t at):
        cdef RowReference place
        cdef const Group *group
        if not 0 <= at < self.total:
            raise ValueError("there are fewer changes")
        place = self.place_at(at)
        group = self.group_at(place)
        return group.numbers[group.rows[place.row] if group.rows != NULL else place.row]

    def step(self):
        cdef int state
        with nogil:
            state = self.write()
        return state

    @property
    def size(self):
        return self.writer.out.size

    def taken(self):
        cdef Output *out = &self.writer.out
        cdef bytes piece = bytes_in(out)
        out.size = 0
        return piece

    cdef inline RowReference place_at(self, int64_t at) noexcept nogil:
        """Return the change at a position in output order."""
        cdef RowReference place
        if self.places != NULL:
            return self.places[at]
        place.group = 0
        place.row = <int32_t> at
        return place

    cdef inline const Group *group_at(self, RowReference place) noexcept nogil:
        return (<const Group *> self.groups.data) + place.group

    cdef inline int64_t version_of(self, RowReference place) noexcept nogil:
        cdef const Group *group = self.group_at(place)
        return group.versions[group.rows[place.row] if group.rows != NULL else place.row]

    cdef inline Part *first_part(self, RowReference place) noexcept nogil:
        return (<Part *> self.parts.data) + self.group_at(place).first_part

    cdef int write(self) except -1 nogil:
        cdef Writer *writer = &self.writer
        cdef RowReference place
        cdef Part *parts
        cdef int64_t count
        cdef int64_t old_size
        cdef int state = STATE_DONE
        while self.at < self.stop:
            place = self.place_at(self.at)
            if not self.row_begun:
                self.begin_row(place)
            parts = self.first_part(place)
            count = self.group_at(place).parts
            old_size = writer.out.size
            while self.part < count:
                state = write_part(writer, parts + self.part, place.row)
                if state != STATE_DONE:
                    break
                self.part += 1
                if writer.out.size >= writer.limit:
                    state = STATE_FULL
                    break
            self.written += writer.out.size - old_size
            if state != STATE_DONE:
                return state
            self.end_row()
            if writer.out.size >= writer.limit:
                return STATE_FULL
        return STATE_DONE

    cdef int begin_row(self, RowReference place) except -1 nogil:
        cdef Output *out = &self.writer.out
        cdef int64_t version = self.version_of(place)
        if self.framed and not self.headed:
            self.put_head()
            self.headed = True
        elif version == self.last_version:
            append(out, self.separator.data, self.separator.size)
        self.last_version = version
        self.row_begun = True
        self.writer.listed = False
        self.open_statement(place)
        return 0

    cdef int open_statement(self, RowReference place) except -1 nogil:
        """Add the row to the open statement, or close that and open another."""
        cdef Output *out = &self.writer.out
        cdef const Group *group = self.group_at(place)
        if self.open != NULL:
            if same_text(&self.open.head, &group.head) and self.written + self.row_maximum(place) <= self.statement_bytes:
                append(out, b",\n", 2)
                self.written += 2
                self.rows += 1
                return 0
            self.close_statement()
        self.written = group.head.size
        if group.head.size:
            append(out, group.head.data, group.head.size)
            self.open = group
            self.rows = 1
        return 0

    cdef int close_statement(self) except -1 nogil:
        cdef Output *out = &self.writer.out
        append(out, self.open.tail.data, self.open.tail.size)
        self.written += self.open.tail.size
        if self.open.behind_count.size:
            reserve(out, NUMBER_MAXIMUM)
            put_signed(out, self.rows)
            append(out, self.open.behind_count.data, self.open.behind_count.size)
        self.open = NULL
        return self.measure()

    cdef int64_t row_maximum(self, RowReference place) except -1 nogil:
        """Return an upper bound of the bytes that the row and its statement's end take."""
        cdef const Group *group = self.group_at(place)
        cdef Part *part = self.first_part(place)
        cdef int64_t size = group.tail.size
        cdef int64_t i
        for i in range(group.parts):
            size += part_maximum(part + i, place.row)
        return size

    cdef int measure(self) noexcept nogil:
        """Compare a complete text's size with the packet size and the longest text."""
        if self.written > self.packet:
            self.long_texts += 1
        if self.written > self.longest:
            self.longest = self.written
        return 0

    cdef int put_head(self) except -1 nogil:
        cdef const int64_t *ends = <const int64_t *> self.head_ends.data
        cdef int64_t first = ends[self.head - 1] if self.head else 0
        cdef int64_t last = ends[self.head]
        if not 0 <= first <= last <= self.heads.size:
            bad_column()
        append(&self.writer.out, self.heads.data + first, last - first)
        self.head += 1
        return 0

    cdef int end_row(self) except -1 nogil:
        cdef bint ends_run
        self.part = 0
        self.at += 1
        self.writer.ordinal += 1
        self.row_begun = False
        ends_run = self.framed and self.at == self.run_ends[self.run]
        if self.open == NULL:
            self.measure()
        elif ends_run or self.at == self.stop:
            self.close_statement()
        if ends_run:
            append(&self.writer.out, self.foot.data, self.foot.size)
            self.run += 1
            self.headed = False
        return 0


cdef inline bint same_text(const Bytes *left, const Bytes *right) noexcept nogil:
    return left.size == right.size and memcmp(left.data, right.data, left.size) == 0
