# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Render MySQL's binary JSON (WL#8132, sql-common/json_binary.h) as the text that the server prints.

A document is a type byte and a value. An array or object holds the number of
its members and its size in bytes, then (objects) an offset and a length for
each key, then a type and an offset for each value, then keys and values;
offsets count from the container's start. Counts and offsets have 2 bytes in
small containers and 4 in large ones, and a value that fits into its offset
is stored inline. Values are formatted as by ``Json_wrapper::to_string``
(sql-common/json_dom.cc).

Crafted offsets can overlap, so that a few bytes expand into an endless text.
A server never shares bytes, so every byte read is charged against the
document's size; a document that exceeds it is damaged.

Render partial updates of JSON columns (WL#2955, sql/json_diff.cc) as text, or apply them to the old document.

A partial update is a vector of diffs that apply in order: an operation
(1 byte), the length of a path and the path as text, and, except for a removal, the
length of a document and the document in binary JSON.

To apply them, the old document becomes a tree that is expanded only along the
paths: a container on a path becomes a list of its members, and everything else
stays bytes and is rendered from them. The nodes take 32 bytes for each member of an
expanded container, charged once against the document's own bytes; so memory is
proportional to the document, however many diffs there are.
"""

from libc.math cimport isfinite
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memchr, memcmp, memcpy, memmove

from binx.kernels.calendar cimport real_date
from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take, take_packed
from binx.kernels.json.doubles cimport append_double
from binx.kernels.json.paths cimport Leg, bad_path, take_leg
from binx.kernels.json.temporal cimport append_temporal
from binx.kernels.json.text cimport (
    append_base64,
    append_hexadecimal,
    append_quoted,
    append_signed,
    append_sql_text,
    append_text,
    append_unsigned,
)
from binx.kernels.output cimport Output, append, append_byte, bytes_in, empty_output, release, reserve
from binx.kernels.rows.decimal cimport check_decimal, decimal_size, render_decimal
from binx.kernels.rows.layouts cimport (
    TYPE_DATE,
    TYPE_DATETIME,
    TYPE_NEWDECIMAL,
    TYPE_TIME,
    TYPE_TIMESTAMP,
    TYPE_VARCHAR,
)

from binx.errors import DamagedError


cdef enum:
    LONGEST_VARCHAR = 65535  # CAST turns longer values into a LONGBLOB


cdef int damaged(Cursor *cursor, const char *expected, int64_t found) except -1 with gil:
    """Raise DamagedError for what precedes the cursor's position."""
    raise DamagedError(
        f"expected {expected.decode('ascii')} in a JSON document, found {found}",
        offset=cursor.origin + cursor.position,
    )


cdef const uint8_t *take_charged(Cursor *cursor, int64_t count, int64_t *budget) except NULL nogil:
    """Take bytes and charge them, so that no byte of a document is rendered twice."""
    if count > budget[0]:
        damaged(cursor, b"values that share no bytes, in all as long as the document", count)
    budget[0] -= count
    return take(cursor, count)


cdef int render_literal(Cursor *value, int64_t *budget, Output *out) except -1 nogil:
    cdef uint8_t literal = take_charged(value, 1, budget)[0]
    if literal == 0:
        return append_text(out, b"null", 4)
    if literal == 1:
        return append_text(out, b"true", 4)
    if literal == 2:
        return append_text(out, b"false", 5)
    return damaged(value, b"null, true or false (0, 1, 2)", literal)


cdef int render_double(Cursor *value, int64_t *budget, Output *out) except -1 nogil:
    cdef double number
    memcpy(&number, take_charged(value, 8, budget), 8)
    if not isfinite(number):
        damaged(value, b"a finite number (JSON has no other)", 0)
    return append_double(out, number)


cdef int take_length(Cursor *value, int64_t *budget, int64_t *length) except -1 nogil:
    """Parse the length of a string or opaque value: seven bits per byte, at most five bytes."""
    cdef uint8_t byte = 0x80
    cdef int shift = 0
    length[0] = 0
    while byte & 0x80:
        if shift > 28:
            damaged(value, b"a length of at most five bytes", shift // 7 + 1)
        byte = take_charged(value, 1, budget)[0]
        length[0] |= <int64_t> (byte & 0x7F) << shift
        shift += 7
    return 0


cdef int write_string(Cursor *value, int64_t *budget, bint as_sql, Output *out) except -1 nogil:
    cdef int64_t length = 0
    cdef const uint8_t *text
    take_length(value, budget, &length)
    text = take_charged(value, length, budget)
    return append_sql_text(text, length, out) if as_sql else append_quoted(value, text, length, out)


cdef int render_opaque(Cursor *value, int64_t *budget, Output *out) except -1 nogil:
    """Append a value of an SQL type that JSON does not have: type, length, bytes. Returns 1."""
    cdef int type = take_charged(value, 1, budget)[0]
    cdef int64_t length = 0
    cdef const uint8_t *data
    take_length(value, budget, &length)
    data = take_charged(value, length, budget)
    if type == TYPE_NEWDECIMAL:
        if length < 2:
            damaged(value, b"a decimal's precision and scale", length)
        check_decimal(data[0], data[1])
        if decimal_size(data[0], data[1]) != length - 2:
            damaged(value, b"a decimal as long as its precision asks for", length - 2)
        render_decimal(data + 2, data[0], data[1], out)
        return 1
    if type in (TYPE_DATE, TYPE_TIME, TYPE_DATETIME, TYPE_TIMESTAMP):
        if length != 8:
            damaged(value, b"8 bytes of a date or time", length)
        append_temporal(value, type, <int64_t> little(data, 8), out)
        return 1
    append_text(out, b'"base64:type', 12)
    append_unsigned(out, type)
    append_byte(out, c":")
    append_base64(data, length, out)
    append_byte(out, c'"')
    return 1


cdef int open_container(uint8_t kind, Cursor *value, int64_t *budget, Container *container) except -1 nogil:
    """Parse the counts and entries of the array or object at the cursor."""
    cdef int64_t size, header
    cdef Cursor *body = &container.body
    container.is_object = kind == SMALL_OBJECT or kind == LARGE_OBJECT
    container.width = 4 if kind == LARGE_OBJECT or kind == LARGE_ARRAY else 2
    container.key_entry = container.width + 2 if container.is_object else 0
    body[0] = cursor_over(value.base + value.position, remaining(value), value.origin + value.position)
    container.count = <int64_t> little(take_charged(body, container.width, budget), container.width)
    size = <int64_t> little(take_charged(body, container.width, budget), container.width)
    header = 2 * container.width + container.count * (container.key_entry + container.width + 1)
    if size > body.size:
        damaged(body, b"a container that ends within the one around it", size)
    if header > size:
        damaged(body, b"a container as long as its entries", size)
    body.size = size
    container.header = header
    container.keys = take_charged(body, header - 2 * container.width, budget)
    container.values = container.keys + container.count * container.key_entry
    return 0


cdef const uint8_t *take_key(Container *container, int64_t i, int64_t *budget, int64_t *length) except NULL nogil:
    """Return the bytes of the i-th key; its entry holds an offset and a two-byte length."""
    cdef const uint8_t *entry = container.keys + i * container.key_entry
    cdef Cursor *body = &container.body
    length[0] = <int64_t> little(entry + container.width, 2)
    body.position = <int64_t> little(entry, container.width)
    if body.position < container.header or body.position > body.size:
        damaged(body, b"a key behind the container's entries and before its end", body.position)
    return take_charged(body, length[0], budget)


cdef int take_member(Container *container, int64_t i, Member *member) except -1 nogil:
    """Locate the i-th value: its entry holds a type byte and an offset, or the value itself if it fits."""
    cdef int width = container.width
    cdef const uint8_t *entry = container.values + i * (width + 1)
    cdef Cursor *body = &container.body
    cdef int64_t offset
    member.kind = entry[0]
    member.is_inlined = LITERAL <= entry[0] <= UINT16 or (width == 4 and INT32 <= entry[0] <= UINT32)
    if member.is_inlined:
        member.value = cursor_over(entry + 1, width, body.origin + (entry + 1 - body.base))
        return 0
    offset = <int64_t> little(entry + 1, width)
    if offset < container.header or offset > body.size:
        damaged(body, b"a value behind the container's entries and before its end", offset)
    member.value = cursor_over(body.base + offset, body.size - offset, body.origin + offset)
    return 0


cdef int write_container(
    uint8_t kind, Cursor *value, int64_t *budget, int depth, bint as_sql, Output *out
) except -1 nogil:
    """Append an array or object with its members; an inline member was charged with its entry."""
    cdef Container container
    cdef Member member
    cdef const uint8_t *key
    cdef int64_t i, inlined, length = 0
    cdef int flags = 0
    if depth > MAX_DEPTH:
        damaged(value, b"at most 100 levels", depth)
    open_container(kind, value, budget, &container)
    begin_container(container.is_object, as_sql, out)
    for i in range(container.count):
        if i:
            append_text(out, b", ", 2)
        if container.is_object:
            key = take_key(&container, i, budget, &length)
            append_key(&container.body, key, length, as_sql, out)
        take_member(&container, i, &member)
        inlined = member.value.size
        flags |= write_value(member.kind, &member.value, &inlined if member.is_inlined else budget, depth, as_sql, out)
    end_container(container.is_object, as_sql, out)
    return flags


cdef int begin_container(bint is_object, bint as_sql, Output *out) except -1 nogil:
    if as_sql:
        return append_text(out, b"JSON_OBJECT(" if is_object else b"JSON_ARRAY(", 12 if is_object else 11)
    return append_byte(out, c"{" if is_object else c"[")


cdef int append_key(Cursor *cursor, const uint8_t *key, int64_t size, bint as_sql, Output *out) except -1 nogil:
    """Append an object's key, and what is between it and its value."""
    if as_sql:
        append_sql_text(key, size, out)
    else:
        append_quoted(cursor, key, size, out)
    return append_text(out, b", " if as_sql else b": ", 2)


cdef int end_container(bint is_object, bint as_sql, Output *out) except -1 nogil:
    return append_byte(out, c")" if as_sql else c"}" if is_object else c"]")


cdef int write_value(
    uint8_t kind, Cursor *value, int64_t *budget, int depth, bint as_sql, Output *out
) except -1 nogil:
    """Append a value as the server prints it, or as an SQL argument that keeps its type in JSON_ARRAY or JSON_OBJECT.

    Returns 1 if anything in it has an SQL type that what is written does not show, else 0.

    Args:
        depth: number of containers around it.
        as_sql: write SQL; the value was rendered as text before, and so is not damaged.
    """
    if kind <= LARGE_ARRAY:
        return write_container(kind, value, budget, depth + 1, as_sql, out)
    if kind == STRING:
        return write_string(value, budget, as_sql, out)
    return scalar_as_sql(kind, value, budget, out) if as_sql else render_scalar(kind, value, budget, out)


cdef int render_scalar(uint8_t kind, Cursor *value, int64_t *budget, Output *out) except -1 nogil:
    if kind == LITERAL:
        return render_literal(value, budget, out)
    if kind == INT16:
        return append_signed(out, <int16_t> little(take_charged(value, 2, budget), 2))
    if kind == UINT16:
        return append_unsigned(out, little(take_charged(value, 2, budget), 2))
    if kind == INT32:
        return append_signed(out, <int32_t> little(take_charged(value, 4, budget), 4))
    if kind == UINT32:
        return append_unsigned(out, little(take_charged(value, 4, budget), 4))
    if kind == INT64:
        return append_signed(out, <int64_t> little(take_charged(value, 8, budget), 8))
    if kind == UINT64:
        return append_unsigned(out, little(take_charged(value, 8, budget), 8))
    if kind == DOUBLE:
        return render_double(value, budget, out)
    if kind == OPAQUE:
        return render_opaque(value, budget, out)
    return damaged(value, b"a value's type (0 to 12, or 15)", kind)


cdef int opaque_as_sql(Cursor *value, int64_t *budget, Output *out) except -1 nogil:
    """Append a value of an SQL type as an expression of that type. Returns 1 if only its text can be written."""
    cdef Cursor inside = value[0]
    cdef int64_t left = remaining(value), length = 0, start
    cdef int type = take_charged(&inside, 1, &left)[0]
    cdef const uint8_t *data
    cdef uint64_t packed
    cdef int months
    cdef bint is_cast
    take_length(&inside, &left, &length)
    data = inside.base + inside.position
    if type in (TYPE_DATE, TYPE_DATETIME, TYPE_TIMESTAMP):
        packed = little(data, 8)
        months = <int> (packed >> 46)
        if not real_date(months // 13, months % 13, <int> ((packed >> 41) & 31)):
            type = 0  # servers accept it in some SQL modes only
    elif type == TYPE_VARCHAR and length > LONGEST_VARCHAR:
        type = 0
    if type == TYPE_NEWDECIMAL:
        # A literal has as many digits as it shows; CAST pads those before the point to whole groups of nine.
        is_cast = data[0] > data[1] and (data[0] - data[1]) % 9 == 0
        append_text(out, b"CAST(", 5 if is_cast else 0)
        render_opaque(value, budget, out)
        if not is_cast:
            return 0 if data[1] else append_byte(out, c".")
        append_text(out, b" AS DECIMAL(", 12)
        append_unsigned(out, data[0])
        append_byte(out, c",")
        append_unsigned(out, data[1])
        return append_text(out, b"))", 2)
    if type in (TYPE_DATE, TYPE_TIME, TYPE_DATETIME, TYPE_TIMESTAMP, TYPE_VARCHAR):
        append_text(out, b"CAST(", 5)
    if type == TYPE_VARCHAR:
        append_hexadecimal(data, length, out)
        return append_text(out, b" AS BINARY)", 11)
    start = out.size
    render_opaque(value, budget, out)
    # Between the quotes, SQL reads base64's escaped line feeds as JSON does, and everything else unchanged.
    out.data[start] = out.data[out.size - 1] = c"'"
    if type == TYPE_DATE:
        return append_text(out, b" AS DATE)", 9)
    if type == TYPE_TIME:
        return append_text(out, b" AS TIME(6))", 12)
    if type == TYPE_DATETIME or type == TYPE_TIMESTAMP:
        return append_text(out, b" AS DATETIME(6))", 16)
    return 1


cdef int scalar_as_sql(uint8_t kind, Cursor *value, int64_t *budget, Output *out) except -1 nogil:
    cdef int64_t start = out.size
    if kind == OPAQUE:
        return opaque_as_sql(value, budget, out)
    if kind == UINT16 or kind == UINT32 or kind == UINT64:
        append_text(out, b"CAST(", 5)
        render_scalar(kind, value, budget, out)
        return append_text(out, b" AS UNSIGNED)", 13)
    render_scalar(kind, value, budget, out)
    if kind == DOUBLE and memchr(out.data + start, c"e", out.size - start) == NULL:
        append_text(out, b"e0", 2)
    return 0


cdef int begin_sql(uint8_t kind, Output *out) except -1 nogil:
    """Begin an SQL expression that is a document: containers are one, scalars are cast to one."""
    return append_text(out, b"CAST(", 0 if kind <= LARGE_ARRAY else 5)


cdef int end_sql(uint8_t kind, Output *out) except -1 nogil:
    return append_text(out, b" AS JSON)", 0 if kind <= LARGE_ARRAY else 9)


cdef bint is_sql(const Output *out, int64_t start) noexcept nogil:
    """Whether what was appended from an offset on is an SQL expression: no document's text begins as these do."""
    return out.data[start] == c"J" or out.data[start] == c"C"


cdef int render(Cursor *document, bint exact, Output *out) except -1 nogil:
    """Append the text of the document in the rest of the cursor; an empty document is null.

    With ``exact``, a document with a value of an SQL type that the text does not show (DECIMAL, DATE, binary …) is an
    SQL expression instead, which evaluates to it with all its types, see ``is_sql``.

    Returns 1 if what is written does not show a type, else 0.
    """
    cdef int64_t start = out.size
    cdef int64_t budget = remaining(document)
    cdef Cursor value
    cdef uint8_t kind
    cdef int typed
    if budget == 0:
        return append_text(out, b"null", 4)
    kind = take_charged(document, 1, &budget)[0]
    value = document[0]
    typed = write_value(kind, document, &budget, 0, False, out)
    document.position = document.size
    if typed and exact:
        out.size = start
        budget = remaining(&value)
        begin_sql(kind, out)
        typed = write_value(kind, &value, &budget, 0, True, out)
        end_sql(kind, out)
    return typed


def to_text(const uint8_t[::1] data not None) -> str:
    cdef Cursor cursor = cursor_over(&data[0], data.shape[0], 0)
    cdef Output out = empty_output()
    try:
        with nogil:
            render(&cursor, False, &out)
        return bytes_in(&out).decode()
    finally:
        release(&out)


cdef enum:  # enum_json_diff_operation
    REPLACE = 0
    INSERT = 1
    REMOVE = 2

cdef enum:
    ROOT = 0
    NONE = 0  # the root is not a member of a container, so its number marks the end of a list
    KEPT_BYTES = 1 << 20  # maximum memory of nodes and keys that is kept for the next row

cdef struct Node:
    # A value of the document: its bytes up to the end of its container, or, once expanded, its first member.
    const uint8_t *key
    const uint8_t *value
    uint32_t size
    uint32_t first
    uint32_t next
    uint16_t key_size
    uint8_t kind
    uint8_t is_opened
    uint8_t is_inlined

cdef const uint8_t *NULL_LITERAL = b"\0"


cdef inline Node *node_at(Patch *patch, uint32_t number) noexcept nogil:
    return (<Node *> patch.nodes.data) + number


cdef inline bint is_array(uint8_t kind) noexcept nogil:
    return kind == SMALL_ARRAY or kind == LARGE_ARRAY


cdef Cursor bytes_of(Patch *patch, const Node *node) noexcept nogil:
    """Return a cursor over a node's bytes, with the origin of the document that they are in."""
    cdef const Cursor *document = &patch.before
    if not document.base <= node.value <= document.base + document.size:
        document = &patch.diff
    return cursor_over(node.value, node.size, document.origin + (node.value - document.base))


cdef int64_t add_node(Patch *patch) except -1 nogil:
    cdef Node blank = Node(NULL, NULL, 0, NONE, NONE, 0, 0, False, False)
    append(&patch.nodes, &blank, sizeof(Node))
    return patch.nodes.size // <int64_t> sizeof(Node) - 1


cdef int set_document(Patch *patch, Node *node, Cursor *document) except -1 nogil:
    """Set a node to the document in a cursor; an empty document is null."""
    node.first = NONE
    node.is_opened = False
    node.is_inlined = remaining(document) == 0
    if node.is_inlined:
        node.kind = LITERAL
        node.value = NULL_LITERAL
        node.size = 1
        return 0
    node.kind = take_charged(document, 1, &patch.budget)[0]
    node.value = document.base + document.position
    node.size = <uint32_t> remaining(document)
    return 0


cdef int open_node(Patch *patch, uint32_t number) except -1 nogil:
    """Expand an array or object into nodes, one per member, in order."""
    cdef Container container
    cdef Member member
    cdef Cursor cursor = bytes_of(patch, node_at(patch, number))
    cdef Node *node
    cdef const uint8_t *key = NULL
    cdef int64_t i, added, length = 0, previous = NONE
    if node_at(patch, number).is_opened:
        return 0
    open_container(node_at(patch, number).kind, &cursor, &patch.budget, &container)
    reserve(&patch.nodes, container.count * <int64_t> sizeof(Node))
    for i in range(container.count):
        if container.is_object:
            key = take_key(&container, i, &patch.budget, &length)
        take_member(&container, i, &member)
        added = add_node(patch)
        node = node_at(patch, added)
        node.key = key
        node.key_size = <uint16_t> length
        node.kind = member.kind
        node.value = member.value.base
        node.size = <uint32_t> member.value.size
        node.is_inlined = member.is_inlined
        if previous == NONE:
            node_at(patch, number).first = added
        else:
            node_at(patch, previous).next = added
        previous = added
    node_at(patch, number).is_opened = True
    return 0


cdef int key_order(const Node *node, const Leg *leg) noexcept nogil:
    """Compare keys by length, then by bytes (``Json_key_comparator``, sql-common/json_dom.cc)."""
    if node.key_size != leg.size:
        return -1 if node.key_size < leg.size else 1
    return memcmp(node.key, leg.name, leg.size)


cdef void index_from_first(Patch *patch, uint32_t container, Leg *leg) noexcept nogil:
    """Convert an index from the last cell to one from the first; below 0 if before the first."""
    cdef uint32_t number = node_at(patch, container).first
    leg.index = -1 - leg.index
    while number != NONE:
        leg.index += 1
        number = node_at(patch, number).next


cdef bint seek(Patch *patch, uint32_t container, const Leg *leg, uint32_t *previous, uint32_t *member) noexcept nogil:
    """Find a member of an expanded container; ``previous`` is the member after which it is or would be."""
    cdef uint32_t number = node_at(patch, container).first
    cdef int64_t index = 0
    cdef int order
    previous[0] = NONE
    while number != NONE:
        if leg.is_cell:
            order = (index > leg.index) - (index < leg.index)
        else:
            order = key_order(node_at(patch, number), leg)
        if order >= 0:
            member[0] = number
            return order == 0
        previous[0] = number
        number = node_at(patch, number).next
        index += 1
    member[0] = NONE
    return False


cdef void link_after(Patch *patch, uint32_t container, uint32_t previous, uint32_t number) noexcept nogil:
    if previous == NONE:
        node_at(patch, container).first = number
    else:
        node_at(patch, previous).next = number


cdef bint change_member(
    Patch *patch, uint32_t container, const Leg *leg, uint8_t operation, Cursor *document
) except -1 nogil:
    """Apply one operation to a container's member; False if the member is missing, or exists already."""
    cdef uint32_t previous = NONE, number = NONE
    cdef bint exists = seek(patch, container, leg, &previous, &number)
    cdef uint32_t added
    if operation == REMOVE:
        if exists:
            link_after(patch, container, previous, node_at(patch, number).next)
        return exists
    if operation == REPLACE:
        if exists:
            set_document(patch, node_at(patch, number), document)
        return exists
    if exists and not leg.is_cell:
        return False
    if not leg.is_cell and leg.size > 0xFFFF:
        return False
    added = <uint32_t> add_node(patch)
    set_document(patch, node_at(patch, added), document)
    if not leg.is_cell:
        node_at(patch, added).key = leg.name
        node_at(patch, added).key_size = <uint16_t> leg.size
    node_at(patch, added).next = number
    link_after(patch, container, previous, added)
    return True


cdef bint apply_change(Patch *patch, uint8_t operation, Cursor *path, Cursor *document) except -1 nogil:
    """Apply one diff; False if its path is not in the document."""
    cdef uint32_t container = ROOT, previous = NONE, number = NONE
    cdef uint8_t kind
    cdef Leg leg
    if take(path, 1)[0] != c"$":
        bad_path(path)
    while remaining(path):
        take_leg(path, &patch.keys, &leg)
        kind = node_at(patch, container).kind
        if kind > LARGE_ARRAY or is_array(kind) != leg.is_cell:
            return False
        open_node(patch, container)
        if leg.is_cell and leg.is_from_last:
            index_from_first(patch, container, &leg)
        if remaining(path) == 0:
            return change_member(patch, container, &leg, operation, document)
        if not seek(patch, container, &leg, &previous, &number):
            return False
        container = number
    return False


cdef uint8_t take_change(Cursor *diff, Cursor *path, Cursor *document) except? 255 nogil:
    """Parse the next diff: its operation, and cursors over its path and document."""
    cdef uint8_t operation = take(diff, 1)[0]
    cdef uint64_t length = 0
    cdef int64_t start
    if operation > REMOVE:
        damaged(diff, b"a change's operation (0 to 2)", operation)
    take_packed(diff, &length)
    start = diff.origin + diff.position
    path[0] = cursor_over(take(diff, <int64_t> length), <int64_t> length, start)
    if operation != REMOVE:
        take_packed(diff, &length)
        start = diff.origin + diff.position
        document[0] = cursor_over(take(diff, <int64_t> length), <int64_t> length, start)
    return operation


cdef int render_node(Patch *patch, uint32_t number, int depth, bint as_sql, Output *out) except -1 nogil:
    """Append a node, as ``write_value`` does; ``depth`` counts the containers around it."""
    cdef Node *node = node_at(patch, number)
    cdef bint is_object = not is_array(node.kind)
    cdef int64_t inlined = node.size
    cdef uint32_t member
    cdef int typed = 0
    cdef Cursor value = bytes_of(patch, node)
    if not node.is_opened:
        return write_value(
            node.kind, &value, &inlined if node.is_inlined else &patch.budget, depth, as_sql, out
        )
    if depth >= MAX_DEPTH:
        damaged(&value, b"at most 100 levels", depth + 1)
    begin_container(is_object, as_sql, out)
    member = node.first
    while member != NONE:
        if member != node.first:
            append_text(out, b", ", 2)
        if is_object:
            append_key(&value, node_at(patch, member).key, node_at(patch, member).key_size, as_sql, out)
        typed |= render_node(patch, member, depth + 1, as_sql, out)
        member = node_at(patch, member).next
    end_container(is_object, as_sql, out)
    return typed


cdef bint apply_diff(Patch *patch, Cursor *before, Cursor *diff, bint exact, Output *out) except -1 nogil:
    """Append the old document with the diffs applied; False if a path is not in it.

    The cursors' memory must not move meanwhile; the cursors do not advance.

    Args:
        exact: append an SQL expression, as ``render`` does, if the text does not show all types.
    """
    cdef int64_t start = out.size
    cdef uint8_t kind
    cdef Cursor changes = diff[0]
    cdef Cursor document = before[0]
    cdef Cursor path
    cdef uint8_t operation
    patch.before = before[0]
    patch.diff = diff[0]
    patch.nodes.size = 0
    patch.keys.size = 0
    patch.budget = remaining(before) + remaining(diff)
    # An escape is never shorter than its character, so the keys' memory does not move once nodes point into it.
    reserve(&patch.keys, remaining(diff) + 1)
    add_node(patch)
    set_document(patch, node_at(patch, ROOT), &document)
    while remaining(&changes):
        document = cursor_over(NULL_LITERAL, 0, diff.origin)
        operation = take_change(&changes, &path, &document)
        if not apply_change(patch, operation, &path, &document):
            return False
    patch.typed = render_node(patch, ROOT, 0, False, out)
    if patch.typed and exact:
        out.size = start
        # All bytes are read once more.
        patch.budget = remaining(before) + remaining(diff)
        kind = node_at(patch, ROOT).kind
        begin_sql(kind, out)
        patch.typed = render_node(patch, ROOT, 0, True, out)
        end_sql(kind, out)
    if patch.nodes.capacity + patch.keys.capacity > KEPT_BYTES:
        release_patch(patch)
    return True


cdef void release_patch(Patch *patch) noexcept nogil:
    release(&patch.nodes)
    release(&patch.keys)


cdef int render_change(Cursor *diff, bint exact, Output *out) except -1 nogil:
    """Append one diff as a JSON object. Returns 1 if its value's text does not show all types, else 0.

    With ``exact``, such a value is an SQL expression under ``sql`` instead.
    """
    cdef Cursor path, document
    cdef int typed = 0
    cdef int64_t start
    cdef uint8_t operation = take_change(diff, &path, &document)
    if operation == REPLACE:
        append_text(out, b'{"op": "replace", "path": ', 26)
    elif operation == INSERT:
        append_text(out, b'{"op": "insert", "path": ', 25)
    else:
        append_text(out, b'{"op": "remove", "path": ', 25)
    append_quoted(&path, path.base, path.size, out)
    if operation != REMOVE:
        append_text(out, b', "value": ', 11)
        start = out.size
        typed = render(&document, exact, out)
        if is_sql(out, start):
            memcpy(out.data + start - 11, b', "sql": ', 9)
            quote_end(&path, start, start - 2, out)
    append_byte(out, c"}")
    return typed


cdef int quote_end(Cursor *cursor, int64_t start, int64_t place, Output *out) except -1 nogil:
    """Replace what stands from ``place`` on by the text from ``start`` on as a JSON string."""
    cdef int64_t size = out.size - start
    # Escapes take up to six bytes: the text must not move while it is read.
    reserve(out, 6 * size + 2)
    append_quoted(cursor, out.data + start, size, out)
    out.size -= size + start - place
    memmove(out.data + place, out.data + start + size, out.size - place)
    return 0


cdef int render_diff(Cursor *diff, bint exact, Output *out) except -1 nogil:
    """Append the diffs in the rest of the cursor as a JSON array; see ``render_change``."""
    cdef int typed = 0
    cdef int64_t start = out.size
    append_byte(out, c"[")
    while remaining(diff):
        if out.size > start + 1:
            append_text(out, b", ", 2)
        typed |= render_change(diff, exact, out)
    append_byte(out, c"]")
    return typed


def diff_to_text(const uint8_t[::1] data not None) -> str:
    cdef Cursor cursor = cursor_over(&data[0], data.shape[0], 0)
    cdef Output out = empty_output()
    try:
        with nogil:
            render_diff(&cursor, False, &out)
        return bytes_in(&out).decode()
    finally:
        release(&out)


def applied(const uint8_t[::1] document not None, const uint8_t[::1] changes not None) -> str | None:
    cdef Cursor before = cursor_over(&document[0], document.shape[0], 0)
    cdef Cursor diff = cursor_over(&changes[0], changes.shape[0], 0)
    cdef Output out = empty_output()
    cdef Patch patch = Patch(before, diff, empty_output(), empty_output(), 0, 0)
    cdef bint is_applied
    try:
        with nogil:
            is_applied = apply_diff(&patch, &before, &diff, False, &out)
        return bytes_in(&out).decode() if is_applied else None
    finally:
        release(&out)
        release_patch(&patch)
