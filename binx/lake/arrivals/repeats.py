"""Deduplicate transactions that several exports contain.

A log may be exported twice, in parts, or while it grows; and logs of two servers may have the same
transactions, for example after a failover. If an export has every transaction of its span, commit versions
decide which of its files are read. Other files are compared, event by event, with the files that they may
repeat. A GTID alone does not prove that two transactions are the same, as a server whose GTIDs were reset
reuses them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pyarrow as pa

from binx.errors import BinxError, RefusedError
from binx.lake.arrow.images import all_of, counts
from binx.lake.dataset.files import ChangesFile
from binx.lake.place import LakeStore
from binx.lake.state.loaded_state import State
from binx.lake.table_name import TableName

_Event = tuple[str, int]
"""A transaction's id, and the time of one of its events."""


def without_repeated(
    arrived: Sequence[ChangesFile], state: State, output: LakeStore
) -> tuple[list[ChangesFile], dict[TableName, str]]:
    """Return new files without transactions of other files, and by table why it cannot be loaded.

    Of several chains with a transaction, the first one's counts, as for statements: it may have later ones of
    its own, as after a failover and back. So files of history lose what a new file of an earlier chain has.
    Files with nothing left are omitted: their columns may be long outdated.
    """
    ranks, erased = state.ranks, state.erased
    gtids = {name: chain.gtids for name, chain in state.chains.by_name.items()}
    others = {
        chain: {other for other, theirs in gtids.items() if other != chain and not own.isdisjoint(theirs)}
        for chain, own in gtids.items()
    }
    files_of: dict[TableName, list[ChangesFile]] = defaultdict(list)
    for file in state.history:
        files_of[file.table].append(file)
    known: dict[tuple[TableName, str], set[_Event]] = {}
    wrong: dict[TableName, str] = {}

    @cache
    def events(file: ChangesFile) -> dict[_Event, int]:
        place = LakeStore(file.root) if file.root else output
        return {} if file.gone else events_of(place.table(file.path, EVENTS), file)

    def of_chain(table: TableName, chain: str) -> set[_Event]:
        if (table, chain) not in known:
            files = (events(other) for other in files_of[table] if other.chain == chain)
            known[table, chain] = erased[table, chain].union(*files)
        return known[table, chain]

    def left_of(file: ChangesFile) -> ChangesFile | None:
        listed = files_of[file.table]
        foreign = [other for other in listed if other.chain in others[file.chain]]
        is_compared = (file.table, file.chain) in state.partial
        own = [
            other
            for other in listed
            if is_compared
            and other.chain == file.chain
            and other.first <= file.last
            and other.last >= file.first
        ]
        if not foreign and not own:
            return file
        earlier = [chain for chain in others[file.chain] if ranks[chain] < ranks[file.chain]]
        earlier_events = [*map(events, own), *(of_chain(file.table, chain) for chain in earlier)]
        earlier_events += [erased[file.table, file.chain]] if own else []
        own_events = events(file)
        first = datetime.fromtimestamp(min((time for _, time in own_events), default=0) / 1_000_000, UTC)
        if any(other.gone and other.day >= str(first.date()) for other in (*own, *foreign)):
            raise RefusedError(
                f"{file.path} may repeat transactions of history that was removed (--keep-history): load it"
                " into a folder of its own"
            )
        gone = {
            scn
            for event, scn in own_events.items()
            if any(event in known_events for known_events in earlier_events)
        }
        taken = own_events.keys() - set().union(*earlier_events)
        later = {
            other.path: {scn for event, scn in events(other).items() if event in taken}
            for other in foreign
            if ranks[other.chain] > ranks[file.chain]
        }
        if not gone and not any(later.values()):
            return file
        if file.by_rows or any(other.by_rows for other in (*own, *foreign)):
            raise RefusedError(
                f"{file.path} repeats transactions of another export, and one of both was made with --where:"
                " export that log without a condition, or load it into a folder of its own"
            )
        files_of[file.table] = [
            left for other in listed if (left := lacking(other, later.get(other.path, set()))) is not None
        ]
        return lacking(file, gone)

    def lacking(file: ChangesFile, gone: set[int]) -> ChangesFile | None:
        left = {*events(file).values()} - gone if gone else None
        if left is None:
            return file
        dropped = tuple(sorted({*file.dropped, *gone}))
        return replace(file, first=min(left), last=max(left), dropped=dropped) if left else None

    kept = []
    for file in sorted(arrived, key=lambda file: (ranks[file.chain], file.first)):
        try:
            left = left_of(file)
        except (BinxError, OSError, pa.ArrowInvalid) as error:
            wrong[file.table] = str(error)
            continue
        if left is not None:
            kept.append(left)
            files_of[file.table].append(left)
            if (file.table, file.chain) in known:
                known[file.table, file.chain].update(events(left))
    state.history = [
        file for table, listed in files_of.items() for file in listed if not file.root and table not in wrong
    ] + [file for file in state.history if file.table in wrong]
    return [file for file in kept if file.table not in wrong], wrong


EVENTS = ["_transaction", "_event_timestamp", "_commit_version"]


def events_of(rows: pa.Table, file: ChangesFile) -> dict[_Event, int]:
    """Return the events of those rows of a file that count, with their commit versions."""
    rows = rows.filter(counts(rows["_commit_version"], all_of(file)))
    unique = rows.group_by(EVENTS).aggregate([])
    times = unique["_event_timestamp"].cast(pa.int64()).to_pylist()
    scns = unique["_commit_version"].to_pylist()
    return dict(zip(zip(unique["_transaction"].to_pylist(), times, strict=True), scns, strict=True))
