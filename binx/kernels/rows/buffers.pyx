# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The Arrow buffers of one table's rows: growing, taken back to a row, and handed over when a batch is full.

Fixed-width columns are arrays of their Arrow width; columns of bytes have 32-bit offsets and data; validity bitmaps
exist from a column's first null on.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from binx.kernels.json.diffs cimport release_patch
from binx.kernels.rows.layouts cimport bit_at
from binx.kernels.memory cimport Memory, hand_over
from binx.kernels.output cimport Output, release, reserve, with_slack
from binx.kernels.rows.decimal cimport check_decimal, decimal_size
from binx.kernels.rows.fast_values cimport choose_way

from binx.errors import UnsupportedError

ITEM_SIZES = {
    CODEC_NULL: 1,
    CODEC_COPY1: 1,
    CODEC_COPY2: 2,
    CODEC_COPY4: 4,
    CODEC_COPY8: 8,
    CODEC_UINT8: 2,
    CODEC_UINT16: 4,
    CODEC_INT24: 4,
    CODEC_UINT24: 4,
    CODEC_UINT32: 8,
    CODEC_UINT64_DECIMAL: 16,
    CODEC_DECIMAL: 16,
    CODEC_DECIMAL_TEXT: OFFSET_SIZE,
    CODEC_BITS: 8,
    CODEC_BOOL: 1,
    CODEC_YEAR: 2,
    CODEC_DATE: 4,
    CODEC_DATETIME: 8,
    CODEC_OLD_DATETIME: 8,
    CODEC_TIMESTAMP: 8,
    CODEC_OLD_TIMESTAMP: 8,
    CODEC_TIME: 8,
    CODEC_OLD_TIME: 8,
    CODEC_ENUM: 4,
    CODEC_ENUM_NUMBER: 2,
    CODEC_SET: 8,
    CODEC_BYTES: OFFSET_SIZE,
    CODEC_PADDED: OFFSET_SIZE,
    CODEC_JSON: OFFSET_SIZE,
    CODEC_GEOMETRY: OFFSET_SIZE,
}
"""Bytes of one value in a column's first buffer."""


STORED_WIDTHS = {
    CODEC_NULL: (0, 0),
    CODEC_COPY1: (1, 1),
    CODEC_COPY2: (2, 2),
    CODEC_COPY4: (4, 4),
    CODEC_COPY8: (8, 8),
    CODEC_UINT8: (1, 1),
    CODEC_UINT16: (2, 2),
    CODEC_INT24: (3, 3),
    CODEC_UINT24: (3, 3),
    CODEC_UINT32: (4, 4),
    CODEC_UINT64_DECIMAL: (8, 8),
    CODEC_BITS: (1, 8),
    CODEC_BOOL: (1, 1),
    CODEC_YEAR: (1, 1),
    CODEC_DATE: (3, 3),
    CODEC_OLD_DATETIME: (6, 8),
    CODEC_OLD_TIMESTAMP: (4, 7),
    CODEC_OLD_TIME: (3, 6),
    CODEC_ENUM: (1, 2),
    CODEC_ENUM_NUMBER: (1, 2),
    CODEC_SET: (1, 8),
}
"""Fewest and most bytes of a value in a row image, for codecs of fixed width."""

WIDTHS_BEFORE_FRACTION = {CODEC_DATETIME: 5, CODEC_TIMESTAMP: 4, CODEC_TIME: 3}
"""Bytes of a time without its second's fraction."""


cdef int item_size(int codec) except -1:
    """Bytes of one value in the first buffer of a column."""
    return ITEM_SIZES[codec]


cdef bint fits(int codec, int prefix, int width, int parameter) except -1:
    """Whether a column that is stored so can be read by the codec: what it copies must be what was taken."""
    if codec in WIDTHS_BEFORE_FRACTION:
        least = most = WIDTHS_BEFORE_FRACTION[codec] + (parameter + 1) // 2
        return prefix == 0 and width == least and 0 <= parameter <= 6
    if codec == CODEC_DECIMAL or codec == CODEC_DECIMAL_TEXT:
        check_decimal(parameter >> 8, parameter & 255)
        return prefix == 0 and width == decimal_size(parameter >> 8, parameter & 255)
    if codec in STORED_WIDTHS:
        least, most = STORED_WIDTHS[codec]
        return prefix == 0 and least <= width <= most
    return 1 <= prefix <= 4


cdef int check_fit(int place, int codec, int prefix, int width, int parameter) except -1:
    """Refuse a column whose values are not stored as its codec reads them."""
    if not fits(codec, prefix, width, parameter):
        raise UnsupportedError(
            f"column {place + 1} is stored in {width} bytes behind a length of {prefix} bytes, which does not"
            f" fit its type ({Codec(codec).name.removeprefix('CODEC_')})",
            event="TABLE_MAP",
        )
    return 0


