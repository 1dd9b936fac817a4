"""Which log follows which: the order of logs, their chains, and what is missing between them.

What decides is the value :class:`LogFacts`, which is made from a log's first and last events, from an
archive's manifest or from a data set's. A log is linked to the one with the next number if GTIDs and times
allow it. Numbers alone do not define the order: numbering can restart (RESET MASTER, RESET BINARY LOGS AND
GTIDS, a new server of the same name), and logs of several servers can have the same names. A server id does
not identify a chain either: it can change with any start and any SET GLOBAL, and change back. Runs of linked
logs of one chain are ordered by time; an index defines the order of the logs it lists.

Sources: MySQL manual, "The Binary Log" and "PREVIOUS_GTIDS"; ``MYSQL_BIN_LOG::open_binlog`` in sql/binlog.cc
(the create time of the format description is 0 except in the first log after a start); MariaDB documentation,
"GTID_LIST_EVENT".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import reduce
from itertools import groupby, pairwise
from typing import NamedTuple

from binx.event.format import Flavour
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource
from binx.log.selection.times import MICROSECONDS
from binx.source.log_names import base_of, has_archive_tag, is_named_next, next_name, number_of

ROTATION_SECONDS = 2
"""Most seconds between a ROTATE and the beginning of the next log, which a server writes in one step."""


class LogTimes(NamedTuple):
    """When a log, or a run of logs, was written, in seconds since 1970.

    Attributes:
        begun: when the first of its events was written.
        ended: when its last one was, as ROTATE and STOP tell; 0 or None if they do not.
    """

    begun: int
    ended: int | None = None

    @property
    def written(self) -> int:
        """When it was written last, as far as its end tells."""
        return self.ended or self.begun

    def is_over_before(self, later: LogTimes) -> bool:
        """Return whether it was written before another one was begun.

        Logs of two servers of one id, which run side by side, overlap in time.
        """
        return self.written <= later.begun

    def is_begun_before(self, later: LogTimes) -> bool:
        """Return whether it was not begun after another one."""
        return self.begun <= later.begun

    def is_between(self, before: LogTimes, after: LogTimes) -> bool:
        """Return whether it was written between two others, which leave time between them."""
        return before.written < after.begun and before.is_over_before(self) and self.is_over_before(after)

    def seconds_to(self, later: LogTimes) -> int:
        """Return the seconds between its end and the beginning of another one."""
        return abs(later.begun - self.written)

    def is_rotated_into(self, later: LogTimes) -> bool:
        """Return whether another log may be the one that the ROTATE at its end begins."""
        return self.seconds_to(later) <= ROTATION_SECONDS


class IndexEntry(NamedTuple):
    """A position in a server's index."""

    index_path: str
    place: int


class LogFacts(NamedTuple):
    """What a log says of its place among the logs of its server.

    Attributes:
        path: where it is, for messages; logs of one folder are often of one server.
        begun: when it was begun, in seconds since 1970.
        created: the create time of its format description, 0 except in the first log after a server's start.
        next_log: the name in the ROTATE at its end; None if ROTATE is not the last event.
        stopped: whether STOP is the last event.
        ended: when ROTATE or STOP was written, in seconds since 1970, 0 if it has no time; None if neither
            is the last event.
        gtids_before: the GTIDs that it lists as logged before it, of MariaDB the last of each domain and
            server; None if it lists none.
        listed: its entry in a server's index, if one was given.
    """

    path: str
    name: str
    server_id: int
    flavour: Flavour
    begun: int
    created: int
    next_log: str | None = None
    stopped: bool = False
    ended: int | None = None
    gtids_before: GtidSet | None = None
    listed: IndexEntry | None = None

    @property
    def base(self) -> str:
        """The name without its number."""
        return base_of(self.name)

    @property
    def number(self) -> int:
        """The number in the name; 0 without one."""
        return number_of(self.name)

    @property
    def server(self) -> tuple[int, str]:
        """The server id and the base of the name: the same in most logs of a chain."""
        return self.server_id, self.base

    @property
    def identity(self) -> tuple[str, int, int, int]:
        """What only copies of one log share."""
        return self.name, self.server_id, self.begun, self.created

    @property
    def times(self) -> LogTimes:
        """When it was written."""
        return LogTimes(self.begun, self.ended)

    @property
    def previous_gtids(self) -> GtidSet | None:
        """All GTIDs before it; None if it does not list them, as MariaDB's logs."""
        return None if self.flavour is Flavour.MARIADB else self.gtids_before

    @property
    def expected(self) -> str:
        """The name of the log that comes next."""
        return self.next_log or next_name(self.name)


