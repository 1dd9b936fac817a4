"""Which binary logs continue each other, and in which order the servers' chains are applied.

A chain is one server's binary logs of one name, numbered upwards. Whether its id changes on the way, the
links between its logs tell: the name and the time of the next one, and the GTIDs before it. Commit versions
order all changes within a chain. After ``RESET BINARY LOGS`` numbering restarts, which begins another chain;
so does another server. Chains keep their names for good, so that rows written by earlier loads stay
attributed.
"""

from __future__ import annotations

import sys
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.spark.lake.bases import BASE_CHAIN, Base
from binx.spark.lake.manifests import Manifest, Selected
from binx.spark.lake.model import FILE_BITS, Life, Position, Span, Statement, TableName

_TOLERANCE = 1
"""Seconds between the end of a log and the beginning of the next; servers give both the same time."""


@dataclass(slots=True)
class Log:
    """One binary log of a chain.

    Attributes:
        taken: the spans of which every transaction was taken.
        whole_bytes: of the log when it was exported whole, at most.
        selected: exports of it when it was larger, with a selection.
    """

    identity: str
    time: int
    taken: list[Span] = field(default_factory=list)
    next: tuple[str, int] | None = None
    last: GtidSet = field(default_factory=GtidSet)
    whole_bytes: int = 0
    selected: tuple[Selected, ...] = ()

    def take(self, manifest: Manifest) -> None:
        """Note what an export has of it."""
        if manifest.whole:
            self.whole_bytes = max(self.whole_bytes, manifest.source.bytes)
        elif manifest.selected is not None:
            self.selected += (manifest.selected,)
        self.selected = tuple(one for one in self.selected if one.log_bytes > self.whole_bytes)

    def leads_to(self, manifest: Manifest) -> bool:
        """Whether its end names that log, which knows the last GTIDs in this one."""
        if self.next is None or not self.last:
            return False
        name, ended = self.next
        source = manifest.source
        return (
            name == source.name
            and abs(source.time - ended) <= _TOLERANCE
            and all(manifest.before.contains(*gtid[:2]) for gtid in self.last)
        )


@dataclass(slots=True)
class Chain:
    """One chain: its logs by number, its first commit, the GTIDs that loads took from it; or a base alone."""

    name: str
    server_id: int
    base: str
    first_commit: str = ""
    logs: dict[int, Log] = field(default_factory=dict)
    gtids: GtidSet = field(default_factory=GtidSet)
    at: Base | None = None
    _numbers: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._numbers = sorted(self.logs)

    def takes(self, manifest: Manifest) -> bool:
        """Whether the log fits: same server and name, its number free or its own, times not running back.

        Of a log with another server id the one before must say that it is the next.
        """
        source = manifest.source
        if self.at is not None or source.base != self.base:
            return False
        own, former = self.logs.get(source.number), self.logs.get(source.number - 1)
        is_known = own is not None and own.identity == source.identity
        linked = former is not None and former.leads_to(manifest)
        if own is not None or (source.server_id != self.server_id and not linked):
            return is_known
        place = bisect(self._numbers, source.number)
        before, after = self._numbers[max(place - 1, 0) : place], self._numbers[place : place + 1]
        return all(self.logs[number].time <= source.time for number in before) and all(
            source.time <= self.logs[number].time for number in after
        )

    def add(self, manifest: Manifest) -> None:
        """Let the log be part of this chain."""
        source, first_commit = manifest.source, manifest.first_commit
        if source.number not in self.logs:
            insort(self._numbers, source.number)
            self.logs[source.number] = Log(source.identity, source.time)
        log = self.logs[source.number]
        log.next = manifest.next or log.next
        log.last = GtidSet((gtid, last, last) for gtid, _, last in manifest.gtids) or log.last
        if first_commit and (not self.first_commit or first_commit < self.first_commit):
            self.first_commit = first_commit

    def called(self, number: int) -> str:
        """A log's name."""
        return f"{self.base}.{number:06d}"

    def gaps(self, first: int = 0, last: int = sys.maxsize) -> list[str]:
        """Sentences about the logs that are missing between others, of those with numbers in a span.

        Where the chain begins, none is missing.
        """
        return [
            f"logs of {self.name} between {self.called(before)} and {self.called(after)} were never"
            " exported: their changes are in no table"
            for before, after in pairwise(self._numbers)
            if after > before + 1 and first < after <= last
        ]


