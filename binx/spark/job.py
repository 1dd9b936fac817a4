"""Run a load on Spark: tasks first read new files and sample keys, then merge each piece of keys.

Spark plans, schedules, shuffles, sorts, spills and retries; :mod:`.sources` and :mod:`.merge` process the
rows in tasks. One job handles all tables.
"""

from __future__ import annotations

import heapq
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from binx.lake.dataset.files import ChangesFile
from binx.lake.dataset.spans import Span
from binx.lake.place import LakeStore
from binx.lake.state.loaded_state import Options
from binx.lake.table_name import TableName
from binx.lake.tasks.history import Arrival, Joining, Taken, join_files, take_file
from binx.lake.tasks.image_sources import KeyDistribution, RowSource, see_keys, split
from binx.lake.tasks.merge import Merged, MergeInput, merge
from binx.lake.tasks.work import IN_MEMORY, Cuts, Work, cut
from binx.spark.frames import frame_of
from binx.spark.session import reason_of
from binx.spark.worker import keep_modules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[int, int], None]
"""Called with the bytes done and the total bytes."""

_GONE = (
    "it would have to be made again, and a part of its history was removed (--keep-history): load all logs,"
    " or a base and what follows, into a new folder"
)
_TASK_BYTES = 64 << 20
_FAILURES = 64
"""After so many jobs that failed, the trouble is taken for the cluster's, and the load fails."""

_NAMED = 20
"""How many tables a job's description names."""

_PIECE = -1
_T = TypeVar("_T")
_R = TypeVar("_R")
_SHUFFLED = pa.schema(
    [
        ("slot", pa.int32()),
        ("piece", pa.int32()),
        ("epoch", pa.int32()),
        ("rank", pa.int32()),
        ("scn", pa.int64()),
        ("data", pa.binary()),
    ]
)
"""Rows of the shuffle; ``rank`` and ``scn`` are those of the first image in ``data``."""

_AS_SQL = "slot int, piece int, epoch int, rank int, scn bigint, data binary"


