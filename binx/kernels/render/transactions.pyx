# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Render transaction tables as text: lines for people, JSON, and the comments before changes in SQL.

A format is a list of fields, each a column and the text before and after its value. What many transactions share,
such as table names, is fetched from Python once and cached.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from binx.kernels.hashing cimport slot_bytes
from binx.kernels.output cimport Output, append, bytes_in, release, reserve
from binx.kernels.calendar cimport SECOND
from binx.kernels.digits cimport *
from binx.kernels.render.clock cimport *
from binx.kernels.transactions.gtid_text cimport render_gtid
from binx.kernels.transactions.selection cimport duration_least, duration_most, whole_seconds
from binx.kernels.transactions.table cimport *

from binx.kernels.transactions.table import Kind as KindName

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