class ChainProblemKind(Enum):
    """Kind of problem between two logs."""

    GAP = "gap"
    """A log between them is missing."""
    GTIDS_LOST = "gtids lost"
    """The later log lacks GTIDs that were known before the earlier one."""
    NOT_CLOSED = "not closed"
    """The earlier log ends without ROTATE or STOP, as after a crash: its end may be missing."""
    CUT = "cut"
    """It ends so, and the later log lists GTIDs that are not in it: its end is missing."""
    REPEATED = "repeated"
    """They are copies of one log, or one is a copy of the other."""


class ChainProblem(NamedTuple):
    """A problem between two consecutive logs."""

    kind: ChainProblemKind
    before: LogFacts
    after: LogFacts
    message: str

    @property
    def sentence(self) -> str:
        """The problem, after the paths of both logs."""
        return f"{self.before.path}, {self.after.path}: {self.message}"

    def lacks_transactions(self, since: int | None = None, until: int | None = None) -> bool:
        """Return whether transactions of a period may be missing between the logs.

        Args:
            since: beginning of the period, in µs since 1970; None for no limit.
            until: its end, exclusive.
        """
        return (
            self.kind in (ChainProblemKind.GAP, ChainProblemKind.CUT)
            and (until is None or self.before.times.written * MICROSECONDS < until)
            and (since is None or (self.after.begun + ROTATION_SECONDS) * MICROSECONDS > since)
        )


def follows(before: LogFacts, after: LogFacts) -> bool:
    """Return whether a log's name is the next expected one."""
    if before.next_log is not None:
        return is_named_next(before.next_log, before.name, after.name)
    return before.base == after.base and after.number == before.number + 1


def is_counted_on(before: LogFacts, after: LogFacts) -> bool:
    """Return whether a log's name has a higher number after the same base; else logs between are unknown."""
    return before.base == after.base and after.number > before.number


def follows_at_once(before: LogFacts, after: LogFacts) -> bool:
    """Return whether times allow a log of the next name to be the next one: it begins with the ROTATE before.

    After a STOP, the next log begins at the server's next start, at any later time.
    """
    if before.ended is None or not before.ended:
        return True
    if before.next_log is None:
        return bool(after.created) and after.begun >= before.ended - ROTATION_SECONDS
    return before.times.is_rotated_into(after.times)


def is_next(before: LogFacts, content: GtidSet | None, after: LogFacts) -> bool:
    """Return whether a server certainly wrote a log directly after another one, and nothing between them.

    Args:
        content: the GTIDs in the earlier log; None if they are not all known.
    """
    if before.flavour is not after.flavour or not follows(before, after):
        return False
    # The server id may change between two logs; then GTIDs must prove that they belong to one chain.
    if before.server_id != after.server_id and not after.gtids_before:
        return False
    if before.ended is None:
        # The server crashed or is still writing the log: only GTIDs prove that the content is all of it.
        if not (after.created and content) or after.previous_gtids is None:
            return False
    elif not follows_at_once(before, after):
        return False
    if before.gtids_before is None or after.gtids_before is None:
        return before.gtids_before is after.gtids_before
    if content is None:
        return not lost_gtids(before, after)
    return not any(differences(before, content, after))


def problems_between(
    before: LogFacts, after: LogFacts, content: Callable[[], GtidSet | None]
) -> Iterator[ChainProblem]:
    """Yield the problems between two logs, of which the second should follow the first.

    Args:
        content: returns the GTIDs in the earlier log, None if they are unknown; called if they decide.
    """

    def problem(kind: ChainProblemKind, message: str) -> ChainProblem:
        return ChainProblem(kind, before, after, message)

    if before.identity == after.identity:
        yield problem(ChainProblemKind.REPEATED, f"both are {after.name} of the same server and time")
        return
    if not follows(before, after):
        more = "" if before.base == after.base else ", a log of another name: what may be between is unknown"
        yield problem(ChainProblemKind.GAP, f"expected {before.expected} to follow, found {after.name}{more}")
    elif before.next_log is None and not before.stopped:
        message = "no ROTATE or STOP at the end: the server crashed, or the file was truncated"
        missing, _ = differences(before, content(), after)
        if missing:
            message += f"; the GTIDs {missing}, which the next file lists as logged before it, are missing"
        yield problem(ChainProblemKind.CUT if missing else ChainProblemKind.NOT_CLOSED, message)
    lost = lost_gtids(before, after)
    if lost and before.flavour is Flavour.MARIADB:
        lost &= differences(before, content(), after)[1]
    if lost:
        yield problem(
            ChainProblemKind.GTIDS_LOST,
            f"the GTIDs {lost} are not among those that the file lists as logged before it",
        )


