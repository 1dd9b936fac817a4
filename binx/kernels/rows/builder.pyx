# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Decode row images directly into Arrow buffers.

Fixed-width columns are arrays of their Arrow width; columns of bytes have 32-bit offsets and data; a validity bitmap
is allocated at a column's first null. Conversions that need more than the bytes (character sets, names of ENUM and SET
members) are done afterwards for the whole column, see ``binx/rows/columns/arrays.py``.
"""

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from binx.kernels.bitmaps cimport bit_at, clear_bit, set_bit, widen_validity
from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take
from binx.kernels.json.diffs cimport apply_diff, release_patch, render_diff
from binx.kernels.memory cimport hand_over
from binx.kernels.output cimport OFFSET_MAXIMUM, append, release, resize, with_slack
from binx.kernels.rows.counting cimport RowsEvent, check_progress, open_after_image
from binx.kernels.rows.decimal cimport check_decimal, decimal_size
from binx.kernels.rows.layouts cimport TableLayout
from binx.kernels.rows.notes cimport add_note, drop_notes, release_notes, take_notes
from binx.kernels.rows.present cimport *
from binx.kernels.rows.system cimport *
from binx.kernels.rows.temporal cimport TEXT_SIZE
from binx.kernels.rows.values cimport decode_common, decode_rare, prepare, too_large

from binx.errors import UnsupportedError

# Bytes per value in the first buffer, and minimum and maximum bytes of a value in a row image.
FIXED_WIDTHS = {
    CODEC_NULL: (1, 0, 0),
    CODEC_COPY1: (1, 1, 1),
    CODEC_COPY2: (2, 2, 2),
    CODEC_COPY4: (4, 4, 4),
    CODEC_COPY8: (8, 8, 8),
    CODEC_UINT8: (2, 1, 1),
    CODEC_UINT16: (4, 2, 2),
    CODEC_INT24: (4, 3, 3),
    CODEC_UINT24: (4, 3, 3),
    CODEC_UINT32: (8, 4, 4),
    CODEC_UINT64_DECIMAL: (16, 8, 8),
    CODEC_BITS: (8, 1, 8),
    CODEC_BOOL: (1, 1, 1),
    CODEC_YEAR: (2, 1, 1),
    CODEC_DATE: (4, 3, 3),
    CODEC_OLD_DATETIME: (8, 6, 8),
    CODEC_OLD_TIMESTAMP: (8, 4, 7),
    CODEC_OLD_TIME: (8, 3, 6),
    CODEC_ENUM: (4, 1, 2),
    CODEC_ENUM_NUMBER: (2, 1, 2),
    CODEC_SET: (8, 1, 8),
}

# Bytes of a temporal value without fractional seconds.
TIMES = {CODEC_DATETIME: 5, CODEC_TIMESTAMP: 4, CODEC_TIME: 3}

SYSTEM_NAMES = (
    "change_type", "commit_version", "commit_timestamp", "row", "transaction", "event_timestamp", "position", "statement",
    "flags",
)


cdef int item_size(int index, int codec, int prefix, int width, int parameter) except -1:
    """Return the bytes per value in a column's first buffer; UnsupportedError if the width does not fit the codec."""
    cdef bint fits
    cdef int item
    if codec in TIMES:
        item = 8
        fits = prefix == 0 and 0 <= parameter <= 6 and width == TIMES[codec] + (parameter + 1) // 2
    elif codec == CODEC_DECIMAL or codec == CODEC_DECIMAL_TEXT:
        check_decimal(parameter >> 8, parameter & 255)
        item = 16 if codec == CODEC_DECIMAL else OFFSET_SIZE
        fits = prefix == 0 and width == decimal_size(parameter >> 8, parameter & 255)
    elif codec in FIXED_WIDTHS:
        item, narrowest, widest = FIXED_WIDTHS[codec]
        fits = prefix == 0 and narrowest <= width <= widest
    else:
        item = OFFSET_SIZE
        fits = 1 <= prefix <= 4
    if not fits:
        raise UnsupportedError(
            f"column {index + 1} is stored in {width} bytes behind a length of {prefix} bytes, which does not"
            f" fit its type ({Codec(codec).name.removeprefix('CODEC_')})",
            event="TABLE_MAP",
        )
    return item


