# cython: language_level=3
"""Arrow's fixed-width values as Parquet's physical types have them, one behind the other without nulls."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcmp, memcpy

from binx.kernels.output cimport Output, reserve

cdef enum:
    DECIMAL_SIZE = 16

cpdef enum Form:
    """What a leaf's values are in Arrow, and so in Parquet."""

    FORM_BOOL
    FORM_INT8
    FORM_INT16
    FORM_UINT16
    FORM_INT32
    FORM_UINT32
    FORM_INT64
    FORM_UINT64
    FORM_FLOAT32
    FORM_FLOAT64
    # Decimals of 128 bits that are written as integers of 32 or 64 bits, or as big-endian bytes.
    FORM_DECIMAL_AS_INT32
    FORM_DECIMAL_AS_INT64
    FORM_DECIMAL
    FORM_BYTES
    # A dictionary of byte strings.
    FORM_WORDS


cdef inline int form_size(int form) noexcept nogil:
    """Bytes of a value in Arrow; 0 where it is not a whole number of them, or not one for all."""
    if form == FORM_INT8:
        return 1
    if form == FORM_INT16 or form == FORM_UINT16:
        return 2
    if form == FORM_INT32 or form == FORM_UINT32 or form == FORM_FLOAT32:
        return 4
    if form == FORM_INT64 or form == FORM_UINT64 or form == FORM_FLOAT64:
        return 8
    if form == FORM_DECIMAL_AS_INT32 or form == FORM_DECIMAL_AS_INT64 or form == FORM_DECIMAL:
        return DECIMAL_SIZE
    return 0


cdef inline bint is_whole(int form) noexcept nogil:
    """Whether values are written as integers."""
    return FORM_INT8 <= form <= FORM_UINT64 or form == FORM_DECIMAL_AS_INT32 or form == FORM_DECIMAL_AS_INT64


cdef inline bint is_32(int form) noexcept nogil:
    """Whether these are of 32 bits."""
    return FORM_INT8 <= form <= FORM_UINT32 or form == FORM_DECIMAL_AS_INT32


cdef inline bint all_alike(const uint8_t *values, const int32_t *places, int64_t first, int64_t count, int size) noexcept nogil:
    """Whether all of at least one value have the same bytes."""
    cdef int64_t i
    if places == NULL:
        return memcmp(values + first * size, values + (first + 1) * size, (count - 1) * size) == 0
    for i in range(1, count):
        if memcmp(values + <int64_t> places[0] * size, values + <int64_t> places[i] * size, size):
            return False
    return True


cdef inline const int32_t *as_int32(
    Output *taken, int form, const uint8_t *values, const int32_t *places, int64_t first, int64_t count
) except? NULL nogil:
    """Values as 32-bit integers; Arrow's own memory where they are so there."""
    cdef int32_t *out
    cdef int64_t i
    if places == NULL and (form == FORM_INT32 or form == FORM_UINT32):
        return (<const int32_t *> values) + first
    taken.size = 0
    reserve(taken, count * 4 + 8)
    out = <int32_t *> taken.data
    if places == NULL:
        if form == FORM_INT8:
            for i in range(count):
                out[i] = (<const int8_t *> values)[first + i]
        elif form == FORM_INT16:
            for i in range(count):
                out[i] = (<const int16_t *> values)[first + i]
        elif form == FORM_UINT16:
            for i in range(count):
                out[i] = (<const uint16_t *> values)[first + i]
        else:
            for i in range(count):
                out[i] = (<const int32_t *> (values + (first + i) * DECIMAL_SIZE))[0]
    elif form == FORM_INT8:
        for i in range(count):
            out[i] = (<const int8_t *> values)[places[i]]
    elif form == FORM_INT16:
        for i in range(count):
            out[i] = (<const int16_t *> values)[places[i]]
    elif form == FORM_UINT16:
        for i in range(count):
            out[i] = (<const uint16_t *> values)[places[i]]
    elif form == FORM_DECIMAL_AS_INT32:
        for i in range(count):
            out[i] = (<const int32_t *> (values + <int64_t> places[i] * DECIMAL_SIZE))[0]
    else:
        for i in range(count):
            out[i] = (<const int32_t *> values)[places[i]]
    return out


cdef inline const int64_t *as_int64(
    Output *taken, int form, const uint8_t *values, const int32_t *places, int64_t first, int64_t count
) except? NULL nogil:
    """Values as 64-bit integers; Arrow's own memory where they are so there."""
    cdef int64_t *out
    cdef int64_t i
    cdef int64_t step = 2 if form == FORM_DECIMAL_AS_INT64 else 1
    if places == NULL and step == 1:
        return (<const int64_t *> values) + first
    taken.size = 0
    reserve(taken, count * 8 + 8)
    out = <int64_t *> taken.data
    if places == NULL:
        for i in range(count):
            out[i] = (<const int64_t *> values)[(first + i) * step]
    else:
        for i in range(count):
            out[i] = (<const int64_t *> values)[<int64_t> places[i] * step]
    return out


cdef inline int put_fixed(
    Output *page, const uint8_t *values, const int32_t *places, int64_t first, int64_t count, int size
) except -1 nogil:
    """Append values as they are."""
    cdef int64_t i
    cdef uint8_t *out
    reserve(page, count * size + 8)
    out = page.data + page.size
    if places == NULL:
        memcpy(out, values + first * size, count * size)
    elif size == 4:
        for i in range(count):
            memcpy(out + i * 4, values + <int64_t> places[i] * 4, 4)
    else:
        for i in range(count):
            memcpy(out + i * 8, values + <int64_t> places[i] * 8, 8)
    page.size += count * size
    return 0


cdef inline int put_decimals(
    Output *page, const uint8_t *values, const int32_t *places, int64_t first, int64_t count, int width
) except -1 nogil:
    """Append 128-bit integers as so many bytes each, the highest first."""
    cdef int64_t i
    cdef int at
    cdef const uint8_t *value
    cdef uint8_t *out
    reserve(page, count * width + 8)
    out = page.data + page.size
    for i in range(count):
        value = values + (first + i if places == NULL else places[i]) * DECIMAL_SIZE
        for at in range(width):
            out[at] = value[width - 1 - at]
        out += width
    page.size += count * width
    return 0


cdef inline int put_bools(
    Output *page, const uint8_t *bits, const int32_t *places, int64_t count
) except -1 nogil:
    """Append the bits at some places."""
    cdef int64_t i
    cdef uint8_t byte = 0
    reserve(page, count // 8 + 8)
    for i in range(count):
        byte |= (bits[places[i] >> 3] >> (places[i] & 7) & 1) << (i & 7)
        if i & 7 == 7 or i == count - 1:
            page.data[page.size] = byte
            page.size += 1
            byte = 0
    return 0
