"""The load as Spark runs it: first looks at files, then the merge of each piece of keys.

Spark plans, places, shuffles, sorts, spills and retries; what tasks do to rows is in :mod:`.measure` and
:mod:`.merge`. A job is about all tables at once.
"""

from __future__ import annotations

import heapq
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from binx.spark.lake.arrow.keys import from_text, joined, to_text
from binx.spark.lake.measure import Arrival, Keys, Spread, see_keys, take_file
from binx.spark.lake.merge import Merged, Piece, Split, merge, split
from binx.spark.lake.model import (
    Epoch,
    HistoryResult,
    LifePlan,
    LifeResult,
    LifeState,
    LoadResult,
    Options,
    Plan,
    RangeFile,
    Unit,
)
from binx.spark.lake.pieces import Cuts, cut
from binx.spark.lake.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[int, int, str], None]
"""Called with the bytes done, all bytes, and what is being done."""

_IN_MEMORY = 5
"""Bytes that rows take in memory for each of theirs on disk, about."""

_TASK_BYTES = 64 << 20
_PIECE = -1
_T = TypeVar("_T")
_R = TypeVar("_R")
_SHUFFLED = "slot int, piece int, epoch int, data binary"


def load_tables(
    spark: SparkSession, plan: Plan, output: str, options: Options, progress: Progress
) -> LoadResult:
    """Write what a plan asks for below ``output``; nothing that was there is changed."""
    return _Job(spark, plan, output, options, progress).run()


@dataclass(slots=True)
class _Way:
    """A life on its way through stages.

    Attributes:
        stages: the first and last epochs of those to come.
        ranges: the files of the state as it is now.
        closed: files of ended versions.
        held: files of versions that hold, one for each range.
        lost: columns of which values are not known since they got another type.
        rekeyed: whether the stage that is next has another key than the files.
        written: the files that this load wrote.
    """

    plan: LifePlan
    stages: list[tuple[int, int]]
    ranges: tuple[RangeFile, ...] = ()
    lows: str = ""
    before: Epoch | None = None
    closed: list[RangeFile] = field(default_factory=list)
    held: tuple[RangeFile, ...] = ()
    lost: set[str] = field(default_factory=set)
    error: str = ""
    is_small: bool = False
    rekeyed: bool = False
    written: set[str] = field(default_factory=set)

    def units(self) -> list[Unit]:
        """Those of the stage that is next."""
        first, last = self.stages[0]
        return [unit for unit in self.plan.units if first <= unit.epoch <= last]


