# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What is passed over: transactions that have none of the GTIDs looked for, and what stands behind damage.

Of the transactions only where they begin and end is read.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from binx.kernels.walk.machine cimport *
from binx.kernels.walk.classify cimport classify
from binx.kernels.cursor cimport Cursor, cursor_over, little, take
from binx.kernels.walk.events cimport *
from binx.kernels.walk.gtids cimport glance_at_gtid, take_gtid
from binx.kernels.hashing cimport slot_of
from binx.kernels.walk.jump cimport JUMP_BEYOND, JUMP_DONE, JUMP_NOT, JumpingWalk
from binx.kernels.output cimport append, release
from binx.kernels.transactions.table cimport TableCount
from binx.kernels.walk.wanted cimport Span, Wanted, is_wanted

cdef enum:
    # In place of a transaction's length.
    UNKNOWN_LENGTH = -1
    LENGTH_BEYOND = -2


cdef inline bint is_placed(
    const Header *header, int64_t position, int64_t file_size, int checksum_size, bint inside
) noexcept nogil:
    """Whether a header tells that its event stands where it does, and fits there.

    MariaDB 11.4 and later write no position ``inside`` a transaction.
    """
    return (
        known_type(header.type)
        and header.size >= HEADER_SIZE + checksum_size
        and header.size <= file_size - position
        and (
            header.next_position == <uint32_t> (position + header.size)
            or (inside and header.next_position == 0)
        )
    )