def list_gtids(before: LogFacts, after: LogFacts) -> bool:
    """Return whether both logs list the GTIDs before them, so that they can be compared."""
    return before.gtids_before is not None and after.gtids_before is not None


def differences(before: LogFacts, content: GtidSet | None, after: LogFacts) -> tuple[GtidSet, GtidSet]:
    """Return what :func:`gtid_differences` does of two logs; nothing if it is unknown."""
    if content is None or before.gtids_before is None or after.gtids_before is None:
        return GtidSet(), GtidSet()
    return gtid_differences(before.gtids_before, content, after.gtids_before)


def gtid_differences(before: GtidSet, content: GtidSet, after: GtidSet) -> tuple[GtidSet, GtidSet]:
    """Compare the GTIDs that a log lists as logged before it with those of the logs before it.

    MariaDB lists the last number of each domain and server. A session can set ``gtid_seq_no`` back, and FLUSH
    BINARY LOGS DELETE_DOMAIN_ID removes a domain from the list: neither is a difference.

    Args:
        before: the list of the earlier log.
        content: the GTIDs in it.
        after: the list of the later log.

    Returns:
        The GTIDs that the later log lists and that were not there, and those that were there and that it does
        not list.
    """
    earlier = before | content
    if not any(isinstance(source, DomainSource) for source in (*earlier.sources, *after.sources)):
        return after - earlier, earlier - after
    reached, recorded = _lasts(before), _lasts(after)
    for source, number in _lasts(content).items():
        reached[source] = max(reached.get(source, 0), number)
    known = {source.domain for source in (*recorded, *_lasts(content))}
    unlisted = {
        source: number
        for source, number in reached.items()
        if not content.contains(source, recorded.get(source, 0)) and (source.domain in known or not recorded)
    }
    return _ahead(recorded, reached), _ahead(unlisted, recorded)


def lost_gtids(before: LogFacts, after: LogFacts) -> GtidSet:
    """Return what was known before the earlier log and is not known before the later one."""
    return differences(before, GtidSet(), after)[1]


def reached_before(facts: LogFacts) -> GtidSet | None:
    """Return the GTIDs that a log lists as logged before it, with all numbers below MariaDB's last ones."""
    return None if facts.gtids_before is None else with_lower_numbers(facts.gtids_before)


def with_lower_numbers(listed: GtidSet) -> GtidSet:
    """Return the GTIDs that a log lists as logged before it, with all numbers below MariaDB's last ones."""
    return GtidSet(
        (source, 0 if isinstance(source, DomainSource) else first, last) for source, first, last in listed
    )


class ChainGtids(NamedTuple):
    """The GTIDs of a chain.

    Attributes:
        logged: those of the transactions in its logs.
        known: these, and those that its logs list as logged before them, with MariaDB's lower numbers.
        commits: its first and its last commit time (µs since 1970), 0 where not known.
    """

    logged: GtidSet
    known: GtidSet
    commits: tuple[int, int] = (0, 0)

    @property
    def servers(self) -> set[bytes | DomainSource]:
        """The servers whose transactions it knows, of MariaDB in each domain."""
        return {source if isinstance(source, DomainSource) else source.uuid for source in self.known.sources}


def takes_over(earlier: ChainGtids, later: ChainGtids) -> bool:
    """Return whether a server took over from another one, as the GTIDs in the logs of both show.

    It knows all servers whose transactions the other one has, and at least one more: itself. Servers that
    replicate from each other know the same ones. A server that ended before the other one began did not.
    """
    is_over = 0 < later.commits[1] < earlier.commits[0]
    return bool(earlier.servers) and earlier.servers < later.servers and not is_over


