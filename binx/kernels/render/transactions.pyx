# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Render transaction tables as text: lines for people, JSON, and the comments before changes in SQL.

A format is a list of fields, each a column and the text before and after its value. What many transactions share,
such as table names, is fetched from Python once and cached.

Render row changes of several tables as one text in log order, directly from the columns' buffers.

The caller describes a row's text part by part: a column, the format of its values, and the text around
them. The text of a whole row or column is never built: the output is returned in pieces of
bounded size, and a long value is split across as many pieces as it takes.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint32_t, uint8_t
from libc.string cimport memcmp, memcpy, memset

from binx.kernels.calendar cimport SECOND
from binx.kernels.digits cimport *
from binx.kernels.hashing cimport slot_bytes
from binx.kernels.output cimport Output, append, bytes_in, release, reserve
from binx.kernels.render.clock cimport *
from binx.kernels.render.row_values cimport *
from binx.kernels.transactions.gtid_text cimport render_gtid
from binx.kernels.transactions.summaries cimport duration_least, duration_most, whole_seconds
from binx.kernels.transactions.table cimport *

from binx.kernels.transactions.table import Kind as KindName


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
            if part.spelling == SPELL_DECIMAL and part.width != 16:
                raise ValueError("a DECIMAL of another width than 16 bytes is not read")
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


cdef enum:
    # Maximum bytes of a GTID, or of the UUID that replaces one; space for names is reserved by their size.
    VALUE_MAXIMUM = 160

cpdef enum TextColumn:
    COLUMN_COMMIT_VERSION = 0
    COLUMN_TRANSACTION = 1
    COLUMN_GTID = 2
    COLUMN_XID = 3
    COLUMN_SERVER_ID = 4
    COLUMN_EPOCH = 5
    COLUMN_SEQNO = 6
    COLUMN_KIND = 7
    COLUMN_HOW = 8
    COLUMN_FILE = 9
    COLUMN_START = 10
    COLUMN_END = 11
    COLUMN_BYTES = 12
    COLUMN_UNCOMPRESSED_BYTES = 13
    COLUMN_COMMIT_TIMESTAMP = 14
    COLUMN_COMMIT_TIME_SOURCE = 15
    COLUMN_ORIGINAL_COMMIT_TIMESTAMP = 16
    COLUMN_BEGIN_TIMESTAMP = 17
    COLUMN_LAST_COMMITTED = 18
    COLUMN_SEQUENCE_NUMBER = 19
    COLUMN_THREAD_ID = 20
    COLUMN_EVENTS = 21
    COLUMN_ROWS = 22
    COLUMN_STATEMENTS = 23
    COLUMN_TABLES = 24
    COLUMN_DURATION = 25
    # For scripts: the second of the begin time, if the previous transaction has another; the parts of a MariaDB GTID;
    # a MySQL GTID; no value.
    COLUMN_BEGIN_SECOND = 26
    COLUMN_GTID_DOMAIN = 27
    COLUMN_GTID_SERVER = 28
    COLUMN_GTID_SEQUENCE = 29
    COLUMN_GTID_NEXT = 30
    COLUMN_NOTHING = 31

cdef struct Piece:
    int64_t start
    int64_t size

cdef struct Field:
    uint8_t column
    Piece lead
    Piece close


