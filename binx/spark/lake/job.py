"""The load as Spark runs it: first looks at files, then the merge of each piece of keys.

Spark plans, places, shuffles, sorts, spills and retries; what tasks do to rows is in :mod:`.sources` and
:mod:`.merge`. A job is about all tables at once.
"""

from __future__ import annotations

import heapq
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from binx.spark.lake.history import Arrival, Taken, take_file
from binx.spark.lake.merge import Merged, Piece, merge
from binx.spark.lake.model import (
    ChangesFile,
    Epoch,
    LifePlan,
    Options,
    Span,
)
from binx.spark.lake.place import Place
from binx.spark.lake.sources import Keys, Source, see_keys, split
from binx.spark.lake.work import IN_MEMORY, Cuts, Work, cut, one_cut, rekeys, take_merged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[int, int, str], None]
"""Called with the bytes done, all bytes, and what is being done."""

_GONE = (
    "it would have to be made anew, and a part of its history was removed (--keep-history): load all logs, or"
    " a base and what follows, into a new folder"
)
_TASK_BYTES = 64 << 20
_PIECE = -1
_T = TypeVar("_T")
_R = TypeVar("_R")
_SHUFFLED = pa.schema(
    [("slot", pa.int32()), ("piece", pa.int32()), ("epoch", pa.int32()), ("data", pa.binary())]
)
_AS_SQL = "slot int, piece int, epoch int, data binary"


def load_tables(
    spark: SparkSession,
    arrived: Sequence[ChangesFile],
    work: Sequence[LifePlan],
    empty: Mapping[str, tuple[Span, ...]],
    output: str,
    options: Options,
    progress: Progress,
) -> tuple[list[Taken], list[Work]]:
    """Write what a plan asks for below ``output``; nothing that was there is changed."""
    return _Job(spark, output, options, progress).run(arrived, work, empty)