class _Job:
    def __init__(
        self, spark: SparkSession, plan: Plan, output: str, options: Options, progress: Progress
    ) -> None:
        self._spark = spark.newSession()
        self._spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "16")
        self._spark.conf.set("spark.sql.adaptive.enabled", "false")
        self._parallelism = max(1, spark.sparkContext.defaultParallelism)
        self._plan = plan
        self._output = output
        self._options = options
        self._progress = progress
        self._bytes = sum(file.bytes for file in plan.arrived)
        self._unused: list[str] = []

    def run(self) -> LoadResult:
        arrivals = [
            Arrival(file, self._output, self._plan.empty.get(file.identity, ()), self._options.compression)
            for file in self._plan.arrived
        ]
        self._tell(0, f"history of {len(arrivals)} files")
        history: list[HistoryResult] = self._each(take_file, arrivals, [one.file.bytes for one in arrivals])
        broken = {one.source.identity: one.error for one in history if one.error}
        ways = [self._way(life) for life in self._plan.lives]
        for way in ways:
            errors = [broken[unit.file.identity] for unit in way.plan.units if unit.file.identity in broken]
            way.error = errors[0] if errors else ""
        while waiting := [way for way in ways if way.stages and not way.error]:
            self._tell(self._bytes // 2, f"state of {len(waiting)} tables")
            self._stage(waiting)
        Place(self._output).remove(self._unused)
        self._tell(self._bytes, "done")
        return LoadResult(history, [self._result(way) for way in ways])

    def _tell(self, done: int, what: str) -> None:
        self._progress(done, self._bytes, what)

    def _way(self, life: LifePlan) -> _Way:
        former = life.former
        first = 0 if former is None else former.epochs - 1
        size = sum(unit.file.bytes for unit in life.units)
        last = len(life.epochs) - 1
        if former is None:
            way = _Way(life, [(first, last)])
        else:
            before = Epoch(None, former.columns, former.key)
            way = _Way(life, [(first, last)], former.ranges, former.lows, before)
            closed, *held = former.versions or ((),)
            way.closed, way.held = list(closed), tuple(held[0]) if held else ()
        held_bytes = sum(one.bytes for one in way.ranges)
        way.is_small = (
            len(way.ranges) <= 1
            and size <= self._options.small_bytes
            and held_bytes <= self._options.range_bytes
        )
        if not way.is_small:
            keyed = [place for place in range(first + 1, last + 1) if _rekeys(life.epochs, place)]
            bounds = [first, *keyed, last + 1]
            way.stages = [(one, end - 1) for one, end in pairwise(bounds)]
        return way

    def _stage(self, ways: Sequence[_Way]) -> None:
        """Do the next stage of lives."""
        cuts = self._cuts([way for way in ways if not way.is_small])
        pieces: list[Piece] = []
        weights: list[int] = []
        splits: list[Split] = []
        sizes: list[int] = []
        of_way: dict[str, Cuts] = {}
        bases: dict[str, int] = {}
        for way in ways:
            made = cuts.get(way.plan.life) or _one_cut(way)
            of_way[way.plan.life], bases[way.plan.life] = made, len(pieces)
            pieces += self._pieces(way, made)
            weights += made.weights
        slots = _slots(weights, self._count(sum(weights), len(pieces), self._options.range_bytes))
        for way in ways:
            if not way.is_small:
                base = bases[way.plan.life]
                made = of_way[way.plan.life]
                numbers = tuple(
                    (base + one, slots[base + one]) if one >= 0 else (-1, 0) for one in made.pieces
                )
                for one in self._splits(way, made.lows, numbers):
                    splits.append(one)
                    sizes.append(one.source.file.bytes if one.source is not None else _TASK_BYTES)
        merged = self._merge(splits, sizes, pieces, slots)
        for way in ways:
            mine = [one for one in merged if one.life == way.plan.life]
            self._unused += _take(way, mine, of_way[way.plan.life])

    def _cuts(self, ways: Sequence[_Way]) -> dict[str, Cuts]:
        """Look at the keys of large lives and cut them."""
        spreads: list[Spread] = []
        sizes: list[int] = []
        for way in ways:
            first = way.stages[0][0]
            for unit in way.units():
                epoch = way.plan.epochs[unit.epoch]
                lows = "" if way.rekeyed else way.lows
                spreads.append(Spread(way.plan.life, unit, "", None, epoch, self._output, lows))
                sizes.append(unit.file.bytes)
            if way.rekeyed:
                for file in way.ranges:
                    epoch = way.plan.epochs[first]
                    spreads.append(Spread(way.plan.life, None, file.path, way.before, epoch, self._output))
                    sizes.append(file.bytes // _IN_MEMORY)
        seen: dict[str, list[tuple[Keys, int]]] = defaultdict(list)
        for one, spread in zip(self._each(see_keys, spreads, sizes), spreads, strict=True):
            unit_file = None if spread.source is None else spread.source.file
            size = (
                self._options.range_bytes
                if unit_file is None
                else unit_file.bytes * _IN_MEMORY * one.rows // max(1, unit_file.rows)
            )
            seen[one.life].append((one, size))
        found = {}
        for way in ways:
            ranges = () if way.rekeyed else way.ranges
            anew = _is_anew(way)
            found[way.plan.life] = cut(
                ranges,
                "" if way.rekeyed else way.lows,
                seen[way.plan.life],
                anew=anew,
                most=self._options.range_bytes,
            )
        return found

    def _pieces(self, way: _Way, cuts: Cuts) -> list[Piece]:
        first, last = way.stages[0]
        plan = way.plan
        count = max(cuts.pieces) + 1
        closed = [one.path for one in way.closed] if _is_anew(way) else []
        found = []
        for number in range(count):
            mine = tuple(place for place, piece in enumerate(cuts.pieces) if piece == number)
            base = (
                []
                if way.rekeyed
                else [way.ranges[cuts.files[one]].path for one in mine if cuts.files[one] >= 0]
            )
            found.append(
                Piece(
                    plan.life, plan.folder, self._output, plan.epochs, first, last, way.before, tuple(base),
                    tuple(way.units()) if way.is_small else (), mine, cuts.lows, plan.scd2,
                    tuple(closed[number::count]), self._options.compression,
                    self._options.range_bytes,
                )
            )  # fmt: skip
        return found

    def _splits(self, way: _Way, lows: str, pieces: tuple[tuple[int, int], ...]) -> Iterator[Split]:
        plan = way.plan
        for unit in way.units():
            epoch = plan.epochs[unit.epoch]
            yield Split(unit, "", None, epoch, unit.epoch, self._output, lows, pieces, plan.scd2)
        if way.rekeyed:
            first = way.stages[0][0]
            for file in way.ranges:
                epoch = plan.epochs[first]
                yield Split(None, file.path, way.before, epoch, first, self._output, lows, pieces, plan.scd2)

    def _count(self, size: int, most: int, each: int) -> int:
        return max(1, min(most, max(2 * self._parallelism, -(-size // each))))

    def _items(self, items: Sequence[tuple[int, int, int, bytes]], count: int) -> Any:
        """A DataFrame of rows as the shuffle has them, each in the partition of its slot."""
        columns = list(zip(*items, strict=True)) or [(), (), (), ()]
        kinds = [pa.int32(), pa.int32(), pa.int32(), pa.binary()]
        names = ["slot", "piece", "epoch", "data"]
        table = pa.table(
            {name: pa.array(values, kind) for name, values, kind in zip(names, columns, kinds, strict=True)}
        )
        return self._spark.createDataFrame(table).repartitionById(count, "slot")

    def _each(self, work: Callable[[_T], _R], items: Sequence[_T], sizes: Sequence[int]) -> list[_R]:
        """Do something with each item in a task; small ones share tasks."""
        if not items:
            return []
        count = self._count(sum(sizes), len(items), _TASK_BYTES)
        slots = _slots(sizes, count)
        rows = [(slots[place], place, 0, pickle.dumps(one)) for place, one in enumerate(items)]
        found = self._items(rows, count).mapInArrow(partial(_work, work), "piece int, data binary").toArrow()
        results = dict(zip(found["piece"].to_pylist(), found["data"].to_pylist(), strict=True))
        return [pickle.loads(results[place]) for place in range(len(items))]

    def _merge(
        self, splits: Sequence[Split], sizes: Sequence[int], pieces: Sequence[Piece], slots: Sequence[int]
    ) -> list[Merged]:
        if not pieces:
            return []
        count = max(slots) + 1
        # A piece's own row opens it even where no image comes.
        rows = [(slots[place], place, _PIECE, pickle.dumps(one)) for place, one in enumerate(pieces)]
        shuffled = self._items(rows, count)
        if splits:
            number = self._count(sum(sizes), len(splits), _TASK_BYTES)
            own = _slots(sizes, number)
            given = [(own[place], 0, 0, pickle.dumps(one)) for place, one in enumerate(splits)]
            images = self._items(given, number).mapInArrow(_split, _SHUFFLED)
            shuffled = self._items(rows, 1).unionByName(images).repartitionById(count, "slot")
        ordered = shuffled.sortWithinPartitions("piece", "epoch")
        found = ordered.mapInArrow(_merge, "data binary").toArrow()
        return [pickle.loads(one) for one in found["data"].to_pylist()]

    def _result(self, way: _Way) -> LifeResult:
        plan = way.plan
        if way.error:
            return LifeResult(plan.life, plan.name, None, error=way.error)
        versions = (tuple(way.closed), way.held) if plan.scd2 else None
        last = plan.epochs[-1]
        state = LifeState(
            plan.life, plan.name, plan.folder, plan.steps, len(plan.epochs), plan.digest, way.ranges,
            way.lows, versions, last.columns, last.key, plan.withheld,
        )  # fmt: skip
        losses = [
            f"values that {name} had before it got another type are not known; _unknown lists them"
            for name in sorted(way.lost)
        ]
        return LifeResult(plan.life, plan.name, state, sum(one.rows for one in way.ranges), [], losses)


def _rekeys(epochs: Sequence[Epoch], place: int) -> bool:
    """Whether an epoch has another key than the one before, or one of other types."""
    epoch, before = epochs[place], epochs[place - 1]
    return epoch.key != before.key or any(
        change.id in epoch.key and change.former is not None for change in epoch.changes
    )


def _is_anew(way: _Way) -> bool:
    """Whether all files of the state are written anew: their columns or their place are others."""
    former = way.plan.former
    moved = former is None or former.folder != way.plan.folder
    return way.rekeyed or moved or way.stages[0][1] >= (former.epochs if former is not None else 0)


def _one_cut(way: _Way) -> Cuts:
    size = sum(unit.file.bytes for unit in way.units()) * _IN_MEMORY
    files = (0,) if way.ranges else (-1,)
    return Cuts("", files, (0,), (size + sum(one.bytes for one in way.ranges),))


def _take(way: _Way, merged: Sequence[Merged], cuts: Cuts) -> list[str]:
    """Let a life's state be what its pieces were merged into; the files that this load wrote in vain."""
    written = [
        file.path
        for one in merged
        for file in (*one.closed, *(file for _, _, *pair in one.ranges for file in pair if file is not None))
    ]
    former = [file.path for file in (*way.ranges, *way.held, *way.closed)]
    written += [path for path in former if path in way.written]
    way.written.update(written)
    errors = [one.error for one in merged if one.error]
    if errors:
        way.error = errors[0]
        return written
    made: dict[int, list[tuple[str, RangeFile, RangeFile | None]]] = defaultdict(list)
    for one in merged:
        way.lost |= one.lost
        for place, low, file, held in one.ranges:
            made[place].append((low, file, held))
    if _is_anew(way):
        way.closed = []
    way.closed += [file for one in merged for file in one.closed]
    lows = from_text(cuts.lows)
    found: list[tuple[pa.Table | None, RangeFile, RangeFile | None]] = []
    for place, piece in enumerate(cuts.pieces):
        begin = None if place == 0 or lows is None else lows.slice(place - 1, 1)
        if piece < 0:
            old = way.held[place] if way.held else None
            found.append((begin, way.ranges[place], old))
        found += [(from_text(low) if low else begin, file, held) for low, file, held in made[place]]
    full = [one for one in found if one[1].rows] or found[:1]
    way.ranges = tuple(file for _, file, _ in full)
    way.held = tuple(held for _, _, held in full if held is not None)
    begins = [begin for begin, _, _ in full[1:] if begin is not None]
    way.lows = to_text(joined(begins))
    _, last = way.stages.pop(0)
    way.before = way.plan.epochs[last]
    way.rekeyed = True
    kept = {file.path for file in (*way.ranges, *way.held, *way.closed)}
    return [path for path in written if path not in kept]


def _slots(sizes: Sequence[int], count: int) -> list[int]:
    """A slot for each size, so that all slots have about as much."""
    heap = [(0, slot) for slot in range(count)]
    found = [0] * len(sizes)
    for place in sorted(range(len(sizes)), key=lambda one: -sizes[one]):
        held, slot = heapq.heappop(heap)
        found[place] = slot
        heapq.heappush(heap, (held + sizes[place] + 1, slot))
    return found


def _work(work: Callable[[Any], Any], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task."""
    for batch in batches:
        for place, data in zip(batch.column("piece"), batch.column("data"), strict=True):
            done = pickle.dumps(work(pickle.loads(data.as_py())))
            yield pa.record_batch(
                {"piece": pa.array([place.as_py()], pa.int32()), "data": pa.array([done], pa.binary())}
            )


def _split(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task."""
    for batch in batches:
        for data in batch.column("data"):
            for slot, piece, epoch, rows in split(pickle.loads(data.as_py())):
                yield pa.record_batch(
                    {
                        "slot": pa.array([slot], pa.int32()),
                        "piece": pa.array([piece], pa.int32()),
                        "epoch": pa.array([epoch], pa.int32()),
                        "data": pa.array([rows], pa.binary()),
                    }
                )


def _merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task."""
    pieces: dict[int, Piece] = {}

    def rows() -> Iterator[tuple[int, int, bytes]]:
        for batch in batches:
            for place, epoch, data in zip(
                batch.column("piece"), batch.column("epoch"), batch.column("data"), strict=True
            ):
                number, content = place.as_py(), data.as_py()
                if epoch.as_py() == _PIECE:
                    pieces[number] = pickle.loads(content)
                    yield number, 0, b""
                else:
                    yield number, epoch.as_py(), content

    for done in merge(rows(), pieces):
        yield pa.record_batch({"data": pa.array([pickle.dumps(done)], pa.binary())})
