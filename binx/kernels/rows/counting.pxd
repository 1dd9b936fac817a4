# cython: language_level=3
"""Parse rows events as far as their table map, present columns and number of row images.

Source: ``Rows_event`` in MySQL's ``libs/mysql/binlog/event/rows_event.h``.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from binx.kernels.bitmaps cimport count_bits
from binx.kernels.cursor cimport Cursor, little, remaining, take, take_packed
from binx.kernels.walk.events cimport PARTIAL_UPDATE_ROWS_EVENT, PRE_GA_UPDATE_ROWS_EVENT, rows_operation, table_id_width
from binx.kernels.rows.layouts cimport TableLayout, TableMaps, skip_image

cdef enum:
    # Table ID of rows events without a table, which only end a statement.
    DUMMY_TABLE_ID = 0xFFFFFF
    PARTIAL_JSON_UPDATES = 1
    # Flags of rows that followed a foreign key, see binx.event.rows_events.RowsFlag.
    FOLLOWED_KEY = 0x0012

cdef struct RowsEvent:
    int operation
    bint partial
    int flags
    int32_t map
    # Whether it has rows, but no table map: MySQL 9.6 and later write none for rows that followed those of an event
    # that a client had executed (BINLOG); replicas pass over them.
    bint unmapped
    int32_t before_count
    int32_t after_count
    const uint8_t *before
    const uint8_t *after


cdef inline int bad_rows(Cursor *body, str message) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(message, offset=body.origin + body.position)


cdef inline int check_progress(Cursor *body, int64_t row_start) except -1 nogil:
    """Check that a row took bytes: a table without columns would have endless rows."""
    if body.position == row_start:
        bad_rows(body, "expected rows of at least one byte, found bytes behind a row without columns")
    return 0


cdef inline int open_rows(
    TableMaps maps, Cursor *body, uint8_t type, int post_header, int64_t ordinal, RowsEvent *rows
) except -1 nogil:
    """Parse everything before the first row; ``rows.map`` is -1 for an event without a table."""
    cdef int id_width = table_id_width(post_header)
    cdef uint64_t table_id = little(take(body, id_width), id_width)
    cdef uint64_t columns
    cdef int64_t extra
    cdef TableLayout *layout
    rows.operation = rows_operation(type)
    rows.partial = type == PARTIAL_UPDATE_ROWS_EVENT
    rows.map = -1
    rows.unmapped = False
    rows.flags = <int> little(take(body, 2), 2)
    if post_header == 10:
        extra = <int64_t> little(take(body, 2), 2)
        if extra < 2:
            bad_rows(body, "expected at least 2 bytes of extra data in a rows event, found fewer")
        take(body, extra - 2)
    if table_id == DUMMY_TABLE_ID:
        return 0
    take_packed(body, &columns)
    if rows.operation and rows.flags & FOLLOWED_KEY == FOLLOWED_KEY and not maps.has_map(table_id, ordinal):
        rows.unmapped = True
        return 0
    rows.map = maps.map_of(body, table_id, ordinal)
    layout = maps.layout(rows.map)
    if columns != <uint64_t> layout.columns:
        bad_rows(body, "expected as many columns in the rows event as in its table map, found another number")
    rows.before = take(body, (layout.columns + 7) >> 3)
    rows.before_count = count_bits(rows.before, layout.columns)
    rows.after = rows.before
    rows.after_count = rows.before_count
    if rows.operation == 1 and type != PRE_GA_UPDATE_ROWS_EVENT:
        rows.after = take(body, (layout.columns + 7) >> 3)
        rows.after_count = count_bits(rows.after, layout.columns)
    return 0


cdef inline int open_after_image(Cursor *body, const TableLayout *layout, RowsEvent *rows, const uint8_t **partial) except -1 nogil:
    """Parse what PARTIAL_UPDATE_ROWS has before an after image: options and a bit for each JSON column.

    ``partial`` is NULL if all values are whole.
    """
    cdef uint64_t options
    partial[0] = NULL
    if rows.partial:
        take_packed(body, &options)
        if options & ~(<uint64_t> PARTIAL_JSON_UPDATES):
            bad_rows(body, "expected no row options but partial JSON, found others")
        if options & PARTIAL_JSON_UPDATES:
            partial[0] = take(body, (layout.json_columns + 7) >> 3)
    return 0


cdef inline int check_null_bits(Cursor *body, int32_t present_count) except -1 nogil:
    """Check the unused bits of a row's null bitmap: servers set them (``pack_row``)."""
    cdef Cursor ahead = body[0]
    cdef int32_t size = (present_count + 7) >> 3
    if present_count & 7 and take(&ahead, size)[size - 1] >> (present_count & 7) != 0xFF >> (present_count & 7):
        bad_rows(body, "expected the null bits of so many columns, found others")
    return 0


cdef inline int64_t count_fitting(Cursor *body, const TableLayout *layout, RowsEvent *rows) except -1 nogil:
    """Count an event's changes; raises DamagedError if a value ends after the event or unused null bits are not set."""
    cdef int64_t count = 0
    cdef int64_t row_start
    while count == 0 or remaining(body):
        row_start = body.position
        check_null_bits(body, rows.before_count)
        skip_image(body, layout, rows.before, rows.before_count)
        if rows.operation == 1:
            check_null_bits(body, rows.after_count)
            skip_image(body, layout, rows.after, rows.after_count)
        count += 1
        if remaining(body):
            check_progress(body, row_start)
    return count


cdef inline int64_t count_old_times(Cursor body, const TableLayout *layout, RowsEvent *rows) except -2 with gil:
    """Count the changes of an event in which MariaDB may store more bytes of a value than its table map shows.

    Returns -1 if the rows do not match the layout's widths.
    """
    from binx.errors import DamagedError

    cdef int64_t count
    try:
        with nogil:
            count = count_fitting(&body, layout, rows)
    except DamagedError:
        return -1
    return count


cdef inline int64_t count_images(TableMaps maps, Cursor *body, RowsEvent *rows) except -2 nogil:
    """Count a rows event's changes (an update's two images are one).

    Returns -1 if the width of a column's values is unknown.
    """
    cdef TableLayout *layout = maps.layout(rows.map)
    cdef const uint8_t *partial
    cdef int64_t count = 0
    cdef int64_t row_start
    if layout.unknown:
        return -1
    if layout.old_times and maps.of_mariadb:
        return count_old_times(body[0], layout, rows)
    while True:
        row_start = body.position
        skip_image(body, layout, rows.before, rows.before_count)
        if rows.operation == 1:
            open_after_image(body, layout, rows, &partial)
            skip_image(body, layout, rows.after, rows.after_count)
        count += 1
        if remaining(body) == 0:
            return count
        check_progress(body, row_start)
