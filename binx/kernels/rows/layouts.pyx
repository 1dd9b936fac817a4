# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Distinct table maps, numbered, with their column layouts.

A server writes a table map before the rows events of every statement, mostly
with the same bytes: known ones are found by comparing bytes, not parsed again.

Source: ``Table_map_event`` in MySQL's ``libs/mysql/binlog/event/rows_event.h``,
``table_def::calc_field_size`` and ``read_field_metadata`` there for the widths.

Single rows events are inspected here too: their changes counted, the ends of images found, images completed.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from binx.kernels.bitmaps cimport bit_at, clear_bit
from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take, take_packed
from binx.kernels.hashing cimport known_slot, slot_bytes, slot_entry, slot_of, slots_release
from binx.kernels.output cimport Output, append, append_byte, bytes_in, empty_output, no_memory, release
from binx.kernels.rows.counting cimport (
    RowsEvent,
    check_progress,
    count_images,
    count_old_times,
    open_after_image,
    open_rows,
)
from binx.kernels.rows.decimal cimport decimal_size
from binx.kernels.walk.events cimport MARIADB_ANNOTATE_ROWS_EVENT


UNKNOWN_TYPES = {TYPE_DECIMAL: "the pre-5.0 DECIMAL", TYPE_TYPED_ARRAY: "a typed array"}


cdef int refuse_early_map(Cursor *body) except -1 with gil:
    from binx.errors import UndecodableError

    raise UndecodableError(
        "expected column sizes in the table map, found none: pre-releases of MySQL 5.1 did not write them;"
        " its rows cannot be decoded",
        offset=body.origin + body.position,
        event="TABLE_MAP",
    )


cdef int refuse(Cursor *body, str message) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(message, offset=body.origin + body.position, event="TABLE_MAP")


cdef int lay_out_members(Cursor *body, const uint8_t *meta, ColumnLayout *column) except -1 nogil:
    """Fill the layout of an ENUM or SET from its metadata: the type, and the bytes per value."""
    column.type = meta[0]
    column.metadata = meta[1]
    column.width = meta[1]
    if column.width < 1 or column.width > (2 if meta[0] == TYPE_ENUM else 8):
        refuse(body, "expected an ENUM of 1 or 2 or a SET of 1 to 8 bytes, found another width")
    return 0


