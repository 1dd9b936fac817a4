"""The first look of tasks at files: copies for ``history/``, counts, and how keys are spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from shutil import copyfile
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.dataset.dataset import escape_name
from binx.errors import BinxError
from binx.spark.lake.arrow.conversions import converted
from binx.spark.lake.arrow.images import base_rows, counts, pairs_of, read_images
from binx.spark.lake.arrow.keys import from_text, key_of, ranges_of, sample_of, to_text
from binx.spark.lake.arrow.types import output_names
from binx.spark.lake.model import ChangesFile, Column, Epoch, HistoryResult, Unit
from binx.spark.lake.place import Place

SAMPLES = 64
ZSTD_LEVEL = 1
_KIND, _SCN, _TIME = _HEADS = ["_change_type", "_commit_version", "_commit_timestamp"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A new file on its way into ``history/``."""

    file: ChangesFile
    output: str
    empty: tuple[tuple[int, int], ...]
    compression: str


def open_parquet(place: Place, path: str) -> pq.ParquetFile:
    """A Parquet file; its size is asked of the store once."""
    return pq.ParquetFile(place.filesystem.open_input_file(place.inside(path)), pre_buffer=not place.is_local)


def take_file(one: Arrival) -> HistoryResult:
    """Bring a file into ``history/``: as it is where all its rows count and are of one day.

    What is wrong with the file is the result's ``error``.
    """
    result = HistoryResult(one.file)
    source, output = Place(one.file.root), Place(one.output)
    try:
        with open_parquet(source, one.file.path) as file:
            if file.metadata.num_rows != one.file.rows:
                raise BinxError(
                    f"the manifest lists {one.file.rows} rows, the file contains {file.metadata.num_rows}: it"
                    " was changed after the export; run with --verify to find such files"
                )
            scns, times = _bounds(file, _SCN), _bounds(file, _TIME)
            day = None if times is None else times[0].date()
            is_whole = scns is not None and _is_taken_whole(one, scns)
            if is_whole and times is not None and times[1].date() == day:
                kinds = file.read(columns=[_KIND])
                result.files.append(_copied(one, source, output, day, scns))
            else:
                heads = file.read(columns=_HEADS)
                _check(one, heads.column(_SCN).to_numpy())
                kinds = heads.filter(counts(heads.column(_SCN), _whole(one.file)))
                result.files.extend(_divided(one, file, output))
            counted = pc.value_counts(kinds.column(_KIND).cast(pa.string())).to_pylist()
            result.counts = {found["values"]: found["counts"] for found in counted}
    except (OSError, pa.ArrowException, BinxError, KeyError) as error:
        result.error = f"{source.shown(one.file.path)} cannot be loaded: {str(error).splitlines()[0]}"
    return result


def _whole(file: ChangesFile) -> Any:
    from binx.spark.lake.model import Position, Version

    return Unit(file, Version("", ()), Position(0, 0), file.first, file.last, 0, ())


def _days(heads: pa.Table) -> pa.ChunkedArray:
    return heads.column("_commit_timestamp").cast(pa.timestamp("us")).cast(pa.date32(), safe=False)


def _bounds(file: pq.ParquetFile, name: str) -> tuple[Any, Any] | None:
    """The least and the largest value of a column, by the statistics of a file with rows."""
    place = file.schema_arrow.get_field_index(name)
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
    if not groups or place < 0 or groups[0].column(place).path_in_schema != name:
        return None
    found = [group.column(place).statistics for group in groups]
    if any(one is None or not one.has_min_max or one.null_count for one in found):
        return None
    return min(one.min for one in found), max(one.max for one in found)


def _is_taken_whole(one: Arrival, scns: tuple[int, int]) -> bool:
    file = one.file
    inside = file.first <= scns[0] and scns[1] <= file.last
    return inside and not (file.dropped or file.spans or one.empty)


def _check(one: Arrival, scns: Any) -> None:
    """Whether a file has no rows where it can have none."""
    for first, last in one.empty:
        if ((scns >= first) & (scns <= last)).any():
            raise BinxError(
                f"it has rows between {first} and {last}, where statements gave the table other columns"
            )


def _path(one: Arrival, day: Any) -> str:
    file = one.file
    folder = f"{escape_name(file.table.db)}/{escape_name(file.table.table)}/history"
    parts = f"version={file.version}/chain={escape_name(file.chain)}/commit_date={day}"
    return f"{folder}/{parts}/{uuid4().hex}.parquet"


def _copied(one: Arrival, source: Place, output: Place, day: Any, span: Any) -> ChangesFile:
    path = _path(one, day)
    make_folder(output, path)
    if source.is_local and output.is_local:
        copyfile(source.inside(one.file.path), output.inside(path))
    else:
        with (
            source.filesystem.open_input_stream(source.inside(one.file.path)) as given,
            output.filesystem.open_output_stream(output.inside(path)) as taken,
        ):
            while chunk := given.read(8 << 20):
                taken.write(chunk)
    return replace(one.file, root="", path=path, first=span[0], last=span[1], dropped=(), spans=())


def make_folder(output: Place, path: str) -> None:
    """Make the folder of a file that is to be written; object stores need none."""
    if output.is_local:
        output.filesystem.create_dir(output.inside(path.rpartition("/")[0]), recursive=True)


