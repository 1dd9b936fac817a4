# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Usual transactions event by event for people, many at a time: all that stands around their row changes."""

from libc.stdint cimport int64_t, uint8_t

from cpython.bytes cimport PyBytes_AS_STRING

from binx.kernels.cursor cimport Cursor, cursor_over, remaining
from binx.kernels.digits cimport *
from binx.kernels.eventtexts cimport TEXT_MAXIMUM, EventTexts
from binx.kernels.gtidtexts cimport has_gtid, render_gtid
from binx.kernels.output cimport Output, append, append_byte, bytes_in, reserve
from binx.kernels.transactions cimport *

cdef enum:
    # No row changes of an event stand behind the last text of a transaction.
    NO_EVENT = -1


cdef class ShownTexts(EventTexts):
    """Writes what stands around row changes; see the stub."""

    cdef bytes zone_name
    cdef const char *zone_text
    cdef int64_t zone_size
    cdef object identify

    def __init__(self, object zone, bytes zone_name):
        super().__init__(zone)
        self.zone_name = zone_name
        self.zone_text, self.zone_size = PyBytes_AS_STRING(zone_name), len(zone_name)

    def begin_file(self, bytes file, int checksum_size, const uint8_t[::1] post_header, object identify, object say):
        """Go on with the transactions of another format description; see the stub."""
        self.take_file(file)
        self.identify = identify
        self.set_format(checksum_size, post_header, say)

    def render(
        self,
        TransactionTable table,
        const int64_t[::1] taken not None,
        int64_t first,
        int64_t count,
        const uint8_t[::1] window not None,
        int64_t origin,
        bint begun,
    ):
        """The texts of some transactions; see the stub."""
        from binx.errors import BinxError

        cdef int64_t written = 0
        cdef int64_t size = 0
        cdef int64_t heads = 0
        if first < 0 or count < 0 or first + count > taken.shape[0]:
            raise ValueError("fewer transactions are taken")
        self.out.size = self.ends.size = self.events.size = 0
        try:
            while written < count and self.transaction(table, taken[first + written], window, origin, begun or written):
                written += 1
                size, heads = self.out.size, self.ends.size
        except BinxError:
            # It is read once more, event by event, which tells what is wrong where.
            pass
        self.out.size = size
        self.ends.size = self.events.size = heads
        return written, bytes_in(&self.ends), self.taken(), bytes_in(&self.events)

    cdef bint transaction(
        self, TransactionTable table, int64_t index, const uint8_t[::1] window, int64_t origin, bint begun
    ) except -1:
        """Write one transaction, if it is a usual one that the window holds."""
        cdef const Transaction *record
        cdef Cursor cursor
        cdef bint whole
        if index < 0 or index >= table.length():
            raise ValueError("a transaction is not in the table")
        record = table.record(index)
        if (
            record.start < origin
            or record.end - origin > window.shape[0]
            or record.end <= record.start
            or record.flags & COMPRESSED
            or record.kind != KIND_DML
            or not 0 <= record.commit_timestamp <= <int64_t> MOMENT_LAST
            or not 0 <= record.original_commit_timestamp <= <int64_t> MOMENT_LAST
        ):
            return False
        with nogil:
            cursor = cursor_over(&window[record.start - origin], record.end - record.start, record.start)
            if begun:
                append_byte(&self.out, c"\n")
            self.head(table, record)
            while remaining(&cursor):
                whole = self.event(&cursor)
                if not whole:
                    return False
            self.end_text(NO_EVENT)
        return True

    cdef int head(self, TransactionTable table, const Transaction *record) except -1 nogil:
        cdef Output *out = &self.out
        reserve(out, TEXT_MAXIMUM)
        put(out, b"transaction ", 12)
        if has_gtid(record):
            render_gtid(record, table.sources, out)
        else:
            self.identifier(record.start)
        reserve(out, TEXT_MAXIMUM + self.zone_size + self.file_size)
        put(out, b"\n  committed  ", 14)
        self.local_time(record.commit_timestamp)
        put(out, b" (", 2)
        put(out, self.zone_text, self.zone_size)
        put_byte(out, c")")
        if record.original_commit_timestamp and record.original_commit_timestamp != record.commit_timestamp:
            put(out, b", on its first server ", 22)
            self.local_time(record.original_commit_timestamp)
        put(out, b"\n  place      ", 14)
        self.name_file()
        put_byte(out, c" ")
        put_signed(out, record.start)
        put_byte(out, c"-")
        put_signed(out, record.end)
        put(out, b", ", 2)
        self.grouped(record.end - record.start)
        put(out, b" bytes\n  made by    server ", 27)
        put_unsigned(out, record.server_id)
        if record.flags & HAS_THREAD:
            put(out, b", thread ", 9)
            put_unsigned(out, record.thread_id)
        if record.flags & HAS_XID:
            put(out, b", xid ", 6)
            put_unsigned(out, record.xid)
        put(out, b"; dml\n", 6)
        return 0

    cdef int identifier(self, int64_t start) except -1 with gil:
        cdef bytes text = self.identify(start)
        return append(&self.out, PyBytes_AS_STRING(text), len(text))

    cdef int local_time(self, int64_t moment) except -1 nogil:
        """A moment as a clock in the zone shows it, without zeros at the end of its fraction."""
        cdef Output *out = &self.out
        cdef int64_t start = out.size
        self.moment(moment)
        out.size -= self.clock.suffix_size
        out.data[start + 10] = c" "
        if out.size > start + SECONDS_SIZE:
            while out.data[out.size - 1] == c"0":
                out.size -= 1
        return 0

    cdef void grouped(self, int64_t number) noexcept nogil:
        """A number with thousands separators."""
        cdef Output *out = &self.out
        cdef int64_t unit = 1
        while number // unit >= 1000:
            unit *= 1000
        put_signed(out, number // unit)
        while unit > 1:
            unit //= 1000
            put_byte(out, c",")
            out.size = lay_padded(out.data + out.size, number // unit % 1000, 3) - out.data
