# cython: language_level=3
"""The status variables of a QUERY event, as far as kernels look at them.

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
    MARIADB_HRNOW_CODE = 128
    TOO_MANY_DATABASES = 254
    MICROSECONDS_SIZE = 3


cdef inline int64_t variable_size(const uint8_t *data, int64_t size, int64_t at) noexcept nogil:
    """Bytes that a variable's value takes, from ``at`` on; -1 where they are not known or there are fewer.

    Only those are known that servers write before the microseconds.
    """
    # FLAGS2, SQL_MODE, CATALOG, AUTO_INCREMENT, CHARSET, TIME_ZONE, CATALOG_NZ, LC_TIME_NAMES, CHARSET_DATABASE,
    # TABLE_MAP_FOR_UPDATE, MASTER_DATA_WRITTEN.
    cdef const char *fixed = b"\4\x08\0\4\6\0\0\2\2\x08\4"
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
    else:
        return -1
    return end - at if end <= size else -1


cdef inline int64_t microseconds_at(const uint8_t *data, int64_t size) noexcept nogil:
    """Where in the status variables the microseconds of the statement's time stand, 3 bytes; -1: nowhere."""
    cdef int64_t at = 0
    cdef int64_t value
    while at < size:
        at += 1
        if data[at - 1] == MICROSECONDS_CODE or data[at - 1] == MARIADB_HRNOW_CODE:
            return at if at + MICROSECONDS_SIZE <= size else -1
        value = variable_size(data, size, at)
        if value < 0:
            return -1
        at += value
    return -1
