# cython: language_level=3
"""Thrift's compact protocol, as far as page headers and what a footer says of row groups need it.

Source: Apache Thrift, doc/specs/thrift-compact-protocol.md.
"""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.delta cimport put_varint, put_zigzag
from binx.kernels.output cimport Output, append, append_byte

cdef enum:
    THRIFT_STOP = 0
    THRIFT_TRUE = 1
    THRIFT_FALSE = 2
    THRIFT_I16 = 4
    THRIFT_I32 = 5
    THRIFT_I64 = 6
    THRIFT_BINARY = 8
    THRIFT_LIST = 9
    THRIFT_STRUCT = 12
    THRIFT_SHORT_LIST = 15

cdef struct Fields:
    # Where a struct is written, and the number of its last field.
    Output *out
    int last


cdef inline int put_field(Fields *fields, int number, int kind) except -1 nogil:
    """The head of a field, whose number is at most 15 more than that of the field before."""
    append_byte(fields.out, <uint8_t> ((number - fields.last) << 4 | kind))
    fields.last = number
    return 0


cdef inline int put_number(Fields *fields, int number, int kind, int64_t value) except -1 nogil:
    put_field(fields, number, kind)
    return put_zigzag(fields.out, value)


cdef inline int put_flag(Fields *fields, int number, bint value) except -1 nogil:
    return put_field(fields, number, THRIFT_TRUE if value else THRIFT_FALSE)


cdef inline int put_binary(Fields *fields, int number, const uint8_t *data, int64_t size) except -1 nogil:
    put_field(fields, number, THRIFT_BINARY)
    put_varint(fields.out, size)
    return append(fields.out, data, size)


cdef inline int put_list(Fields *fields, int number, int kind, int64_t count) except -1 nogil:
    """The head of a list; its values come next."""
    put_field(fields, number, THRIFT_LIST)
    if count < THRIFT_SHORT_LIST:
        return append_byte(fields.out, <uint8_t> (count << 4 | kind))
    append_byte(fields.out, <uint8_t> (THRIFT_SHORT_LIST << 4 | kind))
    return put_varint(fields.out, count)


cdef inline int put_stop(Fields *fields) except -1 nogil:
    return append_byte(fields.out, THRIFT_STOP)
