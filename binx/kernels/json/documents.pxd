# cython: language_level=3
"""Render and traverse MySQL's binary JSON, for the kernels that read row images.

JSON diffs, the logged form of partial updates of JSON columns, for other kernels.
"""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.output cimport Output


cdef enum:  # the types of values (sql-common/json_binary.cc)
    SMALL_OBJECT = 0x00
    LARGE_OBJECT = 0x01
    SMALL_ARRAY = 0x02
    LARGE_ARRAY = 0x03
    LITERAL = 0x04
    INT16 = 0x05
    UINT16 = 0x06
    INT32 = 0x07
    UINT32 = 0x08
    INT64 = 0x09
    UINT64 = 0x0A
    DOUBLE = 0x0B
    STRING = 0x0C
    OPAQUE = 0x0F

cdef enum:
    MAX_DEPTH = 100  # JSON_DOCUMENT_MAX_DEPTH: the server writes no deeper document

cdef struct Container:
    # An array or object: its bytes, the width of its counts and offsets, and its entries.
    Cursor body
    const uint8_t *keys
    const uint8_t *values
    int64_t count
    int64_t header
    int width
    int key_entry
    bint is_object

cdef struct Member:
    # A value of a container. The cursor of an inline value covers its entry without the type byte.
    Cursor value
    uint8_t kind
    bint is_inlined


cdef int damaged(Cursor *cursor, const char *expected, int64_t found) except -1 with gil
cdef const uint8_t *take_charged(Cursor *cursor, int64_t count, int64_t *budget) except NULL nogil
cdef int open_container(uint8_t kind, Cursor *value, int64_t *budget, Container *container) except -1 nogil
cdef const uint8_t *take_key(Container *container, int64_t i, int64_t *budget, int64_t *length) except NULL nogil
cdef int take_member(Container *container, int64_t i, Member *member) except -1 nogil
cdef int write_value(
    uint8_t kind, Cursor *value, int64_t *budget, int depth, bint as_sql, Output *out
) except -1 nogil
cdef int render(Cursor *document, bint exact, Output *out) except -1 nogil


cdef struct Patch:
    # A document being changed: its nodes, the quoted keys of paths without their escapes, and the bytes that may
    # still be read.
    Cursor before
    Cursor diff
    Output nodes
    Output keys
    int64_t budget
    # 1 if the changed document, as it was written, does not show the SQL types of all its values.
    int typed


cdef bint apply_diff(Patch *patch, Cursor *before, Cursor *diff, bint exact, Output *out) except -1 nogil
cdef void release_patch(Patch *patch) noexcept nogil
cdef int render_diff(Cursor *diff, bint exact, Output *out) except -1 nogil
