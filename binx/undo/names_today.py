"""Names that tables and columns have at the end of the logs, for changes that are undone there.

A table keeps its identity through RENAME, a column through RENAME and CHANGE. A table that another one with
rows replaced in one RENAME, as gh-ost and pt-online-schema-change do it, goes on as the one with its name.
With ``lower_case_table_names=1``, rows have names in lower case, statements as they were written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from binx.errors import BinxError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import find_transactions
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.change_groups import INSERT
from binx.rows.columns.generated import COMPUTED
from binx.rows.columns.names import ResolvedColumn, ResolvedTable, is_hash
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
        has_columns: whether no statement changed its columns, but for their names.
    """

    table: Name | None
    columns: dict[str, str | None]
    is_same: bool
    has_columns: bool = True


class TableToday(NamedTuple):
    """A table under the names of today, None if it was dropped.

    Attributes:
        in_place: whether the values of its columns are those of the first columns of today, in this order.
    """

    table: ResolvedTable | None
    in_place: bool


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
        self._files = files
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
        every = [*chain.from_iterable(self._effects)]
        self.has_renamed = any(effect.action == "renamed" for effect in every)
        self._written = {(one.db, one.table) for one in every} | {
            (one.new_db, one.new_table) for one in every
        }
        self._tables: dict[tuple[int, int], tuple[ResolvedTable, TableToday]] = {}
        self._changes: dict[tuple[int, int], tuple[TableChanges, TableChanges]] = {}
        self._lost_tables: dict[str, None] = {}
        self._lost_columns: dict[str, dict[str, None]] = {}

    def moved_after(self, version: int) -> bool:
        """Whether statements after a commit version made, altered, renamed or dropped tables."""
        return bisect_right(self._versions, version) < len(self._versions)

    def table(self, table: ResolvedTable, version: int) -> TableToday:
        """Return a table of a commit version under the names of today."""
        first = bisect_right(self._versions, version)
        if first == len(self._versions):
            return TableToday(table, in_place=True)
        key = id(table), first
        if key not in self._tables:
            self._tables[key] = table, self._table(table, first)
        return self._tables[key][1]

    def name(self, name: Name, version: int) -> Name | None:
        """Return the name of today of a table of a commit version; None if it was dropped."""
        return self._today(name, bisect_right(self._versions, version)).table

    def column(self, table: Name, column: str, version: int) -> str:
        """Return the name of today of a column of a commit version; the same if it was dropped."""
        today = self._today(table, bisect_right(self._versions, version))
        return today.columns.get(folded_name(column)) or column

    def lose(self, table: ResolvedTable) -> None:
        """Record that rows of a table that was dropped since are not undone."""
        self._lost_tables[f"{table.db}.{table.name}"] = None

    def renamed(
        self, changes: ChangeBatch, *, undone: bool = False, state: int | None = None
    ) -> ChangeBatch | None:
        """Return row changes under the names of today; None if their table was dropped.

        Args:
            undone: whether they are to be undone, and what is gone of them is a loss.
            state: of rows of a table at a moment, the commit version that it has the names of.
        """
        then = changes.table.resolved
        resolved = self.table(then, changes.versions[0] if state is None else state).table
        if resolved is None:
            if undone:
                self.lose(then)
            return None
        if resolved is then:
            return changes
        key = id(changes.table), id(resolved)
        if key not in self._changes:
            table = copy(changes.table)
            table.resolved = resolved
            self._changes[key] = changes.table, table
        table = self._changes[key][1]
        if undone and (state is not None or any(code != INSERT for code in changes.change_types)):
            lost = [
                new.source_name
                for old, new in zip(then.columns, resolved.columns, strict=True)
                if new.generated == _DROPPED and old.generated not in COMPUTED
            ]
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

    @cached_property
    def _with_rows(self) -> set[tuple[str, str | None]]:
        """The tables with row changes in the logs."""
        names: set[tuple[str, str | None]] = set()
        for file in self._files:
            scan = find_transactions(file, Level.LEVEL_TABLES, verify=False)
            with suppress(BinxError):
                for _ in scan:
                    names |= {scan.table_name(number) for number in range(scan.table_count)}
        return names

    def _table(self, table: ResolvedTable, first: int) -> TableToday:
        today = self._today((table.db, table.name), first)
        if today.is_same:
            return TableToday(table, in_place=True)
        if today.table is None:
            return TableToday(None, in_place=False)
        definition = self.catalog.lookup(*today.table)
        fitting = definition if table.unfit is None else None
        columns = tuple(_column(column, today.columns, fitting) for column in table.columns)
        db, name = today.table
        renamed = table._replace(db=db, name=name, columns=columns, definition=definition)
        known = () if table.definition is None else table.definition.columns
        # No clause names the columns that versioning takes away.
        has_columns = today.has_columns and (definition is None or len(known) in (0, len(definition.columns)))
        return TableToday(renamed, has_columns or _in_place(table, renamed))

    def _today(self, name: Name, first: int) -> _Today:
        table, columns, is_same, has_columns = name, dict[str, str | None](), True, True
        is_lower = name not in self._written and name == _lower(name)
        for written in self._effects[first:]:
            effects = [*map(_in_lower_case, written)] if is_lower else written
            before = table
            for effect in effects:
                if effect.action == "dropped" and (effect.db, effect.table or table[1]) == table:
                    return _Today(None, {}, is_same=False)
                if (effect.db, effect.table) != table:
                    continue
                is_same &= effect.action not in ("altered", "renamed", "not_understood")
                has_columns &= effect.action != "not_understood" and all(
                    change.action == "renamed" for change in effect.changes
                )
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
            renamed = {(effect.db, effect.table) for effect in effects if effect.action == "renamed"}
            # Tables that take turns stay what they are, and so does one that an empty one replaces.
            if successor is not None and table not in renamed and successor in self._with_rows:
                table, columns, has_columns = before, {}, False
        return _Today(table, columns, is_same, has_columns)


def _lower(name: Name) -> Name:
    return name[0].lower(), name[1].lower()


def _in_lower_case(effect: Effect) -> Effect:
    names = {field: getattr(effect, field) for field in ("db", "table", "new_db", "new_table")}
    return effect._replace(**{field: name and name.lower() for field, name in names.items()})


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


def _in_place(then: ResolvedTable, today: ResolvedTable) -> bool:
    """Whether the columns of then are the first ones of today, of the same types."""
    definition, before = today.definition, then.definition
    own = [column for column in then.columns if not is_hash(column.source_name)]
    if definition is None or definition.unknown is not None or len(own) > len(definition.columns):
        return False
    # Hidden hashes stand after all other columns.
    if len(own) < len(then.columns) and len(own) < len(definition.columns):
        return False
    for old, new, declared in zip(own, today.columns, definition.columns, strict=False):
        known = None if before is None else before.column(old.source_name)
        facts = declared.mysql_type, declared.charset, declared.generated
        if new.generated == _DROPPED or folded_name(new.source_name) != folded_name(declared.name):
            return False
        if known is None:
            if (old.mysql_type, old.type.charset or declared.charset) != facts[:2]:
                return False
        elif (known.mysql_type, known.charset, known.generated) != facts:
            return False
    return True