class _Job:
    def __init__(self, spark: SparkSession, output: str, options: Options, progress: Progress) -> None:
        self._spark = spark.newSession()
        self._spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "16")
        self._spark.conf.set("spark.sql.adaptive.enabled", "false")
        self._parallelism = max(1, spark.sparkContext.defaultParallelism)
        self._output, self._options, self._progress = output, options, progress
        self._unused: list[str] = []

    def run(
        self,
        arrived: Sequence[ChangesFile],
        plans: Sequence[LifePlan],
        empty: Mapping[str, tuple[Span, ...]],
    ) -> tuple[list[Taken], list[Work]]:
        size = sum(file.bytes for file in arrived)
        self._progress(0, size, f"history of {len(arrived)} files")
        arrivals = [
            Arrival(file, self._output, empty.get(file.identity, ()), self._options.compression)
            for file in arrived
        ]
        history = self._each(take_file, arrivals, [file.bytes for file in arrived])
        broken = {one.source.identity: one.error for one in history if one.error}
        works = [self._work(plan) for plan in plans]
        for work in works:
            errors = (
                _GONE if unit.file.gone else broken.get(unit.file.identity, "") for unit in work.plan.units
            )
            work.error = next(filter(None, errors), "")
        while waiting := [work for work in works if work.stages and not work.error]:
            self._progress(size // 2, size, f"state of {len(waiting)} tables")
            self._stage(waiting)
        Place(self._output).remove(self._unused)
        self._progress(size, size, "done")
        return history, works

    def _work(self, plan: LifePlan) -> Work:
        former, last = plan.former, len(plan.epochs) - 1
        work = Work(plan, [(0, last)])
        if former is not None:
            before = Epoch(None, former.columns, former.key)
            work = Work(plan, [(former.epochs - 1, last)], former.ranges, former.lows, before)
            closed, *held = former.versions or ((),)
            work.closed, work.held = list(closed), tuple(held[0]) if held else ()
        size = sum(unit.file.bytes for unit in plan.units)
        held_bytes = sum(one.bytes for one in work.ranges)
        options = self._options
        work.is_small = (
            len(work.ranges) <= 1 and size <= options.small_bytes and held_bytes <= options.range_bytes
        )
        if not work.is_small:
            first = work.stages[0][0]
            keyed = [place for place in range(first + 1, last + 1) if rekeys(plan.epochs, place)]
            work.stages = [(one, end - 1) for one, end in pairwise([first, *keyed, last + 1])]
        return work

    def _stage(self, works: Sequence[Work]) -> None:
        """Do the next stage of lives."""
        cuts = self._cuts([work for work in works if not work.is_small])
        cuts |= {work.life: one_cut(work) for work in works if work.is_small}
        pieces: list[Piece] = []
        begins: dict[str, int] = {}
        for work in works:
            begins[work.life] = len(pieces)
            pieces += self._pieces(work, cuts[work.life])
        weights = [weight for work in works for weight in cuts[work.life].weights]
        slots = _slots(weights, self._count(sum(weights), len(pieces), self._options.range_bytes))
        splits: list[Source] = []
        for work in works:
            if not work.is_small:
                numbers = [-1 if one < 0 else begins[work.life] + one for one in cuts[work.life].pieces]
                targets = tuple((one, slots[one] if one >= 0 else 0) for one in numbers)
                splits += self._sources(work, cuts[work.life].lows, targets)
        merged = defaultdict(list)
        for one in self._merge(splits, pieces, slots):
            merged[one.life].append(one)
        for work in works:
            self._unused += take_merged(work, merged[work.life], cuts[work.life])

    def _sources(self, work: Work, lows: str, targets: tuple[tuple[int, int], ...] = ()) -> list[Source]:
        """Where images of the stage that is next come from; files of the state if its key changes."""
        plan, first = work.plan, work.stages[0][0]
        make = partial(Source, output=self._output, lows=lows, pieces=targets, versions=plan.scd2)
        found = [
            make(work.life, unit, "", None, plan.epochs[unit.epoch], unit.epoch) for unit in work.units()
        ]
        if work.rekeyed:
            found += [
                make(work.life, None, file.path, work.before, plan.epochs[first], first)
                for file in work.ranges
            ]
        return found

    def _cuts(self, works: Sequence[Work]) -> dict[str, Cuts]:
        """Look at the keys of large lives and cut them."""
        sources = [
            source for work in works for source in self._sources(work, "" if work.rekeyed else work.lows)
        ]
        seen: dict[str, list[tuple[Keys, int]]] = defaultdict(list)
        sizes = [_TASK_BYTES if one.unit is None else one.unit.file.bytes for one in sources]
        for one, source in zip(self._each(see_keys, sources, sizes), sources, strict=True):
            size = self._options.range_bytes
            if source.unit is not None:
                file = source.unit.file
                size = file.bytes * IN_MEMORY * one.rows // max(1, file.rows)
            seen[one.life].append((one, size))
        most = self._options.range_bytes
        return {
            work.life: cut((), "", seen[work.life], anew=True, most=most)
            if work.rekeyed
            else cut(work.ranges, work.lows, seen[work.life], anew=work.is_anew, most=most)
            for work in works
        }

    def _pieces(self, work: Work, cuts: Cuts) -> list[Piece]:
        first, last = work.stages[0]
        plan, count = work.plan, max(cuts.pieces) + 1
        closed = [one.path for one in work.closed] if work.is_anew else []
        found = []
        for number in range(count):
            mine = tuple(place for place, piece in enumerate(cuts.pieces) if piece == number)
            files = () if work.rekeyed else (cuts.files[one] for one in mine)
            found.append(
                Piece(
                    work.life, plan.goal.folder, self._output, plan.epochs, first, last, work.before,
                    base=tuple(work.ranges[file].path for file in files if file >= 0),
                    units=tuple(work.units()) if work.is_small else (),
                    cuts=mine, lows=cuts.lows, scd2=plan.scd2,
                    soft_deletes=plan.goal.soft_deletes, closed=tuple(closed[number::count]),
                    compression=self._options.compression, range_bytes=self._options.range_bytes,
                )
            )  # fmt: skip
        return found

    def _count(self, size: int, most: int, each: int) -> int:
        return max(1, min(most, max(2 * self._parallelism, -(-size // each))))

    def _items(self, items: Sequence[tuple[int, int, int, bytes]], count: int) -> Any:
        """A DataFrame of rows as the shuffle has them, each in the partition of its slot."""
        table = pa.Table.from_batches([_batch(*zip(*items, strict=True))] if items else [], _SHUFFLED)
        return self._spark.createDataFrame(table).repartitionById(count, "slot")

    def _each(self, work: Callable[[_T], _R], items: Sequence[_T], sizes: Sequence[int]) -> list[_R]:
        """Do something with each item in a task; small ones share tasks."""
        if not items:
            return []
        count = self._count(sum(sizes), len(items), _TASK_BYTES)
        slots = _slots(sizes, count)
        rows = [(slots[place], place, 0, pickle.dumps(one)) for place, one in enumerate(items)]
        found = self._items(rows, count).mapInArrow(partial(_work, work), _AS_SQL).toArrow()
        results = dict(zip(found["piece"].to_pylist(), found["data"].to_pylist(), strict=True))
        return [pickle.loads(results[place]) for place in range(len(items))]

    def _merge(self, splits: Sequence[Source], pieces: Sequence[Piece], slots: Sequence[int]) -> list[Merged]:
        if not pieces:
            return []
        count = max(slots) + 1
        # A piece's own row opens it even where no image comes.
        rows = [(slots[place], place, _PIECE, pickle.dumps(one)) for place, one in enumerate(pieces)]
        shuffled = self._items(rows, count)
        if splits:
            sizes = [_TASK_BYTES if one.unit is None else one.unit.file.bytes for one in splits]
            number = self._count(sum(sizes), len(splits), _TASK_BYTES)
            own = _slots(sizes, number)
            given = [(own[place], 0, 0, pickle.dumps(one)) for place, one in enumerate(splits)]
            images = self._items(given, number).mapInArrow(_split, _AS_SQL)
            shuffled = self._items(rows, 1).unionByName(images).repartitionById(count, "slot")
        ordered = shuffled.sortWithinPartitions("piece", "epoch")
        found = ordered.mapInArrow(_merge, _AS_SQL).toArrow()
        return [pickle.loads(one) for one in found["data"].to_pylist()]


def _slots(sizes: Sequence[int], count: int) -> list[int]:
    """A slot for each size, so that all slots have about as much."""
    heap = [(0, slot) for slot in range(count)]
    found = [0] * len(sizes)
    for place in sorted(range(len(sizes)), key=lambda one: -sizes[one]):
        held, slot = heapq.heappop(heap)
        found[place] = slot
        heapq.heappush(heap, (held + sizes[place] + 1, slot))
    return found


def _batch(*columns: Sequence[Any]) -> pa.RecordBatch:
    arrays = [pa.array(values, kind) for values, kind in zip(columns, _SHUFFLED.types, strict=True)]
    return pa.record_batch(arrays, _SHUFFLED)


def _work(work: Callable[[Any], Any], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task."""
    for batch in batches:
        for row in batch.to_pylist():
            done = pickle.dumps(work(pickle.loads(row["data"])))
            yield _batch([0], [row["piece"]], [0], [done])


def _split(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task."""
    for batch in batches:
        for data in batch.column("data").to_pylist():
            for row in split(pickle.loads(data)):
                yield _batch(*([one] for one in row))


def _merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task."""
    pieces: dict[int, Piece] = {}

    def rows() -> Iterator[tuple[int, int, bytes]]:
        for batch in batches:
            for row in batch.to_pylist():
                number = row["piece"]
                if row["epoch"] == _PIECE:
                    pieces[number] = pickle.loads(row["data"])
                    yield number, 0, b""
                else:
                    yield number, row["epoch"], row["data"]

    for done in merge(rows(), pieces):
        yield _batch([0], [0], [0], [pickle.dumps(done)])
