"""New rows through Arrow instead of Spark's readers and writers: a fraction of the time, on one machine.

Tasks read the files of the export with pyarrow, where the machine has it and all folders are on it, and write
history and, for tables whose state can be brought forward by them, sorted runs. Rows go this way whose
columns are taken as they are: no cast between schema versions, no partial images, no rows to be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from pyspark.sql.types import StructType

from .arrow_types import SORTABLE
from .context import Load, SortedRows
from .days import CHANGES, DayShare, ExportFile, Ordering, Written, write_shares
from .images import COMMIT_DATE, HISTORY_COLUMNS, Shape
from .lineage import Position
from .plan import Candidate, TablePlan
from .ranges import read_index
from .records import TableState
from .shipped import let_tasks_import
from .steady import MARKS
from .storage import LocalStorage

_ATTEMPTS = "_attempts"
_LARGE_FILE = 4 << 20
_SHARE_BYTES = 32 << 20
_SHARES_A_CORE = 4
_MOST_SORTED = 16 << 30
"""Above so many bytes of files, runs would be too many for each task to read a little of each."""


def goes_through_arrow(load: Load, plan: TablePlan, schemas: Mapping[str, StructType], shape: Shape) -> bool:
    """Whether a plan's files can be written this way."""
    storages = [load.storage, *(one.file.storage for one in plan.candidates)]
    here = (load.spark.sparkContext.master or "").startswith("local[") and all(
        isinstance(storage, LocalStorage) for storage in storages
    )
    able = find_spec("pyarrow") is not None
    whole = not plan.overlapping and not any(one.file.partial for one in plan.candidates)
    return here and able and whole and _are_as_they_are(schemas, shape) and bool(_packed(load, plan))


def _are_as_they_are(schemas: Mapping[str, StructType], shape: Shape) -> bool:
    """Whether each version's columns have the types that they have in history."""
    types = {one.name: one.dataType for one in shape.schema.fields}
    return all(
        schemas[version][name].dataType == types[place]
        for version, places in shape.stored.items()
        for name, place in places.items()
    )


def write_history(load: Load, plan: TablePlan, shape: Shape, path: str, key: Sequence[str]) -> dict[str, Any]:
    """Write a plan's rows below ``path``, a folder a day; returns the figures that are kept of them.

    Where the table's state can be made from sorted runs, they are left in ``load.sorted``.
    """
    ordering = _ordering(load, plan, shape, key)
    shares = [
        DayShare(
            files=tuple(_export_file(one, shape) for one in candidates),
            folder=load.storage.target(load.output.staged(f"{_ATTEMPTS}/{load.tables[plan.table].folder}")),
            schema=shape.schema.json(),
            key=tuple(key),
            compression=load.options.compression,
            ordering=ordering,
        )
        for candidates in _packed(load, plan)
    ]
    context = load.spark.sparkContext
    let_tasks_import(context)
    written = context.parallelize(shares, len(shares)).mapPartitions(write_shares).collect()
    for one in written:
        for file, day in one.files:
            # Both paths are on this machine, and an absolute one stays what it is.
            load.storage.move(file, f"{path}/{COMMIT_DATE}={day}/{file.rpartition('/')[2]}")
    chain = plan.candidates[0].chain
    if ordering is not None:
        runs = [run for one in written for run in one.runs]
        load.sort(plan.table, SortedRows(runs, ordering.key, load.ranks[chain], shape))
    return _figures(written, load.ranks[chain])


def _figures(written: Iterable[Written], rank: int) -> dict[str, Any]:
    counts: Counter[str] = Counter(dict.fromkeys(("rows", *CHANGES, "partial", "misfits", "diffs"), 0))
    for one in written:
        counts.update(one.figures)
    spans = [one.span for one in written if one.span is not None]
    return {
        **counts,
        **{mark: int(not all(one.is_steady for one in written)) for mark in MARKS},
        "listed": sum(one.listed for one in written),
        "first": Position(rank, min(first for first, _ in spans)) if spans else None,
        "last": Position(rank, max(last for _, last in spans)) if spans else None,
    }


