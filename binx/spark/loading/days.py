"""What tasks do with files of an export: history, a file a day, and sorted runs for ``current/``.

A task reads some files that follow each other, once, and adds what history has besides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql.types import StructType

from .arrow_types import arrow_type
from .context import ZSTD_LEVEL
from .images import CHAIN, HISTORY_COLUMNS, SCHEMA_VERSION
from .keys import Key
from .parquet_files import count_rows, read_groups
from .plan import Span
from .runs import GONE, Run, RunWriter

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CHANGES = ("insert", "update_postimage", "delete")
_ROWS_HELD = 1 << 19
_BEFORE, _AFTER = "update_preimage", "update_postimage"
_GONE_CHANGES = ("delete", _BEFORE)
_VERSION = "_commit_version"
_RUN_HEADS = ("_misfits", _VERSION, "_commit_timestamp")
_NO_DATE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file of an export.

    Attributes:
        path: where it is.
        sources: the file's column for each of history's that it has.
        version: its schema version.
        chain: the chain of its log.
        spans: first and last SCNs of the rows that are taken; None for all.
    """

    path: str
    sources: dict[str, str]
    version: str
    chain: str
    spans: tuple[Span, ...] | None


@dataclass(frozen=True, slots=True)
class Ordering:
    """How rows become runs.

    Attributes:
        key: columns of history that tell rows apart.
        lows: where each range that is there already begins, without the first.
        withheld: SCNs of transactions whose rows do not hold.
    """

    key: tuple[str, ...]
    lows: tuple[Key, ...]
    withheld: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DayShare:
    """What one task writes.

    Attributes:
        files: of the export, in order.
        folder: where attempts write.
        schema: history's columns, as Spark's JSON.
        key: columns of history that tell rows apart; none where no key is known.
        compression: of the files.
        ordering: how runs are made; None where none are.
    """

    files: tuple[ExportFile, ...]
    folder: str
    schema: str
    key: tuple[str, ...]
    compression: str
    ordering: Ordering | None


@dataclass(slots=True)
class Written:
    """What a task wrote, and the figures of its rows.

    Attributes:
        files: paths of history's files, each with its day.
        runs: the sorted runs, oldest first.
        figures: how many rows of each kind.
        listed: how many rows the files hold.
        span: the first and last SCN of those that were taken; None without any.
        is_steady: whether no update changed the key.
    """

    files: list[tuple[str, str]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)
    listed: int = 0
    span: Span | None = None
    is_steady: bool = False


def write_shares(shares: Iterable[DayShare]) -> Iterator[Written]:
    """Write history and runs to where no other attempt writes; runs in a task."""
    for share in shares:
        with _Days(share) as days:
            yield days.write()


