"""Find the position of bases among the logs, and which transactions of the logs they already contain.

GTIDs decide if both the base and the logs have them: a transaction is in the base if and only if its GTID is
in the base's set, whichever server logged it, even if the set has holes. The base's rows are then placed
before the first transaction, in the order of the chains, that the set lacks; later transactions that are in
the set are not applied again. Without GTIDs a base is placed at its position in the log of that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.log.backup_position import BackupPosition
from binx.recovery.held import HeldTransactions
from binx.source.names import number_of
from binx.spark.lake.model import FILE_BITS, Position, Span

if TYPE_CHECKING:
    from binx.spark.lake.chains import Chain, Chains
    from binx.spark.lake.manifests import Manifest

_LAST = (1 << 63) - 1
_SHOWN = 3


@dataclass(slots=True)
class Seen:
    """What a base contains of a chain, according to the logs seen so far.

    Attributes:
        logs: the numbers of the logs that were examined.
        held: spans of commit versions whose transactions are in the base.
        first: the commit version of the first transaction that is not in the base.
        anonymous: whether any transaction has no GTID.
        cut: whether the base's position is inside a transaction.
        whole: whether the exports have all transactions of their logs.
    """

    logs: list[int] = field(default_factory=list)
    held: list[Span] = field(default_factory=list)
    first: int | None = None
    anonymous: bool = False
    cut: bool = False
    whole: bool = True


@dataclass(slots=True)
class Base:
    """A base from its manifest, and what was found about it in logs, by chain."""

    file: str
    offset: int
    gtids: str
    seen: dict[str, Seen] = field(default_factory=dict)

    @property
    def position(self) -> BackupPosition:
        """Its position in its server's logs."""
        return BackupPosition(self.file, self.offset, GtidSet.parse(self.gtids))

    @property
    def scn(self) -> int:
        """The last commit version in the base, within the chain of its log."""
        return (number_of(self.file) << FILE_BITS | self.offset) - 1

    def look_at(self, chain: str, manifest: Manifest) -> None:
        """Record what a log's manifest shows about the base."""
        seen = self.seen.setdefault(chain, Seen())
        number = manifest.source.number
        seen.logs = sorted({*seen.logs, number})
        seen.whole &= manifest.whole
        if manifest.span is None:
            return
        if manifest.source.name == self.file:
            seen.cut |= self._is_cut(manifest)
        if self.gtids:
            held, first = self._held(manifest, seen)
            seen.held = united_spans([*seen.held, *held])
            if first is not None:
                seen.first = first if seen.first is None else min(seen.first, first)

    def _held(self, manifest: Manifest, seen: Seen) -> tuple[list[Span], int | None]:
        """Return the spans of a log's transactions that the base has, and the first one that it lacks."""
        assert manifest.span is not None
        held = HeldTransactions(self.position, None)
        lacking = held.missing(manifest.gtids)
        if manifest.gtids.count == manifest.count:
            if not lacking:
                return [manifest.span], None
            if lacking == manifest.gtids:
                return [], manifest.span[0]
        spans: list[Span] = []
        first = None
        table = manifest.transactions("gtid")
        is_open = False
        for scn, gtid in zip(*(column.to_pylist() for column in table.columns), strict=True):
            seen.anonymous |= gtid is None
            is_held = gtid is not None and not held.missing(GtidSet.parse(gtid))
            if is_held:
                spans[-1:] = [(spans[-1][0], scn)] if is_open else [*spans[-1:], (scn, scn)]
            elif first is None:
                first = scn
            is_open = is_held
        return spans, first

    def _is_cut(self, manifest: Manifest) -> bool:
        """Whether the base's position is inside a transaction of its log."""
        table = manifest.transactions("start", "end")
        begun = pc.less(table["start"].cast(pa.int64()), self.offset)
        over = pc.less_equal(table["end"].cast(pa.int64()), self.offset)
        return bool(pc.any(pc.and_not(begun, over)).as_py())


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
    at: Position
    held: Mapping[str, tuple[Span, ...]]
    doubts: tuple[str, ...] = ()
    problem: str = ""

    def holds(self, chain: str, scn: int) -> bool:
        """Whether the base has a transaction."""
        return any(first <= scn <= last for first, last in self.held.get(chain, ()))


def look_at_logs(chains: Chains, manifests: Iterable[tuple[Manifest, str]]) -> None:
    """Record in all bases what they contain of these logs."""
    listed = [(manifest, chain) for manifest, chain in manifests if manifest.base is None]
    for base in chains.bases().values():
        for manifest, chain in listed:
            base.look_at(chain, manifest)


def placed_bases(chains: Chains, ranks: Mapping[str, int]) -> dict[str, PlacedBase]:
    """Place all bases; by the chains of their rows."""
    return {name: _Placing(name, base, chains, ranks).place() for name, base in chains.bases().items()}


