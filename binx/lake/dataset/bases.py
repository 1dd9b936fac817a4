"""Bases, and which transactions of the logs they already contain.

GTIDs decide if both the base and the logs have them: a transaction is in the base if and only if its GTID is
in the base's set, whichever server logged it, even if the set has holes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.lake.dataset.manifests import Manifest
from binx.lake.dataset.spans import FILE_BITS, Span, united_spans
from binx.log.backup_position import BackupPosition
from binx.log.held import HeldTransactions, in_ascending_order
from binx.source.log_names import number_of


@dataclass(slots=True)
class Seen:
    """What a base contains of a chain, according to the logs seen so far.

    Attributes:
        logs: the numbers of the logs that were examined.
        held: spans of commit versions whose transactions are in the base.
        first: the commit version of the first transaction that is not in the base.
        anonymous: whether GTIDs do not tell what the base has: a transaction has none, or MariaDB's sequence
            numbers went back.
        repeated: a GTID that is in the base's set, and committed after the base; empty if there is none.
        cut: whether the base's position is inside a transaction.
        whole: whether the exports have all transactions of their logs.
    """

    logs: list[int] = field(default_factory=list)
    held: list[Span] = field(default_factory=list)
    first: int | None = None
    anonymous: bool = False
    repeated: str = ""
    cut: bool = False
    whole: bool = True


@dataclass(slots=True)
class Base:
    """A base from its manifest, and what was found about it in logs, by chain.

    ``written`` is when its last file was written, in µs since 1970.
    """

    position: BackupPosition
    written: int
    seen: dict[str, Seen] = field(default_factory=dict)

    @property
    def scn(self) -> int:
        """The last commit version in the base, within the chain of its log."""
        return (number_of(self.position.file) << FILE_BITS | self.position.offset) - 1

    def look_at(self, chain: str, manifest: Manifest) -> None:
        """Record what a log's manifest shows about the base."""
        seen = self.seen.setdefault(chain, Seen())
        number = manifest.source.number
        seen.logs = sorted({*seen.logs, number})
        seen.whole &= manifest.whole
        if manifest.span is None:
            return
        if manifest.source.name == self.position.file:
            seen.cut |= self._is_cut(manifest)
        if self.position.gtids:
            held_spans, first = self._held(manifest, seen)
            seen.held = united_spans([*seen.held, *held_spans])
            if first is not None:
                seen.first = first if seen.first is None else min(seen.first, first)

    def _held(self, manifest: Manifest, seen: Seen) -> tuple[list[Span], int | None]:
        """Return the spans of a log's transactions that the base has, and the first one that it lacks."""
        assert manifest.span is not None
        transactions = HeldTransactions(self.position, None)
        lacking = transactions.missing(manifest.gtids)
        begins = GtidSet((source, first, first) for source, first, _ in manifest.gtids)
        reached = [*in_ascending_order(manifest.before), *in_ascending_order(begins)]
        seen.anonymous |= transactions.goes_back(reached) is not None or self._lost_numbers(manifest)
        ends_here = any(
            isinstance(source, DomainSource) and manifest.gtids.contains(source, last)
            for source, _, last in self.position.gtids
        )
        if manifest.gtids.count == manifest.count:
            if not lacking and not ends_here and manifest.until <= self.written:
                return [manifest.span], None
            if lacking == manifest.gtids:
                return [], manifest.span[0]
        transactions = HeldTransactions(self.position, None)
        spans: list[Span] = []
        first = None
        table = manifest.transactions("gtid", "commit_timestamp", "original_commit_timestamp")
        # A replica logs it later than the server that made it.
        times = pc.coalesce(table["original_commit_timestamp"], table["commit_timestamp"]).cast(pa.int64())
        columns = (table["commit_version"], table["gtid"], times)
        is_open = False
        for scn, gtid, time in zip(*(column.to_pylist() for column in columns), strict=True):
            seen.anonymous |= gtid is None or transactions.goes_back([gtid]) is not None
            is_held = gtid is not None and not transactions.missing(GtidSet.parse(gtid))
            if is_held:
                seen.repeated = seen.repeated or (gtid if time > self.written else "")
                spans[-1:] = [(spans[-1][0], scn)] if is_open else [*spans[-1:], (scn, scn)]
            elif first is None:
                first = scn
            is_open = is_held
        return spans, first

    def _lost_numbers(self, manifest: Manifest) -> bool:
        """Whether MariaDB's list at the beginning of a later log of the base's server lacks the base's."""
        source = manifest.source
        servers = {gtid.server_id for gtid, _, _ in self.position.gtids if isinstance(gtid, DomainSource)}
        is_later = source.number > number_of(self.position.file) and self.position.file.startswith(
            f"{source.base}."
        )
        listed = HeldTransactions(BackupPosition(gtids=manifest.before), None)
        return is_later and source.server_id in servers and bool(listed.missing(self.position.gtids))

    def _is_cut(self, manifest: Manifest) -> bool:
        """Whether the base's position is inside a transaction of its log."""
        table = manifest.transactions("start", "end")
        begun = pc.less(table["start"].cast(pa.int64()), self.position.offset)
        over = pc.less_equal(table["end"].cast(pa.int64()), self.position.offset)
        return bool(pc.any(pc.and_not(begun, over)).as_py())


BASE_CHAIN = "base:"
"""The prefix of the names of bases' chains."""
