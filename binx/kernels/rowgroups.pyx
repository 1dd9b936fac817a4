# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Row groups: the chunks of all columns with the headers of their pages, and what the footer says of them.

Source: the Apache Parquet format, ``PageHeader``, ``ColumnChunk`` and ``RowGroup`` in parquet.thrift.
"""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.chunks cimport *
from binx.kernels.compact cimport *
from binx.kernels.delta cimport put_zigzag
from binx.kernels.leaves cimport Leaf, Leaves, Worth
from binx.kernels.numbers cimport *
from binx.kernels.output cimport Output, append, bytes_in, release
from binx.kernels.pages cimport Bounds, PageEncoder

cdef enum:
    DATA_PAGE = 0
    DICTIONARY_PAGE = 2
    UNCOMPRESSED = 0
    # Pages are put together until they are so many bytes; larger ones go as they are.
    TOGETHER = 65536
    # Bytes of a text's statistics, at most.
    BOUND_BYTES = 256
    LAST_ORDINAL = 0x7FFF
    # What a flat column of whole buffers is told by: values, data, words, validity and nulls.
    FLAT = 5

cdef struct Splice:
    # An offset in the file, and the place in a row group's Thrift that it belongs to.
    int64_t place
    int64_t offset

cdef struct Written:
    # What was written of a chunk: its bytes with the headers of its pages, before and after compression.
    int64_t size
    int64_t compressed
    int64_t dictionary_page
    int64_t first_page
    int32_t pages
    bint has_dictionary
    bint is_compressed


@final
cdef class RowGroup:
    """A row group as the footer tells of it, but for where in the file it is, so that it can be moved."""

    # splices: an array of `Splice`.
    cdef bytes text
    cdef bytes splices
    cdef readonly int64_t rows
    cdef readonly int64_t bytes

    def __init__(self, bytes text not None, bytes splices not None, int64_t rows, int64_t size):
        self.text, self.splices, self.rows, self.bytes = text, splices, rows, size

    def __reduce__(self):
        return RowGroup, (self.text, self.splices, self.rows, self.bytes)

    def move(self, int64_t distance):
        """It stands so many bytes further behind."""
        cdef bytes moved = PyBytes_AS_STRING(self.splices)[: PyBytes_GET_SIZE(self.splices)]
        cdef Splice *splice = <Splice *> PyBytes_AS_STRING(moved)
        cdef int64_t i
        for i in range(PyBytes_GET_SIZE(moved) // <int64_t> sizeof(Splice)):
            splice[i].offset += distance
        self.splices = moved

    def encoded(self, int64_t ordinal):
        """As Thrift, as the file's so many-th."""
        cdef const uint8_t *text = <const uint8_t *> PyBytes_AS_STRING(self.text)
        cdef const Splice *splice = <const Splice *> PyBytes_AS_STRING(self.splices)
        cdef int64_t size = PyBytes_GET_SIZE(self.text)
        cdef int64_t done = 0
        cdef int64_t i
        cdef Output out = Output(NULL, 0, 0)
        cdef Fields fields = Fields(&out, 6)
        try:
            for i in range(PyBytes_GET_SIZE(self.splices) // <int64_t> sizeof(Splice)):
                if not done <= splice[i].place <= size:
                    raise ValueError("an offset belongs behind the end of the row group's text")
                append(&out, text + done, splice[i].place - done)
                put_zigzag(&out, splice[i].offset)
                done = splice[i].place
            append(&out, text + done, size - done)
            if ordinal <= LAST_ORDINAL:
                put_number(&fields, 7, THRIFT_I16, ordinal)
            put_stop(&fields)
            return bytes_in(&out)
        finally:
            release(&out)


@final
cdef class RowGroupEncoder(PageEncoder):
    """Encodes row groups, whichever files they are of: it keeps the memory that all need."""

    cdef object shortened
    cdef object sink
    cdef object compress
    cdef object compress_long
    cdef Worth worth
    cdef int codec
    cdef int64_t position
    cdef Output pending
    cdef Output text
    cdef Output splices

    def __init__(self, shortened):
        self.shortened = shortened

    def __dealloc__(self):
        release(&self.pending)
        release(&self.text)
        release(&self.splices)

    def write(
        self,
        sink,
        Leaves leaves not None,
        Worth worth not None,
        int codec,
        compressors,
        int64_t position,
        int64_t rows,
        values,
    ):
        """Write a row group."""
        cdef Fields fields = Fields(&self.text, 0)
        cdef Written chunk
        cdef int64_t start = position
        cdef int64_t size = 0
        cdef int64_t compressed = 0
        cdef int place = 0
        self.sink, self.worth, self.codec, self.position = sink, worth, codec, position
        self.compress, self.compress_long = (None, None) if compressors is None else compressors
        self.pending.size = self.text.size = self.splices.size = 0
        try:
            put_list(&fields, 1, THRIFT_STRUCT, leaves.count)
            for one in values:
                if place == leaves.count:
                    raise ValueError(f"expected values of {leaves.count} leaves, found more")
                self.begin_leaf(&leaves.leaf[place], rows, one)
                self.write_chunk(place, &chunk)
                self.tell(leaves, &leaves.leaf[place], &chunk)
                self.end()
                size += chunk.size
                compressed += chunk.compressed
                place += 1
            if place < leaves.count:
                raise ValueError(f"expected values of {leaves.count} leaves, found {place}")
            self.send_pending()
            put_number(&fields, 2, THRIFT_I64, size)
            put_number(&fields, 3, THRIFT_I64, rows)
            self.put_offset(&fields, 5, start)
            put_number(&fields, 6, THRIFT_I64, compressed)
            return RowGroup(bytes_in(&self.text), bytes_in(&self.splices), rows, compressed)
        finally:
            self.end()
            self.sink = self.compress = self.compress_long = self.worth = None

    cdef int begin_leaf(self, const Leaf *leaf, int64_t rows, one) except -1:
        first, levels = 0, None
        if len(one) == FLAT:
            values, data, words, validity, _ = one
        else:
            first, values, data, words, validity, levels = one
        self.begin(
            leaf.form, leaf.width, rows, first, values, data, words, validity,
            leaf.is_optional, leaf.has_dictionary, levels, leaf.has_statistics,
        )
        return 0

    cdef int write_chunk(self, int leaf, Written *chunk) except -1:
        """Write the pages of a chunk, compressed where that is worth it."""
        cdef int64_t begun = self.position
        cdef bint is_tried
        chunk.size = chunk.pages = 0
        # One run of one word leaves nothing to compress.
        chunk.is_compressed = self.compress is not None and self.dictionary_words != 1 and self.worth.begin(leaf)
        chunk.has_dictionary = self.dictionary_page()
        chunk.dictionary_page = begun
        if chunk.has_dictionary:
            self.put_page(chunk, DICTIONARY_PAGE, self.compressed() if chunk.is_compressed else None)
        chunk.first_page = self.position
        # Of a chunk without a dictionary, the first page tells whether it is compressed.
        is_tried = chunk.is_compressed and not chunk.has_dictionary
        while self.data_page():
            page = self.compressed() if chunk.is_compressed else None
            if is_tried and not self.worth.saw(leaf, self.encoding, self.page_size(), len(page)):
                chunk.is_compressed, page = False, None
            is_tried = False
            self.put_page(chunk, DATA_PAGE, page)
            chunk.pages += 1
        chunk.compressed = self.position - begun
        if chunk.has_dictionary and chunk.is_compressed:
            self.worth.saw(leaf, self.encoding, chunk.size, chunk.compressed)
        return 0

    cdef object compressed(self):
        """The page compressed."""
        if self.long_data == NULL:
            return self.compress(self)
        return self.compress_long(self, self.long_bytes)

    cdef int64_t page_size(self) noexcept nogil:
        return self.page.size + self.long_size

    cdef int put_page(self, Written *chunk, int kind, page) except -1:
        """Write a page with its header: compressed as given, or as it is."""
        cdef int64_t size = self.page_size()
        cdef int64_t written = size if page is None else len(page)
        cdef int64_t before = self.pending.size
        cdef Fields fields = Fields(&self.pending, 0)
        put_number(&fields, 1, THRIFT_I32, kind)
        put_number(&fields, 2, THRIFT_I32, size)
        put_number(&fields, 3, THRIFT_I32, written)
        put_field(&fields, 5 if kind == DATA_PAGE else 7, THRIFT_STRUCT)
        fields.last = 0
        put_number(&fields, 1, THRIFT_I32, self.page_entries)
        put_number(&fields, 2, THRIFT_I32, self.encoding if kind == DATA_PAGE else ENCODING_PLAIN)
        if kind == DATA_PAGE:
            put_number(&fields, 3, THRIFT_I32, ENCODING_RLE)
            put_number(&fields, 4, THRIFT_I32, ENCODING_RLE)
        put_stop(&fields)
        put_stop(&fields)
        before = self.pending.size - before
        chunk.size += before + size
        self.position += before + written
        if page is not None:
            return self.put(page)
        self.put(self)
        if self.long_data != NULL:
            self.put(self.long_bytes)
        return 0

    cdef int put(self, data) except -1:
        """Write bytes behind those that wait; many go with them."""
        cdef const uint8_t[::1] view = data
        if view.shape[0] > TOGETHER:
            self.send_pending()
            self.sink(data)
            return 0
        if view.shape[0]:
            append(&self.pending, &view[0], view.shape[0])
        if self.pending.size > TOGETHER:
            self.send_pending()
        return 0

    cdef int send_pending(self) except -1:
        if self.pending.size:
            self.sink(PyMemoryView_FromMemory(<char *> self.pending.data, self.pending.size, PyBUF_READ))
            self.pending.size = 0
        return 0

    cdef int tell(self, Leaves leaves, const Leaf *leaf, const Written *chunk) except -1:
        """What the footer says of a chunk."""
        cdef Output *text = &self.text
        cdef Fields fields = Fields(text, 0)
        put_number(&fields, 2, THRIFT_I64, 0)
        put_field(&fields, 3, THRIFT_STRUCT)
        fields.last = 0
        put_number(&fields, 1, THRIFT_I32, leaf.physical)
        self.put_encodings(&fields, chunk.has_dictionary)
        append(text, <const uint8_t *> PyBytes_AS_STRING(leaves.paths) + leaf.path, leaf.path_size)
        fields.last = 3
        put_number(&fields, 4, THRIFT_I32, self.codec if chunk.is_compressed else UNCOMPRESSED)
        put_number(&fields, 5, THRIFT_I64, self.entries)
        put_number(&fields, 6, THRIFT_I64, chunk.size)
        put_number(&fields, 7, THRIFT_I64, chunk.compressed)
        self.put_offset(&fields, 9, chunk.first_page)
        if chunk.has_dictionary:
            self.put_offset(&fields, 11, chunk.dictionary_page)
        if leaf.has_statistics:
            put_field(&fields, 12, THRIFT_STRUCT)
            self.put_statistics(leaf)
        put_list(&fields, 13, THRIFT_STRUCT, 1 + chunk.has_dictionary)
        if chunk.has_dictionary:
            put_page_count(text, DICTIONARY_PAGE, ENCODING_PLAIN, 1)
        put_page_count(text, DATA_PAGE, self.encoding, chunk.pages)
        put_stop(&fields)
        return put_stop(&fields)

    cdef int put_encodings(self, Fields *fields, bint has_dictionary) except -1:
        """The encodings of a chunk's pages and levels, each once, in the order of their numbers."""
        cdef bint is_plain = has_dictionary or self.encoding == ENCODING_PLAIN
        put_list(fields, 2, THRIFT_I32, 1 + is_plain + (self.encoding != ENCODING_PLAIN))
        if is_plain:
            put_zigzag(fields.out, ENCODING_PLAIN)
        put_zigzag(fields.out, ENCODING_RLE)
        if self.encoding != ENCODING_PLAIN:
            put_zigzag(fields.out, self.encoding)
        return 0

    cdef int put_offset(self, Fields *fields, int number, int64_t offset) except -1:
        """The head of an offset, which is put in when the file is known to stay where it is."""
        cdef Splice splice
        put_field(fields, number, THRIFT_I64)
        splice.place, splice.offset = fields.out.size, offset
        return append(&self.splices, &splice, sizeof(Splice))

    cdef int put_statistics(self, const Leaf *leaf) except -1:
        cdef Bounds bounds
        cdef Fields fields = Fields(&self.text, 0)
        cdef bint has_least = self.take_bounds(&bounds)
        cdef bint has_largest = has_least
        cdef bint is_least = True
        cdef bint is_largest = True
        if has_least and leaf.form == FORM_BYTES and max(bounds.least_size, bounds.largest_size) > BOUND_BYTES:
            least, largest, (is_least, is_largest) = self.shortened(
                bounds.least[: bounds.least_size], bounds.largest[: bounds.largest_size], is_text=leaf.is_text
            )
            has_largest = largest is not None
            take_bytes(&bounds.least, &bounds.least_size, least)
            if has_largest:
                take_bytes(&bounds.largest, &bounds.largest_size, largest)
        # Older readers compare values as signed ones.
        if leaf.form not in (FORM_UINT16, FORM_UINT32, FORM_UINT64, FORM_BYTES, FORM_WORDS):
            if has_largest:
                put_binary(&fields, 1, bounds.largest, bounds.largest_size)
            if has_least:
                put_binary(&fields, 2, bounds.least, bounds.least_size)
        put_number(&fields, 3, THRIFT_I64, self.entries - self.values)
        if has_largest:
            put_binary(&fields, 5, bounds.largest, bounds.largest_size)
        if has_least:
            put_binary(&fields, 6, bounds.least, bounds.least_size)
            put_flag(&fields, 7, is_largest)
            put_flag(&fields, 8, is_least)
        return put_stop(&fields)


cdef int take_bytes(const uint8_t **data, int64_t *size, bytes value) except -1:
    data[0], size[0] = <const uint8_t *> PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
    return 0


cdef int put_page_count(Output *text, int kind, int encoding, int64_t pages) except -1:
    """How many pages of a kind and an encoding a chunk has."""
    cdef Fields fields = Fields(text, 0)
    put_number(&fields, 1, THRIFT_I32, kind)
    put_number(&fields, 2, THRIFT_I32, encoding)
    put_number(&fields, 3, THRIFT_I32, pages)
    return put_stop(&fields)
