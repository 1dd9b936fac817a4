# cython: language_level=3
"""The Arrow buffers of one table's rows."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.json.diffs cimport Patch
from binx.kernels.memory cimport Memory, Spare
from binx.kernels.output cimport Output
from binx.kernels.rows.values cimport Column

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
    # What the batches before had: of rows, and of bytes beside the fixed widths of each column and of identifiers.
    cdef int64_t rows_before
    cdef int64_t *data_before
    cdef int64_t text_before
    cdef int64_t ids_before
    cdef Spare spare
    cdef int64_t variable_bytes
    cdef Column *column
    cdef Output change_types
    cdef Output commit_versions
    cdef Output commit_timestamps
    cdef Output row_numbers
    cdef Output transactions
    cdef Output event_timestamps
    cdef Output positions
    cdef Output present_offsets
    cdef Output present_bits
    cdef Output present_validity
    cdef Output bits
    cdef bint absent
    cdef int64_t partial_rows
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
    cdef object name
    cdef int grow(self) except -1 nogil
    cdef int keep(self, Output *output, int64_t held, int64_t size) except -1 nogil
    cdef int begin_large(self) except -1 with gil
    cdef int remember_sizes(self) except -1
    cdef int recall_sizes(self) except -1
    cdef Memory over(self, Output *output, int64_t size)
    cdef int rewind(self, int64_t rows, int64_t variable_bytes) except -1 nogil

    @cython.final
    cdef inline int64_t bytes_held(self) noexcept nogil:
        """Bytes that the rows take, nearly."""
        return self.rows * self.row_bytes + self.variable_bytes


cdef int widen_validity(Output *validity, int64_t rows) except -1 nogil
