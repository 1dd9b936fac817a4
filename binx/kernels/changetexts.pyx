# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Row changes of several tables as one text in the log's order, straight from the columns' own memory.

What a row's text consists of is told part by part: a column, how its values are spelled, and what stands around
them. No text of a whole row, and none of a whole column, is ever made: the output is handed over in pieces of
bounded size, and a long value is spelled across as many of them as it takes.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from binx.kernels.digits cimport put, put_byte, put_signed, put_unsigned
from binx.kernels.output cimport Output, append, append_byte, no_memory, release, reserve
from binx.kernels.spelling cimport *

cpdef enum Spelling:
    SPELL_NOTHING = 0
    SPELL_TEXT = 1
    SPELL_SQL = 2
    SPELL_JSON = 3
    SPELL_HEXADECIMAL = 4
    SPELL_BASE64 = 5
    SPELL_SIGNED = 6
    SPELL_UNSIGNED = 7
    SPELL_DECIMAL = 8
    SPELL_MOMENT = 9
    SPELL_INSTANT = 10
    SPELL_DATE = 11
    SPELL_TIME = 12
    SPELL_ASKED = 13

cpdef enum State:
    STATE_DONE = 0
    STATE_FULL = 1
    STATE_ASKED = 2

cdef enum:
    # Bytes of a long value that are spelled at a time; a multiple of three, for base64.
    STEP = 49152
    LEAD = 0
    OPEN = 1
    CLOSE = 2
    NULL_TEXT = 3
    OTHERWISE = 4
    ODD_OPEN = 5
    ODD_CLOSE = 6
    TEXTS = 7

cdef const char *HEX_OPEN = b"_utf8mb4 x'"

cdef struct Bytes:
    const uint8_t *data
    int64_t size

cdef struct Part:
    int spelling
    int width
    int offset_width
    int code_width
    int parameter
    bint listed
    int64_t unit
    int64_t offset
    int64_t length
    int64_t mask_offset
    int64_t around
    int64_t asker
    const uint8_t *data
    int64_t data_size
    const uint8_t *offsets
    int64_t offset_count
    const uint8_t *validity
    const uint8_t *codes
    const uint8_t *mask
    const int64_t *rows
    Bytes texts[TEXTS]

cdef struct Group:
    const int64_t *versions
    const int64_t *numbers
    const int64_t *rows
    const uint8_t *marks
    int64_t length
    int32_t count
    int64_t first_part
    int64_t parts

cdef struct Place:
    int32_t group
    int32_t row


cdef int bad_column() except -1 with gil:
    raise ValueError("a column does not fit the rows that are asked for")


cdef inline bint bit(const uint8_t *bits, int64_t place) noexcept nogil:
    return (bits[place >> 3] >> (place & 7)) & 1


