"""What columns that ``ALTER TABLE`` added hold in rows that were there: no image of these is logged.

The schema record of the version in which a column came tells its value, where the definition does. History
keeps images as they were logged, without the column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import BinaryType, DataType

from .lineage import Era, trace_columns
from .manifests import SchemaRecord, TableName

Added = Mapping[str, str | None]
"""By the name of today: the value as text, None for NULL."""


class Arrivals(NamedTuple):
    """The columns of today that came later than the table's first rows.

    Attributes:
        told: what rows from before hold in them, where that is known.
        untold: the others.
    """

    told: Added
    untold: tuple[str, ...]


def added_columns(eras: Sequence[Era], records: Mapping[TableName, Mapping[str, SchemaRecord]]) -> Arrivals:
    """Find the columns that came later.

    Args:
        eras: the table's schema versions.
        records: what is known of the versions, by the name that the table had.
    """
    told: dict[str, str | None] = {}
    untold: list[str] = []
    traced = trace_columns(eras)
    seen = set(traced[0].values()) if traced else set()
    for era, names in zip(eras, traced, strict=True):
        record = records.get(era.table, {}).get(era.version)
        for own, today in names.items():
            if today in seen:
                continue
            seen.add(today)
            fact = None if record is None else record.added.get(own)
            if fact is None or fact.misfit is not None:
                untold.append(today)
            else:
                told[today] = fact.value
    return Arrivals(told, tuple(untold))


def added_value(text: str | None, kind: DataType) -> Column:
    """A recorded value, which is text that casts to the type, or the hexadecimal digits of binary.

    What does not cast, as where the column got another type since, is null.
    """
    value = F.lit(text)
    return F.unhex(value) if text is not None and isinstance(kind, BinaryType) else value.try_cast(kind)


def with_added(rows: DataFrame, added: Added, types: Mapping[str, DataType]) -> DataFrame:
    """A former state with the columns that were added since.

    Args:
        rows: the state.
        added: what its rows hold in columns that came later than the first ones.
        types: the columns of new rows.
    """
    known = {name.lower() for name in rows.columns}
    return rows.withColumns(
        {
            name: added_value(text, types[name])
            for name, text in added.items()
            if text is not None and name in types and name.lower() not in known
        }
    )


def gives_values(added: Added, columns: Collection[str]) -> bool:
    """Whether one of these columns holds other values than null in rows from before it came."""
    return any(added.get(name) is not None for name in columns)
