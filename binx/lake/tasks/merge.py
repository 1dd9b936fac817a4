"""Bring one piece of a life's keys through its epochs, and write the files of its key ranges; runs in a task.

Images arrive from a Spark shuffle whose rows are a piece's number, an epoch's number, and an Arrow table as
bytes, so that tables of any columns share one job. Images of a small life are read directly from its files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from binx.dataset.encoding import writer_settings
from binx.errors import BinxError
from binx.lake.arrow.before_images import ComparedImages, KeyedRows
from binx.lake.arrow.column_types import can_misfit, chain_column, output_names
from binx.lake.arrow.conversions import converted
from binx.lake.arrow.image_merge import in_order, replay
from binx.lake.arrow.images import DELETE, is_partial, stored_rows, united
from binx.lake.arrow.keys import bounds_of, from_text, key_of, order_of, to_text
from binx.lake.place import LakeStore
from binx.lake.state.loaded_state import LifeState, Options, RangeFile
from binx.lake.tables.lives import FileSpan, SchemaSpan
from binx.lake.tasks.image_sources import state_rows, unit_images
from binx.source.wording import counted

_GROUP_ROWS = 1 << 19
_STATE = -1
"""The rank of rows of a state."""
_ORDER = ("_rank", "_scn", "_row", "_kind")


@dataclass(frozen=True, slots=True)
class MergeInput:
    """The input of one merge: some cuts (by number) of a life's keys, and its epochs from first to last.

    Attributes:
        before: the columns of the state's files; ``base`` are the files that have the keys now.
        units: units to read directly, not through the shuffle.
        lows: the keys at which cuts begin.
        closed: files of ended versions, to be rewritten in the columns of the last epoch.
        comparison: how before images are compared; None if they are not.
    """

    goal: LifeState
    output: str
    options: Options
    epochs: tuple[SchemaSpan, ...]
    first: int
    last: int
    before: SchemaSpan
    base: tuple[str, ...] = ()
    units: tuple[FileSpan, ...] = ()
    cuts: tuple[int, ...] = (0,)
    lows: str = ""
    closed: tuple[str, ...] = ()
    comparison: ComparedImages | None = None


@dataclass(slots=True)
class Merged:
    """A merged piece: for each range its cut, first key, file of rows and file of current versions.

    ``lost`` are columns with values that became unknown; ``unkeyed`` is, by the key's column, how many rows
    were left out as its value became unknown; ``differing`` counts the images that
    did not fit the state.
    """

    life: str
    ranges: list[tuple[int, str, RangeFile, RangeFile | None]] = field(default_factory=list)
    closed: list[RangeFile] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    unkeyed: Counter[str] = field(default_factory=Counter)
    differing: int = 0
    error: str = ""


class Merge:
    """Merges one piece: takes its images, epoch by epoch, and then writes files.

    Attributes:
        differing: the number of images so far that did not fit the state.
    """

    def __init__(self, piece: MergeInput) -> None:
        self.differing = 0
        self._piece = piece
        self._output = LakeStore(piece.output)
        self._held: dict[int, list[pa.Table]] = defaultdict(list)
        self._bytes: dict[int, int] = defaultdict(int)
        self._epoch = piece.first
        self._state: pa.Table | None = None
        self._closed: list[pa.Table] = []
        self._written: list[RangeFile] = []
        self._lost: set[str] = set()
        self._unkeyed: Counter[str] = Counter()
        self._is_sorted = False
        self._error = ""

    def add(self, number: int, images: pa.Table) -> None:
        """Take images of an epoch; those taken later begin no earlier in time, or are of later epochs.

        Images are applied as soon as many are held, so that the changes of one key take no more memory.
        """
        if self._error:
            return
        with self._noted():
            self._take(number, images)

    def _take(self, number: int, images: pa.Table) -> None:
        if self._bytes[number] > self._piece.options.held_bytes:
            self._apply_some(number, images)
        known = self._with_keys(images, self._piece.epochs[number])
        self._held[number] += [known] if len(known) else []
        self._bytes[number] += known.nbytes

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Note a problem of the table."""
        try:
            yield
        except (OSError, pa.ArrowException, MemoryError, BinxError, KeyError) as error:
            self._error = str(error).partition("\n")[0] or type(error).__name__

    def _apply_some(self, number: int, following: pa.Table) -> None:
        """Keep the last image of each key, or apply the transactions before the images that follow."""
        rows = self._images(number)
        if not self._piece.goal.scd2 and not is_partial(rows):
            rows = KeyedRows(in_order(rows), self._piece.epochs[number], self._piece.comparison).last_images()
            # Applying is put off while this makes them fewer.
            self._held[number], self._bytes[number] = [rows], rows.nbytes // 2
            return
        rank, scn = (following.column(name)[0] for name in _ORDER[:2])
        is_before = pc.or_(
            pc.less(rows.column("_rank"), rank),
            pc.and_(pc.equal(rows.column("_rank"), rank), pc.less(rows.column("_scn"), scn)),
        )
        self._reach(number)
        self._apply(rows.filter(is_before))
        rest = rows.filter(pc.invert(is_before))
        self._held[number], self._bytes[number] = [rest] if len(rest) else [], 0

    def _images(self, number: int) -> pa.Table:
        tables = self._held.pop(number, [])
        # Parts from several tasks arrive in any order; each is sorted by time.
        tables.sort(key=lambda rows: [rows.column(name)[0].as_py() for name in _ORDER])
        return united(tables, self._piece.epochs[number])

    def finish(self) -> Merged:
        """Write the state; a problem of the table is returned as ``error``."""
        with self._noted():
            if not self._error:
                return self._files(self._replayed())
        return Merged(self._piece.goal.life, closed=self._written, error=self._error)

    def rows(self) -> tuple[pa.Table, list[str]]:
        """Return the state as images, and sentences about what it lacks since columns got other types."""
        return self._replayed(), lost_by_types(self._lost, self._unkeyed)

    def _replayed(self) -> pa.Table:
        """Return the state after the last epoch."""
        piece = self._piece
        for unit in piece.units:
            for images in unit_images(unit, piece.epochs[unit.epoch], piece.output):
                if len(images):
                    self._take(unit.epoch, images)
        self._reach(piece.last)
        self._apply(self._images(piece.last))
        return self._state

    def _reach(self, number: int) -> None:
        """Bring the state to an epoch."""
        if self._state is None:
            self._state, self._closed = self._beginning()
        while self._epoch < number:
            self._apply(self._images(self._epoch))
            before, after = self._piece.epochs[self._epoch : self._epoch + 2]
            self._is_sorted = False
            self._state = self._converted(self._state, before, after)
            self._closed = [self._converted(rows, before, after) for rows in self._closed]
            self._epoch += 1

    def _apply(self, images: pa.Table) -> None:
        """Apply images of the present epoch; many ended versions are written."""
        if not len(images):
            return
        goal, epoch = self._piece.goal, self._piece.epochs[self._epoch]
        self._state, ended, differing = replay(
            self._state,
            images,
            epoch,
            self._piece.comparison,
            versions=goal.scd2,
            soft_deletes=goal.soft_deletes,
        )
        self.differing += differing
        self._is_sorted = True
        self._closed += [ended] if len(ended) else []
        if sum(rows.nbytes for rows in self._closed) > self._piece.options.held_bytes // 2:
            self._write_closed()

    def _write_closed(self) -> None:
        """Write the ended versions, in the columns of the last epoch."""
        epochs = self._piece.epochs[self._epoch : self._piece.last + 1]
        for ended in self._closed:
            rows = ended
            for before, after in pairwise(epochs):
                rows = self._converted(rows, before, after)
            self._written += [self._write(rows, epochs[-1], "scd2")] if len(rows) else []
        self._closed = []

    def _beginning(self) -> tuple[pa.Table, list[pa.Table]]:
        """Return the state's rows and ended versions, in the columns of the first epoch."""
        piece, first = self._piece, self._piece.epochs[self._piece.first]
        if not piece.base and not piece.closed:
            return united([], first), []
        state, lost = state_rows(self._output, list(piece.base), piece.before, first)
        state = self._with_keys(state, first)
        if not piece.closed:
            self._lost |= lost
            return state, []
        closed, lost_before = state_rows(self._output, list(piece.closed), piece.before, first)
        self._lost |= lost | lost_before
        return state, [self._with_keys(closed, first)]

    def _converted(self, rows: pa.Table, before: SchemaSpan, after: SchemaSpan) -> pa.Table:
        converted_rows, lost = converted(rows, before, after)
        self._lost |= lost
        return self._with_keys(converted_rows, after)

    def _with_keys(self, rows: pa.Table, epoch: SchemaSpan) -> pa.Table:
        """Leave out, and count, rows of a state whose key became one that only the server knows."""
        for number in epoch.key:
            column, known = epoch.column(number), f"p{number}"
            if not column.nullable:
                has_key = _has_value(rows, number)
            elif known in rows.column_names:
                has_key = rows.column(known)
            else:
                continue
            kept = rows.filter(pc.or_(has_key, pc.not_equal(rows.column("_rank"), pa.scalar(_STATE))))
            if len(kept) < len(rows) and "_until" not in rows.column_names:
                self._unkeyed[column.name] += len(rows) - len(kept)
            rows = kept
        return rows

    def _files(self, state: pa.Table) -> Merged:
        piece = self._piece
        epoch = piece.epochs[piece.last]
        result = Merged(piece.goal.life, lost=self._lost, unkeyed=self._unkeyed, differing=self.differing)
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
            for begin in range(0, max(1, len(rows)), step):
                low = to_text(keys.slice(first + begin, 1)) if begin else ""
                part = rows.slice(begin, step)
                file = self._write(part, epoch, "current")
                versions = None
                if piece.goal.scd2:
                    is_alive = pc.not_equal(part.column("_kind"), DELETE)
                    versions = self._write(part.filter(is_alive), epoch, "scd2")
                result.ranges.append((cut, low, file, versions))
        self._write_closed()
        result.closed = self._written
        return result

    def _write(self, rows: pa.Table, epoch: SchemaSpan, kind: str) -> RangeFile:
        misfits = any(can_misfit(column) for column in epoch.columns)
        stored = stored_rows(rows, epoch, output_names(epoch.columns), misfits=misfits)
        deleted = 0
        if kind == "scd2":
            stored = _as_versions(stored, rows)
        elif self._piece.goal.soft_deletes:
            marks = pc.equal(rows.column("_kind"), DELETE)
            stored, deleted = stored.append_column("_deleted", marks), pc.sum(marks).as_py() or 0
        if shard := self._piece.goal.shard:
            column = pa.repeat(pa.scalar(shard), len(rows))
            stored = stored.append_column(chain_column(stored.column_names), column)
        path = f"{self._piece.goal.folder}/{kind}/{uuid4().hex}.parquet"
        settings = writer_settings(stored.schema, stored, self._piece.options.compression)
        self._output.write(path, stored, row_group_size=_GROUP_ROWS, store_schema=False, **settings)
        unknown = len(rows) - stored.column("_unknown").null_count
        return RangeFile(path, len(rows), rows.nbytes, unknown, deleted)


