# cython: language_level=3
"""Classify QUERY events by the first words of their statement: begin, end, savepoint, XA and others.

Servers write BEGIN, COMMIT, ROLLBACK, SAVEPOINT and XA statements themselves and
in a fixed spelling (``Query_log_event::starts_group``, ``ends_group``); users' statements may begin with
comments, which are skipped.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from binx.kernels.cursor cimport Cursor, little, remaining, take

cdef enum:
    # Bytes of QUERY and of EXECUTE_LOAD_QUERY before the session's variables.
    QUERY_FIXED = 13
    LOAD_FIXED = 26

cdef enum Statement:
    STATEMENT_OTHER
    STATEMENT_CHANGE
    STATEMENT_BEGIN
    STATEMENT_COMMIT
    STATEMENT_ROLLBACK
    STATEMENT_MARKER
    STATEMENT_XA_START
    STATEMENT_XA_COMMIT
    STATEMENT_XA_ROLLBACK


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    return byte == 0x20 or 0x09 <= byte <= 0x0D


cdef inline bint begins(const uint8_t *text, int64_t size, const char *word) noexcept nogil:
    """Whether the text begins with a word, given in upper case, ignoring case, and the word ends there.

    A space in the word stands for one or more white-space characters.
    """
    cdef int64_t at = 0
    cdef uint8_t byte
    while word[0]:
        if at >= size:
            return False
        byte = text[at]
        if word[0] == b" ":
            if not is_space(byte):
                return False
            while at < size and is_space(text[at]):
                at += 1
        else:
            if 0x61 <= byte <= 0x7A:
                byte -= 0x20
            if byte != <uint8_t> word[0]:
                return False
            at += 1
        word += 1
    if at == size:
        return True
    byte = text[at]
    return not (0x30 <= byte <= 0x39 or 0x41 <= byte <= 0x5A or 0x61 <= byte <= 0x7A or byte == 0x5F or byte >= 0x80)


cdef inline bint begins_plain_comment(const uint8_t *text, int64_t size) noexcept nogil:
    """Whether the text begins with a ``/*`` comment that is not executable, unlike ``/*!`` and ``/*M!``."""
    if size < 3 or text[0] != b"/" or text[1] != b"*" or text[2] == b"!":
        return False
    return text[2] != b"M" or size < 4 or text[3] != b"!"


cdef inline int64_t skip_comments(const uint8_t *text, int64_t size) noexcept nogil:
    """Find the first word after white space, parentheses and non-executable comments."""
    cdef int64_t at = 0
    while at < size:
        if is_space(text[at]) or text[at] == b"(":
            at += 1
        elif text[at] == b"#" or (
            text[at] == b"-" and at + 2 < size and text[at + 1] == b"-" and is_space(text[at + 2])
        ):
            while at < size and text[at] != b"\n":
                at += 1
        elif begins_plain_comment(text + at, size - at):
            at += 2
            while at + 1 < size and not (text[at] == b"*" and text[at + 1] == b"/"):
                at += 1
            at += 2
        else:
            return at
    return size


cdef inline bint rolls_back_to(const uint8_t *text, int64_t size) noexcept nogil:
    """Whether the text is ROLLBACK TO a savepoint; servers up to 5.1 log it as the user wrote it."""
    return begins(text, size, b"ROLLBACK TO") or begins(text, size, b"ROLLBACK WORK TO")


cdef inline Statement statement_of(const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t at
    # Nearly all texts of small transactions are exactly this one.
    if size == 5 and (memcmp(text, b"BEGIN", 5) == 0 or begins(text, size, b"BEGIN")):
        return STATEMENT_BEGIN
    if begins(text, size, b"COMMIT"):
        return STATEMENT_COMMIT
    if begins(text, size, b"ROLLBACK"):
        if rolls_back_to(text, size):
            return STATEMENT_MARKER
        return STATEMENT_ROLLBACK
    if begins(text, size, b"SAVEPOINT") or begins(text, size, b"RELEASE SAVEPOINT") or begins(text, size, b"XA END"):
        return STATEMENT_MARKER
    if begins(text, size, b"XA START") or begins(text, size, b"XA BEGIN"):
        return STATEMENT_XA_START
    if begins(text, size, b"XA COMMIT"):
        return STATEMENT_XA_COMMIT
    if begins(text, size, b"XA ROLLBACK"):
        return STATEMENT_XA_ROLLBACK
    at = skip_comments(text, size)
    text += at
    size -= at
    if (
        begins(text, size, b"INSERT")
        or begins(text, size, b"UPDATE")
        or begins(text, size, b"DELETE")
        or begins(text, size, b"REPLACE")
        or begins(text, size, b"LOAD DATA")
        or begins(text, size, b"LOAD XML")
        or begins(text, size, b"SELECT")
        or begins(text, size, b"WITH")
    ):
        return STATEMENT_CHANGE
    return STATEMENT_OTHER


cdef inline const uint8_t *take_query_head(Cursor *body) except NULL nogil:
    """Take what a QUERY event's body has before the statement's text, and return the fixed part.

    Thread ID (4), execution time (4), length of the database's name (1), error code (2), length of the status
    variables (2); then the variables, the name with a zero byte.
    """
    cdef const uint8_t *fixed = take(body, QUERY_FIXED)
    take(body, <int64_t> little(fixed + 11, 2))
    take(body, <int64_t> fixed[8] + 1)
    return fixed


cdef inline int statement_in(Cursor body) except -1 nogil:
    """Classify the statement in a QUERY event's body."""
    take_query_head(&body)
    return statement_of(body.base + body.position, remaining(&body))


cdef inline int is_rollback_to(Cursor body) except -1 nogil:
    """Whether a QUERY event's body is a ROLLBACK TO SAVEPOINT."""
    take_query_head(&body)
    return rolls_back_to(body.base + body.position, remaining(&body))


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
    # Flags of MariaDB's GTID for which a sequence number follows.
    MARIADB_ENDS_ALTER = 0x0C
    TOO_MANY_DATABASES = 254
    MICROSECONDS_SIZE = 3


cdef inline int64_t variable_size(const uint8_t *data, int64_t size, int64_t at) noexcept nogil:
    """Return the size of a variable's value at ``at``; -1 if it is truncated, -2 if the code before it is unknown."""
    # FLAGS2, SQL_MODE, CATALOG, AUTO_INCREMENT, CHARSET, TIME_ZONE, CATALOG_NZ, LC_TIME_NAMES, CHARSET_DATABASE,
    # TABLE_MAP_FOR_UPDATE, MASTER_DATA_WRITTEN.
    cdef const char *fixed = b"\4\x08\0\4\6\0\0\2\2\x08\4"
    # From MICROSECONDS on: MICROSECONDS, COMMIT_TS, COMMIT_TS2, EXPLICIT_DEFAULTS_FOR_TIMESTAMP, DDL_LOGGED_WITH_XID,
    # DEFAULT_COLLATION_FOR_UTF8MB4, SQL_REQUIRE_PRIMARY_KEY, DEFAULT_TABLE_ENCRYPTION, ENABLE_CASCADE_TRIGGERS.
    cdef const char *later = b"\3\x08\x10\1\x08\2\1\1\1"
    cdef uint8_t code = data[at - 1]
    cdef int64_t end = at
    cdef int64_t names
    if code == CATALOG_CODE or code == TIME_ZONE_CODE or code == CATALOG_NZ_CODE:
        if at >= size:
            return -1
        # The length of early servers' CATALOG does not include the zero byte after it.
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
    """Whether the session in a statement's event can be read.

    Checks the variables, up to an unknown one, and the end of the database's name, after ``fixed`` bytes.
    """
    cdef int64_t variables
    cdef int64_t name
    cdef int64_t offset = 0
    cdef int64_t value_size
    if size < fixed:
        return False
    variables = body[11] | <int64_t> body[12] << 8
    name = fixed + variables + body[8]
    if name >= size or body[name] != 0:
        return False
    while offset < variables:
        value_size = variable_size(body + fixed, variables, offset + 1)
        if value_size < 0:
            return value_size == -2
        offset += 1 + value_size
    return True
