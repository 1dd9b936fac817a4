# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Render partial updates of JSON columns (WL#2955, sql/json_diff.cc) as text, or apply them to the old document.

A partial update is a vector of diffs that apply in order: an operation
(1 byte), the length of a path and the path as text, and, except for a removal, the
length of a document and the document in binary JSON.

To apply them, the old document becomes a tree that is expanded only along the
paths: a container on a path becomes a list of its members, and everything else
stays bytes and is rendered from them. The nodes take 32 bytes for each member of an
expanded container, charged once against the document's own bytes; so memory is
proportional to the document, however many diffs there are.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp

from binx.kernels.cursor cimport Cursor, cursor_over, remaining, take, take_packed
from binx.kernels.json.documents cimport (
    LARGE_ARRAY,
    LITERAL,
    MAX_DEPTH,
    SMALL_ARRAY,
    Container,
    Member,
    damaged,
    open_container,
    render,
    take_charged,
    take_key,
    take_member,
    write_value,
)
from binx.kernels.json.paths cimport Leg, bad_path, take_leg
from binx.kernels.output cimport Output, append, append_byte, bytes_in, empty_output, release, reserve
from binx.kernels.json.text cimport append_quoted, append_text

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


cdef int render_node(Patch *patch, uint32_t number, int depth, Output *out) except -1 nogil:
    """Append the text of a node, as ``write_value`` does; ``depth`` counts the containers around it."""
    cdef Node *node = node_at(patch, number)
    cdef bint is_object = not is_array(node.kind)
    cdef int64_t inlined = node.size
    cdef uint32_t member
    cdef int typed = 0
    cdef Cursor value = bytes_of(patch, node)
    if not node.is_opened:
        return write_value(
            node.kind, &value, &inlined if node.is_inlined else &patch.budget, depth, False, out
        )
    if depth >= MAX_DEPTH:
        damaged(&value, b"at most 100 levels", depth + 1)
    append_byte(out, c"{" if is_object else c"[")
    member = node.first
    while member != NONE:
        if member != node.first:
            append_text(out, b", ", 2)
        if is_object:
            append_quoted(&value, node_at(patch, member).key, node_at(patch, member).key_size, out)
            append_text(out, b": ", 2)
        typed |= render_node(patch, member, depth + 1, out)
        member = node_at(patch, member).next
    append_byte(out, c"}" if is_object else c"]")
    return typed


cdef bint apply_diff(Patch *patch, Cursor *before, Cursor *diff, Output *out) except -1 nogil:
    """Append the text of the old document with the diffs applied; False if a path is not in it.

    The cursors' memory must not move meanwhile; the cursors do not advance.
    """
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
    patch.typed = render_node(patch, ROOT, 0, out)
    if patch.nodes.capacity + patch.keys.capacity > KEPT_BYTES:
        release_patch(patch)
    return True


cdef void release_patch(Patch *patch) noexcept nogil:
    release(&patch.nodes)
    release(&patch.keys)


cdef int render_change(Cursor *diff, Output *out) except -1 nogil:
    """Append one diff as a JSON object."""
    cdef Cursor path, document
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
        render(&document, out)
    return append_byte(out, c"}")


cdef int render_diff(Cursor *diff, Output *out) except -1 nogil:
    """Append the diffs in the rest of the cursor as a JSON array."""
    cdef int64_t start = out.size
    append_byte(out, c"[")
    while remaining(diff):
        if out.size > start + 1:
            append_text(out, b", ", 2)
        render_change(diff, out)
    return append_byte(out, c"]")


def diff_to_text(const uint8_t[::1] data not None) -> str:
    cdef Cursor cursor = cursor_over(&data[0], data.shape[0], 0)
    cdef Output out = empty_output()
    try:
        with nogil:
            render_diff(&cursor, &out)
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
            is_applied = apply_diff(&patch, &before, &diff, &out)
        return bytes_in(&out).decode() if is_applied else None
    finally:
        release(&out)
        release_patch(&patch)
