"""The Arrow buffers of one table's rows."""

from enum import IntEnum
from typing import Any, Final

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

ITEM_SIZES: Final[dict[int, int]]
"""Bytes of one value in a column's first buffer, by codec."""

class RowBuffers:
    """The columns of one table."""

    def __init__(self, plan: list[tuple[int, int, int, int]], key: object) -> None: ...
    @property
    def key(self) -> Any: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def finish(self) -> dict[str, Any]: ...
