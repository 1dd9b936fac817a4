# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What is known of the leaves of a file while its row groups are written."""

from cython cimport final
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from binx.kernels.chunks cimport ENCODING_DELTA_BINARY_PACKED

cdef enum:
    # Chunks of a leaf after which what was not worth it is tried again.
    RETRIED_AFTER = 16

# What is left of a page, at most, where compression is worth it: for numbers that are packed, for others.
cdef double WORTH_PACKED = 0.75
cdef double WORTH_OTHERS = 0.95


@final
cdef class Leaves:
    """The leaves of files of the same columns."""

    def __cinit__(self, leaves):
        cdef Leaf *leaf
        self.leaf = <Leaf *> calloc(len(leaves) + 1, sizeof(Leaf))
        if self.leaf == NULL:
            raise MemoryError
        at = 0
        for place, one in enumerate(leaves):
            form, width, physical, optional, has_dictionary, has_statistics, is_text, path = one
            leaf = &self.leaf[place]
            leaf.form, leaf.width, leaf.physical = form, width, physical
            leaf.is_optional, leaf.has_dictionary = optional, has_dictionary
            leaf.has_statistics, leaf.is_text = has_statistics, is_text
            leaf.path, leaf.path_size = at, len(path)
            at += len(path)
        self.count = len(leaves)
        self.paths = b"".join([path for *_, path in leaves])

    def __dealloc__(self):
        free(self.leaf)


@final
cdef class Worth:
    """Whether compressing the chunks of each leaf of a file is worth it, as those before tell."""

    def __cinit__(self, Leaves leaves not None):
        self.chunks_left = <int32_t *> calloc(leaves.count + 1, sizeof(int32_t))
        if self.chunks_left == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.chunks_left)

    cdef bint begin(self, int leaf) noexcept nogil:
        """Whether to compress the next chunk, or to try."""
        self.chunks_left[leaf] -= 1
        return self.chunks_left[leaf] < 0

    cdef bint saw(self, int leaf, int encoding, int64_t size, int64_t compressed) noexcept nogil:
        """Take in what came out; returns whether it was worth it."""
        cdef double limit = WORTH_PACKED if encoding == ENCODING_DELTA_BINARY_PACKED else WORTH_OTHERS
        if compressed <= size * limit:
            return True
        self.chunks_left[leaf] = RETRIED_AFTER
        return False
