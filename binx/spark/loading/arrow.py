"""History through Arrow: on one machine, whose Python has pyarrow, that takes a fraction of Spark's writer.

A task reads one file of the export, adds what history has besides, and writes a file a day. Only files whose
columns are taken as they are go this way: no cast between schema versions, no partial images, no overlaps.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from .context import ZSTD_LEVEL, Load
from .images import CHAIN, COMMIT_DATE, SCHEMA_VERSION, Gathered
from .plan import Candidate, TablePlan
from .steady import MARKS
from .storage import LocalStorage

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_ATTEMPTS = "_attempts"
_PACKAGE = "binx."
_ROWS_HELD = 1 << 19
_CHANGES = ("insert", "update_postimage", "delete")
_BEFORE, _AFTER = "update_preimage", "update_postimage"
_NO_DATE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Share:
    """What one task writes.

    Attributes:
        path: the file of the export.
        folder: where attempts write.
        schema: history's columns, as Spark's JSON.
        sources: the file's column for each of history's that it has.
        constants: the text for each of history's that is the same in all rows.
        key: columns of history that tell rows apart; none where no key is known.
        compression: of the files.
    """

    path: str
    folder: str
    schema: str
    sources: dict[str, str]
    constants: dict[str, str]
    key: tuple[str, ...]
    compression: str


@dataclass(slots=True)
class Written:
    """What a task wrote: files by their paths, each with its day, and the figures of their rows."""

    files: list[tuple[str, str]] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)


def goes_through_arrow(
    load: Load, plan: TablePlan, schemas: Mapping[str, StructType], gathered: Gathered
) -> bool:
    """Whether a plan's files can be written this way."""
    storages = [load.storage, *(one.file.storage for one in plan.candidates)]
    here = (load.spark.sparkContext.master or "").startswith("local[") and all(
        isinstance(storage, LocalStorage) for storage in storages
    )
    # Tasks import this module, which they can where it is installed, and not where it lies beside a script.
    able = __name__.startswith(_PACKAGE) and find_spec("pyarrow") is not None
    whole = not any(one.spans is not None or one.file.partial for one in plan.candidates)
    return here and able and whole and not plan.overlapping and _are_as_they_are(schemas, gathered)


def _are_as_they_are(schemas: Mapping[str, StructType], gathered: Gathered) -> bool:
    """Whether each version's columns have the types that they have in history."""
    types = {one.name: one.dataType for one in gathered.rows.schema.fields}
    return all(
        schemas[version][name].dataType == types[place]
        for version, places in gathered.stored.items()
        for name, place in places.items()
    )


def write_history(
    load: Load, plan: TablePlan, gathered: Gathered, path: str, key: Sequence[str]
) -> dict[str, Any]:
    """Write a plan's rows below ``path``, a folder a day; returns the figures that are kept of them."""
    shares = [_share(load, one, gathered, path, key) for one in plan.candidates]
    context = load.spark.sparkContext
    written = context.parallelize(shares, len(shares)).mapPartitions(write_shares).collect()
    figures: Counter[str] = Counter(dict.fromkeys(("rows", *_CHANGES, "partial", "misfits", "diffs"), 0))
    for one in written:
        figures.update(one.figures)
        for file, day in one.files:
            # Both paths are on this machine, and an absolute one stays what it is.
            load.storage.move(file, f"{path}/{COMMIT_DATE}={day}/{file.rpartition('/')[2]}")
    load.storage.remove(f"{path}/{_ATTEMPTS}")
    return dict(figures)


def _share(load: Load, one: Candidate, gathered: Gathered, path: str, key: Sequence[str]) -> Share:
    stored = gathered.stored[one.file.schema_version]
    heads = [name for name in gathered.rows.columns if name.startswith("_")]
    places = {place: name for name, place in stored.items()}
    return Share(
        path=one.file.storage.target(one.file.path),
        folder=load.storage.target(f"{path}/{_ATTEMPTS}"),
        schema=gathered.rows.schema.json(),
        sources={**{name: name for name in heads if name not in places}, **places},
        constants={SCHEMA_VERSION: one.file.schema_version, CHAIN: one.chain},
        key=tuple(key),
        compression=load.options.compression,
    )


