"""One server's logs as they are compared: which transactions they have, and a digest of what each did."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from binx.event.gtid_set import GtidSet
from binx.event.gtid_source import DomainSource
from binx.export.changes import Begin, RowTexts, Selected, ordered_changes
from binx.export.diff_contents import digested
from binx.export.diff_digests import Digests, GtidKeys
from binx.export.json_lines import JsonRows
from binx.export.search import Search
from binx.kernels.transactions import TransactionTable
from binx.log.ends import FileEnds
from binx.log.gtid_keys import marked_gtids
from binx.log.selection import Selection
from binx.rows.catalog import Catalog
from binx.rows.marks import TAKE
from binx.rows.statements import Statement

if TYPE_CHECKING:
    from typing_extensions import Buffer

ROWS_KEPT = 1000
"""Row changes of a transaction that are compared one by one, at most."""

_TAKEN = bytes(mark == TAKE for mark in range(256))
"""Turns marks of what is to be done with transactions into a selection of those that are wanted."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one server's logs have.

    Attributes:
        files: how many.
        gtids: the transactions in the logs that were chosen.
        before: the GTIDs of transactions before the first log, as its head tells them.
        transactions: how many were chosen.
        anonymous: how many of these have no GTID.
        missing: GTIDs asked for by name that its logs do not have.
    """

    files: int
    gtids: GtidSet
    before: GtidSet
    transactions: int
    anonymous: int
    missing: GtidSet


class SideReading:
    """One side's logs on their way through.

    Args:
        chain: the files in their order, with their ends read.
        selection: which transactions are compared.
        catalog: tables known beforehand.
        unreadable: tables, as (db, table), whose rows nobody can tell apart; those found are added.
        keys: of GTIDs, for both sides.
        verify: whether checksums are compared.

    Attributes:
        digests: of the contents that were read last.
    """

    def __init__(
        self,
        chain: Sequence[FileEnds],
        selection: Selection,
        catalog: Catalog,
        unreadable: set[tuple[str, str]],
        keys: GtidKeys,
        *,
        verify: bool,
    ) -> None:
        self._chain = chain
        self._unreadable = unreadable
        self._selection = selection
        self._catalog = catalog
        self._verify = verify
        self._keys = keys
        self.digests = Digests(keys)

    def gtids(self) -> Side:
        """Which transactions there are.

        Raises:
            DamagedError, UnsupportedError: a file cannot be read.
        """
        search = self._search(self._selection)
        found = _Found()
        for run in search.runs():
            found.take(run.table, run.table.mask() if run.mask is None else run.mask)
        return self._side(found, search)

    def contents(self) -> Side:
        """Which transactions there are, with digests of what they did.

        Raises:
            DamagedError, UnsupportedError: a file cannot be read.
        """
        search = self._search(self._selection)
        self.digests = Digests(self._keys)
        found = _Found()
        for gtid, digest in digested(found.through(search.selected()), self._unreadable):
            if gtid is not None:
                self.digests.add(gtid, digest)
        return self._side(found, search)

    def rows(self, gtids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """Row changes and statements of some transactions, the first of each."""
        wanted = Selection(gtids=GtidSet.parse(",".join(gtids)))
        kept: dict[str, list[dict[str, Any]]] = {}
        current: list[dict[str, Any]] = []
        items = ordered_changes(
            self._search(wanted).selected(),
            self._catalog.copy(),
            JsonRows(lines=True),
            unreadable=self._unreadable,
        )
        for item in items:
            if isinstance(item, Begin):
                current = kept.setdefault(item.facts["gtid"], [])
            elif isinstance(item, RowTexts):
                room = max(ROWS_KEPT - len(current), 0)
                lines = islice(item.each(), room)
                current += [_plain(json.loads(b"".join(line))) for line in lines]
            elif isinstance(item, Statement):
                current.append({"type": "statement", "db": item.db, "sql": item.sql})
        return kept

    def _search(self, selection: Selection) -> Search:
        return Search(self._chain, selection, verify=self._verify)

    def _side(self, found: _Found, search: Search) -> Side:
        before = GtidSet()
        if self._chain:
            first = self._chain[0]
            before = first.previous_gtids or GtidSet(
                (DomainSource(position.domain, position.server_id), 0, position.sequence)
                for position in first.gtid_list or ()
            )
        return Side(
            files=len(self._chain),
            gtids=found.gtids,
            before=before,
            transactions=search.taken,
            anonymous=search.taken - found.known,
            missing=search.selector.missing(),
        )


class _Found:
    """The GTIDs of what is selected, taken in as it passes.

    Attributes:
        gtids: of the transactions so far.
        known: how many of these have one.
    """

    def __init__(self) -> None:
        self.gtids = GtidSet()
        self.known = 0

    def through(self, selected: Iterable[Selected]) -> Iterator[Selected]:
        """The same parts."""
        for part in selected:
            self.take(part.table, part.mask.translate(_TAKEN))
            yield part

    def take(self, table: TransactionTable, mask: Buffer) -> None:
        """Take in the GTIDs of the transactions that a mask marks."""
        intervals = marked_gtids(table, mask)
        self.known += sum(last - first + 1 for _, first, last in intervals)
        self.gtids |= GtidSet(intervals)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row change without what says where it stands."""
    kept = ("type", "db", "table", "before", "after", "json_diff")
    return {name: row[name] for name in kept if name in row}


__all__ = ["Side", "SideReading"]