class _Days:
    """Files of the export on their way into a file a day."""

    def __init__(self, share: DayShare) -> None:
        self._share = share
        self._folder = Path(share.folder, uuid4().hex)
        self._held: dict[str, list[pa.Table]] = {}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._written = Written()
        self._updates: dict[str, list[pa.Table]] = {_BEFORE: [], _AFTER: []}
        fields = StructType.fromJson(json.loads(share.schema)).fields
        self._types = {one.name: arrow_type(one.dataType) for one in fields}
        self._runs = None
        if share.ordering is not None:
            self._runs = RunWriter(self._folder, share.ordering.key, share.ordering.lows)

    def __enter__(self) -> _Days:
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self._writers.values():
            writer.close()

    def write(self) -> Written:
        """Write all rows, and tell what was written."""
        for one in self._share.files:
            if one.spans == ():
                self._written.listed += count_rows(one.path)
                continue
            for rows in read_groups(one.path):
                self._take(rows, one)
        for day in list(self._held):
            self._let_go(day)
        self._written.is_steady = self._is_steady()
        if self._runs is not None:
            self._runs.close()
            self._written.runs = self._runs.runs
        return self._written

    def _take(self, read: pa.Table, file: ExportFile) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if _VERSION not in read.column_names:
            return
        # Rows without a place do not count, so that the manifest's number is missed and the load stops.
        read = read.filter(pc.is_valid(read.column(_VERSION))) if read.column(_VERSION).null_count else read
        self._written.listed += len(read)
        if file.spans is not None:
            read = read.filter(_within(read.column(_VERSION), file.spans))
        if not len(read):
            return
        rows = pa.table({name: self._column(read, name, file) for name in self._types})
        self._count(rows)
        if self._runs is not None:
            self._runs.add(self._of_run(rows))
        dates = pc.cast(rows.column("_commit_timestamp"), pa.date32())
        days = pc.unique(dates)
        for date in days:
            day = str(date) if date.is_valid else _NO_DATE
            mine = pc.is_null(dates) if not date.is_valid else pc.equal(dates, date)
            held = self._held.setdefault(day, [])
            held.append(rows if len(days) == 1 else rows.filter(mine))
            if sum(len(part) for part in held) >= _ROWS_HELD:
                self._let_go(day)

    def _column(self, read: pa.Table, name: str, file: ExportFile) -> pa.ChunkedArray:
        import pyarrow as pa

        kind = self._types[name]
        constant = {SCHEMA_VERSION: file.version, CHAIN: file.chain}.get(name)
        if constant is not None:
            indices = pa.repeat(pa.scalar(0, pa.int32()), len(read))
            return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array([constant]))])
        source = file.sources.get(name)
        if source is None or source not in read.column_names:
            return pa.chunked_array([pa.nulls(len(read), kind)])
        column = read.column(source)
        if pa.types.is_dictionary(column.type) and column.type.value_type == kind:
            return column
        return column.cast(kind)

    def _of_run(self, rows: pa.Table) -> pa.Table:
        """The rows as a run has them: what ``current/`` has, and whether the row is gone."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ordering = self._share.ordering
        assert ordering is not None
        if ordering.withheld:
            held = pc.is_in(rows.column(_VERSION), pa.array(ordering.withheld, pa.int64()))
            rows = rows.filter(pc.invert(held))
        own = [name for name in rows.column_names if name not in HISTORY_COLUMNS]
        columns = {name: rows.column(name).cast(self._types[name]) for name in (*own, *_RUN_HEADS)}
        changes = rows.column("_change_type").cast(pa.string())
        return pa.table({**columns, GONE: pc.is_in(changes, pa.array(_GONE_CHANGES))})

    def _count(self, rows: pa.Table) -> None:
        import pyarrow.compute as pc

        figures, change = self._written.figures, rows.column("_change_type").cast("string")
        figures["rows"] += len(rows)
        for counted in pc.value_counts(change).to_pylist():
            if counted["values"] in CHANGES:
                figures[counted["values"]] += counted["counts"]
        for figure, name in (("misfits", "_misfits"), ("diffs", "_json_diff")):
            figures[figure] += len(rows) - rows.column(name).null_count
        found = pc.min_max(rows.column(_VERSION)).as_py()
        first, last = self._written.span or (found["min"], found["max"])
        self._written.span = min(first, found["min"]), max(last, found["max"])
        if self._share.key:
            place = rows.select([_VERSION, "_row", *self._share.key])
            for kind, parts in self._updates.items():
                parts.append(place.filter(pc.equal(change, kind)))

    def _is_steady(self) -> bool:
        """Whether the image before each update has the key of the one after."""
        import pyarrow as pa

        if not self._share.key:
            return False
        if not self._updates[_BEFORE]:
            return True
        before, after = (pa.concat_tables(self._updates[kind]) for kind in (_BEFORE, _AFTER))
        return bool(before.unify_dictionaries().equals(after.unify_dictionaries()))

    def _let_go(self, day: str) -> None:
        """Write what is held of a day, as a row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = pa.concat_tables(self._held.pop(day)).unify_dictionaries()
        if day not in self._writers:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"part-{uuid4().hex}-{len(self._writers):03}.parquet"
            level = ZSTD_LEVEL if self._share.compression == "zstd" else None
            self._writers[day] = pq.ParquetWriter(
                path,
                rows.schema,
                compression=self._share.compression,
                compression_level=level,
                use_dictionary=[
                    name for name in rows.column_names if pa.types.is_dictionary(rows.schema.field(name).type)
                ],
                store_schema=False,
            )
            self._written.files.append((str(path), day))
        self._writers[day].write_table(rows, row_group_size=len(rows))


def _within(versions: pa.ChunkedArray, spans: Iterable[Span]) -> Any:
    """Which rows lie in one of the spans of SCNs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    inside: Any = pa.chunked_array([pa.repeat(pa.scalar(False), len(versions))])
    for first, last in spans:
        here = pc.and_(pc.greater_equal(versions, first), pc.less_equal(versions, last))
        inside = pc.or_(inside, here)
    return inside
