# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Decode the rows events of selected transactions into column buffers, without the GIL.

The walk returns to Python (``Need``) for rare cases: a table map without a
builder, a full builder, a statement, a compressed payload.

Row images are decoded directly into Arrow buffers. Fixed-width columns are arrays of their Arrow width; columns of
bytes have 32-bit offsets and data; a validity bitmap is allocated at a column's first null. Conversions that need more than the bytes (character sets, names of ENUM and SET
members) are done afterwards for the whole column, see ``binx/rows/columns/arrays.py``.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from binx.kernels.bitmaps cimport bit_at, clear_bit, set_bit, widen_validity
from binx.kernels.calendar cimport SECOND
from binx.kernels.cursor cimport Cursor, ahead, cursor_over, little, remaining, take
from binx.kernels.json.documents cimport apply_diff, release_patch, render_diff
from binx.kernels.memory cimport hand_over
from binx.kernels.output cimport OFFSET_MAXIMUM, Output, append, release, resize, with_slack
from binx.kernels.rows.counting cimport (
    RowsEvent,
    check_progress,
    count_images,
    count_old_times,
    open_after_image,
    open_rows,
)
from binx.kernels.rows.decimal cimport check_decimal, decimal_size
from binx.kernels.rows.layouts cimport TableLayout, TableMaps
from binx.kernels.rows.notes cimport add_note, drop_notes, release_notes, take_notes
from binx.kernels.rows.present cimport *
from binx.kernels.rows.system cimport *
from binx.kernels.rows.temporal cimport TEXT_SIZE
from binx.kernels.rows.undone cimport UndoneRun, UndoneRuns, is_undone
from binx.kernels.rows.values cimport decode_common, decode_rare, prepare, too_large
from binx.kernels.transactions.table cimport Transaction, TransactionTable
from binx.kernels.walk.events cimport *
from binx.kernels.walk.framing cimport OpenedPayloads
from binx.kernels.walk.statements cimport *

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
        if column.document.base == NULL or not apply_diff(
            &self.patch, &column.document, &changes, column.parameter != 0, &column.data
        ):
            self.typed_documents += render_diff(&changes, column.parameter != 0, &self.differences.text)
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


cpdef enum Need:
    NEED_NOTHING = 0
    NEED_BUILDER = 1
    NEED_FLUSH = 2
    NEED_MEMORY = 3
    NEED_STATEMENT = 4
    NEED_PAYLOAD = 5
    NEED_PLAIN_ROWS = 6
    NEED_WINDOW = 7
    NEED_PIECE = 8

cdef enum:
    TAKE = 1
    STATEMENTS_ONLY = 2
    FILTERED = 0
    UNDONE = 1
    RECOUNTED_EVENTS = 4
    RECOUNTED = 5
    COUNTS = 8
    # As RowsFlag.REPLACED; no server uses it.
    REPLACED_FLAG = 0x40

cdef struct Target:
    void *builder
    bint resolved
    # Row images that were skipped; undone changes, by operation; rows events that a scan could not count; the changes
    # of those, by operation.
    int64_t counts[COUNTS]


cdef inline bint may_replace(Cursor text) noexcept nogil:
    """Whether a statement whose rows were updated replaced them: LOAD DATA updates no rows unless by REPLACE."""
    skip_comments(&text)
    return begins(text, b"REPLACE") or begins(text, b"LOAD DATA") or begins(text, b"LOAD XML")


cdef inline bint lacks_columns(const RowsEvent *rows, const TableLayout *layout) noexcept nogil:
    """Whether the images after lack columns that are not computed."""
    cdef int32_t i
    for i in range(layout.columns):
        if not bit_at(rows.after, i) and not layout.column[i].computed:
            return True
    return False