class _Found(NamedTuple):
    chain: str
    scn: int
    by_gtid: bool


class _Placing:
    def __init__(self, name: str, base: Base, chains: Chains, ranks: Mapping[str, int]) -> None:
        self._name = name
        self._base = base
        self._ranks = ranks
        bases = chains.bases()
        self._logs: list[Chain] = [
            chains[one] for one in sorted(ranks, key=ranks.__getitem__) if one not in bases
        ]

    def place(self) -> PlacedBase:
        problem, found = "", None
        try:
            found = self._by_gtid() if self._can_use_gtids() else self._by_position()
        except UsageError as error:
            problem = error.message
        if found is None:
            chain = self._logs[-1].name if self._logs else self._name
            return PlacedBase(chain, Position(self._ranks[chain], _LAST), {}, (), problem)
        held = {}
        if found.by_gtid:
            held = {chain: tuple(seen.held) for chain, seen in self._base.seen.items()}
        doubts = tuple(self._missing_gtids() if found.by_gtid else self._missing_logs(found))
        return PlacedBase(found.chain, Position(self._ranks[found.chain], found.scn), held, doubts)

    def _can_use_gtids(self) -> bool:
        if not self._base.gtids:
            return False
        unseen = [
            f"{chain.base}.{number:06d}"
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
        if anonymous and not self._base.file:
            raise UsageError(
                f"the base {self._shown} says only by GTIDs where it stands, and transactions of the logs"
                " have none: make the dump with --source-data"
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
        held = self._base.seen[chain.name].held
        return _Found(chain.name, held[-1][1] if held else _LAST, True)

    def _by_position(self) -> _Found:
        base = self._base.file.rstrip("0123456789").removesuffix(".")
        number = number_of(self._base.file)
        named = [chain for chain in self._logs if chain.base == base]
        if not self._logs:
            return _Found(self._name, _LAST, False)
        if len(named) > 1:
            named = [chain for chain in named if number in chain.logs]
        if len(named) != 1:
            many = "several servers have" if named else "no server has"
            raise UsageError(
                f"the base {self._shown} stands at {self._base.file}:{self._base.offset}, and {many} logs"
                " called so: make the dump of a server with GTIDs, or load each server's logs by themselves"
            )
        if any(seen.cut for chain, seen in self._base.seen.items() if chain == named[0].name):
            raise UsageError(
                f"the base {self._shown} stands at {self._base.file}:{self._base.offset}, within a"
                " transaction of that log: is it of another server?"
            )
        return _Found(named[0].name, self._base.scn, False)

    def _missing_logs(self, found: _Found) -> Iterable[str]:
        """Yield doubts about a base placed by its position: logs never exported, and other servers' logs."""
        if found.scn == _LAST:
            return
        number = found.scn >> FILE_BITS
        chain = next(one for one in self._logs if one.name == found.chain)
        first = min(chain.logs)
        if first > number:
            last = f"{chain.base}.{first:06d}"
            yield f"the logs from the base's {self._base.file} up to {last} were never exported"
        for other in self._logs:
            if self._ranks[other.name] > self._ranks[found.chain]:
                yield f"the base says no GTIDs: what it has of the logs of {other.name} is not known"

    def _missing_gtids(self) -> Iterable[str]:
        """Yield a doubt if GTIDs up to the logs' last one are neither in the logs nor in the base."""
        if not all(seen.whole for seen in self._base.seen.values()):
            return
        there = GtidSet().union(*(chain.gtids for chain in self._logs))
        lacking = HeldTransactions(self._base.position, None).missing(_up_to_last(there)) - there
        if any(isinstance(source, DomainSource) for source in lacking.sources):
            lacking = _of_no_server(lacking, there)
        if lacking:
            text = str(lacking)
            yield f"transactions behind the base are in no log: {text[:200]}{'…' if len(text) > 200 else ''}"


BASE_CHAIN = "base:"
"""The prefix of the names of bases' chains."""


def _up_to_last(gtids: GtidSet) -> Iterable[tuple[Any, int, int]]:
    """Return the range from 1 to the last number for each source."""
    lasts: dict[Any, int] = {}
    for source, _, last in gtids:
        lasts[source] = max(lasts.get(source, 0), last)
    return [(source, 1, last) for source, last in lasts.items()]


def _of_no_server(lacking: GtidSet, there: GtidSet) -> GtidSet:
    """For MariaDB: drop numbers that another server of the same domain used."""
    kept = []
    for source, first, last in lacking:
        domain = getattr(source, "domain", None)
        others = [(source, a, b) for one, a, b in there if getattr(one, "domain", None) == domain]
        kept += list(GtidSet([(source, first, last)]) - GtidSet(others))
    return GtidSet(kept)


def united_spans(spans: Sequence[Span]) -> list[Span]:
    """Merge spans, sorted, without overlaps."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
