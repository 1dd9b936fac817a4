# cython: language_level=3
"""Find the next event in a window, classify it for the boundary state machine, and report invalid ones."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from binx.kernels.crc32 cimport crc32
from binx.kernels.walk.scan cimport *
from binx.kernels.cursor cimport Cursor, ahead, cursor_over, little, remaining, take, take_packed
from binx.kernels.walk.events cimport *
from binx.kernels.walk.gtids cimport MARIADB_STANDALONE
from binx.kernels.walk.statements cimport *
from binx.kernels.transactions.table cimport COMPRESSED, Transaction

cdef enum:
    # Fields of Transaction_payload_event: type, length and value, all length-encoded.
    PAYLOAD_END_MARK = 0
    PAYLOAD_UNCOMPRESSED_SIZE = 3
    PAYLOAD_FIELDS = 4


cdef inline int classify_query(
    Cursor *body, uint8_t type, uint8_t *event_class, uint32_t *thread_id
) except -1 nogil:
    """Classify a QUERY and set its thread ID."""
    cdef Statement statement
    thread_id[0] = <uint32_t> little(take_query_head(body), 4)
    # MariaDB compresses only long texts, never BEGIN, COMMIT and the like.
    statement = STATEMENT_OTHER if type != QUERY_EVENT else statement_of(body[0])
    if statement == STATEMENT_BEGIN:
        event_class[0] = CLASS_BEGIN
    elif statement == STATEMENT_COMMIT:
        event_class[0] = CLASS_COMMIT
    elif statement == STATEMENT_ROLLBACK:
        event_class[0] = CLASS_ROLLBACK
    elif statement == STATEMENT_MARKER:
        event_class[0] = CLASS_MARKER
    elif statement == STATEMENT_XA_START:
        event_class[0] = CLASS_XA_START
    elif statement == STATEMENT_XA_COMMIT:
        event_class[0] = CLASS_XA_COMMIT
    elif statement == STATEMENT_XA_ROLLBACK:
        event_class[0] = CLASS_XA_ROLLBACK
    elif statement == STATEMENT_CHANGE:
        event_class[0] = CLASS_CHANGE
    else:
        event_class[0] = CLASS_STATEMENT
    return 0


cdef inline int classify(
    Cursor *body, const Header *header, const uint8_t *post_header, uint8_t *event_class, uint32_t *thread_id
) except -1 nogil:
    """Classify an event by its header, a QUERY by its text. For a QUERY, set its thread ID as well."""
    cdef uint8_t type = header.type
    cdef Cursor rest = ahead(body)
    if type == QUERY_EVENT or type == MARIADB_QUERY_COMPRESSED_EVENT:
        return classify_query(&rest, type, event_class, thread_id)
    if rows_operation(type) >= 0:
        take(&rest, table_id_width(post_header[type]))
        event_class[0] = CLASS_ROWS_END if little(take(&rest, 2), 2) & STATEMENT_END_FLAG else CLASS_ROWS
    elif type == MARIADB_PARTIAL_ROW_DATA_EVENT:
        event_class[0] = CLASS_ROWS
    elif type == TABLE_MAP_EVENT:
        event_class[0] = CLASS_TABLE_MAP
    elif type == XID_EVENT:
        event_class[0] = CLASS_COMMIT
    elif is_mysql_gtid(type):
        event_class[0] = CLASS_GTID
    elif type == MARIADB_GTID_EVENT:
        event_class[0] = CLASS_GTID_STANDALONE if take(&rest, 13)[12] & MARIADB_STANDALONE else CLASS_GTID_GROUP
    elif type == INTVAR_EVENT or type == RAND_EVENT or type == USER_VAR_EVENT:
        event_class[0] = CLASS_PREPARATION
    elif type == ROWS_QUERY_EVENT or type == MARIADB_ANNOTATE_ROWS_EVENT:
        event_class[0] = CLASS_ANNOTATION
    elif type == TRANSACTION_PAYLOAD_EVENT:
        event_class[0] = CLASS_PAYLOAD
    elif type == XA_PREPARE_EVENT:
        event_class[0] = CLASS_XA_ONE_PHASE if take(&rest, 1)[0] else CLASS_XA_PREPARE
    elif type == BEGIN_LOAD_QUERY_EVENT or type == APPEND_BLOCK_EVENT or type == CREATE_FILE_EVENT:
        event_class[0] = CLASS_LOAD_BLOCK
    elif type == EXECUTE_LOAD_QUERY_EVENT or type == EXEC_LOAD_EVENT or type == DELETE_FILE_EVENT:
        event_class[0] = CLASS_LOAD_END
    elif type == LOAD_EVENT or type == NEW_LOAD_EVENT:
        event_class[0] = CLASS_CHANGE
    elif type == INCIDENT_EVENT:
        event_class[0] = CLASS_INCIDENT
    elif type == TRANSACTION_CONTEXT_EVENT or type == VIEW_CHANGE_EVENT:
        event_class[0] = CLASS_CONTEXT
    elif (is_about_files(type) and type != FORMAT_DESCRIPTION_EVENT) or header.flags & IGNORABLE_FLAG:
        event_class[0] = CLASS_CONTROL
    else:
        event_class[0] = CLASS_UNKNOWN
    return 0


cdef struct PayloadFields:
    # By the number of the field: the payload's size is 1, its compression 2, its size before that 3.
    uint64_t[PAYLOAD_FIELDS] values
    bint[PAYLOAD_FIELDS] known


cdef inline int take_payload_fields(Cursor *body, PayloadFields *fields) except -1 nogil:
    """Read the fields of a payload event; the cursor ends at the compressed bytes."""
    cdef Cursor value
    cdef uint64_t field = 1
    cdef uint64_t size = 0
    cdef int64_t start
    memset(fields, 0, sizeof(PayloadFields))
    while True:
        take_packed(body, &field)
        if field == PAYLOAD_END_MARK:
            return 0
        take_packed(body, &size)
        start = body.origin + body.position
        value = cursor_over(take(body, <int64_t> size), <int64_t> size, start)
        if field < PAYLOAD_FIELDS:
            take_packed(&value, &fields.values[field])
            fields.known[field] = True


cdef inline int read_payload_fields(const Cursor *body, Transaction *transaction) except -1 nogil:
    """Record that a transaction is compressed, and its uncompressed size."""
    cdef Cursor rest = ahead(body)
    cdef PayloadFields fields
    take_payload_fields(&rest, &fields)
    if fields.known[PAYLOAD_UNCOMPRESSED_SIZE]:
        transaction.uncompressed_bytes = <int64_t> (
            fields.values[PAYLOAD_UNCOMPRESSED_SIZE] & <uint64_t> 0x7FFFFFFFFFFFFFFF
        )
    transaction.flags |= COMPRESSED
    return 0


cdef inline int illegal(
    const Header *header, uint8_t event_class, int64_t position, int64_t transaction
) except -1 with gil:
    from binx.errors import DamagedError, UnsupportedError
    from binx.kernels.walk.scan import EventClass

    if event_class == CLASS_UNKNOWN:
        raise UnsupportedError(
            f"found the unknown event type {header.type}, which is not marked as ignorable and may contain changes;"
            " a newer version of binx may support it, and the server's own mysqlbinlog does",
            offset=position,
        )
    name = EventClass(event_class).name.removeprefix("CLASS_").replace("_", " ")
    where = "between transactions" if transaction < 0 else f"inside the transaction that begins at {transaction}"
    raise DamagedError(f"found {name} (event type {header.type}), which is not valid {where}", offset=position)


cdef inline int bad_checksum(
    const Header *header, uint32_t expected, uint32_t found, int64_t position
) except -1 with gil:
    from binx.errors import ChecksumError

    raise ChecksumError(
        f"expected the stored checksum {expected:#010x}, found {found:#010x}: the bytes were changed or overwritten",
        offset=position,
    )

cdef inline int bad_header(const Header *header, int64_t position) except -1 with gil:
    from binx.errors import DamagedError

    if header.type == 0 and header.size == 0:
        found = "zeros: this part of the file was never written or was overwritten"
    else:
        found = f"type {header.type} and size {header.size}"
    raise DamagedError(f"expected an event header, found {found}", offset=position)


cdef enum:
    AT_EVENT = -2
    AT_LIMIT = 0
    AT_FORMAT = 1
    AT_TRUNCATED = 2
    AT_END = 3


cdef inline int64_t whole_event(const uint8_t *base, int64_t size, int64_t at) noexcept nogil:
    """Return the size of the event at an offset; 0 if it is incomplete, -1 if the size is too small for an event."""
    cdef int64_t claimed
    if size - at < HEADER_SIZE:
        return 0
    claimed = header_of(base + at).size
    if claimed < HEADER_SIZE:
        return -1
    return claimed if claimed <= size - at else 0


cdef inline uint32_t stored_checksum(const uint8_t *event, int64_t size) noexcept nogil:
    return <uint32_t> little(event + size - CHECKSUM_SIZE, CHECKSUM_SIZE)


cdef inline bint checksum_matches(const uint8_t *event, int64_t size) noexcept nogil:
    """Whether the checksum at an event's end is that of its other bytes."""
    return crc32(0, event, size - CHECKSUM_SIZE) == stored_checksum(event, size)


