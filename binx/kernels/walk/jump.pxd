# cython: language_level=3
"""Jump from GTID event to GTID event if it holds a transaction length that can be trusted."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from binx.kernels.cursor cimport Cursor, little
from binx.kernels.transactions.table cimport *
from binx.kernels.walk.classify cimport checksum_matches, classify, read_payload_fields
from binx.kernels.walk.events cimport *
from binx.kernels.walk.gtids cimport take_gtid
from binx.kernels.walk.scan cimport *
from binx.kernels.walk.scan cimport Scanner

cdef enum:
    # Results of a jump by a transaction's length.
    JUMP_NOT = 0
    JUMP_DONE = 1
    JUMP_BEYOND = 2


cdef inline int64_t terminal_bytes(Scanner walk) noexcept nogil:
    """Return the size of an XID event."""
    return HEADER_SIZE + 8 + walk.checksum_size


cdef inline int distrust(Scanner walk) noexcept nogil:
    """Have the transaction at ``position`` read event by event."""
    walk.distrusted = walk.position
    return JUMP_NOT


cdef inline bint is_landing(Scanner walk, const uint8_t *landing, int64_t position, int64_t available) noexcept nogil:
    """Whether the claimed length ends at a plausible event or at the file's end."""
    cdef Header header
    if position == walk.file_size:
        return True
    if available < HEADER_SIZE:
        return False
    header = header_of(landing)
    return (
        (known_type(header.type) or header.flags & IGNORABLE_FLAG)
        and fits_file(&header, position, walk.file_size, walk.checksum_size)
    )


cdef inline int lone_kind(Scanner walk, uint8_t event_class) noexcept nogil:
    """Return the kind of a transaction whose only event after the GTID event has this class."""
    cdef int transition = walk.next_states[STATE_OUTSIDE * CLASSES + CLASS_GTID] * CLASSES + event_class
    return walk.kinds[transition] if walk.actions[transition] == ACTION_END else NO_KIND


cdef inline int jump(
    Scanner walk, Cursor *body, Header *header, const uint8_t *event, int64_t available, const uint8_t *tail, int64_t tail_size
) except -1 nogil:
    """Record the transaction at ``position`` by the length that its GTID event claims.

    Only transactions whose kind follows from two events are accepted: a single event after the GTID event, or
    BEGIN as the second and XID as the last. ``tail`` begins where that XID event would and extends to the header
    after the transaction; NULL if it is in the window. ``JUMP_NOT``: the transaction must be walked.
    """
    cdef Cursor gtid = body[0]
    cdef Transaction *current = &walk.current
    cdef Header second
    cdef Cursor second_body
    cdef Header terminal
    cdef int64_t terminal_size = terminal_bytes(walk)
    cdef int64_t landing
    cdef uint8_t event_class
    cdef uint8_t kind = KIND_DML
    walk.start_transaction(header, walk.position)
    current.start = -1
    walk.has_gtids = True
    take_gtid(&gtid, header, &walk.sources, current)
    if (
        current.claimed_length < header.size + HEADER_SIZE + walk.checksum_size
        or current.claimed_length < terminal_size
        or current.claimed_length > walk.file_size - walk.position
    ):
        return distrust(walk)
    landing = walk.position + current.claimed_length
    if tail == NULL:
        if current.claimed_length > available - HEADER_SIZE and walk.position + available < walk.file_size:
            walk.beyond_end = landing
            return JUMP_BEYOND
        tail = event + current.claimed_length - terminal_size
        tail_size = available - current.claimed_length + terminal_size
    if header.size + HEADER_SIZE > available or not is_landing(walk, tail + terminal_size, landing, tail_size - terminal_size):
        return distrust(walk)
    second = header_of(event + header.size)
    if second.size < HEADER_SIZE + walk.checksum_size or header.size + <int64_t> second.size > current.claimed_length:
        return distrust(walk)
    second_body = body_of(
        event + header.size, &second, available - header.size, walk.checksum_size, walk.position + header.size
    )
    classify(&second_body, &second, walk.post_header, &event_class, &walk.query_thread)
    current.begin_timestamp = second.timestamp
    if header.size + <int64_t> second.size == current.claimed_length:
        kind = lone_kind(walk, event_class)
        if kind == NO_KIND:
            return distrust(walk)
        if event_class == CLASS_PAYLOAD:
            read_payload_fields(&second_body, &walk.current)
        terminal = second
    else:
        if event_class != CLASS_BEGIN or header.size + second.size + terminal_size > current.claimed_length:
            return distrust(walk)
        terminal = header_of(tail)
        if (
            terminal.type != XID_EVENT
            or terminal.size != terminal_size
            or terminal.next_position != <uint32_t> landing
            or (walk.checksum_size and not checksum_matches(tail, terminal_size))
        ):
            return distrust(walk)
        current.xid = little(tail + HEADER_SIZE, 8)
        current.flags |= HAS_XID
    if second.type == QUERY_EVENT:
        current.thread_id = walk.query_thread
        current.flags |= HAS_THREAD
    current.start = walk.position
    walk.push(kind, terminal.timestamp, landing)
    walk.position = landing
    return JUMP_DONE
