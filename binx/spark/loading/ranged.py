"""``current/`` from sorted runs, in ranges of the key, of which a load rewrites those that change."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.types import (
    DataType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from .added import Added, gives_values
from .arrow_types import arrow_type
from .context import Load, SortedRows
from .events import MISFITS, find_slices
from .fields import fields_of, unite
from .keys import comparable_type
from .lineage import Era, Segment
from .merge import Merged, Share, Target, Unsorted, merge_shares, sort_files
from .ranges import Piece, Range, plan_pieces, read_index, write_index
from .records import TableState
from .runs import Run
from .storage import LocalStorage

_CURRENT = "current"
_ATTEMPTS = "_attempts"
_DICTIONARY = "dictionary<"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a snapshot, and where runs have them."""

    schema: StructType
    places: dict[str, str]


def advance_ranges(
    load: Load,
    state: TableState,
    segments: Sequence[Segment],
    eras: Sequence[Era],
    key: Sequence[str],
    added: Added,
) -> StructType | None:
    """Stage the state that sorted runs lead to, from the last one or from nothing.

    Args:
        load: the run, its new rows staged.
        state: the table; its last snapshot, where there is one, is what the runs go on from.
        segments: the rows that belong to the table.
        eras: its schema versions.
        key: the key's columns.
        added: what rows hold in columns that came later.

    Returns:
        The snapshot's columns; None where there are no runs or Spark has to look at the rows.
    """
    rows = load.sorted.get(state.name)
    if rows is None or state.partial or state.name in load.released_tables:
        return None
    (segment, *others) = segments
    if others or segment.table != state.name or segment.until is not None:
        return None
    if segment.since is not None and segment.since.rank != rows.rank:
        return None
    columns = _columns(state, rows, eras, key, added)
    if columns is None or not isinstance(load.storage, LocalStorage):
        return None
    target = Target(
        folder=load.storage.target(load.output.staged(f"{_ATTEMPTS}/{state.folder}/{_CURRENT}")),
        schema=columns.schema.json(),
        places=columns.places,
        key=tuple(key),
        since=None if segment.since is None else segment.since.scn,
        dictionaries=_of_few_values(state, eras),
        compression=load.options.compression,
    )
    _Merge(load, load.storage, state, target).stage(rows.runs, columns.schema)
    return columns.schema


def _columns(
    state: TableState, rows: SortedRows, eras: Sequence[Era], key: Sequence[str], added: Added
) -> Columns | None:
    """The columns of the snapshot; None where values have to be moved between columns, cast, or filled in."""
    stored = rows.shape.stored
    slices = sorted(find_slices([(state.name, stored)], eras), key=lambda one: one.era)
    if {one.version for one in slices} != set(stored) or not all(
        set(key) <= set(one.places) for one in slices
    ):
        return None
    places: dict[str, str] = {}
    for one in slices:
        if any(places.setdefault(name, place) != place for name, place in one.places.items()):
            return None
    for one in slices:
        own = set(stored[one.version].values())
        if any(place in own for name, place in places.items() if name not in one.places):
            return None
    if any(gives_values(added, places.keys() - one.places.keys()) for one in slices):
        return None
    if tuple(places[name] for name in key) != rows.key or list(rows.key) != list(key):
        return None
    types = {one.name: one.dataType for one in rows.shape.schema.fields}
    united = unite([[(name, types[place]) for name, place in one.places.items()] for one in slices])
    names = list(united.columns)
    if state.snapshots.get(_CURRENT):
        grown = _grown(state, names, eras)
        former = {name for name, _ in fields_of(state.shape(_CURRENT))}
        if grown is None or gives_values(added, {name for name, _ in grown} - former):
            return None
        names = grown
    heads: list[tuple[str, DataType]] = [
        ("_commit_version", LongType()),
        ("_commit_timestamp", TimestampType()),
    ]
    if state.misfits:
        heads.insert(0, (MISFITS, MapType(StringType(), StringType())))
    schema = StructType([StructField(name, kind) for name, kind in (*names, *heads)])
    return Columns(schema, {name: places.get(name, name) for name, _ in names})


