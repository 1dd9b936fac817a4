# cython: language_level=3
"""Classify QUERY events by the first words of their statement: begin, end, savepoint, XA and others.

Servers write BEGIN, COMMIT, ROLLBACK, SAVEPOINT and XA statements themselves and
in a fixed spelling (``Query_log_event::starts_group``, ``ends_group``); users' statements may begin with
comments, which are skipped.
"""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.cursor cimport Cursor, ahead, little, peek, remaining, take

cdef enum:
    # Bytes of QUERY before the session's variables.
    QUERY_FIXED = 13

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
