# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A column chunk as Arrow has it, and how it is encoded.

How a chunk is encoded is decided by its own values, so that what is written depends on nothing else:

- values that are all alike: a dictionary of one word, which is one run;
- whole numbers, times and decimals of up to 18 digits: ``DELTA_BINARY_PACKED``;
- byte strings of which few, a quarter at most, are distinct: a dictionary;
- byte strings that begin as the one before, such as GTIDs, or the images before and after an update:
  ``DELTA_BYTE_ARRAY``;
- other byte strings: ``DELTA_LENGTH_BYTE_ARRAY``;
- anything else: ``PLAIN``.

Source: the Apache Parquet format, parquet.thrift and Encodings.md.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from binx.kernels.bitmaps cimport places_of
from binx.kernels.blocks cimport best_blocks
from binx.kernels.bytearrays cimport Strings, shares_prefixes
from binx.kernels.extents cimport Extent, extend_strings
from binx.kernels.levels cimport Levels
from binx.kernels.numbers cimport *
from binx.kernels.output cimport Output, release, reserve
from binx.kernels.views cimport look_at
from binx.kernels.words cimport number_words, seem_distinct, word_of, words_forget, words_release

cdef enum:
    # Values that have a dictionary, at least; how often each of its words is used, on average; and its bytes.
    FEWEST_WORDED = 16
    SHARE = 4
    DICTIONARY_BYTES = 4194304
    # Values that may tell of all that a dictionary is worth it.
    FIRST_WORDED = 4096
    # Values that tell whether each begins as the one before, from the chunk's middle.
    SAMPLE = 1024
    OFFSET_SIZE = 4

cdef const uint8_t NOTHING = 0


