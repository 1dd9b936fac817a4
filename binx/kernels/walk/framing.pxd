# cython: language_level=3
"""Where the next event of a window stands, and whether all of it is there."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from binx.kernels.walk.classify cimport bad_header
from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport little
from binx.kernels.walk.events cimport *

cdef enum:
    AT_EVENT = -2
    AT_LIMIT = 0
    AT_FORMAT = 1
    AT_TRUNCATED = 2
    AT_END = 3


cdef inline int64_t whole_event(const uint8_t *base, int64_t size, int64_t at) noexcept nogil:
    """The size of the event at a place if all of it is there; 0 where it is cut, -1 where no event is that small."""
    cdef int64_t claimed
    if size - at < HEADER_SIZE:
        return 0
    claimed = header_of(base + at).size
    if claimed < HEADER_SIZE:
        return -1
    return claimed if claimed <= size - at else 0


cdef inline bint is_proven(const uint8_t *event, int64_t size, int64_t available, int checksum_size) noexcept nogil:
    """Whether the bytes are an event beyond doubt, whatever its type: its checksum is right."""
    return (
        checksum_size != 0
        and size <= available
        and crc32(0, event, size - CHECKSUM_SIZE) == <uint32_t> little(event + size - CHECKSUM_SIZE, CHECKSUM_SIZE)
    )


cdef inline int frame_event(
    const uint8_t *base,
    int64_t size,
    int64_t origin,
    int64_t position,
    int64_t file_size,
    int checksum_size,
    int64_t vouched,
    bint any_type,
    Header *header,
) except -1 nogil:
    """Read the header of the event at ``position`` of a file whose bytes from ``origin`` on a window shows.

    ``AT_EVENT``: the window has all of it; of an event that was ``vouched`` for the beginning does.
    ``AT_LIMIT``: the window cuts it, and the file goes on. ``AT_TRUNCATED``: the file cuts it. ``AT_END``:
    nothing is left. ``AT_FORMAT``: it is a format description. Of a type that binx does not know it must be
    marked as ignorable or have the right checksum, unless ``any_type`` is taken.
    """
    cdef int64_t available = origin + size - position
    cdef const uint8_t *event
    if available < HEADER_SIZE:
        if origin + size < file_size:
            return AT_LIMIT
        return AT_END if available <= 0 else AT_TRUNCATED
    event = base + (position - origin)
    header[0] = header_of(event)
    if header.size < HEADER_SIZE + checksum_size or (
        not known_type(header.type)
        and not any_type
        and not header.flags & IGNORABLE_FLAG
        and not is_proven(event, header.size, available, checksum_size)
    ):
        bad_header(header, position)
    if header.size > file_size - position:
        return AT_TRUNCATED
    if header.size > available and position != vouched:
        return AT_LIMIT
    if header.type == FORMAT_DESCRIPTION_EVENT:
        return AT_FORMAT
    return AT_EVENT
