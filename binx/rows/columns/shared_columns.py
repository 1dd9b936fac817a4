"""What tables of the same columns have in common: it is made once for all of them."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from binx.event.column import Column, ColumnType
from binx.rows.columns.arrays import ColumnArrays
from binx.rows.columns.codecs import MARIADB_COMPRESSED, ColumnCodec, column_codec
from binx.rows.columns.names import ALIKE_TABLES, ResolvedColumn
from binx.rows.columns.records import ColumnRecords
from binx.rows.columns.types import ArrowOptions, can_misfit

if TYPE_CHECKING:
    from binx.kernels.rows.layouts import TableMaps

UTC_TIMESTAMP = pa.timestamp("us", tz="UTC")
MISFITS = pa.map_(pa.string(), pa.string())

_CHANGE_TYPE = pa.dictionary(pa.int8(), pa.string())
_TRANSACTION = pa.dictionary(pa.int32(), pa.string())
_SYSTEM_FIELDS = (
    pa.field("_change_type", _CHANGE_TYPE, nullable=False),
    pa.field("_commit_version", pa.int64(), nullable=False),
    pa.field("_commit_timestamp", UTC_TIMESTAMP, nullable=False),
    pa.field("_row", pa.int64(), nullable=False),
    pa.field("_transaction", _TRANSACTION, nullable=False),
    pa.field("_event_timestamp", UTC_TIMESTAMP, nullable=False),
    pa.field("_position", pa.int64(), nullable=False),
    pa.field("_present", pa.binary()),
)


class AlikeColumns:
    """The columns of tables that are stored, called and typed alike.

    Attributes:
        stored: how the log stores them: their types, and what these mean.
        options: choices about Arrow types.
        codecs: what the row kernel does with each.
        records: what the schema records say of them.
        can_misfit: whether there can be values that their types do not hold.
        can_differ: whether there can be JSON documents of which only changes are logged.
    """

    def __init__(
        self, stored: tuple[Column, ...], columns: tuple[ResolvedColumn, ...], options: ArrowOptions
    ) -> None:
        self.stored = tuple((int(column.type), column.metadata) for column in stored)
        self.options = options
        self.codecs: list[ColumnCodec] = [
            column_codec(one, column.type, options) for one, column in zip(stored, columns, strict=True)
        ]
        self.records = ColumnRecords(columns, options)
        self._columns = columns
        self._plan: list[tuple[int, int, int, int]] | None = None

    @cached_property
    def can_misfit(self) -> bool:
        """Whether there can be values that their types do not hold."""
        return any(can_misfit(column.type) for column in self._columns)

    @cached_property
    def can_differ(self) -> bool:
        """Whether there can be JSON documents of which only changes are logged."""
        return any(kind == ColumnType.JSON for kind, _ in self.stored)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the batches, without a table's version."""
        fields = [*_SYSTEM_FIELDS]
        if self.can_differ:
            fields.append(pa.field("_json_diff", pa.string()))
        if self.can_misfit:
            fields.append(pa.field("_misfits", MISFITS))
        pairs = zip(self._columns, self.arrays(), strict=True)
        fields += [pa.field(column.name, arrays.type) for column, arrays in pairs]
        return pa.schema(fields)

    @cached_property
    def types(self) -> tuple[pa.DataType, ...]:
        """The types of the schema's columns."""
        return tuple(self.schema.types)

    @cached_property
    def places(self) -> dict[str, int]:
        """The places of the schema's columns."""
        return {name: place for place, name in enumerate(self.schema.names)}

    def arrays(self) -> list[ColumnArrays]:
        """What turns the columns of one table into arrays."""
        return [arrays.of_another_table() for arrays in self._arrays]

    @cached_property
    def _arrays(self) -> list[ColumnArrays]:
        return [
            ColumnArrays(column.type, self.options, compressed=kind in MARIADB_COMPRESSED)
            for (kind, _), column in zip(self.stored, self._columns, strict=True)
        ]

    def plan(self, maps: TableMaps, number: int) -> list[tuple[int, int, int, int]]:
        """What the row kernel does with each column.

        Args:
            maps: table maps.
            number: of the map of one of the tables.
        """
        if self._plan is None:
            self._plan = [
                (int(codec.codec), prefix, width, codec.parameter)
                for codec, (_, _, prefix, width) in zip(self.codecs, maps.columns(number), strict=True)
            ]
        return self._plan


@lru_cache(ALIKE_TABLES)
def alike_columns(
    stored: tuple[Column, ...], columns: tuple[ResolvedColumn, ...], options: ArrowOptions
) -> AlikeColumns:
    """What tables with these columns have in common.

    Args:
        stored: how the log stores them.
        columns: what they are called and hold.
        options: choices about Arrow types.

    Raises:
        UnsupportedError: a column of a type that no row image can hold.
    """
    return AlikeColumns(stored, columns, options)


__all__ = ["MISFITS", "UTC_TIMESTAMP", "AlikeColumns", "alike_columns"]