cdef class SearchingWalk(JumpingWalk):
    """A walk that may be told what is looked for.

    Args:
        file_size, position, transitions, counts_rows: see :class:`JumpingWalk`.
    """

    def __cinit__(self, *_):
        memset(&self.wanted, 0, sizeof(Wanted))
        self.resumed = -1

    def __dealloc__(self):
        release(&self.wanted.bounds)
        release(&self.wanted.spans)

    def search(self, dict intervals):
        """Look for GTIDs alone: at ``LEVEL_INDEX`` transactions that have none of them may be left out of the tables.

        They are passed over by their length, or header by header, where the next transaction's GTID event follows
        in its place; whatever is less sure than that is walked.

        ``intervals`` maps a source's key to its intervals: bytes of pairs of unsigned 64-bit integers, first and
        last, ascending. To be called before the walk begins.
        """
        cdef bytes key
        cdef bytes packed
        cdef Span span
        cdef const uint64_t *bounds
        cdef int64_t i
        for key, packed in intervals.items():
            span.first = self.wanted.bounds.size // 16
            span.count = len(packed) // 16
            if slot_of(&self.sources, <const uint8_t *> PyBytes_AS_STRING(key), len(key)) != self.wanted.spans.size // <int64_t> sizeof(Span):
                raise ValueError("the walk has begun")
            append(&self.wanted.bounds, PyBytes_AS_STRING(packed), span.count * 16)
            append(&self.wanted.spans, &span, sizeof(Span))
        bounds = <const uint64_t *> self.wanted.bounds.data
        self.wanted.least = <uint64_t> -1
        for i in range(self.wanted.bounds.size // 16):
            self.wanted.least = min(self.wanted.least, bounds[2 * i])
            self.wanted.greatest = max(self.wanted.greatest, bounds[2 * i + 1])
        self.searching = True

    cdef int pass_over(
        self, Cursor *body, const Header *header, const uint8_t *event, int64_t available
    ) except -1 nogil:
        """Pass over the transaction at ``position``, whose GTID event this is, where it is not looked for.

        ``JUMP_NOT``: it is, or where it ends is not certain. ``JUMP_BEYOND``: the window does not show its end.
        """
        cdef int64_t length = 0
        cdef uint64_t number = 0
        cdef Header landing
        cdef bint apart = False
        # What is far from all that is wanted is told by its number, whatever its source.
        if header.type == GTID_EVENT:
            apart = glance_at_gtid(body, &number, &length)
        elif header.type == MARIADB_GTID_EVENT:
            number = little(take(body, 13), 8)
            apart = True
        apart = apart and (number < self.wanted.least or number > self.wanted.greatest)
        body.position = 0
        if not apart:
            self.start_transaction(header, self.position)
            self.current.start = -1
            self.has_gtids = True
            take_gtid(body, header, &self.sources, &self.current)
            body.position = 0
            if is_wanted(&self.wanted, &self.current):
                return JUMP_NOT
            length = self.current.claimed_length
        if not is_placed(header, self.position, self.file_size, self.checksum_size, False):
            return JUMP_NOT
        if length == 0:
            length = self.length_by_events(header, event, available)
        if length == LENGTH_BEYOND or length > available - HEADER_SIZE:
            return JUMP_BEYOND if self.position + available < self.file_size else JUMP_NOT
        if length < header.size + HEADER_SIZE + self.checksum_size:
            return JUMP_NOT
        landing = header_of(event + length)
        if not begins_transaction(landing.type):
            return JUMP_NOT
        if not is_placed(&landing, self.position + length, self.file_size, self.checksum_size, False):
            return JUMP_NOT
        self.position += length
        return JUMP_DONE

    cdef int64_t length_by_events(self, const Header *first, const uint8_t *event, int64_t available) noexcept nogil:
        """The bytes up to the next event that begins a transaction, by the sizes of the events between."""
        cdef int64_t length = first.size
        cdef int64_t file_size = self.file_size
        cdef int checksum_size = self.checksum_size
        cdef Header header
        while length <= available - HEADER_SIZE:
            header = header_of(event + length)
            if begins_transaction(header.type):
                return length
            if is_about_files(header.type):
                return UNKNOWN_LENGTH
            if not is_placed(&header, self.position + length, file_size, checksum_size, True):
                return UNKNOWN_LENGTH
            length += header.size
        return LENGTH_BEYOND

    def pass_rows(self):
        """Leave transactions out of the tables that have rows and nothing else, and count them in ``passed``.

        They are walked over header by header, where each header tells that its event stands where it does.
        """
        self.passes_rows = True

    cdef bint pass_over_rows(self, const Header *first, const uint8_t *event, int64_t available) except -1 nogil:
        """Pass over the transaction at ``position``, whose GTID event this is, if it has rows and nothing else.

        Whether it does is told only where the window shows all of it.
        """
        cdef int64_t length = first.size
        cdef Header header
        while length <= available - HEADER_SIZE:
            header = header_of(event + length)
            if not is_placed(&header, self.position + length, self.file_size, self.checksum_size, True):
                return False
            if header.size > available - length:
                return False
            if header.type == XID_EVENT:
                self.position += length + header.size
                self.passed += 1
                return True
            if not is_about_rows(header.type) and not (length == first.size and self.is_begin(&header, event + length)):
                return False
            length += header.size
        return False

    cdef bint is_begin(self, const Header *header, const uint8_t *event) except -1 nogil:
        """Whether an event is the statement BEGIN."""
        cdef uint8_t event_class = CLASS_UNKNOWN
        cdef uint32_t thread = 0
        cdef Cursor body = cursor_over(event + HEADER_SIZE, header.size - HEADER_SIZE - self.checksum_size, self.position)
        classify(&body, header, self.post_header, &event_class, &thread)
        return event_class == CLASS_BEGIN

    def seek(self, int64_t position, bint named):
        """Give up the transaction at hand, and go on at an event from which transactions are looked for again.

        What stands before the next event that begins a transaction for certain is passed over: see ``skips``.
        """
        if self.current.start >= 0:
            self.table.counts.size = self.current.first_count * sizeof(TableCount)
            self.current.start = -1
        self.state = STATE_OUTSIDE
        self.distrusted = -1
        self.position = position
        self.seeking = True
        self.named = named
        self.resumed = -1

    cdef bint skips(self, Cursor *body, Header *header) except -1 nogil:
        """Whether an event is passed over while the beginning of a transaction is looked for.

        Where every transaction is ``named`` (has a GTID event, if an anonymous one), only such an event begins
        one. Where not, BEGIN and XA START do, and whatever follows the end of another. ROTATE and STOP as the
        file's last event stand between transactions.
        """
        cdef uint8_t event_class = CLASS_UNKNOWN
        cdef uint32_t thread = 0
        cdef bint begins
        classify(body, header, self.post_header, &event_class, &thread)
        begins = (
            event_class == CLASS_GTID
            or event_class == CLASS_GTID_STANDALONE
            or event_class == CLASS_GTID_GROUP
            or (not self.named and (event_class == CLASS_BEGIN or event_class == CLASS_XA_START))
            or (
                (header.type == ROTATE_EVENT or header.type == STOP_EVENT)
                and self.position + header.size == self.file_size
            )
        )
        if begins:
            self.seeking = False
            self.resumed = self.position
            return False
        if (
            event_class == CLASS_COMMIT
            or event_class == CLASS_ROLLBACK
            or event_class == CLASS_PAYLOAD
            or CLASS_XA_PREPARE <= event_class <= CLASS_XA_ROLLBACK
        ):
            self.ends_passed += 1
            if not self.named:
                self.seeking = False
                self.resumed = self.position + header.size
        return True

    @property
    def is_seeking(self):
        """Whether the beginning of a transaction is still looked for."""
        return self.seeking
