"""Files of several schema versions read as one: columns by identity, types united where that is exact."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from binx.rows.columns.names import SYSTEM_COLUMNS
from binx.spark.lake.arrow.types import arrow_type
from binx.spark.lake.model import ChangesFile, Life, TableName, Version

_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_MOST_DIGITS = 38


class Part(NamedTuple):
    """Files whose rows, of a span of commit versions, have the same columns."""

    files: tuple[ChangesFile, ...]
    version: Version
    first: int | None
    last: int | None
    columns: tuple[tuple[str, pa.DataType, Hashable], ...]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The commit versions of the rows that count, where not all of the one file do."""
        if self.first is None or self.last is None:
            return []
        return [
            (max(self.first, first), min(self.last, last))
            for first, last in self.files[0].spans or [(self.first, self.last)]
        ]

    @property
    def system_columns(self) -> list[str]:
        """Which of the data set's own columns the files have."""
        kinds = [(one.arrow_type, one.mysql_type.lower()) for one in self.version.columns]
        optional = {
            "_json_diff": any(sql == "json" for _, sql in kinds),
            "_misfits": any(
                arrow.startswith(("date32", "timestamp"))
                or (arrow.startswith("dictionary") and sql.startswith(("enum", "set")))
                for arrow, sql in kinds
            ),
        }
        return [name for name in SYSTEM_COLUMNS if optional.get(name, True)]


@dataclass(slots=True)
class United:
    """A column that is read; ``names`` are those in the files, by the number of the part."""

    name: str
    type: pa.DataType
    names: dict[int, tuple[str, pa.DataType]] = field(default_factory=dict)


def parts_of(table: TableName, lives: Sequence[Life]) -> list[Part]:
    """The files that hold a table's changes, those of former tables of its name included."""
    living = next((life for life in lives if life.name == table), None)
    ids: dict[str, Hashable] = {}
    if living is not None and living.epochs:
        ids = {column.name.lower(): column.id for column in living.epochs[-1].columns}
    grouped: dict[tuple[Hashable, ...], list[ChangesFile]] = {}
    for life in lives:
        if life is not living and not (
            life.name is None and life.units and life.units[-1].file.table == table
        ):
            continue
        for unit in [one for one in life.units if not one.file.gone]:
            known = {column.id: column for column in life.epochs[unit.epoch].columns}
            columns = []
            for number, one in zip(unit.ids, unit.version.columns, strict=True):
                name = known[number].name.lower() if number in known else one.source_name.lower()
                identity = number if life is living and number >= 0 else ids.get(name, name)
                columns.append((one.name, arrow_type(one.arrow_type), identity))
            file = unit.file
            whole = (unit.first, unit.last) == (file.first, file.last) and not file.spans and not file.dropped
            span = (None, None) if whole else (unit.first, unit.last)
            where = "" if whole else file.identity
            grouped.setdefault((file.chain, *span, where, unit.version, tuple(columns)), []).append(file)
    return [
        Part(tuple(files), version, first, last, columns)  # type: ignore[arg-type]
        for (_, first, last, _, version, columns), files in grouped.items()
    ]


def unite(parts: Sequence[Part], living: Iterable[tuple[Hashable, str]]) -> list[United]:
    """The columns of all parts together: those that the table has, in order, and then those it had.

    A type that does not hold another's values exactly gets a column of its own, called ``name@type``.
    """
    names: dict[Hashable, str] = dict(living)
    found: dict[Hashable, list[United]] = {identity: [] for identity in names}
    for number, part in reversed(list(enumerate(parts))):
        for name, kind, identity in part.columns:
            names.setdefault(identity, name)
            listed = found.setdefault(identity, [])
            for one in listed:
                together = common_type(one.type, kind)
                if together is not None:
                    one.type = together
                    break
            else:
                one = United(names[identity] + (f"@{kind}" if listed else ""), kind)
                listed.append(one)
            one.names[number] = (name, kind)
    columns = [one for listed in found.values() for one in listed]
    taken = {name.lower() for name in SYSTEM_COLUMNS} | {"_chain", "_schema_version"}
    for one in columns:
        while one.name.lower() in taken:
            one.name += "_"
        taken.add(one.name.lower())
    return columns


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds all values of both exactly; None where there is none."""
    if one == other:
        return one
    pair = {one, other}
    if pa.types.is_floating(one) and pa.types.is_floating(other):
        return pa.float64()
    if pair == {pa.date32(), pa.timestamp("us")}:
        return pa.timestamp("us")
    if pa.types.is_signed_integer(one) and pa.types.is_signed_integer(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    digits = [*_digits(pair)]
    if len(digits) == 2:
        scale = max(scale for _, scale in digits)
        precision = max(whole for whole, _ in digits) + scale
        return pa.decimal128(precision, scale) if precision <= _MOST_DIGITS else None
    return None


def _digits(kinds: Iterable[pa.DataType]) -> Iterator[tuple[int, int]]:
    """Digits before and behind the point of the types that are exact numbers."""
    for kind in kinds:
        if pa.types.is_decimal(kind):
            yield kind.precision - kind.scale, kind.scale
        elif pa.types.is_integer(kind):
            unsigned_64 = pa.types.is_uint64(kind)
            yield 20 if unsigned_64 else _INTEGER_DIGITS[kind.bit_width], 0


def living_columns(lives: Sequence[Life], table: TableName) -> list[tuple[Hashable, str]]:
    """Identities and names of the columns that a table has now."""
    life = next((life for life in lives if life.name == table and life.epochs), None)
    return [] if life is None else [(column.id, column.name) for column in life.epochs[-1].columns]
