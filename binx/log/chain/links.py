"""Compare a log with the one that may follow it, by names and GTIDs, and find GTIDs that no log has.

Sources: MySQL manual, "PREVIOUS_GTIDS"; MariaDB documentation, "GTID_LIST_EVENT".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource
from binx.log.chain.ends import FileEnds
from binx.source.names import is_named_next


def ends_follow(before: FileEnds, after: FileEnds) -> bool:
    """Return whether a log's name is the next expected one."""
    if before.next_file is not None:
        return is_named_next(before.next_file, before.file.name, after.file.name)
    return before.base == after.base and after.file.file_number == before.file.file_number + 1


def listed_before(ends: FileEnds) -> GtidSet | None:
    """Return the GTIDs that a log lists as logged before it; for MariaDB the last per domain and server."""
    if ends.previous_gtids is not None or ends.gtid_list is None:
        return ends.previous_gtids
    return GtidSet((source, number, number) for source, number in _last_numbers(ends).items())


def reached_before(ends: FileEnds) -> GtidSet | None:
    """Return the same with all numbers below MariaDB's last ones."""
    if ends.previous_gtids is not None or ends.gtid_list is None:
        return ends.previous_gtids
    return GtidSet((source, 0, number) for source, number in _last_numbers(ends).items())


def gtid_differences(before: FileEnds, content: GtidSet, after: FileEnds) -> tuple[GtidSet, GtidSet] | None:
    """Compare the GTIDs that a log records as previous with those of the logs before it.

    MariaDB lists the last number of each domain and server. A session can set ``gtid_seq_no`` back, and FLUSH
    BINARY LOGS DELETE_DOMAIN_ID removes a domain from the list: neither is a difference.

    Args:
        content: the GTIDs in the earlier log.

    Returns:
        The GTIDs that the log lists and that were not there, and those that were there and that it does not
        list; None if the logs record no GTIDs.
    """
    if before.previous_gtids is not None and after.previous_gtids is not None:
        earlier = before.previous_gtids | content
        return after.previous_gtids - earlier, earlier - after.previous_gtids
    if before.gtid_list is None or after.gtid_list is None:
        return None
    reached, recorded = _last_numbers(before), _last_numbers(after)
    for source, _, last in content:
        if isinstance(source, DomainSource):
            reached[source] = max(reached.get(source, 0), last)
    return _ahead(recorded, reached), _unlisted(reached, content, recorded)


def unlisted_gtids(before: GtidSet, listed: GtidSet) -> GtidSet:
    """Return the GTIDs that a log should list and does not; a number of MariaDB's that was set back is none.

    Args:
        before: the GTIDs in the earlier log and its list, of which MariaDB's has the last numbers.
        listed: the list of the later log.
    """
    recorded = _lasts(listed)
    others = GtidSet(interval for interval in before if not isinstance(interval[0], DomainSource))
    return (others - listed) | _unlisted(_lasts(before), before, recorded)


def _unlisted(
    reached: dict[DomainSource, int], content: GtidSet, recorded: dict[DomainSource, int]
) -> GtidSet:
    known = {source.domain for source in (*recorded, *content.sources) if isinstance(source, DomainSource)}
    unlisted = {
        source: number
        for source, number in reached.items()
        if not content.contains(source, recorded.get(source, 0)) and (source.domain in known or not recorded)
    }
    return _ahead(unlisted, recorded)


def _lasts(gtids: GtidSet) -> dict[DomainSource, int]:
    """Return the highest number of each of MariaDB's sources; intervals ascend."""
    return {source: last for source, _, last in gtids if isinstance(source, DomainSource)}


def lost_gtids(before: FileEnds, after: FileEnds) -> GtidSet:
    """Return what was known before the earlier log and is not known before the later one."""
    differences = gtid_differences(before, GtidSet(), after)
    return GtidSet() if differences is None else differences[1]


def _last_numbers(ends: FileEnds) -> dict[DomainSource, int]:
    return {DomainSource(gtid.domain, gtid.server_id): gtid.sequence for gtid in ends.gtid_list or ()}


def _ahead(numbers: dict[DomainSource, int], reached: dict[DomainSource, int]) -> GtidSet:
    """Return the GTIDs after the last numbers of ``reached``, up to those of ``numbers``."""
    pairs = ((source, reached.get(source, 0), number) for source, number in numbers.items())
    return GtidSet((source, last + 1, number) for source, last, number in pairs if number > last)


def missing_gtids(logged: GtidSet, previous: Iterable[GtidSet | None]) -> GtidSet:
    """Return the GTIDs that are in no log, although earlier and later ones of their source are.

    MySQL numbers the transactions of each source consecutively, and each log lists the GTIDs of all logs
    before it: GTIDs that only a later log lists are certainly missing; GTIDs that no log lists are holes in
    the numbering. MariaDB numbers the transactions of each domain, so that one server's numbers have holes
    where another server wrote; a hole in a domain is attributed to the server of the GTID after it. What
    happened before the first log, and the holes in that, are not reported.

    Args:
        logged: the GTIDs of all transactions in the logs.
        previous: for each log, the GTIDs of all logs before it, if it records them.
    """
    recorded = [gtids for gtids in previous if gtids is not None]
    before = reduce(GtidSet.intersection, recorded) if recorded else GtidSet()
    known = reduce(GtidSet.union, recorded, logged)
    skipped = known - before - logged
    return GtidSet([*skipped, *_holes(known, before), *_holes_in_domains(logged)])


def _holes(known: GtidSet, before: GtidSet) -> Iterator[tuple[GtidSource, int, int]]:
    """Yield the gaps between the intervals of each MySQL source, except those already in ``before``."""
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
