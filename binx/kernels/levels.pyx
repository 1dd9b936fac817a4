# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Definition and repetition levels of nested columns, out of Arrow's bitmaps and offsets.

A definition level tells how much of the way to a value is there: each part that may be null, and each list,
counts one. A repetition level is 0 where a row begins, and 1 where its list goes on; binx has no list within a list.

Source: the Apache Parquet format, "Nested Encoding" (README.md) and Encodings.md, "RLE = 3".
"""

from cpython.buffer cimport PyBuffer_Release
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from binx.kernels.blocks cimport best_blocks, bits_of
from binx.kernels.hybrid cimport put_hybrid, put_run
from binx.kernels.output cimport Output, append, append_byte, release, reserve
from binx.kernels.views cimport look_at

cdef enum:
    PLACE_SIZE = 4
    ENTRIES_LIMIT = 0x7FFFFFFF


cdef class Levels:
    """The way from a row to the values of one leaf, told part by part from the top.

    Args:
        rows: how many.
    """

    def __cinit__(self, int64_t rows):
        cdef int64_t row
        if not 0 <= rows < ENTRIES_LIMIT:
            raise ValueError(f"{rows} rows are more than a column chunk can have")
        self.rows = self.entries = rows
        self.blocks = best_blocks()
        self.encoded_first = self.encoded_last = -1
        reserve(&self.definitions, rows + 1)
        memset(self.definitions.data, 0, rows)
        reserve(&self.places, (rows + 1) * PLACE_SIZE)
        for row in range(rows):
            (<int32_t *> self.places.data)[row] = <int32_t> row

    @classmethod
    def of_nulls(cls, int64_t rows, int depth, bint repeats):
        """The levels of a leaf of a column that is null in all rows."""
        cdef Levels levels = cls(0)
        levels.rows = levels.entries = rows
        levels.depth, levels.repeats = depth, repeats
        levels.has_nothing = levels.is_complete = True
        return levels

    def __dealloc__(self):
        release(&self.definitions)
        release(&self.repetitions)
        release(&self.places)
        release(&self.values)
        release(&self.entry_starts)
        release(&self.value_starts)
        release(&self.wide)
        release(&self.encoded)
        PyBuffer_Release(&self.view)

    def optional(self, validity, int64_t first):
        """A part that may be null.

        Args:
            validity: its bitmap; None where all values are there.
            first: the place in it of the part's first value.
        """
        cdef uint8_t *levels = self.definitions.data
        cdef int32_t *places = <int32_t *> self.places.data
        cdef const uint8_t *bits
        cdef int64_t entry
        cdef int64_t bit
        if self.is_complete:
            raise ValueError("the levels are in use already")
        look_at(&self.view, validity)
        bits = <const uint8_t *> self.view.buf
        with nogil:
            if bits == NULL:
                for entry in range(self.entries):
                    levels[entry] += places[entry] >= 0
            else:
                for entry in range(self.entries):
                    if places[entry] < 0:
                        continue
                    bit = first + places[entry]
                    if bit >> 3 >= self.view.len:
                        short_buffer()
                    if bits[bit >> 3] >> (bit & 7) & 1:
                        levels[entry] += 1
                    else:
                        places[entry] = -1
        self.depth += 1

    def repeated(self, offsets, int64_t first):
        """A list.

        Args:
            offsets: where the elements of each list begin, and the last ones end.
            first: the place in them of the first list.
        """
        cdef Output levels
        cdef Output places
        cdef const int32_t *begins
        cdef int64_t row
        cdef int32_t place
        cdef int32_t element
        if self.repeats or self.is_complete:
            raise ValueError("a list within a list cannot be written")
        look_at(&self.view, offsets)
        if self.rows and self.view.len < (first + self.rows + 1) * PLACE_SIZE:
            short_buffer()
        begins = <const int32_t *> self.view.buf + first
        memset(&levels, 0, sizeof(Output))
        memset(&places, 0, sizeof(Output))
        reserve(&self.entry_starts, (self.rows + 1) * PLACE_SIZE)
        try:
            with nogil:
                for row in range(self.rows):
                    (<int32_t *> self.entry_starts.data)[row] = <int32_t> levels.size
                    place = (<int32_t *> self.places.data)[row]
                    if place < 0 or begins[place] >= begins[place + 1]:
                        append_byte(&levels, self.definitions.data[row])
                        append_byte(&self.repetitions, 0)
                        element = -1
                        append(&places, &element, PLACE_SIZE)
                        continue
                    reserve(&levels, begins[place + 1] - begins[place])
                    reserve(&self.repetitions, begins[place + 1] - begins[place])
                    reserve(&places, (begins[place + 1] - begins[place]) * PLACE_SIZE)
                    for element in range(begins[place], begins[place + 1]):
                        levels.data[levels.size] = self.definitions.data[row] + 1
                        self.repetitions.data[levels.size] = element > begins[place]
                        (<int32_t *> places.data)[levels.size] = element
                        levels.size += 1
                    self.repetitions.size = levels.size
                    places.size = levels.size * PLACE_SIZE
            if levels.size >= ENTRIES_LIMIT:
                raise ValueError(f"{levels.size} values are more than a column chunk can have")
            (<int32_t *> self.entry_starts.data)[self.rows] = <int32_t> levels.size
            self.entries = levels.size
            self.definitions, levels = levels, self.definitions
            self.places, places = places, self.places
        finally:
            release(&levels)
            release(&places)
        self.depth += 1
        self.repeats = True

    cdef int complete(self) except -1:
        """Nothing more comes: count the values."""
        cdef int32_t *places = <int32_t *> self.places.data
        cdef int32_t *values
        cdef int64_t row
        cdef int64_t entry = 0
        cdef int64_t stop
        if self.is_complete:
            return 0
        self.is_complete = True
        reserve(&self.values, (self.entries + 1) * PLACE_SIZE)
        reserve(&self.value_starts, (self.rows + 1) * PLACE_SIZE)
        values = <int32_t *> self.values.data
        with nogil:
            for row in range(self.rows):
                (<int32_t *> self.value_starts.data)[row] = <int32_t> self.value_count
                stop = row_start(&self.entry_starts, row + 1) if self.repeats else row + 1
                while entry < stop:
                    if places[entry] >= 0:
                        values[self.value_count] = places[entry]
                        self.value_count += 1
                    entry += 1
        (<int32_t *> self.value_starts.data)[self.rows] = <int32_t> self.value_count
        return 0

    cdef int append_to(self, Output *page, int64_t first_row, int64_t last_row) except -1 nogil:
        """Append the levels of some rows to a page; leaves that share them encode them once."""
        cdef int64_t first = first_row
        cdef int64_t last = last_row
        if self.has_nothing:
            if self.repeats:
                self.put_zeros(page, last - first, 1)
            return self.put_zeros(page, last - first, bits_of(self.depth))
        if self.repeats:
            first, last = row_start(&self.entry_starts, first_row), row_start(&self.entry_starts, last_row)
        if first != self.encoded_first or last != self.encoded_last:
            self.encoded.size = 0
            if self.repeats:
                self.put(&self.encoded, &self.repetitions, first, last, 1)
            if self.depth:
                self.put(&self.encoded, &self.definitions, first, last, bits_of(self.depth))
            self.encoded_first, self.encoded_last = first, last
        append(page, self.encoded.data, self.encoded.size)
        return 0

    cdef int put_zeros(self, Output *page, int64_t count, int width) except -1 nogil:
        cdef uint32_t zero = 0
        cdef int64_t start = page.size
        append(page, &zero, sizeof(zero))
        put_run(page, 0, count, width)
        return fill_in_size(page, start)

    cdef int put(self, Output *page, Output *levels, int64_t first, int64_t last, int width) except -1 nogil:
        """Append levels of a page of version 1: their bytes' number, then they."""
        cdef uint32_t zero = 0
        cdef int64_t start = page.size
        cdef int64_t i
        self.wide.size = 0
        reserve(&self.wide, (last - first) * 4)
        for i in range(last - first):
            (<uint32_t *> self.wide.data)[i] = levels.data[first + i]
        append(page, &zero, sizeof(zero))
        put_hybrid(page, self.blocks, <uint32_t *> self.wide.data, last - first, width)
        return fill_in_size(page, start)


cdef int fill_in_size(Output *page, int64_t start) except -1 nogil:
    """Note how many bytes stand behind the four of their number."""
    cdef uint32_t size = <uint32_t> (page.size - start - 4)
    memcpy(page.data + start, &size, 4)
    return 0


cdef int short_buffer() except -1 with gil:
    raise ValueError("a buffer is shorter than its column")
