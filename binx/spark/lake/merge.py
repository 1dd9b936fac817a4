"""What tasks do to bring a state forward: rows to the pieces of the keys, then each piece through its epochs.

Between the two Spark shuffles: a row of it is a piece's number, an epoch's, and an Arrow table as bytes, so
that tables of any columns share one job.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from binx.dataset.parquet_file import writer_settings
from binx.errors import BinxError
from binx.spark.lake.arrow.conversions import converted
from binx.spark.lake.arrow.images import is_partial, stored_rows, united
from binx.spark.lake.arrow.keys import (
    bounds_of,
    from_text,
    key_of,
    last_of_each,
    order_of,
    ranges_of,
    to_text,
)
from binx.spark.lake.arrow.replay import in_order, replay
from binx.spark.lake.arrow.types import can_misfit, output_names
from binx.spark.lake.measure import ZSTD_LEVEL, images_of, make_folder, state_rows
from binx.spark.lake.model import Epoch, RangeFile, Unit
from binx.spark.lake.place import Place

_CHUNK_BYTES = 4 << 20
_GROUP_ROWS = 1 << 19
_HELD_BYTES = 256 << 20
_ORDER = ("_rank", "_scn", "_row", "_kind")


@dataclass(frozen=True, slots=True)
class Split:
    """A unit, or a file of the state whose key changes, that goes to the pieces of its life."""

    source: Unit | None
    path: str
    before: Epoch | None
    epoch: Epoch
    number: int
    output: str
    lows: str
    pieces: tuple[tuple[int, int], ...]
    versions: bool


def split(one: Split) -> Iterator[tuple[int, int, int, bytes]]:
    """Rows of the shuffle: slot, piece, epoch, images."""
    lows = from_text(one.lows)
    numbers = [piece for piece, _ in one.pieces]
    slots = dict(one.pieces)
    for images in images_of(one.source, one.path, one.before, one.epoch, one.output):
        for piece, part in _parts(images, one, lows, numbers):
            step = max(1, len(part) * _CHUNK_BYTES // max(1, part.nbytes))
            for first in range(0, len(part), step):
                yield slots[piece], piece, one.number, _packed(part.slice(first, step))


def _parts(
    images: pa.Table, one: Split, lows: pa.Table | None, numbers: list[int]
) -> Iterator[tuple[int, pa.Table]]:
    """The images of each piece, in order of time or only the last of each key."""
    if one.versions or is_partial(images):
        found = np.array(numbers)[ranges_of(key_of(images, one.epoch), lows)]
        for piece in np.unique(found).tolist():
            yield piece, images.filter(pa.array(found == piece))
        return
    keys = key_of(images, one.epoch)
    places = last_of_each(keys)
    bounds = bounds_of(keys.take(pa.array(places)), lows)
    for piece, (first, end) in zip(numbers, pairwise(bounds), strict=True):
        if first < end:
            yield piece, images.take(pa.array(np.sort(places[first:end])))


def _packed(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpacked(data: bytes) -> pa.Table:
    """Images of the shuffle."""
    return ipc.open_stream(data).read_all()


@dataclass(frozen=True, slots=True)
class Piece:
    """Keys of a life that one task works on."""

    life: str
    folder: str
    output: str
    epochs: tuple[Epoch, ...]
    first: int
    last: int
    before: Epoch | None
    base: tuple[str, ...]
    units: tuple[Unit, ...]
    cuts: tuple[int, ...]
    lows: str
    scd2: bool
    closed: tuple[str, ...] = ()
    compression: str = "zstd"
    range_bytes: int = 128 << 20


@dataclass(slots=True)
class Merged:
    """What became of a piece.

    Attributes:
        ranges: the number of the cut, where the range begins (empty where the cut does), its file, and that
            of the versions that hold.
    """

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
        if self._bytes[number] > _HELD_BYTES and not self._piece.scd2:
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
        piece = self._piece
        try:
            return self._files(*self._brought())
        except (OSError, pa.ArrowException, BinxError, KeyError) as error:
            return Merged(piece.life, error=str(error).splitlines()[0] or type(error).__name__)

    def rows(self) -> tuple[pa.Table, set[str]]:
        """The state as images, and the columns of which values were lost.

        Raises:
            BinxError: the logs do not tell what is needed for it.
        """
        state, _ = self._brought()
        return state, self._lost

    def _brought(self) -> tuple[pa.Table, list[pa.Table]]:
        """The state and the ended versions behind the last epoch."""
        piece = self._piece
        for unit in piece.units:
            for images in images_of(unit, "", None, piece.epochs[unit.epoch], piece.output):
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
                state, ended = replay(state, images, epoch, versions=piece.scd2)
                self._is_sorted = True
                closed += [ended] if len(ended) else []
        return state, closed

    def _beginning(self) -> tuple[pa.Table, list[pa.Table]]:
        """The rows of the state and its ended versions, in the columns of the first epoch."""
        piece, first = self._piece, self._piece.epochs[self._piece.first]
        if piece.before is None:
            return first_rows(first), []
        parts = []
        for paths in (list(piece.base), list(piece.closed)):
            rows, lost = state_rows(self._output, paths, piece.before, first) if paths else (None, set())
            self._lost |= lost
            parts.append(rows)
        state = first_rows(first) if parts[0] is None else parts[0]
        self._check_key(state, first)
        return state, [] if parts[1] is None else [parts[1]]

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
        found = Merged(piece.life, lost=self._lost)
        keys = key_of(state, epoch)
        if not self._is_sorted:
            order = pa.array(order_of(keys))
            state, keys = state.take(order), keys.take(order)
        bounds = bounds_of(keys, from_text(piece.lows))
        for cut in piece.cuts:
            first = bounds[cut]
            rows = state.slice(first, bounds[cut + 1] - first)
            parts = max(1, round(rows.nbytes / piece.range_bytes))
            step = max(1, -(-len(rows) // parts))
            for place in range(0, max(1, len(rows)), step):
                low = to_text(keys.slice(first + place, 1)) if place else ""
                part = rows.slice(place, step)
                file = self._write(part, epoch, "current")
                held = self._write(part, epoch, "scd2") if piece.scd2 else None
                found.ranges.append((cut, low, file, held))
        found.closed = [self._write(rows, epoch, "scd2") for rows in closed if len(rows)]
        return found

    def _write(self, rows: pa.Table, epoch: Epoch, kind: str) -> RangeFile:
        names = output_names(epoch.columns)
        misfits = any(can_misfit(column) for column in epoch.columns)
        stored = stored_rows(rows, epoch, names, misfits=misfits)
        if kind == "scd2":
            stored = _as_versions(stored, rows)
        path = f"{self._piece.folder}/{kind}/{uuid4().hex}.parquet"
        make_folder(self._output, path)
        compression = self._piece.compression
        pq.write_table(
            stored,
            self._output.inside(path),
            filesystem=self._output.filesystem,
            row_group_size=_GROUP_ROWS,
            compression=compression,
            compression_level=ZSTD_LEVEL if compression == "zstd" else None,
            store_schema=False,
            **writer_settings(stored.schema, stored),
        )
        unknown = stored.column("_unknown")
        return RangeFile(path, len(rows), rows.nbytes, len(rows) - unknown.null_count)


def _has_nulls(rows: pa.Table, number: int) -> bool:
    """Whether a column has no value, nor the text of one that its type cannot hold."""
    empty = pc.is_null(rows.column(f"v{number}"))
    if f"m{number}" in rows.column_names:
        empty = pc.and_(empty, pc.is_null(rows.column(f"m{number}")))
    return bool(pc.any(empty, min_count=0).as_py())


def _as_versions(stored: pa.Table, rows: pa.Table) -> pa.Table:
    """Rows of ``scd2/``: the commit time is where a version begins."""
    ended = "_until" in rows.column_names
    kind = pa.timestamp("us", "UTC")
    until = rows.column("_until") if ended else pa.nulls(len(rows), kind)
    names = ["valid_from" if name == "_commit_timestamp" else name for name in stored.column_names]
    found = stored.rename_columns(names).append_column("valid_to", until)
    return found.append_column("is_current", pa.repeat(pa.scalar(not ended), len(rows)))


def first_rows(epoch: Epoch) -> pa.Table:
    """A state without rows."""
    return united([], epoch)


def merge(rows: Iterator[tuple[int, int, bytes]], pieces: Mapping[int, Piece]) -> Iterator[Merged]:
    """Merge pieces one after another."""
    open_: Merge | None = None
    last = -1
    for number, epoch, data in rows:
        if number != last or open_ is None:
            if open_ is not None:
                yield open_.finish()
            open_, last = Merge(pieces[number]), number
        if data:
            open_.add(epoch, unpacked(data))
    if open_ is not None:
        yield open_.finish()
