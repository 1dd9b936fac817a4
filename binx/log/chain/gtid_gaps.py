"""GTIDs that a chain of logs should hold and does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource


def missing_gtids(logged: GtidSet, previous: Iterable[GtidSet | None]) -> GtidSet:
    """The GTIDs that are in no log, though there were earlier and later ones of their source.

    MySQL numbers the transactions of each source one after another, and each log names those of all logs
    before it: what only a later log knows of is missing for certain, what nobody knows of is a hole in the
    numbers. MariaDB numbers those of each domain, so that the numbers of one server have holes where another
    one wrote; a hole in a domain counts as of the server whose GTID follows. What had happened before the
    first log, and the holes in that, are not reported.

    Args:
        logged: the GTIDs of all transactions in the logs.
        previous: for each log, the GTIDs of all logs before it, where it says so.
    """
    said = [gtids for gtids in previous if gtids is not None]
    before = reduce(GtidSet.intersection, said) if said else GtidSet()
    known = reduce(GtidSet.union, said, logged)
    skipped = known - before - logged
    return GtidSet([*skipped, *_holes(known, before), *_holes_in_domains(logged)])


def _holes(known: GtidSet, before: GtidSet) -> Iterator[tuple[GtidSource, int, int]]:
    """What is missing between the intervals of each of MySQL's sources, but for the holes of before."""
    for source in known.sources:
        if isinstance(source, DomainSource):
            continue
        old = before.intervals(source)
        for (_, last), (first, _) in pairwise(known.intervals(source)):
            if not old or old[-1][0] < first:
                yield source, last + 1, first - 1


def _holes_in_domains(logged: GtidSet) -> Iterator[tuple[GtidSource, int, int]]:
    domains: dict[int, list[tuple[int, int, DomainSource]]] = {}
    for source, first, last in logged:
        if isinstance(source, DomainSource):
            domains.setdefault(source.domain, []).append((first, last, source))
    for intervals in domains.values():
        reached: int | None = None
        for first, last, source in sorted(intervals):
            if reached is not None and first > reached + 1:
                yield source, reached + 1, first - 1
            reached = last if reached is None else max(reached, last)


__all__ = ["missing_gtids"]