cdef int lay_out(Cursor *body, uint8_t type, Cursor *metadata, ColumnLayout *column) except -1 nogil:
    """Fill one column's layout, consuming its part of the metadata block; returns 1 if the type's width is unknown."""
    cdef const uint8_t *meta
    cdef int32_t length
    column.type = type
    column.prefix = 0
    column.metadata = 0
    column.width = 0
    if type == TYPE_TINY or type == TYPE_YEAR:
        column.width = 1
    elif type == TYPE_SHORT:
        column.width = 2
    elif type == TYPE_INT24 or type == TYPE_DATE or type == TYPE_TIME or type == TYPE_NEWDATE:
        column.width = 3
    elif type == TYPE_LONG or type == TYPE_TIMESTAMP:
        column.width = 4
    elif type == TYPE_LONGLONG or type == TYPE_DATETIME:
        column.width = 8
    elif type == TYPE_NULL:
        column.width = 0
    elif type == TYPE_FLOAT or type == TYPE_DOUBLE:
        column.metadata = take(metadata, 1)[0]
        column.width = 4 if type == TYPE_FLOAT else 8
        if column.metadata != column.width:
            refuse(body, "expected a FLOAT of 4 or a DOUBLE of 8 bytes, found another width")
    elif type == TYPE_TIMESTAMP2 or type == TYPE_DATETIME2 or type == TYPE_TIME2:
        column.metadata = take(metadata, 1)[0]
        if column.metadata > 6:
            refuse(body, "expected at most 6 fractional digits of a second, found more")
        column.width = (4 if type == TYPE_TIMESTAMP2 else 5 if type == TYPE_DATETIME2 else 3) + (column.metadata + 1) // 2
    elif type == TYPE_VARCHAR or type == TYPE_VAR_STRING or type == TYPE_VARCHAR_COMPRESSED:
        column.metadata = <uint16_t> little(take(metadata, 2), 2)
        column.prefix = 1 if column.metadata < 256 else 2
    elif type == TYPE_BIT:
        meta = take(metadata, 2)
        length = meta[1] * 8 + meta[0]
        if meta[0] > 7 or length < 1 or length > 64:
            refuse(body, "expected a BIT column of 1 to 64 bits, found another length")
        column.metadata = <uint16_t> length
        column.width = (length + 7) // 8
    elif type == TYPE_NEWDECIMAL:
        meta = take(metadata, 2)
        if meta[0] < 1 or meta[0] > 65 or meta[1] > 38 or meta[1] > meta[0]:
            refuse(body, "expected a DECIMAL of at most 65 digits with at most 38 behind the point, found another")
        column.metadata = <uint16_t> (meta[0] << 8 | meta[1])
        column.width = decimal_size(meta[0], meta[1])
    elif type == TYPE_STRING:
        meta = take(metadata, 2)
        if meta[0] == TYPE_ENUM or meta[0] == TYPE_SET:
            lay_out_members(body, meta, column)
        else:
            # Lengths over 255 have their two high bits, inverted, in bits 4 and 5 of the type byte.
            length = meta[1] | ((meta[0] & 0x30) ^ 0x30) << 4 if meta[0] else meta[1]
            column.metadata = <uint16_t> length
            column.prefix = 1 if length < 256 else 2
    elif type == TYPE_ENUM or type == TYPE_SET:
        lay_out_members(body, take(metadata, 2), column)
    elif (
        TYPE_TINY_BLOB <= type <= TYPE_BLOB
        or type == TYPE_GEOMETRY
        or type == TYPE_JSON
        or type == TYPE_VECTOR
        or type == TYPE_BLOB_COMPRESSED
    ):
        column.metadata = take(metadata, 1)[0]
        if column.metadata < 1 or column.metadata > 4:
            refuse(body, "expected a length of 1 to 4 bytes before a BLOB's value, found another width")
        column.prefix = <uint8_t> column.metadata
    else:
        return 1
    return 0


cdef void join_columns(ColumnLayout *column, int32_t columns) noexcept nogil:
    """Compute for each column how many bytes can be skipped from it at once."""
    cdef int32_t i
    for i in range(columns - 1, -1, -1):
        column[i].run = 0 if column[i].prefix else column[i].width
        column[i].stop = column[i].prefix
        column[i].run_columns = 1
        if column[i].prefix == 0 and i + 1 < columns:
            column[i].run += column[i + 1].run
            column[i].stop = column[i + 1].stop
            column[i].run_columns += column[i + 1].run_columns


def unknown_column(const uint8_t[::1] body) -> tuple[int, int] | None:
    cdef TableMaps maps = TableMaps()
    cdef Cursor cursor = cursor_over(&body[0] if body.shape[0] else NULL, body.shape[0], 0)
    with nogil:
        maps.parse_map(&cursor)
    return (maps.layout(0).unknown, maps.layout(0).unknown_type) if maps.layout(0).unknown else None


cdef inline CurrentMap *current_map(TableMaps maps, uint64_t table_id) noexcept nogil:
    """Return a table ID's current map, NULL if no table map had it; usually that of the latest table map."""
    cdef CurrentMap *current_maps = <CurrentMap *> maps.current_maps.data
    cdef int32_t slot
    if maps.latest >= 0 and current_maps[maps.latest].table_id == table_id:
        return current_maps + maps.latest
    slot = known_slot(&maps.ids, <const uint8_t *> &table_id, sizeof(uint64_t))
    return NULL if slot < 0 else current_maps + slot


