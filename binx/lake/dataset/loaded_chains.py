"""Group binary logs into chains, and order the chains of several servers.

A chain is one server's binary logs with one base name, in ascending order of their numbers. A server's id may
change within a chain, if the links between the logs show that they belong together: the name and time of the
next log, and the GTIDs before it. Commit versions order all changes within a chain. ``RESET BINARY LOGS``
restarts the numbering, which begins another chain; so does another server, and a base name that the server
used before and uses again: its logs of the other name were written between. A chain never changes its name,
so that rows written by earlier loads stay attributed to it.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import UuidSource
from binx.lake.dataset.bases import BASE_CHAIN, Base
from binx.lake.dataset.manifests import ExportLoss, Manifest, SelectedPart
from binx.lake.dataset.spans import Span
from binx.lake.table_name import TableName
from binx.log.selection.times import parse_time
from binx.log.succession import ChainGtids, LogTimes, in_turn, never_had, takes_over, with_lower_numbers
from binx.source.log_names import is_named_next, numbered_name


class ChangePosition(NamedTuple):
    """A position in the order of all changes: the chain's rank, then the commit version in it."""

    rank: int
    scn: int


@dataclass(slots=True)
class Log:
    """A binary log of a chain.

    Attributes:
        taken: the spans of which every transaction was loaded.
        knew_tables: whether an export knew tables where the log begins.
        next: the next log according to the last event, and that event's time; the name is empty after STOP.
        whole_bytes: the largest size at which the log was exported whole.
        selected: exports with a selection, made when the log was larger than that.
        losses: what exports lost of it, unless one of them lost nothing.
    """

    identity: str
    time: int
    taken: list[Span] = field(default_factory=list)
    knew_tables: bool = False
    next: tuple[str, int] | None = None
    last: GtidSet = field(default_factory=GtidSet)
    whole_bytes: int = 0
    selected: tuple[SelectedPart, ...] = ()
    losses: tuple[ExportLoss, ...] = ()

    @classmethod
    def of(cls, manifest: Manifest) -> Log:
        """Return an exported log, before anything of it is loaded."""
        return cls(manifest.source.identity, manifest.source.time, next=manifest.next)

    @property
    def times(self) -> LogTimes:
        """When it was written."""
        return LogTimes(self.time, self.next and self.next[1])

    def may_precede(self, after: Log) -> bool:
        """Whether the log of the next number may be the next one: it begins when ROTATE was written."""
        return self.next is None or not all(self.next) or self.times.is_rotated_into(after.times)

    def take(self, manifest: Manifest) -> None:
        """Record what an export has of the log."""
        if manifest.whole:
            self.whole_bytes = max(self.whole_bytes, manifest.source.bytes)
            self.knew_tables |= manifest.knew_tables
            self.losses = ()
        elif manifest.source.bytes > self.whole_bytes:
            self.losses = tuple(dict.fromkeys((*self.losses, *manifest.losses)))
        if manifest.selected is not None:
            self.selected += (manifest.selected,)
        self.selected = tuple(export for export in self.selected if export.log_bytes > self.whole_bytes)

    def leads_to(self, manifest: Manifest, own_name: str) -> bool:
        """Whether the log's end names that log as the next, whose previous GTIDs include this log's last."""
        return (
            self.next is not None
            and bool(self.last)
            and is_named_next(self.next[0], own_name, manifest.source.name)
            and self.may_precede(Log.of(manifest))
            and all(manifest.before.contains(*gtid[:2]) for gtid in self.last)
        )


class LogLoss(NamedTuple):
    """What is missing before a log (a gap), or what exports lost of it; of any table if that is None."""

    number: int
    text: str
    table: TableName | None = None
    is_gap: bool = False