def _has_value(rows: pa.Table, number: int) -> Any:
    """Return in which rows a column has a value, or a misfit's text."""
    misfits = f"m{number}"
    values = pc.is_valid(rows.column(f"v{number}"))
    return pc.or_(values, pc.is_valid(rows.column(misfits))) if misfits in rows.column_names else values


def lost_by_types(lost: Collection[str], unkeyed: Mapping[str, int]) -> list[str]:
    """Return sentences about columns with lost values, and about rows whose key is not known."""
    sentences = [
        f"values of {name} that an ALTER TABLE gave rows which were there are not known; _unknown lists them"
        for name in sorted(lost)
    ]
    return sentences + [
        f"the key's column {name} got a type or values that the logs do not tell for"
        f" {counted(count, 'earlier row')}: each is left out until it changes; a newer base has them"
        for name, count in sorted(unkeyed.items())
    ]


def _as_versions(stored: pa.Table, rows: pa.Table) -> pa.Table:
    """Turn stored rows into rows of ``scd2/``: a version begins at its commit time."""
    ended = "_until" in rows.column_names
    until = rows.column("_until") if ended else pa.nulls(len(rows), pa.timestamp("us", "UTC"))
    names = ["valid_from" if name == "_commit_timestamp" else name for name in stored.column_names]
    versions = stored.rename_columns(names).append_column("valid_to", until)
    return versions.append_column("is_current", pa.repeat(pa.scalar(not ended), len(rows)))


def merge(rows: Iterator[tuple[int, int, bytes]], pieces: Mapping[int, MergeInput]) -> Iterator[Merged]:
    """Merge pieces in the order of the sorted rows; runs in a task."""
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
