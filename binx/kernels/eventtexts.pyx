# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What events say, as lines for people.

What an event says is asked of Python and kept by the bytes that it follows from; what differs from event to
event, such as positions, GTIDs and connections, is written here.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from cpython.bytes cimport PyBytes_AS_STRING

from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take, take_little, take_packed
from binx.kernels.digits cimport *
from binx.kernels.events cimport *
from binx.kernels.gtids cimport is_mysql_number
from binx.kernels.gtidtexts cimport lay_uuid
from binx.kernels.hashing cimport Slots, slot_of, slots_release
from binx.kernels.linebuffer cimport LineBuffer
from binx.kernels.output cimport Output, append, append_byte, release, reserve
from binx.kernels.sessions cimport MICROSECONDS_SIZE, microseconds_at

cdef enum:
    # Bytes of texts that are kept, with those that they follow from.
    KEPT_MAXIMUM = 16777216
    DUMMY_TABLE_ID = 0xFFFFFF
    GTID_FIXED = 25
    CLOCK_SIZE = 17
    TIMESTAMP_SIZE = 7
    UNDEFINED_VERSION = 999999
    GROUP_COMMIT_ID = 2
    # Of QUERY: connection and seconds of execution; then the sizes of the name (1) and of the status variables.
    QUERY_VARYING = 8
    QUERY_FIXED = 13
    STATUS_SIZE_AT = 11
    MARIADB_GTID_VARYING = 12


