"""Find the position of bases among the logs.

By GTIDs, a base's rows are placed before the first transaction, in the order of the chains, that its set
lacks; later transactions that are in the set are not applied again. A base is placed at its position in the
log of that name if it has no GTIDs, or if those of the logs do not tell what it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.lake.dataset.bases import BASE_CHAIN, Base
from binx.lake.dataset.loaded_chains import ChangePosition, LoadedChain, LoadedChains
from binx.lake.dataset.manifests import Manifest
from binx.lake.dataset.spans import FILE_BITS, Span
from binx.log.held import HeldTransactions
from binx.source.log_names import base_of, number_of

_LAST = (1 << 63) - 1
_SHOWN = 3


@dataclass(frozen=True)
class PlacedBase:
    """The place of a base in the order of changes.

    Attributes:
        chain: the chain of logs that contains the position.
        at: the last commit version of that chain up to which the base has every transaction.
        held: by chain, spans of commit versions of transactions in the base.
        doubts: reasons, as sentences, why later changes may be incomplete.
        problem: why the base cannot be placed; empty if it can.
    """

    chain: str
    at: ChangePosition
    held: Mapping[str, tuple[Span, ...]]
    doubts: tuple[str, ...] = ()
    problem: str = ""

    def holds(self, chain: str, scn: int) -> bool:
        """Whether the base has a transaction."""
        return any(first <= scn <= last for first, last in self.held.get(chain, ()))


def look_at_logs(chains: LoadedChains, manifests: Iterable[tuple[Manifest, str]]) -> None:
    """Record in all bases what they contain of these logs."""
    listed = [(manifest, chain) for manifest, chain in manifests if manifest.base is None]
    for base in chains.bases().values():
        for manifest, chain in listed:
            base.look_at(chain, manifest)


def placed_bases(
    chains: LoadedChains, ranks: Mapping[str, int], shards: Mapping[str, str]
) -> dict[str, PlacedBase]:
    """Place all bases; by the chains of their rows.

    ``shards`` are the shards of chains, empty if all logs are of one: a base is placed among the logs of the
    shard that has GTIDs of the same servers, if there is one.
    """
    return {
        name: _Placing(name, base, chains, _of_shard(base, chains, ranks, shards)).place()
        for name, base in chains.bases().items()
    }


def _of_shard(
    base: Base, chains: LoadedChains, ranks: Mapping[str, int], shards: Mapping[str, str]
) -> Mapping[str, int]:
    own = set(base.position.gtids.sources)
    fitting = {shard for chain, shard in shards.items() if own & set(chains[chain].gtids.sources)}
    if len(fitting) != 1:
        return ranks
    return {name: rank for name, rank in ranks.items() if shards.get(name) in fitting}


class _Found(NamedTuple):
    chain: str
    scn: int
    by_gtid: bool


class _Placing:
    def __init__(self, name: str, base: Base, chains: LoadedChains, ranks: Mapping[str, int]) -> None:
        self._name = name
        self._base = base
        self._chains = chains
        self._ranks = ranks
        bases = chains.bases()
        self._logs: list[LoadedChain] = [
            chains[chain] for chain in sorted(ranks, key=ranks.__getitem__) if chain not in bases
        ]

    def place(self) -> PlacedBase:
        problem, placed = "", None
        try:
            placed = self._by_gtid() if self._can_use_gtids() else self._by_position()
        except UsageError as error:
            problem = error.message
        if placed is None:
            chain = self._logs[-1].name if self._logs else self._name
            return PlacedBase(chain, ChangePosition(self._ranks[chain], _LAST), {}, (), problem)
        held_spans = {}
        if placed.by_gtid:
            held_spans = {chain: tuple(seen.held) for chain, seen in self._base.seen.items()}
        doubts = tuple(self._missing_gtids() if placed.by_gtid else self._missing_logs(placed))
        return PlacedBase(
            placed.chain, ChangePosition(self._ranks[placed.chain], placed.scn), held_spans, doubts
        )

    def _can_use_gtids(self) -> bool:
        if not self._base.position.gtids:
            return False
        unseen = [
            chain.called(number)
            for chain in self._logs
            for number in chain.logs
            if chain.name not in self._base.seen or number not in self._base.seen[chain.name].logs
        ]
        if unseen:
            raise UsageError(
                f"whether the base {self._shown} has the transactions of {', '.join(unseen[:_SHOWN])} cannot"
                " be told, as the data set does not have these logs any more: export them again"
            )
        anonymous = any(seen.anonymous for seen in self._base.seen.values())
        if anonymous and not self._base.position.file:
            raise UsageError(
                f"the base {self._shown} says only by GTIDs where it stands, and transactions of the logs"
                " have none, or numbers that MariaDB set back: make the dump with --source-data"
            )
        return not anonymous

    @property
    def _shown(self) -> str:
        return self._name.removeprefix(BASE_CHAIN)

    def _by_gtid(self) -> _Found:
        for chain in self._logs:
            seen = self._base.seen.get(chain.name)
            if seen is not None and seen.first is not None:
                before = [last for _, last in seen.held if last < seen.first]
                return _Found(chain.name, max(before, default=seen.first - 1), True)
        if not self._logs:
            return _Found(self._name, _LAST, True)
        chain = self._logs[-1]
        spans = self._base.seen[chain.name].held
        return _Found(chain.name, spans[-1][1] if spans else _LAST, True)

    def _by_position(self) -> _Found:
        at = self._base.position
        base = base_of(at.file)
        number = number_of(at.file)
        named = [chain for chain in self._logs if chain.base == base]
        if not self._logs:
            return _Found(self._name, _LAST, False)
        if len(named) > 1:
            named = [chain for chain in named if number in chain.logs]
        if len(named) != 1:
            many = "several servers have" if named else "no server has"
            raise UsageError(
                f"the base {self._shown} stands at {at.file}:{at.offset}, and {many} logs"
                " called so: make the dump of a server with GTIDs, or load each server's logs by themselves"
            )
        if any(seen.cut for chain, seen in self._base.seen.items() if chain == named[0].name):
            raise UsageError(
                f"the base {self._shown} stands at {at.file}:{at.offset}, within a"
                " transaction of that log: is it of another server?"
            )
        return _Found(named[0].name, self._base.scn, False)

    def _missing_logs(self, placed: _Found) -> Iterable[str]:
        """Yield doubts about a base placed by its position: logs never exported, and other servers' logs."""
        if placed.scn == _LAST:
            return
        number = placed.scn >> FILE_BITS
        chain = next(log_chain for log_chain in self._logs if log_chain.name == placed.chain)
        first = min(chain.logs)
        if first > number:
            yield (
                f"the logs from the base's {self._base.position.file} up to {chain.called(first)} were never"
                " exported"
            )
        for other in self._logs:
            if self._ranks[other.name] > self._ranks[placed.chain]:
                yield f"the base says no GTIDs: what it has of the logs of {other.name} is not known"

    def _missing_gtids(self) -> Iterable[str]:
        """Yield doubts: GTIDs began again, or some up to the logs' last one are in neither logs nor base."""
        for seen in self._base.seen.values():
            if seen.repeated:
                yield (
                    f"{seen.repeated} was committed after the base, whose GTIDs have that number: if they"
                    " began again (RESET MASTER), it is not the base's, and rows are missing; make a new dump"
                )
        order = sorted(self._ranks, key=self._ranks.__getitem__)
        for chain, left_out in self._chains.left_out(order).items():
            if shared := left_out.gtids & self._base.position.gtids:
                yield (
                    f"the base has transactions of {chain} that {left_out.later}, whose server took over,"
                    f" never had: {shared}; make a dump of that one"
                )
        if not all(seen.whole for seen in self._base.seen.values()):
            return
        logged = GtidSet().union(*(chain.gtids for chain in self._logs))
        lacking = HeldTransactions(self._base.position, None).missing(_up_to_last(logged)) - logged
        if any(isinstance(source, DomainSource) for source in lacking.sources):
            lacking = _of_no_server(lacking, logged)
        if lacking:
            text = str(lacking)
            yield f"transactions after the base are in no log: {text[:200]}{'…' if len(text) > 200 else ''}"


def _up_to_last(gtids: GtidSet) -> Iterable[tuple[Any, int, int]]:
    """Return the range from 1 to the last number for each source."""
    lasts: dict[Any, int] = {}
    for source, _, last in gtids:
        lasts[source] = max(lasts.get(source, 0), last)
    return [(source, 1, last) for source, last in lasts.items()]


def _of_no_server(lacking: GtidSet, logged: GtidSet) -> GtidSet:
    """For MariaDB: drop numbers that another server of the same domain used."""
    kept = []
    for source, first, last in lacking:
        domain = getattr(source, "domain", None)
        others = [(source, a, b) for other, a, b in logged if getattr(other, "domain", None) == domain]
        kept += list(GtidSet([(source, first, last)]) - GtidSet(others))
    return GtidSet(kept)
