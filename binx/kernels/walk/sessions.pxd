# cython: language_level=3
"""The status variables of a QUERY event: how large each is, and where those stand that kernels look at.

Source: ``Query_event`` in MySQL's ``libs/mysql/binlog/event/statement_events.h``; MariaDB's ``sql/log_event.h``.
"""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    CATALOG_CODE = 2
    TIME_ZONE_CODE = 5
    CATALOG_NZ_CODE = 6
    INVOKER_CODE = 11
    DATABASES_CODE = 12
    MICROSECONDS_CODE = 13
    LAST_MYSQL_CODE = 21
    MARIADB_HRNOW_CODE = 128
    MARIADB_XID_CODE = 129
    MARIADB_GTID_FLAGS_CODE = 130
    MARIADB_COLLATIONS_CODE = 131
    MARIADB_DUMMY_CODE = 255
    # Flags of MariaDB's GTID that say that a sequence number follows.
    MARIADB_ENDS_ALTER = 0x0C
    TOO_MANY_DATABASES = 254
    MICROSECONDS_SIZE = 3


cdef inline int64_t variable_size(const uint8_t *data, int64_t size, int64_t at) noexcept nogil:
    """Bytes that a variable's value takes, from ``at`` on; -1 where there are fewer, -2 where its code is not known."""
    # FLAGS2, SQL_MODE, CATALOG, AUTO_INCREMENT, CHARSET, TIME_ZONE, CATALOG_NZ, LC_TIME_NAMES, CHARSET_DATABASE,
    # TABLE_MAP_FOR_UPDATE, MASTER_DATA_WRITTEN.
    cdef const char *fixed = b"\4\x08\0\4\6\0\0\2\2\x08\4"
    # From the microseconds on: MICROSECONDS, COMMIT_TS, COMMIT_TS2, EXPLICIT_DEFAULTS_FOR_TIMESTAMP, DDL_LOGGED_WITH_XID,
    # DEFAULT_COLLATION_FOR_UTF8MB4, SQL_REQUIRE_PRIMARY_KEY, DEFAULT_TABLE_ENCRYPTION, ENABLE_CASCADE_TRIGGERS.
    cdef const char *later = b"\3\x08\x10\1\x08\2\1\1\1"
    cdef uint8_t code = data[at - 1]
    cdef int64_t end = at
    cdef int64_t names
    if code == CATALOG_CODE or code == TIME_ZONE_CODE or code == CATALOG_NZ_CODE:
        if at >= size:
            return -1
        # Of the first servers' catalogs the length leaves out the zero byte behind them.
        end = at + 1 + data[at] + (code == CATALOG_CODE and data[at] > 0)
    elif code < INVOKER_CODE:
        end = at + fixed[code]
    elif code == INVOKER_CODE:
        for names in range(2):
            if end >= size:
                return -1
            end += 1 + data[end]
    elif code == DATABASES_CODE:
        if at >= size:
            return -1
        end = at + 1
        names = 0 if data[at] == TOO_MANY_DATABASES else data[at]
        while names:
            if end >= size:
                return -1
            names -= data[end] == 0
            end += 1
    elif code <= LAST_MYSQL_CODE:
        end = at + later[code - MICROSECONDS_CODE]
    elif code == MARIADB_HRNOW_CODE:
        end = at + MICROSECONDS_SIZE
    elif code == MARIADB_XID_CODE:
        end = at + 8
    elif code == MARIADB_GTID_FLAGS_CODE:
        if at >= size:
            return -1
        end = at + (9 if data[at] & MARIADB_ENDS_ALTER else 1)
    elif code == MARIADB_COLLATIONS_CODE:
        if at >= size:
            return -1
        end = at + 1 + 4 * <int64_t> data[at]
    elif code != MARIADB_DUMMY_CODE:
        return -2
    return end - at if end <= size else -1


cdef inline bint session_is_whole(const uint8_t *body, int64_t size, int64_t fixed) noexcept nogil:
    """Whether the session that a statement's event tells can be read: its variables up to one that is not known, and the
    database's name. ``fixed`` bytes stand before them."""
    cdef int64_t variables
    cdef int64_t name
    cdef int64_t at = 0
    cdef int64_t value
    if size < fixed:
        return False
    variables = body[11] | <int64_t> body[12] << 8
    name = fixed + variables + body[8]
    if name >= size or body[name] != 0:
        return False
    while at < variables:
        value = variable_size(body + fixed, variables, at + 1)
        if value < 0:
            return value == -2
        at += 1 + value
    return True