def _packed(load: Load, plan: TablePlan) -> list[list[Candidate]]:
    """The files of each task, in order; none where rows have to be sorted by Spark.

    Files that follow each other go together up to some size. Others, of which one holds rows before and
    behind those of another, can each be a file of history unless they are small.
    """
    ordered = _in_order(plan)
    if ordered is None:
        files = plan.candidates
        large = sum(one.file.bytes for one in files) >= len(files) * _LARGE_FILE
        return [[one] for one in files] if large else []
    slots = _SHARES_A_CORE * max(1, load.spark.sparkContext.defaultParallelism)
    most = min(_SHARE_BYTES, max(_LARGE_FILE, plan.bytes // slots))
    packed: list[list[Candidate]] = []
    held = 0
    for one in ordered:
        # Files of one schema version have the same columns.
        if not packed or held + one.file.bytes > most or not _alike(packed[-1][-1], one):
            packed.append([])
            held = 0
        packed[-1].append(one)
        held += one.file.bytes
    packed[-1] += [one for one in plan.candidates if one.spans == ()]
    return packed


def _alike(one: Candidate, other: Candidate) -> bool:
    return one.file.schema_version == other.file.schema_version


def _in_order(plan: TablePlan) -> list[Candidate] | None:
    """The files in the order of their rows; None where one begins before another ends.

    Files of which no row is taken are left out.
    """
    ordered = sorted((one for one in plan.candidates if one.spans != ()), key=_span)
    if len({one.chain for one in ordered}) > 1:
        return None
    for one, following in pairwise(ordered):
        before, after = _span(one), _span(following)
        # A transaction may go on in the next file; two files within it would not tell their order.
        if before[1] > after[0] or before == after:
            return None
    return ordered


def _span(one: Candidate) -> tuple[int, int]:
    """The first and last SCN of the rows that are taken of a file."""
    if not one.spans:
        return one.file.first, one.file.last
    return max(one.file.first, one.spans[0][0]), min(one.file.last, one.spans[-1][1])


def _export_file(one: Candidate, shape: Shape) -> ExportFile:
    places = {place: name for name, place in shape.stored[one.file.schema_version].items()}
    sources = {**{name: name for name in HISTORY_COLUMNS}, **places}
    path = one.file.storage.target(one.file.path)
    return ExportFile(path, sources, one.file.schema_version, one.chain, one.spans)


def _ordering(load: Load, plan: TablePlan, shape: Shape, key: Sequence[str]) -> Ordering | None:
    """How runs are made of a plan's rows; None where they would be of no use."""
    state = load.tables[plan.table]
    types = {one.name: one.dataType for one in shape.schema.fields}
    ordered = _in_order(plan)
    sortable = bool(key) and all(isinstance(types[name], SORTABLE) for name in key)
    if ordered is None or not sortable or state.partial or plan.bytes > _MOST_SORTED:
        return None
    chain = ordered[0].chain
    lows = _lows(load, state, Position(load.ranks[chain], _span(ordered[0])[0]))
    withheld = sorted(scn for one, scn in load.withheld if one == chain)
    return None if lows is None else Ordering(tuple(key), lows, tuple(withheld))


def _lows(load: Load, state: TableState, first: Position) -> tuple[Any, ...] | None:
    """Where the ranges of the last state begin, without the first; None where history is gone back to."""
    snapshots = state.snapshots.get("current")
    if not snapshots:
        parts = (part for record in load.output.loads for part in record.parts)
        return None if any(part.table == state.name and part.rows for part in parts) else ()
    if not state.high or state.apart or first <= Position(load.ranks[state.high[0]], state.high[1]):
        return None
    ranges = read_index(load.storage, state.snapshot("current", snapshots[0])) or []
    return tuple(one.low for one in ranges[1:])
