# cython: language_level=3
"""Classify QUERY events by the first words of their statement: begin, end, savepoint, XA and others.

Servers write BEGIN, COMMIT, ROLLBACK, SAVEPOINT and XA statements themselves and
in a fixed spelling (``Query_log_event::starts_group``, ``ends_group``); users' statements may begin with
comments, which are skipped.
"""

from libc.stdint cimport INT64_MAX, int64_t, uint8_t

from binx.kernels.cursor cimport Cursor, ahead, little, peek, remaining, take

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


cdef inline bint is_space(int byte) noexcept nogil:
    return byte == 0x20 or 0x09 <= byte <= 0x0D


cdef inline bint begins(Cursor text, const char *word) noexcept nogil:
    """Whether the text begins with a word, given in upper case, ignoring case, and the word ends there.

    A space in the word stands for one or more white-space characters.
    """
    cdef int byte
    while word[0]:
        byte = peek(&text, 0)
        if word[0] == c" ":
            if not is_space(byte):
                return False
            while is_space(peek(&text, 0)):
                text.position += 1
        else:
            if 0x61 <= byte <= 0x7A:
                byte -= 0x20
            if byte != word[0]:
                return False
            text.position += 1
        word += 1
    byte = peek(&text, 0)
    return not (0x30 <= byte <= 0x39 or 0x41 <= byte <= 0x5A or 0x61 <= byte <= 0x7A or byte == 0x5F or byte >= 0x80)


cdef inline bint begins_plain_comment(const Cursor *text) noexcept nogil:
    """Whether the text begins with a ``/*`` comment that is not executable, unlike ``/*!`` and ``/*M!``."""
    cdef int third = peek(text, 2)
    if peek(text, 0) != c"/" or peek(text, 1) != c"*" or third < 0 or third == c"!":
        return False
    return third != c"M" or peek(text, 3) != c"!"


cdef inline void skip_comments(Cursor *text) noexcept nogil:
    """Go to the first word after white space, parentheses and non-executable comments."""
    cdef int byte
    while True:
        byte = peek(text, 0)
        if is_space(byte) or byte == c"(":
            text.position += 1
        elif byte == c"#" or (byte == c"-" and peek(text, 1) == c"-" and is_space(peek(text, 2))):
            while peek(text, 0) >= 0 and peek(text, 0) != c"\n":
                text.position += 1
        elif begins_plain_comment(text):
            text.position += 2
            while peek(text, 1) >= 0 and not (peek(text, 0) == c"*" and peek(text, 1) == c"/"):
                text.position += 1
            text.position += min(2, remaining(text))
        else:
            return


cdef inline bint rolls_back_to(Cursor text) noexcept nogil:
    """Whether the text is ROLLBACK TO a savepoint; servers up to 5.1 log it as the user wrote it."""
    return begins(text, b"ROLLBACK TO") or begins(text, b"ROLLBACK WORK TO")