@dataclass(slots=True)
class Chains:
    """All chains that are known, by their names."""

    by_name: dict[str, Chain] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Chain:
        return self.by_name[name]

    def assign(self, manifests: Sequence[Manifest]) -> list[str]:
        """The name of each manifest's chain; new chains are made as needed."""
        assigned = [""] * len(manifests)
        order = sorted(
            range(len(manifests)), key=lambda at: (manifests[at].source.time, manifests[at].source.number)
        )
        for place in order:
            chain = self._chain_of(manifests[place])
            chain.add(manifests[place])
            assigned[place] = chain.name
        return assigned

    def _chain_of(self, manifest: Manifest) -> Chain:
        source = manifest.source
        if manifest.base is not None:
            name = f"{BASE_CHAIN}{source.name}.{source.identity}"
            made = Chain(name, source.server_id, source.base, at=manifest.base)
            return self.by_name.setdefault(name, made)
        chains = self.by_name.values()
        fitting = [chain for chain in chains if chain.takes(manifest)]
        if fitting:
            return min(fitting, key=lambda chain: chain.server_id != source.server_id)
        name = f"{source.server_id}:{source.base}"
        same = sum((chain.server_id, chain.base) == (source.server_id, source.base) for chain in chains)
        name = name if same == 0 else f"{name}#{same + 1}"
        self.by_name[name] = Chain(name, source.server_id, source.base)
        return self.by_name[name]

    def bases(self) -> dict[str, Base]:
        """The bases, by the names of their chains."""
        return {name: chain.at for name, chain in self.by_name.items() if chain.at is not None}

    def in_order(self, asked: Sequence[str]) -> list[str]:
        """The chains in the order in which they are applied: those named, then by first commit time."""

        def place(chain: Chain) -> tuple[int, str, str]:
            named = [index for index, name in enumerate(asked) if name in (chain.name, str(chain.server_id))]
            return (named[0] if named else len(asked), chain.first_commit, chain.name)

        chains = self.by_name.values()
        known = set(self.by_name) | {str(chain.server_id) for chain in chains}
        unknown = [name for name in asked if name not in known]
        if unknown:
            raise UsageError(
                f"--chain {unknown[0]}: the data contains only {', '.join(sorted(self.by_name))}"
            )
        return [chain.name for chain in sorted(chains, key=place)]


def once(statements: Iterable[Statement], ranks: Mapping[str, int]) -> list[Statement]:
    """Each statement once: of several chains that hold it, that of the first one."""
    found: dict[Any, Statement] = {}
    for one in sorted(statements, key=lambda one: (ranks[one.chain], one.scn, one.ordinal)):
        found.setdefault((one.transaction or (one.chain, one.scn), one.ordinal, one.time), one)
    return list(found.values())


def left_out(life: Life, chains: Chains, ranks: Mapping[str, int]) -> list[str]:
    """Sentences about what exports with a selection left out of a life."""
    logs: dict[str, list[str]] = defaultdict(list)
    for chain, rank in ranks.items():
        for number, log in chains[chain].logs.items():
            names = list(_names_in(life, rank, number)) if log.selected else []
            # An export that lacks nothing makes up for what others of the same log lack.
            lacking = [max((one.lacks(name) for name in names), default="") for one in log.selected]
            if lacking and all(lacking):
                logs[min(lacking)].append(chains[chain].called(number))
    return [
        f"{len(listed)} {'log was' if len(listed) == 1 else 'logs were'} {text}: {listed[0]}"
        + (" and others" if len(listed) > 1 else "")
        for text, listed in logs.items()
    ]


def _names_in(life: Life, rank: int, number: int) -> Iterator[TableName]:
    """What the table was called while a log was written; nothing if it was not there yet."""
    begin, end = Position(rank, number << FILE_BITS), Position(rank, ((number + 1) << FILE_BITS) - 1)
    ends = [since for since, _ in life.names[1:]]
    for (since, name), until in zip(life.names, [*ends, None], strict=True):
        if (since is None or since <= end) and (until is None or until >= begin):
            yield name


def unlogged(life: Life, deleted: Collection[TableName]) -> list[str]:
    """A sentence about what foreign keys did to a life's rows, with those deleted from other tables."""
    reached = ", ".join(sorted(str(parent) for parent in life.parents if parent in deleted))
    text = f"rows that foreign keys deleted or changed with rows of {reached} are not logged"
    return [text] if reached else []
