"""Sources of a task's images: rows of a file of changes, or of a state whose key changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from binx.lake.arrow.before_images import ComparedImages, KeyedRows
from binx.lake.arrow.column_types import output_names
from binx.lake.arrow.conversions import converted
from binx.lake.arrow.images import base_rows, is_partial, pairs_of, read_images, united
from binx.lake.arrow.keys import (
    bounds_of,
    from_text,
    key_of,
    ranges_of,
    same,
    sample_of,
    to_text,
)
from binx.lake.place import LakeStore
from binx.lake.tables.lives import FileSpan, SchemaSpan

_CHUNK_BYTES = 4 << 20
_SAMPLES = 64


@dataclass(frozen=True, slots=True)
class RowSource:
    """A unit, or a state's file in the columns of ``before``, to be read for an epoch; ``lows`` cut its keys.

    ``pieces`` are the number and slot of each range's piece; ``versions`` is whether all images are needed or
    only the last of each key; ``comparison`` how before images are compared, None if they are not.
    """

    life: str
    unit: FileSpan | None
    path: str
    before: SchemaSpan | None
    epoch: SchemaSpan
    number: int
    output: str
    lows: str = ""
    pieces: tuple[tuple[int, int], ...] = ()
    versions: bool = False
    comparison: ComparedImages | None = None

    def images(self, *, only_key: bool = False) -> Iterator[pa.Table]:
        """Yield the images, in the columns of the epoch or only of its key."""
        if self.unit is None:
            assert self.before is not None
            yield state_rows(LakeStore(self.output), [self.path], self.before, self.epoch)[0]
            return
        yield from unit_images(self.unit, self.epoch, self.output, only_key=only_key)


def unit_images(
    unit: FileSpan, epoch: SchemaSpan, output: str, *, only_key: bool = False
) -> Iterator[pa.Table]:
    """Yield the images of a unit, in the columns of an epoch or only of its key."""
    names, wanted = None, epoch
    with LakeStore(unit.file.root or output).reading(unit.file.path) as opened:
        if only_key:
            columns = tuple(epoch.column(number) for number in epoch.key)
            wanted = replace(epoch, columns=columns, changes=())
            own = [
                column.name
                for column, number in zip(unit.version.columns, unit.ids, strict=True)
                if number in epoch.key
            ]
            heads = ["_commit_version"]
            if unit.file.partial:
                heads += ["_change_type", "_commit_timestamp", "_row", "_present"]
            names = [name for name in (*heads, *own, "_misfits") if name in opened.schema_arrow.names]
        yield from read_images(opened, unit, wanted, names)


def state_rows(
    output: LakeStore, paths: list[str], before: SchemaSpan, epoch: SchemaSpan
) -> tuple[pa.Table, set[str]]:
    """Return the rows of a state's files in an epoch's columns, and the columns whose values are lost."""
    names = output_names(before.columns)
    rows = united([base_rows(output.table(path), before.columns, names) for path in paths], before)
    return (rows, set()) if before.columns == epoch.columns else converted(rows, before, epoch)


@dataclass(slots=True)
class KeyDistribution:
    """How the keys of a source are distributed.

    Attributes:
        occupied: the ranges that have any of the keys.
        links: pairs of ranges between which rows move.
        is_moved: whether any key changes in a file whose images may lack columns.
    """

    life: str
    sample: str = ""
    rows: int = 0
    occupied: set[int] = field(default_factory=set)
    links: set[tuple[int, int]] = field(default_factory=set)
    is_moved: bool = False


def see_keys(source: RowSource) -> KeyDistribution:
    """Sample the keys of a source; runs in a task."""
    seen = KeyDistribution(source.life)
    lows = from_text(source.lows)
    samples = []
    for rows in source.images(only_key=True):
        keys = key_of(rows, source.epoch)
        seen.rows += len(rows)
        ranges = ranges_of(keys, lows)
        seen.occupied |= set(np.unique(ranges).tolist())
        samples.append(sample_of(keys, _SAMPLES))
        if source.unit is not None and source.unit.file.partial:
            afters = np.flatnonzero(pairs_of(rows))
            moved = afters[~same(keys.take(pa.array(afters)), keys.take(pa.array(afters - 1)))]
            seen.is_moved |= bool(len(moved))
            pairs = zip(ranges[moved - 1].tolist(), ranges[moved].tolist(), strict=True)
            seen.links |= {pair for pair in pairs if pair[0] != pair[1]}
    if samples:
        seen.sample = to_text(sample_of(pa.concat_tables(samples), _SAMPLES))
    return seen


def split(source: RowSource) -> Iterator[tuple[int, int, int, int, int, bytes]]:
    """Yield rows of the shuffle: slot, piece, epoch, place of the first image, images; runs in a task."""
    lows = from_text(source.lows)
    numbers = [piece for piece, _ in source.pieces]
    slots = dict(source.pieces)
    for images in source.images():
        for piece, part in _parts(images, source, lows, numbers):
            step = max(1, len(part) * _CHUNK_BYTES // max(1, part.nbytes))
            for first in range(0, len(part), step):
                rank, scn = (part.column(name)[first].as_py() for name in ("_rank", "_scn"))
                yield slots[piece], piece, source.number, rank, scn, _packed(part.slice(first, step))


def _parts(
    images: pa.Table, source: RowSource, lows: pa.Table | None, numbers: list[int]
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the images of each piece, in time order, or only the last of each key."""
    if source.versions or is_partial(images):
        pieces = np.array(numbers)[ranges_of(key_of(images, source.epoch), lows)]
        for piece in np.unique(pieces).tolist():
            yield piece, images.filter(pa.array(pieces == piece))
        return
    keyed = KeyedRows(images, source.epoch, source.comparison)
    bounds = bounds_of(keyed.keys.take(pa.array(keyed.last)), lows)
    for piece, (first, end) in zip(numbers, pairwise(bounds), strict=True):
        if first < end:
            yield piece, keyed.last_images(first, end)


def _packed(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data
