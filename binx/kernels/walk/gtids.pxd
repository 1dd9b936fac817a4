# cython: language_level=3
"""Parse GTID events of all flavours into a transaction record.

Sources: ``Gtid_event`` in MySQL's ``libs/mysql/binlog/event/control_events.cpp``
(WL#7319 transaction length 8.0.2, commit timestamps 8.0.1, tags 8.3),
``Gtid_log_event`` in MariaDB's ``sql/log_event.h``.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.cursor cimport Cursor, little, remaining, take, take_little, take_packed
from binx.kernels.walk.events cimport (
    ANONYMOUS_GTID_EVENT,
    GTID_EVENT,
    GTID_TAGGED_EVENT,
    MARIADB_GTID_EVENT,
    Header,
)
from binx.kernels.hashing cimport Slots, slot_of
from binx.kernels.transactions.table cimport (
    COMMIT_TIME_FROM_GTID,
    GTID_ANONYMOUS,
    GTID_MARIADB,
    GTID_MYSQL,
    HAS_CLOCK,
    HAS_THREAD,
    MARIADB_SOURCE_SIZE,
    TAG_MAXIMUM,
    UUID_SIZE,
    Transaction,
)

cdef enum:
    # Of a GTID event's body: where the logical clock is, its bytes, and its type.
    CLOCK_OFFSET = 25
    CLOCK_SIZE = 17
    LOGICAL_CLOCK = 2
    MARIADB_STANDALONE = 1
    MARIADB_GROUP_COMMIT = 0x02
    MARIADB_XA = 0x40 | 0x80
    # Of MariaDB's second byte of flags.
    MARIADB_MULTI_ENGINE = 0x01
    MARIADB_ENDS_ALTER = 0x04 | 0x08
    MARIADB_THREAD = 0x10
    # Of a commit time; other GTID events have as many bits for it.
    TIME_BITS = 56
    # Of GTID_TAGGED's messages: the version, and the last field that MySQL 9 writes.
    SERIALIZATION_VERSION = 1
    LAST_FIELD = 11


cdef inline bint is_mysql_number(uint64_t number) noexcept nogil:
    """Whether a MySQL server can assign this transaction number (``GNO_END``, sql/rpl_gtid.h, is 2^63-1)."""
    return 0 < number < <uint64_t> 0x7FFFFFFFFFFFFFFF


cdef inline int bad_gtid(Cursor *body, const char *found) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        f"expected a GTID event, found {found.decode()}", offset=body.origin + body.position
    )


cdef inline int read_gtid(
    Cursor *body, uint8_t type, Slots *sources, Transaction *transaction
) except -1 nogil:
    """Parse GTID_LOG_EVENT and ANONYMOUS_GTID_LOG_EVENT of 5.6 to 9.x.

    Flags (1), UUID (16), number (8); since 5.7 logical clock type (1, value 2), last committed (8),
    sequence number (8); since 8.0.1 immediate commit timestamp (7, µs; bit 55 is set if the original one
    follows, 7); since 8.0.2 the transaction's length (length-encoded).
    """
    cdef const uint8_t *data = take(body, CLOCK_OFFSET)
    cdef uint64_t value
    transaction.number = little(data + 1 + UUID_SIZE, 8)
    if type == ANONYMOUS_GTID_EVENT:
        transaction.gtid_kind = GTID_ANONYMOUS
        if transaction.number:
            return bad_gtid(body, b"a transaction number that is not 0")
    else:
        transaction.gtid_kind = GTID_MYSQL
        transaction.source = slot_of(sources, data + 1, UUID_SIZE)
        if not is_mysql_number(transaction.number):
            return bad_gtid(body, b"a transaction number outside 1 to 2^63-2")
    if remaining(body) < CLOCK_SIZE:
        return 0
    data = take(body, CLOCK_SIZE)
    if data[0] != LOGICAL_CLOCK:
        return 0
    transaction.last_committed = <int64_t> little(data + 1, 8)
    transaction.sequence_number = <int64_t> little(data + 9, 8)
    transaction.flags |= HAS_CLOCK
    if remaining(body) < 7:
        return 0
    value = little(take(body, 7), 7)
    transaction.commit_timestamp = <int64_t> (value & ~(<uint64_t> 1 << 55))
    transaction.original_commit_timestamp = transaction.commit_timestamp
    transaction.flags |= COMMIT_TIME_FROM_GTID
    if value >> 55:
        take_little(body, 7, &value)
        transaction.original_commit_timestamp = <int64_t> value
    if remaining(body) < 1:
        return 0
    take_packed(body, &value)
    transaction.claimed_length = <int64_t> value if value < (<uint64_t> 1 << 62) else 0
    return 0


cdef inline int take_serialized(Cursor *body, uint64_t *value) except -1 nogil:
    """Read an unsigned integer of mysql::serialization (variable_length_integers.h).

    The number of trailing ones in the first byte is the number of bytes that follow; its other bits are the
    value's lowest.
    """
    cdef uint8_t first = take(body, 1)[0]
    cdef int more = 0
    cdef uint64_t high
    while more < 8 and (first >> more) & 1:
        more += 1
    value[0] = first >> (more + 1) if more < 7 else 0
    if more:
        high = little(take(body, more), more)
        value[0] |= high << (7 - more) if more < 8 else high
    return 0


cdef inline int64_t signed_of(uint64_t value) noexcept nogil:
    """Decode a signed integer: the lowest bit is the sign, and a negative number's other bits are inverted."""
    return ~(<int64_t> (value >> 1)) if value & 1 else <int64_t> (value >> 1)


