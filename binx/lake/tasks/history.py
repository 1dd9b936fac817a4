"""Copy new files into ``history/``, one per task, and join small ones there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.dataset.dataset import escape_name
from binx.errors import BinxError
from binx.lake.arrow.images import all_of, counts
from binx.lake.compaction import joined
from binx.lake.dataset.files import ChangesFile
from binx.lake.dataset.spans import Span
from binx.lake.place import LakeStore
from binx.lake.state.loaded_state import Options

_GROUP_BYTES = 64 << 20
"""Size in memory of the row groups of joined files."""

_KIND, _SCN, _TIME = _HEADS = ["_change_type", "_commit_version", "_commit_timestamp"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A new file; in the spans listed in ``empty`` it must have no rows."""

    file: ChangesFile
    output: str
    empty: tuple[Span, ...]
    options: Options


@dataclass(slots=True)
class Taken:
    """The result for a new file.

    Attributes:
        files: its files in ``history/``, one for each day or hour of commits.
        counts: the number of rows by ``_change_type``.
        error: why it could not be loaded; its table is then stopped.
    """

    source: ChangesFile
    files: list[ChangesFile] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    error: str = ""


def take_file(arrival: Arrival) -> Taken:
    """Copy a file into ``history/``, unchanged if all its rows count and are of one day."""
    result = Taken(arrival.file)
    source, output = LakeStore(arrival.file.root), LakeStore(arrival.output)
    try:
        with source.parquet(arrival.file.path) as file:
            if file.metadata.num_rows != arrival.file.rows:
                raise BinxError(
                    f"the manifest lists {arrival.file.rows} rows, the file contains"
                    f" {file.metadata.num_rows}: it was changed after the export; run with --verify to find"
                    " such files"
                )
            heads = file.read(columns=_HEADS)
            check_empty(heads.column(_SCN), arrival.empty)
            kept = heads.filter(counts(heads.column(_SCN), all_of(arrival.file)))
            spans = pc.unique(_spans(kept, arrival.options)).to_pylist()
            if len(kept) == len(heads) and len(spans) == 1:
                span = pc.min_max(kept.column(_SCN)).as_py()
                result.files.append(_copied(arrival, source, output, spans[0], span))
            else:
                result.files += _divided(arrival, file, output)
            counted = pc.value_counts(kept.column(_KIND).cast(pa.string())).to_pylist()
            result.counts = {entry["values"]: entry["counts"] for entry in counted}
    except (OSError, pa.ArrowException, BinxError, KeyError) as error:
        result.error = f"{source.shown(arrival.file.path)} cannot be loaded: {str(error).splitlines()[0]}"
    return result


def _spans(rows: pa.Table, options: Options) -> pa.ChunkedArray:
    """Return the beginnings of the days or hours of commits."""
    times = rows.column(_TIME).cast(pa.timestamp("us"))
    return pc.floor_temporal(times, unit="hour" if options.hours else "day")


def check_empty(scns: pa.ChunkedArray, empty: Iterable[Span]) -> None:
    """Check that a file's rows, of these commit versions, are not in spans that must have none.

    Raises:
        BinxError: some are.
    """
    numbers = scns.to_numpy()
    for first, last in empty:
        if ((numbers >= first) & (numbers <= last)).any():
            raise BinxError(
                f"it has rows between {first} and {last}, where statements gave the table other columns"
            )


def _in_span(arrival: Arrival, begin: datetime, span: dict[str, int], rows: int, size: int) -> ChangesFile:
    file = arrival.file
    folder = f"{file.table.folder}/history"
    parts = f"version={file.version}/chain={escape_name(file.chain)}/commit_date={begin.date()}"
    parts += f"/commit_hour={begin.hour:02}" if arrival.options.hours else ""
    return replace(
        file, root="", path=f"{folder}/{parts}/{uuid4().hex}.parquet", rows=rows, bytes=size,
        first=span["min"], last=span["max"], dropped=(), spans=(),
    )  # fmt: skip


