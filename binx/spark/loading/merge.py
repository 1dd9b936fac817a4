"""What tasks do to make ``current/`` from sorted runs: a piece of the keys each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql.types import StructType

from .arrow_types import arrow_schema
from .context import ZSTD_LEVEL
from .keys import Key, Keys, last_of_each, places_between
from .parquet_files import read_groups
from .runs import GONE, Run, RunWriter, read_batches

if TYPE_CHECKING:
    import pyarrow as pa

_GROUP_ROWS = 1 << 19
_VERSION = "_commit_version"


@dataclass(frozen=True, slots=True)
class Target:
    """What all tasks of a table write.

    Attributes:
        folder: where attempts write.
        schema: the columns, as Spark's JSON.
        places: what runs call each of the table's columns.
        key: the key's columns.
        since: the first SCN of rows in runs that belong to the table; None for all.
        dictionaries: columns of few values.
        compression: of the files.
    """

    folder: str
    schema: str
    places: dict[str, str]
    key: tuple[str, ...]
    since: int | None
    dictionaries: tuple[str, ...]
    compression: str

    def columns(self) -> pa.Schema:
        """The columns that are written."""
        return arrow_schema(StructType.fromJson(json.loads(self.schema)))


@dataclass(frozen=True, slots=True)
class Share:
    """What one task merges.

    Attributes:
        target: what is written.
        files: those of the former snapshot that hold the keys; their rows are the oldest.
        slices: of each run with such keys its file and which batches, oldest first.
        low: where the keys begin; None for no bound.
        high: where they end.
    """

    target: Target
    files: tuple[str, ...]
    slices: tuple[tuple[str, int, int], ...]
    low: Key | None
    high: Key | None


@dataclass(frozen=True, slots=True)
class Merged:
    """What a task wrote: ``low`` is the first key, ``bytes`` are those of the rows in memory."""

    path: str
    rows: int
    bytes: int
    low: Key | None


def merge_shares(shares: Iterable[Share]) -> Iterator[Merged]:
    """Write the rows that live, in order of their keys, to where no other attempt writes; runs in a task."""
    import pyarrow as pa

    for share in shares:
        target = share.target
        columns = target.columns()
        parts = [_former(path, columns) for path in share.files]
        for path, first, last in share.slices:
            batches = read_batches(path, first, last)
            if target.since is not None:
                batches = batches.filter(_at_least(batches.column(_VERSION), target.since))
            parts.append(_conformed(batches, columns, target.places))
        rows = pa.concat_tables(parts).combine_chunks() if parts else _nothing(columns)
        yield _written(target, rows.take(_living(rows, share)).drop([GONE]), columns)


def _at_least(column: pa.ChunkedArray, least: int) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.greater_equal(column, least)


def _living(rows: pa.Table, share: Share) -> pa.Array:
    """The places of the rows that stay, in order of their keys."""
    import pyarrow.compute as pc

    key = share.target.key
    last = last_of_each(rows, key)
    if share.low is not None or share.high is not None:
        first, end = places_between(Keys(rows.select(list(key)).take(last), key), share.low, share.high)
        last = last.slice(first, end - first)
    return last.filter(pc.invert(rows.column(GONE).take(last).combine_chunks()))


def _nothing(columns: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return columns.append(pa.field(GONE, pa.bool_())).empty_table()


def _former(path: str, columns: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return _living_rows(pa.concat_tables(read_groups(path)), columns)


def _living_rows(rows: pa.Table, columns: pa.Schema) -> pa.Table:
    """Rows of a snapshot, none of which is gone."""
    import pyarrow as pa

    return _conformed(rows.append_column(GONE, pa.repeat(pa.scalar(False), len(rows))), columns, {})


def _conformed(rows: pa.Table, columns: pa.Schema, places: dict[str, str]) -> pa.Table:
    """Rows in the columns that are written, and ``_gone``; a column that they lack is null."""
    import pyarrow as pa

    found = []
    for one in columns:
        name = places.get(one.name, one.name)
        known = name in rows.column_names
        found.append(rows.column(name).cast(one.type) if known else pa.nulls(len(rows), one.type))
    return pa.table([*found, rows.column(GONE)], schema=columns.append(pa.field(GONE, pa.bool_())))


def _written(target: Target, rows: pa.Table, columns: pa.Schema) -> Merged:
    import pyarrow.parquet as pq

    folder = Path(target.folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"part-{uuid4().hex}.parquet"
    pq.write_table(
        rows,
        path,
        row_group_size=_GROUP_ROWS,
        compression=target.compression,
        compression_level=ZSTD_LEVEL if target.compression == "zstd" else None,
        use_dictionary=list(target.dictionaries),
        store_schema=False,
    )
    keys = Keys(rows.slice(0, 1), target.key)
    return Merged(str(path), len(rows), rows.nbytes, keys[0] if len(keys) else None)


@dataclass(frozen=True, slots=True)
class Unsorted:
    """A file of a former snapshot that is in no order, to be made into runs.

    Attributes:
        target: what will be written of it.
        path: the file.
        folder: where attempts write runs.
    """

    target: Target
    path: str
    folder: str


def sort_files(files: Iterable[Unsorted]) -> Iterator[list[Run]]:
    """Make runs of the rows that a table had; runs in a task."""
    for one in files:
        columns = one.target.columns()
        names = [one.target.places.get(name, name) for name in columns.names]
        writer = RunWriter(Path(one.folder, uuid4().hex), one.target.key, ())
        for group in read_groups(one.path):
            writer.add(_living_rows(group, columns).rename_columns([*names, GONE]))
        writer.close()
        yield writer.runs
