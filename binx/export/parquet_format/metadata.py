"""What a Parquet file says of itself: the footer.

Source: the Apache Parquet format, parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from binx.export.parquet_format.schema import FileSchema
from binx.export.parquet_format.thrift import STOP, Struct
from binx.kernels.rowgroups import RowGroup

MAGIC = b"PAR1"
"""What a file begins and ends with."""

_FORMAT_VERSION = 2
_TYPE_ORDER = Struct().struct(1, STOP).end()


class Codec(IntEnum):
    """How pages are compressed."""

    UNCOMPRESSED = 0
    SNAPPY = 1
    ZSTD = 6
    LZ4_RAW = 7


def footer(schema: FileSchema, groups: Sequence[RowGroup], facts: Mapping[str, str], writer: str) -> bytes:
    """A file's footer.

    Args:
        schema: its columns.
        groups: the row groups.
        facts: what else it says, by name.
        writer: what wrote it.
    """
    pairs = [
        Struct().binary(1, name.encode()).binary(2, value.encode()).end() for name, value in facts.items()
    ]
    document = Struct().i32(1, _FORMAT_VERSION).structs(2, schema.elements)
    document.i64(3, sum(group.rows for group in groups))
    document.structs(4, (group.encoded(ordinal) for ordinal, group in enumerate(groups)))
    document.structs(5, pairs or None).binary(6, writer.encode())
    return document.structs(7, [_TYPE_ORDER] * schema.count).end()