cdef class Held:
    """A view of some memory, kept while its address is in use."""

    cdef Py_buffer view

    def __cinit__(self, object memory):
        PyObject_GetBuffer(memory, &self.view, PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef class ChangeTexts:
    """Row changes, to be written in the log's order.

    Args:
        separator: stands between two changes of one transaction.
        limit: bytes at which a piece of the output is handed over.
    """

    cdef Output out
    cdef Output parts
    cdef Output groups
    cdef Output order
    cdef Output run_versions
    cdef Output run_marks
    cdef Output run_ends
    cdef list held
    cdef list askers
    cdef Bytes separator
    cdef int64_t limit
    cdef int64_t total
    cdef bint one_group
    # Where the writing stands: row, part, byte of the value; -1 where no value is begun.
    cdef int64_t at
    cdef int64_t stop
    cdef int64_t part
    cdef int64_t byte
    cdef int64_t written
    cdef TextClass text_class
    cdef bint row_begun
    cdef bint listed
    # Around whole transactions: the run at hand, and what stands before and behind each.
    cdef bint framed
    cdef bint headed
    cdef int64_t run
    cdef int64_t first_run
    cdef Bytes heads
    cdef Bytes head_ends
    cdef Bytes foot
    cdef list frame
    cdef int64_t packet
    cdef readonly int64_t last_version
    cdef readonly int64_t long_texts
    cdef readonly int64_t longest

    def __cinit__(self, *_):
        memset(&self.out, 0, sizeof(Output))
        memset(&self.parts, 0, sizeof(Output))
        memset(&self.groups, 0, sizeof(Output))
        memset(&self.order, 0, sizeof(Output))
        memset(&self.run_versions, 0, sizeof(Output))
        memset(&self.run_marks, 0, sizeof(Output))
        memset(&self.run_ends, 0, sizeof(Output))

    def __init__(self, bytes separator, int64_t limit, int64_t packet, int64_t last_version):
        self.held = []
        self.askers = []
        self.separator = self.hold(separator)
        self.limit = limit
        self.packet = packet
        self.byte = -1
        self.last_version = last_version

    def __dealloc__(self):
        release(&self.out)
        release(&self.parts)
        release(&self.groups)
        release(&self.order)
        release(&self.run_versions)
        release(&self.run_marks)
        release(&self.run_ends)

    cdef Bytes hold(self, object memory):
        """The address of some memory, which stays there as long as this object does; none for None."""
        cdef Bytes bytes_
        cdef Held held
        bytes_.data = NULL
        bytes_.size = 0
        if memory is not None:
            held = Held(memory)
            self.held.append(held)
            bytes_.data = <const uint8_t *> held.view.buf
            bytes_.size = held.view.len
        return bytes_

    def add(self, object versions, object numbers, object rows, object marks, int64_t count, list parts):
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
        for row in range(count if rows is not None else 0):
            if not 0 <= group.rows[row] < group.length:
                raise ValueError("a change stands in a row that there is not")
        memory = self.hold(marks)
        group.marks = memory.data
        if marks is not None and memory.size < count:
            raise ValueError("fewer marks are told than changes are said to be")
        group.count = <int32_t> count
        group.first_part = self.parts.size // <int64_t> sizeof(Part)
        group.parts = len(parts)
        for part in parts:
            self.add_part(part, count)
        append(&self.groups, &group, sizeof(Group))
        self.total += count

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
        elif part.spelling != SPELL_NOTHING:
            raise ValueError("a part needs a column")
        if part.spelling == SPELL_ASKED:
            part.asker = len(self.askers)
            self.askers.append(asker)
        append(&self.parts, &part, sizeof(Part))
        return 0

    def merge(self, bint backwards):
        """Put the changes in order; see the stub."""
        cdef int64_t count = self.groups.size // <int64_t> sizeof(Group)
        self.one_group = count == 1 and not backwards
        if not self.one_group and self.total:
            reserve(&self.order, self.total * <int64_t> sizeof(Place))
            with nogil:
                self.merge_groups(count)
                if backwards:
                    self.turn_round()
        with nogil:
            self.find_runs()
        return (
            self.run_versions.data[: self.run_versions.size] if self.run_versions.size else b"",
            self.run_marks.data[: self.run_marks.size] if self.run_marks.size else b"",
            self.run_ends.data[: self.run_ends.size] if self.run_ends.size else b"",
        )

    cdef inline Place place(self, int64_t at) noexcept nogil:
        cdef Place place
        if self.one_group:
            place.group = 0
            place.row = <int32_t> at
            return place
        return (<Place *> self.order.data)[at]

    cdef inline int64_t version_of(self, Place place) noexcept nogil:
        cdef Group *group = (<Group *> self.groups.data) + place.group
        return group.versions[group.rows[place.row] if group.rows != NULL else place.row]

    cdef inline int64_t number_of(self, Place place) noexcept nogil:
        cdef Group *group = (<Group *> self.groups.data) + place.group
        return group.numbers[group.rows[place.row] if group.rows != NULL else place.row]

    cdef inline bint before(self, Place one, Place other) noexcept nogil:
        cdef int64_t ours = self.version_of(one)
        cdef int64_t theirs = self.version_of(other)
        return ours < theirs or (ours == theirs and self.number_of(one) < self.number_of(other))

    cdef int merge_groups(self, int64_t count) except -1 nogil:
        """Merge the groups, each of which is in order, by a heap of their first rows."""
        cdef Group *groups = <Group *> self.groups.data
        cdef Place *heap = <Place *> malloc((count + 1) * sizeof(Place))
        cdef Place *order = <Place *> self.order.data
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
            self.sink(heap, size, i)
        while size:
            top = heap[0]
            order[0] = top
            order += 1
            if top.row + 1 < groups[top.group].count:
                heap[0].row += 1
            else:
                size -= 1
                heap[0] = heap[size]
            self.sink(heap, size, 0)
        free(heap)
        return 0

    cdef void sink(self, Place *heap, int64_t size, int64_t at) noexcept nogil:
        cdef int64_t child
        cdef Place moved = heap[at]
        while True:
            child = 2 * at + 1
            if child >= size:
                break
            if child + 1 < size and self.before(heap[child + 1], heap[child]):
                child += 1
            if not self.before(heap[child], moved):
                break
            heap[at] = heap[child]
            at = child
        heap[at] = moved

    cdef void turn_round(self) noexcept nogil:
        """Turn the changes of each transaction round."""
        cdef Place *order = <Place *> self.order.data
        cdef Place swapped
        cdef int64_t first = 0
        cdef int64_t last
        cdef int64_t end
        while first < self.total:
            end = first + 1
            while end < self.total and self.version_of(order[end]) == self.version_of(order[first]):
                end += 1
            last = end - 1
            while first < last:
                swapped = order[first]
                order[first] = order[last]
                order[last] = swapped
                first += 1
                last -= 1
            first = end

    cdef int find_runs(self) except -1 nogil:
        """Where the changes of one transaction and of one mark end."""
        cdef Place place
        cdef Group *group
        cdef int64_t at
        cdef int64_t version
        cdef int64_t last = -1
        cdef uint8_t mark
        cdef uint8_t last_mark = 0
        for at in range(self.total):
            place = self.place(at)
            group = (<Group *> self.groups.data) + place.group
            version = self.version_of(place)
            mark = group.marks[place.row] if group.marks != NULL else 0
            if at == 0 or version != last or mark != last_mark:
                if at and version < last:
                    bad_column()
                if at:
                    append(&self.run_ends, &at, 8)
                append(&self.run_versions, &version, 8)
                append_byte(&self.run_marks, mark)
                last = version
                last_mark = mark
        if self.total:
            append(&self.run_ends, &self.total, 8)
        return 0

    def begin(self, int64_t first, int64_t last):
        """Set out to write the changes from one place up to another."""
        if not 0 <= first <= last <= self.total:
            raise ValueError("there are fewer changes")
        self.at = first
        self.stop = last
        self.part = 0
        self.byte = -1
        self.row_begun = False
        self.framed = False

    def begin_framed(self, int64_t first_run, int64_t last_run, object head_ends, object heads, bytes foot):
        """Set out to write all changes of some runs, each of which is a whole transaction; see the stub."""
        cdef const int64_t *ends = <const int64_t *> self.run_ends.data
        if not 0 <= first_run < last_run <= self.run_ends.size // 8:
            raise ValueError("there are fewer transactions")
        self.begin(ends[first_run - 1] if first_run else 0, ends[last_run - 1])
        self.frame = [Held(head_ends), Held(heads), foot]
        self.head_ends = view_of(self.frame[0])
        self.heads = view_of(self.frame[1])
        self.foot.data = <const uint8_t *> <char *> foot
        self.foot.size = len(foot)
        if self.head_ends.size // 8 < last_run - first_run:
            raise ValueError("there are fewer heads than transactions")
        self.framed = True
        self.headed = False
        self.run = self.first_run = first_run

    def step(self):
        """Write on: STATE_DONE, STATE_FULL where a piece is to be taken, STATE_ASKED; see the stub."""
        cdef int state
        with nogil:
            state = self.write()
        return state

    @property
    def size(self):
        """Bytes that are to be taken."""
        return self.out.size

    def taken(self):
        """The piece of text written since it was asked for last."""
        cdef bytes piece = self.out.data[: self.out.size] if self.out.size else b""
        self.out.size = 0
        return piece

    def asked(self):
        """Whom to ask for the value at hand, and the row in the column."""
        cdef Place place = self.place(self.at)
        cdef Part *part = self.part_at_hand(place)
        return self.askers[part.asker], part.rows[place.row] if part.rows != NULL else place.row

    def go_on(self, int64_t size):
        """Go on behind the value that was asked for, of so many bytes."""
        cdef Part *part = self.part_at_hand(self.place(self.at))
        reserve(&self.out, part.around)
        self.say(part, CLOSE)
        self.written += size + part.texts[CLOSE].size
        self.part += 1

    cdef inline Part *part_at_hand(self, Place place) noexcept nogil:
        cdef Group *group = (<Group *> self.groups.data) + place.group
        return (<Part *> self.parts.data) + group.first_part + self.part

    cdef int write(self) except -1 nogil:
        cdef Place place
        cdef Group *group
        cdef Part *part
        cdef int state
        cdef int64_t held
        while self.at < self.stop:
            place = self.place(self.at)
            group = (<Group *> self.groups.data) + place.group
            if not self.row_begun:
                self.begin_row(place)
            while self.part < group.parts:
                part = (<Part *> self.parts.data) + group.first_part + self.part
                held = self.out.size
                state = self.spell(part, place.row)
                self.written += self.out.size - held
                if state != STATE_DONE:
                    return state
                self.part += 1
                if self.out.size >= self.limit:
                    return STATE_FULL
            self.end_row()
            if self.out.size >= self.limit:
                return STATE_FULL
        return STATE_DONE

    cdef int begin_row(self, Place place) except -1 nogil:
        cdef int64_t version = self.version_of(place)
        cdef int64_t first = 0
        cdef int64_t last
        if self.framed and not self.headed:
            if self.run > self.first_run:
                first = (<const int64_t *> self.head_ends.data)[self.run - self.first_run - 1]
            last = (<const int64_t *> self.head_ends.data)[self.run - self.first_run]
            if not 0 <= first <= last <= self.heads.size:
                bad_column()
            append(&self.out, self.heads.data + first, last - first)
            self.headed = True
        elif version == self.last_version:
            append(&self.out, self.separator.data, self.separator.size)
        self.last_version = version
        self.row_begun = True
        self.listed = False
        self.written = 0
        return 0

    cdef int end_row(self) except -1 nogil:
        self.part = 0
        self.at += 1
        self.row_begun = False
        if self.written > self.packet:
            self.long_texts += 1
        if self.written > self.longest:
            self.longest = self.written
        if self.framed and self.at == (<const int64_t *> self.run_ends.data)[self.run]:
            append(&self.out, self.foot.data, self.foot.size)
            self.run += 1
            self.headed = False
        return 0

    cdef inline void say(self, const Part *part, int which) noexcept nogil:
        if part.texts[which].size:
            put(&self.out, part.texts[which].data, part.texts[which].size)

    cdef int spell(self, const Part *part, int64_t row) except -1 nogil:
        """Write one part of a row."""
        cdef Output *out = &self.out
        cdef int64_t i
        cdef Bytes value
        if self.byte >= 0:
            i = part.rows[row] if part.rows != NULL else row
            self.value_at(part, i, &value)
            return self.go_on_spelling(part, &value)
        reserve(out, part.around + SHORT_MAXIMUM)
        if part.mask != NULL and not bit(part.mask, part.mask_offset + row):
            if part.texts[OTHERWISE].size:
                self.begin_item(part)
                self.say(part, OTHERWISE)
            return STATE_DONE
        i = part.rows[row] if part.rows != NULL else row
        if part.spelling == SPELL_NOTHING:
            self.begin_item(part)
            self.say(part, LEAD)
            return STATE_DONE
        if i < 0 or i >= part.length:
            bad_column()
        i += part.offset
        if part.validity != NULL and not bit(part.validity, i):
            self.begin_item(part)
            self.say(part, LEAD)
            self.say(part, NULL_TEXT)
            return STATE_DONE
        if part.spelling >= SPELL_SIGNED:
            self.begin_item(part)
            self.say(part, LEAD)
            self.say(part, OPEN)
            if part.spelling == SPELL_ASKED:
                return STATE_ASKED
            self.spell_number(part, part.data + i * part.width)
            self.say(part, CLOSE)
            return STATE_DONE
        self.value_at(part, i - part.offset, &value)
        self.begin_item(part)
        self.say(part, LEAD)
        self.say(part, OPEN)
        if part.spelling == SPELL_SQL:
            self.text_class = text_class(value.data, value.size)
        self.byte = 0
        if part.spelling == SPELL_SQL and self.text_class == TEXT_ASTRAY:
            self.say(part, ODD_OPEN)
        elif part.spelling == SPELL_SQL and self.text_class == TEXT_UNSAFE:
            put(out, HEX_OPEN, 11)
        elif part.spelling == SPELL_SQL:
            put_byte(out, c"'")
        elif part.spelling == SPELL_JSON:
            put_byte(out, c'"')
        return self.go_on_spelling(part, &value)

    cdef inline void begin_item(self, const Part *part) noexcept nogil:
        """A comma before all items of a list but the first."""
        if part.listed:
            if self.listed:
                put(&self.out, b", ", 2)
            self.listed = True

    cdef int value_at(self, const Part *part, int64_t i, Bytes *value) except -1 nogil:
        """The bytes of a value."""
        cdef int64_t first
        cdef int64_t last
        i += part.offset
        if part.codes != NULL:
            if part.code_width == 1:
                i = (<const int8_t *> part.codes)[i]
            else:
                i = (<const int32_t *> part.codes)[i]
        if part.offsets == NULL:
            first = i * part.width
            last = first + part.width
        elif i < 0 or i + 1 >= part.offset_count:
            return bad_column()
        elif part.offset_width == 4:
            first = (<const int32_t *> part.offsets)[i] * part.unit
            last = (<const int32_t *> part.offsets)[i + 1] * part.unit
        else:
            first = (<const int64_t *> part.offsets)[i] * part.unit
            last = (<const int64_t *> part.offsets)[i + 1] * part.unit
        if first < 0 or last < first or last > part.data_size:
            bad_column()
        value.data = part.data + first
        value.size = last - first
        return 0

    cdef int go_on_spelling(self, const Part *part, const Bytes *value) except -1 nogil:
        """Write a value of bytes on, until it ends or the piece is full."""
        cdef Output *out = &self.out
        cdef int64_t stop
        while self.byte < value.size:
            if out.size >= self.limit:
                return STATE_FULL
            stop = self.byte + STEP if value.size - self.byte > STEP else value.size
            reserve(out, (stop - self.byte) * EXPANSION + SHORT_MAXIMUM)
            if part.spelling == SPELL_TEXT:
                put(out, value.data + self.byte, stop - self.byte)
            elif part.spelling == SPELL_JSON:
                stop = put_json(out, value.data, self.byte, stop, value.size)
            elif part.spelling == SPELL_BASE64:
                put_base64(out, value.data + self.byte, stop - self.byte)
            elif part.spelling == SPELL_SQL and self.text_class == TEXT_PLAIN:
                put_doubled(out, value.data + self.byte, stop - self.byte)
            else:
                put_hexadecimal(out, value.data + self.byte, stop - self.byte)
            self.byte = stop
        self.byte = -1
        reserve(out, part.around + 1)
        if part.spelling == SPELL_SQL and self.text_class == TEXT_ASTRAY:
            self.say(part, ODD_CLOSE)
        elif part.spelling == SPELL_SQL:
            put_byte(out, c"'")
        elif part.spelling == SPELL_JSON:
            put_byte(out, c'"')
        self.say(part, CLOSE)
        return STATE_DONE

    cdef int spell_number(self, const Part *part, const uint8_t *data) except -1 nogil:
        """Write a value of fixed width."""
        cdef Output *out = &self.out
        cdef int64_t value
        if part.width == 8 or part.width == 16:
            value = (<const int64_t *> data)[0]
        elif part.width == 4:
            value = (<const int32_t *> data)[0]
        elif part.width == 2:
            value = (<const int16_t *> data)[0]
        else:
            value = (<const int8_t *> data)[0]
        if part.spelling == SPELL_SIGNED:
            put_signed(out, value)
        elif part.spelling == SPELL_UNSIGNED:
            put_unsigned(out, <uint64_t> value if part.width == 8 else <uint64_t> value & ((<uint64_t> 1 << 8 * part.width) - 1))
        elif part.spelling == SPELL_DECIMAL:
            put_decimal(out, value, part.parameter)
        elif part.spelling == SPELL_MOMENT:
            put_moment(out, value, part.parameter, c" ")
        elif part.spelling == SPELL_INSTANT:
            put_moment(out, value, part.parameter, c"T")
        elif part.spelling == SPELL_DATE:
            put_date(out, value)
        else:
            put_time(out, value, part.parameter)
        return 0


cdef Bytes view_of(Held held):
    cdef Bytes view
    view.data = <const uint8_t *> held.view.buf
    view.size = held.view.len
    return view
