"""Build a dump's tables and row batches in the form of rows decoded from logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.dataset.manifest import undecodable_values
from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.kernels.text.tuples import Encoding, TupleColumns
from binx.lake.base.dump_values import DumpColumn
from binx.rows.absent import absent_value
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.columns.arrow_schema import MISFITS, UTC_TIMESTAMP
from binx.rows.columns.names import ColumnProvenance, ResolvedColumn, ResolvedTable, output_names
from binx.rows.columns.schema import ColumnDefinition, Provenance, TableDefinition, folded_name
from binx.rows.columns.types import INTEGER_NAMES, ArrowOptions, arrow_type, declared_type
from binx.source.wording import counted

BASE = "base"
"""The change type of a dump's rows."""


def table_of(definition: TableDefinition, options: ArrowOptions, version: int) -> TableChanges:
    """Return a table from its definition, with the types and schema version that its logged rows have.

    Args:
        version: the commit version of its rows.

    Raises:
        UnsupportedError: its columns are not known.
    """
    if definition.unknown is not None or not definition.columns:
        raise UnsupportedError(
            f"expected a CREATE TABLE of {definition.db}.{definition.name} that tells its columns, found one"
            f" that was not understood: {definition.unknown or 'it has no columns'}"
        )
    key = definition.row_key
    names = output_names([column.name for column in definition.columns])
    columns = tuple(
        _resolved(column, name, key) for column, name in zip(definition.columns, names, strict=True)
    )
    return TableChanges(
        (), ResolvedTable(definition.db, definition.name, columns, definition, ()), options, version
    )


def _resolved(column: ColumnDefinition, name: str, key: Sequence[str]) -> ResolvedColumn:
    logical = declared_type(column)
    source = Provenance.SCHEMA
    return ResolvedColumn(
        name=name,
        source_name=column.name,
        type=logical,
        mysql_type=column.mysql_type,
        nullable=column.nullable,
        primary_key_position=key.index(column.name) if column.name in key else None,
        invisible=column.invisible,
        generated=column.generated,
        default=None if column.default is None else column.default.text,
        absent=absent_value(column, logical, column.nullable),
        added=None,
        provenance=ColumnProvenance(
            source,
            source if logical.kind in INTEGER_NAMES else None,
            None if logical.charset is None else source,
            None if logical.members is None else source,
            source,
        ),
    )


class TableRows:
    """Converts the parsed rows of one table to batches.

    Args:
        names: the columns of the rows, in order; None for all visible ones.
        number: number of earlier rows of the table.
        charset: of the dump's text; ``binary`` for that of its columns.
        encodings: encodings of columns whose values are not plain, by name.

    Raises:
        UnsupportedError: the dump names a column that the table does not have.
    """

    def __init__(
        self,
        table: TableChanges,
        options: ArrowOptions,
        names: Sequence[str] | None,
        version: int,
        number: int,
        *,
        charset: str = "utf8mb4",
        encodings: Mapping[str, Encoding] = MappingProxyType({}),
    ) -> None:
        self.table = table
        self.names = names
        self.number = number
        self.charset = charset
        columns = table.resolved.columns
        indexes = {folded_name(column.source_name): index for index, column in enumerate(columns)}
        visible = [column.source_name for column in columns if not column.invisible]
        listed = visible if names is None else names
        unknown = [name for name in listed if folded_name(name) not in indexes]
        if unknown or len(set(listed)) != len(listed):
            raise UnsupportedError(
                f"expected columns of {table.db}.{table.name}, found {', '.join(unknown) or 'one twice'}"
            )
        self._indexes = [indexes[folded_name(name)] for name in listed]
        self._options = options
        self._version = version
        self._columns = [DumpColumn(columns[index].type, options, charset) for index in self._indexes]
        self.tuples = TupleColumns([encodings.get(name, Encoding.PLAIN) for name in listed])
        self.has_key = all(
            column.primary_key_position is None or index in self._indexes
            for index, column in enumerate(columns)
        )

    def losses(self) -> Iterator[str]:
        """Yield a sentence for each column with values that are not as the server had them."""
        table = f"{self.table.db}.{self.table.name}"
        for index, column in zip(self._indexes, self._columns, strict=True):
            name = self.table.resolved.columns[index].name
            if column.undecodable:
                yield undecodable_values(table, name, column.undecodable)
            if column.unsure:
                yield (
                    f"{table}: {counted(column.unsure, 'value')} of column {name} with ?, which the dump also"
                    f" has for characters beyond U+FFFF, as it is in {self.charset}; make it with"
                    " --default-character-set=utf8mb4"
                )

    def batch(self) -> ChangeBatch:
        """Return the parsed rows.

        Raises:
            DamagedError: a value is not of its column's type.
            UnsupportedError: a column's text exceeds what a batch can hold.
        """
        rows, text_columns = self.tuples.finish()
        columns = self.table.resolved.columns
        row_misfits: dict[int, list[tuple[str, str]]] = {}
        arrays: list[Any] = [pa.nulls(rows, arrow_type(column.type, self._options)) for column in columns]
        for index, column, texts in zip(self._indexes, self._columns, text_columns, strict=True):
            try:
                arrays[index], misfits = column.array(texts, rows)
            except (BinxError, pa.ArrowInvalid) as error:
                what = error.message if isinstance(error, BinxError) else str(error).splitlines()[0]
                error_type = UnsupportedError if isinstance(error, UnsupportedError) else DamagedError
                raise error_type(
                    f"column {columns[index].source_name} of {self.table.db}.{self.table.name}: {what}"
                ) from error
            for row, text in misfits:
                row_misfits.setdefault(row, []).append((columns[index].name, text))
        listed = [row_misfits.get(row) for row in range(rows)] if row_misfits else None
        misfit_column = None if listed is None else pa.array(listed, MISFITS)
        bitmap = present_bits(len(columns), self._indexes)
        bitmaps = pa.nulls(rows, pa.binary()) if bitmap is None else pa.repeat(bitmap, rows)
        self.number += rows
        return base_batch(self.table, arrays, self._version, self.number - rows, bitmaps, misfit_column)


