# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Transactions as lines of text, a table at a time: JSON objects, or fields with tabs between.

What is the same for many transactions, such as names of tables, is asked of Python once and kept.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from binx.kernels.render.digits cimport *
from binx.kernels.transactions.gtid_text cimport render_gtid
from binx.kernels.render.linebuffer cimport VALUE_MAXIMUM, LineBuffer
from binx.kernels.output cimport Output, append, reserve
from binx.kernels.transactions.ranking cimport duration_least, duration_most, whole_seconds
from binx.kernels.render.tablenames cimport TableText, TableTexts
from binx.kernels.transactions.table cimport *

cdef enum:
    KINDS = 9

cpdef enum LineColumn:
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

cdef const char **KIND_TEXTS = [
    b"other", b"dml", b"ddl", b"xa_prepare", b"xa_commit", b"xa_rollback", b"rollback", b"empty", b"incident",
]
cdef int *KIND_SIZES = [5, 3, 3, 10, 9, 11, 8, 5, 8]

cdef class TransactionLines(LineBuffer):
    """What makes lines of transactions.

    Args:
        columns: numbers of ``LineColumn``.
        leads: for each column the text before its value: a name in JSON, or a tab.
        json: JSON objects; else plain fields, a hyphen for what is not known.
        zone: gives for seconds since 1970 the offset in seconds and its suffix; None for UTC.
        ending: stands behind each; None for what ends a line.
    """

    cdef TableTexts names
    cdef bytes codes
    cdef bytes ending
    cdef int64_t base
    cdef int64_t epoch
    cdef object identify
    cdef object tell

    def __init__(self, object columns, object leads, bint json, object zone, bytes ending=None):
        super().__init__(leads, json, zone)
        self.ending = (b"}\n" if json else b"\n") if ending is None else ending
        self.codes = bytes(columns)
        if len(self.codes) != self.columns() or max(self.codes, default=0) > COLUMN_DURATION:
            raise ValueError("columns and the texts before them do not fit")
        self.names = TableTexts()
        self.base = -1

    def begin_file(self, bytes file, int64_t base, int64_t epoch, object name_of, object identify, object tell=None):
        """Go on with the transactions of another scan.

        Args:
            file: the log's name as the lines show it.
            base: the commit version of the offset 0.
            epoch: the log's epoch.
            name_of: gives for a table's number the text that shows its name.
            identify: gives for a start the id of a transaction without GTID.
            tell: gives for start and end of a schema statement its text, for plain fields; None: a hyphen.
        """
        self.tell = tell
        self.take_file(file)
        self.base = base
        self.epoch = epoch
        self.identify = identify
        self.names.begin(name_of)

    def render(self, TransactionTable table, object mask, int64_t first_seqno):
        """The lines of a table's transactions.

        Args:
            table: the records.
            mask: one byte each, 1 for those that are wanted; None for all.
            first_seqno: the first record's number in the chain; 0 where it is not known.

        Returns:
            The lines, and where each ends: 8 bytes each, native byte order.
        """
        cdef const uint8_t[::1] marks
        cdef const uint8_t *marked = NULL
        cdef int64_t count = table.length()
        cdef int64_t i
        cdef int64_t column
        cdef int64_t written = 0
        cdef const uint8_t *codes = <const uint8_t *> PyBytes_AS_STRING(self.codes)
        cdef int64_t widest = self.widest_lead + self.file_size + VALUE_MAXIMUM
        cdef bytes ends
        cdef int64_t *ends_at
        cdef const char *ending = PyBytes_AS_STRING(self.ending)
        cdef int64_t ending_size = len(self.ending)
        if mask is not None:
            table.check(mask)
            marks = mask
            if count:
                marked = &marks[0]
        ends = PyBytes_FromStringAndSize(NULL, (count if mask is None else bytes(mask).count(b"\x01")) * 8)
        ends_at = <int64_t *> PyBytes_AS_STRING(ends)
        self.out.size = 0
        with nogil:
            for i in range(count):
                if marked != NULL and marked[i] != 1:
                    continue
                for column in range(self.columns()):
                    reserve(&self.out, widest)
                    self.lead(column)
                    self.value(table, table.record(i), codes[column], first_seqno + i if first_seqno else 0)
                append(&self.out, ending, ending_size)
                ends_at[written] = self.out.size
                written += 1
        return self.taken(), ends

    cdef int value(self, TransactionTable table, Transaction *record, uint8_t code, int64_t seqno) except -1 nogil:
        """Add one value, for which there is room but where it is a list of tables."""
        cdef Output *out = &self.out
        cdef int flags = record.flags
        cdef bint counted = (flags & HAS_COUNTS) != 0
        cdef int64_t size
        # A compressed transaction's own events are seen only by a scan that looks inside.
        cdef bint walked = record.events > 0 and (counted or not flags & COMPRESSED)
        if code == COLUMN_COMMIT_VERSION:
            self.number(record.start >> 32 == 0, self.base | record.start)
        elif code == COLUMN_TRANSACTION or code == COLUMN_GTID:
            if record.gtid_kind == GTID_MYSQL or record.gtid_kind == GTID_MARIADB:
                self.quote()
                render_gtid(record, table.sources, out)
                # render_gtid makes room for itself alone.
                reserve(out, VALUE_MAXIMUM)
                self.quote()
            elif code == COLUMN_GTID:
                self.unknown()
            else:
                self.anonymous(record.start)
        elif code == COLUMN_XID:
            if flags & HAS_XID:
                put_unsigned(out, record.xid)
            else:
                self.unknown()
        elif code == COLUMN_SERVER_ID:
            put_unsigned(out, record.server_id)
        elif code == COLUMN_EPOCH:
            put_signed(out, self.epoch)
        elif code == COLUMN_SEQNO:
            self.number(seqno > 0, seqno)
        elif code == COLUMN_KIND:
            self.quote()
            put(out, KIND_TEXTS[record.kind if record.kind < KINDS else 0], KIND_SIZES[record.kind if record.kind < KINDS else 0])
            self.quote()
        elif code == COLUMN_HOW:
            self.word(b"length" if flags & BY_LENGTH else b"boundary", 6 if flags & BY_LENGTH else 8)
        elif code == COLUMN_FILE:
            self.name_file()
        elif code == COLUMN_START:
            put_signed(out, record.start)
        elif code == COLUMN_END:
            put_signed(out, record.end)
        elif code == COLUMN_BYTES:
            put_signed(out, record.end - record.start)
        elif code == COLUMN_UNCOMPRESSED_BYTES:
            self.number((flags & COMPRESSED) != 0, record.uncompressed_bytes)
        elif code == COLUMN_COMMIT_TIMESTAMP:
            self.moment(record.commit_timestamp)
        elif code == COLUMN_COMMIT_TIME_SOURCE:
            if flags & COMMIT_TIME_FROM_GTID:
                self.word(b"gtid_event", 10)
            else:
                self.word(b"terminal_event", 14)
        elif code == COLUMN_ORIGINAL_COMMIT_TIMESTAMP:
            if record.original_commit_timestamp:
                self.moment(record.original_commit_timestamp)
            else:
                self.unknown()
        elif code == COLUMN_BEGIN_TIMESTAMP:
            self.moment(record.begin_timestamp * MICROSECONDS)
        elif code == COLUMN_LAST_COMMITTED:
            self.number((flags & HAS_CLOCK) != 0, record.last_committed)
        elif code == COLUMN_SEQUENCE_NUMBER:
            self.number((flags & HAS_CLOCK) != 0, record.sequence_number)
        elif code == COLUMN_THREAD_ID:
            self.number((flags & HAS_THREAD) != 0, record.thread_id)
        elif code == COLUMN_EVENTS:
            self.number(walked, record.events)
        elif code == COLUMN_ROWS:
            self.number(counted, record.rows)
        elif code == COLUMN_STATEMENTS:
            self.number(walked, record.statements)
        elif code == COLUMN_TABLES:
            if counted:
                self.tables(table, record)
            else:
                self.unknown()
        elif code == COLUMN_DURATION:
            size = whole_seconds(record)
            if size < 0:
                self.unknown()
            elif self.json:
                put_byte(out, c"[")
                self.seconds(duration_least(record))
                put(out, b", ", 2)
                self.seconds(duration_most(record))
                put_byte(out, c"]")
            else:
                put_signed(out, size)
        return 0

    cdef void seconds(self, int64_t microseconds) noexcept nogil:
        """Add a number of µs as seconds."""
        cdef int64_t unit = MICROSECONDS // 10
        put_signed(&self.out, microseconds // MICROSECONDS)
        put_byte(&self.out, c".")
        while unit:
            put_byte(&self.out, c"0" + <uint8_t> (microseconds // unit % 10))
            unit //= 10

    cdef int anonymous(self, int64_t start) except -1 with gil:
        cdef bytes text = self.identify(start)
        self.quote()
        append(&self.out, PyBytes_AS_STRING(text), len(text))
        reserve(&self.out, VALUE_MAXIMUM)
        self.quote()
        return 0

    cdef int statement(self, int64_t start, int64_t end) except -1 with gil:
        """Add the text of a schema statement in place of tables."""
        cdef bytes text = b"-" if self.tell is None else self.tell(start, end)
        append(&self.out, PyBytes_AS_STRING(text), len(text))
        return 0

    cdef int tables(self, TransactionTable table, Transaction *record) except -1 nogil:
        """What a transaction did to which table."""
        cdef Output *out = &self.out
        cdef TableCount *count = (<TableCount *> table.counts.data) + record.first_count
        cdef TableText name
        cdef int32_t i
        if self.json:
            put_byte(out, c"[")
        elif record.counts == 0:
            if record.kind == KIND_DDL:
                self.statement(record.start, record.end)
            else:
                put_byte(out, c"-")
        for i in range(record.counts):
            self.names.find(count[i].table, &name)
            reserve(out, name.size + VALUE_MAXIMUM)
            if i:
                put(out, b", ", 2)
            put(out, self.names.data.data + name.start, name.size)
            if self.json:
                put(out, b', "inserts": ', 13)
                put_signed(out, count[i].inserts)
                put(out, b', "updates": ', 13)
                put_signed(out, count[i].updates)
                put(out, b', "deletes": ', 13)
                put_signed(out, count[i].deletes)
                put_byte(out, c"}")
            else:
                self.change(b" +", count[i].inserts)
                self.change(b" ~", count[i].updates)
                self.change(b" -", count[i].deletes)
        reserve(out, VALUE_MAXIMUM)
        if self.json:
            put_byte(out, c"]")
        return 0

    cdef void change(self, const char *sign, int64_t rows) noexcept nogil:
        if rows:
            put(&self.out, sign, 2)
            put_signed(&self.out, rows)
