# cython: language_level=3
"""Column layouts of table maps: how to skip each column of a row image."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t, uint8_t

from binx.kernels.bitmaps cimport bit_at
from binx.kernels.cursor cimport Cursor, little, take
from binx.kernels.hashing cimport Slots
from binx.kernels.output cimport Output


cdef enum:
    TYPE_DECIMAL = 0
    TYPE_TINY = 1
    TYPE_SHORT = 2
    TYPE_LONG = 3
    TYPE_FLOAT = 4
    TYPE_DOUBLE = 5
    TYPE_NULL = 6
    TYPE_TIMESTAMP = 7
    TYPE_LONGLONG = 8
    TYPE_INT24 = 9
    TYPE_DATE = 10
    TYPE_TIME = 11
    TYPE_DATETIME = 12
    TYPE_YEAR = 13
    TYPE_NEWDATE = 14
    TYPE_VARCHAR = 15
    TYPE_BIT = 16
    TYPE_TIMESTAMP2 = 17
    TYPE_DATETIME2 = 18
    TYPE_TIME2 = 19
    TYPE_TYPED_ARRAY = 20
    TYPE_BLOB_COMPRESSED = 140
    TYPE_VARCHAR_COMPRESSED = 141
    TYPE_VECTOR = 242
    TYPE_JSON = 245
    TYPE_NEWDECIMAL = 246
    TYPE_ENUM = 247
    TYPE_SET = 248
    TYPE_TINY_BLOB = 249
    TYPE_MEDIUM_BLOB = 250
    TYPE_LONG_BLOB = 251
    TYPE_BLOB = 252
    TYPE_VAR_STRING = 253
    TYPE_STRING = 254
    TYPE_GEOMETRY = 255

    COLUMNS_MAXIMUM = 4096

cdef struct ColumnLayout:
    # prefix: bytes of the length before a value; 0 if values have the fixed width `width`.
    # run: bytes of the fixed-width columns from this one to the next column with a length prefix, whose size is `stop`
    # (0 if there is none); run_columns: the number of these columns, including the one with a length prefix.
    # computed: a generated column, which a definition tells.
    uint8_t type
    bint computed
    uint8_t prefix
    uint8_t stop
    uint16_t metadata
    int32_t width
    int32_t run
    int32_t run_columns

cdef struct TableLayout:
    # old_times: has TIME, DATETIME or TIMESTAMP columns in the format before MySQL 5.6, whose width MariaDB may not log.
    # logged: the columns from the table map alone, if widths from a definition replaced them; else NULL.
    # unknown: number (from 1) of the first column whose type has no known width, 0 if there is none; the rows of such a
    # table cannot be told apart, and the layout ends before that column.
    int32_t columns
    int32_t json_columns
    int32_t table
    int32_t unknown
    bint old_times
    uint8_t unknown_type
    ColumnLayout *column
    ColumnLayout *logged

cdef struct CurrentMap:
    # owner: number of the transaction that last wrote the table map.
    uint64_t table_id
    int32_t number
    int32_t owner


cdef class TableMaps:
    """The distinct table maps of a file, numbered, and the current one of each table ID."""

    cdef Slots bodies
    cdef Slots names
    cdef Output layouts
    # Table IDs; each one's number is its index in the current_maps.
    cdef Slots ids
    cdef Output current_maps
    cdef int64_t latest
    cdef bint of_mariadb

    @cython.final
    cdef inline TableLayout *layout(self, int32_t number) noexcept nogil:
        """Return a table map's layout; the pointer is valid until the next new table map."""
        return (<TableLayout *> self.layouts.data) + number

    cdef TableLayout *layout_for(self, int32_t number, list facts) except NULL
    cdef void set_format(self, int64_t types) noexcept
    cdef int32_t see(self, Cursor *body, int id_width, int64_t transaction) except -1 nogil
    cdef bint has_map(self, uint64_t table_id, int64_t transaction) noexcept nogil
    cdef int32_t map_of(self, Cursor *body, uint64_t table_id, int64_t transaction) except -1 nogil
    cdef int parse_map(self, Cursor *body) except -1 nogil
    cdef int no_map(self, Cursor *body, uint64_t table_id) except -1 with gil
    cdef int unreadable_map(self, Cursor *body, uint64_t table_id) except -1 with gil
    cdef int undecodable(self, Cursor *body, int32_t number) except -1 with gil


cdef inline bint is_old_time(uint8_t type) noexcept nogil:
    return type == TYPE_TIME or type == TYPE_DATETIME or type == TYPE_TIMESTAMP


cdef inline uint64_t null_word(const uint8_t *nulls, int32_t count) noexcept nogil:
    """Return the first ``count`` bits of a null bitmap, at most 64, without the unused bits, which servers set."""
    cdef uint64_t word = little(nulls, (count + 7) >> 3)
    return word if count == 64 else word & ((<uint64_t> 1 << count) - 1)


cdef inline int skip_image(
    Cursor *image, const TableLayout *layout, const uint8_t *present, int32_t present_count
) except -1 nogil:
    """Skip one row image: the null bitmap of the present columns, then their values."""
    cdef Cursor rest = image[0]
    cdef const uint8_t *nulls = take(&rest, (present_count + 7) >> 3)
    cdef const uint8_t *data
    cdef const ColumnLayout *column = layout.column
    cdef const ColumnLayout *end = column + layout.columns
    cdef bint whole = present_count == layout.columns
    cdef uint64_t word
    cdef int32_t present_index = 0
    if whole and present_count <= 64:
        word = null_word(nulls, present_count)
        while column < end:
            if word & (((<uint64_t> 2) << (column.run_columns - 1)) - 1) == 0:
                # Skip fixed-width columns and the length prefix after them at once.
                data = take(&rest, column.run + column.stop)
                if column.stop:
                    take(&rest, <int64_t> little(data + column.run, column.stop))
                word = word >> 1 >> (column.run_columns - 1)
                column += column.run_columns
                continue
            if word & 1 == 0:
                take(&rest, column.width)
            word >>= 1
            column += 1
    else:
        while column < end:
            if whole or bit_at(present, column - layout.column):
                if not bit_at(nulls, present_index):
                    if column.prefix == 0:
                        take(&rest, column.width)
                    else:
                        take(&rest, <int64_t> little(take(&rest, column.prefix), column.prefix))
                present_index += 1
            column += 1
    image.position = rest.position
    return 0