def _copied(
    arrival: Arrival, source: LakeStore, output: LakeStore, begin: datetime, span: dict[str, int]
) -> ChangesFile:
    copy = _in_span(arrival, begin, span, arrival.file.rows, arrival.file.bytes)
    output.make_folder(copy.path)
    with (
        source.filesystem.open_input_stream(source.inside(arrival.file.path)) as reader,
        output.filesystem.open_output_stream(output.inside(copy.path)) as writer,
    ):
        while chunk := reader.read(8 << 20):
            writer.write(chunk)
    return copy


def _divided(arrival: Arrival, file: pq.ParquetFile, output: LakeStore) -> list[ChangesFile]:
    """Write the rows that count, one file for each day or hour."""
    writers: dict[Any, pq.ParquetWriter] = {}
    files: dict[Any, ChangesFile] = {}
    try:
        for group in range(file.metadata.num_row_groups):
            rows = file.read_row_group(group, use_threads=False)
            rows = rows.filter(counts(rows.column(_SCN), all_of(arrival.file)))
            begins = _spans(rows, arrival.options)
            for day in pc.unique(begins).to_pylist():
                part = rows.filter(pc.equal(begins, pa.scalar(day, begins.type)))
                span = pc.min_max(part.column(_SCN)).as_py()
                size = max(1, arrival.file.bytes * len(part) // max(1, arrival.file.rows))
                if day not in files:
                    files[day] = _in_span(arrival, day, span, 0, 0)
                    writers[day] = output.writer(
                        files[day].path, file.schema_arrow, arrival.options.compression
                    )
                former = files[day]
                files[day] = replace(
                    former,
                    rows=former.rows + len(part),
                    bytes=former.bytes + size,
                    first=min(former.first, span["min"]),
                    last=max(former.last, span["max"]),
                )
                writers[day].write_table(part)
    finally:
        for writer in writers.values():
            writer.close()
    return list(files.values())


@dataclass(frozen=True, slots=True)
class Joining:
    """Consecutive files of ``history/`` of one table, version and day or hour, which become one."""

    files: tuple[ChangesFile, ...]
    output: str
    options: Options


def join_files(joining: Joining) -> tuple[ChangesFile | None, str]:
    """Write one file with the rows of others that count; return it, or why it cannot be written.

    Files whose columns cannot be united stay as they are, which is no error.
    """
    output = LakeStore(joining.output)
    path = f"{joining.files[-1].path.rpartition('/')[0]}/{uuid4().hex}.parquet"
    try:
        schemas = []
        for file in joining.files:
            with output.reading(file.path) as opened:
                schemas.append(opened.schema_arrow)
        try:
            schema = pa.unify_schemas(schemas)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return None, ""
        count = 0
        with output.writer(path, schema, joining.options.compression) as writer:
            for rows in _gathered(joining.files, output, schema):
                writer.write_table(rows)
                count += len(rows)
        size = int(output.filesystem.get_file_info(output.inside(path)).size)
    except (OSError, pa.ArrowException, BinxError) as error:
        return None, f"its history cannot be compacted: {str(error).splitlines()[0]}"
    return replace(joined(joining.files), path=path, rows=count, bytes=size), ""


def _gathered(files: Sequence[ChangesFile], output: LakeStore, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of files that count, in order, in parts of the size of a row group."""
    waiting: list[pa.Table] = []
    for file in files:
        with output.reading(file.path) as opened:
            for group in range(opened.metadata.num_row_groups):
                rows = opened.read_row_group(group, use_threads=False)
                waiting.append(rows.filter(counts(rows.column(_SCN), all_of(file))))
                if sum(part.nbytes for part in waiting) > _GROUP_BYTES:
                    yield _united(waiting, schema)
                    waiting = []
    if waiting:
        yield _united(waiting, schema)


def _united(parts: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables(parts, promote_options="default").select(schema.names).unify_dictionaries()
