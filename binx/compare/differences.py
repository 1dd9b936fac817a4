"""Compare the logs of two servers by GTID and by transaction content.

Two servers write the same transaction with different bytes: table IDs, timestamps, event sizes, compression
and positions differ. Transactions are therefore compared by content, of which a 16-byte digest is kept.
Column values are taken as stored, because one side may know more about a table than the other, from older
logs or from table map metadata. If two digests differ, both sides are read again and the transaction's
effects on rows and definitions are compared (:mod:`binx.compare.transaction_effects`), because servers may
also log the same effect in different ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, starmap, zip_longest
from typing import NamedTuple

from binx.compare.contents import GtidKeys
from binx.compare.side import ShownChange, Side, SideReading
from binx.compare.transaction_effects import Verdict, agree, compared, unmatched
from binx.errors import RefusedError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource, UuidSource
from binx.log.chain.chain import ChainLog
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog

BATCH = 4096
"""Maximum number of transactions with differing digests that are compared at a time."""


@dataclass(frozen=True, slots=True)
class ChangePair:
    """A change that only one side has, or that both have with different values."""

    left: ShownChange | None
    right: ShownChange | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A transaction whose content differs between the two sides."""

    gtid: str
    changes: tuple[ChangePair, ...]


class Lacking(NamedTuple):
    """GTIDs that one side has, and the other has neither in its logs nor before them.

    Attributes:
        gtid_set: all of them.
        errant_gtids: those of sources from which the other side has no transaction, or not newer than the
            newest it has from the source: replication will not deliver them. A tag unknown to the other side,
            of a server it knows, may still be delivered.
        perhaps_purged_gtids: those before the first transaction of their source in the other side's logs: it
            may have them from a dump or a backup, which logs do not show. Not among the errant.
        statement_gtids: MariaDB transactions whose statements apparently changed no rows on the other side: a
            replica logs nothing for them in row format. Not among the errant.
    """

    gtid_set: GtidSet
    errant_gtids: GtidSet
    perhaps_purged_gtids: GtidSet
    statement_gtids: GtidSet

    @property
    def transactions(self) -> int:
        """How many they are."""
        return self.gtid_set.count


@dataclass(frozen=True, slots=True)
class LogDiff:
    """The differences between two servers' logs.

    Attributes:
        only_left: what the right side lacks.
        only_right: what the left side lacks.
        compared: whether transaction contents were compared.
        different: GTIDs whose contents differ.
        differences: details of the first of these.
        logged_otherwise: GTIDs whose rows are equal in the columns that both sides logged.
        logged_as_statements: GTIDs for which one side logged statements and the other row changes, which
            cannot be compared.
        not_compared: tables, as (db, table), with a column whose type is unknown on one side, so that their
            rows cannot be compared.
        absent_gtids: explicitly requested GTIDs that neither side has in its logs.
        in_no_log: GTIDs that one side's logs list as logged before them, and that the other side has neither
            in nor before its logs, such as those purged before they were pulled.
    """

    left: Side
    right: Side
    only_left: Lacking
    only_right: Lacking
    common_transactions: int
    compared: bool
    different: GtidSet
    differences: tuple[Difference, ...]
    logged_otherwise: GtidSet
    logged_as_statements: GtidSet
    not_compared: tuple[tuple[str, str], ...]
    absent_gtids: GtidSet
    in_no_log: GtidSet

    @property
    def equal(self) -> bool:
        """Whether no transaction is missing on one side or differs."""
        lacking = [side.gtid_set - side.statement_gtids for side in (self.only_left, self.only_right)]
        return not any([self.different, *lacking])

    @property
    def is_fully_compared(self) -> bool:
        """Whether everything that both sides have was compared."""
        left_out = (
            self.logged_as_statements | self.only_left.statement_gtids | self.only_right.statement_gtids
        )
        return not self.not_compared and left_out.is_empty


