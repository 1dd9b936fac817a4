# cython: language_level=3
"""Texts about single values: what the server prints if Arrow has no such value, or the diffs of a JSON document."""

from libc.stdint cimport int32_t, int64_t

from binx.kernels.output cimport Output, append, release

cdef struct Note:
    int64_t row
    int32_t column
    int32_t size
    int64_t start

cdef struct Notes:
    # In order of rows; the texts may end with one that has no note yet.
    Output entries
    Output text


cdef inline int64_t add_note(Notes *notes, int64_t row, int32_t column, int64_t start) except -1 nogil:
    """Record that the text from ``start`` on is about a column's value in a row; returns the bytes that both take."""
    cdef Note note
    note.row = row
    note.column = column
    note.start = start
    note.size = <int32_t> (notes.text.size - start)
    append(&notes.entries, &note, sizeof(Note))
    return note.size + <int64_t> sizeof(Note)


cdef inline void drop_notes(Notes *notes, int64_t rows) noexcept nogil:
    """Discard the texts about values after the first ``rows`` rows, and one without a note."""
    cdef Note *note
    while notes.entries.size:
        note = (<Note *> (notes.entries.data + notes.entries.size)) - 1
        if note.row < rows:
            notes.text.size = note.start + note.size
            return
        notes.entries.size -= <int64_t> sizeof(Note)
    notes.text.size = 0


cdef inline list take_notes(Notes *notes):
    """Return each note as (row, column, text), and empty both buffers."""
    cdef const Note *note = <const Note *> notes.entries.data
    cdef int64_t i
    taken = [
        (note[i].row, note[i].column, notes.text.data[note[i].start : note[i].start + note[i].size].decode())
        for i in range(notes.entries.size // <int64_t> sizeof(Note))
    ]
    release_notes(notes)
    return taken


cdef inline void release_notes(Notes *notes) noexcept nogil:
    release(&notes.entries)
    release(&notes.text)
