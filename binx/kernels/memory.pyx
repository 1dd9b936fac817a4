# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Kernel memory handed over to Python and Arrow without a copy."""

from cpython.buffer cimport PyBuffer_FillInfo
from cython cimport final
from libc.stdint cimport int64_t
from libc.string cimport memset

from binx.kernels.output cimport Output, release, reserve, with_slack

cdef extern from *:
    """
    #include <stdlib.h>
    #ifdef __GLIBC__
    #include <malloc.h>
    static void keep_freed(void) {
        mallopt(M_MMAP_MAX, 0);
        mallopt(M_TRIM_THRESHOLD, 256 << 20);
    }
    #else
    static void keep_freed(void) {}
    #endif
    """
    void keep_freed() noexcept nogil


def keep_freed_memory():
    keep_freed()


@final
cdef class Memory:
    def __dealloc__(self):
        release(&self.output)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.output.data, self.output.size, 0, flags)

    def __len__(self):
        return self.output.size


cdef Memory hand_over(Output *output, int64_t size):
    """Move a buffer's memory to Python, and leave the buffer empty."""
    cdef Memory memory = Memory()
    if output.data == NULL:
        reserve(output, 64)
    memory.output = output[0]
    memory.output.size = size
    memset(output, 0, sizeof(Output))
    output.expected = with_slack(size)
    return memory