cdef class TransactionTexts:
    cdef Output out
    cdef Output texts
    cdef Output fields
    cdef int64_t fixed_maximum
    # Table names by number: each one's place in name_bytes.
    cdef Output names
    cdef Output name_bytes
    cdef Clock clock
    cdef bint json
    cdef object zone
    cdef Piece absent
    cdef Piece ending
    cdef Piece kinds[KINDS]
    # In name_bytes.
    cdef Piece file
    cdef int64_t base
    cdef int64_t epoch
    cdef object name_of
    cdef object identify
    cdef object tell
    # Whether fields without a value are omitted, and whether the current one is.
    cdef bint omits_absent
    cdef bint is_omitted
    cdef public int64_t second

    def __init__(self, object fields, bytes ending, bint json, absent, zone):
        cdef Field field
        cdef int64_t fixed_maximum = 0
        for lead, column, close in fields:
            if not 0 <= column <= COLUMN_NOTHING:
                raise ValueError(f"there is no column {column}")
            field.column = column
            field.lead = self.store(&self.texts, lead)
            field.close = self.store(&self.texts, close)
            fixed_maximum = max(fixed_maximum, field.lead.size + field.close.size)
            append(&self.fields, &field, sizeof(Field))
        self.fixed_maximum = fixed_maximum
        self.ending = self.store(&self.texts, ending)
        for kind in KindName:
            self.kinds[<int> kind] = self.store(&self.texts, kind.name.removeprefix("KIND_").lower().encode())
        self.json = json
        self.omits_absent = absent is None
        self.absent = self.store(&self.texts, absent or b"")
        self.zone = zone
        self.clock = utc_clock()
        self.base = -1
        self.second = -1

    def __dealloc__(self):
        release(&self.out)
        release(&self.texts)
        release(&self.fields)
        release(&self.names)
        release(&self.name_bytes)

    cdef Piece store(self, Output *output, bytes text) except *:
        cdef Piece piece
        piece.start = output.size
        piece.size = len(text)
        append(output, PyBytes_AS_STRING(text), piece.size)
        return piece

    def begin_file(self, bytes file not None, int64_t base, int64_t epoch, object name_of, object identify, object tell=None):
        self.base = base
        self.epoch = epoch
        self.name_of = name_of
        self.identify = identify
        self.tell = tell
        self.names.size = 0
        self.name_bytes.size = 0
        self.file = self.store(&self.name_bytes, file)

    def render(self, TransactionTable table not None, const int64_t[::1] taken not None, int64_t first_seqno):
        cdef int64_t count = taken.shape[0]
        cdef bytes ends = PyBytes_FromStringAndSize(NULL, count * 8)
        cdef int64_t *end = <int64_t *> PyBytes_AS_STRING(ends)
        cdef int64_t i
        self.out.size = 0
        with nogil:
            for i in range(count):
                if not 0 <= taken[i] < table.length():
                    outside()
                self.put_record(table, taken[i], first_seqno)
                end[i] = self.out.size
        return bytes_in(&self.out), ends

    cdef int put_record(self, TransactionTable table, int64_t index, int64_t first_seqno) except -1 nogil:
        cdef Output *out = &self.out
        cdef const Field *fields = <const Field *> self.fields.data
        cdef Transaction *record = table.record(index)
        cdef int64_t field_start
        cdef int64_t i
        for i in range(self.fields.size // <int64_t> sizeof(Field)):
            reserve(out, self.fixed_maximum + self.file.size + VALUE_MAXIMUM)
            field_start = out.size
            self.is_omitted = False
            self.put_piece(&self.texts, fields[i].lead)
            self.put_value(table, record, fields[i].column, first_seqno + index if first_seqno >= 0 else -1)
            if self.is_omitted:
                out.size = field_start
            elif fields[i].close.size:
                reserve(out, fields[i].close.size)
                self.put_piece(&self.texts, fields[i].close)
        return append(out, self.texts.data + self.ending.start, self.ending.size)

    cdef inline void put_piece(self, Output *texts, Piece piece) noexcept nogil:
        if piece.size:
            # Without text, there may be no address.
            put(&self.out, texts.data + piece.start, piece.size)

    cdef int put_value(self, TransactionTable table, Transaction *record, uint8_t code, int64_t seqno) except -1 nogil:
        """Append one value into reserved space; lists of tables reserve their own."""
        cdef Output *out = &self.out
        cdef int flags = record.flags
        cdef bint counted = (flags & HAS_COUNTS) != 0
        cdef int64_t seconds
        cdef uint32_t[2] source
        # Only a scan that decompresses payloads sees a compressed transaction's events.
        cdef bint walked = record.events > 0 and (counted or not flags & COMPRESSED)
        if code == COLUMN_COMMIT_VERSION:
            self.put_number(record.start >> 32 == 0, self.base | record.start)
        elif code == COLUMN_TRANSACTION or code == COLUMN_GTID or code == COLUMN_GTID_NEXT:
            if record.gtid_kind == GTID_MYSQL or (record.gtid_kind == GTID_MARIADB and code != COLUMN_GTID_NEXT):
                self.put_quote()
                render_gtid(record, table.sources, out)
                # render_gtid reserves space only for itself.
                reserve(out, VALUE_MAXIMUM)
                self.put_quote()
            elif code != COLUMN_TRANSACTION:
                self.put_absent()
            else:
                self.put_identifier(record.start)
        elif code == COLUMN_XID:
            if flags & HAS_XID:
                put_unsigned(out, record.xid)
            else:
                self.put_absent()
        elif code == COLUMN_SERVER_ID:
            put_unsigned(out, record.server_id)
        elif code == COLUMN_EPOCH:
            put_signed(out, self.epoch)
        elif code == COLUMN_SEQNO:
            self.put_number(seqno >= 0, seqno)
        elif code == COLUMN_KIND:
            self.put_quote()
            self.put_piece(&self.texts, self.kinds[record.kind])
            self.put_quote()
        elif code == COLUMN_HOW:
            self.put_word(b"length" if flags & BY_LENGTH else b"boundary", 6 if flags & BY_LENGTH else 8)
        elif code == COLUMN_FILE:
            self.put_piece(&self.name_bytes, self.file)
        elif code == COLUMN_START:
            put_signed(out, record.start)
        elif code == COLUMN_END:
            put_signed(out, record.end)
        elif code == COLUMN_BYTES:
            put_signed(out, record.end - record.start)
        elif code == COLUMN_UNCOMPRESSED_BYTES:
            self.put_number((flags & COMPRESSED) != 0, record.uncompressed_bytes)
        elif code == COLUMN_COMMIT_TIMESTAMP:
            self.put_time(record.commit_timestamp)
        elif code == COLUMN_COMMIT_TIME_SOURCE:
            if flags & COMMIT_TIME_FROM_GTID:
                self.put_word(b"gtid_event", 10)
            else:
                self.put_word(b"terminal_event", 14)
        elif code == COLUMN_ORIGINAL_COMMIT_TIMESTAMP:
            if record.original_commit_timestamp:
                self.put_time(record.original_commit_timestamp)
            else:
                self.put_absent()
        elif code == COLUMN_BEGIN_TIMESTAMP:
            self.put_time(record.begin_timestamp * SECOND)
        elif code == COLUMN_LAST_COMMITTED:
            self.put_number((flags & HAS_CLOCK) != 0, record.last_committed)
        elif code == COLUMN_SEQUENCE_NUMBER:
            self.put_number((flags & HAS_CLOCK) != 0, record.sequence_number)
        elif code == COLUMN_THREAD_ID:
            self.put_number((flags & HAS_THREAD) != 0, record.thread_id)
        elif code == COLUMN_EVENTS:
            self.put_number(walked, record.events)
        elif code == COLUMN_ROWS:
            self.put_number(counted, record.rows)
        elif code == COLUMN_STATEMENTS:
            self.put_number(walked, record.statements)
        elif code == COLUMN_TABLES:
            if counted:
                self.put_tables(table, record)
            else:
                self.put_absent()
        elif code == COLUMN_BEGIN_SECOND:
            self.put_number(record.begin_timestamp != self.second, record.begin_timestamp)
            self.second = record.begin_timestamp
        elif COLUMN_GTID_DOMAIN <= code <= COLUMN_GTID_SEQUENCE:
            if record.gtid_kind == GTID_MARIADB:
                memcpy(source, slot_bytes(table.sources, record.source), sizeof(source))
                put_unsigned(out, record.number if code == COLUMN_GTID_SEQUENCE else source[code - COLUMN_GTID_DOMAIN])
            else:
                self.put_absent()
        elif code == COLUMN_NOTHING:
            pass
        elif code == COLUMN_DURATION:
            seconds = whole_seconds(record)
            if seconds < 0:
                self.put_absent()
            elif self.json:
                put_byte(out, c"[")
                self.put_seconds(duration_least(record))
                put(out, b", ", 2)
                self.put_seconds(duration_most(record))
                put_byte(out, c"]")
            else:
                put_signed(out, seconds)
        return 0

    cdef void put_seconds(self, int64_t microseconds) noexcept nogil:
        """Append a number of µs as seconds with six decimals."""
        put_signed(&self.out, microseconds // SECOND)
        put_fraction(&self.out, <int> (microseconds % SECOND))

    cdef int put_identifier(self, int64_t start) except -1 with gil:
        cdef bytes text = self.identify(start)
        self.put_quote()
        append(&self.out, PyBytes_AS_STRING(text), len(text))
        reserve(&self.out, VALUE_MAXIMUM)
        self.put_quote()
        return 0

    cdef int put_statement(self, int64_t start, int64_t end) except -1 with gil:
        """Append a statement's text in place of tables, whose rows are not in the log."""
        cdef bytes text = b"-" if self.tell is None else self.tell(start, end)
        append(&self.out, PyBytes_AS_STRING(text), len(text))
        return 0

    cdef int put_tables(self, TransactionTable table, Transaction *record) except -1 nogil:
        """Append a transaction's row counts by table."""
        cdef Output *out = &self.out
        cdef TableCount *count = (<TableCount *> table.counts.data) + record.first_count
        cdef Piece name
        cdef int32_t i
        if self.json:
            put_byte(out, c"[")
        elif record.counts == 0:
            if record.kind == KIND_DDL or record.statements:
                self.put_statement(record.start, record.end)
            else:
                put_byte(out, c"-")
        for i in range(record.counts):
            self.table_name(count[i].table, &name)
            reserve(out, name.size + VALUE_MAXIMUM)
            if i:
                put(out, b", ", 2)
            self.put_piece(&self.name_bytes, name)
            if self.json:
                put(out, b', "inserts": ', 13)
                put_signed(out, count[i].inserts)
                put(out, b', "updates": ', 13)
                put_signed(out, count[i].updates)
                put(out, b', "deletes": ', 13)
                put_signed(out, count[i].deletes)
                put_byte(out, c"}")
            else:
                self.put_count(b" +", count[i].inserts)
                self.put_count(b" ~", count[i].updates)
                self.put_count(b" -", count[i].deletes)
        reserve(out, VALUE_MAXIMUM)
        if self.json:
            put_byte(out, c"]")
        return 0

    cdef void put_count(self, const char *sign, int64_t rows) noexcept nogil:
        if rows:
            put(&self.out, sign, 2)
            put_signed(&self.out, rows)

    cdef int table_name(self, int32_t number, Piece *name) except -1 nogil:
        """Look up the place of a table's name in ``name_bytes``."""
        if number >= self.names.size // <int64_t> sizeof(Piece):
            self.load_names(number)
        name[0] = (<Piece *> self.names.data)[number]
        return 0

    cdef int load_names(self, int32_t last) except -1 with gil:
        """Fetch the names of all tables up to this number from Python."""
        cdef Piece piece
        cdef int32_t number
        for number in range(<int32_t> (self.names.size // <int64_t> sizeof(Piece)), last + 1):
            piece = self.store(&self.name_bytes, self.name_of(number))
            append(&self.names, &piece, sizeof(Piece))
        return 0

    cdef void put_quote(self) noexcept nogil:
        if self.json:
            put_byte(&self.out, c'"')

    cdef void put_absent(self) noexcept nogil:
        """Write the text for an unknown value, or omit the field."""
        if self.omits_absent:
            self.is_omitted = True
        else:
            self.put_piece(&self.texts, self.absent)

    cdef void put_number(self, bint known, int64_t value) noexcept nogil:
        if known:
            put_signed(&self.out, value)
        else:
            self.put_absent()

    cdef void put_word(self, const char *text, int64_t size) noexcept nogil:
        self.put_quote()
        put(&self.out, text, size)
        self.put_quote()

    cdef int put_time(self, int64_t time) except -1 nogil:
        """Append a time in RFC 3339; one before 1970 or after 9999 as a number of µs since 1970."""
        cdef int64_t second = time // SECOND
        cdef int microsecond = <int> (time - second * SECOND)
        if time < 0 or time > TIME_LAST:
            put_signed(&self.out, time)
            return 0
        if second != self.clock.second:
            if self.zone is not None and second // ZONE_SECONDS != self.clock.slot:
                self.load_zone(second)
            lay_out_second(second + self.clock.offset, self.clock.text)
            self.clock.second = second
        self.put_quote()
        put(&self.out, self.clock.text, SECONDS_SIZE)
        if microsecond:
            put_fraction(&self.out, microsecond)
        put(&self.out, self.clock.suffix, self.clock.suffix_size)
        self.put_quote()
        return 0

    cdef int load_zone(self, int64_t second) except -1 with gil:
        cdef bytes suffix
        offset, suffix = self.zone(second)
        if len(suffix) > SUFFIX_MAXIMUM:
            raise ValueError("the suffix of a time zone is too long")
        self.clock.slot = second // ZONE_SECONDS
        self.clock.offset = offset
        self.clock.suffix_size = <int> len(suffix)
        memcpy(self.clock.suffix, PyBytes_AS_STRING(suffix), len(suffix))
        return 0


cdef int outside() except -1 with gil:
    raise ValueError("a transaction is not in the table")