def never_had(earlier: ChainGtids, later: ChainGtids) -> GtidSet:
    """Return what a server logged that the one that took over from it never had."""
    return earlier.logged - later.known


def precedes(one: ChainGtids, other: ChainGtids) -> bool:
    """Return whether GTIDs show that all of a chain comes before another one.

    MariaDB numbers the transactions of a domain across its servers.
    """
    if takes_over(one, other):
        return True
    if not one.servers.isdisjoint(other.servers):
        return False
    lasts, firsts = _bounds(one.logged, last=True), _bounds(other.logged, last=False)
    shared = lasts.keys() & firsts.keys()
    return bool(shared) and all(lasts[domain] < firsts[domain] for domain in shared)


def _bounds(gtids: GtidSet, *, last: bool) -> dict[int, int]:
    """Return the first or the last number of each of MariaDB's domains."""
    bounds: dict[int, int] = {}
    for source, *interval in gtids:
        if isinstance(source, DomainSource):
            number, choose = interval[last], max if last else min
            bounds[source.domain] = choose(bounds.get(source.domain, number), number)
    return bounds


def in_turn(chains: Sequence[ChainGtids]) -> list[int]:
    """Return the indexes of chains in the order that GTIDs show; where they show none, in the order given."""
    left, order = list(range(len(chains))), []
    while left:
        free = (one for one in left if not any(precedes(chains[other], chains[one]) for other in left))
        order.append(next(free, left[0]))
        left.remove(order[-1])
    return order


def _lasts(gtids: GtidSet) -> dict[DomainSource, int]:
    """Return the highest number of each of MariaDB's sources; intervals ascend."""
    return {source: last for source, _, last in gtids if isinstance(source, DomainSource)}


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


Run = list[int]
"""Indexes of logs, each linked to the next."""


def ordered(logs: Sequence[LogFacts]) -> list[list[int]]:
    """Sort logs into the order in which they were written, chain by chain.

    Returns:
        For each chain, in the order of their beginnings, the indexes of its logs.
    """
    chains = [_order_of_chain(logs, runs) for runs in _ChainRuns(logs).chains()]
    return sorted(chains, key=lambda chain: (logs[chain[0]].begun, logs[chain[0]].name, logs[chain[0]].path))


def _order_of_chain(logs: Sequence[LogFacts], runs: Sequence[Run]) -> list[int]:
    """Return an index's order if one lists all logs, else the order of the runs' begin times."""
    chain = [index for run in sorted(runs, key=lambda run: logs[run[0]].begun) for index in run]
    stated = [(listed.place, index) for index in chain if (listed := logs[index].listed) is not None]
    indexes = {listed.index_path for index in chain if (listed := logs[index].listed) is not None}
    if len(stated) == len(chain) and len(indexes) == 1:
        return [index for _, index in sorted(stated, key=lambda pair: pair[0])]
    return chain