cdef class RowBuffers:
    """The columns of one table.

    Args:
        plan: for each column: codec, bytes of the length prefix (0: fixed width), width, parameter. The
            parameter is precision << 8 | scale for DECIMAL, fractional digits for times, the padded length for
            BINARY, the number of members for ENUM.
        key: whatever the caller knows the table by.
    """

    def __cinit__(self, list plan, object key):
        cdef Column *column
        self.columns = len(plan)
        self.key = key
        self.last_ordinal = -1
        self.column = <Column *> calloc(self.columns + 1, sizeof(Column))
        if self.column == NULL:
            raise MemoryError
        self.row_bytes = 57
        for i, (codec, prefix, width, parameter) in enumerate(plan):
            check_fit(i, codec, prefix, width, parameter)
            column = &self.column[i]
            column.codec = codec
            column.prefix = prefix
            column.width = width
            column.parameter = parameter
            column.item = item_size(codec)
            choose_way(column)
            self.row_bytes += column.item + 1

    def __dealloc__(self):
        cdef int32_t i
        if self.column != NULL:
            for i in range(self.columns):
                release(&self.column[i].values)
                release(&self.column[i].data)
                release(&self.column[i].extra)
                release(&self.column[i].validity)
            free(self.column)
        release(&self.change_types)
        release(&self.commit_versions)
        release(&self.commit_timestamps)
        release(&self.row_numbers)
        release(&self.transactions)
        release(&self.event_timestamps)
        release(&self.positions)
        release(&self.statements)
        release(&self.present_offsets)
        release(&self.present_bits)
        release(&self.present_validity)
        release(&self.id_offsets)
        release(&self.id_text)
        release(&self.misfits)
        release(&self.misfit_text)
        release(&self.differences)
        release(&self.difference_text)
        release(&self.bits)
        release_patch(&self.patch)

    @property
    def bytes(self):
        """Bytes that the rows take, nearly."""
        return self.bytes_held()

    cdef int grow(self) except -1 nogil:
        """Make room for twice as many rows in every fixed-width buffer."""
        cdef int64_t capacity = self.capacity * 2 if self.capacity else with_slack(self.rows_before)
        cdef int32_t i
        cdef Column *column
        for i in range(self.columns):
            column = &self.column[i]
            # One value more: offsets have an end behind the last row.
            self.keep(&column.values, (self.rows + 1) * column.item if self.capacity else 0, (capacity + 1) * column.item)
            if self.capacity == 0:
                memset(column.values.data, 0, column.item)
            if column.validity.data != NULL:
                widen_validity(&column.validity, capacity)
        self.keep(&self.change_types, self.rows, capacity)
        self.keep(&self.commit_versions, self.rows * 8, capacity * 8)
        self.keep(&self.commit_timestamps, self.rows * 8, capacity * 8)
        self.keep(&self.row_numbers, self.rows * 8, capacity * 8)
        self.keep(&self.transactions, self.rows * 4, capacity * 4)
        self.keep(&self.event_timestamps, self.rows * 8, capacity * 8)
        self.keep(&self.positions, self.rows * 8, capacity * 8)
        self.keep(&self.statements, self.rows * 4, capacity * 4)
        if self.present_offsets.data != NULL:
            self.keep(&self.present_offsets, (self.rows + 1) * 4, (capacity + 1) * 4)
            widen_validity(&self.present_validity, capacity)
        self.capacity = capacity
        return 0

    cdef int keep(self, Output *output, int64_t held, int64_t size) except -1 nogil:
        """Make a buffer hold ``size`` bytes of which the first ``held`` are kept; what is behind them is written later."""
        output.size = held
        return reserve(output, size - held)

    cdef int rewind(self, int64_t rows, int64_t variable_bytes) except -1 nogil:
        """Forget all behind the first ``rows`` rows, the one that was begun and not ended included.

        ``variable_bytes`` is what was held beside the fixed widths when there were so many rows.
        """
        cdef int64_t last = self.rows if self.rows < self.capacity else self.capacity - 1
        cdef int64_t row
        cdef int32_t i
        cdef Column *column
        if self.capacity == 0:
            return 0
        for i in range(self.columns):
            column = &self.column[i]
            if column.validity.data != NULL:
                for row in range(rows, last + 1):
                    if not bit_at(column.validity.data, <int32_t> row):
                        column.validity.data[row >> 3] |= 1 << (row & 7)
                        column.nulls -= 1
            if column.codec >= CODEC_BYTES or column.codec == CODEC_DECIMAL_TEXT:
                column.data.size = (<int32_t *> column.values.data)[rows]
            if column.codec == CODEC_GEOMETRY:
                column.extra.size = rows * 4
        if self.present_offsets.data != NULL:
            for row in range(rows, self.rows):
                self.partial_rows -= bit_at(self.present_validity.data, <int32_t> row)
            self.present_bits.size = (<int32_t *> self.present_offsets.data)[rows]
        forget(&self.misfits, &self.misfit_text, rows)
        forget(&self.differences, &self.difference_text, rows)
        self.variable_bytes = variable_bytes
        self.rows = rows
        return 0

    def finish(self):
        """Hand all rows over and start anew.

        Returns a dict: ``rows``; the system columns by name, each memory of one value a row; ``present``:
        (validity, offsets, bits, nulls) or None where every row is whole; ``identifiers``: (offsets, text, count), which
        ``transactions`` numbers; ``columns``: for each column (validity or None, nulls, values, data, extra);
        ``misfits`` and ``differences`` (partial JSON): lists of (row, column, text); ``typed_documents``: how many JSON
        documents have values whose SQL types their text does not tell.
        """
        cdef int32_t i
        cdef int64_t rows = self.rows
        cdef Column *column
        columns = []
        for i in range(self.columns):
            column = &self.column[i]
            validity = hand_over(&column.validity, (rows + 7) >> 3) if column.nulls else None
            offsets = has_offsets(column.codec)
            columns.append((
                validity,
                column.nulls,
                hand_over(&column.values, (rows + offsets) * column.item),
                hand_over(&column.data, column.data.size) if offsets else None,
                hand_over(&column.extra, column.extra.size) if column.codec == CODEC_GEOMETRY else None,
            ))
            release(&column.validity)
            column.nulls = 0
        result = {
            "rows": rows,
            "change_type": hand_over(&self.change_types, rows),
            "commit_version": hand_over(&self.commit_versions, rows * 8),
            "commit_timestamp": hand_over(&self.commit_timestamps, rows * 8),
            "row": hand_over(&self.row_numbers, rows * 8),
            "transaction": hand_over(&self.transactions, rows * 4),
            "event_timestamp": hand_over(&self.event_timestamps, rows * 8),
            "position": hand_over(&self.positions, rows * 8),
            "statement": hand_over(&self.statements, rows * 4),
            "present": None,
            "identifiers": (
                hand_over(&self.id_offsets, self.id_offsets.size),
                hand_over(&self.id_text, self.id_text.size),
                self.ids,
            ),
            "columns": columns,
            "misfits": taken(&self.misfits, &self.misfit_text),
            "differences": taken(&self.differences, &self.difference_text),
            "typed_documents": self.typed_documents,
        }
        if self.present_offsets.data != NULL:
            result["present"] = (
                hand_over(&self.present_validity, (rows + 7) >> 3),
                hand_over(&self.present_offsets, (rows + 1) * OFFSET_SIZE),
                hand_over(&self.present_bits, self.present_bits.size),
                rows - self.partial_rows,
            )
        # A table that has filled a batch will fill the next one: it gets its memory at once, and copies nothing.
        self.rows_before = rows
        self.rows = 0
        self.capacity = 0
        self.variable_bytes = 0
        self.partial_rows = 0
        self.typed_documents = 0
        self.ids = 0
        self.last_ordinal = -1
        return result


cdef void forget(Output *places, Output *text, int64_t rows) noexcept nogil:
    """Take back texts that belong to values behind the first ``rows`` rows."""
    cdef Misfit *place
    while places.size:
        place = (<Misfit *> (places.data + places.size)) - 1
        if place.row < rows:
            # A text that was begun when the error came has no place yet.
            text.size = place.start + place.size
            return
        places.size -= <int64_t> sizeof(Misfit)
    text.size = 0


cdef list taken(Output *places, Output *text):
    """Texts that belong to single values, as (row, column, text); both buffers are emptied."""
    cdef int64_t i
    cdef Misfit *place
    result = []
    for i in range(places.size // <int64_t> sizeof(Misfit)):
        place = (<Misfit *> places.data) + i
        result.append((place.row, place.column, text.data[place.start : place.start + place.size].decode()))
    release(places)
    release(text)
    return result


cdef int widen_validity(Output *validity, int64_t rows) except -1 nogil:
    """Make a bitmap hold ``rows`` bits; new ones say that the value is there."""
    cdef int64_t size = (rows + 7) >> 3
    cdef int64_t held = validity.size
    if size > held:
        reserve(validity, size - held)
        memset(validity.data + held, 0xFF, size - held)
        validity.size = size
    return 0