def write_shares(shares: Iterable[Share]) -> Iterator[Written]:
    """Write files of history to where no other attempt writes; runs in a task."""
    for share in shares:
        with _Days(share) as days:
            yield days.write()


def _arrow_type(kind: DataType) -> pa.DataType:
    """The type that Spark reads as its own again."""
    import pyarrow as pa

    match kind:
        case DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case ArrayType():
            return pa.list_(_arrow_type(kind.elementType))
        case MapType():
            return pa.map_(_arrow_type(kind.keyType), _arrow_type(kind.valueType))
        case StructType():
            return pa.struct([(one.name, _arrow_type(one.dataType)) for one in kind.fields])
        case TimestampType():
            return pa.timestamp("us", "UTC")
        case TimestampNTZType():
            return pa.timestamp("us")
    plain = {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
    }
    return plain[kind.simpleString()]


class _Days:
    """A file of the export on its way into a file a day."""

    def __init__(self, share: Share) -> None:
        self._share = share
        self._folder = Path(share.folder, uuid4().hex)
        self._held: dict[str, list[pa.Table]] = {}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._written = Written()
        self._updates: dict[str, list[pa.Table]] = {_BEFORE: [], _AFTER: []}
        fields = StructType.fromJson(json.loads(share.schema)).fields
        self._types = {one.name: _arrow_type(one.dataType) for one in fields}

    def __enter__(self) -> _Days:
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self._writers.values():
            writer.close()

    def write(self) -> Written:
        """Write all rows, and tell what was written."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self._share.path) as file:
            for group in range(file.num_row_groups):
                self._take(file.read_row_group(group, use_threads=False))
        for day in list(self._held):
            self._let_go(day)
        figures = self._written.figures
        figures.update(dict.fromkeys(MARKS, 0 if self._is_steady() else 1))
        return self._written

    def _take(self, read: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = pa.table({name: self._column(read, name) for name in self._types})
        self._count(rows)
        dates = pc.cast(rows.column("_commit_timestamp"), pa.date32())
        for date in pc.unique(dates):
            mine = pc.is_null(dates) if not date.is_valid else pc.equal(dates, date)
            day = str(date) if date.is_valid else _NO_DATE
            held = self._held.setdefault(day, [])
            held.append(rows.filter(mine))
            if sum(len(part) for part in held) >= _ROWS_HELD:
                self._let_go(day)

    def _column(self, read: pa.Table, name: str) -> pa.ChunkedArray:
        import pyarrow as pa

        kind = self._types[name]
        if name in self._share.constants:
            indices = pa.repeat(pa.scalar(0, pa.int32()), len(read))
            text = pa.array([self._share.constants[name]])
            return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, text)])
        source = self._share.sources.get(name)
        if source is None or source not in read.column_names:
            return pa.chunked_array([pa.nulls(len(read), kind)])
        column = read.column(source)
        if pa.types.is_dictionary(column.type) and column.type.value_type == kind:
            return column
        return column.cast(kind)

    def _count(self, rows: pa.Table) -> None:
        import pyarrow.compute as pc

        figures, change = self._written.figures, rows.column("_change_type")
        figures["rows"] += len(rows)
        for counted in pc.value_counts(change.cast("string")).to_pylist():
            if counted["values"] in _CHANGES:
                figures[counted["values"]] += counted["counts"]
        for figure, name in (("misfits", "_misfits"), ("diffs", "_json_diff")):
            figures[figure] += len(rows) - rows.column(name).null_count
        if self._share.key:
            place = rows.select(["_commit_version", "_row", *self._share.key])
            for kind, parts in self._updates.items():
                parts.append(place.filter(pc.equal(change.cast("string"), kind)))

    def _is_steady(self) -> bool:
        """Whether the image before each update has the key of the one after."""
        import pyarrow as pa

        if not self._share.key or not self._updates[_BEFORE]:
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
