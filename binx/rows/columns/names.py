"""Resolve a table's column names and types: from metadata, else from DDL, else as c1 … cN.

A table map records how values are stored; its optional metadata may add more, and the
catalog may have the statement that created the table. Each fact is taken from the best
source that has it, and its provenance is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from binx.event.column import Column, ColumnType
from binx.event.format import Flavour
from binx.event.table_map import TableMap
from binx.rows.absent import Absent, absent_value, added_value
from binx.rows.columns.generated import unlogged_changes
from binx.rows.columns.schema import (
    SEQUENCE_COLUMNS,
    ColumnDefinition,
    Provenance,
    TableDefinition,
    folded_name,
)
from binx.rows.columns.stored import compatible, logical_type
from binx.rows.columns.types import LogicalType, mysql_name

_HIDDEN = frozenset({"my_row_id"})
"""Columns that the server adds without a statement (sql_generate_invisible_primary_key)."""

_HASH = "DB_ROW_HASH_"

CACHED_COLUMN_SETS = 16
"""Number of distinct sets of columns that are cached; many tables may share one."""

_CACHED_COLUMNS = 4096
"""Number of columns that are cached, as tables often have equal ones."""

SYSTEM_COLUMNS: tuple[str, ...] = (
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
    "_row",
    "_transaction",
    "_event_timestamp",
    "_position",
    "_statement",
    "_present",
    "_json_diff",
    "_misfits",
)
"""The system columns before a table's own in its Parquet files."""


TO_KNOW_NAMES = (
    "To get their names, give a schema dump with --schema, include earlier logs, or set"
    " binlog_row_metadata=FULL on the server (MySQL 8.0.1 or MariaDB 10.5, or later)"
)
"""What to do about columns without names."""


class ColumnProvenance(NamedTuple):
    """The provenance of each fact about a column; None if the column has no such fact."""

    name: Provenance
    signedness: Provenance | None
    charset: Provenance | None
    members: Provenance | None
    key: Provenance


class ResolvedColumn(NamedTuple):
    """A resolved column.

    Attributes:
        name: its name in outputs: unique ignoring case, and different from system columns.
        source_name: its name on the server, ``cN`` if unknown.
        primary_key_position: position, from 0, in the key that identifies rows: the primary key or, as in
            servers, the first UNIQUE key of NOT NULL columns; None if not part of it, or if unknown.
        generated: ``virtual``, ``stored``, ``row_start``, ``row_end``, or None.
        default: the DEFAULT clause as written; None if there is none or it is unknown.
        absent: the column's value if an inserted row's image lacks it; None if unknown.
        added: the column's value in rows that existed when ALTER TABLE added it; None if the column was
            created with its table, or if unknown.
        changes_with: the columns that it is computed from, if an update's images may lack the column although
            the update changed it; None for other columns. See :mod:`binx.rows.columns.generated`.
    """

    name: str
    source_name: str
    type: LogicalType
    mysql_type: str
    nullable: bool
    primary_key_position: int | None
    invisible: bool
    generated: str | None
    default: str | None
    absent: Absent | None
    added: Absent | None
    provenance: ColumnProvenance
    changes_with: tuple[str, ...] | None = None


class ResolvedTable(NamedTuple):
    """A table with resolved columns.

    Attributes:
        columns: the columns in row image order.
        definition: the definition that was used, or None.
        warnings: warnings about missing knowledge.
        unfit: why the table's known definition does not fit its columns; None if it fits, or
            if none is known.
    """

    db: str
    name: str
    columns: tuple[ResolvedColumn, ...]
    definition: TableDefinition | None
    warnings: tuple[str, ...]
    unfit: str | None = None

    @property
    def why_unknown(self) -> str:
        """Why names and keys that are not in the log are unknown, and what to do."""
        reason = self.unfit or "they are neither in the log nor in an earlier CREATE TABLE"
        return f"{reason}. {TO_KNOW_NAMES}"

    @property
    def is_sequence(self) -> bool:
        """Whether it is a sequence of MariaDB; false if its columns' names are unknown."""
        return tuple(column.source_name for column in self.columns) == SEQUENCE_COLUMNS

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The output names of the row key's columns, in key order; empty if none is known."""
        return primary_key(self.columns)


