# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Inspect single rows events: count row changes, find where images end."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.cursor cimport Cursor, cursor_over, remaining
from binx.kernels.output cimport Output, append, bytes_in, empty_output, release
from binx.kernels.rows.counting cimport (
    RowsEvent,
    check_progress,
    count_images,
    count_old_times,
    open_after_image,
    open_rows,
)
from binx.kernels.rows.layouts cimport TableLayout, TableMaps, skip_image


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
