"""Decode row images directly into Arrow buffers."""

from enum import IntEnum
from typing import Any

class Codec(IntEnum):
    """How a value of a row image becomes a value of an Arrow column."""

    CODEC_NULL = 0
    CODEC_COPY1 = 1
    CODEC_COPY2 = 2
    CODEC_COPY4 = 3
    CODEC_COPY8 = 4
    CODEC_UINT8 = 5
    CODEC_UINT16 = 6
    CODEC_INT24 = 7
    CODEC_UINT24 = 8
    CODEC_UINT32 = 9
    CODEC_UINT64_DECIMAL = 10
    CODEC_DECIMAL = 11
    CODEC_DECIMAL_TEXT = 12
    CODEC_BITS = 13
    CODEC_BOOL = 14
    CODEC_YEAR = 15
    CODEC_DATE = 16
    CODEC_DATETIME = 17
    CODEC_OLD_DATETIME = 18
    CODEC_TIMESTAMP = 19
    CODEC_OLD_TIMESTAMP = 20
    CODEC_TIME = 21
    CODEC_OLD_TIME = 22
    CODEC_ENUM = 23
    CODEC_ENUM_NUMBER = 24
    CODEC_SET = 25
    CODEC_BYTES = 26
    CODEC_PADDED = 27
    CODEC_JSON = 28
    CODEC_GEOMETRY = 29

class RowBuilder:
    """The columns of one table, being filled by a :class:`~binx.kernels.rows.images.RowDecoder`.

    Args:
        plan: for each column: codec, bytes of the length prefix (0: fixed width), width, parameter. The
            parameter is precision << 8 | scale for DECIMAL, fractional digits for times, the padded length
            for BINARY, the number of members for ENUM.
        key: the caller's key for the table.

    Attributes:
        bytes: approximate size of the rows.
    """

    key: Any
    rows: int
    columns: int
    @property
    def bytes(self) -> int: ...
    def __init__(self, plan: list[tuple[int, int, int, int]], key: object) -> None: ...
    def finish(self) -> dict[str, Any]:
        """Return all rows and start over.

        Returns:
            ``rows``; the system columns and the events' ``flags`` by name, each
            memory of one value a row; ``present``: (validity,
            offsets, bits, nulls) or None where every row is whole; ``identifiers``: (offsets, text, count),
            which ``transaction`` numbers; ``columns``: for each column (validity or None, nulls, values,
            data, extra); ``misfits`` and ``differences`` (partial JSON): lists of (row, column, text);
            ``typed_documents``: how many JSON documents have values whose SQL types their text does not tell.
        """
