# cython: language_level=3
"""Event headers and event type codes, for kernels.

Source: ``libs/mysql/binlog/event/binlog_event.h`` (MySQL), ``sql/log_event.h`` (MariaDB).
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from binx.kernels.cursor cimport Cursor, cursor_over, little

cdef enum:
    HEADER_SIZE = 19
    CHECKSUM_SIZE = 4

    QUERY_EVENT = 2
    STOP_EVENT = 3
    ROTATE_EVENT = 4
    INTVAR_EVENT = 5
    LOAD_EVENT = 6
    CREATE_FILE_EVENT = 8
    APPEND_BLOCK_EVENT = 9
    EXEC_LOAD_EVENT = 10
    DELETE_FILE_EVENT = 11
    NEW_LOAD_EVENT = 12
    RAND_EVENT = 13
    USER_VAR_EVENT = 14
    FORMAT_DESCRIPTION_EVENT = 15
    XID_EVENT = 16
    BEGIN_LOAD_QUERY_EVENT = 17
    EXECUTE_LOAD_QUERY_EVENT = 18
    TABLE_MAP_EVENT = 19
    PRE_GA_WRITE_ROWS_EVENT = 20
    PRE_GA_UPDATE_ROWS_EVENT = 21
    PRE_GA_DELETE_ROWS_EVENT = 22
    WRITE_ROWS_EVENT_V1 = 23
    UPDATE_ROWS_EVENT_V1 = 24
    DELETE_ROWS_EVENT_V1 = 25
    INCIDENT_EVENT = 26
    HEARTBEAT_EVENT = 27
    IGNORABLE_EVENT = 28
    ROWS_QUERY_EVENT = 29
    WRITE_ROWS_EVENT = 30
    UPDATE_ROWS_EVENT = 31
    DELETE_ROWS_EVENT = 32
    GTID_EVENT = 33
    ANONYMOUS_GTID_EVENT = 34
    PREVIOUS_GTIDS_EVENT = 35
    TRANSACTION_CONTEXT_EVENT = 36
    VIEW_CHANGE_EVENT = 37
    XA_PREPARE_EVENT = 38
    PARTIAL_UPDATE_ROWS_EVENT = 39
    TRANSACTION_PAYLOAD_EVENT = 40
    HEARTBEAT_EVENT_V2 = 41
    GTID_TAGGED_EVENT = 42

    PERCONA_START_ENCRYPTION_EVENT = 159
    MARIADB_ANNOTATE_ROWS_EVENT = 160
    MARIADB_BINLOG_CHECKPOINT_EVENT = 161
    MARIADB_GTID_EVENT = 162
    MARIADB_GTID_LIST_EVENT = 163
    MARIADB_START_ENCRYPTION_EVENT = 164
    MARIADB_QUERY_COMPRESSED_EVENT = 165
    MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1 = 166
    MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1 = 167
    MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1 = 168
    MARIADB_WRITE_ROWS_COMPRESSED_EVENT = 169
    MARIADB_UPDATE_ROWS_COMPRESSED_EVENT = 170
    MARIADB_DELETE_ROWS_COMPRESSED_EVENT = 171
    MARIADB_PARTIAL_ROW_DATA_EVENT = 172

    IGNORABLE_FLAG = 0x80
    STATEMENT_END_FLAG = 0x1

cdef struct Header:
    uint32_t timestamp
    uint8_t type
    uint32_t server_id
    uint32_t size
    uint32_t next_position
    uint16_t flags


cdef inline Header header_of(const uint8_t *data) noexcept nogil:
    """Read a header; the caller has checked that there are 19 bytes."""
    cdef Header header
    header.timestamp = <uint32_t> little(data, 4)
    header.type = data[4]
    header.server_id = <uint32_t> little(data + 5, 4)
    header.size = <uint32_t> little(data + 9, 4)
    header.next_position = <uint32_t> little(data + 13, 4)
    header.flags = <uint16_t> little(data + 17, 2)
    return header


cdef inline void set_post_header(uint8_t *lengths, const uint8_t *logged, int64_t count) noexcept nogil:
    """Lay out a format description's post-header lengths, which begin with type 1, by type number (256 bytes)."""
    cdef int i
    memset(lengths, 0, 256)
    for i in range(min(count, 255)):
        lengths[i + 1] = logged[i]


cdef inline bint known_type(uint8_t type) noexcept nogil:
    return (1 <= type <= 42) or (159 <= type <= 172)


cdef inline bint fits_file(const Header *header, int64_t position, int64_t file_size, int checksum_size) noexcept nogil:
    """Whether the size in a header is that of an event which ends within the file."""
    return header.size >= HEADER_SIZE + checksum_size and header.size <= file_size - position


cdef inline Cursor body_of(
    const uint8_t *event, const Header *header, int64_t available, int checksum_size, int64_t position
) noexcept nogil:
    """A cursor over the event at ``position``, without header and checksum; if it is cut, over what is ``available``."""
    return cursor_over(
        event + HEADER_SIZE,
        min(<int64_t> header.size - checksum_size, available) - HEADER_SIZE,
        position + HEADER_SIZE,
    )


cdef inline int table_id_width(int post_header) noexcept nogil:
    """Return the bytes of a table ID by the post-header length of its event's type: 4 before MySQL 5.1.4, then 6."""
    return 4 if post_header == 6 else 6


cdef inline bint is_mysql_gtid(uint8_t type) noexcept nogil:
    return type == GTID_EVENT or type == ANONYMOUS_GTID_EVENT or type == GTID_TAGGED_EVENT


cdef inline bint begins_transaction(uint8_t type) noexcept nogil:
    """Whether it is a GTID event, which begins a transaction."""
    return is_mysql_gtid(type) or type == MARIADB_GTID_EVENT


cdef inline bint is_compressed_rows(uint8_t type) noexcept nogil:
    return MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1 <= type <= MARIADB_DELETE_ROWS_COMPRESSED_EVENT


cdef inline bint is_about_files(uint8_t type) noexcept nogil:
    """Whether an event is not part of a transaction, although relay logs may have it inside one."""
    return (
        type == FORMAT_DESCRIPTION_EVENT
        or type == ROTATE_EVENT
        or type == STOP_EVENT
        or type == HEARTBEAT_EVENT
        or type == HEARTBEAT_EVENT_V2
        or type == PREVIOUS_GTIDS_EVENT
        or type == MARIADB_BINLOG_CHECKPOINT_EVENT
        or type == MARIADB_GTID_LIST_EVENT
        or type == MARIADB_START_ENCRYPTION_EVENT
        or type == PERCONA_START_ENCRYPTION_EVENT
    )


cdef inline int rows_operation(uint8_t type) noexcept nogil:
    """Return 0 for insert, 1 for update, 2 for delete, -1 for other events."""
    if PRE_GA_WRITE_ROWS_EVENT <= type <= DELETE_ROWS_EVENT_V1:
        return (type - PRE_GA_WRITE_ROWS_EVENT) % 3
    if WRITE_ROWS_EVENT <= type <= DELETE_ROWS_EVENT:
        return type - WRITE_ROWS_EVENT
    if type == PARTIAL_UPDATE_ROWS_EVENT:
        return 1
    if is_compressed_rows(type):
        return (type - MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1) % 3
    return -1
