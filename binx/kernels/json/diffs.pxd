# cython: language_level=3
"""JSON diffs, the logged form of partial updates of JSON columns, for other kernels."""

from libc.stdint cimport int64_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.output cimport Output

cdef struct Patch:
    # A document being changed: its nodes, the quoted keys of paths without their escapes, and the bytes that may
    # still be read.
    Cursor before
    Cursor diff
    Output nodes
    Output keys
    int64_t budget
    # 1 if the changed document's text does not show the SQL types of all its values.
    int typed


cdef bint apply_diff(Patch *patch, Cursor *before, Cursor *diff, Output *out) except -1 nogil
cdef void release_patch(Patch *patch) noexcept nogil
cdef int render_diff(Cursor *diff, Output *out) except -1 nogil
