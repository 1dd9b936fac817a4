"""Resolve a time, a GTID or a position to a moment: the last commit version of each chain that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import AbsentError, RefusedError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.lake.dataset.manifests import Manifest
from binx.lake.dataset.placement import PlacedBase
from binx.lake.dataset.spans import FILE_BITS
from binx.log.selection.gtid_names import has_short_uuids, with_uuids_of
from binx.log.selection.times import Position, format_time, parse_position, parse_time
from binx.rows.change_groups import ChangePlace

_LAST = (1 << 63) - 1

Log = tuple[Manifest, str]
"""An export, and the name of its log's chain."""


class Moment(NamedTuple):
    """How far each chain counts: ``last`` maps to its last commit version, -1 if nothing of it counts.

    Attributes:
        before: the first change that does not count, of the transaction that is the last one of its chain.
    """

    last: Mapping[str, int]
    text: str
    before: ChangePlace | None = None

    def with_bases(self, bases: Mapping[str, PlacedBase]) -> Moment:
        """Return the same moment including the bases placed before it."""
        counts = {name: base.at.scn <= self.last[base.chain] for name, base in bases.items()}
        return self._replace(
            last={**self.last, **{name: _LAST if in_it else -1 for name, in_it in counts.items()}}
        )

    def first_left_out(self, chain: str) -> ChangePlace | None:
        """Return the change of a chain's last transaction with which that stops to count, if there is one."""
        is_cut = self.before is not None and self.before.version == self.last[chain]
        return self.before if is_cut else None

    def reaches(self, log: Log) -> bool:
        """Whether a log begins before the moment."""
        manifest, chain = log
        return manifest.source.number <= self.last[chain] >> FILE_BITS


def moment_of(at: str | ChangePlace | None, logs: Sequence[Log], ranks: Mapping[str, int]) -> Moment:
    """Parse a moment.

    Args:
        at: a time (everything before the first transaction committed later), a GTID (inclusive), or FILE:POS
            (transactions that end there or before); a change, of which all before it counts; None for the end
            of the logs.
        logs: all logs.
        ranks: the chains' ranks in the order of application.

    Raises:
        UsageError: the text is not a moment.
        AbsentError: there is no such transaction or log.
        RefusedError: logs of several servers have this name.
    """
    if at is None:
        return Moment(dict.fromkeys(ranks, _LAST), "the end of the logs")
    if isinstance(at, ChangePlace):
        number = at.version >> FILE_BITS
        names = {
            (manifest.source.name, chain)
            for manifest, chain in logs
            if manifest.base is None and manifest.source.number == number
        }
        if len(names) != 1:
            raise RefusedError("logs of several servers have the same number")
        ((name, chain),) = names
        text = f"{name}:{at.version & (1 << FILE_BITS) - 1}"
        return _up_to(chain, at.version, ranks, text)._replace(before=at)
    logs = sorted(logs, key=lambda log: (ranks[log[1]], log[0].source.number))
    with suppress(UsageError):
        return _at_time(parse_time(at), logs, ranks)
    if has_short_uuids(at) and not any(manifest.source.name == at.partition(":")[0] for manifest, _ in logs):
        at = str(with_uuids_of(at, (source for manifest, _ in logs for source in manifest.gtids.sources)))
    with suppress(UsageError):
        gtid = GtidSet.parse(at)
        if gtid.count == 1:
            return _at_gtid(gtid, logs, ranks)
    with suppress(UsageError):
        position = parse_position(at)
        if position.file is not None:
            return _at_position(position, logs, ranks)
    raise UsageError(f"expected a moment: a time, a GTID or FILE:POS, found {at!r}")


def _at_time(time: int, logs: Sequence[Log], ranks: Mapping[str, int]) -> Moment:
    last = dict.fromkeys(ranks, _LAST)
    for manifest, chain in logs:
        rows = manifest.transactions("commit_timestamp")
        later = pc.greater(rows["commit_timestamp"].cast(pa.int64()), time)
        scns = rows["commit_version"].filter(later)
        if len(scns):
            last[chain] = min(last[chain], scns[0].as_py() - 1)
    return Moment(last, format_time(time))


def _at_gtid(gtid: GtidSet, logs: Sequence[Log], ranks: Mapping[str, int]) -> Moment:
    for manifest, chain in logs:
        if not manifest.gtids.isdisjoint(gtid):
            rows = manifest.transactions("gtid")
            scns = rows["commit_version"].filter(pc.equal(rows["gtid"].cast(pa.string()), str(gtid)))
            if len(scns):
                return _up_to(chain, scns[0].as_py(), ranks, f"GTID {gtid}")
    raise AbsentError(f"the logs of the data set have no transaction {gtid}")


def _at_position(position: Position, logs: Sequence[Log], ranks: Mapping[str, int]) -> Moment:
    named = [log for log in logs if log[0].source.name == position.file]
    if len({(chain, manifest.source.identity) for manifest, chain in named}) != 1:
        many = "logs of several servers are" if named else "no log of the data set is"
        raise (RefusedError if named else AbsentError)(
            f"{many} called {position.file}; give a GTID or a time"
        )
    if position.offset > (size := max(manifest.source.bytes for manifest, _ in named)):
        raise AbsentError(f"{position.file} has no position {position.offset}, but ends at {size}")
    rows = pa.concat_tables([manifest.transactions("end") for manifest, _ in named])
    ended = rows["commit_version"].filter(pc.less_equal(rows["end"].cast(pa.int64()), position.offset))
    manifest, chain = named[0]
    last = max([manifest.source.number << FILE_BITS, *ended.to_pylist()])
    return _up_to(chain, last, ranks, f"{position.file}:{position.offset}")


def _up_to(chain: str, scn: int, ranks: Mapping[str, int], text: str) -> Moment:
    """Return the moment with all earlier chains, and this chain up to a commit version."""
    last = {
        other: scn if other == chain else _LAST if rank < ranks[chain] else -1
        for other, rank in ranks.items()
    }
    return Moment(last, text)
