"""What the logs of two servers have in common: by GTID, and by what the transactions did.

Two servers write the same transaction with other bytes: table numbers, times, event sizes, compression and
positions differ. So a transaction is compared by what it says, of which a digest of 16 bytes is kept. Columns
are taken as their values are stored, as one side may know more of a table than the other does, from older
logs or from metadata. Where two digests differ, both sides are read again, and what the transaction did to
rows and definitions is compared (:mod:`binx.compare.effects`), as servers also log that in other ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, starmap, zip_longest
from typing import NamedTuple

from binx.compare.contents import GtidKeys
from binx.compare.effects import Verdict, agree, compared, unmatched
from binx.compare.side import ShownChange, Side, SideReading
from binx.errors import RefusedError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource, UuidSource
from binx.log.chain.ends import FileEnds
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog

BATCH = 4096
"""Transactions with other digests that are compared at a time, at most."""


@dataclass(frozen=True, slots=True)
class ChangePair:
    """A change that only one side has, or that both have with other values."""

    left: ShownChange | None
    right: ShownChange | None


@dataclass(frozen=True, slots=True)
class Difference:
    """One transaction that the two sides have with different content."""

    gtid: str
    pairs: tuple[ChangePair, ...]


class Lacking(NamedTuple):
    """What one side has, and the other neither in its logs nor before them.

    Attributes:
        gtids: all of it.
        errant: those of sources that the other side knows no transaction of, or that are no younger than the
            youngest it knows of the source: replication will not bring them. A tag that it does not know, of
            a server that it does, may still come.
        purged: those before the first one that the other side's logs have of their source: it may have them
            from a dump or a backup, which logs do not tell. Not among the errant.
        unlogged: MariaDB's transactions whose statements changed no rows on the other side, as it seems: a
            replica logs nothing of them in row format. Not among the errant.
    """

    gtids: GtidSet
    errant: GtidSet
    purged: GtidSet
    unlogged: GtidSet


@dataclass(frozen=True, slots=True)
class LogDiff:
    """How two servers' logs differ.

    Attributes:
        only_left: what the right side lacks.
        only_right: what the left side lacks.
        compared: whether their contents were compared.
        different: GTIDs whose contents differ.
        differences: the first of these, looked into.
        other_columns: GTIDs whose rows are equal in the columns that both sides logged.
        statements: GTIDs where one side logged statements and the other row changes, which cannot be
            compared.
        not_compared: tables, as (db, table), with a column of a type that is not known on one side: nobody
            can tell their rows apart.
        missing: GTIDs asked for by name that neither side has in its logs.
    """

    left: Side
    right: Side
    only_left: Lacking
    only_right: Lacking
    common: int
    compared: bool
    different: GtidSet
    differences: tuple[Difference, ...]
    other_columns: GtidSet
    statements: GtidSet
    not_compared: tuple[tuple[str, str], ...]
    missing: GtidSet

    @property
    def equal(self) -> bool:
        """Whether nothing was found that one side lacks or has otherwise."""
        lacking = [one.gtids - one.unlogged for one in (self.only_left, self.only_right)]
        return not any([self.different, *lacking])

    @property
    def whole(self) -> bool:
        """Whether all that both sides have was compared."""
        left_out = self.statements | self.only_left.unlogged | self.only_right.unlogged
        return not self.not_compared and left_out.is_empty


def diff_logs(
    left: Sequence[FileEnds],
    right: Sequence[FileEnds],
    selection: Selection,
    *,
    contents: bool = True,
    most: int = 10,
    purged: tuple[GtidSet, GtidSet] = (GtidSet(), GtidSet()),
    catalog: Catalog | None = None,
    verify: bool = True,
    on_damage: OnDamage = OnDamage.STOP,
) -> LogDiff:
    """Compare two servers' logs.

    Args:
        selection: which transactions are compared, on both sides.
        contents: compare what common transactions did, not only whether they are there.
        most: how many different transactions are looked into.
        purged: GTIDs that each server has, though its logs and their heads do not tell.
        on_damage: what is done where a log is damaged.

    Raises:
        RefusedError: a side has transactions without GTIDs only, so there is nothing to compare by.
        DamagedError, UnsupportedError: a file cannot be read.
    """
    unreadable: set[tuple[str, str]] = set()
    keys = GtidKeys()
    sides = [
        SideReading(
            chain,
            selection,
            catalog or Catalog(),
            unreadable,
            keys,
            purged=known,
            verify=verify,
            on_damage=on_damage,
        )
        for chain, known in zip((left, right), purged, strict=True)
    ]
    facts = _facts(sides, unreadable) if contents else [side.gtids() for side in sides]
    for side, chain in zip(facts, (left, right), strict=True):
        if side.transactions and side.gtids.is_empty:
            raise RefusedError(
                "the logs have no transactions with GTIDs, which are needed to compare them",
                path=chain[0].file.path,
            )
    one, other = facts
    found = _compared(sides[0], sides[1]) if contents else {verdict: GtidSet() for verdict in Verdict}
    different = found[Verdict.DIFFERENT]
    return LogDiff(
        left=one,
        right=other,
        only_left=_lacking(one, other),
        only_right=_lacking(other, one),
        common=(one.gtids & other.gtids).count,
        compared=contents,
        different=different,
        differences=tuple(_looked_into(sides[0], sides[1], _first(different, most))),
        other_columns=found[Verdict.OTHER_COLUMNS],
        statements=found[Verdict.NOT_COMPARED],
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


def _lacking(side: Side, other: Side) -> Lacking:
    """What a side has and another lacks, and what of it replication will not bring.

    A MariaDB server knows a domain's place by the sequence number alone, whichever server made it. A MySQL
    server begins anew with each tag: one that a side does not know may come from a server that it knows.
    """
    known = other.gtids | other.before
    # An empty transaction of MariaDB is not logged again; one of MySQL is, as its GTID counts.
    empty = GtidSet(interval for interval in side.empty if isinstance(interval[0], DomainSource))
    gtids = side.gtids - known - empty
    oldest: dict[object, int] = {}
    youngest: dict[object, int] = {}
    for source, first, last in known:
        place = _place(source)
        oldest[place] = min(oldest.get(place, first), first)
        youngest[place] = max(youngest.get(place, 0), last)
    servers = {source.uuid for source, _, _ in known if isinstance(source, UuidSource)}
    passed, before = [], []
    for source, first, last in gtids:
        place = _place(source)
        heard_of = isinstance(source, UuidSource) and source.uuid in servers
        end = min(last, youngest.get(place, 0)) if place in youngest or heard_of else last
        if first <= end:
            passed.append((source, first, end))
        if first < oldest.get(place, 0):
            before.append((source, first, min(last, oldest[place] - 1)))
    purged = GtidSet(before)
    unlogged = GtidSet(
        interval for interval in GtidSet(passed) & side.without_rows if isinstance(interval[0], DomainSource)
    )
    return Lacking(gtids, GtidSet(passed) - purged - unlogged, purged, unlogged - purged)


def _place(source: GtidSource) -> object:
    """What a server counts by."""
    return source.domain if isinstance(source, DomainSource) else source


def _compared(left: SideReading, right: SideReading) -> dict[Verdict, GtidSet]:
    """The transactions whose digests differ, by how they compare."""
    waiting = GtidSet.parse(",".join(set(left.digests.different(right.digests))))
    found: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    while waiting:
        ours = left.effects(GtidSet.parse(",".join(_first(waiting, BATCH))))
        theirs = right.effects(GtidSet.parse(",".join(ours)))
        done = [gtid for gtid in ours if gtid in theirs]
        for gtid in done:
            verdict, needs_rows = compared(ours[gtid], theirs[gtid])
            if needs_rows:
                pairs = zip_longest(left.changes(gtid), right.changes(gtid), fillvalue={"type": None})
                verdict = Verdict.OTHER_COLUMNS if all(starmap(agree, pairs)) else Verdict.DIFFERENT
            found[verdict].append(gtid)
        if not done:
            raise AssertionError(f"transactions with digests are not in the logs: {waiting}")
        waiting -= GtidSet.parse(",".join(done))
    return {verdict: GtidSet.parse(",".join(gtids)) for verdict, gtids in found.items()}


def _first(gtids: GtidSet, most: int) -> list[str]:
    """The first GTIDs of a set."""
    each = (
        str(GtidSet([(source, number, number)]))
        for source, first, last in gtids
        for number in range(first, last + 1)
    )
    return list(islice(each, most))


def _looked_into(left: SideReading, right: SideReading, gtids: Sequence[str]) -> Iterator[Difference]:
    if not gtids:
        return
    wanted = GtidSet.parse(",".join(gtids))
    ours, theirs = left.rows(wanted), right.rows(wanted)
    for gtid in gtids:
        one, other = ours.get(gtid, []), theirs.get(gtid, [])
        only_one, only_other = unmatched([row.stored for row in one], [row.stored for row in other])
        yield Difference(
            gtid, tuple(_paired([one[place] for place in only_one], [other[place] for place in only_other]))
        )


def _paired(left: list[ShownChange], right: list[ShownChange]) -> Iterator[ChangePair]:
    """Changes of the same row beside each other, or of the same kind where no keys are known."""
    rest = list(right)
    for one in left:
        found = next((other for other in rest if one.row == other.row), None)
        if found is not None:
            rest.remove(found)
        yield ChangePair(one, found)
    for other in rest:
        yield ChangePair(None, other)
