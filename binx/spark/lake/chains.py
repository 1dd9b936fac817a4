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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.spark.lake.bases import BASE_CHAIN, Base
from binx.spark.lake.manifests import Manifest, Source, Span
from binx.spark.lake.model import Statement
from binx.spark.lake.selected import Selected

_TOLERANCE = 1
"""Seconds between the end of a log and the beginning of the next; servers give both the same time."""


@dataclass(slots=True)
class Log:
    """One binary log of a chain.

    Attributes:
        taken: the spans that loads took whole, with the load's number.
        whole_bytes: of the log when it was exported whole, at most.
        selected: exports of it when it was larger, with a selection.
    """

    identity: str
    time: int
    taken: list[tuple[int, int, int]] = field(default_factory=list)
    next: tuple[str, int] | None = None
    last: GtidSet = field(default_factory=GtidSet)
    whole_bytes: int = 0
    selected: tuple[Selected, ...] = ()

    def take(self, manifest: Manifest, load: int) -> None:
        """Note what a load takes of it."""
        if manifest.whole:
            self.whole_bytes = max(self.whole_bytes, manifest.source.bytes)
            if manifest.span is not None:
                self.taken.append((*manifest.span, load))
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
        former = self.logs.get(source.number - 1)
        is_known = source.number in self.logs and self.logs[source.number].identity == source.identity
        linked = former is not None and former.leads_to(manifest)
        if source.server_id != self.server_id and not linked and not is_known:
            return False
        if source.number in self.logs:
            return self.logs[source.number].identity == source.identity
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

    def taken(self, number: int, upto: int) -> list[Span]:
        """The spans of a log of which loads up to one took every transaction."""
        return [(first, last) for first, last, load in self.logs[number].taken if load <= upto]

    def gaps(self, first: int = 0, last: int = sys.maxsize) -> list[str]:
        """Sentences about the logs that are missing between others; where the chain begins, none is.

        Args:
            first: the number of the log from which on they matter.
            last: that of the last log that matters.
        """
        return [
            f"logs of {self.name} between {self.base}.{before:06d} and {self.base}.{after:06d} were never"
            " exported: their changes are in no table"
            for before, after in pairwise(self._numbers)
            if after > before + 1 and first < after <= last
        ]

    def to_json(self) -> dict[str, Any]:
        """For the state."""
        logs = [
            [
                number,
                log.identity,
                log.time,
                log.taken,
                log.next,
                str(log.last),
                log.whole_bytes,
                [one.to_json() for one in log.selected],
            ]
            for number, log in sorted(self.logs.items())
        ]
        return {
            "name": self.name,
            "server_id": self.server_id,
            "base": self.base,
            "first_commit": self.first_commit,
            "gtids": str(self.gtids),
            "logs": logs,
            **({} if self.at is None else {"at": self.at.to_json()}),
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Chain:
        """What :meth:`to_json` wrote."""
        return cls(
            entry["name"],
            entry["server_id"],
            entry["base"],
            entry["first_commit"],
            {
                int(number): Log(
                    identity,
                    time,
                    [(first, last, load) for first, last, load in taken],
                    None if following is None else (following[0], following[1]),
                    GtidSet.parse(last_gtids),
                    whole_bytes,
                    tuple(map(Selected.from_json, selected)),
                )
                for number, identity, time, taken, following, last_gtids, whole_bytes, selected in entry[
                    "logs"
                ]
            },
            GtidSet.parse(entry["gtids"]),
            Base.from_json(entry["at"]) if "at" in entry else None,
        )


class Chains:
    """All chains that are known."""

    def __init__(self, chains: Iterable[Chain] = ()) -> None:
        self._chains = {chain.name: chain for chain in chains}

    def __getitem__(self, name: str) -> Chain:
        return self._chains[name]

    def to_json(self) -> list[dict[str, Any]]:
        """For the state."""
        return [chain.to_json() for chain in self._chains.values()]

    @classmethod
    def from_json(cls, entries: Iterable[Mapping[str, Any]]) -> Chains:
        """What :meth:`to_json` wrote."""
        return cls(map(Chain.from_json, entries))

    def assign(self, manifests: Sequence[Manifest]) -> list[str]:
        """The name of each manifest's chain; new chains are made as needed."""
        assigned = [""] * len(manifests)
        order = sorted(
            range(len(manifests)), key=lambda at: (manifests[at].source.time, manifests[at].source.number)
        )
        for place in order:
            source, base = manifests[place].source, manifests[place].base
            if base is not None:
                assigned[place] = self._add_base(manifests[place], base)
                continue
            fitting = [chain for chain in self._chains.values() if chain.takes(manifests[place])]
            fitting.sort(key=lambda chain: chain.server_id != source.server_id)
            chain = fitting[0] if fitting else None
            if chain is None:
                chain = Chain(self._new_name(source), source.server_id, source.base)
                self._chains[chain.name] = chain
            chain.add(manifests[place])
            assigned[place] = chain.name
        return assigned

    def _add_base(self, manifest: Manifest, base: Base) -> str:
        """A base is a chain of its own."""
        source = manifest.source
        name = f"{BASE_CHAIN}{source.name}.{source.identity}"
        if name not in self._chains:
            self._chains[name] = Chain(name, source.server_id, source.base, at=base)
        self._chains[name].add(manifest)
        return name

    def bases(self) -> dict[str, Base]:
        """The bases, by the names of their chains."""
        return {name: chain.at for name, chain in self._chains.items() if chain.at is not None}

    def _new_name(self, source: Source) -> str:
        name = f"{source.server_id}:{source.base}"
        same = sum(
            (chain.server_id, chain.base) == (source.server_id, source.base)
            for chain in self._chains.values()
        )
        return name if same == 0 else f"{name}#{same + 1}"

    def gtids(self) -> dict[str, GtidSet]:
        """The GTIDs that loads took from each chain."""
        return {name: chain.gtids for name, chain in self._chains.items()}

    def in_order(self, asked: Sequence[str]) -> list[str]:
        """The chains in the order in which they are applied: those that are named, then by first commit time.

        Raises:
            UsageError: a chain that is named is not there.
        """

        def place(chain: Chain) -> tuple[int, str, str]:
            named = [index for index, name in enumerate(asked) if name in (chain.name, str(chain.server_id))]
            return (named[0] if named else len(asked), chain.first_commit, chain.name)

        chains = self._chains.values()
        known = set(self._chains) | {str(chain.server_id) for chain in chains}
        unknown = [name for name in asked if name not in known]
        if unknown:
            raise UsageError(
                f"--chain {unknown[0]}: the data contains only {', '.join(sorted(self._chains))}"
            )
        return [chain.name for chain in sorted(chains, key=place)]


def once(statements: Iterable[Statement], ranks: Mapping[str, int]) -> list[Statement]:
    """Each statement once: of several chains that hold it, that of the first one."""
    found: dict[Any, Statement] = {}
    for one in sorted(statements, key=lambda one: (ranks[one.chain], one.scn, one.ordinal)):
        found.setdefault((one.transaction or (one.chain, one.scn), one.ordinal, one.time), one)
    return list(found.values())
