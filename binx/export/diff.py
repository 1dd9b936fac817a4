"""What the logs of two servers have in common: by GTID, and by what the transactions did.

Two servers write the same transaction with other bytes: table numbers, times, event sizes, compression and
positions differ. So a transaction is compared by what it says: its statements, and its row changes with
database, table, operation and values. Columns are taken as their values are stored, as one side may know
more of a table than the other does, from older logs or from metadata. Of each one a digest of 16 bytes
is kept, and where two differ both sides are read again for the first few, to tell which rows they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from binx.errors import RefusedError
from binx.event.gtid_set import GtidSet
from binx.event.gtid_source import DomainSource, UuidSource
from binx.export.diff_digests import GtidKeys
from binx.export.diff_side import Side, SideReading
from binx.log.ends import FileEnds
from binx.log.selection import Selection
from binx.rows.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Difference:
    """One transaction that the two sides have with different content.

    Attributes:
        gtid: which.
        only_images: the rows are equal in all columns that both sides have; they logged other columns.
        left: row changes and statements that only the left side has, as JSON values; the first ones.
        right: those that only the right side has.
    """

    gtid: str
    only_images: bool
    left: tuple[dict[str, Any], ...]
    right: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class LogDiff:
    """How two servers' logs differ.

    Attributes:
        left: the one side.
        right: the other.
        only_left: GTIDs that the right side has neither in its logs nor before them.
        only_right: the same the other way round.
        errant_left: of ``only_left``, those of sources that the right side knows no transaction of, or that
            are no younger than the youngest it knows of the source: it will not get them by waiting. A tag
            that it does not know, of a server that it does, may still come.
        errant_right: the same the other way round.
        common: how many transactions both have in their logs.
        compared: whether their contents were compared.
        different: GTIDs whose contents differ.
        differences: the first of these, looked into.
        not_compared: tables, as (db, table), with a column of a type that is not known on one side: nobody
            can tell their rows apart.
        missing: GTIDs asked for by name that neither side has in its logs.
    """

    left: Side
    right: Side
    only_left: GtidSet
    only_right: GtidSet
    errant_left: GtidSet
    errant_right: GtidSet
    common: int
    compared: bool
    different: GtidSet
    differences: tuple[Difference, ...]
    not_compared: tuple[tuple[str, str], ...]
    missing: GtidSet

    @property
    def equal(self) -> bool:
        """Whether nothing was found that one side lacks or has otherwise."""
        return self.only_left.is_empty and self.only_right.is_empty and self.different.is_empty


def diff_logs(
    left: Sequence[FileEnds],
    right: Sequence[FileEnds],
    selection: Selection,
    *,
    contents: bool = True,
    most: int = 10,
    catalog: Catalog | None = None,
    verify: bool = True,
) -> LogDiff:
    """Compare two servers' logs.

    Args:
        left: the files of one side in their order, with their ends read.
        right: those of the other.
        selection: which transactions are compared, on both sides.
        contents: compare what common transactions did, not only whether they are there.
        most: how many different transactions are looked into.
        catalog: tables known beforehand.
        verify: whether checksums are compared.

    Raises:
        RefusedError: a side has transactions without GTIDs only, so there is nothing to compare by.
        DamagedError, UnsupportedError: a file cannot be read.
    """
    unreadable: set[tuple[str, str]] = set()
    keys = GtidKeys()
    sides = [
        SideReading(chain, selection, catalog or Catalog(), unreadable, keys, verify=verify)
        for chain in (left, right)
    ]
    facts = _facts(sides, unreadable) if contents else [side.gtids() for side in sides]
    for side, chain in zip(facts, (left, right), strict=True):
        if side.transactions and side.gtids.is_empty:
            raise RefusedError(
                "the logs have no transactions with GTIDs, which are needed to compare them",
                path=chain[0].file.path,
            )
    one, other = facts
    only_left = one.gtids - other.gtids - other.before
    only_right = other.gtids - one.gtids - one.before
    different = sorted(set(sides[0].digests.different(sides[1].digests))) if contents else []
    return LogDiff(
        left=one,
        right=other,
        only_left=only_left,
        only_right=only_right,
        errant_left=_errant(only_left, other),
        errant_right=_errant(only_right, one),
        common=(one.gtids & other.gtids).count,
        compared=contents,
        different=GtidSet.parse(",".join(different)),
        differences=tuple(_looked_into(sides[0], sides[1], different[:most])),
        not_compared=tuple(sorted(unreadable)),
        missing=one.missing & other.missing,
    )


def _facts(sides: Sequence[SideReading], unreadable: set[tuple[str, str]]) -> list[Side]:
    """What both sides have; they are read again without the tables that one of them cannot be read of."""
    while True:
        known = len(unreadable)
        facts = [side.contents() for side in sides]
        if len(unreadable) == known:
            return facts


def _errant(lacking: GtidSet, side: Side) -> GtidSet:
    """What a side lacks and will not get by waiting: it is past their place, or never heard of their source.

    A MariaDB server knows a domain's place by the sequence number alone, whichever server made it. A MySQL
    server begins anew with each tag: one that a side does not know may come from a server that it knows.
    """
    youngest: dict[object, int] = {}
    servers = {source.uuid for source, _, _ in side.gtids | side.before if isinstance(source, UuidSource)}
    for source, _, last in side.gtids | side.before:
        known = source.domain if isinstance(source, DomainSource) else source
        youngest[known] = max(youngest.get(known, 0), last)
    intervals = []
    for source, first, last in lacking:
        known = source.domain if isinstance(source, DomainSource) else source
        heard_of = isinstance(source, UuidSource) and source.uuid in servers
        end = min(last, youngest.get(known, 0)) if known in youngest or heard_of else last
        if first <= end:
            intervals.append((source, first, end))
    return GtidSet(intervals)


def _looked_into(left: SideReading, right: SideReading, gtids: Sequence[str]) -> Iterator[Difference]:
    if not gtids:
        return
    ours, theirs = left.rows(gtids), right.rows(gtids)
    for gtid in gtids:
        one, other = ours.get(gtid, []), theirs.get(gtid, [])
        only_one = [row for row in one if row not in other]
        only_other = [row for row in other if row not in one]
        yield Difference(
            gtid=gtid,
            only_images=len(one) == len(other) and all(map(_agree, one, other)),
            left=tuple(only_one),
            right=tuple(only_other),
        )


def _agree(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two row changes are equal in all that both sides have of them."""
    if any(one.get(name) != other.get(name) for name in ("type", "db", "table", "sql")):
        return False
    for image in ("before", "after"):
        ours, theirs = one.get(image) or {}, other.get(image) or {}
        if any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys()):
            return False
    return True


__all__ = ["Difference", "LogDiff", "Side", "diff_logs"]
