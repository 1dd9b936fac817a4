# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Column chunks encoded page by page, straight from Arrow's buffers.

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

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from binx.kernels.bitmaps cimport copy_bits, places_of
from binx.kernels.blocks cimport BlockFunctions, best_blocks, bits_of
from binx.kernels.bytearrays cimport *
from binx.kernels.delta cimport put_deltas, put_deltas32
from binx.kernels.extents cimport *
from binx.kernels.hybrid cimport put_bit_levels, put_hybrid, put_run
from binx.kernels.levels cimport Levels, entries_before, values_before
from binx.kernels.numbers cimport *
from binx.kernels.output cimport Output, append, append_byte, release, reserve
from binx.kernels.views cimport look_at
from binx.kernels.words cimport Words, nearly_distinct, number_words, word_of, words_forget, words_release

cpdef enum Encoding:
    """How values are written, by the format's numbers."""

    ENCODING_PLAIN = 0
    ENCODING_RLE = 3
    ENCODING_DELTA_BINARY_PACKED = 5
    ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6
    ENCODING_DELTA_BYTE_ARRAY = 7
    ENCODING_RLE_DICTIONARY = 8

cdef enum:
    # Rows, and bytes of strings, at which a page ends; one string may have more.
    PAGE_ROWS = 65536
    PAGE_BYTES = 1048576
    # Values that have a dictionary, at least; how often each of its words is used, on average; and its bytes.
    FEWEST_WORDED = 16
    SHARE = 4
    DICTIONARY_BYTES = 4194304
    # Values that tell whether each begins as the one before, from the chunk's middle.
    SAMPLE = 1024
    OFFSET_SIZE = 4

cdef enum:
    # The buffers of a chunk: Arrow's values or offsets, the bytes of strings, the offsets of a dictionary's words.
    VALUES
    DATA
    WORDS
    VALIDITY
    VIEWS

cdef const uint8_t NOTHING = 0