def _divided(one: Arrival, file: pq.ParquetFile, output: Place) -> list[ChangesFile]:
    """Write the rows that count, a file for each day."""
    writers: dict[Any, pq.ParquetWriter] = {}
    found: dict[Any, ChangesFile] = {}
    unit = _whole(one.file)
    try:
        for group in range(file.metadata.num_row_groups):
            rows = file.read_row_group(group, use_threads=False)
            rows = rows.filter(counts(rows.column("_commit_version"), unit))
            days = _days(rows)
            for day in pc.unique(days).to_pylist():
                part = rows.filter(pc.equal(days, day))
                span = pc.min_max(part.column("_commit_version")).as_py()
                if day not in writers:
                    path = _path(one, day)
                    make_folder(output, path)
                    writers[day] = pq.ParquetWriter(
                        output.inside(path),
                        file.schema_arrow,
                        filesystem=output.filesystem,
                        compression=one.compression,
                        compression_level=ZSTD_LEVEL if one.compression == "zstd" else None,
                    )
                    found[day] = replace(
                        one.file, root="", path=path, rows=0, bytes=0, first=span["min"], last=span["max"],
                        dropped=(), spans=(),
                    )  # fmt: skip
                writers[day].write_table(part)
                there = found[day]
                found[day] = replace(
                    there,
                    rows=there.rows + len(part),
                    first=min(there.first, span["min"]),
                    last=max(there.last, span["max"]),
                    bytes=there.bytes + max(1, one.file.bytes * len(part) // max(1, one.file.rows)),
                )
    finally:
        for writer in writers.values():
            writer.close()
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Spread:
    """A unit or a file of a state whose keys are to be seen."""

    life: str
    source: Unit | None
    path: str
    before: Epoch | None
    epoch: Epoch
    output: str
    lows: str = ""


@dataclass(slots=True)
class Keys:
    """How keys are spread."""

    life: str
    sample: str = ""
    rows: int = 0
    met: set[int] = field(default_factory=set)
    links: set[tuple[int, int]] = field(default_factory=set)
    is_moved: bool = False


def key_epoch(epoch: Epoch) -> Epoch:
    """The epoch with the columns of its key alone."""
    columns: tuple[Column, ...] = tuple(epoch.column(number) for number in epoch.key)
    return replace(epoch, columns=columns, changes=())


def images_of(
    one_unit: Unit | None,
    path: str,
    before: Epoch | None,
    epoch: Epoch,
    output: str,
    *,
    only_key: bool = False,
) -> Iterator[pa.Table]:
    """The images of a unit, or the rows of a state's file in the columns of an epoch."""
    if one_unit is not None:
        file = one_unit.file
        place = Place(file.root or output)
        wanted = key_epoch(epoch) if only_key else epoch
        names = None
        with open_parquet(place, file.path) as opened:
            if only_key:
                keyed = set(epoch.key)
                own = [
                    column.name
                    for column, number in zip(one_unit.version.columns, one_unit.ids, strict=True)
                    if number in keyed
                ]
                heads = [*_HEADS, "_row", "_present"] if file.partial else [_SCN]
                names = [name for name in (*heads, *own, "_misfits") if name in opened.schema_arrow.names]
            yield from read_images(opened, one_unit, wanted, names)
        return
    assert before is not None
    yield state_rows(Place(output), [path], before, epoch)[0]


def state_rows(output: Place, paths: list[str], before: Epoch, epoch: Epoch) -> tuple[pa.Table, set[str]]:
    """The rows of a state's files in the columns of an epoch, and the columns whose values are lost."""
    names = output_names(before.columns)
    parts = []
    for path in paths:
        with open_parquet(output, path) as file:
            parts.append(base_rows(file.read(use_threads=False), before.columns, names))
    rows = united_state(parts, before)
    if before.columns == epoch.columns:
        return rows, set()
    return converted(rows, before, epoch)


def united_state(parts: list[pa.Table], epoch: Epoch) -> pa.Table:
    """Rows of several files of a state."""
    from binx.spark.lake.arrow.images import united

    return united(parts, epoch) if len(parts) != 1 else parts[0]


def see_keys(one: Spread) -> Keys:
    """Look at the keys of a unit or of a file of the state."""
    found = Keys(one.life)
    lows = from_text(one.lows)
    samples = []
    for rows in images_of(one.source, one.path, one.before, one.epoch, one.output, only_key=True):
        keys = key_of(rows, one.epoch)
        found.rows += len(rows)
        ranges = ranges_of(keys, lows)
        found.met |= set(np.unique(ranges).tolist())
        samples.append(sample_of(keys, SAMPLES))
        if one.source is not None and one.source.file.partial:
            moved = _differ(keys, np.flatnonzero(pairs_of(rows)))
            found.is_moved |= bool(len(moved))
            found.links |= {
                (int(ranges[place - 1]), int(ranges[place]))
                for place in moved
                if ranges[place - 1] != ranges[place]
            }
    if samples:
        found.sample = to_text(sample_of(pa.concat_tables(samples), SAMPLES))
    return found


def _differ(keys: pa.Table, places: Any) -> Any:
    """Those of the places whose key is another than that of the row before."""
    after, before = keys.take(pa.array(places)), keys.take(pa.array(places - 1))
    same = np.ones(len(places), bool)
    for name in keys.column_names:
        one, other = after.column(name), before.column(name)
        equal = pc.fill_null(pc.equal(one, other), False)
        both = pc.and_(pc.is_null(one), pc.is_null(other))
        same &= np.asarray(pc.or_(equal, both).to_numpy(), bool)
    return places[~same]
