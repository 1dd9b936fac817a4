# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Kernel memory that Python, and through it Arrow, takes over without a copy, and that comes back for the next batch.

Memory that is new to the process costs more than writing to it: the system clears each page, and is called for it.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cython cimport final
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memmove, memset

from binx.kernels.output cimport Output, release, reserve

cdef extern from *:
    """
    #include <stdint.h>
    #include <stdlib.h>
    #ifdef __GLIBC__
    #include <malloc.h>
    #include <sys/mman.h>
    #define BINX_LARGE_PAGE ((uintptr_t) 2 << 20)
    /* Address space, not memory: as much as the rows of a run take, and what they are encoded in. */
    #define BINX_ROOM ((size_t) 256 << 20)
    static int binx_keep_freed(void) {
    #ifdef MADV_HUGEPAGE
        void *room;
        uintptr_t start, stop;
    #endif
        mallopt(M_MMAP_THRESHOLD, 1 << 30);
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
    #ifdef MADV_HUGEPAGE
        /* What is freed stays at the heap's end, and comes from there again: in large pages, where the system has
           them for those who ask. */
        room = malloc(BINX_ROOM);
        if (room == NULL)
            return 1;
        start = ((uintptr_t) room + BINX_LARGE_PAGE - 1) & ~(BINX_LARGE_PAGE - 1);
        stop = ((uintptr_t) room + BINX_ROOM) & ~(BINX_LARGE_PAGE - 1);
        madvise((void *) start, stop - start, MADV_HUGEPAGE);
        free(room);
    #endif
        return 1;
    }
    #else
    static int binx_keep_freed(void) { return 0; }
    #endif
    """
    bint binx_keep_freed() nogil


cdef bint freed_is_kept = False


def keep_freed():
    """Have memory that is freed stay with the process, and be of large pages, where its C library can be told so."""
    global freed_is_kept
    freed_is_kept = binx_keep_freed()


@final
cdef class Spare:
    """Pieces of memory that were given back, for whoever needs as much.

    Where the process keeps all memory that is freed, there are none: the C library joins what lies side by side, and
    so has less of it that fits nothing.

    Args:
        limit: bytes that are kept together.
    """

    def __cinit__(self, int64_t limit):
        self.limit = limit
        self.sizes = {}

    def __dealloc__(self):
        while self.count:
            self.count -= 1
            release(&self.pieces[self.count])

    cdef int take(self, Output *output, int64_t size) except -1:
        """Make an empty buffer hold ``size`` bytes: the smallest piece that does, if that is not over twice as large."""
        cdef int best = -1
        cdef int i
        for i in range(self.count):
            if size <= self.pieces[i].capacity <= 2 * size and (
                best < 0 or self.pieces[i].capacity < self.pieces[best].capacity
            ):
                best = i
        if best < 0 or output.data != NULL:
            return reserve(output, size)
        output[0] = self.pieces[best]
        output.size = 0
        self.drop(best)
        return 0

    cdef int widen(self, Output *output, int64_t wanted) except -1 with gil:
        """Make a buffer hold ``wanted`` bytes, twice as many as before at least; what it holds is kept."""
        cdef int64_t size = max(wanted, output.capacity * 2)
        cdef Output wider
        if freed_is_kept or size < SPARE_LEAST:
            return reserve(output, wanted - output.size)
        memset(&wider, 0, sizeof(Output))
        self.take(&wider, size)
        if output.size:
            memcpy(wider.data, output.data, output.size)
        wider.size = output.size
        self.give(output)
        output[0] = wider
        return 0

    cdef void give(self, Output *output) noexcept:
        """Take a buffer's memory, and let go of the oldest pieces where it is too much; the buffer is empty then."""
        cdef Output oldest
        if freed_is_kept or not SPARE_LEAST <= output.capacity <= self.limit:
            release(output)
            return
        while self.count == SPARE_PIECES or self.held + output.capacity > self.limit:
            oldest = self.pieces[0]
            self.drop(0)
            release(&oldest)
        self.pieces[self.count] = output[0]
        self.count += 1
        self.held += output.capacity
        memset(output, 0, sizeof(Output))

    cdef void drop(self, int piece) noexcept:
        """Forget a piece that is another's now, or nobody's."""
        self.held -= self.pieces[piece].capacity
        self.count -= 1
        memmove(&self.pieces[piece], &self.pieces[piece + 1], (self.count - piece) * sizeof(Output))


@final
cdef class Memory:
    """Bytes taken over from a kernel's buffer; given back when the last view of them goes."""

    def __cinit__(self):
        memset(&self.output, 0, sizeof(Output))

    def __dealloc__(self):
        if self.spare is None:
            release(&self.output)
        else:
            self.spare.give(&self.output)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.output.data, self.output.size, 0, flags)

    def __len__(self):
        return self.output.size


cdef Memory hand_over(Output *output, int64_t size, Spare spare=None):
    """Move a buffer's memory to Python, and leave the buffer empty; the memory comes back as spare, if there is such."""
    cdef Memory memory = Memory()
    if output.data == NULL:
        reserve(output, 64)
    memory.output = output[0]
    memory.output.size = size
    memory.spare = spare
    memset(output, 0, sizeof(Output))
    return memory