cdef class EventTexts(LineBuffer):
    """Writes what events say, one behind the other.

    Args:
        zone: gives for seconds since 1970 the offset in seconds and its suffix; None for UTC.
    """

    def __cinit__(self, *_):
        memset(&self.keys, 0, sizeof(Slots))
        memset(&self.known, 0, sizeof(Output))
        memset(&self.texts, 0, sizeof(Output))
        memset(&self.key, 0, sizeof(Output))
        memset(&self.ends, 0, sizeof(Output))
        memset(&self.events, 0, sizeof(Output))

    def __init__(self, object zone):
        super().__init__([], False, zone)

    def __dealloc__(self):
        slots_release(&self.keys)
        release(&self.known)
        release(&self.texts)
        release(&self.key)
        release(&self.ends)
        release(&self.events)

    cdef int set_format(self, int checksum_size, const uint8_t[::1] post_header, object say) except -1:
        """Go on with events of another format description.

        Args:
            checksum_size: bytes of a checksum.
            post_header: the post-header length of each type.
            say: see ``ShownTexts.begin_file``.
        """
        self.checksum_size = checksum_size
        set_post_header(self.post_header, &post_header[0], post_header.shape[0])
        self.say = say
        self.forget()
        return 0

    cdef int end_text(self, int64_t event) except -1 nogil:
        """A text is complete, behind which the row changes of an event come."""
        append(&self.ends, &self.out.size, sizeof(int64_t))
        return append(&self.events, &event, sizeof(int64_t))

    cdef bint event(self, Cursor *cursor) except -1 nogil:
        """Write one event; False for one of rows that has none, or none of any table."""
        cdef int64_t position = cursor.origin + cursor.position
        cdef int64_t start = cursor.position
        cdef const uint8_t *data = take(cursor, HEADER_SIZE)
        cdef Header header = header_of(data)
        cdef Cursor body
        if header.size < HEADER_SIZE + self.checksum_size:
            return False
        take(cursor, header.size - HEADER_SIZE)
        body = cursor_over(
            cursor.base + start + HEADER_SIZE, header.size - HEADER_SIZE - self.checksum_size, position + HEADER_SIZE
        )
        self.place(position)
        if header.type == GTID_EVENT or header.type == ANONYMOUS_GTID_EVENT:
            return self.gtid(&body, header.type)
        if header.type == MARIADB_GTID_EVENT:
            return self.mariadb_gtid(&body, &header, data, position)
        if header.type == QUERY_EVENT and self.post_header[QUERY_EVENT] == QUERY_FIXED:
            return self.query(&body, &header, data, position)
        if header.type == XID_EVENT and body.size == 8 and not self.post_header[XID_EVENT]:
            return self.xid(&body)
        if header.type == TABLE_MAP_EVENT:
            return self.kept(body.base, body.size, data, &header, position)
        if rows_operation(header.type) >= 0:
            return self.rows(&body, &header, data, position)
        return self.asked(data, &header, position)

    cdef int place(self, int64_t position) except -1 nogil:
        cdef Output *out = &self.out
        cdef int digits = digit_count(position)
        reserve(out, TEXT_MAXIMUM)
        while digits < PLACE_WIDTH:
            put_byte(out, c" ")
            digits += 1
        put_signed(out, position)
        return 0

    cdef bint gtid(self, Cursor *body, uint8_t type) except -1 nogil:
        """GTID_LOG_EVENT and ANONYMOUS_GTID_LOG_EVENT; see :func:`~binx.kernels.gtids.read_gtid`.

        Behind the transaction's length come the servers' versions (4 bytes; the highest bit says that the
        original one follows) and the number of the group that it was committed in (8).
        """
        cdef Output *out = &self.out
        cdef const uint8_t *data = take(body, GTID_FIXED)
        cdef uint64_t number = little(data + GTID_FIXED - 8, 8)
        cdef uint64_t last_committed
        cdef uint64_t sequence_number
        if number != 0 if type == ANONYMOUS_GTID_EVENT else not is_mysql_number(number):
            return False
        put(out, b"  ANONYMOUS_GTID " if type == ANONYMOUS_GTID_EVENT else b"  GTID ", 17 if type == ANONYMOUS_GTID_EVENT else 7)
        if number:
            put(out, b" gtid=", 6)
            out.size = lay_uuid(out.data + out.size, data + 1) - out.data
            put_byte(out, c":")
            put_unsigned(out, number)
        self.field(b" flags=", 7, data[0])
        if remaining(body) >= CLOCK_SIZE and take(body, 1)[0] == 2:
            take_little(body, 8, &last_committed)
            take_little(body, 8, &sequence_number)
            if last_committed >> 63 or sequence_number >> 63:
                return False
            self.field(b" last_committed=", 16, last_committed)
            self.field(b" sequence_number=", 17, sequence_number)
            if remaining(body) >= TIMESTAMP_SIZE and not self.gtid_times(body):
                return False
        # Two spaces stand between the name and what it says; one of them was written with the name.
        if out.data[out.size - 1] == c" ":
            out.size -= 1
        put_byte(out, c"\n")
        return True

    cdef bint gtid_times(self, Cursor *body) except -1 nogil:
        """What a GTID event says from its times on; False for a time that no calendar has."""
        cdef uint64_t value = 0
        cdef uint64_t original
        take_little(body, TIMESTAMP_SIZE, &value)
        original = value
        if value >> 55:
            value ^= <uint64_t> 1 << 55
            take_little(body, TIMESTAMP_SIZE, &original)
        if value > <uint64_t> MOMENT_LAST or original > <uint64_t> MOMENT_LAST:
            return False
        self.utc_time(b" immediate_commit_timestamp=", 28, value)
        self.utc_time(b" original_commit_timestamp=", 27, original)
        if remaining(body):
            take_packed(body, &value)
            self.field(b" transaction_length=", 20, value)
        if remaining(body) >= 4:
            take_little(body, 4, &value)
            original = value
            if value >> 31:
                value ^= <uint64_t> 1 << 31
                take_little(body, 4, &original)
            self.version(b" immediate_server_version=", 26, value)
            self.version(b" original_server_version=", 25, original)
        if remaining(body) >= 8:
            take_little(body, 8, &value)
            self.field(b" commit_group_ticket=", 21, value)
        return True

    cdef void field(self, const char *name, int64_t size, uint64_t value) noexcept nogil:
        """A number with its name; nothing for 0."""
        if value:
            put(&self.out, name, size)
            put_unsigned(&self.out, value)

    cdef void version(self, const char *name, int64_t size, uint64_t value) noexcept nogil:
        if value != UNDEFINED_VERSION:
            self.field(name, size, value)

    cdef void utc_time(self, const char *name, int64_t size, uint64_t moment) noexcept nogil:
        cdef Output *out = &self.out
        cdef int64_t second = <int64_t> moment // MICROSECONDS
        cdef int fraction = <int> (<int64_t> moment - second * MICROSECONDS)
        put(out, name, size)
        lay_out_second(second, out.data + out.size)
        out.size += SECONDS_SIZE
        if fraction:
            put_fraction(out, fraction)
        put_byte(out, c"Z")

    cdef bint mariadb_gtid(self, Cursor *body, const Header *header, const uint8_t *data, int64_t position) except -1 nogil:
        """Sequence number (8), domain (4), flags (1), the number of a group commit (8) where a flag says so."""
        cdef Output *out = &self.out
        cdef const uint8_t *fixed = take(body, MARIADB_GTID_VARYING + 1)
        cdef uint64_t commit_id = 0
        cdef Learnt learnt
        if fixed[MARIADB_GTID_VARYING] & GROUP_COMMIT_ID:
            take_little(body, 8, &commit_id)
        put(out, b"  MARIADB_GTID  gtid=", 21)
        put_unsigned(out, little(fixed + 8, 4))
        put_byte(out, c"-")
        put_unsigned(out, header.server_id)
        put_byte(out, c"-")
        put_unsigned(out, little(fixed, 8))
        self.key.size = 0
        append_byte(&self.key, header.type)
        append_byte(&self.key, fixed[MARIADB_GTID_VARYING])
        append(&self.key, body.base + body.position, remaining(body))
        self.find(data, header, position, &learnt)
        append(out, self.texts.data + learnt.text.start, learnt.before)
        reserve(out, TEXT_MAXIMUM)
        self.field(b" commit_id=", 11, commit_id)
        append(out, self.texts.data + learnt.text.start + learnt.before, learnt.text.size - learnt.before)
        return True

    cdef bint query(self, Cursor *body, const Header *header, const uint8_t *data, int64_t position) except -1 nogil:
        """A statement; but for the connection and the times, most are alike.

        Connection (4), seconds of execution (4), size of the name (1), error (2), size of the status variables (2).
        """
        cdef Output *out = &self.out
        cdef const uint8_t *fixed = take(body, QUERY_FIXED)
        cdef uint64_t thread_id = little(fixed, 4)
        cdef uint64_t seconds = little(fixed + 4, 4)
        cdef int64_t status_size = <int64_t> little(fixed + STATUS_SIZE_AT, 2)
        cdef int64_t at = body.position
        cdef int64_t microseconds = microseconds_at(take(body, status_size), status_size)
        cdef Learnt learnt
        cdef bint spaced
        self.key.size = 0
        append_byte(&self.key, header.type)
        append(&self.key, fixed + QUERY_VARYING, QUERY_FIXED - QUERY_VARYING)
        append(&self.key, body.base + at, body.size - at)
        if microseconds >= 0:
            # Nothing is said of them.
            memset(self.key.data + 1 + QUERY_FIXED - QUERY_VARYING + microseconds, 0, MICROSECONDS_SIZE)
        self.find(data, header, position, &learnt)
        put(out, b"  QUERY", 7)
        if thread_id or seconds:
            put_byte(out, c" ")
        self.field(b" thread_id=", 11, thread_id)
        self.field(b" exec_time=", 11, seconds)
        # A first field stands behind two spaces, any other behind one.
        spaced = (thread_id or seconds) and learnt.text.size and self.texts.data[learnt.text.start] == c" "
        append(out, self.texts.data + learnt.text.start + spaced, learnt.text.size - spaced)
        return True

    cdef bint xid(self, Cursor *body) except -1 nogil:
        cdef uint64_t value = 0
        take_little(body, 8, &value)
        put(&self.out, b"  XID", 5)
        if value:
            put_byte(&self.out, c" ")
        self.field(b" xid=", 5, value)
        put_byte(&self.out, c"\n")
        return True

    cdef bint rows(self, Cursor *body, const Header *header, const uint8_t *data, int64_t position) except -1 nogil:
        """What stands before the bitmaps of columns: table id, flags, extra data, how many columns."""
        cdef int post_header = self.post_header[header.type]
        cdef int id_width = 4 if post_header == 6 else 6
        cdef uint64_t table_id = 0
        cdef uint64_t columns
        cdef int64_t extra
        cdef bint written
        if post_header != 6 and post_header != 8 and post_header != 10:
            return False
        take_little(body, id_width, &table_id)
        take(body, 2)
        if post_header == 10:
            extra = <int64_t> little(take(body, 2), 2)
            take(body, extra - 2)
        take_packed(body, &columns)
        if table_id == DUMMY_TABLE_ID:
            return False
        written = self.kept(body.base, body.position, data, header, position)
        self.end_text(position)
        return written

    cdef bint kept(
        self, const uint8_t *key, int64_t size, const uint8_t *data, const Header *header, int64_t position
    ) except -1 nogil:
        """Write what follows from a part of the event's body alone."""
        cdef Learnt learnt
        self.key.size = 0
        append_byte(&self.key, header.type)
        append(&self.key, key, size)
        self.find(data, header, position, &learnt)
        append(&self.out, self.texts.data + learnt.text.start, learnt.text.size)
        return True

    cdef int find(self, const uint8_t *data, const Header *header, int64_t position, Learnt *learnt) except -1 nogil:
        """The text of the event whose key was laid out; asked for where it is not known."""
        cdef int32_t slot
        if self.keys.bytes.size + self.texts.size > KEPT_MAXIMUM:
            self.forget()
        slot = slot_of(&self.keys, self.key.data, self.key.size)
        if slot >= self.known.size // <int64_t> sizeof(Learnt):
            self.learn(data, header, position)
        learnt[0] = (<Learnt *> self.known.data)[slot]
        return 0

    cdef void forget(self) noexcept nogil:
        slots_release(&self.keys)
        self.known.size = self.texts.size = 0

    cdef int learn(self, const uint8_t *data, const Header *header, int64_t position) except -1 with gil:
        from binx.errors import BinxError

        cdef bytes text
        cdef Learnt learnt
        try:
            text, learnt.before = self.say(data[: header.size], position, True)
        except BinxError:
            # The last key has no text.
            self.forget()
            raise
        if not 0 <= learnt.before <= len(text):
            raise ValueError("a text is shorter than a part of it")
        learnt.text.start = self.texts.size
        learnt.text.size = len(text)
        append(&self.texts, PyBytes_AS_STRING(text), len(text))
        return append(&self.known, &learnt, sizeof(Learnt))

    cdef bint asked(self, const uint8_t *data, const Header *header, int64_t position) except -1 with gil:
        """Write an event that is seldom like another."""
        cdef bytes text
        text, _ = self.say(data[: header.size], position, False)
        append(&self.out, PyBytes_AS_STRING(text), len(text))
        return True

