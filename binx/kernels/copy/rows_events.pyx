# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Inspect single rows events: count row changes, find where images end, complete images."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from binx.kernels.bitmaps cimport bit_at, clear_bit
from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take
from binx.kernels.output cimport Output, append, append_byte, bytes_in, empty_output, no_memory, release
from binx.kernels.rows.counting cimport (
    RowsEvent,
    check_progress,
    count_images,
    count_old_times,
    open_after_image,
    open_rows,
)
from binx.kernels.rows.layouts cimport ColumnLayout, TableLayout, TableMaps, skip_image


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
