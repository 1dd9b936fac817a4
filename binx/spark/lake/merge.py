"""A task brings a piece of a life's keys through its epochs, and writes the files of its ranges.

Images come from a shuffle of Spark, whose rows are a piece's number, an epoch's, and an Arrow table as bytes,
so that tables of any columns share one job; or, of a small life, from its files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from binx.dataset.parquet_file import writer_settings
from binx.errors import BinxError
from binx.spark.lake.arrow.conversions import converted
from binx.spark.lake.arrow.images import DELETE, is_partial, stored_rows, united
from binx.spark.lake.arrow.keys import bounds_of, from_text, key_of, last_of_each, order_of, to_text
from binx.spark.lake.arrow.replay import in_order, replay
from binx.spark.lake.arrow.types import can_misfit, output_names
from binx.spark.lake.model import Epoch, LifeState, Options, RangeFile, Unit
from binx.spark.lake.place import Place
from binx.spark.lake.sources import state_rows, unit_images

_GROUP_ROWS = 1 << 19
_HELD_BYTES = 256 << 20
_ORDER = ("_rank", "_scn", "_row", "_kind")


@dataclass(frozen=True, slots=True)
class Piece:
    """Cuts of a life's keys (their numbers) that are merged together, from the first epoch to the last.

    Attributes:
        before: the columns of the state's files; ``base`` are those that hold the keys now.
        units: whose images do not come through the shuffle.
        lows: where cuts begin.
        closed: files of ended versions, to be written in the columns of the last epoch.
    """

    goal: LifeState
    output: str
    options: Options
    epochs: tuple[Epoch, ...]
    first: int
    last: int
    before: Epoch
    base: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    cuts: tuple[int, ...] = (0,)
    lows: str = ""
    closed: tuple[str, ...] = ()


@dataclass(slots=True)
class Merged:
    """What became of a piece: its ranges by cut, first key, and files of rows and of versions that hold."""

    life: str
    ranges: list[tuple[int, str, RangeFile, RangeFile | None]] = field(default_factory=list)
    closed: list[RangeFile] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    error: str = ""


class Merge:
    """A piece on its way: images come in, then files are written."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._output = Place(piece.output)
        self._held: dict[int, list[pa.Table]] = defaultdict(list)
        self._bytes: dict[int, int] = defaultdict(int)
        self._lost: set[str] = set()
        self._is_sorted = False

    def add(self, number: int, images: pa.Table) -> None:
        """Take images of an epoch."""
        self._held[number].append(images)
        self._bytes[number] += images.nbytes
        if self._bytes[number] > _HELD_BYTES and not self._piece.goal.scd2:
            rows = self._images(number)
            if not is_partial(rows):
                rows = in_order(rows)
                rows = rows.take(pa.array(np.sort(last_of_each(key_of(rows, self._piece.epochs[number])))))
            self._held[number] = [rows]
            self._bytes[number] = rows.nbytes // 2

    def _images(self, number: int) -> pa.Table:
        held = self._held.pop(number, [])
        # Parts of several tasks come in any order; each is in the order of time.
        held.sort(key=lambda rows: [rows.column(name)[0].as_py() for name in _ORDER])
        return united(held, self._piece.epochs[number])

    def finish(self) -> Merged:
        """Write the state; what is wrong with the table is the result's ``error``."""
        try:
            return self._files(*self._replayed())
        except (OSError, pa.ArrowException, BinxError, KeyError) as error:
            return Merged(self._piece.goal.life, error=str(error).splitlines()[0] or type(error).__name__)

    def rows(self) -> tuple[pa.Table, set[str]]:
        """The state as images, and the columns of which values were lost."""
        state, _ = self._replayed()
        return state, self._lost

    def _replayed(self) -> tuple[pa.Table, list[pa.Table]]:
        """The state and the ended versions behind the last epoch."""
        piece = self._piece
        for unit in piece.units:
            for images in unit_images(unit, piece.epochs[unit.epoch], piece.output):
                self.add(unit.epoch, images)
        state, closed = self._beginning()
        for number in range(piece.first, piece.last + 1):
            epoch = piece.epochs[number]
            if number > piece.first:
                self._is_sorted = False
                state = self._converted(state, piece.epochs[number - 1], epoch)
                closed = [self._converted(one, piece.epochs[number - 1], epoch) for one in closed]
            images = self._images(number)
            if len(images):
                goal = piece.goal
                state, ended = replay(
                    state, images, epoch, versions=goal.scd2, soft_deletes=goal.soft_deletes
                )
                self._is_sorted = True
                closed += [ended] if len(ended) else []
        return state, closed

    def _beginning(self) -> tuple[pa.Table, list[pa.Table]]:
        """The rows of the state and its ended versions, in the columns of the first epoch."""
        piece, first = self._piece, self._piece.epochs[self._piece.first]
        if not piece.base and not piece.closed:
            return united([], first), []
        state, lost = state_rows(self._output, list(piece.base), piece.before, first)
        self._check_key(state, first)
        if not piece.closed:
            self._lost |= lost
            return state, []
        closed, lost_before = state_rows(self._output, list(piece.closed), piece.before, first)
        self._lost |= lost | lost_before
        return state, [closed]

    def _converted(self, rows: pa.Table, before: Epoch, after: Epoch) -> pa.Table:
        found, lost = converted(rows, before, after)
        self._lost |= lost
        self._check_key(found, after)
        return found

    def _check_key(self, rows: pa.Table, epoch: Epoch) -> None:
        for number in epoch.key:
            column, known = epoch.column(number), f"p{number}"
            is_known = known not in rows.column_names or pc.all(rows.column(known), min_count=0).as_py()
            if not is_known or (not column.nullable and _has_nulls(rows, number)):
                raise BinxError(
                    f"the key's column {column.name} got a type or a value that the logs do not"
                    " tell for the rows that were there: load a base that is newer, or give another key with"
                    " --key"
                )

    def _files(self, state: pa.Table, closed: list[pa.Table]) -> Merged:
        piece = self._piece
        epoch = piece.epochs[piece.last]
        found = Merged(piece.goal.life, lost=self._lost)
        keys = key_of(state, epoch)
        if not self._is_sorted:
            order = pa.array(order_of(keys))
            state, keys = state.take(order), keys.take(order)
        bounds = bounds_of(keys, from_text(piece.lows))
        for cut in piece.cuts:
            first = bounds[cut]
            rows = state.slice(first, bounds[cut + 1] - first)
            parts = max(1, round(rows.nbytes / piece.options.range_bytes))
            step = max(1, -(-len(rows) // parts))
            for place in range(0, max(1, len(rows)), step):
                low = to_text(keys.slice(first + place, 1)) if place else ""
                part = rows.slice(place, step)
                file = self._write(part, epoch, "current")
                held = None
                if piece.goal.scd2:
                    there = pc.not_equal(part.column("_kind"), DELETE)
                    held = self._write(part.filter(there), epoch, "scd2")
                found.ranges.append((cut, low, file, held))
        found.closed = [self._write(rows, epoch, "scd2") for rows in closed if len(rows)]
        return found

    def _write(self, rows: pa.Table, epoch: Epoch, kind: str) -> RangeFile:
        misfits = any(can_misfit(column) for column in epoch.columns)
        stored = stored_rows(rows, epoch, output_names(epoch.columns), misfits=misfits)
        deleted = 0
        if kind == "scd2":
            stored = _as_versions(stored, rows)
        elif self._piece.goal.soft_deletes:
            marks = pc.equal(rows.column("_kind"), DELETE)
            stored, deleted = stored.append_column("_deleted", marks), pc.sum(marks).as_py() or 0
        path = f"{self._piece.goal.folder}/{kind}/{uuid4().hex}.parquet"
        self._output.write(
            path, stored, self._piece.options.compression, row_group_size=_GROUP_ROWS, store_schema=False,
            **writer_settings(stored.schema, stored),
        )  # fmt: skip
        unknown = len(rows) - stored.column("_unknown").null_count
        return RangeFile(path, len(rows), rows.nbytes, unknown, deleted)


def _has_nulls(rows: pa.Table, number: int) -> bool:
    """Whether a column has no value, nor the text of one that its type cannot hold."""
    empty = pc.is_null(rows.column(f"v{number}"))
    if f"m{number}" in rows.column_names:
        empty = pc.and_(empty, pc.is_null(rows.column(f"m{number}")))
    return bool(pc.any(empty, min_count=0).as_py())


def _as_versions(stored: pa.Table, rows: pa.Table) -> pa.Table:
    """Rows of ``scd2/``: the commit time is where a version begins."""
    ended = "_until" in rows.column_names
    until = rows.column("_until") if ended else pa.nulls(len(rows), pa.timestamp("us", "UTC"))
    names = ["valid_from" if name == "_commit_timestamp" else name for name in stored.column_names]
    found = stored.rename_columns(names).append_column("valid_to", until)
    return found.append_column("is_current", pa.repeat(pa.scalar(not ended), len(rows)))


def merge(rows: Iterator[tuple[int, int, bytes]], pieces: Mapping[int, Piece]) -> Iterator[Merged]:
    """Merge pieces one after another; runs in a task."""
    open_: Merge | None = None
    last = -1
    for number, epoch, data in rows:
        if number != last or open_ is None:
            if open_ is not None:
                yield open_.finish()
            open_, last = Merge(pieces[number]), number
        if data:
            open_.add(epoch, ipc.open_stream(pa.BufferReader(data)).read_all())
    if open_ is not None:
        yield open_.finish()
