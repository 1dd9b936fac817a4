# cython: language_level=3
"""Memory of Python objects, looked at as bytes whatever its owner says that they are."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.string cimport memset


cdef inline int look_at(Py_buffer *view, object memory) except -1:
    """Take a view of an object's memory, in place of the view before; of None it is empty."""
    PyBuffer_Release(view)
    memset(view, 0, sizeof(Py_buffer))
    if memory is not None:
        PyObject_GetBuffer(memory, view, PyBUF_SIMPLE)
    return 0