class _ChainRuns:
    """Groups logs into chains, each as its runs in numeric order."""

    def __init__(self, logs: Sequence[LogFacts]) -> None:
        self._logs = logs
        counts = Counter((_folder(log), log.base, log.number) for log in logs)
        self._shared = {(folder, base) for (folder, base, _), count in counts.items() if count > 1}

    def chains(self) -> list[list[Run]]:
        runs = self._linked()
        leaders = list(range(len(runs)))

        def leader(number: int) -> int:
            while leaders[number] != number:
                number = leaders[number]
            return number

        firsts: dict[object, int] = {}
        by_place: dict[object, list[int]] = {}
        for number, run in enumerate(runs):
            # Runs of one server id or index belong to one chain, as do runs that follow each other in one
            # folder.
            members = [self._logs[index] for index in run]
            indexes = {log.listed.index_path for log in members if log.listed is not None}
            for shared in ({log.server for log in members}, indexes):
                for key in shared:
                    leaders[leader(firsts.setdefault(key, number))] = leader(number)
            if (place := self._place(members[0])) is not None:
                by_place.setdefault(place, []).append(number)
        for numbers in by_place.values():
            for before, after in pairwise(numbers):
                if _may_come_later(self._logs[runs[before][-1]], self._logs[runs[after][0]]):
                    leaders[leader(before)] = leader(after)
        chains: dict[int, list[Run]] = {}
        for number, run in enumerate(runs):
            chains.setdefault(leader(number), []).append(run)
        return self._rejoined(chains)

    def _rejoined(self, chains: dict[int, list[Run]]) -> list[list[Run]]:
        """Join chains of one server id and folder whose logs alternate, as when a base name changes and back.

        The logs do not tell: those of the new name list nothing as logged before them, and those of the old
        name go on as if nothing had been logged between. Logs of two servers that run side by side overlap in
        time.
        """
        logs = self._logs
        numbers: dict[tuple[int, str], dict[int, None]] = {}
        for number, chain in chains.items():
            for log in (logs[index] for run in chain for index in run):
                folder = log.path.rpartition("/")[0]
                numbers.setdefault((log.server_id, folder), {})[number] = None
        for together in numbers.values():
            pairs = [
                (index, number) for number in together for run in chains.get(number, ()) for index in run
            ]
            pairs.sort(key=lambda pair: (logs[pair[0]].begun, logs[pair[0]].times.written))
            changes = [(one, other) for (one, before), (other, after) in pairwise(pairs) if before != after]
            if len(changes) >= len(together) and all(
                logs[one].times.is_over_before(logs[other].times) for one, other in changes
            ):
                joined = groupby(pairs, key=lambda pair: pair[1])
                chains[min(together)] = [[index for index, _ in run] for _, run in joined]
                for number in together.keys() - {min(together)}:
                    del chains[number]
        return list(chains.values())

    def _linked(self) -> list[Run]:
        """Link logs by their names: first those of one server id, then the remaining ones."""
        logs = self._logs
        order = sorted(range(len(logs)), key=lambda at: (logs[at].number, logs[at].begun, logs[at].path))
        by_name: dict[tuple[str, int], list[int]] = {}
        for index in order:
            by_name.setdefault((logs[index].base, logs[index].number), []).append(index)
        followers: dict[int, int] = {}
        linked: set[int] = set()
        for same_server in (True, False):
            for index in order:
                log = logs[index]
                if index in followers:
                    continue
                fitting = [
                    after
                    for after in by_name.get((log.base, log.number + 1), ())
                    if after not in linked
                    and follows(log, logs[after])
                    and not lost_gtids(log, logs[after])
                    and (
                        log.server == logs[after].server
                        if same_server
                        else self._is_witnessed(log, logs[after])
                    )
                ]
                if fitting:
                    times = {after: logs[after].times for after in fitting}
                    nearest = min(
                        times,
                        key=lambda at: (
                            not log.times.is_over_before(times[at]),
                            log.times.seconds_to(times[at]),
                        ),
                    )
                    followers[index] = nearest
                    linked.add(nearest)
        runs: list[Run] = []
        for index in order:
            if index not in linked:
                run = [index]
                while (follower := followers.get(run[-1])) is not None:
                    run.append(follower)
                runs.append(run)
        return runs

    def _place(self, log: LogFacts) -> object | None:
        """Return a key shared by the logs of a place (a folder, an index) that all belong to one server.

        None if a log's place is not significant.
        """
        if log.listed is not None:
            return log.listed.index_path
        folder = _folder(log)
        return None if folder is None or (folder, log.base) in self._shared else (folder, log.base)

    def _is_witnessed(self, before: LogFacts, after: LogFacts) -> bool:
        """Return whether anything besides names shows that a log of another server id is the next one.

        That is an index that lists both, a folder in which no other log has their names, a ROTATE written
        when the other log was begun, or GTIDs known to both.
        """
        if not _may_come_later(before, after):
            return False
        place = self._place(before)
        if place is not None and place == self._place(after):
            return True
        if before.next_log is not None and before.ended:
            return before.times.is_rotated_into(after.times)
        return bool(before.gtids_before and after.gtids_before) and before.flavour is after.flavour


def _folder(log: LogFacts) -> str | None:
    """Return the folder; None in an archive, which holds logs of many servers under tagged names."""
    return None if has_archive_tag(log.path) or not log.number else log.path.rpartition("/")[0]


def _may_come_later(before: LogFacts, after: LogFacts) -> bool:
    """Return whether times and GTIDs allow ``after`` to be the later log."""
    return before.times.is_over_before(after.times) and not lost_gtids(before, after)