def key_positions(columns: Sequence[ResolvedColumn]) -> tuple[int, ...]:
    """Return the positions of the row key's columns, in key order."""
    keyed = (
        (column.primary_key_position, index)
        for index, column in enumerate(columns)
        if column.primary_key_position is not None
    )
    return tuple(index for _, index in sorted(keyed))


def primary_key(columns: Sequence[ResolvedColumn]) -> tuple[str, ...]:
    """Return the output names of the row key's columns, in key order; empty if none is known."""
    return tuple(columns[index].name for index in key_positions(columns))


def resolve_columns(
    table_map: TableMap,
    definition: TableDefinition | None,
    flavour: Flavour = Flavour.MYSQL,
    version: tuple[int, int, int] = (0, 0, 0),
) -> ResolvedTable:
    """Combine the facts of a table map, its metadata and the catalog.

    Args:
        table_map: the table map.
        definition: the table's definition in the catalog; None if there is none.
        flavour: the flavour of the server that logged it.
        version: that server's version.

    Raises:
        UnsupportedError: a column's type cannot be in row images.
    """
    named = all(column.name is not None for column in table_map.columns)
    definitions, warnings, unfit = _matched(table_map, definition, flavour, named)
    if unfit is not None:
        last = len(table_map.columns)
        warnings.append(f"the columns of {table_map.name} are called c1 to c{last}: {unfit}. {TO_KNOW_NAMES}")
    warnings += [
        f"the table maps of {table_map.name} have metadata of type {number}, which is unknown to binx"
        " and ignored"
        for number in sorted({number for number, _ in table_map.unknown_metadata})
    ]
    used = definition if any(definitions) else None
    if used is not None and not named and used.provenance is Provenance.IF_NOT_EXISTS:
        warnings.append(
            f"the columns of {table_map.name} are named as in CREATE TABLE IF NOT EXISTS, which does nothing"
            " where the table is there already, maybe with other columns. To be sure, give a schema dump with"
            " --schema, or include earlier logs"
        )
    source = definition.provenance if definition is not None else Provenance.NONE
    key_source = _key_source(table_map, named, used)
    key = used.row_key if used is not None and key_source is used.provenance else ()
    columns = _resolve_all(table_map.columns, tuple(definitions), source, _KeyFacts(key_source, key))
    if flavour is Flavour.MARIADB and any(column.generated for column in columns):
        pairs = zip(columns, unlogged_changes(definitions, version), strict=True)
        columns = tuple(column._replace(changes_with=read) for column, read in pairs)
    return ResolvedTable(
        db=table_map.database,
        name=table_map.table,
        columns=columns,
        definition=used,
        warnings=tuple(warnings),
        unfit=unfit,
    )


_Definitions = list[ColumnDefinition | None]


def _matched(
    table_map: TableMap, definition: TableDefinition | None, flavour: Flavour, named: bool
) -> tuple[_Definitions, list[str], str | None]:
    """Return the definition of each column that it fits, warnings, and why the table's does not fit."""
    columns = table_map.columns
    nothing: _Definitions = [None] * len(columns)
    if definition is None:
        return nothing, [], None
    if named:
        matching = [_by_name(column, definition, flavour) for column in columns]
        return matching, _unlike(table_map, definition), None
    if definition.unknown is not None:
        return nothing, [], definition.unknown
    known = [*definition.columns]
    warnings: list[str] = []
    hidden = len(columns) - len(known)
    if hidden > 0 and flavour is Flavour.MARIADB and _may_be_hashes(columns[-hidden:], known):
        known += [_hash_column(number) for number in range(1, hidden + 1)]
        warnings.append(
            f"{table_map.name} has {hidden} more columns than its definition: assumed to be MariaDB's"
            " hidden hash columns for long UNIQUE keys"
        )
    if len(columns) != len(known):
        return nothing, [], f"its definition has {len(known)} columns, its rows have {len(columns)}"
    for number, (column, declared) in enumerate(zip(columns, known, strict=True), start=1):
        if not compatible(column, declared, flavour):
            reason = (
                f"column {number} is defined as {declared.name} {declared.mysql_type}, its rows hold"
                f" {column.type.name} ({column.metadata})"
            )
            return nothing, [], reason
    return [*known], warnings, None