def diff_logs(
    left: Sequence[ChainLog],
    right: Sequence[ChainLog],
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
        selection: the transactions to compare, on both sides.
        contents: compare the contents of common transactions too, not only their presence.
        most: maximum number of differing transactions to report in detail.
        purged: GTIDs that each server has although its logs and their headers do not record them.
        on_damage: what to do if a log is damaged.

    Raises:
        RefusedError: all transactions of a side lack GTIDs, so there is nothing to compare by.
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
        if side.transactions and side.gtid_set.is_empty:
            raise RefusedError(
                "the logs have no transactions with GTIDs, which are needed to compare them",
                path=chain[0].file.path,
            )
    left_side, right_side = facts
    verdicts = _compared(sides[0], sides[1]) if contents else {verdict: GtidSet() for verdict in Verdict}
    different = verdicts[Verdict.DIFFERENT]
    return LogDiff(
        left=left_side,
        right=right_side,
        only_left=_lacking(left_side, right_side),
        only_right=_lacking(right_side, left_side),
        common_transactions=(left_side.gtid_set & right_side.gtid_set).count,
        compared=contents,
        different=different,
        differences=tuple(_details(sides[0], sides[1], _first(different, most))),
        logged_otherwise=verdicts[Verdict.OTHER_COLUMNS],
        logged_as_statements=verdicts[Verdict.NOT_COMPARED],
        not_compared=tuple(sorted(unreadable)),
        absent_gtids=left_side.absent_gtids & right_side.absent_gtids,
        in_no_log=_only_before(left_side, right_side) | _only_before(right_side, left_side)
        if selection.is_everything
        else GtidSet(),
    )


def _only_before(side: Side, other: Side) -> GtidSet:
    """Return what a side has from before its logs and the other lacks altogether.

    MariaDB lists the last number of each source: lower ones may be another server's of the domain.
    """
    known = side.gtid_set | other.gtid_set | other.previous_gtids
    used: dict[int, list[tuple[int, int]]] = {}
    for source, first, last in known:
        if isinstance(source, DomainSource):
            used.setdefault(source.domain, []).append((first, last))
    by_others = GtidSet(
        (source, *interval)
        for source in side.previous_gtids.sources
        if isinstance(source, DomainSource)
        for interval in used.get(source.domain, ())
    )
    lacking = side.previous_gtids - known - by_others
    return GtidSet((source, max(first, 1), last) for source, first, last in lacking if last)


def _facts(sides: Sequence[SideReading], unreadable: set[tuple[str, str]]) -> list[Side]:
    """Read both sides; read them again without the tables found unreadable on either side."""
    while True:
        known = len(unreadable)
        facts = [side.contents() for side in sides]
        if len(unreadable) == known:
            return facts


def _lacking(side: Side, other: Side) -> Lacking:
    """Return what one side has and the other lacks, and which of it replication will not deliver.

    A MariaDB server tracks its place in a domain by sequence number only, whichever server wrote it. MySQL
    numbers each tag separately: an unknown tag may come from a known server.
    """
    known = other.gtid_set | other.previous_gtids
    # A MariaDB replica does not log an empty transaction; MySQL's does, because its GTID counts.
    empty = GtidSet(interval for interval in side.empty if isinstance(interval[0], DomainSource))
    gtids = side.gtid_set - known - empty
    oldest: dict[object, int] = {}
    youngest: dict[object, int] = {}
    for source, first, last in known:
        series = _series(source)
        oldest[series] = min(oldest.get(series, first), first)
        youngest[series] = max(youngest.get(series, 0), last)
    servers = {source.uuid for source, _, _ in known if isinstance(source, UuidSource)}
    passed, before = [], []
    for source, first, last in gtids:
        series = _series(source)
        heard_of = isinstance(source, UuidSource) and source.uuid in servers
        end = min(last, youngest.get(series, 0)) if series in youngest or heard_of else last
        if first <= end:
            passed.append((source, first, end))
        if first < oldest.get(series, 0):
            before.append((source, first, min(last, oldest[series] - 1)))
    purged = GtidSet(before)
    unlogged = GtidSet(
        interval for interval in GtidSet(passed) & side.without_rows if isinstance(interval[0], DomainSource)
    )
    return Lacking(gtids, GtidSet(passed) - purged - unlogged, purged, unlogged - purged)


def _series(source: GtidSource) -> object:
    """Return what the server numbers transactions by."""
    return source.domain if isinstance(source, DomainSource) else source


def _compared(left: SideReading, right: SideReading) -> dict[Verdict, GtidSet]:
    """Classify the transactions whose digests differ."""
    waiting = GtidSet.parse(",".join(set(left.digests.different(right.digests))))
    verdicts: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    while waiting:
        ours = left.effects(GtidSet.parse(",".join(_first(waiting, BATCH))))
        theirs = right.effects(GtidSet.parse(",".join(ours)))
        done = [gtid for gtid in ours if gtid in theirs]
        for gtid in done:
            verdict, needs_rows = compared(ours[gtid], theirs[gtid])
            if needs_rows:
                pairs = zip_longest(left.changes(gtid), right.changes(gtid), fillvalue={"type": None})
                verdict = Verdict.OTHER_COLUMNS if all(starmap(agree, pairs)) else Verdict.DIFFERENT
            verdicts[verdict].append(gtid)
        if not done:
            raise AssertionError(f"transactions with digests are not in the logs: {waiting}")
        waiting -= GtidSet.parse(",".join(done))
    return {verdict: GtidSet.parse(",".join(gtids)) for verdict, gtids in verdicts.items()}


def _first(gtids: GtidSet, most: int) -> list[str]:
    """Return the first GTIDs of a set."""
    singles = (
        str(GtidSet([(source, number, number)]))
        for source, first, last in gtids
        for number in range(first, last + 1)
    )
    return list(islice(singles, most))


def _details(left: SideReading, right: SideReading, gtids: Sequence[str]) -> Iterator[Difference]:
    if not gtids:
        return
    wanted = GtidSet.parse(",".join(gtids))
    left_rows, right_rows = left.rows(wanted), right.rows(wanted)
    for gtid in gtids:
        ours, theirs = left_rows.get(gtid, []), right_rows.get(gtid, [])
        only_ours, only_theirs = unmatched([row.stored for row in ours], [row.stored for row in theirs])
        pairs = _paired([ours[index] for index in only_ours], [theirs[index] for index in only_theirs])
        yield Difference(gtid, tuple(pairs))


def _paired(left: list[ShownChange], right: list[ShownChange]) -> Iterator[ChangePair]:
    """Pair changes of the same row, or of the same kind if no keys are known."""
    rest = list(right)
    for change in left:
        match = next((candidate for candidate in rest if change.row == candidate.row), None)
        if match is not None:
            rest.remove(match)
        yield ChangePair(change, match)
    for change in rest:
        yield ChangePair(None, change)
