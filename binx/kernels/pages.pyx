# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Column chunks encoded page by page, straight from Arrow's buffers; how, ``chunks.pyx`` decides.

Source: the Apache Parquet format, parquet.thrift and Encodings.md.
"""

from cpython.buffer cimport PyBUF_READ, PyBuffer_FillInfo
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.bitmaps cimport copy_bits
from binx.kernels.blocks cimport bits_of
from binx.kernels.bytearrays cimport *
from binx.kernels.chunks cimport *
from binx.kernels.delta cimport put_deltas
from binx.kernels.extents cimport *
from binx.kernels.hybrid cimport put_bit_levels, put_hybrid, put_run
from binx.kernels.levels cimport Levels, entries_before, values_before
from binx.kernels.numbers cimport *
from binx.kernels.output cimport Output, append, append_byte, release

cdef enum:
    # Rows, and bytes of strings, at which a page ends; one string may have more.
    PAGE_ROWS = 65536
    PAGE_BYTES = 1048576

cdef const uint8_t NOTHING = 0


cdef class PageEncoder(Chunk):
    """Encodes one column chunk after another.

    After each page the encoder itself is a buffer of its bytes, levels and values, until the next one. Of a page
    of one long string these are only what stands before its bytes, which are taken from where they are.

    Attributes:
        page_entries: values of the page, nulls and empty lists among them.
    """

    def __dealloc__(self):
        release(&self.page)
        release(&self.suffixes)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.page.data if self.page.data else <void *> &NOTHING, self.page.size, 1, flags)

    def __len__(self):
        return self.page.size + self.long_size

    @property
    def long_bytes(self):
        """The bytes of the page's one long string, which end the page; None where it has none."""
        if self.long_data == NULL:
            return None
        return PyMemoryView_FromMemory(<char *> self.long_data, self.long_size, PyBUF_READ)

    cpdef bint dictionary_page(self) except -1:
        """Encode the dictionary's page; False where the chunk has none."""
        if not self.has_dictionary_page:
            return False
        self.begin_page()
        with nogil:
            if self.form == FORM_BYTES or self.form == FORM_WORDS:
                put_plain(&self.page, &self.dictionary, 0, self.dictionary_words)
            else:
                self.put_numbers(0, 1, ENCODING_PLAIN)
        self.page_entries = self.dictionary_words
        return True

    cpdef bint data_page(self) except -1:
        """Encode the next page of values; False where all are written."""
        cdef int64_t stop
        if self.row >= self.rows:
            return False
        self.begin_page()
        with nogil:
            stop = self.page_stop()
            self.put_levels(stop)
            self.put_values(self.value_start(self.row), self.value_start(stop))
        self.page_entries = self.entry_start(stop) - self.entry_start(self.row)
        self.row = stop
        if len(self) > 0x7FFFFFFF:
            raise ValueError(f"a page of {len(self)} bytes is more than Parquet can have")
        return True

    cdef void begin_page(self) noexcept:
        self.page.size = 0
        self.long_data = NULL
        self.long_size = 0

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
        self.take_long_string(first, last)
        return put_lengths_and_bytes(
            &self.page, &self.numbers, self.blocks, &self.strings, first, last, self.long_data == NULL
        )

    cdef void take_long_string(self, int64_t first, int64_t last) noexcept nogil:
        """See whether the page is one string that would make a page longer than others: it is not copied."""
        cdef const int32_t *offsets = self.strings.offsets
        cdef int64_t place
        if last - first != 1:
            return
        place = string_at(&self.strings, first)
        if offsets[place + 1] - offsets[place] > PAGE_BYTES:
            self.long_data = self.strings.data + offsets[place]
            self.long_size = offsets[place + 1] - offsets[place]

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
            return put_deltas(&self.page, self.blocks, short, count)
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

    cdef bint take_bounds(self, Bounds *bounds) noexcept nogil:
        """The least and the largest value of the chunk as PLAIN has them; False where that is not known."""
        cdef Extent *extent = &self.extent
        cdef float least
        cdef float largest
        if not extent.is_known:
            return False
        bounds.least, bounds.largest = bounds.least_room, bounds.largest_room
        if self.form == FORM_BYTES or self.form == FORM_WORDS:
            bounds.least, bounds.least_size = extent.least_bytes, extent.least_size
            bounds.largest, bounds.largest_size = extent.largest_bytes, extent.largest_size
        elif self.form == FORM_DECIMAL:
            bounds.least_size = bounds.largest_size = self.width
            big_endian(bounds.least_room, extent.least_high, extent.least, self.width)
            big_endian(bounds.largest_room, extent.largest_high, extent.largest, self.width)
        elif self.form == FORM_FLOAT32 or self.form == FORM_FLOAT64:
            # Which of the two zeros it was is not told by their order.
            if extent.least_float == 0:
                extent.least_float = -0.0
            if extent.largest_float == 0:
                extent.largest_float = 0.0
            if self.form == FORM_FLOAT64:
                fill(bounds, &extent.least_float, &extent.largest_float, 8)
            else:
                least, largest = <float> extent.least_float, <float> extent.largest_float
                fill(bounds, &least, &largest, 4)
        else:
            # Processors are little-endian wherever binx runs.
            fill(bounds, &extent.least, &extent.largest, 4 if is_32(self.form) else 8)
        return True


cdef inline void fill(Bounds *bounds, const void *least, const void *largest, int size) noexcept nogil:
    bounds.least_size = bounds.largest_size = size
    memcpy(bounds.least_room, least, size)
    memcpy(bounds.largest_room, largest, size)


cdef void big_endian(uint8_t *out, int64_t high, int64_t low, int width) noexcept nogil:
    """A number of 128 bits in so many bytes, the highest first."""
    cdef int i
    for i in range(width):
        out[width - 1 - i] = <uint8_t> ((<uint64_t> low >> (8 * i)) if i < 8 else (<uint64_t> high >> (8 * (i - 8))))
