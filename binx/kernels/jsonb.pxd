# cython: language_level=3
"""MySQL's binary JSON rendered as text, for the kernels that meet it in row images."""

from binx.kernels.cursor cimport Cursor
from binx.kernels.output cimport Output


cdef int render(Cursor *document, Output *out) except -1 nogil
cdef int render_diff(Cursor *diff, Output *out) except -1 nogil