@final
cdef class RowBuilder:
    def __cinit__(self, list plan, object key):
        cdef Column *column
        cdef int32_t json_columns = 0
        self.columns = len(plan)
        self.key = key
        self.last_ordinal = -1
        self.column = <Column *> calloc(self.columns + 1, sizeof(Column))
        if self.column == NULL:
            raise MemoryError
        self.row_bytes = 58
        for i, (codec, prefix, width, parameter) in enumerate(plan):
            column = &self.column[i]
            column.item = item_size(i, codec, prefix, width, parameter)
            column.codec = codec
            column.prefix = prefix
            column.width = width
            column.parameter = parameter
            column.json_index = json_columns
            json_columns += codec == CODEC_JSON
            prepare(column)
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
        for i in range(SYSTEM_COLUMNS):
            release(&self.system[i])
        release(&self.id_offsets)
        release(&self.id_text)
        release_present(&self.present)
        release_notes(&self.misfits)
        release_notes(&self.differences)
        release_patch(&self.patch)

    @property
    def bytes(self):
        return self.bytes_held()

    cdef int grow(self) except -1 nogil:
        """Make room for twice as many rows in every fixed-width buffer."""
        cdef int64_t capacity = self.capacity * 2 if self.capacity else with_slack(self.rows_before)
        cdef int32_t i
        cdef Column *column
        for i in range(self.columns):
            column = &self.column[i]
            # One more value: offsets include the end of the last row.
            resize(&column.values, (self.rows + 1) * column.item if self.capacity else 0, (capacity + 1) * column.item)
            if self.capacity == 0:
                memset(column.values.data, 0, column.item)
            if column.validity.data != NULL:
                widen_validity(&column.validity, capacity)
        for i in range(SYSTEM_COLUMNS):
            resize(&self.system[i], self.rows * system_width(i), capacity * system_width(i))
        widen_present(&self.present, self.rows, capacity)
        self.capacity = capacity
        return 0

    cdef int rewind(self, int64_t rows, int64_t variable_bytes) except -1 nogil:
        """Discard everything after the first ``rows`` rows, including an unfinished row.

        ``variable_bytes`` is the attribute's value from when there were as many rows.
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
                    if not bit_at(column.validity.data, row):
                        set_bit(column.validity.data, row)
                        column.nulls -= 1
            if has_offsets(column.codec):
                column.data.size = (<int32_t *> column.values.data)[rows]
            if column.codec == CODEC_GEOMETRY:
                column.extra.size = rows * 4
        drop_present(&self.present, rows, self.rows)
        drop_notes(&self.misfits, rows)
        drop_notes(&self.differences, rows)
        self.variable_bytes = variable_bytes
        self.rows = rows
        return 0

    def finish(self):
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
        result = {name: hand_over(&self.system[i], rows * system_width(i)) for i, name in enumerate(SYSTEM_NAMES)}
        result |= {
            "rows": rows,
            "present": None,
            "identifiers": (
                hand_over(&self.id_offsets, self.id_offsets.size),
                hand_over(&self.id_text, self.id_text.size),
                self.ids,
            ),
            "columns": columns,
            "misfits": take_notes(&self.misfits),
            "differences": take_notes(&self.differences),
            "typed_documents": self.typed_documents,
        }
        if self.present.offsets.data != NULL:
            result["present"] = (
                hand_over(&self.present.validity, (rows + 7) >> 3),
                hand_over(&self.present.offsets, (rows + 1) * OFFSET_SIZE),
                hand_over(&self.present.bits, self.present.bits.size),
                rows - self.present.partial_rows,
            )
        # A table that filled a batch fills the next one: allocating as much at once avoids copies.
        self.rows_before = rows
        self.rows = self.capacity = self.variable_bytes = self.present.partial_rows = self.typed_documents = 0
        self.ids = 0
        self.last_ordinal = -1
        return result

    cdef int64_t append_event(
        self,
        Cursor *body,
        RowsEvent *rows,
        const TableLayout *layout,
        const Origin *origin,
        int64_t number,
        int64_t byte_limit,
    ) except -1 nogil:
        """Decode an event's row images, numbering its changes from ``number``; returns the number of changes.

        If the rows reach ``byte_limit`` bytes before the event's end, ``body`` is left at the next change: a row of
        one byte may have 4,096 columns.
        """
        cdef int64_t first = self.rows
        cdef int64_t count = 0
        cdef int64_t row_start
        cdef const uint8_t *partial = NULL
        self.begin_transaction(origin)
        while True:
            row_start = body.position
            self.append_image(body, rows.before, rows.before_count, NULL)
            if rows.operation == 1:
                open_after_image(body, layout, rows, &partial)
                self.append_image(body, rows.after, rows.after_count, partial)
            count += 1
            if remaining(body) == 0:
                break
            check_progress(body, row_start)
            if self.bytes_held() >= byte_limit:
                break
        fill_system_columns(self.system, first, self.rows - first, rows, origin, number, self.ids - 1)
        return count

    cdef int begin_transaction(self, const Origin *origin) except -1 nogil:
        """Store a transaction's identifier before its first rows."""
        cdef int32_t end = 0
        if origin.ordinal == self.last_ordinal:
            return 0
        if self.ids == 0:
            append(&self.id_offsets, &end, OFFSET_SIZE)
        append(&self.id_text, origin.identifier, origin.identifier_size)
        end = <int32_t> self.id_text.size
        append(&self.id_offsets, &end, OFFSET_SIZE)
        self.ids += 1
        self.last_ordinal = origin.ordinal
        self.variable_bytes += origin.identifier_size + OFFSET_SIZE
        return 0

    cdef int append_image(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil:
        """Decode one row image as the next row; ``partial`` has a bit for each JSON column, or is NULL if all are whole."""
        cdef int64_t row = self.rows
        if row == self.capacity:
            self.grow()
        self.absent = present_count != self.columns
        if self.absent or partial != NULL:
            begin_row_bits(&self.present, present, self.columns)
        self.append_values(image, present, present_count, partial)
        if self.absent:
            if self.present.bits.size + self.present.row_bits.size > OFFSET_MAXIMUM:
                too_large(image[0])
            append_row_bits(&self.present, row, self.capacity)
            self.variable_bytes += self.present.row_bits.size
        elif self.present.offsets.data != NULL:
            append_whole_row(&self.present, row)
        self.rows += 1
        return 0

    cdef int append_values(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil:
        # A local cursor whose address is not value_bytes stays in registers.
        cdef Cursor rest = image[0]
        cdef int64_t row = self.rows
        cdef int64_t data_bytes = 0
        cdef int64_t value_bytes
        cdef int32_t columns = self.columns
        cdef bint whole = present_count == columns
        cdef const uint8_t *nulls = take(&rest, (present_count + 7) >> 3)
        cdef Column *column = self.column
        cdef int32_t present_index = 0
        cdef int32_t i
        for i in range(columns):
            if not whole and not bit_at(present, i):
                self.append_null(column)
                column += 1
                continue
            if bit_at(nulls, present_index):
                self.append_null(column)
            else:
                value_bytes = decode_common(&rest, column, row)
                if value_bytes >= 0:
                    data_bytes += value_bytes
                else:
                    image.position = rest.position
                    if partial != NULL and column.codec == CODEC_JSON and bit_at(partial, column.json_index):
                        self.append_difference(image, i, column)
                    else:
                        self.append_rare(image, i, column)
                    rest.position = image.position
            present_index += 1
            column += 1
        self.variable_bytes += data_bytes
        image.position = rest.position
        return 0

    cdef int append_rare(self, Cursor *image, int32_t index, Column *column) except -1 nogil:
        cdef char text[TEXT_SIZE]
        cdef int64_t data_size = column.data.size
        cdef int64_t start = self.misfits.text.size
        cdef int text_size = decode_rare(image, column, self.rows, text)
        self.variable_bytes += column.data.size - data_size
        if text_size:
            append(&self.misfits.text, text, text_size)
            self.variable_bytes += add_note(&self.misfits, self.rows, index, start)
        if text_size or column.codec == CODEC_NULL:
            return self.append_null(column)
        if column.codec == CODEC_JSON:
            self.typed_documents += column.typed
        return 0

    cdef int append_difference(self, Cursor *image, int32_t index, Column *column) except -1 nogil:
        """Decode a JSON value that is logged as diffs: apply them to the document of the before image.

        If they cannot be applied, the diffs are kept and the column counts as absent.
        """
        cdef int64_t size = <int64_t> little(take(image, column.prefix), column.prefix)
        cdef Cursor changes = cursor_over(take(image, size), size, image.origin + image.position - size)
        cdef int64_t start = self.differences.text.size
        cdef int64_t data_size = column.data.size
        if column.document.base == NULL or not apply_diff(&self.patch, &column.document, &changes, &column.data):
            render_diff(&changes, &self.differences.text)
            self.variable_bytes += add_note(&self.differences, self.rows, index, start)
            clear_bit(self.present.row_bits.data, index)
            self.absent = True
            return self.append_null(column)
        if column.data.size > OFFSET_MAXIMUM:
            too_large(image[0])
        self.variable_bytes += column.data.size - data_size
        self.typed_documents += self.patch.typed
        (<int32_t *> column.values.data)[self.rows + 1] = <int32_t> column.data.size
        return 0

    cdef int append_null(self, Column *column) except -1 nogil:
        cdef int64_t row = self.rows
        column.document.base = NULL
        if column.validity.data == NULL:
            widen_validity(&column.validity, self.capacity)
        clear_bit(column.validity.data, row)
        column.nulls += 1
        if has_offsets(column.codec):
            (<int32_t *> column.values.data)[row + 1] = <int32_t> column.data.size
            if column.codec == CODEC_GEOMETRY:
                append(&column.extra, b"\0\0\0\0", 4)
        else:
            memset(column.values.data + row * column.item, 0, column.item)
        return 0
