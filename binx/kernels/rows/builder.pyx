# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Row images decoded straight into Arrow's buffers.

What needs more than the bytes (character sets, names of ENUM and SET members) is
done afterwards for the whole column, see ``binx/rows/columns/arrays.py``.
"""

from cython cimport final
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from binx.kernels.rows.buffers cimport *
from binx.kernels.rows.counting cimport RowsEvent, bad_rows, open_after_image
from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take
from binx.kernels.json.diffs cimport apply_diff, render_diff
from binx.kernels.rows.layouts cimport TableLayout, bit_at
from binx.kernels.output cimport append, reserve
from binx.kernels.rows.temporal cimport TEXT_SIZE
from binx.kernels.rows.values cimport DATA_MAXIMUM, decode_value, too_large
from binx.kernels.rows.fast_values cimport *


@final
cdef class RowBuilder(RowBuffers):
    """The columns of one table, being filled image by image."""

    cdef int64_t append_event(
        self,
        Cursor *body,
        RowsEvent *rows,
        const TableLayout *layout,
        const Origin *origin,
        int64_t number,
        int64_t byte_limit,
    ) except -1 nogil:
        """Decode the row images of an event, the first change of which has a number; returns how many changes these are.

        Where the rows come to ``byte_limit`` bytes before the event's end, ``body`` is left at the next change: a row of
        one byte may be of 4,096 columns.
        """
        cdef int64_t first = self.rows
        cdef int64_t count = 0
        cdef int64_t before
        cdef const uint8_t *partial = NULL
        self.begin_transaction(origin)
        while True:
            before = body.position
            self.append_image(body, rows.before, rows.before_count, NULL)
            if rows.operation == 1:
                open_after_image(body, layout, rows, &partial)
                self.append_image(body, rows.after, rows.after_count, partial)
            count += 1
            if remaining(body) == 0:
                break
            if self.bytes_held() >= byte_limit and body.position != before:
                break
            if body.position == before:
                bad_rows(body, "expected rows of at least one byte, found bytes behind a row without columns")
        self.fill_system_columns(first, rows.operation, origin, number)
        return count

    cdef int begin_transaction(self, const Origin *origin) except -1 nogil:
        """Take a transaction's identifier where its first rows come."""
        cdef int32_t end = 0
        if origin.ordinal == self.last_ordinal:
            return 0
        if self.ids == 0:
            append(&self.id_offsets, &end, OFFSET_SIZE)
        reserve(&self.id_text, origin.identifier_size)
        append(&self.id_text, origin.identifier, origin.identifier_size)
        end = <int32_t> self.id_text.size
        reserve(&self.id_offsets, OFFSET_SIZE)
        append(&self.id_offsets, &end, OFFSET_SIZE)
        self.ids += 1
        self.last_ordinal = origin.ordinal
        self.variable_bytes += origin.identifier_size + OFFSET_SIZE
        return 0

    cdef void fill_system_columns(
        self, int64_t first, int operation, const Origin *origin, int64_t number
    ) noexcept nogil:
        """Write what the rows from the first on have in common, and their changes' numbers; two images are an update."""
        cdef int64_t count = self.rows - first
        cdef uint8_t *changes = self.change_types.data + first
        cdef int64_t *versions = (<int64_t *> self.commit_versions.data) + first
        cdef int64_t *times = (<int64_t *> self.commit_timestamps.data) + first
        cdef int64_t *numbers = (<int64_t *> self.row_numbers.data) + first
        cdef int32_t *transactions = (<int32_t *> self.transactions.data) + first
        cdef int64_t *logged = (<int64_t *> self.event_timestamps.data) + first
        cdef int64_t *positions = (<int64_t *> self.positions.data) + first
        cdef int32_t *statements = (<int32_t *> self.statements.data) + first
        cdef int64_t i
        if operation == 1:
            for i in range(count):
                changes[i] = <uint8_t> (CHANGE_UPDATE_PREIMAGE + (i & 1))
                numbers[i] = number + (i >> 1)
        else:
            memset(changes, CHANGE_DELETE if operation == 2 else CHANGE_INSERT, count)
            for i in range(count):
                numbers[i] = number + i
        for i in range(count):
            versions[i] = origin.version
            times[i] = origin.committed
            transactions[i] = self.ids - 1
            logged[i] = origin.logged
            positions[i] = origin.position
            statements[i] = origin.statement

    cdef int append_image(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil:
        """Decode one row image as the next row."""
        cdef int64_t row
        if self.rows == self.capacity:
            self.grow()
        row = self.rows
        if present_count == self.columns and partial == NULL:
            self.absent = False
            self.append_whole(image)
        else:
            self.append_parts(image, present, present_count, partial)
        if self.absent:
            if self.present_bits.size + self.bits.size > DATA_MAXIMUM:
                too_large(image[0])
            self.end_present_bits()
        elif self.present_offsets.data != NULL:
            self.present_validity.data[row >> 3] &= ~(1 << (row & 7))
            (<int32_t *> self.present_offsets.data)[row + 1] = <int32_t> self.present_bits.size
        self.rows += 1
        return 0

    cdef int append_whole(self, Cursor *image) except -1 nogil:
        """Decode an image that has all columns, each in its column's own way."""
        cdef Cursor at = image[0]
        cdef int64_t row = self.rows
        cdef int64_t held = 0
        cdef int32_t columns = self.columns
        cdef const uint8_t *nulls = take(&at, (columns + 7) >> 3)
        cdef const uint8_t *data
        cdef Column *column = self.column
        cdef int32_t i
        cdef uint8_t way
        cdef bint done
        for i in range(columns):
            if bit_at(nulls, i):
                self.append_null(column)
                column += 1
                continue
            way = column.way
            if way == WAY_BYTES:
                held += copy_bytes(&at, column, row)
                column += 1
                continue
            data = take(&at, 0 if way == WAY_NONE else column.width)
            done = True
            if way == WAY_COPY4:
                memcpy(column.values.data + row * 4, data, 4)
            elif way == WAY_COPY8:
                memcpy(column.values.data + row * 8, data, 8)
            elif way == WAY_COPY1:
                column.values.data[row] = data[0]
            elif way == WAY_COPY2:
                memcpy(column.values.data + row * 2, data, 2)
            elif way == WAY_UINT8:
                (<int16_t *> column.values.data)[row] = data[0]
            elif way == WAY_UINT16:
                (<int32_t *> column.values.data)[row] = <int32_t> little(data, 2)
            elif way == WAY_UINT32:
                (<int64_t *> column.values.data)[row] = <int64_t> little(data, 4)
            elif way == WAY_DECIMAL:
                done = short_decimal(&at, data, column, row)
            elif way == WAY_DATETIME:
                done = short_datetime(&at, data, column, row)
            elif way == WAY_TIMESTAMP:
                done = short_timestamp(&at, data, column, row)
            elif way == WAY_DATE:
                done = short_date(data, column, row)
            elif way == WAY_ENUM:
                done = short_enum(data, column, row)
            else:
                done = False
            if not done:
                image.position = at.position - (0 if way == WAY_NONE else column.width)
                self.append_value(image, i, column)
                at.position = image.position
            column += 1
        self.variable_bytes += held
        image.position = at.position
        return 0

    cdef int append_parts(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil:
        """Decode an image that lacks columns, or that tells of changes within JSON documents."""
        cdef const uint8_t *nulls = take(image, (present_count + 7) >> 3)
        cdef int32_t nth = 0
        cdef int32_t nth_json = 0
        cdef int32_t i
        cdef Column *column
        self.absent = present_count != self.columns
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
            too_large(image[0])
        self.variable_bytes += column.data.size - held
        self.typed_documents += self.patch.typed
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
        if column.codec == CODEC_JSON:
            self.typed_documents += column.typed
        return 0
