# cython: language_level=3
"""The Arrow buffers of one table's rows, and the codecs that fill them."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.json.diffs cimport Patch
from binx.kernels.output cimport Output

cpdef enum Codec:
    """How a value of a row image becomes a value of an Arrow column."""

    CODEC_NULL = 0
    CODEC_COPY1 = 1
    CODEC_COPY2 = 2
    CODEC_COPY4 = 3
    CODEC_COPY8 = 4
    CODEC_UINT8 = 5
    CODEC_UINT16 = 6
    CODEC_INT24 = 7
    CODEC_UINT24 = 8
    CODEC_UINT32 = 9
    CODEC_UINT64_DECIMAL = 10
    CODEC_DECIMAL = 11
    CODEC_DECIMAL_TEXT = 12
    CODEC_BITS = 13
    CODEC_BOOL = 14
    CODEC_YEAR = 15
    CODEC_DATE = 16
    CODEC_DATETIME = 17
    CODEC_OLD_DATETIME = 18
    CODEC_TIMESTAMP = 19
    CODEC_OLD_TIMESTAMP = 20
    CODEC_TIME = 21
    CODEC_OLD_TIME = 22
    CODEC_ENUM = 23
    CODEC_ENUM_NUMBER = 24
    CODEC_SET = 25
    CODEC_BYTES = 26
    CODEC_PADDED = 27
    CODEC_JSON = 28
    CODEC_GEOMETRY = 29

cdef enum:
    OFFSET_SIZE = 4

cdef struct Column:
    # values: fixed width or offsets; data: bytes; extra: a geometry's SRIDs; validity: absent until the first null;
    # document: the JSON document of the image that was decoded last, without base where that had none; typed: 1 where
    # its text does not tell the SQL types of all its values;
    # way: how values are decoded in most rows, and what that way keeps, see `ways.pxd`.
    uint8_t codec
    uint8_t prefix
    uint8_t way
    int32_t width
    int32_t parameter
    int32_t item
    int64_t nulls
    Output values
    Output data
    Output extra
    Output validity
    Cursor document
    int typed
    int64_t last_day
    int64_t midnight
    int64_t high_limit
    int64_t middle_limit
    int64_t low_limit
    int32_t middle_bits
    int32_t low_bits

cdef struct Misfit:
    int64_t row
    int32_t column
    int32_t size
    int64_t start


cdef class RowBuffers:
    cdef readonly int64_t rows
    cdef readonly int32_t columns
    cdef int64_t capacity
    cdef int64_t row_bytes
    # Rows of the batch before: a table that has filled a batch fills the next one.
    cdef int64_t rows_before
    cdef int64_t variable_bytes
    cdef Column *column
    cdef Output change_types
    cdef Output commit_versions
    cdef Output commit_timestamps
    cdef Output row_numbers
    cdef Output transactions
    cdef Output event_timestamps
    cdef Output positions
    cdef Output statements
    cdef Output present_offsets
    cdef Output present_bits
    cdef Output present_validity
    cdef Output bits
    cdef bint absent
    cdef int64_t partial_rows
    # JSON documents whose text does not tell the SQL types of all their values.
    cdef int64_t typed_documents
    cdef Output differences
    cdef Output difference_text
    cdef Patch patch
    cdef Output id_offsets
    cdef Output id_text
    cdef int32_t ids
    cdef int64_t last_ordinal
    cdef Output misfits
    cdef Output misfit_text
    cdef readonly object key
    cdef int grow(self) except -1 nogil
    cdef int keep(self, Output *output, int64_t held, int64_t size) except -1 nogil
    cdef int rewind(self, int64_t rows, int64_t variable_bytes) except -1 nogil

    @cython.final
    cdef inline int64_t bytes_held(self) noexcept nogil:
        """Bytes that the rows take, nearly."""
        return self.rows * self.row_bytes + self.variable_bytes


cdef int widen_validity(Output *validity, int64_t rows) except -1 nogil


cdef inline bint has_offsets(int codec) noexcept nogil:
    """Whether a column's first buffer holds offsets into its second."""
    return codec >= CODEC_BYTES or codec == CODEC_DECIMAL_TEXT