cdef class TableMaps:
    def __cinit__(self):
        self.latest = -1

    def __dealloc__(self):
        cdef int32_t i
        for i in range(self.layouts.size // sizeof(TableLayout)):
            free(self.layout(i).column)
            free(self.layout(i).logged)
        release(&self.layouts)
        slots_release(&self.bodies)
        slots_release(&self.names)
        slots_release(&self.ids)
        release(&self.current_maps)

    cdef void set_format(self, int64_t types) noexcept:
        """Set the flavour of the server that wrote the table maps: only MariaDB has event types after MySQL's."""
        self.of_mariadb = types >= MARIADB_ANNOTATE_ROWS_EVENT

    cdef int32_t see(self, Cursor *body, int id_width, int64_t transaction) except -1 nogil:
        """Return the number of the table map in an event's body, and make it its table ID's current one.

        ``id_width`` is 6 (4 in logs of early 5.1). Table maps are the same if everything after table ID and
        flags is equal.
        """
        cdef uint64_t table_id = little(take(body, id_width), id_width)
        take(body, 2)
        cdef int64_t size = remaining(body)
        cdef const uint8_t *data = body.base + body.position
        cdef CurrentMap *current = current_map(self, table_id)
        cdef CurrentMap fresh
        cdef int32_t number = current.number if current != NULL else -1
        cdef int32_t known
        if (
            number < 0
            or slot_entry(&self.bodies, number).size != size
            or memcmp(slot_bytes(&self.bodies, number), data, size) != 0
        ):
            known = self.bodies.count
            number = slot_of(&self.bodies, data, size)
            if number == known:
                self.parse_map(body)
        if current == NULL:
            fresh.table_id = table_id
            slot_of(&self.ids, <const uint8_t *> &table_id, sizeof(uint64_t))
            append(&self.current_maps, &fresh, sizeof(CurrentMap))
            current = (<CurrentMap *> (self.current_maps.data + self.current_maps.size)) - 1
        current.number = number
        current.owner = <int32_t> (transaction & 0x7FFFFFFF)
        self.latest = current - <CurrentMap *> self.current_maps.data
        return number

    cdef int parse_map(self, Cursor *body) except -1 nogil:
        """Parse a new table map: names, types, metadata."""
        cdef Cursor metadata
        cdef TableLayout layout
        cdef const uint8_t *types
        cdef const uint8_t *names = body.base + body.position
        cdef uint64_t count
        cdef uint64_t size
        cdef int64_t db_size
        cdef int64_t table_size
        cdef int64_t number = self.layouts.size // sizeof(TableLayout)
        cdef int32_t i
        memset(&layout, 0, sizeof(TableLayout))
        layout.table = -1
        # Appended before it is filled: a rejected map keeps its number, with table -1.
        append(&self.layouts, &layout, sizeof(TableLayout))
        db_size = take(body, 1)[0]
        take(body, db_size + 1)
        table_size = take(body, 1)[0]
        take(body, table_size + 1)
        take_packed(body, &count)
        if count > COLUMNS_MAXIMUM:
            refuse(body, "expected at most 4096 columns, found more")
        types = take(body, <int64_t> count)
        if remaining(body) == 0:
            refuse_early_map(body)
        take_packed(body, &size)
        if <int64_t> size > remaining(body):
            size = <uint64_t> remaining(body) + 1
        metadata = cursor_over(take(body, <int64_t> size), <int64_t> size, body.origin + body.position - <int64_t> size)
        layout.column = <ColumnLayout *> calloc(count if count else 1, sizeof(ColumnLayout))
        if layout.column == NULL:
            no_memory(count * sizeof(ColumnLayout))
        self.layout(<int32_t> number).column = layout.column
        layout.columns = <int32_t> count
        for i in range(layout.columns):
            if lay_out(body, types[i], &metadata, &layout.column[i]):
                layout.unknown = i + 1
                layout.unknown_type = types[i]
                break
            layout.json_columns += layout.column[i].type == TYPE_JSON
            layout.old_times |= is_old_time(types[i])
        join_columns(layout.column, layout.columns)
        layout.table = slot_of(&self.names, names, db_size + table_size + 4)
        self.layout(<int32_t> number)[0] = layout
        return 0

    cdef bint has_map(self, uint64_t table_id, int64_t transaction) noexcept nogil:
        """Return whether a transaction has a table map with this ID before the current event."""
        cdef const CurrentMap *current = current_map(self, table_id)
        return current != NULL and current.owner == <int32_t> (transaction & 0x7FFFFFFF)

    cdef int32_t map_of(self, Cursor *body, uint64_t table_id, int64_t transaction) except -1 nogil:
        """Return the number of the table map that a rows event's table ID refers to.

        Servers always write it in the same transaction; a map from an earlier one may be of another table.
        """
        cdef const CurrentMap *current = current_map(self, table_id)
        if not self.has_map(table_id, transaction):
            self.no_map(body, table_id)
        if self.layout(current.number).table < 0:
            self.unreadable_map(body, table_id)
        return current.number

    cdef int no_map(self, Cursor *body, uint64_t table_id) except -1 with gil:
        from binx.errors import DamagedError

        raise DamagedError(
            f"expected a table map for table id {table_id} earlier in the transaction, found none;"
            " the rows cannot be decoded",
            offset=body.origin,
        )

    cdef int unreadable_map(self, Cursor *body, uint64_t table_id) except -1 with gil:
        from binx.errors import DamagedError

        raise DamagedError(
            f"the table map of table id {table_id} could not be read; the rows cannot be decoded",
            offset=body.origin,
        )

    cdef int undecodable(self, Cursor *body, int32_t number) except -1 with gil:
        raise self.refusal(number, body.origin + body.position)

    def refusal(self, int32_t number, int64_t position):
        from binx.errors import UndecodableError

        db, table = self.name(self.layout(number).table)
        if not self.layout(number).unknown:
            return UndecodableError(
                f"rows of {db.decode('utf-8', 'replace')}.{table.decode('utf-8', 'replace')} cannot be decoded: their"
                " TIME, DATETIME or TIMESTAMP columns have fractional seconds in the format before MariaDB 10.1"
                " (mysql56_temporal_format=OFF), whose size MariaDB does not log. Include the log with the table's"
                " CREATE TABLE or give its definition with --schema; --on-damage salvage extracts the other"
                " transactions. For future logs, rebuild the table with ALTER TABLE ... FORCE under"
                " mysql56_temporal_format=ON",
                offset=position,
            )
        kind = self.layout(number).unknown_type
        return UndecodableError(
            f"unsupported column type: {UNKNOWN_TYPES.get(kind, 'an unknown one')} (type {kind})"
            f" in column {self.layout(number).unknown} of {db.decode('utf-8', 'replace')}"
            f".{table.decode('utf-8', 'replace')}; its rows cannot be decoded. A newer version of binx may support it,"
            " and the server's own mysqlbinlog does; --on-damage salvage extracts the other transactions",
            offset=position,
            event="TABLE_MAP",
        )

    def unknown(self, int32_t number) -> tuple[int, int] | None:
        if not 0 <= number < self.bodies.count:
            raise IndexError(number)
        if self.layout(number).table < 0 or not self.layout(number).unknown:
            return None
        return self.layout(number).unknown, self.layout(number).unknown_type

    cdef TableLayout *layout_for(self, int32_t number, list facts) except NULL:
        """The layout of a table map, which gets a fact about each of its columns."""
        if not 0 <= number < self.bodies.count or len(facts) != self.layout(number).columns:
            raise IndexError(number)
        return self.layout(number)

    def set_widths(self, int32_t number, list widths):
        cdef TableLayout *layout = self.layout_for(number, widths)
        cdef int32_t i
        if layout.logged == NULL:
            layout.logged = <ColumnLayout *> calloc(max(layout.columns, 1), sizeof(ColumnLayout))
            if layout.logged == NULL:
                raise MemoryError
            memcpy(layout.logged, layout.column, layout.columns * sizeof(ColumnLayout))
        memcpy(layout.column, layout.logged, layout.columns * sizeof(ColumnLayout))
        for i in range(layout.columns):
            if widths[i] is not None and is_old_time(layout.column[i].type):
                layout.column[i].width = widths[i]
        join_columns(layout.column, layout.columns)

    def set_computed(self, int32_t number, list computed):
        cdef TableLayout *layout = self.layout_for(number, computed)
        cdef int32_t i
        for i in range(layout.columns):
            layout.column[i].computed = computed[i]

    @property
    def count(self) -> int:
        return self.bodies.count

    def body(self, int32_t number) -> bytes:
        if not 0 <= number < self.bodies.count:
            raise IndexError(number)
        return slot_bytes(&self.bodies, number)[: slot_entry(&self.bodies, number).size]

    def columns(self, int32_t number) -> list[tuple[int, int, int, int]]:
        cdef TableLayout *layout
        cdef int32_t i
        if not 0 <= number < self.bodies.count:
            raise IndexError(number)
        layout = self.layout(number)
        return [
            (layout.column[i].type, layout.column[i].metadata, layout.column[i].prefix, layout.column[i].width)
            for i in range(layout.columns)
        ]

    def table_of(self, int32_t number) -> int:
        if not 0 <= number < self.bodies.count:
            raise IndexError(number)
        return self.layout(number).table

    def name(self, int32_t table) -> tuple[bytes, bytes]:
        if not 0 <= table < self.names.count:
            raise IndexError(table)
        data = slot_bytes(&self.names, table)[: slot_entry(&self.names, table).size]
        split = 1 + data[0] + 1
        return data[1 : split - 1], data[split + 1 : len(data) - 1]

    @property
    def tables(self) -> int:
        return self.names.count


cdef class RowCounter:
    cdef TableMaps maps
    cdef object widths

    def __init__(self, bint of_mariadb, widths):
        self.maps = TableMaps()
        self.widths = widths
        # MariaDB's time types before 10.1 may have fractions, whose bytes the table map does not include.
        self.maps.of_mariadb = of_mariadb

    def see(self, const uint8_t[::1] body, int id_width, int64_t position):
        cdef Cursor cursor = cursor_over(&body[0] if body.shape[0] else NULL, body.shape[0], position)
        with nogil:
            self.maps.see(&cursor, id_width, 0)

    def count(self, const uint8_t[::1] body, uint8_t event_type, int post_header, int64_t position):
        cdef Cursor cursor = cursor_over(&body[0] if body.shape[0] else NULL, body.shape[0], position)
        cdef RowsEvent rows
        cdef int64_t count = 0
        with nogil:
            open_rows(self.maps, &cursor, event_type, post_header, 0, &rows)
            if rows.map >= 0:
                self.define(rows.map)
                count = count_images(self.maps, &cursor, &rows)
                if count < 0:
                    self.maps.undecodable(&cursor, rows.map)
        return count

    def ends(self, const uint8_t[::1] body, uint8_t event_type, int post_header, int64_t position):
        cdef Cursor cursor = cursor_over(&body[0] if body.shape[0] else NULL, body.shape[0], position)
        cdef RowsEvent rows
        cdef Output ends = empty_output()
        try:
            with nogil:
                open_rows(self.maps, &cursor, event_type, post_header, 0, &rows)
                if rows.map >= 0:
                    self.define(rows.map)
                    put_ends(self.maps, &cursor, &rows, &ends)
            return bytes_in(&ends)
        finally:
            release(&ends)

    def whole(self, const uint8_t[::1] body, uint8_t event_type, int post_header, int64_t position):
        cdef Cursor cursor = cursor_over(&body[0] if body.shape[0] else NULL, body.shape[0], position)
        cdef RowsEvent rows
        cdef Output event = empty_output()
        try:
            with nogil:
                open_rows(self.maps, &cursor, event_type, post_header, 0, &rows)
                if rows.map >= 0:
                    self.define(rows.map)
                    put_whole(self.maps, &cursor, &rows, &event)
            return bytes_in(&event)
        finally:
            release(&event)

    cdef int define(self, int32_t number) except -1 nogil:
        """Set widths that the table map lacks from the table's definition."""
        if self.maps.layout(number).old_times and self.maps.of_mariadb:
            with gil:
                widths = self.widths(self.maps.body(number))
                if widths is not None:
                    self.maps.set_widths(number, widths)
        return 0


cdef int put_ends(TableMaps maps, Cursor *body, RowsEvent *rows, Output *ends) except -1 nogil:
    cdef TableLayout *layout = maps.layout(rows.map)
    cdef const uint8_t *partial
    cdef int64_t row_start
    if layout.unknown or (layout.old_times and maps.of_mariadb and count_old_times(body[0], layout, rows) < 0):
        maps.undecodable(body, rows.map)
    append(ends, &body.position, sizeof(int64_t))
    while remaining(body):
        row_start = body.position
        skip_image(body, layout, rows.before, rows.before_count)
        append(ends, &body.position, sizeof(int64_t))
        if rows.operation == 1:
            open_after_image(body, layout, rows, &partial)
            skip_image(body, layout, rows.after, rows.after_count)
            append(ends, &body.position, sizeof(int64_t))
        if remaining(body):
            check_progress(body, row_start)
    return 0


cdef struct Value:
    # start: offset of a column's value in the event, with the length before it; -1 for NULL and for an absent column.
    int64_t start
    int64_t size


cdef int find_values(
    Cursor *image, const TableLayout *layout, const uint8_t *present, int32_t present_count, Value *values
) except -1 nogil:
    """Find the values of one row image; a column that it lacks keeps the one of an earlier image."""
    cdef const uint8_t *nulls = take(image, (present_count + 7) >> 3)
    cdef const ColumnLayout *column
    cdef int32_t i
    cdef int32_t index = 0
    for i in range(layout.columns):
        if not bit_at(present, i):
            continue
        values[i].start = -1
        values[i].size = 0
        if not bit_at(nulls, index):
            column = layout.column + i
            values[i].start = image.position
            if column.prefix == 0:
                take(image, column.width)
            else:
                take(image, <int64_t> little(take(image, column.prefix), column.prefix))
            values[i].size = image.position - values[i].start
        index += 1
    return 0


cdef int put_whole(TableMaps maps, Cursor *body, RowsEvent *rows, Output *event) except -1 nogil:
    """Append an update whose after images have the columns of the before images.

    A column that an after image lacks has the value before it.
    """
    cdef TableLayout *layout = maps.layout(rows.map)
    cdef int64_t bitmap = (layout.columns + 7) >> 3
    cdef int64_t images = body.position
    cdef int64_t row_start
    cdef int64_t nulls
    cdef int32_t i
    cdef int32_t index
    cdef Value *values = <Value *> calloc(max(layout.columns, 1), sizeof(Value))
    if values == NULL:
        no_memory(layout.columns * <int64_t> sizeof(Value))
    try:
        if layout.unknown or (layout.old_times and maps.of_mariadb and count_old_times(body[0], layout, rows) < 0):
            maps.undecodable(body, rows.map)
        append(event, body.base, images - bitmap)
        append(event, rows.before, bitmap)
        while remaining(body):
            row_start = body.position
            find_values(body, layout, rows.before, rows.before_count, values)
            append(event, body.base + row_start, body.position - row_start)
            find_values(body, layout, rows.after, rows.after_count, values)
            nulls = event.size
            for i in range((rows.before_count + 7) >> 3):
                append_byte(event, 0xFF)
            index = 0
            for i in range(layout.columns):
                if bit_at(rows.before, i):
                    if values[i].start >= 0:
                        clear_bit(<uint8_t *> event.data + nulls, index)
                        append(event, body.base + values[i].start, values[i].size)
                    index += 1
            if remaining(body):
                check_progress(body, row_start)
    finally:
        free(values)
    return 0