cdef inline Statement statement_of(Cursor text) noexcept nogil:
    if begins(text, b"BEGIN") and remaining(&text) == 5:
        return STATEMENT_BEGIN
    if begins(text, b"COMMIT"):
        return STATEMENT_COMMIT
    if begins(text, b"ROLLBACK"):
        return STATEMENT_MARKER if rolls_back_to(text) else STATEMENT_ROLLBACK
    if begins(text, b"SAVEPOINT") or begins(text, b"RELEASE SAVEPOINT") or begins(text, b"XA END"):
        return STATEMENT_MARKER
    if begins(text, b"XA START") or begins(text, b"XA BEGIN"):
        return STATEMENT_XA_START
    if begins(text, b"XA COMMIT"):
        return STATEMENT_XA_COMMIT
    if begins(text, b"XA ROLLBACK"):
        return STATEMENT_XA_ROLLBACK
    skip_comments(&text)
    if (
        begins(text, b"INSERT")
        or begins(text, b"UPDATE")
        or begins(text, b"DELETE")
        or begins(text, b"REPLACE")
        or begins(text, b"LOAD DATA")
        or begins(text, b"LOAD XML")
        or begins(text, b"SELECT")
        or begins(text, b"WITH")
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
    return statement_of(body)


cdef inline int is_rollback_to(Cursor body) except -1 nogil:
    """Whether a QUERY event's body is a ROLLBACK TO SAVEPOINT."""
    take_query_head(&body)
    return rolls_back_to(body)


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


cdef inline int64_t variable_size(const Cursor *variables) noexcept nogil:
    """Return the size of the next variable's value; -1 if it is truncated, -2 if its code is unknown."""
    # FLAGS2, SQL_MODE, CATALOG, AUTO_INCREMENT, CHARSET, TIME_ZONE, CATALOG_NZ, LC_TIME_NAMES, CHARSET_DATABASE,
    # TABLE_MAP_FOR_UPDATE, MASTER_DATA_WRITTEN.
    cdef const char *fixed = b"\4\x08\0\4\6\0\0\2\2\x08\4"
    # From MICROSECONDS on: MICROSECONDS, COMMIT_TS, COMMIT_TS2, EXPLICIT_DEFAULTS_FOR_TIMESTAMP, DDL_LOGGED_WITH_XID,
    # DEFAULT_COLLATION_FOR_UTF8MB4, SQL_REQUIRE_PRIMARY_KEY, DEFAULT_TABLE_ENCRYPTION, ENABLE_CASCADE_TRIGGERS.
    cdef const char *later = b"\3\x08\x10\1\x08\2\1\1\1"
    cdef int code = peek(variables, 0)
    cdef int first = peek(variables, 1)
    cdef int byte
    cdef int names
    cdef int64_t size
    if code == MARIADB_DUMMY_CODE:
        return 0
    if code > LAST_MYSQL_CODE and not MARIADB_HRNOW_CODE <= code <= MARIADB_COLLATIONS_CODE:
        return -2
    if first < 0:
        return -1
    if code == CATALOG_CODE or code == TIME_ZONE_CODE or code == CATALOG_NZ_CODE:
        # The length of early servers' CATALOG does not include the zero byte after it.
        size = 1 + first + (code == CATALOG_CODE and first > 0)
    elif code < INVOKER_CODE:
        size = fixed[code]
    elif code == INVOKER_CODE:
        byte = peek(variables, 2 + first)
        size = 2 + first + byte if byte >= 0 else INT64_MAX
    elif code == DATABASES_CODE:
        size = 1
        names = 0 if first == TOO_MANY_DATABASES else first
        while names:
            byte = peek(variables, 1 + size)
            if byte < 0:
                return -1
            names -= byte == 0
            size += 1
    elif code <= LAST_MYSQL_CODE:
        size = later[code - MICROSECONDS_CODE]
    elif code == MARIADB_HRNOW_CODE:
        size = MICROSECONDS_SIZE
    elif code == MARIADB_XID_CODE:
        size = 8
    elif code == MARIADB_GTID_FLAGS_CODE:
        size = 9 if first & MARIADB_ENDS_ALTER else 1
    else:
        size = 1 + 4 * first
    return size if size < remaining(variables) else -1


cdef inline bint session_is_whole(Cursor body, int64_t fixed) noexcept nogil:
    """Whether the session in a statement's event can be read.

    Checks the variables, up to an unknown one, and the end of the database's name, after ``fixed`` bytes.
    """
    cdef Cursor variables = ahead(&body)
    cdef int64_t size
    if remaining(&body) < fixed:
        return False
    variables.position = fixed
    variables.size = fixed + (peek(&body, 11) | <int64_t> peek(&body, 12) << 8)
    if peek(&body, variables.size + peek(&body, 8)) != 0:
        return False
    while remaining(&variables):
        size = variable_size(&variables)
        if size < 0:
            return size == -2
        variables.position += 1 + size
    return True
