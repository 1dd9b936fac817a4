# cython: language_level=3
"""The least and the largest value of a column chunk, in the order that Parquet's statistics have.

Whole numbers are compared as what they are, with or without sign; of floating-point numbers NaN counts as none;
strings are compared by their unsigned bytes.

Source: the Apache Parquet format, ``ColumnOrder`` and ``Statistics`` in parquet.thrift.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from binx.kernels.blocks cimport BlockFunctions
from binx.kernels.bytearrays cimport Strings, compare, string_at
from binx.kernels.cursor cimport big

cdef struct Extent:
    bint is_known
    int64_t least
    int64_t largest
    # Of decimals the upper halves.
    int64_t least_high
    int64_t largest_high
    double least_float
    double largest_float
    const uint8_t *least_bytes
    const uint8_t *largest_bytes
    int64_t least_size
    int64_t largest_size


cdef inline void widen_signed(Extent *extent, int64_t least, int64_t largest) noexcept nogil:
    if not extent.is_known:
        extent.least, extent.largest = least, largest
        extent.is_known = True
        return
    extent.least = min(extent.least, least)
    extent.largest = max(extent.largest, largest)


cdef inline void extend_int32(
    Extent *extent, const BlockFunctions *blocks, const int32_t *values, int64_t count, bint is_signed
) noexcept nogil:
    cdef int32_t least
    cdef int32_t largest
    cdef uint32_t low
    cdef uint32_t high
    if is_signed:
        blocks.extent_i32(values, count, &least, &largest)
        widen_signed(extent, least, largest)
    else:
        blocks.extent_u32(<const uint32_t *> values, count, &low, &high)
        widen_signed(extent, low, high)


cdef inline void extend_int64(
    Extent *extent, const BlockFunctions *blocks, const int64_t *values, int64_t count, bint is_signed
) noexcept nogil:
    cdef int64_t least
    cdef int64_t largest
    cdef uint64_t low
    cdef uint64_t high
    if is_signed:
        blocks.extent_i64(values, count, &least, &largest)
        widen_signed(extent, least, largest)
        return
    blocks.extent_u64(<const uint64_t *> values, count, &low, &high)
    if extent.is_known:
        low = min(low, <uint64_t> extent.least)
        high = max(high, <uint64_t> extent.largest)
    extent.least, extent.largest = <int64_t> low, <int64_t> high
    extent.is_known = True


cdef inline void extend_float(Extent *extent, double value) noexcept nogil:
    if value != value:
        return
    if not extent.is_known:
        extent.least_float = extent.largest_float = value
        extent.is_known = True
    elif value < extent.least_float:
        extent.least_float = value
    elif value > extent.largest_float:
        extent.largest_float = value


cdef inline void extend_decimal(Extent *extent, int64_t high, uint64_t low) noexcept nogil:
    """128 bits with sign, in two halves."""
    if not extent.is_known:
        extent.least_high = extent.largest_high = high
        extent.least = extent.largest = <int64_t> low
        extent.is_known = True
        return
    if high < extent.least_high or (high == extent.least_high and low < <uint64_t> extent.least):
        extent.least_high, extent.least = high, <int64_t> low
    if high > extent.largest_high or (high == extent.largest_high and low > <uint64_t> extent.largest):
        extent.largest_high, extent.largest = high, <int64_t> low


cdef inline uint64_t beginning(const uint8_t *data, int64_t size) noexcept nogil:
    """A string's first eight bytes as a number that is ordered as they are."""
    return big(data, 8) if size >= 8 else (big(data, <int> size) << (8 * (8 - size)) if size else 0)


cdef inline void extend_strings(Extent *extent, const Strings *strings, int64_t first, int64_t last) noexcept nogil:
    cdef int64_t i
    cdef int64_t place
    cdef int64_t size
    cdef const uint8_t *data
    cdef uint64_t begin
    cdef uint64_t least_begin = 0
    cdef uint64_t largest_begin = 0
    if extent.is_known:
        least_begin = beginning(extent.least_bytes, extent.least_size)
        largest_begin = beginning(extent.largest_bytes, extent.largest_size)
    for i in range(first, last):
        place = string_at(strings, i)
        data = strings.data + strings.offsets[place]
        size = strings.offsets[place + 1] - strings.offsets[place]
        begin = beginning(data, size)
        if not extent.is_known:
            extent.least_bytes = extent.largest_bytes = data
            extent.least_size = extent.largest_size = size
            least_begin = largest_begin = begin
            extent.is_known = True
            continue
        if begin < least_begin or (
            begin == least_begin and compare(data, size, extent.least_bytes, extent.least_size) < 0
        ):
            extent.least_bytes, extent.least_size, least_begin = data, size, begin
        if begin > largest_begin or (
            begin == largest_begin and compare(data, size, extent.largest_bytes, extent.largest_size) > 0
        ):
            extent.largest_bytes, extent.largest_size, largest_begin = data, size, begin
