"""The types of columns across schema versions: what holds them all, and what needs a column of its own.

Only conversions that keep each value as the server itself would show it after such an ``ALTER TABLE`` count
as widening. Spark's readers widen less, and some of it in silence wrongly, so each version is read with its
own types and cast.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
)

_INTEGERS: tuple[type[DataType], ...] = (BooleanType, ByteType, ShortType, IntegerType, LongType)
_DIGITS: Mapping[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_MOST_DIGITS = 38


def widest(newer: DataType, older: DataType) -> DataType | None:
    """The type that holds the values of both, or None where there is none.

    Numbers take the wider type of the two. Text takes older integers and dates, and times take older
    dates, as the server converts them; the other way round their values would change their look.
    """
    if newer == older:
        return newer
    if (isinstance(newer, StringType) and (type(older) in _DIGITS or isinstance(older, DateType))) or (
        isinstance(newer, TimestampNTZType) and isinstance(older, DateType)
    ):
        return newer
    return _wider_number(newer, older) or _wider_number(older, newer)


def _wider_number(one: DataType, other: DataType) -> DataType | None:
    """The type of ``other``, where all values of ``one`` can be of that type."""
    kind, onto = type(one), type(other)
    if isinstance(other, DecimalType):
        if isinstance(one, DecimalType):
            return _decimal(one.precision - one.scale, one.scale, other)
        return _decimal(_DIGITS[kind], 0, other) if kind in _DIGITS else None
    integers = kind in _INTEGERS and onto in _INTEGERS and _INTEGERS.index(kind) < _INTEGERS.index(onto)
    exact = isinstance(other, DoubleType) and kind in (ByteType, ShortType, IntegerType, FloatType)
    return other if integers or exact else None


def _decimal(whole: int, scale: int, other: DecimalType) -> DecimalType | None:
    scale = max(scale, other.scale)
    digits = max(whole, other.precision - other.scale) + scale
    return DecimalType(digits, scale) if digits <= _MOST_DIGITS else None


@dataclass(frozen=True, slots=True)
class United:
    """The columns that hold those of several schemas.

    ``sources`` tells for each schema which of its columns goes where: its own name by the united one.
    ``apart`` names the columns that were made because types did not fit.
    """

    columns: tuple[tuple[str, DataType], ...]
    sources: tuple[dict[str, str], ...]
    apart: tuple[str, ...]


def unite(schemas: Sequence[Sequence[tuple[str, DataType]]]) -> United:
    """Unite schemas by the names of their columns, compared without regard to case.

    The last schema's columns keep their names and come first, in its order. Columns of an earlier one
    whose type does not fit get a column of their own, ``<name>__<type>``.

    Args:
        schemas: names and types, oldest first.
    """
    names: dict[str, str] = {}
    types: dict[str, DataType] = {}
    apart: list[str] = []
    sources: list[dict[str, str]] = []
    for schema in reversed(schemas):
        places: dict[str, str] = {}
        for name, kind in schema:
            place = name.lower()
            fitting = widest(types[place], kind) if place in types else kind
            if fitting is None:
                suffix = re.sub(r"\W+", "_", kind.simpleString()).strip("_")
                own = f"{names[place]}__{suffix}"
                place = own.lower()
                if place not in names:
                    names[place] = own
                    apart.append(own)
                fitting = kind
            names.setdefault(place, name)
            types[place] = fitting
            places[names[place]] = name
        sources.append(places)
    return United(
        tuple((names[place], types[place]) for place in names),
        tuple(reversed(sources)),
        tuple(apart),
    )


def fields_of(schema: StructType) -> list[tuple[str, DataType]]:
    """A schema as names and types."""
    return [(field.name, field.dataType) for field in schema.fields]
