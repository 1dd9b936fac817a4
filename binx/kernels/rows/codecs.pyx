# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What each codec writes, and what it must find stored: a codec that does not fit a column is refused."""

from binx.errors import UnsupportedError

from binx.kernels.rows.decimal cimport check_decimal, decimal_size

ITEM_SIZES = {
    CODEC_NULL: 1,
    CODEC_COPY1: 1,
    CODEC_COPY2: 2,
    CODEC_COPY4: 4,
    CODEC_COPY8: 8,
    CODEC_UINT8: 2,
    CODEC_UINT16: 4,
    CODEC_INT24: 4,
    CODEC_UINT24: 4,
    CODEC_UINT32: 8,
    CODEC_UINT64_DECIMAL: 16,
    CODEC_DECIMAL: 16,
    CODEC_DECIMAL_TEXT: OFFSET_SIZE,
    CODEC_BITS: 8,
    CODEC_BOOL: 1,
    CODEC_YEAR: 2,
    CODEC_DATE: 4,
    CODEC_DATETIME: 8,
    CODEC_OLD_DATETIME: 8,
    CODEC_TIMESTAMP: 8,
    CODEC_OLD_TIMESTAMP: 8,
    CODEC_TIME: 8,
    CODEC_OLD_TIME: 8,
    CODEC_ENUM: 4,
    CODEC_ENUM_NUMBER: 2,
    CODEC_SET: 8,
    CODEC_BYTES: OFFSET_SIZE,
    CODEC_PADDED: OFFSET_SIZE,
    CODEC_JSON: OFFSET_SIZE,
    CODEC_GEOMETRY: OFFSET_SIZE,
}
"""Bytes of one value in a column's first buffer."""


STORED_WIDTHS = {
    CODEC_NULL: (0, 0),
    CODEC_COPY1: (1, 1),
    CODEC_COPY2: (2, 2),
    CODEC_COPY4: (4, 4),
    CODEC_COPY8: (8, 8),
    CODEC_UINT8: (1, 1),
    CODEC_UINT16: (2, 2),
    CODEC_INT24: (3, 3),
    CODEC_UINT24: (3, 3),
    CODEC_UINT32: (4, 4),
    CODEC_UINT64_DECIMAL: (8, 8),
    CODEC_BITS: (1, 8),
    CODEC_BOOL: (1, 1),
    CODEC_YEAR: (1, 1),
    CODEC_DATE: (3, 3),
    CODEC_OLD_DATETIME: (6, 8),
    CODEC_OLD_TIMESTAMP: (4, 7),
    CODEC_OLD_TIME: (3, 6),
    CODEC_ENUM: (1, 2),
    CODEC_ENUM_NUMBER: (1, 2),
    CODEC_SET: (1, 8),
}
"""Fewest and most bytes of a value in a row image, for codecs of fixed width."""

WIDTHS_BEFORE_FRACTION = {CODEC_DATETIME: 5, CODEC_TIMESTAMP: 4, CODEC_TIME: 3}
"""Bytes of a time without its second's fraction."""


cdef int item_size(int codec) except -1:
    """Bytes of one value in the first buffer of a column."""
    return ITEM_SIZES[codec]


cdef bint has_offsets(int codec) noexcept nogil:
    """Whether a column's first buffer holds offsets into its second."""
    return codec >= CODEC_BYTES or codec == CODEC_DECIMAL_TEXT


cdef bint fits(int codec, int prefix, int width, int parameter) except -1:
    """Whether a column that is stored so can be read by the codec: what it copies must be what was taken."""
    if codec in WIDTHS_BEFORE_FRACTION:
        least = most = WIDTHS_BEFORE_FRACTION[codec] + (parameter + 1) // 2
        return prefix == 0 and width == least and 0 <= parameter <= 6
    if codec == CODEC_DECIMAL or codec == CODEC_DECIMAL_TEXT:
        check_decimal(parameter >> 8, parameter & 255)
        return prefix == 0 and width == decimal_size(parameter >> 8, parameter & 255)
    if codec in STORED_WIDTHS:
        least, most = STORED_WIDTHS[codec]
        return prefix == 0 and least <= width <= most
    return 1 <= prefix <= 4


cdef int check_fit(int place, int codec, int prefix, int width, int parameter) except -1:
    """Refuse a column whose values are not stored as its codec reads them."""
    if not fits(codec, prefix, width, parameter):
        raise UnsupportedError(
            f"column {place + 1} is stored in {width} bytes behind a length of {prefix} bytes, which does not"
            f" fit its type ({Codec(codec).name.removeprefix('CODEC_')})",
            event="TABLE_MAP",
        )
    return 0