@dataclass(slots=True)
class LoadedChain:
    """A chain: its logs by number, its first commit, the GTIDs already loaded; or a single base.

    ``known`` are the GTIDs of all its logs, and those that they list as logged before them. ``outlived_by``
    are chains that went on without its last transactions, each with its ``last_commit`` (µs since 1970) as it
    was then; ``reused`` the GTIDs under which a server that took over logged other transactions.
    """

    name: str
    server_id: int
    base: str
    first_commit: str = ""
    logs: dict[int, Log] = field(default_factory=dict)
    gtids: GtidSet = field(default_factory=GtidSet)
    known: GtidSet = field(default_factory=GtidSet)
    last_commit: int = 0
    outlived_by: dict[str, int] = field(default_factory=dict)
    reused: GtidSet = field(default_factory=GtidSet)
    at: Base | None = None
    numbers: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.numbers = sorted(self.logs)

    @property
    def all_gtids(self) -> ChainGtids:
        """Its GTIDs, as they are compared with those of other chains; none of a base."""
        if self.at is not None:
            return ChainGtids(GtidSet(), GtidSet())
        began = parse_time(self.first_commit) if self.first_commit else 0
        return ChainGtids(self.gtids, self.known | _numbers_before(self.known), (began, self.last_commit))

    @property
    def times(self) -> LogTimes:
        """When its logs were written."""
        first, last = (self.logs[self.numbers[end]].times for end in (0, -1))
        return LogTimes(first.begun, last.written)

    def takes(self, manifest: Manifest) -> bool:
        """Whether a log fits: same server and name, its number free or its own, at a time between others.

        If the log has another server id, the log before must name it as the next one.
        """
        source = manifest.source
        if self.at is not None or source.base != self.base:
            return False
        own, former = self.logs.get(source.number), self.logs.get(source.number - 1)
        is_known = own is not None and own.identity == source.identity
        linked = former is not None and former.leads_to(manifest, self.called(source.number - 1))
        if own is not None or (source.server_id != self.server_id and not linked):
            return is_known
        new = Log.of(manifest)
        later = self.logs.get(source.number + 1)
        if (former and not former.may_precede(new)) or (later and not new.may_precede(later)):
            return False
        return all(before.times.is_begun_before(after.times) for before, after in self.neighbours(manifest))

    def distance(self, manifest: Manifest) -> int:
        """Return how many seconds a log begins after the one before it, or ends before the one after it."""
        gaps = (before.times.seconds_to(after.times) for before, after in self.neighbours(manifest))
        return min(gaps, default=0)

    def neighbours(self, manifest: Manifest) -> list[tuple[Log, Log]]:
        """Return a new log with the one before it and with the one after it; nothing for a known number."""
        source = manifest.source
        if source.number in self.logs:
            return []
        index = bisect(self.numbers, source.number)
        before, after = self.numbers[max(index - 1, 0) : index], self.numbers[index : index + 1]
        log_of = self.logs.__getitem__
        return list(pairwise([*map(log_of, before), Log.of(manifest), *map(log_of, after)]))

    def add(self, manifest: Manifest) -> None:
        """Add a log to the chain."""
        source, first_commit = manifest.source, manifest.first_commit
        if source.number not in self.logs:
            insort(self.numbers, source.number)
            self.logs[source.number] = Log.of(manifest)
        log = self.logs[source.number]
        log.next = manifest.next or log.next
        log.last = GtidSet((gtid, last, last) for gtid, _, last in manifest.gtids) or log.last
        self.known |= manifest.gtids | manifest.left_out | with_lower_numbers(manifest.before)
        if first_commit and (not self.first_commit or first_commit < self.first_commit):
            self.first_commit = first_commit
        if first_commit:
            self.last_commit = max(self.last_commit, manifest.until)

    def called(self, number: int) -> str:
        """Return a log's name."""
        return numbered_name(self.base, number)

    def losses(self) -> Iterator[LogLoss]:
        """Yield what exports lost of its logs."""
        for number in self.numbers:
            for loss in self.logs[number].losses:
                yield LogLoss(number, f"{self.called(number)}: {loss.text}", loss.table)


