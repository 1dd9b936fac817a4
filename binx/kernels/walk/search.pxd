# cython: language_level=3
"""Skip transactions that have none of the wanted GTIDs, and skip damaged bytes.

Of skipped transactions, only the start and end are read.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.walk.classify cimport classify
from binx.kernels.walk.events cimport *
from binx.kernels.walk.gtids cimport take_gtid
from binx.kernels.walk.jump cimport JUMP_BEYOND, JUMP_DONE, JUMP_NOT
from binx.kernels.walk.scan cimport *
from binx.kernels.walk.scan cimport Scanner
from binx.kernels.transactions.wanted cimport is_wanted

cdef enum:
    # Instead of a transaction's length: its end is uncertain, or after the window.
    UNKNOWN_LENGTH = -1
    LENGTH_BEYOND = -2


cdef inline bint is_placed(
    const Header *header, int64_t position, int64_t file_size, int checksum_size, bint inside
) noexcept nogil:
    """Whether a header is plausible here: known type, matching position, and a size that fits the file.

    MariaDB 11.4 and later write no position ``inside`` a transaction.
    """
    return (
        known_type(header.type)
        and fits_file(header, position, file_size, checksum_size)
        and (
            header.next_position == <uint32_t> (position + header.size)
            or (inside and header.next_position == 0)
        )
    )


cdef inline int64_t length_by_events(Scanner walk, const Header *first, const uint8_t *event, int64_t available) noexcept nogil:
    """Return the bytes up to the next event that begins a transaction, from the sizes of the events between."""
    cdef int64_t length = first.size
    cdef int64_t file_size = walk.file_size
    cdef int checksum_size = walk.checksum_size
    cdef Header header
    while length <= available - HEADER_SIZE:
        header = header_of(event + length)
        if begins_transaction(header.type):
            return length
        if is_about_files(header.type):
            return UNKNOWN_LENGTH
        if not is_placed(&header, walk.position + length, file_size, checksum_size, True):
            return UNKNOWN_LENGTH
        length += header.size
    return LENGTH_BEYOND


cdef inline int pass_over(
    Scanner walk, Cursor *body, const Header *header, const uint8_t *event, int64_t available
) except -1 nogil:
    """Skip the transaction at ``position``, whose GTID event this is, if its GTID is not wanted.

    Returns ``JUMP_NOT`` if it is wanted or its end is uncertain, ``JUMP_BEYOND`` if its end is after the window.
    """
    cdef int64_t length
    cdef Header landing
    walk.start_transaction(header, walk.position)
    walk.current.start = -1
    walk.has_gtids = True
    take_gtid(body, header, &walk.sources, &walk.current)
    body.position = 0
    if is_wanted(&walk.wanted, &walk.current):
        return JUMP_NOT
    length = walk.current.claimed_length
    if not is_placed(header, walk.position, walk.file_size, walk.checksum_size, False):
        return JUMP_NOT
    if length == 0:
        length = length_by_events(walk, header, event, available)
    if length == LENGTH_BEYOND or length > available - HEADER_SIZE:
        return JUMP_BEYOND if walk.position + available < walk.file_size else JUMP_NOT
    if length < header.size + HEADER_SIZE + walk.checksum_size:
        return JUMP_NOT
    landing = header_of(event + length)
    if not begins_transaction(landing.type):
        return JUMP_NOT
    if not is_placed(&landing, walk.position + length, walk.file_size, walk.checksum_size, False):
        return JUMP_NOT
    walk.position += length
    return JUMP_DONE


cdef inline bint skips(Scanner walk, Cursor *body, Header *header) except -1 nogil:
    """Whether to skip an event in the search for the start of a transaction.

    If every transaction is ``named`` (has a GTID event, maybe an anonymous one), only a GTID event begins
    one. Otherwise BEGIN and XA START do as well, and so does any event after the end of another transaction.
    ROTATE or STOP as the file's last event is between transactions.
    """
    cdef uint8_t event_class = CLASS_UNKNOWN
    cdef uint32_t thread = 0
    cdef bint begins
    classify(body, header, walk.post_header, &event_class, &thread)
    begins = (
        event_class == CLASS_GTID
        or event_class == CLASS_GTID_STANDALONE
        or event_class == CLASS_GTID_GROUP
        or (not walk.named and (event_class == CLASS_BEGIN or event_class == CLASS_XA_START))
        or (
            (header.type == ROTATE_EVENT or header.type == STOP_EVENT)
            and walk.position + header.size == walk.file_size
        )
    )
    if begins:
        walk.seeking = False
        walk.resumed = walk.position
        return False
    if (
        event_class == CLASS_COMMIT
        or event_class == CLASS_ROLLBACK
        or event_class == CLASS_PAYLOAD
        or CLASS_XA_PREPARE <= event_class <= CLASS_XA_ROLLBACK
    ):
        walk.ends_passed += 1
        if not walk.named:
            walk.seeking = False
            walk.resumed = walk.position + header.size
    return True