def present_bits(count: int, indexes: Iterable[int]) -> bytes | None:
    """Return a bitmap of the columns a row has; None if it has all."""
    bits = sum(1 << index for index in set(indexes))
    return None if bits == (1 << count) - 1 else bits.to_bytes((count + 7) // 8, "little")


def stored_batch(rows: pa.Table, names: Mapping[str, str], definition: TableDefinition) -> ChangeBatch:
    """Return stored rows of a table in the form of rows decoded from logs, with exact values.

    Args:
        names: the columns' names in the stored rows, by folded name; others are null.

    Raises:
        UnsupportedError: the table's columns are not known.
    """
    options = ArrowOptions(exact_values=True)
    table = table_of(definition, options, 0)
    arrays: list[pa.Array] = []
    called: dict[str, str] = {}
    for column in table.resolved.columns:
        kind, name = arrow_type(column.type, options), names.get(folded_name(column.source_name))
        values = pa.nulls(len(rows), kind) if name is None else rows.column(name).combine_chunks()
        if name is not None:
            called[name] = column.name
            if pa.types.is_dictionary(kind):
                members = pa.array(["", *(column.type.members or ())], pa.string())
                values = pa.DictionaryArray.from_arrays(pc.index_in(values, value_set=members), members)
        arrays.append(values)
    misfits = None
    if "_misfits" in rows.column_names:
        listed = [
            None if texts is None else [(called[name], text) for name, text in texts if name in called]
            for texts in rows.column("_misfits").to_pylist()
        ]
        misfits = pa.array(listed, MISFITS)
    return base_batch(table, arrays, 0, 0, pa.nulls(len(rows), pa.binary()), misfits)


def base_batch(
    table: TableChanges,
    columns: Sequence[Any],
    version: int,
    number: int,
    present: Any,
    misfits: Any | None,
) -> ChangeBatch:
    """Return rows of a base as a batch; their commit times are unknown.

    Args:
        number: the first row's number in the table.
        present: for each row, a bitmap from :func:`present_bits`.
        misfits: for each row, the texts of values that became null, or None.
    """
    rows = len(present)

    def repeated(value: Any, data_type: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(value, data_type), rows)

    def word(value: str, index: pa.DataType) -> pa.Array:
        return pa.DictionaryArray.from_arrays(repeated(0, index), pa.array([value], pa.string()))

    heads = [
        word(BASE, pa.int8()),
        repeated(version, pa.int64()),
        repeated(0, UTC_TIMESTAMP),
        pa.array(range(number, number + rows), pa.int64()),
        word("", pa.int32()),
        repeated(0, UTC_TIMESTAMP),
        repeated(0, pa.int64()),
        repeated(0, pa.int32()),
        present,
    ]
    if table.shared.can_differ:
        heads.append(pa.nulls(rows, pa.string()))
    if table.shared.can_misfit:
        heads.append(pa.nulls(rows, MISFITS) if misfits is None else misfits)
    return ChangeBatch(table, rows, [*heads, *columns], None, 0)
