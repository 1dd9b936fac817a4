# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""How many row changes a rows event holds, for those who look at events one by one."""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.counting cimport RowsEvent, count_images, open_rows
from binx.kernels.cursor cimport Cursor, cursor_over
from binx.kernels.layouts cimport TableMaps


cdef class RowCounter:
    """Counts the row changes of a transaction's rows events; sees its table maps before."""

    cdef TableMaps maps

    def __init__(self):
        self.maps = TableMaps()

    def see(self, const uint8_t[::1] body, int id_width, int64_t position):
        """Take in a table map's body, whose table id has 4 or 6 bytes."""
        cdef Cursor cursor = cursor_over(&body[0] if body.shape[0] else NULL, body.shape[0], position)
        with nogil:
            self.maps.see(&cursor, id_width, 0)

    def count(self, const uint8_t[::1] body, uint8_t event_type, int post_header, int64_t position):
        """The number of row changes in a rows event's body, and 0 for one without a table."""
        cdef Cursor cursor = cursor_over(&body[0] if body.shape[0] else NULL, body.shape[0], position)
        cdef RowsEvent rows
        cdef int64_t count = 0
        with nogil:
            open_rows(self.maps, &cursor, event_type, post_header, 0, &rows)
            if rows.map >= 0:
                count = count_images(self.maps, &cursor, &rows)
        return count
