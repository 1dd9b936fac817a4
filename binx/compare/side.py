"""Read one side of a comparison: its transactions' GTIDs and content digests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.compare.contents import Digests, GtidKeys, StoredValues, digested, statement_facts
from binx.compare.transaction_effects import ROWS_KEPT, TransactionEffect, statement_form
from binx.event.gtid.sets import GtidSet
from binx.kernels.transactions.table import FLAG_HAS_COUNTS, Kind, TransactionTable
from binx.log.chain.chain import ChainLog
from binx.log.identifiers import marked_gtids
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.log.succession import reached_before
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import TAKE
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.items import Begin, RowTexts
from binx.slices.json_lines import JsonRows
from binx.slices.search import Search, Selected
from binx.sql.values import ReadableValues

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.rows.batches import TableChanges

ROOM = 50_000
"""Approximate number of row changes that are kept at a time, over all transactions."""

_KINDS_OF_ROWS = (Kind.KIND_DML, Kind.KIND_EMPTY)

_TAKEN = bytes(mark == TAKE for mark in range(256))
"""Translates decoder marks into a mask of the wanted transactions."""


@dataclass(frozen=True, slots=True)
class Side:
    """The contents of one server's logs.

    Attributes:
        logs: how many there are.
        gtid_set: the selected transactions in the logs.
        previous_gtids: GTIDs of the transactions before the first log, from its header and from the user.
        anonymous_transactions: how many of the selected transactions have no GTID.
        absent_gtids: explicitly requested GTIDs that the logs do not have.
        without_rows: transactions with neither row changes nor schema statements; they may have row changes
            logged as statements.
        empty: those of them that have no statements either.
        damage: one sentence for each range that was skipped because it could not be read.
        notes: sentences about the selection, such as a name that no log has.
    """

    logs: int
    gtid_set: GtidSet
    previous_gtids: GtidSet
    transactions: int
    anonymous_transactions: int
    absent_gtids: GtidSet
    without_rows: GtidSet
    empty: GtidSet
    damage: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ShownChange(NamedTuple):
    """A row change or a statement to display.

    Attributes:
        stored: the change by column number instead of name, which is the same on both sides.
        shown: the change in readable form.
        key: names of the primary key's columns; empty if they are not known.
    """

    stored: dict[str, Any]
    shown: dict[str, Any]
    key: tuple[str, ...]

    @property
    def row(self) -> tuple[object, ...]:
        """Which row is changed how, identified by key; for changes without a key only the table."""
        image = self.shown.get("before") or self.shown.get("after") or {}
        key = [image.get(name) for name in self.key]
        return (*(self.shown.get(name) for name in ("type", "db", "table")), key)


class SideReading:
    """Reads one side's logs.

    Args:
        unreadable: tables, as (db, table), whose rows cannot be compared; those found are added.
        keys: GTID keys, shared by both sides.
        purged: GTIDs that the server has although its logs and their headers do not record them.
        on_damage: what to do if a log is damaged; salvage also leaves out what cannot be decoded.
    """

    def __init__(
        self,
        chain: Sequence[ChainLog],
        selection: Selection,
        catalog: Catalog,
        unreadable: set[tuple[str, str]],
        keys: GtidKeys,
        *,
        purged: GtidSet,
        verify: bool,
        on_damage: OnDamage,
    ) -> None:
        self._chain = chain
        self._unreadable = unreadable
        self._selection = selection
        self._catalog = catalog
        self._verify = verify
        self._on_damage = on_damage
        self._keys = keys
        self._purged = purged
        self.digests = Digests(keys)

    def gtids(self) -> Side:
        """Read which transactions there are.

        Raises:
            DamagedError, UnsupportedError: a file cannot be read.
        """
        search = self._search(self._selection)
        collected = _SideGtids()
        for run in search.runs():
            collected.take(run.table, run.mask)
        return self._side(collected, search)

    def contents(self) -> Side:
        """Read which transactions there are, with content digests.

        Raises:
            DamagedError, UnsupportedError: a file cannot be read.
        """
        search = self._search(self._selection)
        self.digests = Digests(self._keys)
        collected = _SideGtids()
        for gtid, digest in digested(
            collected.through(search.selected()), self._catalog.copy(), self._unreadable
        ):
            if gtid is not None:
                self.digests.add(gtid, digest)
        return self._side(collected, search)

    def effects(self, gtids: GtidSet) -> dict[str, TransactionEffect]:
        """Return some transactions' effects, without those that start once ``ROOM`` changes are kept."""
        effects: dict[str, TransactionEffect] = {}
        kept_rows = 0
        gtid: str | None = None
        for item in self._items(gtids, self._reading(as_stored=True), as_stored=True):
            if isinstance(item, Begin):
                if kept_rows >= ROOM:
                    break
                gtid = item.facts["gtid"]
                effects.setdefault(gtid, TransactionEffect())
            elif gtid is None:
                continue
            elif isinstance(item, Statement):
                _take_statement(effects[gtid], item)
            else:
                before = effects[gtid].kept_rows
                effects[gtid].take_row(item)
                kept_rows += effects[gtid].kept_rows - before
        return effects

    def changes(self, gtid: str) -> Iterator[dict[str, Any]]:
        """Yield the row changes of one transaction in order, by column number."""
        reading = self._reading(as_stored=True)
        for item in self._items(GtidSet.parse(gtid), reading, as_stored=True):
            if isinstance(item, dict):
                yield item

    def rows(self, gtids: GtidSet) -> dict[str, list[ShownChange]]:
        """Return the first row changes and statements of some transactions in readable form."""
        named: dict[str, list[dict[str, Any]]] = {}
        stored: dict[str, list[dict[str, Any]]] = {}
        keys: dict[tuple[str, str], tuple[str, ...]] = {}
        for changes, as_stored in ((stored, True), (named, False)):
            reading = self._reading(as_stored=as_stored)
            current: list[dict[str, Any]] = []
            for item in self._items(gtids, reading, as_stored=as_stored):
                if isinstance(item, Begin):
                    current = changes.setdefault(item.facts["gtid"], [])
                elif len(current) >= ROWS_KEPT:
                    continue
                elif isinstance(item, Statement):
                    current.append(_statement_row(item, as_stored=as_stored))
                else:
                    current.append(item)
            keys |= {(table.db, table.name): table.resolved.primary_key for table in reading.tables}
        return {
            gtid: [
                ShownChange(row, shown, keys.get((row.get("db", ""), row.get("table", "")), ()))
                for row, shown in zip(rows, named[gtid], strict=True)
            ]
            for gtid, rows in stored.items()
        }

    def _reading(self, *, as_stored: bool) -> Reading:
        return reading_in_pieces(
            self._catalog.copy(), as_stored=as_stored, unreadable=self._unreadable, keeps=True
        )

    def _items(
        self,
        gtids: GtidSet,
        reading: Reading,
        *,
        as_stored: bool,
    ) -> Iterator[Begin | dict[str, Any] | Statement]:
        """Yield some transactions' starts, row changes and statements."""
        items = ordered_changes(
            self._search(Selection(gtids=gtids)).selected(),
            reading,
            JsonRows(lines=True, values=StoredValues() if as_stored else ReadableValues()),
            facts=("gtid",),
        )
        computed: dict[tuple[str, str], set[str]] = {}
        seen = 0
        for item in items:
            if isinstance(item, RowTexts):
                tables = [*reading.tables] if as_stored else []
                if len(tables) != seen:
                    seen, computed = len(tables), _computed(tables)
                for index in range(item.first, item.last):
                    row = _plain(json.loads(b"".join(item.piece.text(index, index + 1))))
                    if names := computed.get((row["db"], row["table"])):
                        row["computed"] = names
                    yield row
            elif isinstance(item, Begin | Statement):
                yield item

    def _search(self, selection: Selection) -> Search:
        search = Search(self._chain, selection, verify=self._verify, on_damage=self._on_damage)
        search.leave_out_undecodable(self._catalog)
        return search

    def _side(self, collected: _SideGtids, search: Search) -> Side:
        before = self._purged
        if self._chain:
            before |= reached_before(self._chain[0].facts) or GtidSet()
        return Side(
            logs=len(self._chain),
            gtid_set=collected.gtids,
            previous_gtids=before,
            transactions=search.taken,
            anonymous_transactions=search.taken - collected.count,
            absent_gtids=search.selector.missing(),
            without_rows=collected.without_rows,
            empty=collected.empty,
            damage=tuple(search.damage),
            notes=tuple(search.selector.notes),
        )


