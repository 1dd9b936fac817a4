# cython: language_level=3
"""Row changes of several tables as they are told before they are written."""

from libc.stdint cimport int64_t

from binx.kernels.render.changeorder cimport Order
from binx.kernels.output cimport Output
from binx.kernels.render.rowparts cimport Bytes


cdef class Held:
    """A view of some memory, kept while its address is in use."""

    cdef Py_buffer view


cdef Bytes view_of(Held held)


cdef class ChangeParts:
    cdef Output parts
    cdef Order order
    cdef list held
    cdef list askers
    cdef Bytes hold(self, object memory)
    cdef int add_part(self, tuple given, int64_t count) except -1
