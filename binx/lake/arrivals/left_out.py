"""Find the rows of transactions that only a failed server had when another one took over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import pyarrow as pa

from binx.lake.dataset.files import ChangesFile
from binx.lake.dataset.loaded_chains import LeftOut
from binx.lake.dataset.spans import Span
from binx.lake.place import LakeStore
from binx.lake.state.loaded_state import State


def leave_out(state: State, arrived: Sequence[ChangesFile], output: LakeStore) -> list[ChangesFile]:
    """Record which transactions do not count, and return new files with their rows marked.

    Files of ``history/`` are searched only if what does not count of their chain has changed.
    """
    former, found = state.left_out, state.chains.left_out(state.order)
    state.left_out = found
    changed = {chain for chain in former.keys() | found.keys() if former.get(chain) != found.get(chain)}
    state.history = [
        _marked(file, found, output) if file.chain in changed and not file.gone else file
        for file in state.history
    ]
    return [_marked(file, found, output) for file in arrived]


def _marked(file: ChangesFile, found: dict[str, LeftOut], output: LakeStore) -> ChangesFile:
    if file.chain not in found:
        return replace(file, lost=())
    try:
        place = LakeStore(file.root) if file.root else output
        rows = place.table(file.path, ["_commit_version", "_transaction"])
        unique = rows.group_by(rows.column_names).aggregate([]).sort_by("_commit_version")
    except (OSError, pa.ArrowException, KeyError):
        if file.root:
            # The load stops the table of a new file that cannot be read.
            return file
        raise
    lost = set(found[file.chain].gtids.texts())
    pairs = zip(unique["_commit_version"].to_pylist(), unique["_transaction"].to_pylist(), strict=True)
    runs = groupby(pairs, key=lambda pair: pair[1] in lost)
    spans: list[Span] = []
    for is_lost, run in runs:
        scns = [scn for scn, _ in run]
        spans += [(scns[0], scns[-1])] if is_lost else []
    return replace(file, lost=tuple(spans))