cdef inline bint is_proven(const uint8_t *event, int64_t size, int64_t available, int checksum_size) noexcept nogil:
    """Whether the bytes are certainly an event, whatever its type: the checksum is right."""
    return (
        checksum_size != 0
        and size <= available
        and checksum_matches(event, size)
    )


cdef inline int frame_event(
    const uint8_t *base,
    int64_t size,
    int64_t origin,
    int64_t position,
    int64_t file_size,
    int checksum_size,
    int64_t vouched,
    bint any_type,
    Header *header,
) except -1 nogil:
    """Read the header of the event at ``position``, from a window of the file that begins at ``origin``.

    ``AT_EVENT``: the window has the whole event; for a ``vouched`` event, its beginning is enough.
    ``AT_LIMIT``: the event continues after the window. ``AT_TRUNCATED``: the file ends inside the event. ``AT_END``:
    nothing is left. ``AT_FORMAT``: it is a format description. An event of an unknown type must be marked as
    ignorable or have the right checksum, unless ``any_type`` is set.
    """
    cdef int64_t available = origin + size - position
    cdef const uint8_t *event
    if available < HEADER_SIZE:
        if origin + size < file_size:
            return AT_LIMIT
        return AT_END if available <= 0 else AT_TRUNCATED
    event = base + (position - origin)
    header[0] = header_of(event)
    if header.size < HEADER_SIZE + checksum_size or (
        not known_type(header.type)
        and not any_type
        and not header.flags & IGNORABLE_FLAG
        and not is_proven(event, header.size, available, checksum_size)
    ):
        bad_header(header, position)
    if header.size > file_size - position:
        return AT_TRUNCATED
    if header.size > available and position != vouched:
        return AT_LIMIT
    if header.type == FORMAT_DESCRIPTION_EVENT:
        return AT_FORMAT
    return AT_EVENT
