# cython: language_level=3
"""Arrow buffers of one table's rows, into which row images are decoded."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.json.documents cimport Patch
from binx.kernels.output cimport Output
from binx.kernels.rows.counting cimport RowsEvent
from binx.kernels.rows.layouts cimport TableLayout
from binx.kernels.rows.notes cimport Notes
from binx.kernels.rows.present cimport PresentColumns
from binx.kernels.rows.system cimport Origin, SYSTEM_COLUMNS


cpdef enum Codec:
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

cdef struct Column:
    uint8_t codec
    uint8_t prefix
    bint is_common
    int32_t width
    int32_t parameter
    # Bytes per value in `values`, which holds offsets into `data` if values have no fixed width.
    int32_t item
    int64_t nulls
    Output values
    Output data
    # A geometry's SRIDs.
    Output extra
    # Allocated at the first null.
    Output validity
    # For JSON: the number of JSON columns before it; the document of the last decoded image, its base NULL if there is none.
    int32_t json_index
    Cursor document
    # 1 if that document's text does not show the SQL types of all its values.
    int typed
    # The last date as packed in row images, and in days since 1970.
    int64_t last_day
    int64_t midnight
    # For a DECIMAL of at most eight bytes, its groups of digits.
    int64_t high_limit
    int64_t middle_limit
    int64_t low_limit
    int32_t middle_bits
    int32_t low_bits

cdef class RowBuilder:
    cdef readonly object key
    cdef readonly int64_t rows
    cdef readonly int32_t columns
    cdef int64_t capacity
    cdef int64_t row_bytes
    # Rows of the previous batch, for which the next one allocates: a table that filled a batch fills the next one.
    cdef int64_t rows_before
    cdef int64_t variable_bytes
    cdef Column *column
    cdef Output system[SYSTEM_COLUMNS]
    cdef PresentColumns present
    # Whether the current row lacks a column.
    cdef bint absent
    cdef int64_t typed_documents
    cdef Notes misfits
    cdef Notes differences
    cdef Patch patch
    cdef Output id_offsets
    cdef Output id_text
    cdef int32_t ids
    cdef int64_t last_ordinal
    cdef int grow(self) except -1 nogil
    cdef int rewind(self, int64_t rows, int64_t variable_bytes) except -1 nogil
    cdef int64_t append_event(
        self,
        Cursor *body,
        RowsEvent *rows,
        const TableLayout *layout,
        const Origin *origin,
        int64_t number,
        int64_t byte_limit,
    ) except -1 nogil
    cdef int begin_transaction(self, const Origin *origin) except -1 nogil
    cdef int append_image(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil
    cdef int append_values(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil
    cdef int append_rare(self, Cursor *image, int32_t index, Column *column) except -1 nogil
    cdef int append_difference(self, Cursor *image, int32_t index, Column *column) except -1 nogil
    cdef int append_null(self, Column *column) except -1 nogil

    @cython.final
    cdef inline int64_t bytes_held(self) noexcept nogil:
        """Return the approximate bytes that the rows take."""
        return self.rows * self.row_bytes + self.variable_bytes


cdef inline bint has_offsets(int codec) noexcept nogil:
    return codec >= CODEC_BYTES or codec == CODEC_DECIMAL_TEXT
