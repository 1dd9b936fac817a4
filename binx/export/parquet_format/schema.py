"""The schema of a Parquet file: columns and what they consist of, and how the footer tells them.

Source: the Apache Parquet format, ``SchemaElement`` in parquet.thrift, and LogicalTypes.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from binx.export.parquet_format.thrift import STOP, Struct
from binx.kernels.leaves import Leaves
from binx.kernels.numbers import Form

_REQUIRED, _OPTIONAL, _REPEATED = range(3)


class Physical(IntEnum):
    """What values are on disk."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


class Converted(IntEnum):
    """What values mean, as older readers know it."""

    UTF8 = 0
    MAP = 1
    LIST = 3
    DECIMAL = 5
    DATE = 6
    TIMESTAMP_MICROS = 10
    UINT_16 = 12
    UINT_32 = 13
    UINT_64 = 14
    INT_8 = 15
    INT_16 = 16
    JSON = 19


class Meaning(NamedTuple):
    """What values mean.

    Attributes:
        logical: the logical type, a ``LogicalType`` in Thrift.
        converted: the same for older readers; None where they know no such type.
        precision: digits of a decimal.
        scale: those of them behind the point.
    """

    logical: bytes
    converted: Converted | None
    precision: int | None = None
    scale: int | None = None


STRING = Meaning(Struct().struct(1, STOP).end(), Converted.UTF8)
MAP = Meaning(Struct().struct(2, STOP).end(), Converted.MAP)
LIST = Meaning(Struct().struct(3, STOP).end(), Converted.LIST)
DATE = Meaning(Struct().struct(6, STOP).end(), Converted.DATE)
JSON = Meaning(Struct().struct(12, STOP).end(), Converted.JSON)


def timestamp(*, utc: bool) -> Meaning:
    """Microseconds since 1970, of UTC or of no zone."""
    unit = Struct().struct(2, STOP).end()
    logical = Struct().struct(8, Struct().flag(1, utc).struct(2, unit).end()).end()
    # The older type means UTC.
    return Meaning(logical, Converted.TIMESTAMP_MICROS if utc else None)


def integer(bits: int, *, signed: bool) -> Meaning:
    """An integer of so many bits."""
    logical = Struct().struct(10, Struct().byte(1, bits).flag(2, signed).end()).end()
    return Meaning(logical, Converted[f"{'INT' if signed else 'UINT'}_{bits}"])


def decimal(precision: int, scale: int) -> Meaning:
    """A decimal."""
    logical = Struct().struct(5, Struct().i32(1, scale).i32(2, precision).end()).end()
    return Meaning(logical, Converted.DECIMAL, precision, scale)


class Leaf(NamedTuple):
    """A column, or a part of one, that has values.

    Attributes:
        name: of the column or the part.
        form: what the values are in memory.
        physical: what they are on disk.
        meaning: what they mean, None where the physical type says it.
        optional: whether a value can be null.
        width: bytes of a value of fixed length that is no number; of a word's number in memory.
        has_dictionary: whether it is written through a dictionary, however many words there are.
    """

    name: str
    form: Form
    physical: Physical
    meaning: Meaning | None = None
    optional: bool = True
    width: int = 0
    has_dictionary: bool = False


class Group(NamedTuple):
    """A column, or a part of one, that consists of others.

    Attributes:
        name: of the column or the part.
        children: the members of a struct, the one element of a list, key and value of a map.
        meaning: ``LIST``, ``MAP``, or None for a struct.
        optional: whether it can be null.
    """

    name: str
    children: tuple[Node, ...]
    meaning: Meaning | None = None
    optional: bool = True


Node = Leaf | Group

_REPEATED_NAMES = {LIST: "list", MAP: "key_value"}


def leaves(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Leaf]]:
    """The leaves of a column in their order, each with its path."""
    path = (*path, node.name)
    if isinstance(node, Leaf):
        yield path, node
        return
    if node.meaning is not None:
        path = (*path, _REPEATED_NAMES[node.meaning])
    for child in node.children:
        yield from leaves(child, path)


class FileSchema:
    """The columns of files, and what follows from them; files may share it.

    Args:
        columns: the columns.

    Attributes:
        count: leaves of all columns.
    """

    def __init__(self, columns: Sequence[Node]) -> None:
        self._columns = tuple(columns)
        self._leaves = [found for column in columns for found in leaves(column)]
        self._written: dict[frozenset[str], Leaves] = {}
        self.count = len(self._leaves)

    @cached_property
    def elements(self) -> list[bytes]:
        """The schema as a footer has it."""
        return list(_schema_elements(self._columns))

    def written(self, statistics: Collection[str]) -> Leaves:
        """The leaves as they are written.

        Args:
            statistics: columns whose least and largest values are kept; nested ones have none.
        """
        kept = frozenset(statistics)
        if kept not in self._written:
            self._written[kept] = Leaves([_written(path, leaf, kept) for path, leaf in self._leaves])
        return self._written[kept]


def _written(
    path: tuple[str, ...], leaf: Leaf, statistics: frozenset[str]
) -> tuple[int, int, int, bool, bool, bool, bool, bytes]:
    return (
        *(leaf.form, leaf.width, leaf.physical, leaf.optional, leaf.has_dictionary),
        len(path) == 1 and path[0] in statistics,
        leaf.meaning is not None,
        Struct(last=2).texts(3, path).so_far(),
    )


def _schema_elements(columns: Sequence[Node]) -> Iterator[bytes]:
    yield _element("schema", _REQUIRED, children=len(columns))
    for column in columns:
        yield from _node_elements(column)


def _node_elements(node: Node) -> Iterator[bytes]:
    repetition = _OPTIONAL if node.optional else _REQUIRED
    if isinstance(node, Leaf):
        width = node.width if node.physical is Physical.FIXED_LEN_BYTE_ARRAY else None
        yield _element(node.name, repetition, node.meaning, physical=node.physical, width=width)
        return
    if node.meaning is None:
        yield _element(node.name, repetition, children=len(node.children))
    else:
        yield _element(node.name, repetition, node.meaning, children=1)
        yield _element(_REPEATED_NAMES[node.meaning], _REPEATED, children=len(node.children))
    for child in node.children:
        yield from _node_elements(child)


def _element(
    name: str,
    repetition: int,
    meaning: Meaning | None = None,
    *,
    children: int | None = None,
    physical: Physical | None = None,
    width: int | None = None,
) -> bytes:
    element = Struct().i32(1, physical).i32(2, width).i32(3, repetition)
    element.binary(4, name.encode("utf-8", "surrogatepass")).i32(5, children)
    if meaning is not None:
        element.i32(6, meaning.converted).i32(7, meaning.scale).i32(8, meaning.precision)
        element.struct(10, meaning.logical)
    return element.end()