cdef class PageEncoder:
    """Encodes one column chunk after another.

    After each page the encoder itself is a buffer of its bytes, levels and values, until the next one.

    Attributes:
        encoding: how the chunk's values are encoded.
        dictionary_words: the words of its dictionary; 0 where it has none.
        page_entries: values of the page, nulls and empty lists among them.
        values: values of the chunk that are there.
        entries: all its values.
    """

    cdef const BlockFunctions *blocks
    cdef Output page
    cdef Output numbers
    cdef Output suffixes
    cdef Output kept_places
    cdef Output kept_words
    cdef Output numbers_of_words
    cdef Words words
    # The chunk at hand, and the memory that it is in.
    cdef Py_buffer views[VIEWS]
    cdef Levels levels
    cdef const uint8_t *validity
    cdef const uint8_t *data
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
    cdef readonly int64_t page_entries

    def __cinit__(self):
        self.blocks = best_blocks()

    def __dealloc__(self):
        release(&self.page)
        release(&self.numbers)
        release(&self.suffixes)
        release(&self.kept_places)
        release(&self.kept_words)
        release(&self.numbers_of_words)
        words_release(&self.words)
        self.let_go()

    cdef int let_go(self) except -1:
        cdef int view
        for view in range(VIEWS):
            look_at(&self.views[view], None)
        return 0

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.page.data if self.page.data else <void *> &NOTHING, self.page.size, 1, flags)

    def __len__(self):
        return self.page.size

    @property
    def entries(self):
        return self.levels.entries if self.levels is not None else self.rows

    def begin(
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
        for view, memory in enumerate((values, data, words, validity)):
            look_at(&self.views[view], memory)
        self.form, self.width = form, width
        self.rows, self.first, self.row = rows, first, 0
        self.levels, self.is_optional, self.has_dictionary = levels, optional, has_dictionary
        self.wants_extent = extent
        self.page.size = 0
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
        elif self.values >= FEWEST_WORDED and nearly_distinct(&self.strings, self.values) * SHARE <= self.values:
            if self.make_dictionary(self.values // SHARE, DICTIONARY_BYTES):
                return 0
        if shares_prefixes(&self.strings, first, first + sample):
            self.encoding = ENCODING_DELTA_BYTE_ARRAY
        else:
            self.encoding = ENCODING_DELTA_LENGTH_BYTE_ARRAY
        return 0

    cdef bint is_distinct(self) except -1 nogil:
        """Whether no word stands in the dictionary twice: some readers number them anew."""
        cdef int64_t word
        words_forget(&self.words)
        for word in range(self.dictionary_words):
            if word_of(&self.words, &self.dictionary, word) != word:
                return False
        return True

    cdef bint make_dictionary(self, int64_t words_limit, int64_t bytes_limit) except -1 nogil:
        """Number the words, and leave out those that no value has; False where there are too many."""
        self.numbers_of_words.size = 0
        reserve(&self.numbers_of_words, self.values * 4 + 8)
        words_forget(&self.words)
        if not number_words(
            &self.words,
            <uint32_t *> self.numbers_of_words.data,
            &self.strings,
            self.values,
            words_limit,
            bytes_limit,
        ):
            return False
        self.dictionary = self.strings
        self.dictionary.words = NULL
        self.dictionary.places = <const int32_t *> self.words.places.data
        self.dictionary_words = self.words.count
        if self.wants_extent:
            extend_strings(&self.extent, &self.dictionary, 0, self.dictionary_words)
        self.strings.words = <const uint32_t *> self.numbers_of_words.data
        return True

    def dictionary_page(self):
        """Encode the dictionary's page; False where the chunk has none."""
        if not self.has_dictionary_page:
            return False
        self.page.size = 0
        with nogil:
            if self.form == FORM_BYTES or self.form == FORM_WORDS:
                put_plain(&self.page, &self.dictionary, 0, self.dictionary_words)
            else:
                self.put_numbers(0, 1, ENCODING_PLAIN)
        self.page_entries = self.dictionary_words
        return True

    def data_page(self):
        """Encode the next page of values; False where all are written."""
        cdef int64_t stop
        if self.row >= self.rows:
            return False
        self.page.size = 0
        with nogil:
            stop = self.page_stop()
            self.put_levels(stop)
            self.put_values(self.value_start(self.row), self.value_start(stop))
        self.page_entries = self.entry_start(stop) - self.entry_start(self.row)
        self.row = stop
        if self.page.size > 0x7FFFFFFF:
            raise ValueError(f"a page of {self.page.size} bytes is more than Parquet can have")
        return True

    cdef int64_t value_start(self, int64_t row) noexcept nogil:
        """How many values the rows before one have."""
        cdef int64_t low = 0
        cdef int64_t high = self.values
        cdef int64_t middle
        if self.levels is not None:
            return values_before(self.levels, row)
        if self.places == NULL:
            return row
        while low < high:
            middle = (low + high) // 2
            if self.places[middle] < self.first + row:
                low = middle + 1
            else:
                high = middle
        return low

    cdef int64_t entry_start(self, int64_t row) noexcept nogil:
        """How many entries the rows before one have."""
        return entries_before(self.levels, row) if self.levels is not None else row

    cdef bint fits(self, int64_t stop) noexcept nogil:
        """Whether the rows up to one make a page."""
        cdef int64_t first = self.value_start(self.row)
        cdef int64_t last = self.value_start(stop)
        cdef const int32_t *offsets = self.strings.offsets
        if self.entry_start(stop) - self.entry_start(self.row) > PAGE_ROWS:
            return False
        if self.form != FORM_BYTES or self.has_dictionary_page or first == last:
            return True
        return (
            offsets[string_at(&self.strings, last - 1) + 1] - offsets[string_at(&self.strings, first)] <= PAGE_BYTES
        )

    cdef int64_t page_stop(self) noexcept nogil:
        """The row behind the page; it has one row at least."""
        cdef int64_t low = self.row + 1
        cdef int64_t high = min(self.rows, self.row + PAGE_ROWS)
        cdef int64_t middle
        if self.fits(high):
            return high
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits(middle):
                low = middle
            else:
                high = middle - 1
        return low

    cdef int put_levels(self, int64_t stop) except -1 nogil:
        cdef uint32_t size = 0
        cdef int64_t start = self.page.size
        if self.levels is not None:
            return self.levels.append_to(&self.page, self.row, stop)
        if not self.is_optional:
            return 0
        append(&self.page, &size, sizeof(size))
        if self.validity == NULL:
            put_run(&self.page, 1, stop - self.row, 1)
        else:
            self.numbers.size = 0
            copy_bits(&self.numbers, self.validity, self.first + self.row, stop - self.row)
            put_bit_levels(&self.page, self.numbers.data, stop - self.row)
        size = <uint32_t> (self.page.size - start - sizeof(size))
        memcpy(self.page.data + start, &size, sizeof(size))
        return 0

    cdef int put_values(self, int64_t first, int64_t last) except -1 nogil:
        cdef int width
        if self.encoding == ENCODING_RLE_DICTIONARY:
            width = max(bits_of(self.dictionary_words - 1), 1) if self.dictionary_words else 0
            append_byte(&self.page, <uint8_t> width)
            if self.dictionary_words == 1 and first < last:
                put_run(&self.page, 0, last - first, width)
            else:
                put_hybrid(&self.page, self.blocks, self.strings.words + first, last - first, width)
            return 0
        if self.form != FORM_BYTES and self.form != FORM_WORDS:
            return self.put_numbers(first, last, self.encoding)
        if self.wants_extent:
            extend_strings(&self.extent, &self.strings, first, last)
        if self.encoding == ENCODING_DELTA_BYTE_ARRAY:
            return put_differences(
                &self.page, &self.numbers, &self.suffixes, self.blocks, &self.strings, first, last
            )
        return put_lengths_and_bytes(&self.page, &self.numbers, self.blocks, &self.strings, first, last)

    cdef int put_numbers(self, int64_t first, int64_t last, int encoding) except -1 nogil:
        """Append values of fixed width, and take their extent."""
        cdef const int32_t *places = self.places + first if self.places != NULL else NULL
        cdef int64_t start = self.first + first
        cdef int64_t count = last - first
        cdef const int32_t *short
        cdef const int64_t *long
        if self.form == FORM_BOOL:
            if places == NULL:
                return copy_bits(&self.page, self.data, start, count)
            return put_bools(&self.page, self.data, places, count)
        if not is_whole(self.form):
            self.extend(places, start, count)
            if self.form == FORM_DECIMAL:
                return put_decimals(&self.page, self.data, places, start, count, self.width)
            return put_fixed(&self.page, self.data, places, start, count, form_size(self.form))
        if is_32(self.form):
            short = as_int32(&self.numbers, self.form, self.data, places, start, count)
            if self.wants_extent and count:
                extend_int32(&self.extent, self.blocks, short, count, self.is_signed())
            if encoding == ENCODING_PLAIN:
                return append(&self.page, short, count * 4)
            return put_deltas32(&self.page, self.blocks, short, count)
        long = as_int64(&self.numbers, self.form, self.data, places, start, count)
        if self.wants_extent and count:
            extend_int64(&self.extent, self.blocks, long, count, self.is_signed())
        if encoding == ENCODING_PLAIN:
            return append(&self.page, long, count * 8)
        return put_deltas(&self.page, self.blocks, long, count)

    cdef bint is_signed(self) noexcept nogil:
        return self.form != FORM_UINT16 and self.form != FORM_UINT32 and self.form != FORM_UINT64

    cdef int extend(self, const int32_t *places, int64_t start, int64_t count) except -1 nogil:
        """Take the extent of floats and of decimals that are bytes."""
        cdef int64_t i
        cdef int64_t place
        if not self.wants_extent:
            return 0
        for i in range(count):
            place = start + i if places == NULL else places[i]
            if self.form == FORM_FLOAT32:
                extend_float(&self.extent, (<const float *> self.data)[place])
            elif self.form == FORM_FLOAT64:
                extend_float(&self.extent, (<const double *> self.data)[place])
            else:
                extend_decimal(
                    &self.extent,
                    (<const int64_t *> self.data)[place * 2 + 1],
                    (<const uint64_t *> self.data)[place * 2],
                )
        return 0

    def least_and_largest(self):
        """The least and the largest value of the chunk as PLAIN has them; None where that is not known."""
        cdef float least
        cdef float largest
        cdef Extent *extent = &self.extent
        if not extent.is_known:
            return None
        if self.form == FORM_BYTES:
            return extent.least_bytes[: extent.least_size], extent.largest_bytes[: extent.largest_size]
        if self.form == FORM_DECIMAL:
            return big_endian(extent.least_high, extent.least, self.width), big_endian(
                extent.largest_high, extent.largest, self.width
            )
        if self.form == FORM_FLOAT32 or self.form == FORM_FLOAT64:
            # Which of the two zeros it was is not told by their order.
            if extent.least_float == 0:
                extent.least_float = -0.0
            if extent.largest_float == 0:
                extent.largest_float = 0.0
            if self.form == FORM_FLOAT64:
                return (<uint8_t *> &extent.least_float)[:8], (<uint8_t *> &extent.largest_float)[:8]
            least, largest = <float> extent.least_float, <float> extent.largest_float
            return (<uint8_t *> &least)[:4], (<uint8_t *> &largest)[:4]
        if is_32(self.form):
            return (<uint8_t *> &extent.least)[:4], (<uint8_t *> &extent.largest)[:4]
        return (<uint8_t *> &extent.least)[:8], (<uint8_t *> &extent.largest)[:8]

    def end(self):
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


cdef bytes big_endian(int64_t high, int64_t low, int width):
    """A number of 128 bits in so many bytes, the highest first."""
    cdef uint8_t out[16]
    cdef int i
    for i in range(16):
        out[15 - i] = <uint8_t> ((<uint64_t> low >> (8 * i)) if i < 8 else (<uint64_t> high >> (8 * (i - 8))))
    return out[16 - width : 16]