cdef inline bint tag_character(uint8_t character, bint first) noexcept nogil:
    """Whether a tag may contain this character: lower-case letters, underscores, and digits except as the first."""
    return (
        b"a" <= character <= b"z" or character == b"_" or (not first and b"0" <= character <= b"9")
    )


cdef inline int read_tagged_gtid(Cursor *body, Slots *sources, Transaction *transaction) except -1 nogil:
    """Parse GTID_TAGGED_LOG_EVENT, a message of mysql::serialization.

    Version, size of the message, the last field that a reader must know, then pairs of field number and value:
    0 flags, 1 UUID (each byte as an integer), 2 number, 3 tag (length, bytes), 4 last committed,
    5 sequence number, 6 immediate and 7 original commit timestamp, 8 transaction length; those up to 11
    (server versions, ticket) are not needed here.
    """
    cdef uint8_t source[UUID_SIZE + TAG_MAXIMUM]
    cdef uint64_t value
    cdef uint64_t field
    cdef int64_t last_field = -1
    cdef int64_t source_size = 0
    cdef int64_t start = body.position
    cdef Cursor fields
    cdef bint has_flags = False
    cdef int i
    take_serialized(body, &value)
    if value != SERIALIZATION_VERSION:
        return bad_gtid(body, b"another version of MySQL's serialization than 1")
    take_serialized(body, &value)
    fields = body[0]
    take_serialized(&fields, &field)
    if field > LAST_FIELD:
        return bad_gtid(body, b"a field of newer servers that must be known")
    if value > <uint64_t> (body.size - start) or start + <int64_t> value < fields.position:
        return bad_gtid(body, b"a message of another size than its event")
    fields.size = start + <int64_t> value
    while remaining(&fields) > 0:
        take_serialized(&fields, &field)
        if <int64_t> field <= last_field:
            return bad_gtid(&fields, b"fields that do not ascend")
        last_field = <int64_t> field
        if field > LAST_FIELD:
            break
        if field == 1:
            for i in range(UUID_SIZE):
                take_serialized(&fields, &value)
                source[i] = <uint8_t> value
            source_size = UUID_SIZE
            continue
        take_serialized(&fields, &value)
        if (field == 6 or field == 7) and value >> TIME_BITS:
            return bad_gtid(&fields, b"a commit time of more than 56 bits")
        if field == 0:
            has_flags = True
        elif field == 2:
            transaction.number = <uint64_t> signed_of(value)
        elif field == 3:
            if value > TAG_MAXIMUM or source_size != UUID_SIZE:
                return bad_gtid(&fields, b"a tag that is longer than 32 bytes or stands before the UUID")
            memcpy(source + UUID_SIZE, take(&fields, <int64_t> value), value)
            source_size += <int64_t> value
            for i in range(UUID_SIZE, <int> source_size):
                if not tag_character(source[i], i == UUID_SIZE):
                    return bad_gtid(&fields, b"a tag that is no name in lower case")
        elif field == 4:
            transaction.last_committed = signed_of(value)
        elif field == 5:
            transaction.sequence_number = signed_of(value)
        elif field == 6:
            transaction.commit_timestamp = <int64_t> value
            transaction.original_commit_timestamp = <int64_t> value
        elif field == 7:
            transaction.original_commit_timestamp = <int64_t> value
        elif field == 8:
            transaction.claimed_length = <int64_t> value if value < (<uint64_t> 1 << 62) else 0
    if not has_flags or source_size < UUID_SIZE or not is_mysql_number(transaction.number):
        return bad_gtid(&fields, b"one without flags, without a UUID or with a number outside 1 to 2^63-2")
    transaction.flags |= HAS_CLOCK | COMMIT_TIME_FROM_GTID
    transaction.source = slot_of(sources, source, source_size)
    # Set last: code that skips a damaged event must not look up its source.
    transaction.gtid_kind = GTID_MYSQL
    return 0