@final
cdef class RowDecoder:
    cdef readonly TableMaps maps
    cdef readonly int64_t position
    cdef readonly int64_t index
    cdef readonly int64_t event_size
    cdef readonly int64_t row_number
    cdef readonly int32_t pending_map
    cdef readonly object full
    cdef public bint with_markers
    cdef public bint resolves_only
    cdef public bint with_texts
    cdef public int64_t table_limit
    # Number of the next event's statement within its transaction.
    cdef public int32_t next_statement
    cdef int32_t statement
    # Whether the statement that the next rows were logged with is a REPLACE.
    cdef bint replaces
    cdef int64_t tables_with_rows
    cdef int64_t end
    cdef int64_t ordinal
    cdef int64_t rows_event
    cdef readonly int64_t unmapped
    cdef bytes undone_bytes
    cdef UndoneRuns undone
    cdef int64_t version
    cdef int64_t committed
    cdef const uint8_t *identifier
    cdef int64_t identifier_size
    cdef int64_t bytes_held
    cdef int64_t row_limit
    cdef int64_t byte_limit
    cdef int64_t memory_limit
    cdef int checksum_size
    cdef uint8_t post_header[256]
    cdef TransactionTable table
    cdef const uint8_t[::1] mask
    cdef bytes id_offsets
    cdef bytes id_text
    cdef const int32_t *id_starts
    cdef const uint8_t *texts
    cdef int64_t file_number
    cdef uint8_t mark
    cdef Output targets
    cdef dict builders
    cdef void *current_builder
    cdef bint decoding
    cdef int64_t rows_before
    cdef int64_t bytes_before
    # Position in the current rows event's body at which decoding resumes after a flush; else 0.
    cdef int64_t resumed_at
    # Small payloads that are decompressed already. Where the events of one made the decoder return: its events, their
    # bytes, and offset of the next; else NULL.
    cdef OpenedPayloads opened
    cdef const uint8_t *inner_events
    cdef int64_t inner_size
    cdef int64_t inner_at

    def __init__(self, int64_t file_number, int64_t row_limit, int64_t byte_limit, int64_t memory_limit):
        self.file_number = file_number
        self.row_limit = row_limit
        self.byte_limit = byte_limit
        self.memory_limit = memory_limit
        self.maps = TableMaps()
        self.opened = OpenedPayloads(b"", [])
        self.builders = {}

    def __dealloc__(self):
        release(&self.targets)

    def set_format(self, int checksum_size, const uint8_t[::1] post_header):
        set_post_header(self.post_header, &post_header[0], post_header.shape[0])
        self.maps.set_format(post_header.shape[0])
        self.checksum_size = checksum_size

    def begin(
        self, TransactionTable table, const uint8_t[::1] mask, bytes id_offsets, bytes id_text, bytes undone
    ):
        if mask.shape[0] != len(table) or len(id_offsets) != 4 * (len(table) + 1) or len(undone) % sizeof(UndoneRun):
            raise ValueError("the mask or the identifiers are not of this table")
        self.undone_bytes = undone
        self.undone.next = <const UndoneRun *> PyBytes_AS_STRING(undone)
        self.undone.end = self.undone.next + len(undone) // <int64_t> sizeof(UndoneRun)
        self.table = table
        self.mask = mask
        self.id_offsets = id_offsets
        self.id_text = id_text
        self.id_starts = <const int32_t *> PyBytes_AS_STRING(id_offsets)
        self.texts = <const uint8_t *> PyBytes_AS_STRING(id_text)
        self.index = -1
        self.decoding = False
        self.resumed_at = 0
        self.inner_events = NULL
        self.position = 0
        self.end = 0

    def run(self, const uint8_t[::1] window, int64_t origin):
        cdef int need
        if window.shape[0] == 0:
            return NEED_NOTHING
        try:
            with nogil:
                need = self.walk(&window[0], window.shape[0], origin)
        except BaseException:
            self.drop_event()
            raise
        self.full = <object> self.current_builder if need == NEED_FLUSH else None
        return need

    def open_payloads(self, OpenedPayloads opened not None):
        self.opened = opened

    def take_inner(self):
        cdef int64_t start
        if self.inner_events == NULL:
            return None
        start = self.inner_events - self.opened.base
        self.inner_events = NULL
        return memoryview(self.opened.events)[start : start + self.inner_size], self.inner_at

    def run_inner(self, const uint8_t[::1] window):
        cdef int64_t at = 0
        cdef int need = NEED_NOTHING
        try:
            if window.shape[0]:
                with nogil:
                    need = self.walk_inner(&window[0], window.shape[0], &at)
        except BaseException:
            self.drop_event()
            raise
        self.full = <object> self.current_builder if need == NEED_FLUSH else None
        return need, at

    cdef int walk_inner(self, const uint8_t *events, int64_t size, int64_t *at) except -1 nogil:
        """Process decompressed events that replace the one at ``position``, from an offset on; return a Need."""
        cdef int need = NEED_NOTHING
        cdef Header header
        cdef Cursor body
        while need == NEED_NOTHING and size - at[0] >= HEADER_SIZE:
            header = header_of(events + at[0])
            if header.size < HEADER_SIZE or header.size > size - at[0]:
                break
            body = cursor_over(events + at[0] + HEADER_SIZE, header.size - HEADER_SIZE, self.position)
            need = self.take_event(&header, &body, self.position)
            self.event_size = header.size
            if need != NEED_BUILDER and not self.resumed_at:
                at[0] += header.size
        return need

    cdef int drop_event(self) except -1:
        """Discard the rows of the event whose decoding failed, so that no builder keeps a part of it."""
        self.resumed_at = 0
        if self.decoding:
            (<RowBuilder> self.current_builder).rewind(self.rows_before, self.bytes_before)
            self.decoding = False
        return 0

    def pass_bytes(self, int64_t size):
        self.position += size

    @property
    def statements_only(self):
        return self.mark == STATEMENTS_ONLY

    def set_builder(self, int32_t map, RowBuilder builder):
        cdef Target *target = self.target(map)
        target.resolved = True
        target.builder = <void *> builder if builder is not None else NULL
        self.builders[map] = builder

    def forget(self, int32_t table):
        cdef int32_t map
        for map in list(self.builders):
            if self.maps.layout(map).table == table:
                self.target(map).resolved = False
                self.target(map).builder = NULL
                del self.builders[map]

    def take(self, RowBuilder builder):
        self.bytes_held -= builder.bytes_held()
        if builder.rows:
            self.tables_with_rows -= 1
        return builder.finish()

    def passed_over(self):
        cdef int32_t map
        cdef Target *target
        cdef int k
        counts = {}
        for map in range(self.targets.size // <int64_t> sizeof(Target)):
            target = self.target(map)
            sums = counts.setdefault(self.maps.layout(map).table, [0] * COUNTS)
            for k in range(COUNTS):
                sums[k] += target.counts[k]
        return counts

    cdef Target *target(self, int32_t map) except NULL nogil:
        if (<int64_t> map + 1) * <int64_t> sizeof(Target) > self.targets.size:
            self.add_targets(map)
        return (<Target *> self.targets.data) + map

    cdef int add_targets(self, int32_t map) except -1 nogil:
        """Add targets for all table maps up to this number."""
        cdef Target blank
        memset(&blank, 0, sizeof(Target))
        while self.targets.size // <int64_t> sizeof(Target) <= map:
            append(&self.targets, &blank, sizeof(Target))
        return 0

    cdef bint next_transaction(self) noexcept nogil:
        cdef int64_t count = self.table.length()
        cdef const Transaction *record
        self.index += 1
        while self.index < count and not self.mask[self.index]:
            self.index += 1
        if self.index >= count:
            return False
        self.mark = self.mask[self.index]
        record = self.table.record(self.index)
        self.position = record.start
        self.end = record.end
        self.version = self.file_number << 32 | record.start
        self.committed = record.commit_timestamp
        self.identifier = self.texts + self.id_starts[self.index]
        self.identifier_size = self.id_starts[self.index + 1] - self.id_starts[self.index]
        self.ordinal += 1
        self.row_number = 0
        self.rows_event = 0
        self.next_statement = 0
        self.replaces = False
        return True

    cdef int walk(self, const uint8_t *base, int64_t size, int64_t origin) except -1 nogil:
        cdef int64_t available
        cdef int need
        cdef Header header
        cdef Cursor body
        while True:
            if self.position >= self.end and not self.next_transaction():
                return NEED_NOTHING
            available = origin + size - self.position
            if self.position < origin or available < HEADER_SIZE:
                return NEED_WINDOW
            header = header_of(base + (self.position - origin))
            if header.size < HEADER_SIZE + self.checksum_size:
                return NEED_WINDOW
            self.event_size = header.size
            if header.type == TRANSACTION_PAYLOAD_EVENT:
                # It may be larger than any window, so it is read in pieces.
                if header.size > self.end - self.position:
                    return NEED_PAYLOAD
                self.inner_events = self.opened.find(self.position, &self.inner_size)
                if self.inner_events == NULL:
                    return NEED_PAYLOAD
                self.inner_at = 0
                need = self.walk_inner(self.inner_events, self.inner_size, &self.inner_at)
                if need != NEED_NOTHING:
                    return need
                self.inner_events = NULL
                self.position += header.size
                continue
            if header.size > available:
                return NEED_WINDOW
            body = body_of(base + (self.position - origin), &header, header.size, self.checksum_size, self.position)
            need = self.take_event(&header, &body, self.position)
            if need == NEED_NOTHING:
                self.position += header.size
                continue
            if (need == NEED_FLUSH or need == NEED_MEMORY) and not self.resumed_at:
                self.position += header.size
            return need

    cdef int take_event(self, Header *header, Cursor *body, int64_t position) except -1 nogil:
        """Process one event and return a Need; after a flush the event is complete, unless ``resumed_at`` is set."""
        cdef uint8_t type = header.type
        cdef int statement
        if type == TABLE_MAP_EVENT:
            self.maps.see(body, table_id_width(self.post_header[TABLE_MAP_EVENT]), self.ordinal)
            return NEED_NOTHING
        if type == MARIADB_PARTIAL_ROW_DATA_EVENT:
            return NEED_PIECE if self.mark == TAKE else NEED_NOTHING
        if is_compressed_rows(type):
            return NEED_PLAIN_ROWS
        if rows_operation(type) >= 0:
            return self.take_rows(header, body, position) if self.mark == TAKE else NEED_NOTHING
        if type == TRANSACTION_PAYLOAD_EVENT:
            return NEED_PAYLOAD
        if type == MARIADB_ANNOTATE_ROWS_EVENT:
            self.replaces = may_replace(ahead(body))
        if type == QUERY_EVENT:
            statement = statement_in(ahead(body))
            if statement == STATEMENT_MARKER or statement == STATEMENT_XA_START:
                return NEED_STATEMENT if self.with_markers else NEED_NOTHING
            if statement == STATEMENT_BEGIN or statement == STATEMENT_COMMIT or statement == STATEMENT_ROLLBACK:
                return NEED_NOTHING
            return NEED_STATEMENT
        if (
            type == INTVAR_EVENT
            or type == RAND_EVENT
            or type == USER_VAR_EVENT
            or type == EXECUTE_LOAD_QUERY_EVENT
            or type == BEGIN_LOAD_QUERY_EVENT
            or type == APPEND_BLOCK_EVENT
            or type == INCIDENT_EVENT
            or type == XA_PREPARE_EVENT
            or type == MARIADB_QUERY_COMPRESSED_EVENT
            or (self.with_texts and self.mark == TAKE and (type == ROWS_QUERY_EVENT or type == MARIADB_ANNOTATE_ROWS_EVENT))
        ):
            return NEED_STATEMENT
        return NEED_NOTHING

    cdef int take_rows(self, Header *header, Cursor *body, int64_t position) except -1 nogil:
        cdef RowsEvent rows
        cdef Target *target
        cdef int64_t count
        cdef bint undone
        open_rows(self.maps, body, header.type, self.post_header[header.type], self.ordinal, &rows)
        if rows.map < 0:
            self.unmapped += rows.unmapped
            self.rows_event += 1
            self.next_statement += rows.flags & STATEMENT_END_FLAG
            return NEED_NOTHING
        if self.replaces and rows.operation == 1 and lacks_columns(&rows, self.maps.layout(rows.map)):
            rows.flags |= REPLACED_FLAG
        target = self.target(rows.map)
        if not target.resolved:
            self.pending_map = rows.map
            return NEED_BUILDER
        if self.resumed_at:
            body.position = self.resumed_at
            self.resumed_at = 0
            undone = False
        else:
            undone = is_undone(&self.undone, self.index, self.rows_event)
            self.rows_event += 1
            self.statement = self.next_statement
            self.next_statement += rows.flags & STATEMENT_END_FLAG
            if target.builder != NULL and self.maps.layout(rows.map).old_times and self.maps.of_mariadb:
                self.check_widths(body, &rows, target)
        if target.builder == NULL and self.resolves_only:
            return NEED_NOTHING
        if target.builder == NULL or undone:
            count = count_images(self.maps, body, &rows)
            if count < 0:
                return NEED_NOTHING
            self.row_number += count
            if target.builder == NULL:
                target.counts[FILTERED] += count * 2 if rows.operation == 1 else count
            else:
                target.counts[UNDONE + rows.operation] += count
            return NEED_NOTHING
        self.current_builder = target.builder
        return self.decode_rows(header, body, &rows, <RowBuilder> target.builder, position)

    cdef int check_widths(self, Cursor *body, RowsEvent *rows, Target *target) except -1 nogil:
        """Reject rows whose widths differ from the table's definition.

        Count those that a scan could not count, as it has no definitions.
        """
        cdef TableLayout layout = self.maps.layout(rows.map)[0]
        cdef int64_t count
        count = count_old_times(body[0], &layout, rows)
        if count < 0:
            self.maps.undecodable(body, rows.map)
        if layout.logged != NULL:
            layout.column = layout.logged
            if count_old_times(body[0], &layout, rows) < 0:
                target.counts[RECOUNTED_EVENTS] += 1
                target.counts[RECOUNTED + rows.operation] += count
        return 0

    cdef int decode_rows(
        self, Header *header, Cursor *body, RowsEvent *rows, RowBuilder builder, int64_t position
    ) except -1 nogil:
        cdef int64_t old_bytes = builder.bytes_held()
        cdef Origin origin
        origin.ordinal = self.ordinal
        origin.identifier = self.identifier
        origin.identifier_size = self.identifier_size
        origin.version = self.version
        origin.committed = self.committed
        origin.logged = <int64_t> header.timestamp * SECOND
        origin.position = position
        origin.statement = self.statement
        self.rows_before = builder.rows
        self.bytes_before = builder.variable_bytes
        self.decoding = True
        self.row_number += builder.append_event(
            body, rows, self.maps.layout(rows.map), &origin, self.row_number, self.byte_limit
        )
        self.decoding = False
        self.resumed_at = body.position if remaining(body) else 0
        self.tables_with_rows += self.rows_before == 0
        self.bytes_held += builder.bytes_held() - old_bytes
        if builder.rows >= self.row_limit or builder.bytes_held() >= self.byte_limit:
            return NEED_FLUSH
        if self.table_limit and self.tables_with_rows > self.table_limit:
            return NEED_MEMORY
        return NEED_MEMORY if self.bytes_held > self.memory_limit else NEED_NOTHING
