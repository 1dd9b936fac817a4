# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Row images decoded straight into Arrow's buffers.

A :class:`RowBuilder` holds the columns of one table while rows arrive, image by
image, and hands its memory over when a batch is full. Fixed-width columns are
arrays of their Arrow width; columns of bytes have 32-bit offsets and data;
validity bitmaps exist from a column's first null on.

What needs more than the bytes (character sets, names of ENUM and SET members) is
done afterwards for the whole column, see ``binx/rows/arrays.py``.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from binx.kernels.codecs cimport *
from binx.kernels.cursor cimport Cursor, cursor_over, little, take
from binx.kernels.json_diff cimport apply_diff, release_patch, render_diff
from binx.kernels.layouts cimport bit_at
from binx.kernels.memory cimport Memory, hand_over
from binx.kernels.output cimport Output, append, release, reserve
from binx.kernels.temporal cimport TEXT_SIZE
from binx.kernels.values cimport DATA_MAXIMUM, Column, copy_bytes, copy_value, decode_value, is_copied, too_large

cdef enum:
    FIRST_CAPACITY = 8

cdef class RowBuilder:
    """The columns of one table, being filled.

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
        self.first_capacity = FIRST_CAPACITY
        self.column = <Column *> calloc(self.columns + 1, sizeof(Column))
        if self.column == NULL:
            raise MemoryError
        self.row_bytes = 53
        for i, (codec, prefix, width, parameter) in enumerate(plan):
            check_fit(i, codec, prefix, width, parameter)
            column = &self.column[i]
            column.codec = codec
            column.prefix = prefix
            column.width = width
            column.parameter = parameter
            column.item = item_size(codec)
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

    cdef int64_t bytes_held(self) noexcept nogil:
        return self.rows * self.row_bytes + self.variable_bytes

    @property
    def bytes(self):
        """Bytes that the rows take, nearly."""
        return self.bytes_held()

    cdef int grow(self) except -1 nogil:
        """Make room for twice as many rows in every fixed-width buffer."""
        cdef int64_t capacity = self.capacity * 2 if self.capacity else self.first_capacity
        cdef int32_t i
        cdef Column *column
        for i in range(self.columns):
            column = &self.column[i]
            # One value more: offsets have an end behind the last row.
            reserve_keeping(&column.values, (self.rows + 1) * column.item if self.capacity else 0, (capacity + 1) * column.item)
            if self.capacity == 0:
                memset(column.values.data, 0, column.item)
            if column.validity.data != NULL:
                widen_validity(&column.validity, capacity)
        reserve_keeping(&self.change_types, self.rows, capacity)
        reserve_keeping(&self.commit_versions, self.rows * 8, capacity * 8)
        reserve_keeping(&self.commit_timestamps, self.rows * 8, capacity * 8)
        reserve_keeping(&self.row_numbers, self.rows * 8, capacity * 8)
        reserve_keeping(&self.transactions, self.rows * 4, capacity * 4)
        reserve_keeping(&self.event_timestamps, self.rows * 8, capacity * 8)
        reserve_keeping(&self.positions, self.rows * 8, capacity * 8)
        if self.present_offsets.data != NULL:
            reserve_keeping(&self.present_offsets, (self.rows + 1) * 4, (capacity + 1) * 4)
            widen_validity(&self.present_validity, capacity)
        self.capacity = capacity
        return 0

    cdef int begin_row(self, int64_t ordinal, const uint8_t *identifier, int64_t identifier_size) except -1 nogil:
        """Make room for a row, and for its transaction's identifier where it is the transaction's first."""
        cdef int32_t end
        if self.rows == self.capacity:
            self.grow()
        if ordinal != self.last_ordinal:
            if self.ids == 0:
                end = 0
                append(&self.id_offsets, &end, OFFSET_SIZE)
            append(&self.id_text, identifier, identifier_size)
            end = <int32_t> self.id_text.size
            append(&self.id_offsets, &end, OFFSET_SIZE)
            self.ids += 1
            self.last_ordinal = ordinal
            self.variable_bytes += identifier_size + OFFSET_SIZE
        return 0

    cdef int end_row(
        self, uint8_t change, int64_t version, int64_t committed, int64_t number, int64_t logged, int64_t position
    ) except -1 nogil:
        """Write the system columns of the row whose image was appended, and count it."""
        cdef int64_t row = self.rows
        self.change_types.data[row] = change
        (<int64_t *> self.commit_versions.data)[row] = version
        (<int64_t *> self.commit_timestamps.data)[row] = committed
        (<int64_t *> self.row_numbers.data)[row] = number
        (<int32_t *> self.transactions.data)[row] = self.ids - 1
        (<int64_t *> self.event_timestamps.data)[row] = logged
        (<int64_t *> self.positions.data)[row] = position
        if self.absent:
            self.end_present_bits()
        elif self.present_offsets.data != NULL:
            self.present_validity.data[row >> 3] &= ~(1 << (row & 7))
            (<int32_t *> self.present_offsets.data)[row + 1] = <int32_t> self.present_bits.size
        self.rows += 1
        return 0

    cdef int end_present_bits(self) except -1 nogil:
        """Write which columns the row has; all rows before the first that lacks one are null here."""
        cdef int64_t row = self.rows
        if self.present_offsets.data == NULL:
            reserve(&self.present_offsets, (self.capacity + 1) * OFFSET_SIZE)
            memset(self.present_offsets.data, 0, (row + 1) * OFFSET_SIZE)
            widen_validity(&self.present_validity, self.capacity)
            memset(self.present_validity.data, 0, (row + 7) >> 3)
        append(&self.present_bits, self.bits.data, self.bits.size)
        self.present_validity.data[row >> 3] |= 1 << (row & 7)
        (<int32_t *> self.present_offsets.data)[row + 1] = <int32_t> self.present_bits.size
        self.partial_rows += 1
        self.variable_bytes += self.bits.size
        return 0

    cdef int append_image(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil:
        """Decode one row image into the next row; the row counts only once ``end_row`` was called."""
        cdef const uint8_t *nulls = take(image, (present_count + 7) >> 3)
        cdef int32_t nth = 0
        cdef int32_t nth_json = 0
        cdef int32_t i
        cdef Column *column
        self.absent = present_count != self.columns
        if not self.absent and partial == NULL:
            for i in range(self.columns):
                column = &self.column[i]
                if bit_at(nulls, i):
                    self.append_null(column)
                elif is_copied(column):
                    copy_value(image, column, self.rows)
                elif column.codec == CODEC_BYTES and column.prefix:
                    self.variable_bytes += copy_bytes(image, column, self.rows)
                else:
                    self.append_value(image, i, column)
            return 0
        self.bits.size = 0
        append(&self.bits, present, (self.columns + 7) >> 3)
        if self.columns & 7:
            self.bits.data[self.bits.size - 1] &= (1 << (self.columns & 7)) - 1
        for i in range(self.columns):
            column = &self.column[i]
            if bit_at(present, i):
                if bit_at(nulls, nth):
                    self.append_null(column)
                elif partial != NULL and column.codec == CODEC_JSON and bit_at(partial, nth_json):
                    self.append_difference(image, i, column)
                else:
                    self.append_value(image, i, column)
                nth += 1
            else:
                self.append_null(column)
            nth_json += column.codec == CODEC_JSON
        return 0

    cdef int append_difference(self, Cursor *image, int32_t index, Column *column) except -1 nogil:
        """Take a JSON value that is logged as changes: apply them to the document of the image before.

        Where that lacks the document, the changes are kept and the column counts as absent.
        """
        cdef int64_t size = <int64_t> little(take(image, column.prefix), column.prefix)
        cdef Cursor changes = cursor_over(take(image, size), size, image.origin + image.position - size)
        cdef int64_t held = column.data.size
        if column.document.base == NULL or not apply_diff(
            &self.patch, &column.document, &changes, &column.data
        ):
            return self.keep_difference(&changes, index, column)
        if column.data.size > DATA_MAXIMUM:
            too_large(image)
        self.variable_bytes += column.data.size - held
        (<int32_t *> column.values.data)[self.rows + 1] = <int32_t> column.data.size
        return 0

    cdef int keep_difference(self, Cursor *changes, int32_t index, Column *column) except -1 nogil:
        cdef Misfit difference
        difference.row = self.rows
        difference.column = index
        difference.start = self.difference_text.size
        render_diff(changes, &self.difference_text)
        difference.size = <int32_t> (self.difference_text.size - difference.start)
        append(&self.differences, &difference, sizeof(Misfit))
        self.variable_bytes += difference.size + <int64_t> sizeof(Misfit)
        self.bits.data[index >> 3] &= ~(1 << (index & 7))
        self.absent = True
        return self.append_null(column)

    cdef int append_null(self, Column *column) except -1 nogil:
        cdef int64_t row = self.rows
        column.document.base = NULL
        if column.validity.data == NULL:
            widen_validity(&column.validity, self.capacity)
        column.validity.data[row >> 3] &= ~(1 << (row & 7))
        column.nulls += 1
        if column.codec >= CODEC_BYTES or column.codec == CODEC_DECIMAL_TEXT:
            (<int32_t *> column.values.data)[row + 1] = <int32_t> column.data.size
            if column.codec == CODEC_GEOMETRY:
                append(&column.extra, b"\0\0\0\0", 4)
        else:
            memset(column.values.data + row * column.item, 0, column.item)
        return 0

    cdef int misfit(self, int32_t column, const char *text, int64_t size) except -1 nogil:
        """Make the value null, and keep what the server prints for it."""
        cdef Misfit misfit
        self.append_null(&self.column[column])
        misfit.row = self.rows
        misfit.column = column
        misfit.size = <int32_t> size
        misfit.start = self.misfit_text.size
        append(&self.misfit_text, text, size)
        append(&self.misfits, &misfit, sizeof(Misfit))
        self.variable_bytes += size + <int64_t> sizeof(Misfit)
        return 0

    cdef int append_value(self, Cursor *image, int32_t index, Column *column) except -1 nogil:
        """Decode a value that is neither absent nor null."""
        cdef char text[TEXT_SIZE]
        cdef int text_size = 0
        cdef int64_t held = column.data.size
        decode_value(image, column, self.rows, text, &text_size)
        self.variable_bytes += column.data.size - held
        if text_size:
            return self.misfit(index, text, text_size)
        if column.codec == CODEC_NULL:
            return self.append_null(column)
        return 0

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
        ``misfits`` and ``differences`` (partial JSON): lists of (row, column, text).
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
            "present": None,
            "identifiers": (
                hand_over(&self.id_offsets, self.id_offsets.size),
                hand_over(&self.id_text, self.id_text.size),
                self.ids,
            ),
            "columns": columns,
            "misfits": taken(&self.misfits, &self.misfit_text),
            "differences": taken(&self.differences, &self.difference_text),
        }
        if self.present_offsets.data != NULL:
            result["present"] = (
                hand_over(&self.present_validity, (rows + 7) >> 3),
                hand_over(&self.present_offsets, (rows + 1) * OFFSET_SIZE),
                hand_over(&self.present_bits, self.present_bits.size),
                rows - self.partial_rows,
            )
        # A table that filled a batch will fill the next one: it gets its memory at once, and copies nothing.
        self.first_capacity = self.capacity if rows > self.capacity // 2 else FIRST_CAPACITY
        self.rows = 0
        self.capacity = 0
        self.variable_bytes = 0
        self.partial_rows = 0
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


cdef int reserve_keeping(Output *output, int64_t held, int64_t size) except -1 nogil:
    """Make the buffer hold ``size`` bytes of which the first ``held`` are kept; what is behind them is written later."""
    output.size = held
    reserve(output, size - held)
    return 0


cdef int widen_validity(Output *validity, int64_t rows) except -1 nogil:
    """Make a bitmap hold ``rows`` bits; new ones say that the value is there."""
    cdef int64_t size = (rows + 7) >> 3
    cdef int64_t held = validity.size
    if size > held:
        reserve(validity, size - held)
        memset(validity.data + held, 0xFF, size - held)
        validity.size = size
    return 0
