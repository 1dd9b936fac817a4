# cython: language_level=3
"""Render row changes of several tables as text: value formats and the parts of a row's text."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.output cimport Output
from binx.kernels.render.spelling cimport Date, TextClass


cpdef enum Spelling:
    SPELL_NOTHING = 0
    SPELL_TEXT = 1
    SPELL_SQL = 2
    SPELL_JSON = 3
    SPELL_HEXADECIMAL = 4
    SPELL_BASE64 = 5
    SPELL_REAL = 6
    SPELL_SIGNED = 7
    SPELL_UNSIGNED = 8
    SPELL_DECIMAL = 9
    SPELL_MOMENT = 10
    SPELL_INSTANT = 11
    SPELL_DATE = 12
    SPELL_TIME = 13
    SPELL_ESCAPED = 14
    SPELL_EVENT = 15
    SPELL_ORDINAL = 16
    SPELL_BETWEEN = 17

cpdef enum State:
    STATE_DONE = 0
    STATE_FULL = 1

cdef enum:
    # Bytes of a long value that are formatted at a time; a multiple of three, for base64.
    STEP = 49152
    LEAD = 0
    OPEN = 1
    CLOSE = 2
    NULL_TEXT = 3
    OTHERWISE = 4
    ODD_OPEN = 5
    ODD_CLOSE = 6
    TEXTS = 7

cdef struct Bytes:
    const uint8_t *data
    int64_t size

cdef struct Part:
    int spelling
    int width
    int offset_width
    int code_width
    int parameter
    bint listed
    int64_t unit
    int64_t offset
    int64_t length
    int64_t mask_offset
    int64_t text_size
    const uint8_t *data
    int64_t data_size
    const uint8_t *offsets
    int64_t offset_count
    const uint8_t *validity
    const uint8_t *codes
    const uint8_t *mask
    const int64_t *rows
    Bytes texts[TEXTS]
    Date date

cdef struct Writer:
    Output out
    # Size in bytes at which a piece of the output is returned.
    int64_t limit
    # Position within the value being written; -1 if none is begun.
    int64_t byte
    TextClass text_class
    # Whether the row's list already has an item.
    bint listed
    # The row's number in its event.
    int64_t ordinal

cdef struct Group:
    # Changes with the same parts, in order.
    const int64_t *versions
    const int64_t *numbers
    const int64_t *rows
    const uint8_t *marks
    # Text before the first and after the last change of a statement that combines several; else empty.
    Bytes head
    Bytes tail
    # Text after the number of changes, which follows the tail; empty if the number is not written.
    Bytes behind_count
    int64_t length
    int32_t count
    int64_t first_part
    int64_t parts

cdef struct RowReference:
    int32_t group
    int32_t row