class _SideGtids:
    """Collects the GTIDs of the selected transactions while they are read."""

    def __init__(self) -> None:
        self.gtids = GtidSet()
        self.count = 0
        self.without_rows = GtidSet()
        self.empty = GtidSet()

    def through(self, selected: Iterable[Selected]) -> Iterator[Selected]:
        """Pass the parts through, collecting their GTIDs."""
        for part in selected:
            self.take(part.table, part.mask.translate(_TAKEN))
            yield part

    def take(self, table: TransactionTable, mask: Buffer) -> None:
        """Add the GTIDs of the transactions that a mask selects."""
        intervals = marked_gtids(table, mask)
        self.count += sum(last - first + 1 for _, first, last in intervals)
        self.gtids |= GtidSet(intervals)
        rowless = bytearray(mask)
        table.keep_values(rowless, "kind", _KINDS_OF_ROWS)
        table.keep_values(rowless, "rows", [0], FLAG_HAS_COUNTS)
        self.without_rows |= GtidSet(marked_gtids(table, rowless))
        table.keep_range(rowless, "statements", 0, 0)
        self.empty |= GtidSet(marked_gtids(table, rowless))


def _take_statement(effect: TransactionEffect, statement: Statement) -> None:
    if statement.kind == "dml":
        effect.texts.append(tuple(statement_facts(statement)))
    elif (form := statement_form(statement)) is not None:
        effect.definitions.append(form)


def _statement_row(statement: Statement, *, as_stored: bool) -> dict[str, Any]:
    if as_stored:
        content = statement_facts(statement) if statement.kind == "dml" else statement_form(statement)
        return {"type": "statement", "statement": content}
    return {"type": "statement", "db": statement.db, "sql": statement.sql}


def _computed(tables: Iterable[TableChanges]) -> dict[tuple[str, str], set[str]]:
    """Return each table's columns that updates change without logging it, in all versions of the table."""
    computed: dict[tuple[str, str], set[str]] = {}
    for table in tables:
        names = {one.name for one in table.resolved.columns if one.changes_with is not None}
        computed[table.db, table.name] = names & computed.get((table.db, table.name), names)
    return computed


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row change without its location in the log."""
    members = ("type", "db", "table", "before", "after", "json_diff")
    return {name: row[name] for name in members if name in row}