class Job:
    """Writes the files of a plan below ``output``; existing files are never changed."""

    def __init__(self, spark: SparkSession, output: str, options: Options, progress: Progress) -> None:
        self._spark = spark.newSession()
        spark.sparkContext.setJobGroup(f"binx load {output}", f"binx load: tables in {output}")
        self._spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "16")
        self._spark.conf.set("spark.sql.adaptive.enabled", "false")
        self._parallelism = max(1, spark.sparkContext.defaultParallelism)
        self._output, self._options, self._progress = output, options, progress
        self._failures = 0

    def run(
        self,
        arrived: Sequence[ChangesFile],
        works: Sequence[Work],
        empty: Mapping[str, tuple[Span, ...]],
    ) -> list[Taken]:
        """Do the work of lives; return the results for new files.

        ``empty`` are spans, by file, in which the file must have no rows.
        """
        size = sum(file.bytes for file in arrived)
        self._progress(0, size)
        rows = sum(file.rows for file in arrived)
        self._describe(f"copy {rows:,} row images to history of", (file.table for file in arrived))
        arrivals = [
            Arrival(file, self._output, empty.get(file.identity, ()), self._options) for file in arrived
        ]
        history = self._taken(arrivals)
        broken = {taken.source.identity: taken.error for taken in history if taken.error}
        for work in works:
            work.begin(self._options)
            files = [unit.file for unit in work.to_apply]
            errors = (_GONE if file.gone else broken.get(file.identity, "") for file in files)
            work.error = work.error or next(filter(None, errors), "")
        unused: list[str] = []
        while waiting := [work for work in works if work.stages and not work.error]:
            self._progress(size // 2, size)
            unused += self._apart(self._stage, waiting, _stopped)
        LakeStore(self._output).remove(unused)
        self._progress(size, size)
        return history

    def join(self, groups: Sequence[Sequence[ChangesFile]]) -> list[tuple[ChangesFile | None, str]]:
        """Write one file of history for each group of files; return it, or why there is none."""
        self._describe("join files of history of", (group[0].table for group in groups))
        tasks = [Joining(tuple(group), self._output, self._options) for group in groups]

        def run(tasks: Sequence[Joining]) -> list[tuple[ChangesFile | None, str]]:
            sizes = [sum(file.bytes for file in task.files) for task in tasks]
            return self._each(join_files, tasks, sizes)

        return self._apart(run, tasks, lambda _, error: [(None, error)])

    def _taken(self, arrivals: Sequence[Arrival]) -> list[Taken]:
        """Copy new files to history, those of a table together."""
        tables: dict[TableName, list[Arrival]] = defaultdict(list)
        for arrival in arrivals:
            tables[arrival.file.table].append(arrival)

        def run(tables: Sequence[list[Arrival]]) -> list[Taken]:
            listed = [arrival for table in tables for arrival in table]
            return self._each(take_file, listed, [arrival.file.bytes for arrival in listed])

        def give_up(table: list[Arrival], error: str) -> list[Taken]:
            return [Taken(arrival.file, error=error) for arrival in table]

        return self._apart(run, [*tables.values()], give_up)

    def _apart(
        self,
        run: Callable[[Sequence[_T]], list[_R]],
        items: Sequence[_T],
        give_up: Callable[[_T, str], list[_R]],
    ) -> list[_R]:
        """Run on all items at once; where Spark fails, on halves of them, until only one has failed.

        So a task that dies, of memory as a rule, stops the table that it is about and no other.
        """
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            return run(items)
        except (PySparkException, Py4JError) as error:
            self._failures += 1
            is_over = self._spark.sparkContext._jsc is None or self._spark.sparkContext._jsc.sc().isStopped()
            if is_over or self._failures > _FAILURES:
                raise
            if len(items) == 1:
                reason = f"a task of Spark failed again and again ({reason_of(error)})"
                return give_up(items[0], f"{reason}: if it was killed, it may have lacked memory")
        middle = len(items) // 2
        return [half for part in (items[:middle], items[middle:]) for half in self._apart(run, part, give_up)]

    def _stage(self, works: Sequence[Work]) -> list[str]:
        """Run the next stage of each life; return the files that are no longer needed."""
        self._describe("sample keys of", (work.goal.name for work in works if not work.is_small))
        cuts = self._cuts([work for work in works if not work.is_small])
        cuts |= {work.life: work.all_cut() for work in works if work.is_small}
        pieces: list[MergeInput] = []
        begins: dict[str, int] = {}
        for work in works:
            begins[work.life] = len(pieces)
            pieces += self._pieces(work, cuts[work.life])
        weights = [weight for work in works for weight in cuts[work.life].weights]
        slots = _slots(weights, self._count(sum(weights), len(pieces), self._options.range_bytes))
        splits: list[RowSource] = []
        for work in works:
            if not work.is_small:
                numbers = [-1 if piece < 0 else begins[work.life] + piece for piece in cuts[work.life].pieces]
                targets = tuple((number, slots[number] if number >= 0 else 0) for number in numbers)
                splits += self._sources(work, cuts[work.life].lows, targets)
        rows = sum(unit.file.rows for work in works for unit in work.units)
        self._describe(f"merge {rows:,} row images of", (work.goal.name for work in works))
        merged = defaultdict(list)
        for result in self._merge(splits, pieces, slots):
            merged[result.life].append(result)
        return [path for work in works for path in work.take(merged[work.life], cuts[work.life])]

    def _describe(self, what: str, tables: Iterable[TableName]) -> None:
        """Say in Spark's UI what the next jobs do."""
        names = sorted({str(table) for table in tables})
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        self._spark.sparkContext.setJobDescription(f"binx load: {what} {', '.join(names[:_NAMED])}{more}")

    def _sources(self, work: Work, lows: str, targets: tuple[tuple[int, int], ...] = ()) -> list[RowSource]:
        """Return the sources of the next stage's images, including the state's files if its key changes."""
        epochs, first = work.epochs, work.stages[0][0]
        make = partial(
            RowSource,
            output=self._output,
            lows=lows,
            pieces=targets,
            versions=work.state.scd2,
            comparison=work.comparison,
        )
        sources = [make(work.life, unit, "", None, epochs[unit.epoch], unit.epoch) for unit in work.units]
        if work.rekeyed:
            sources += [
                make(work.life, None, file.path, work.state.stored, epochs[first], first)
                for file in work.state.ranges
            ]
        return sources

    def _cuts(self, works: Sequence[Work]) -> dict[str, Cuts]:
        """Sample the keys of large lives and cut them."""
        sources = [
            source
            for work in works
            for source in self._sources(work, "" if work.rekeyed else work.state.lows)
        ]
        seen: dict[str, list[tuple[KeyDistribution, int]]] = defaultdict(list)
        for keys, source in zip(self._each(see_keys, sources, _sizes(sources)), sources, strict=True):
            size = self._options.range_bytes
            if source.unit is not None:
                file = source.unit.file
                size = file.bytes * IN_MEMORY * keys.rows // max(1, file.rows)
            seen[keys.life].append((keys, size))
        most = self._options.range_bytes
        return {
            work.life: cut(work.base, work.state.lows, seen[work.life], recut=work.is_recut, most=most)
            for work in works
        }

    def _pieces(self, work: Work, cuts: Cuts) -> list[MergeInput]:
        state, count = work.state, max(cuts.pieces) + 1
        closed = [file.path for file in state.closed] if work.is_recut else []
        pieces = []
        for number in range(count):
            own_cuts = tuple(index for index, piece in enumerate(cuts.pieces) if piece == number)
            pieces.append(
                MergeInput(
                    work.goal, self._output, self._options, work.epochs, *work.stages[0], state.stored,
                    base=tuple(work.base[index].path for index in own_cuts if work.base),
                    units=tuple(work.units) if work.is_small else (),
                    cuts=own_cuts, lows=cuts.lows, closed=tuple(closed[number::count]),
                    comparison=work.comparison,
                )
            )  # fmt: skip
        return pieces

    def _count(self, size: int, most: int, each: int) -> int:
        return max(1, min(most, max(2 * self._parallelism, -(-size // each))))

    def _items(self, items: Sequence[tuple[int, int, int, bytes]]) -> Any:
        """Return a DataFrame in the shuffle's layout, with a partition for each slot."""
        slots: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for slot, piece, epoch, data in items:
            slots[slot].append((slot, piece, epoch, 0, 0, data))
        parts = [_batch(*zip(*rows, strict=True)) for rows in slots.values()]
        return frame_of(self._spark, parts)

    def _spread(self, items: Sequence[Any], sizes: Sequence[int]) -> Any:
        """Distribute items over tasks; small ones share a task."""
        count = self._count(sum(sizes), len(items), _TASK_BYTES)
        slots = _slots(sizes, count)
        rows = [(slots[index], index, 0, pickle.dumps(item)) for index, item in enumerate(items)]
        return self._items(rows)

    def _each(self, work: Callable[[_T], _R], items: Sequence[_T], sizes: Sequence[int]) -> list[_R]:
        """Run a function on each item in tasks; return the results in order."""
        if not items:
            return []
        answers = self._spread(items, sizes).mapInArrow(partial(_work, work), _AS_SQL).collect()
        results = {answer["piece"]: answer["data"] for answer in answers}
        return [pickle.loads(results[index]) for index in range(len(items))]

    def _merge(
        self, splits: Sequence[RowSource], pieces: Sequence[MergeInput], slots: Sequence[int]
    ) -> list[Merged]:
        if not pieces:
            return []
        # A piece's own row starts it even if no image follows.
        rows = [(slots[index], index, _PIECE, pickle.dumps(piece)) for index, piece in enumerate(pieces)]
        shuffled = self._items(rows)
        if splits:
            images = self._spread(splits, _sizes(splits)).mapInArrow(_split, _AS_SQL)
            shuffled = shuffled.unionByName(images).repartition(len(set(slots)), "slot")
        ordered = shuffled.sortWithinPartitions("piece", "epoch", "rank", "scn")
        answers = ordered.mapInArrow(_merge, _AS_SQL).collect()
        return [pickle.loads(answer["data"]) for answer in answers]


def _stopped(work: Work, error: str) -> list[str]:
    work.error = error
    return []


def _sizes(sources: Sequence[RowSource]) -> list[int]:
    return [_TASK_BYTES if source.unit is None else source.unit.file.bytes for source in sources]


def _slots(sizes: Sequence[int], count: int) -> list[int]:
    """Assign a slot to each size, so that all slots get about the same total.

    Slots are numbers that Spark's hash, by which it chooses a partition, sends to partitions of their own.
    """
    heap = [(0, slot) for slot in partition_keys(count)]
    slots = [0] * len(sizes)
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        total, slot = heapq.heappop(heap)
        slots[index] = slot
        heapq.heappush(heap, (total + sizes[index] + 1, slot))
    return slots


@cache
def partition_keys(count: int) -> list[int]:
    """Return a number for each of ``count`` partitions that Spark's ``repartition`` sends there."""
    numbers = np.arange(count * (8 + count.bit_length()), dtype=np.int32)
    partitions, first = np.unique(_spark_hash(numbers) % count, return_index=True)
    found = dict(zip(partitions.tolist(), first.tolist(), strict=True))
    # A number that shares a partition with another makes it larger, no more.
    return [found.get(partition, partition) for partition in range(count)]


def _spark_hash(numbers: np.ndarray) -> np.ndarray:
    """Return what Spark's function ``hash`` gives for integers: MurmurHash3 of 32 bits with the seed 42."""
    mixed = _rotated(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed = _rotated(mixed ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(4)
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (mixed ^ (mixed >> np.uint32(16))).view(np.int32)


def _rotated(numbers: np.ndarray, bits: int) -> np.ndarray:
    return (numbers << np.uint32(bits)) | (numbers >> np.uint32(32 - bits))


def _batch(*columns: Sequence[Any]) -> pa.RecordBatch:
    arrays = [pa.array(values, kind) for values, kind in zip(columns, _SHUFFLED.types, strict=True)]
    return pa.record_batch(arrays, _SHUFFLED)


def _work(work: Callable[[Any], Any], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Apply a function to items; runs in a task."""
    keep_modules()
    for batch in batches:
        for row in batch.to_pylist():
            done = pickle.dumps(work(pickle.loads(row["data"])))
            yield _batch([0], [row["piece"]], [0], [0], [0], [done])


def _split(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Split sources into rows of the shuffle; runs in a task."""
    keep_modules()
    for batch in batches:
        for data in batch.column("data").to_pylist():
            for row in split(pickle.loads(data)):
                yield _batch(*([value] for value in row))


def _merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the pieces of a partition; runs in a task."""
    keep_modules()
    pieces: dict[int, MergeInput] = {}

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
        yield _batch([0], [0], [0], [0], [0], [pickle.dumps(done)])
