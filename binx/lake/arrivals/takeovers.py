"""Find out which server took over from which where their GTID sets alone do not tell.

Servers that have taken turns know each other, as servers do that replicate from each other all the time. A
server has taken over from one that ended: its chain begins after the last commit of the other one, or it
went on without the other's last transactions, and all that the other one lacks was committed afterwards. Of
servers whose times are whole seconds, nothing is known of what both did in the same one.

A server that was made again has transactions of its own under GTIDs that it had given before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import pyarrow as pa
import pyarrow.compute as pc

from binx.dataset.dataset import manifest_name
from binx.event.gtid.sets import GtidSet
from binx.lake.dataset.files import ChangesFile
from binx.lake.dataset.loaded_chains import LoadedChain, LoadedChains
from binx.lake.dataset.manifests import Manifest, read_manifests
from binx.lake.place import LakeStore, ListedFile
from binx.lake.state.loaded_state import State
from binx.log.selection.times import MICROSECONDS


def look_at_ends(chains: LoadedChains, places: Sequence[LakeStore]) -> None:
    """Record which chains went on after others had ended.

    What was found holds until the chain that had ended goes on. Logs that may have been written before that
    are read again; while a data set lacks one, nothing is found.
    """
    logs = [chain for chain in chains.by_name.values() if chain.at is None]
    for earlier, later in permutations(logs, 2):
        if earlier.outlived_by.get(later.name) == earlier.last_commit:
            continue
        earlier.outlived_by.pop(later.name, None)
        if earlier.last_commit and _outlives(earlier, later, places):
            earlier.outlived_by[later.name] = earlier.last_commit


def _outlives(earlier: LoadedChain, later: LoadedChain, places: Sequence[LakeStore]) -> bool:
    own, others = earlier.all_gtids.servers, later.all_gtids.servers
    if own < others or own.isdisjoint(others):
        return False
    if own == others and len(own) > 1 and later.times.begun * MICROSECONDS > earlier.last_commit:
        return True
    known, others_known = earlier.all_gtids.known, later.all_gtids.known
    added = others_known - known
    return bool(added) and bool(known - others_known) and _all_afterwards(earlier, later, added, places)


def _all_afterwards(
    earlier: LoadedChain, later: LoadedChain, added: GtidSet, places: Sequence[LakeStore]
) -> bool:
    """Return whether one chain committed these transactions after the other one's last commit."""
    end = pa.scalar(earlier.last_commit, pa.timestamp("us", "UTC"))
    for number, log in later.logs.items():
        if log.times.begun * MICROSECONDS > earlier.last_commit:
            continue
        manifest = _manifest(f"{later.called(number)}.{log.identity}", places)
        if manifest is None:
            return False
        if manifest.gtids.isdisjoint(added):
            continue
        commits = manifest.transactions("gtid", "commit_timestamp")
        before = commits.filter(pc.less_equal(commits["commit_timestamp"], end))["gtid"].drop_null()
        if not added.isdisjoint(GtidSet.parse(",".join(before.to_pylist()))):
            return False
    return True


def _manifest(source: str, places: Sequence[LakeStore]) -> Manifest | None:
    # Read by its name: to list a folder of thousands for each log would take longer than all else.
    listed = [ListedFile(manifest_name(source), 0, 0)]
    return next((manifest for place in places for manifest in read_manifests(place, listed)), None)


@dataclass(frozen=True, slots=True)
class NewGtids:
    """The GTIDs that a load finds in a chain.

    Attributes:
        logged: those of transactions that were exported.
        cut: those of logs that it takes in part.
        left_out: those that logs have besides.
    """

    logged: GtidSet = field(default_factory=GtidSet)
    cut: GtidSet = field(default_factory=GtidSet)
    left_out: GtidSet = field(default_factory=GtidSet)

    def with_log(self, gtids: GtidSet, left_out: GtidSet, *, is_cut: bool) -> NewGtids:
        """Return these GTIDs, and those of a log."""
        cut = self.cut | gtids | left_out if is_cut else self.cut
        return NewGtids(self.logged | gtids, cut, self.left_out | left_out)


def find_reused(
    state: State, arrived: Sequence[ChangesFile], new: Mapping[str, NewGtids], output: LakeStore
) -> None:
    """Record the GTIDs under which a server that took over logged other transactions.

    The row changes and schema statements of a transaction have the same times in the logs of all servers.
    GTIDs are compared once, by the load that finds them.

    Args:
        state: with ``history`` before the load.
        arrived: new files, with what other files repeat of them.
        new: the new GTIDs of each chain.
        output: where files of ``history/`` are.
    """
    chains = state.chains
    nothing = NewGtids()
    for earlier, later in permutations(state.order, 2):
        own, other = chains[earlier], chains[later]
        found, others = new.get(earlier, nothing), new.get(later, nothing)
        compared = (found.logged & other.gtids) | (own.gtids & (others.logged | others.left_out))
        if not compared or not chains.took_over(earlier, later) or not _has_all_events(own, other):
            continue
        compared -= found.cut | others.cut
        if compared:
            own.reused |= _with_other_events(state, arrived, earlier, compared, output)


def _has_all_events(own: LoadedChain, other: LoadedChain) -> bool:
    """Whether a chain has the events that another one was exported with, as far as its server logged them.

    Exports with selections can be compared if all chose the same databases and tables, and lack none of them.
    """
    if any(log.losses for log in other.logs.values()):
        return False
    if not any(log.selected for log in other.logs.values()):
        return True
    logs = [*own.logs.values(), *other.logs.values()]
    parts = [part for log in logs for part in log.selected]
    return (
        all(log.selected for log in logs)
        and len({(part.databases, part.tables) for part in parts}) == 1
        and not any(part.lacking or part.statements for part in parts)
    )


def _with_other_events(
    state: State, arrived: Sequence[ChangesFile], chain: str, compared: GtidSet, output: LakeStore
) -> GtidSet:
    """Return which GTIDs stand for events that no other chain has."""
    files = [*state.history, *arrived]
    tables = {file.table for file in files if file.chain == chain}
    listed = [file for file in files if file.table in tables]
    if any(file.gone for file in listed):
        return GtidSet()
    names = set(compared.texts())
    texts = pa.array(names)
    own, others = (
        _unique_events([file for file in listed if (file.chain == chain) is is_own], texts, output)
        for is_own in (True, False)
    )
    statements = [
        (statement.chain == chain, statement.transaction, statement.time)
        for statement in state.statements
        if statement.transaction in names
    ]
    own |= {(gtid, time) for is_own, gtid, time in statements if is_own}
    others |= {(gtid, time) for is_own, gtid, time in statements if not is_own}
    alike = {gtid for gtid, _ in own & others}
    apart = {gtid for gtid, _ in own} - alike
    return GtidSet.parse(",".join(apart))


def _unique_events(files: Sequence[ChangesFile], gtids: pa.Array, output: LakeStore) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for file in files:
        place = LakeStore(file.root) if file.root else output
        rows = place.table(file.path, ["_transaction", "_event_timestamp"])
        rows = rows.filter(pc.is_in(rows["_transaction"].cast(pa.string()), gtids))
        rows = rows.group_by(rows.column_names).aggregate([])
        times = rows["_event_timestamp"].cast(pa.int64())
        found |= set(zip(rows["_transaction"].to_pylist(), times.to_pylist(), strict=True))
    return found