cdef inline int read_mariadb_gtid(
    Cursor *body, uint64_t server_id, Slots *sources, Transaction *transaction
) except -1 nogil:
    """Parse MariaDB's GTID_EVENT: sequence number (8), domain (4), flags (1); the server ID is in the header."""
    cdef const uint8_t *data = take(body, 13)
    cdef uint8_t source[MARIADB_SOURCE_SIZE]
    cdef int i
    transaction.gtid_kind = GTID_MARIADB
    transaction.number = little(data, 8)
    memcpy(source, data + 8, 4)
    for i in range(4):
        source[4 + i] = <uint8_t> (server_id >> (8 * i))
    transaction.source = slot_of(sources, source, MARIADB_SOURCE_SIZE)
    return read_mariadb_thread(body, data[12], transaction)


cdef inline int read_mariadb_thread(Cursor *body, uint8_t flags, Transaction *transaction) except -1 nogil:
    """Read the connection behind the optional fields of a GTID_EVENT, which newer servers log (MDEV-7850)."""
    cdef const uint8_t *sizes
    cdef uint8_t extra
    if flags & MARIADB_GROUP_COMMIT:
        take(body, 8)
    if flags & MARIADB_XA:
        # The XID: format (4), the sizes of its two parts (1 each), the parts.
        sizes = take(body, 6) + 4
        take(body, sizes[0] + sizes[1])
    extra = take(body, 1)[0] if remaining(body) else 0
    if extra & MARIADB_MULTI_ENGINE:
        take(body, 1)
    if extra & MARIADB_ENDS_ALTER:
        take(body, 8)
    if extra & MARIADB_THREAD:
        transaction.thread_id = <uint32_t> little(take(body, 4), 4)
        transaction.flags |= HAS_THREAD
    return 0


cdef inline int take_gtid(Cursor *body, const Header *header, Slots *sources, Transaction *transaction) except -1 nogil:
    """Parse a GTID event of any type; other events are ignored."""
    if header.type == GTID_TAGGED_EVENT:
        read_tagged_gtid(body, sources, transaction)
    elif header.type == GTID_EVENT or header.type == ANONYMOUS_GTID_EVENT:
        read_gtid(body, header.type, sources, transaction)
    elif header.type == MARIADB_GTID_EVENT:
        read_mariadb_gtid(body, header.server_id, sources, transaction)
    return 0