cdef class Chunk:
    """A chunk, and after it the next one: it keeps the memory that both need.

    Attributes:
        encoding: how the chunk's values are encoded.
        dictionary_words: the words of its dictionary; 0 where it has none.
        values: values of the chunk that are there.
        entries: all its values.
    """

    def __cinit__(self):
        self.blocks = best_blocks()

    def __dealloc__(self):
        release(&self.numbers)
        release(&self.kept_places)
        release(&self.kept_words)
        release(&self.numbers_of_words)
        words_release(&self.words_seen)
        self.let_go()

    cdef int let_go(self) except -1:
        cdef int view
        for view in range(VIEWS):
            look_at(&self.views[view], None)
        return 0

    @property
    def entries(self):
        return self.levels.entries if self.levels is not None else self.rows

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
    ):
        """Begin a chunk."""
        look_at(&self.views[VALUES], values)
        look_at(&self.views[DATA], data)
        look_at(&self.views[WORDS], words)
        look_at(&self.views[VALIDITY], validity)
        self.form, self.width = form, width
        self.rows, self.first, self.row = rows, first, 0
        self.levels, self.is_optional, self.has_dictionary = levels, optional, has_dictionary
        self.wants_extent = extent
        self.places = NULL
        self.values = rows
        self.dictionary_words = 0
        memset(&self.extent, 0, sizeof(Extent))
        memset(&self.strings, 0, sizeof(Strings))
        memset(&self.dictionary, 0, sizeof(Strings))
        self.data = bytes_of(&self.views[VALUES])
        self.validity = <const uint8_t *> self.views[VALIDITY].buf
        if levels is not None:
            self.take_levels()
        elif self.validity != NULL:
            enough(&self.views[VALIDITY], (first + rows + 7) // 8)
            reserve_places(&self.kept_places, rows)
            with nogil:
                self.places = <const int32_t *> self.kept_places.data
                self.values = places_of(<int32_t *> self.kept_places.data, self.validity, first, first, rows)
        self.check()
        with nogil:
            self.choose()

    cdef int take_levels(self) except -1:
        cdef Levels levels = self.levels
        levels.complete()
        if levels.rows != self.rows:
            raise ValueError("levels and values are not of the same rows")
        self.values = levels.value_count
        reserve_places(&self.kept_places, self.values)
        if self.values and not follow_each_other(<int32_t *> levels.values.data, self.values):
            self.add_first(levels)
        elif self.values:
            self.first += (<int32_t *> levels.values.data)[0]
        return 0

    cdef int add_first(self, Levels levels) except -1 nogil:
        cdef int64_t i
        cdef int32_t *places = <int32_t *> self.kept_places.data
        for i in range(self.values):
            places[i] = (<int32_t *> levels.values.data)[i] + <int32_t> self.first
        self.places = places
        return 0

    cdef int check(self) except -1:
        """Refuse buffers that are shorter than what is to be read of them."""
        cdef int64_t stop = 0
        if self.values:
            stop = (self.places[self.values - 1] if self.places != NULL else self.first + self.values - 1) + 1
        if self.form == FORM_BOOL:
            enough(&self.views[VALUES], (stop + 7) // 8)
        elif self.form == FORM_BYTES:
            self.strings.offsets = <const int32_t *> self.data
            self.strings.places = self.places
            self.strings.first = self.first
            self.take_bytes(&self.views[VALUES], stop)
        elif self.form == FORM_WORDS:
            enough(&self.views[VALUES], stop * self.width)
            self.strings.offsets = <const int32_t *> self.views[WORDS].buf
            self.dictionary_words = max(self.views[WORDS].len // OFFSET_SIZE - 1, <int64_t> 0)
            self.take_bytes(&self.views[WORDS], self.dictionary_words)
            self.take_words()
        else:
            enough(&self.views[VALUES], stop * form_size(self.form))
        return 0

    cdef int take_bytes(self, Py_buffer *offsets, int64_t last) except -1:
        """Take the bytes that offsets up to the last one point into."""
        self.strings.data = bytes_of(&self.views[DATA])
        if last:
            enough(offsets, (last + 1) * OFFSET_SIZE)
            enough(&self.views[DATA], self.strings.offsets[last])
        return 0

    cdef int take_words(self) except -1:
        """The numbers of the words, as 32-bit integers."""
        cdef int form = FORM_INT8 if self.width == 1 else FORM_INT16 if self.width == 2 else FORM_INT32
        cdef const int32_t *words
        cdef uint32_t least
        cdef uint32_t largest
        if self.width not in (1, 2, 4):
            raise ValueError(f"numbers of words have 1, 2 or 4 bytes, not {self.width}")
        words = as_int32(&self.kept_words, form, self.data, self.places, self.first, self.values)
        self.strings.words = <const uint32_t *> words
        if self.values:
            self.blocks.extent_u32(self.strings.words, self.values, &least, &largest)
            if largest >= self.dictionary_words:
                raise ValueError("a word's number is not in the dictionary")
        return 0

    cdef int choose(self) except -1 nogil:
        """Decide how the chunk is encoded."""
        cdef int size = form_size(self.form)
        if self.form == FORM_BOOL:
            self.encoding = ENCODING_PLAIN
        elif self.form == FORM_BYTES or self.form == FORM_WORDS:
            self.choose_for_strings()
        elif self.values >= FEWEST_WORDED and all_alike(self.data, self.places, self.first, self.values, size):
            self.encoding = ENCODING_RLE_DICTIONARY
            self.dictionary_words = 1
        else:
            self.encoding = ENCODING_DELTA_BINARY_PACKED if is_whole(self.form) else ENCODING_PLAIN
        self.has_dictionary_page = self.encoding == ENCODING_RLE_DICTIONARY
        if not self.has_dictionary_page:
            self.dictionary_words = 0
        return 0

    cdef int choose_for_strings(self) except -1 nogil:
        cdef int64_t sample = min(<int64_t> SAMPLE, self.values)
        cdef int64_t first = (self.values - sample) // 2
        self.encoding = ENCODING_RLE_DICTIONARY
        if self.form == FORM_WORDS:
            self.dictionary = self.strings
            self.dictionary.words = NULL
            if self.dictionary_words * SHARE <= self.values and self.is_distinct():
                return 0
            if self.has_dictionary:
                self.make_dictionary(self.values, INT32_MAX)
                return 0
        elif self.values >= FEWEST_WORDED and self.seems_worded():
            if self.make_dictionary(self.values // SHARE, DICTIONARY_BYTES):
                return 0
        if shares_prefixes(&self.strings, first, first + sample):
            self.encoding = ENCODING_DELTA_BYTE_ARRAY
        else:
            self.encoding = ENCODING_DELTA_LENGTH_BYTE_ARRAY
        return 0

    cdef bint seems_worded(self) except -1 nogil:
        """Whether few values may be distinct: the first ones tell that it is worth trying, or all that they are few."""
        if self.values > FIRST_WORDED and not seem_distinct(&self.strings, FIRST_WORDED, FIRST_WORDED // 2):
            return True
        return not seem_distinct(&self.strings, self.values, self.values // SHARE)

    cdef bint is_distinct(self) except -1 nogil:
        """Whether no word stands in the dictionary twice: some readers number them anew."""
        cdef int64_t word
        words_forget(&self.words_seen)
        for word in range(self.dictionary_words):
            if word_of(&self.words_seen, &self.dictionary, word) != word:
                return False
        return True

    cdef bint make_dictionary(self, int64_t words_limit, int64_t bytes_limit) except -1 nogil:
        """Number the words, and leave out those that no value has; False where there are too many."""
        self.numbers_of_words.size = 0
        reserve(&self.numbers_of_words, self.values * 4 + 8)
        words_forget(&self.words_seen)
        if not number_words(
            &self.words_seen,
            <uint32_t *> self.numbers_of_words.data,
            &self.strings,
            self.values,
            words_limit,
            bytes_limit,
        ):
            return False
        self.dictionary = self.strings
        self.dictionary.words = NULL
        self.dictionary.places = <const int32_t *> self.words_seen.places.data
        self.dictionary_words = self.words_seen.count
        if self.wants_extent:
            extend_strings(&self.extent, &self.dictionary, 0, self.dictionary_words)
        self.strings.words = <const uint32_t *> self.numbers_of_words.data
        return True

    cpdef end(self):
        """Let go of the chunk's memory."""
        self.levels = None
        self.let_go()
        self.rows = self.row = 0


cdef const uint8_t *bytes_of(Py_buffer *view) noexcept nogil:
    """A view's bytes; some address also where it has none."""
    return <const uint8_t *> view.buf if view.buf != NULL else &NOTHING


cdef int enough(Py_buffer *view, int64_t size) except -1:
    if size < 0 or view.len < size:
        raise ValueError(f"expected a buffer of at least {size} bytes, found one of {view.len}")
    return 0


cdef int reserve_places(Output *places, int64_t count) except -1:
    places.size = 0
    return reserve(places, count * 4 + 8)


cdef bint follow_each_other(const int32_t *places, int64_t count) noexcept nogil:
    return places[count - 1] - places[0] == count - 1