def _unlike(table_map: TableMap, definition: TableDefinition) -> list[str]:
    """Return warnings about a table map whose names differ from the definition's."""
    logged = {folded_name(column.name or "") for column in table_map.columns}
    defined = {folded_name(column.name) for column in definition.columns}
    differing = sorted((logged ^ defined) - _HIDDEN)
    if definition.unknown is not None or not any(not is_hash(name.upper()) for name in differing):
        return []
    return [
        f"the rows of {table_map.name} and its definition have different columns (only one has"
        f" {', '.join(differing)}): a statement that changed the table is missing from the logs"
    ]


def is_hash(name: str) -> bool:
    """Whether a column has the name of the hashes that MariaDB keeps, hidden, of long UNIQUE keys."""
    return name.startswith(_HASH) and name.removeprefix(_HASH).isdecimal()


def _by_name(column: Column, definition: TableDefinition, flavour: Flavour) -> ColumnDefinition | None:
    known = definition.column(column.name or "")
    return known if known is not None and compatible(column, known, flavour) else None


def _may_be_hashes(extra: Sequence[Column], known: Sequence[ColumnDefinition]) -> bool:
    """Whether columns after the known ones can be the hashes of UNIQUE keys over long columns."""
    long_bases = ("blob", "text", "varchar", "varbinary")
    return all(column.type is ColumnType.LONGLONG and column.nullable for column in extra) and any(
        definition.base.endswith(long_bases) for definition in known
    )


def _hash_column(number: int) -> ColumnDefinition:
    return ColumnDefinition(
        f"{_HASH}{number}",
        "bigint unsigned",
        "bigint",
        unsigned=True,
        invisible=True,
        generated="virtual",
    )


def _key_source(table_map: TableMap, named: bool, definition: TableDefinition | None) -> Provenance:
    """Return the source of the key; metadata has it only with names, under binlog_row_metadata=FULL."""
    if table_map.has_primary_key or named:
        return Provenance.METADATA
    return definition.provenance if definition is not None else Provenance.NONE


class _KeyFacts(NamedTuple):
    """The source of the key, and its column names if that is a definition."""

    source: Provenance
    columns: tuple[str, ...]


@lru_cache(CACHED_COLUMN_SETS)
def _resolve_all(
    stored: tuple[Column, ...],
    definitions: tuple[ColumnDefinition | None, ...],
    source: Provenance,
    key: _KeyFacts,
) -> tuple[ResolvedColumn, ...]:
    columns = [
        _resolve(f"c{number}", column, known, source, key)
        for number, (column, known) in enumerate(zip(stored, definitions, strict=True), start=1)
    ]
    names = output_names([column.source_name for column in columns])
    return tuple(
        column if column.name == name else column._replace(name=name)
        for column, name in zip(columns, names, strict=True)
    )


@lru_cache(_CACHED_COLUMNS)
def _resolve(
    fallback: str, column: Column, known: ColumnDefinition | None, source: Provenance, key: _KeyFacts
) -> ResolvedColumn:
    """Resolve one column; its output name is set later, when all names are known."""
    logical, origin = logical_type(column, known, source)
    name_source = source if known is not None else Provenance.NONE
    name = known.name if known is not None else fallback
    if column.name is not None:
        name, name_source = column.name, Provenance.METADATA
    position = column.primary_key
    if known is not None and known.name in key.columns:
        position = key.columns.index(known.name)
    invisible = known.invisible if known is not None else False
    if column.visible is not None:
        invisible = not column.visible
    return ResolvedColumn(
        name=name,
        source_name=name,
        type=logical,
        mysql_type=known.mysql_type if known is not None else mysql_name(logical),
        nullable=column.nullable,
        primary_key_position=position,
        invisible=invisible,
        generated=known.generated if known is not None else None,
        default=known.default.text if known is not None and known.default is not None else None,
        absent=absent_value(known, logical, column.nullable),
        added=added_value(known, logical),
        provenance=ColumnProvenance(
            name_source, origin.signedness, origin.charset, origin.members, key.source
        ),
    )


def output_names(names: Sequence[str]) -> list[str]:
    """Return the columns' output names.

    Names that look like system columns get a ``_`` suffix; of names that are equal ignoring case, which
    Spark cannot distinguish, all but the first get a number.
    """
    taken: set[str] = set()
    result: list[str] = []
    for name in names:
        output = f"{name}_" if name.casefold().startswith(SYSTEM_COLUMNS) else name
        candidate, number = output, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{output}_{number}"
        taken.add(candidate.casefold())
        result.append(candidate)
    return result
