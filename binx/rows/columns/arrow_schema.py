"""Arrow schemas of tables: cached for tables with the same columns, and merged over schema versions.

Columns are merged by name; a column whose type changed gets the narrowest type that holds all its values.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from binx.event.column import Column, ColumnType
from binx.rows.columns.arrays import ColumnArrays
from binx.rows.columns.names import (
    CACHED_COLUMN_SETS,
    SYSTEM_COLUMNS,
    ResolvedColumn,
    ResolvedTable,
    is_hash,
)
from binx.rows.columns.schema_records import ColumnRecords
from binx.rows.columns.stored import MARIADB_COMPRESSED, ColumnCodec, column_codec
from binx.rows.columns.types import ArrowOptions, can_misfit

if TYPE_CHECKING:
    from binx.kernels.rows.layouts import TableMaps

UTC_TIMESTAMP = pa.timestamp("us", tz="UTC")
MISFITS = pa.map_(pa.string(), pa.string())

_CHANGE_TYPE = pa.dictionary(pa.int8(), pa.string())
_TRANSACTION = pa.dictionary(pa.int32(), pa.string())
SYSTEM_FIELDS = (
    pa.field("_change_type", _CHANGE_TYPE, nullable=False),
    pa.field("_commit_version", pa.int64(), nullable=False),
    pa.field("_commit_timestamp", UTC_TIMESTAMP, nullable=False),
    pa.field("_row", pa.int64(), nullable=False),
    pa.field("_transaction", _TRANSACTION, nullable=False),
    pa.field("_event_timestamp", UTC_TIMESTAMP, nullable=False),
    pa.field("_position", pa.int64(), nullable=False),
    pa.field("_statement", pa.int32(), nullable=False),
    pa.field("_present", pa.binary()),
)


class SharedColumns:
    """The columns of tables with the same storage, names and types; ``stored`` is empty if not from a log."""

    def __init__(
        self, stored: tuple[Column, ...], columns: tuple[ResolvedColumn, ...], options: ArrowOptions
    ) -> None:
        self.stored = tuple((int(resolved.type), resolved.metadata) for resolved in stored)
        self.options = options
        self.codecs: list[ColumnCodec] = [
            column_codec(column, resolved.type, options)
            for column, resolved in zip(stored, columns, strict=bool(stored))
        ]
        self.records = ColumnRecords(columns, options)
        self._columns = columns
        self._plan: list[tuple[int, int, int, int]] | None = None

    @cached_property
    def can_misfit(self) -> bool:
        """Whether there can be values that the Arrow types cannot hold."""
        return any(can_misfit(column.type) for column in self._columns)

    @cached_property
    def can_differ(self) -> bool:
        """Whether there can be JSON documents logged only as diffs; a base has the column, too."""
        if not self.stored:
            return any(column.type.base == "json" for column in self._columns)
        return any(kind == ColumnType.JSON for kind, _ in self.stored)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the batches, without a table's version."""
        fields = [*SYSTEM_FIELDS]
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
    def indexes(self) -> dict[str, int]:
        """The indexes of the schema's columns, by name."""
        return {name: index for index, name in enumerate(self.schema.names)}

    def arrays(self) -> list[ColumnArrays]:
        """Return the converters of one table's columns."""
        return [arrays.of_another_table() for arrays in self._arrays]

    @cached_property
    def _arrays(self) -> list[ColumnArrays]:
        kinds: list[int | None] = [kind for kind, _ in self.stored]
        kinds = kinds or [None] * len(self._columns)
        return [
            ColumnArrays(column.type, self.options, compressed=kind in MARIADB_COMPRESSED)
            for kind, column in zip(kinds, self._columns, strict=True)
        ]

    def plan(self, maps: TableMaps, number: int) -> list[tuple[int, int, int, int]]:
        """Return each column's codec, length prefix, width and parameter, for the row kernel."""
        if self._plan is None:
            self._plan = [
                (int(codec.codec), prefix, width, codec.parameter)
                for codec, (_, _, prefix, width) in zip(self.codecs, maps.columns(number), strict=True)
            ]
        return self._plan


@lru_cache(CACHED_COLUMN_SETS)
def shared_columns(
    stored: tuple[Column, ...], columns: tuple[ResolvedColumn, ...], options: ArrowOptions
) -> SharedColumns:
    """Return the shared columns of tables with these columns.

    Raises:
        UnsupportedError: a column's type cannot be in row images.
    """
    return SharedColumns(stored, columns, options)


TRANSACTION = "_transaction"
"""The system column of transaction identifiers."""

PRESENT = "_present"
"""The system column with a bitmap of the table's own columns that were in an image."""

_INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
_DECIMAL_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19, pa.uint64(): 20}
_MOST_DECIMAL_DIGITS = 38


