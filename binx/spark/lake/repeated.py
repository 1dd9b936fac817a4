"""Transactions that logs of two servers hold, as after a failover: they count once.

A GTID alone does not say that two transactions are one: a server whose GTIDs were reset gives them anew. The
times of their events do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.event.gtid.sets import GtidSet
from binx.spark.lake.model import ChangesFile, TableName
from binx.spark.lake.place import Place

_Event = tuple[str, int]
"""A transaction's id, and the time of an event in it."""


def drop_repeated(
    arrived: Sequence[ChangesFile],
    history: Sequence[ChangesFile],
    gtids: Mapping[str, GtidSet],
    ranks: Mapping[str, int],
    output: Place,
) -> list[ChangesFile]:
    """New files without the transactions that another chain has already, or that one before brings too.

    Files of which nothing is left are not among them: their columns may be those of long ago.
    """
    others = {
        chain: {other for other, theirs in gtids.items() if other != chain and not own.isdisjoint(theirs)}
        for chain, own in gtids.items()
    }
    if not any(others.values()):
        return list(arrived)
    events: dict[tuple[TableName, str], dict[_Event, None]] = defaultdict(dict)
    tables = {file.table for file in arrived if others[file.chain]}
    for file in history:
        if file.table in tables and others[file.chain]:
            events[file.table, file.chain].update(dict.fromkeys(_events(file, output)))
    found = []
    for file in sorted(arrived, key=lambda one: (ranks[one.chain], one.first)):
        kept = file
        if others[file.chain]:
            own = _events(file, output)
            known = [events[file.table, other] for other in others[file.chain]]
            gone = {scn for event, scn in own.items() if any(event in listed for listed in known)}
            events[file.table, file.chain].update(dict.fromkeys(own))
            spans = file.spans or ((file.first, file.last),)
            left = {
                scn
                for scn in {*own.values()} - gone - {*file.dropped}
                if any(first <= scn <= last for first, last in spans)
            }
            if not left:
                continue
            dropped = tuple(sorted({*file.dropped, *gone}))
            kept = replace(file, first=min(left), last=max(left), dropped=dropped) if gone else file
        found.append(kept)
    return found


def _events(file: ChangesFile, output: Place) -> dict[_Event, int]:
    """The events of a file that count, and the commit version of each."""
    place = Place(file.root) if file.root else output
    names = ["_transaction", "_event_timestamp", "_commit_version"]
    rows = pq.read_table(
        place.inside(file.path), columns=names, filesystem=place.filesystem, partitioning=None
    )
    if file.spans:
        scns = rows["_commit_version"]
        inside = (
            pc.and_(pc.greater_equal(scns, first), pc.less_equal(scns, last)) for first, last in file.spans
        )
        rows = rows.filter(reduce(pc.or_, inside))
    unique = rows.group_by(names).aggregate([])
    times = unique["_event_timestamp"].cast(pa.int64()).to_pylist()
    listed = zip(
        unique["_transaction"].to_pylist(), times, unique["_commit_version"].to_pylist(), strict=True
    )
    return {(transaction, time): scn for transaction, time, scn in listed}
