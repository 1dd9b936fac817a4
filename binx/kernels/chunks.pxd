# cython: language_level=3
"""One column chunk: where its values are in Arrow's buffers, and how they are to be encoded."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.blocks cimport BlockFunctions
from binx.kernels.bytearrays cimport Strings
from binx.kernels.extents cimport Extent
from binx.kernels.levels cimport Levels
from binx.kernels.output cimport Output
from binx.kernels.words cimport Words

cpdef enum Encoding:
    """How values are written, by the format's numbers."""

    ENCODING_PLAIN = 0
    ENCODING_RLE = 3
    ENCODING_DELTA_BINARY_PACKED = 5
    ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6
    ENCODING_DELTA_BYTE_ARRAY = 7
    ENCODING_RLE_DICTIONARY = 8

cdef enum:
    # The buffers of a chunk: Arrow's values or offsets, the bytes of strings, the offsets of a dictionary's words.
    VALUES
    DATA
    WORDS
    VALIDITY
    VIEWS


cdef class Chunk:
    # kept_places, kept_words, numbers_of_words, words: memory that goes from chunk to chunk; numbers: of a page.
    cdef const BlockFunctions *blocks
    cdef Output numbers
    cdef Output kept_places
    cdef Output kept_words
    cdef Output numbers_of_words
    cdef Words words_seen
    cdef Py_buffer views[VIEWS]
    cdef Levels levels
    cdef const uint8_t *validity
    cdef const uint8_t *data
    # places: of the values that there are, NULL where they follow each other from ``first`` on.
    cdef const int32_t *places
    cdef Strings strings
    cdef Strings dictionary
    cdef Extent extent
    cdef int form
    cdef int width
    cdef bint is_optional
    cdef bint has_dictionary
    cdef bint wants_extent
    cdef bint has_dictionary_page
    cdef int64_t first
    cdef int64_t rows
    cdef int64_t row
    cdef readonly int64_t values
    cdef readonly int encoding
    cdef readonly int64_t dictionary_words
    cpdef begin(
        self,
        int form,
        int width,
        int64_t rows,
        int64_t first,
        values,
        data,
        words,
        validity,
        bint optional,
        bint has_dictionary,
        Levels levels,
        bint extent,
    )
    cpdef end(self)
    cdef int take_levels(self) except -1
    cdef int add_first(self, Levels levels) except -1 nogil
    cdef int check(self) except -1
    cdef int take_bytes(self, Py_buffer *offsets, int64_t last) except -1
    cdef int take_words(self) except -1
    cdef int choose(self) except -1 nogil
    cdef int choose_for_strings(self) except -1 nogil
    cdef bint seems_worded(self) except -1 nogil
    cdef bint is_distinct(self) except -1 nogil
    cdef bint make_dictionary(self, int64_t words_limit, int64_t bytes_limit) except -1 nogil
    cdef int let_go(self) except -1
