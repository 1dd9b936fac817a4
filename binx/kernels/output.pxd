# cython: language_level=3
"""A growing byte buffer that kernels write and Arrow may take over.

The memory comes from ``malloc`` so that it can grow and be freed without the
GIL. Only ``reserve`` allocates; callers bound the size they request by what
the file has been found to hold.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

cdef enum:
    SLACK_LEAST = 8
    # The limit of Arrow's 32-bit offsets.
    OFFSET_MAXIMUM = 0x7FFFFFFF

cdef struct Output:
    uint8_t *data
    int64_t size
    int64_t capacity
    # The capacity to begin with: what the buffer took that was handed over last, so that the next one is not copied.
    int64_t expected


cdef inline Output empty_output() noexcept nogil:
    cdef Output output
    memset(&output, 0, sizeof(Output))
    return output


cdef inline int no_memory(int64_t wanted) except -1 with gil:
    raise MemoryError(f"{wanted} bytes could not be had")


cdef inline int reserve(Output *output, int64_t more) except -1 nogil:
    """Make room for ``more`` bytes after ``size``; doubles, so that appends take amortized constant time."""
    cdef int64_t wanted = output.size + more
    cdef int64_t capacity
    cdef uint8_t *data
    if wanted <= output.capacity:
        return 0
    capacity = output.capacity * 2 if output.data != NULL else output.expected
    if capacity < wanted:
        capacity = wanted
    capacity = (capacity + 63) & ~(<int64_t> 63)
    data = <uint8_t *> realloc(output.data, capacity)
    if data == NULL:
        no_memory(capacity)
        return -1
    output.data = data
    output.capacity = capacity
    return 0


cdef inline int resize(Output *output, int64_t kept, int64_t size) except -1 nogil:
    """Reserve ``size`` bytes in all, keeping the first ``kept``; the rest is written later."""
    output.size = kept
    return reserve(output, size - kept)


cdef inline int64_t with_slack(int64_t size) noexcept nogil:
    """A quarter more, by which batches differ that the memory limit ends, and a few of the smallest."""
    return size + (size >> 2) + SLACK_LEAST


cdef inline int append(Output *output, const void *data, int64_t size) except -1 nogil:
    if size == 0:
        # Of nothing there may be no address either, and memcpy must be given two.
        return 0
    reserve(output, size)
    memcpy(output.data + output.size, data, size)
    output.size += size
    return 0


cdef inline int append_byte(Output *output, uint8_t byte) except -1 nogil:
    reserve(output, 1)
    output.data[output.size] = byte
    output.size += 1
    return 0


cdef inline bytes bytes_in(const Output *output):
    """A copy of what is written; of nothing there may be no address."""
    return output.data[: output.size] if output.size else b""


cdef inline void release(Output *output) noexcept nogil:
    free(output.data)
    output.data = NULL
    output.size = 0
    output.capacity = 0