def _numbers_before(known: GtidSet) -> GtidSet:
    """Return the GTIDs of MySQL's servers before their first ones that are known.

    Logs do not list what a server has from a backup (``gtid_purged``).
    """
    firsts: dict[UuidSource, int] = {}
    for source, first, _ in known:
        if isinstance(source, UuidSource):
            firsts.setdefault(source, first)
    return GtidSet((source, 1, first - 1) for source, first in firsts.items() if first > 1)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Transactions of a chain that the server which took over, with the chain ``later``, never had.

    Their rows stay in ``history/`` and do not count, nor do their statements. Of the GTIDs in ``reused``, it
    has other transactions.
    """

    gtids: GtidSet
    later: str
    reused: GtidSet

    def sentence(self, chain: str) -> str:
        """Return what is said of the tables that they changed."""
        return (
            f"transactions of {chain} that {self.later}, whose server took over, never had are left out:"
            f" {self.gtids}"
        ) + (f"; servers that took over have others of the GTIDs {self.reused}" if self.reused else "")


@dataclass(slots=True)
class LoadedChains:
    """All known chains, by name."""

    by_name: dict[str, LoadedChain] = field(default_factory=dict)

    def __getitem__(self, name: str) -> LoadedChain:
        return self.by_name[name]

    def assign(self, manifests: Sequence[Manifest]) -> list[str]:
        """Return the name of each manifest's chain; create chains as needed."""
        assigned = [""] * len(manifests)
        order = sorted(
            range(len(manifests)), key=lambda at: (manifests[at].source.time, manifests[at].source.number)
        )
        for index in order:
            chain = self._chain_of(manifests[index])
            chain.add(manifests[index])
            assigned[index] = chain.name
        return assigned

    def _chain_of(self, manifest: Manifest) -> LoadedChain:
        source = manifest.source
        if manifest.base is not None:
            name = f"{BASE_CHAIN}{source.name}.{source.identity}"
            base = Base(manifest.base, manifest.until)
            return self.by_name.setdefault(name, LoadedChain(name, source.server_id, source.base, at=base))
        chains = self.by_name.values()
        fitting = [
            chain
            for chain in chains
            if chain.takes(manifest)
            and not any(self._between(chain, *logs) for logs in chain.neighbours(manifest))
        ]
        if fitting:
            # Numbers may have begun again, or another server has the same id: the nearest log is its own.
            return min(
                fitting,
                key=lambda chain: (chain.server_id != source.server_id, chain.distance(manifest)),
            )
        name = f"{source.server_id}:{source.base}"
        same = sum((chain.server_id, chain.base) == (source.server_id, source.base) for chain in chains)
        name = name if same == 0 else f"{name}#{same + 1}"
        self.by_name[name] = LoadedChain(name, source.server_id, source.base)
        return self.by_name[name]

    def _between(self, chain: LoadedChain, before: Log, after: Log) -> str:
        """Return a log of another name that the server wrote between two of a chain; empty for none."""
        between = (
            other.called(number)
            for other in self._of_server(chain)
            if other.base != chain.base
            for number, log in other.logs.items()
            if log.times.is_between(before.times, after.times)
        )
        return next(between, "")

    def _of_server(self, chain: LoadedChain) -> Iterator[LoadedChain]:
        for other in self.by_name.values():
            if other.at is None and chain.at is None and other.server_id == chain.server_id:
                yield other

    def gaps(self, name: str) -> Iterator[LogLoss]:
        """Yield what is missing or out of order before a log of a chain, or after its last one.

        Logs before the first one of a base name are not missing, nor are those after a server's last one.
        """
        chain = self.by_name[name]
        numbers, others = chain.numbers, list(self._of_server(chain))
        end = chain.logs[numbers[-1]]
        former = sorted(
            (other.logs[number].time, number)
            for other in others
            for number in other.numbers[-1:]
            if other.base == chain.base
            and number < numbers[0]
            and other.logs[number].times.is_begun_before(chain.times)
        )
        for before, after in pairwise([*(number for _, number in former[-1:]), *numbers]):
            if after > before + 1:
                text = (
                    f"logs of {name} between {chain.called(before)} and {chain.called(after)} were never"
                    " exported: their changes are in no table"
                )
                yield LogLoss(after, text, is_gap=True)
        went_on = any(other.base != chain.base and end.times.is_over_before(other.times) for other in others)
        if went_on and end.next is not None and end.next[0]:
            text = (
                f"the log {end.next[0]} of {name} was never exported, though its server went on under another"
                " name: its changes are in no table"
            )
            yield LogLoss(numbers[-1] + 1, text, is_gap=True)
        for before, after in pairwise(numbers):
            if between := self._between(chain, chain.logs[before], chain.logs[after]):
                text = (
                    f"{between} was written between {chain.called(before)} and {chain.called(after)}, which"
                    " were loaded without it: changes may be in the wrong order; load all logs into another"
                    " folder"
                )
                yield LogLoss(after, text, is_gap=True)

    def bases(self) -> dict[str, Base]:
        """Return the bases, by the names of their chains."""
        return {name: chain.at for name, chain in self.by_name.items() if chain.at is not None}

    def in_order(self, preferred: Sequence[str]) -> list[str]:
        """Return the chains in the order of application.

        Those named come first, then the others, in the order that GTIDs show, else by first commit time.
        """

        def rank(chain: LoadedChain) -> int:
            own = (chain.name, str(chain.server_id))
            return next((index for index, name in enumerate(preferred) if name in own), len(preferred))

        chains = self.by_name.values()
        known = set(self.by_name) | {str(chain.server_id) for chain in chains}
        unknown = [name for name in preferred if name not in known]
        if unknown:
            raise UsageError(
                f"--chain {unknown[0]}: the data contains only {', '.join(sorted(self.by_name))}"
            )
        by_time = sorted(chains, key=lambda chain: chain.first_commit)
        in_order = [by_time[index] for index in in_turn([chain.all_gtids for chain in by_time])]
        return [chain.name for chain in sorted(in_order, key=rank)]

    def shards(self, order: Sequence[str]) -> dict[str, str]:
        """Return the shard of each chain of logs: the first chain, in this order, that it continues.

        A chain continues another one of its server, unless the logs overlap in time, which are of two servers
        of one id then; and that of a server from which its own took over.
        """
        found: dict[str, str] = {}
        for name in (name for name in order if self.by_name[name].at is None):
            chain = self.by_name[name]
            before = (one for one in found if self._continues(self.by_name[one], chain))
            first = next(before, None)
            found[name] = name if first is None else found[first]
        return found

    def _continues(self, before: LoadedChain, after: LoadedChain) -> bool:
        if self.took_over(before.name, after.name):
            return True
        return before.server_id == after.server_id and before.times.is_over_before(after.times)

    def took_over(self, earlier: str, later: str) -> bool:
        """Return whether the server of a chain took over from that of another one.

        GTIDs show it, or the times of commits do: see :mod:`binx.lake.arrivals.takeovers`.
        """
        own = self.by_name[earlier]
        return later in own.outlived_by or takes_over(own.all_gtids, self.by_name[later].all_gtids)

    def left_out(self, order: Sequence[str]) -> dict[str, LeftOut]:
        """Return, by chain, what its server alone had when another one took over.

        If several took over in turn, the last one decides. MariaDB's lists of GTIDs have the last number of
        each server: once a server that was made again has given new ones, those that it lost are within.
        Then the first server that took over decides about these, if no other one logged them.
        """
        found = {}
        for place, name in enumerate(order):
            own, after = self.by_name[name], order[place + 1 :]
            others = [
                self.by_name[other]
                for other in order
                if self.by_name[other].known and (other in after or other in own.outlived_by)
            ]
            over = [one for one in others if self.took_over(name, one.name)]
            if not over or (over[-1].name in own.outlived_by and over[-1].gtids.issubset(own.known)):
                continue
            reused = own.reused & own.gtids
            lost = never_had(own.all_gtids, over[-1].all_gtids) | reused
            if any(one.server_id == own.server_id for one in others):
                lost |= never_had(own.all_gtids, over[0].all_gtids) - GtidSet().union(
                    *(one.gtids for one in over)
                )
            if lost:
                found[name] = LeftOut(lost, over[-1].name, reused)
        return found
