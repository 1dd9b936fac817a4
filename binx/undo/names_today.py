"""Names that tables and columns have at the end of the logs, for changes that are undone there.

A table keeps its identity through RENAME, a column through RENAME and CHANGE. A table that another one
replaced in one RENAME, as gh-ost and pt-online-schema-change do it, goes on as the one with its name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from typing import NamedTuple

from binx.errors import BinxError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import find_transactions
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.change_groups import INSERT
from binx.rows.columns.names import ResolvedColumn
from binx.rows.columns.schema import TableDefinition, folded_name
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.effects import Effect, statement_effects
from binx.rows.decoder import WITHOUT_ROWS
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading, no_table
from binx.source.wording import listed
from binx.undo.foreign_keys import ForeignKeys, Name

_DROPPED = "dropped"
"""As what a column counts that is no more: as one that is in images, but not written and not compared."""

_MOST_NAMED = 10


class _Today(NamedTuple):
    """A table at the end of the logs, None if it was dropped; the names of its columns, None likewise.

    Attributes:
        columns: by their folded names of then, without those that have them still.
        is_same: whether no statement changed the table.
    """

    table: Name | None
    columns: dict[str, str | None]
    is_same: bool


class NamesToday:
    """Follows tables and columns to the end of logs.

    Attributes:
        catalog: the tables at the end.
        keys: their foreign keys.
        has_renamed: whether any table was renamed.

    Args:
        catalog: the tables known before the first log.
    """

    def __init__(self, files: Sequence[BinlogFile], catalog: Catalog) -> None:
        self.catalog = catalog.copy()
        self.keys = ForeignKeys(self.catalog)
        self._versions: list[int] = []
        self._effects: list[list[Effect]] = []
        for file in files:
            try:
                for version, effects in _effects_of(file, self.catalog):
                    self._versions.append(version)
                    self._effects.append(effects)
            except BinxError:
                # What can be read of it is undone under the names known so far.
                continue
        self.has_renamed = any(effect.action == "renamed" for effects in self._effects for effect in effects)
        self._tables: dict[tuple[int, int], tuple[TableChanges, TableChanges | None]] = {}
        self._lost_tables: dict[str, None] = {}
        self._lost_columns: dict[str, dict[str, None]] = {}

    def moved_after(self, version: int) -> bool:
        """Whether statements after a commit version made, altered, renamed or dropped tables."""
        return bisect_right(self._versions, version) < len(self._versions)

    def renamed(self, changes: ChangeBatch) -> ChangeBatch | None:
        """Return row changes under the names of today; None if their table was dropped."""
        first = bisect_right(self._versions, changes.versions[0])
        if first == len(self._versions):
            return changes
        key = id(changes.table), first
        if key not in self._tables:
            self._tables[key] = changes.table, self._table(changes.table, first)
        _, table = self._tables[key]
        if table is None or table is changes.table:
            return None if table is None else changes
        if any(code != INSERT for code in changes.change_types):
            lost = [one.source_name for one in table.resolved.columns if one.generated == _DROPPED]
            if lost:
                name = f"{table.db}.{table.name}"
                self._lost_columns.setdefault(name, {}).update(dict.fromkeys(lost))
        return ChangeBatch(table, changes.rows, changes.columns, changes.rows_flags, changes.typed_documents)

    @property
    def losses(self) -> list[str]:
        """Sentences on rows and values that are not restored because their table or column was dropped."""
        tables = [f"{name} was dropped since: its rows are not undone" for name in self._lost_tables]
        return tables + [
            f"columns of {name} were dropped since, and their values are not restored:"
            f" {listed([*columns], _MOST_NAMED)}"
            for name, columns in self._lost_columns.items()
        ]

    def _table(self, table: TableChanges, first: int) -> TableChanges | None:
        resolved = table.resolved
        today = self._today((resolved.db, resolved.name), first)
        if today.is_same:
            return table
        if today.table is None:
            self._lost_tables[f"{resolved.db}.{resolved.name}"] = None
            return None
        definition = self.catalog.lookup(*today.table)
        fitting = definition if resolved.unfit is None else None
        columns = tuple(_column(column, today.columns, fitting) for column in resolved.columns)
        renamed = copy(table)
        renamed.resolved = resolved._replace(
            db=today.table[0], name=today.table[1], columns=columns, definition=definition
        )
        return renamed

    def _today(self, name: Name, first: int) -> _Today:
        table, columns, is_same = name, dict[str, str | None](), True
        for effects in self._effects[first:]:
            before = table
            for effect in effects:
                if effect.action == "dropped" and (effect.db, effect.table or table[1]) == table:
                    return _Today(None, {}, is_same=False)
                if (effect.db, effect.table) != table:
                    continue
                is_same &= effect.action not in ("altered", "renamed")
                if effect.new_table is not None and effect.action == "renamed":
                    table = effect.new_db or effect.db, effect.new_table
                _follow(effect, columns)
            successor = next(
                (
                    (effect.db, effect.table)
                    for effect in effects
                    if effect.action == "renamed" and (effect.new_db, effect.new_table) == before != table
                ),
                None,
            )
            if successor is not None and successor != table and _goes_on(successor, effects, table):
                table, columns = before, {}
        return _Today(table, columns, is_same)


def _goes_on(successor: tuple[str, str | None], effects: list[Effect], table: Name) -> bool:
    """Whether a table that got another one's name replaces it: the two did not swap their names."""
    names = {successor}
    for effect in effects:
        if (effect.new_db, effect.new_table) in names:
            names.add((effect.db, effect.table))
    return table not in names


def _effects_of(file: BinlogFile, catalog: Catalog) -> Iterator[tuple[int, list[Effect]]]:
    """Yield the commit versions of statements about tables, and what they did."""
    reading = Reading(catalog, no_table)
    for transactions in find_transactions(file, Level.LEVEL_EVENTS, verify=False):
        mask = bytearray(len(transactions))
        transactions.mark_statements(mask)
        mask = bytearray(WITHOUT_ROWS if mark else 0 for mark in mask)
        for item in reading.items(file, transactions, mask) if any(mask) else ():
            if isinstance(item, Statement) and item.followed is not None and not item.error_code:
                effects = statement_effects(item.followed, item.sql, item.db)
                if effects:
                    yield item.commit_version, effects


def _follow(effect: Effect, columns: dict[str, str | None]) -> None:
    """Apply what a statement did to columns to their names of today, by their folded names of then."""
    now = {folded_name(name): then for then, name in columns.items() if name is not None}
    for change in effect.changes:
        former = folded_name(change.former or change.name)
        then = now.get(former, former)
        if change.action == "dropped":
            columns[then] = None
        elif change.former is not None:
            columns[then] = change.name


def _column(
    column: ResolvedColumn, names: dict[str, str | None], definition: TableDefinition | None
) -> ResolvedColumn:
    name = names.get(folded_name(column.source_name), column.source_name)
    known = None if definition is None or name is None else definition.column(name)
    if name is None or (definition is not None and definition.unknown is None and known is None):
        return column._replace(generated=_DROPPED, primary_key_position=None)
    if definition is None or known is None:
        return column._replace(source_name=name)
    key = [folded_name(one) for one in definition.row_key]
    position = key.index(folded_name(name)) if folded_name(name) in key else None
    return column._replace(source_name=name, generated=known.generated, primary_key_position=position)
