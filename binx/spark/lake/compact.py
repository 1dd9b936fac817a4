"""Small files of ``history/`` joined: those of a table that follow one another, of one version and day."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from binx.spark.lake.measure import ZSTD_LEVEL, open_parquet
from binx.spark.lake.model import ChangesFile, Life, TableName
from binx.spark.lake.place import Place
from binx.spark.lake.plan import applied
from binx.spark.lake.state import State

SMALL = 32 << 20
_MOST = 128 << 20


def compact(state: State, lives: list[Life], trace: Callable[[], list[Life]], place: Place) -> list[Life]:
    """Join files, in the state too; gives the lives as they are traced from then on.

    Tables of which something waits to be applied are left as they are.
    """
    steps = {life.id: applied(life) for life in lives}
    known = {one.life: (one.units, one.digest) for one in state.lives.values()}
    waiting = {
        unit.file.table
        for life in lives
        if life.id in known and known[life.id] != steps[life.id]
        for unit in life.units
    }
    joined: dict[str, ChangesFile | None] = {}
    for group in _groups([file for file in state.history if file.table not in waiting]):
        joined |= dict.fromkeys((file.path for file in group), None)
        joined[group[0].path] = _joined(group, place)
    if not joined:
        return lives
    history = [joined.get(file.path, file) for file in state.history]
    state.history = [file for file in history if file is not None]
    after = trace()
    for life in after:
        own = state.lives.get(life.id)
        if own is not None and known[life.id] == steps.get(life.id):
            units, digest = applied(life)
            state.lives[life.id] = replace(own, units=units, digest=digest)
    return after


def _groups(history: Sequence[ChangesFile]) -> Iterator[list[ChangesFile]]:
    """Files that become one, in order."""

    def where(file: ChangesFile) -> tuple[TableName, str, str]:
        return file.table, file.chain, file.path.rpartition("/")[0]

    group: list[ChangesFile] = []
    for file in sorted(history, key=lambda one: (one.table, one.chain, one.first, one.last)):
        size = sum(one.bytes for one in group) + file.bytes
        if group and (where(file) != where(group[0]) or file.bytes > SMALL or size > _MOST):
            if len(group) > 1:
                yield group
            group = []
        if file.bytes <= SMALL:
            group.append(file)
    if len(group) > 1:
        yield group


def _joined(group: Sequence[ChangesFile], place: Place) -> ChangesFile:
    parts = []
    for file in group:
        with open_parquet(place, file.path) as opened:
            parts.append(opened.read(use_threads=False))
    rows = pa.concat_tables(parts).unify_dictionaries()
    path = f"{group[0].path.rpartition('/')[0]}/{uuid4().hex}.parquet"
    inside, filesystem = place.inside(path), place.filesystem
    pq.write_table(rows, inside, filesystem=filesystem, compression="zstd", compression_level=ZSTD_LEVEL)
    return replace(
        group[0],
        identity=hashlib.sha256("".join(file.identity for file in group).encode()).hexdigest(),
        path=path,
        rows=len(rows),
        bytes=filesystem.get_file_info(inside).size,
        last=max(file.last for file in group),
        partial=any(file.partial for file in group),
    )
