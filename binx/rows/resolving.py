"""Resolve a file's table maps to table definitions, which DDL within the file may change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from binx.event.column import Column
from binx.event.format import Flavour, FormatDescription
from binx.event.table_map import TableMap, parse_map_body
from binx.kernels.rows.layouts import TableMaps
from binx.kernels.transactions.table import TransactionTable
from binx.log.binlog_file import BinlogFile
from binx.log.scanning import decoded_name
from binx.rows.columns.generated import COMPUTED
from binx.rows.columns.names import ResolvedTable, resolve_columns
from binx.rows.columns.schema import Change, ChangeKind, StatementContext, folded_name
from binx.rows.columns.stored import defined_width, is_old_time
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog, Followed
from binx.source.wording import shortened

if TYPE_CHECKING:
    from binx.rows.batches import TableChanges


class TableResolver:
    """Resolves column names and types of table maps; the catalog is carried over to the next file.

    Args:
        maps: the file's distinct table maps and their tables, both numbered.
        catalog: the known tables; updated by the DDL statements in the file.
        as_stored: whether to use only the mandatory part of table maps and ignore all other metadata.

    Attributes:
        tables: every table and schema version seen so far.
        widths: column widths from the definition of the latest rows, by the table map's bytes after table ID
            and flags; see :meth:`~binx.kernels.rows.layouts.TableMaps.set_widths`.
    """

    def __init__(
        self,
        file: BinlogFile,
        maps: TableMaps,
        catalog: Catalog,
        arrow: ArrowOptions,
        as_stored: bool,
        warnings: dict[str, None],
    ) -> None:
        self._file = file
        self._maps = maps
        self._catalog = catalog
        self._arrow = arrow
        self._as_stored = as_stored
        self._warnings = warnings
        self._folded_names: list[tuple[str, str]] = []
        self._numbers: dict[tuple[str, str], list[int]] = {}
        self._versions: dict[tuple[object, ...], list[TableChanges]] = {}
        self._last_columns: dict[_TableKey, tuple[Column, ...]] = {}
        self._resolved_from: dict[_TableKey, list[tuple[int, ResolvedTable]]] = {}
        self.tables: list[TableChanges] = []
        self.widths: dict[bytes, list[int | None]] = {}

    def name(self, number: int) -> tuple[str, str]:
        """Return (db, table) by the table's number."""
        return decoded_name(self._maps.name(number))

    def resolve(self, number: int, position: int, table: TransactionTable, index: int) -> TableChanges:
        """Return how to read the rows after a table map; the same schema version gives the same object."""
        # Imported here, as callers that only follow statements do not need Arrow.
        from binx.rows.batches import TableChanges

        description = table.format
        map_body = self._maps.body(number)
        table_map = parse_map_body(map_body, description, position, optional=not self._as_stored)
        self._warn_of_other_columns(table_map)
        valid_from = self._file.commit_version(table.value("start", index))
        resolved = self._resolved(table_map, description)
        changes = TableChanges(table_map.columns, resolved, self._arrow, valid_from)
        if description.flavour is Flavour.MARIADB:
            self._set_widths(number, table_map, changes)
            computed = [column.generated in COMPUTED for column in changes.resolved.columns]
            self._maps.set_computed(number, computed)
        for warning in (*changes.resolved.warnings, *self._foreign(changes)):
            self._warnings[warning] = None
        earlier = self._resolved_from.setdefault((changes.db, changes.name), [])
        if not earlier or earlier[-1][1] != resolved:
            earlier.append((valid_from, resolved))
        layout = tuple(self._maps.columns(number))
        versions = self._versions.setdefault((changes.db, changes.name, layout), [])
        for known in versions:
            if known.version == changes.version:
                return known
        versions.append(changes)
        self.tables.append(changes)
        return changes

    def resolved_at(self, version: int, db: str, name: str) -> ResolvedTable | None:
        """Return a table as its rows were last read up to a commit version; None if none were."""
        earlier = self._resolved_from.get((db, name), [])
        index = bisect_right(earlier, version, key=itemgetter(0))
        return earlier[index - 1][1] if index else None

    def _warn_of_other_columns(self, table_map: TableMap) -> None:
        """Warn if a table's columns changed since its last table map without a logged statement."""
        key = (folded_name(table_map.database), folded_name(table_map.table))
        before = self._last_columns.get(key)
        self._last_columns[key] = table_map.columns
        if before is not None and not _may_be_same(before, table_map.columns):
            self._warnings[
                f"the columns of {table_map.name} change, and no statement that changed them is in the log:"
                " it was not logged (sql_log_bin=0) or cannot be read. Rows before and after are decoded"
                " according to their own table maps"
            ] = None

    def _set_widths(self, number: int, table_map: TableMap, changes: TableChanges) -> None:
        """Pass the kernel the column widths that only a definition gives."""
        pairs = zip(table_map.columns, changes.resolved.columns, strict=True)
        widths = [defined_width(stored, column.type) for stored, column in pairs]
        if any(width is not None for width in widths):
            self._maps.set_widths(number, widths)
            self.widths[self._maps.body(number)] = widths

    def _resolved(self, table_map: TableMap, description: FormatDescription) -> ResolvedTable:
        """Resolve the columns; as stored, definitions give old times' digits and what is computed alone."""
        definition = self._catalog.lookup(table_map.database, table_map.table)
        flavour = description.flavour
        defined = resolve_columns(table_map, definition, flavour, description.version)
        if not self._as_stored:
            return defined
        stored = resolve_columns(table_map, None, flavour)
        columns = tuple(
            plain._replace(
                type=known.type if is_old_time(column) else plain.type, changes_with=known.changes_with
            )
            for column, plain, known in zip(table_map.columns, stored.columns, defined.columns, strict=True)
        )
        return stored._replace(columns=columns)

    def _foreign(self, changes: TableChanges) -> Iterator[str]:
        """Yield a warning if column names come from another server's table, whose logs were read before."""
        server_id, definition = self._file.format.server_id, changes.resolved.definition
        if definition is None or definition.server_id in (None, server_id):
            return
        if any(column.provenance.name is definition.provenance for column in changes.resolved.columns):
            yield (
                f"the columns of {changes.db}.{changes.name} in the logs of server {server_id} are named as"
                f" in those of server {definition.server_id}, given earlier: correct if one took over"
                " from the other; otherwise process the logs of each server separately, or give"
                " --schema"
            )

    def apply(self, sql: str, db: str, context: StatementContext) -> tuple[list[int], Followed]:
        """Apply a DDL statement.

        Returns:
            The numbers of the tables to resolve again, and what the statement did.
        """
        numbers: list[int] = []
        context = context._replace(server_id=self._file.format.server_id)
        followed = self._catalog.follow(sql, db, context)
        for change in followed.changes:
            if change.reason is not None:
                self._warnings[f"{change.reason}: {shortened(sql, 80)}"] = None
            numbers += self._changed_tables(change)
        return numbers, followed

    def forget(self) -> list[int]:
        """Forget all definitions; return the numbers of the tables to resolve again."""
        self._catalog.clear()
        return list(range(self._maps.tables))

    def _changed_tables(self, change: Change) -> list[int]:
        """Return the numbers of the tables that a statement changed."""
        for number in range(len(self._folded_names), self._maps.tables):
            db, name = self.name(number)
            self._folded_names.append((folded_name(db), folded_name(name)))
            self._numbers.setdefault(self._folded_names[-1], []).append(number)
        db = folded_name(change.db)
        if change.table is None:
            touched = [key for key in self._numbers if key[0] == db]
            for key in [key for key in self._last_columns if key[0] == db]:
                del self._last_columns[key]
        else:
            touched = [(db, folded_name(change.table))]
        if change.previous is None and change.kind in {ChangeKind.RENAMED, ChangeKind.UNPARSED}:
            # It may have changed any table.
            self._last_columns.clear()
        if change.previous is not None:
            touched.append((folded_name(change.previous.db), folded_name(change.previous.name)))
        for key in touched:
            self._last_columns.pop(key, None)
        return [number for key in touched for number in self._numbers.get(key, ())]


_TableKey = tuple[str, str]


def _may_be_same(before: tuple[Column, ...], after: tuple[Column, ...]) -> bool:
    """Whether columns may be the same: stored the same way, with the same names if both have names."""
    return len(before) == len(after) and all(
        (old.type, old.metadata) == (new.type, new.metadata)
        and (old.name is None or new.name is None or old.name == new.name)
        for old, new in zip(before, after, strict=True)
    )
