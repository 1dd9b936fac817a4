# cython: language_level=3
"""Which columns each row has: an Arrow column of bitmaps, null for the rows that have all columns."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from binx.kernels.bitmaps cimport bit_at, clear_bit, set_bit, widen_validity
from binx.kernels.output cimport Output, append, release, reserve, resize

cdef enum:
    OFFSET_SIZE = 4

cdef struct PresentColumns:
    # Bitmap of the columns that the current row has.
    Output row_bits
    # Allocated at the first row that lacks a column.
    Output offsets
    Output bits
    Output validity
    int64_t partial_rows


cdef inline int begin_row_bits(PresentColumns *present, const uint8_t *bits, int32_t columns) except -1 nogil:
    """Set the current row's bitmap to that of its image."""
    present.row_bits.size = 0
    append(&present.row_bits, bits, (columns + 7) >> 3)
    if columns & 7:
        present.row_bits.data[present.row_bits.size - 1] &= (1 << (columns & 7)) - 1
    return 0


cdef inline int append_row_bits(PresentColumns *present, int64_t row, int64_t capacity) except -1 nogil:
    """Append the current row's bitmap."""
    if present.offsets.data == NULL:
        reserve(&present.offsets, (capacity + 1) * OFFSET_SIZE)
        memset(present.offsets.data, 0, (row + 1) * OFFSET_SIZE)
        widen_validity(&present.validity, capacity)
        memset(present.validity.data, 0, (row + 7) >> 3)
    append(&present.bits, present.row_bits.data, present.row_bits.size)
    set_bit(present.validity.data, row)
    (<int32_t *> present.offsets.data)[row + 1] = <int32_t> present.bits.size
    present.partial_rows += 1
    return 0


cdef inline void append_whole_row(PresentColumns *present, int64_t row) noexcept nogil:
    """Append null, for a row that has all columns."""
    clear_bit(present.validity.data, row)
    (<int32_t *> present.offsets.data)[row + 1] = <int32_t> present.bits.size


cdef inline int widen_present(PresentColumns *present, int64_t rows, int64_t capacity) except -1 nogil:
    """Make room for more rows, keeping those there are."""
    if present.offsets.data != NULL:
        resize(&present.offsets, (rows + 1) * OFFSET_SIZE, (capacity + 1) * OFFSET_SIZE)
        widen_validity(&present.validity, capacity)
    return 0


cdef inline void drop_present(PresentColumns *present, int64_t rows, int64_t last) noexcept nogil:
    """Discard everything after the first ``rows`` of ``last`` rows."""
    cdef int64_t row
    if present.offsets.data != NULL:
        for row in range(rows, last):
            present.partial_rows -= bit_at(present.validity.data, row)
        present.bits.size = (<int32_t *> present.offsets.data)[rows]


cdef inline void release_present(PresentColumns *present) noexcept nogil:
    release(&present.row_bits)
    release(&present.offsets)
    release(&present.bits)
    release(&present.validity)