def _grown(
    state: TableState, names: Sequence[tuple[str, DataType]], eras: Sequence[Era]
) -> list[tuple[str, DataType]] | None:
    """The columns of the last snapshot that live on and those of new rows; None where a type changes."""
    today = {name for era in eras[-1:] for name in era.columns}
    kept = [(name, kind) for name, kind in fields_of(state.shape(_CURRENT)) if name in today]
    united = unite([kept, list(names)])
    known: Mapping[str, DataType] = {**dict(kept), **dict(names)}
    same = all(known.get(name) == kind for name, kind in (*united.columns, *kept, *names))
    found = {name for name, _ in united.columns}
    return list(united.columns) if same and not united.apart and set(known) == found else None


def _of_few_values(state: TableState, eras: Sequence[Era]) -> tuple[str, ...]:
    """Columns of which files of the export have dictionaries."""
    known = state.schemas.get(eras[-1].version)
    if known is None:
        return ()
    record = known.record
    return tuple(
        name for name, kind in zip(record.columns, record.types, strict=True) if kind.startswith(_DICTIONARY)
    )


class _Merge:
    """A table's runs on their way into its next snapshot."""

    def __init__(self, load: Load, storage: LocalStorage, state: TableState, target: Target) -> None:
        self._load = load
        self._storage = storage
        self._state = state
        self._target = target
        self._path = state.snapshot(_CURRENT, load.record.load)
        self._staged = load.output.staged(self._path)

    def stage(self, runs: Sequence[Run], schema: StructType) -> None:
        """Write the snapshot, and count its rows."""
        loads = self._state.snapshots.get(_CURRENT)
        former = self._state.snapshot(_CURRENT, loads[0]) if loads else ""
        ranges = (read_index(self._storage, former) or []) if former else []
        if former and not ranges:
            runs = [*self._sorted_files(former), *runs]
        same = bool(former) and self._state.shape(_CURRENT) == schema
        pieces = plan_pieces(ranges, runs, all_anew=not same)
        merged = self._merged(former, [one for one in pieces if isinstance(one, Piece)], runs)
        ranges = []
        following = iter(merged)
        for one in pieces:
            if isinstance(one, Range):
                self._share(f"{former}/{one.file}", f"{self._staged}/{one.file}")
                ranges.append(one)
            else:
                ranges += self._moved(one, next(following))
        if not ranges:
            # Readers find the columns in a file without rows.
            self._move(merged[0])
        types = {one.name: one.dataType for one in schema.fields}
        kinds = [comparable_type(arrow_type(types[name])) for name in self._target.key]
        write_index(self._storage, self._staged, ranges, kinds)
        self._load.take((), moves=[(self._staged, self._path)])
        self._load.summary(self._state.name).current = sum(one.rows for one in ranges)

    def _sorted_files(self, former: str) -> list[Run]:
        """A snapshot that Spark's writer made, as runs."""
        folder = self._target.folder
        files = [
            Unsorted(self._target, self._storage.target(f"{former}/{one.path}"), folder)
            for one in self._storage.files(former)
        ]
        context = self._load.spark.sparkContext
        sorted_files = context.parallelize(files, len(files)).mapPartitions(sort_files).collect()
        return [run for runs in sorted_files for run in runs]

    def _merged(self, former: str, pieces: Sequence[Piece], runs: Sequence[Run]) -> list[Merged]:
        """Have a task merge each piece."""
        shares = []
        for piece in pieces:
            slices = [(run.path, *run.batches(piece.low, piece.high)) for run in runs]
            files = tuple(self._storage.target(f"{former}/{name}") for name in piece.files)
            met = tuple(one for one in slices if one[1] < one[2])
            shares.append(Share(self._target, files, met, piece.low, piece.high))
        if not shares:
            return []
        context = self._load.spark.sparkContext
        return list(context.parallelize(shares, len(shares)).mapPartitions(merge_shares).collect())

    def _moved(self, piece: Piece, merged: Merged) -> list[Range]:
        """What a task wrote, in its place; nothing where no row lives."""
        if merged.low is None:
            return []
        low = merged.low if piece.low is None else piece.low
        return [Range(self._move(merged), merged.rows, merged.bytes, low)]

    def _share(self, path: str, staged: str) -> None:
        """Let a file that nobody changes stand in this snapshot too: as a link, or copied."""
        old, new = (Path(self._storage.target(one)) for one in (path, staged))
        new.parent.mkdir(parents=True, exist_ok=True)
        try:
            new.hardlink_to(old)
        except OSError:
            shutil.copyfile(old, new)

    def _move(self, merged: Merged) -> str:
        name = merged.path.rpartition("/")[2]
        # Both paths are on this machine, and an absolute one stays what it is.
        self._storage.move(merged.path, f"{self._staged}/{name}")
        return name