def united_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return a schema that all batches can be cast to.

    System columns come first in their own order, then the columns of the last version, then those that
    only earlier versions had. The hashes that MariaDB keeps of long UNIQUE keys are left out.

    Args:
        schemas: the versions in log order; at least one.
    """
    versions = list(schemas)
    types: dict[str, pa.DataType] = {}
    for schema in versions:
        for field in schema:
            known = types.get(field.name)
            types[field.name] = field.type if known is None else wider(known, field.type)
    names = [name for name in SYSTEM_COLUMNS if name in types]
    for schema in reversed(versions):
        names += [name for name in schema.names if name not in names and not is_hash(name)]
    return pa.schema([pa.field(name, types[name]) for name in names])


def with_one_dictionary(schema: pa.Schema, versions: Iterable[ResolvedTable]) -> pa.Schema:
    """Return the schema with strings instead of dictionaries that differ between batches.

    Arrow IPC streams and Feather have one dictionary per column. That of transaction identifiers always
    differs, that of an ENUM if its members changed.
    """
    members: dict[str, set[object]] = {TRANSACTION: {None, ()}}
    for version in versions:
        for column in version.columns:
            members.setdefault(column.name, set()).add(column.type.members)
    return pa.schema(
        field.with_type(_decoded_type(field.type)) if len(members.get(field.name, ())) > 1 else field
        for field in schema
    )


def wider(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """Return the narrowest type that holds the values of both; text if no other does."""
    if first == second:
        return first
    if first in _INTEGERS and second in _INTEGERS:
        return max(first, second, key=_INTEGERS.index)
    if pa.types.is_floating(first) and pa.types.is_floating(second):
        return pa.float64()
    digits = [_decimal_digits(first), _decimal_digits(second)]
    if all(pair is not None for pair in digits):
        before_point = max(pair[0] for pair in digits if pair is not None)
        scale = max(pair[1] for pair in digits if pair is not None)
        if before_point + scale <= _MOST_DECIMAL_DIGITS:
            return pa.decimal128(before_point + scale, scale)
    if pa.types.is_dictionary(first) or pa.types.is_dictionary(second):
        return wider(_decoded_type(first), _decoded_type(second))
    if pa.types.is_date(first) and pa.types.is_timestamp(second):
        return second
    if pa.types.is_timestamp(first) and pa.types.is_date(second):
        return first
    return pa.string()


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Cast a batch to the united schema; columns that it lacks are null."""
    if batch.schema.equals(schema):
        return batch
    batch = with_presence_of(batch, schema)
    arrays = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            arrays.append(pa.nulls(batch.num_rows, field.type))
        else:
            arrays.append(cast_array(batch.column(index), field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def with_presence_of(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with the bits of ``_present`` at the columns' positions in ``schema``."""
    index = batch.schema.get_field_index(PRESENT)
    old_names, new_names = _own_columns(batch.schema), _own_columns(schema)
    if index < 0 or old_names == new_names or batch.column(index).null_count == batch.num_rows:
        return batch
    encoded = batch.column(index).dictionary_encode()
    positions = [new_names.index(name) if name in new_names else None for name in old_names]
    moved = pa.array(
        [_moved_bits(bits, positions, len(new_names)) for bits in encoded.dictionary.to_pylist()], pa.binary()
    )
    return batch.set_column(index, batch.schema.field(index), moved.take(encoded.indices))


def _own_columns(schema: pa.Schema) -> list[str]:
    """Return the names of a schema's columns except system columns."""
    return [name for name in schema.names if name not in SYSTEM_COLUMNS]


def _moved_bits(bits: bytes, positions: list[int | None], count: int) -> bytes:
    """Move columns' bits to other positions in a bitmap of ``count`` columns."""
    before = int.from_bytes(bits, "little")
    after = sum(1 << new for old, new in enumerate(positions) if new is not None and before >> old & 1)
    return after.to_bytes((count + 7) // 8, "little")


def cast_array(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Cast values to a type that :func:`wider` can return for theirs.

    Raises:
        ArrowInvalid, ArrowNotImplementedError: a value cannot be cast.
    """
    if array.type == data_type:
        return array
    if isinstance(array, pa.ExtensionArray):
        return cast_array(array.storage, data_type)
    if pa.types.is_binary(array.type) and pa.types.is_string(data_type):
        return pa.array([None if value is None else value.hex() for value in array.to_pylist()], pa.string())
    if pa.types.is_duration(array.type) and pa.types.is_string(data_type):
        times = array.cast(pa.int64()).to_pylist()
        texts = [None if time is None else time_text(time, 6).rstrip("0").rstrip(".") for time in times]
        return pa.array(texts, pa.string())
    if pa.types.is_nested(array.type):
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.string())
    return array.cast(data_type)


def time_text(microseconds: int, digits: int) -> str:
    """Format a TIME as servers print it, with ``digits`` digits of its fraction."""
    seconds, fraction = divmod(abs(microseconds), 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    decimals = f".{fraction:06}"[: digits + 1] if digits else ""
    return f"{'-' if microseconds < 0 else ''}{text}{decimals}"


def _decoded_type(data_type: pa.DataType) -> pa.DataType:
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type


def _decimal_digits(data_type: pa.DataType) -> tuple[int, int] | None:
    """Return the digits before and after the decimal point, of integers and decimals."""
    if data_type in _DECIMAL_DIGITS:
        return _DECIMAL_DIGITS[data_type], 0
    if pa.types.is_decimal128(data_type):
        return data_type.precision - data_type.scale, data_type.scale
    return None
