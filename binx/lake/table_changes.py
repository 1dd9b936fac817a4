"""Read a table's changes from all logs and schema versions of a data set as one Arrow stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from binx.dataset.statement_batches import statements_schema
from binx.errors import AbsentError, BinxError
from binx.lake.arrivals.arrivals import FileSearch, find_arrivals
from binx.lake.arrow.column_types import plain
from binx.lake.arrow.images import counts
from binx.lake.dataset.manifests import list_manifests, read_manifests
from binx.lake.dataset.spans import Span
from binx.lake.load_plan import lives_of
from binx.lake.place import LakeStore
from binx.lake.published.views import (
    LAST_ROW,
    ORDER,
    REMOVED,
    United,
    ViewPart,
    living_columns,
    parts_of,
    unite,
    write_views,
)
from binx.lake.state.loaded_state import State
from binx.lake.table_name import TableName, listed_tables
from binx.lake.tables.lives import FileSpan, TableHistory
from binx.log.index.transactions import index_schema
from binx.rows.columns.arrow_schema import MISFITS, SYSTEM_FIELDS, UTC_TIMESTAMP
from binx.source.wording import did_you_mean

SYSTEM: dict[str, pa.DataType] = {
    **{field.name: getattr(field.type, "value_type", field.type) for field in SYSTEM_FIELDS[:-1]},
    # In place of ``_present``, whose bits are those of one file's columns.
    "_absent": pa.list_(pa.string()),
    "_json_diff": pa.string(),
    "_misfits": MISFITS,
    ORDER: pa.struct(
        [("chain", pa.int32()), ("commit_version", pa.int64()), ("row", pa.int64()), ("after", pa.bool_())]
    ),
    REMOVED: UTC_TIMESTAMP,
}

FACTS = {"transactions": index_schema, "statements": statements_schema}
"""What a data set has beside row changes, with its columns."""


def read_changes(lake: str, table: str, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
    """Read the row changes of a table, from all logs and schema versions of a data set, with one schema.

    Columns are matched by identity: a renamed column has its last name. Types are united if that is exact;
    otherwise a column of another type becomes a separate column ``name@type``. ``_absent`` has the names of
    columns that an image lacks, ``_order`` sorts the images, also of several servers, and ``_removed_at``
    says when a DROP, TRUNCATE or RENAME took the table away that an image is of. Transactions logged by two
    servers are read once, by GTID; XA transactions that were not committed, and those that a server which
    took over never had, are left out.

    Args:
        lake: a data set of ``to-parquet``: a folder or a URI.
        table: ``db.table``, by its current name.
        columns: the columns to read; by default all.

    Raises:
        AbsentError: the data set has no such table.
        BinxError: the data set cannot be read.
    """
    name = TableName.parse(table)
    lives, names = _lives(LakeStore(lake), name)
    if name not in names:
        raise AbsentError(
            f"{table} is not among the tables of the data set, which are {listed_tables(names, table)}",
            path=lake,
        )
    parts, united = united_parts(name, lives)
    types = {**SYSTEM, **{column.name: column.type for column in united}}
    unknown = [column for column in columns or () if column not in types]
    if unknown:
        raise AbsentError(
            f"{table} has no column {unknown[0]}: it has {', '.join(types)}{did_you_mean(unknown[0], types)}",
            path=lake,
        )
    schema = pa.schema([(column, types[column]) for column in (types if columns is None else columns)])

    def batches() -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(parts):
            own = {column.name: column.names[number][0] for column in united if number in column.names}
            for unit in part.units:
                yield from batches_of(unit, part, own, schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def read_schemas(lake: str) -> dict[tuple[str, str], pa.Schema]:
    """Return the schema of :func:`read_changes` for each table that has changes, by database and name.

    Raises:
        BinxError: the data set cannot be read.
    """
    lives, names = _lives(LakeStore(lake), None)
    united = {name: united_parts(name, lives) for name in sorted(names)}
    return {
        name: pa.schema([*SYSTEM.items(), *((column.name, column.type) for column in columns)])
        for name, (parts, columns) in united.items()
        if parts
    }


def united_parts(table: TableName, lives: Sequence[TableHistory]) -> tuple[list[ViewPart], list[United]]:
    """Return the files with a table's changes, and the columns that they have together."""
    parts = parts_of(table, lives)
    return parts, unite(parts, living_columns(lives, table))


def read_facts(lake: str, kind: str) -> pa.RecordBatchReader:
    """Read the ``transactions`` or the ``statements`` of all logs of a data set.

    Raises:
        BinxError: the data set cannot be read.
    """
    place = LakeStore(lake)
    manifests = list(read_manifests(place, list_manifests(place)))
    batches = (
        batch
        for manifest in manifests
        for path in manifest.others.get(kind, ())
        for batch in fact_batches(place, path, kind)
    )
    return pa.RecordBatchReader.from_batches(fact_schema(kind), batches)


def fact_schema(kind: str) -> pa.Schema:
    """Return the columns of transactions or statements, not all of which earlier versions wrote."""
    return pa.schema([field.with_nullable(True) for field in FACTS[kind]()])


def fact_batches(
    place: LakeStore, path: str, kind: str, span: Span | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file of transactions or statements, within a span of commit versions."""
    schema = fact_schema(kind)
    with place.reading(path) as file:
        for batch in file.iter_batches():
            rows = pa.table(batch)
            if span is not None:
                scns = rows.column("commit_version")
                rows = rows.filter(pc.and_(pc.greater_equal(scns, span[0]), pc.less_equal(scns, span[1])))
            arrays = [
                plain(rows.column(field.name), field.type)
                if field.name in rows.column_names
                else pa.nulls(len(rows), field.type)
                for field in schema
            ]
            yield from pa.table(arrays, schema=schema).to_batches()


def write_changes_views(lake: str) -> None:
    """Write DuckDB and Spark views of the changes of all tables of a data set."""
    place = LakeStore(lake)
    lives, _ = _lives(place, None)
    write_views(State(), lives, place)


def _lives(place: LakeStore, table: TableName | None) -> tuple[list[TableHistory], set[TableName]]:
    """Return all lives, with files of only one table if it is given; and the existing tables."""
    state = State()
    arrivals = find_arrivals(state, [place], place, FileSearch(table.__eq__ if table else lambda _: True))
    if arrivals.wrong:
        raise BinxError(next(iter(arrivals.wrong.values())), path=place.uri)
    lives = lives_of(state, arrivals.files, keys={})
    return lives, arrivals.tables | {life.name for life in lives if life.name}


def batches_of(
    unit: FileSpan, part: ViewPart, own: Mapping[str, str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a unit in the united schema; ``own`` are the names of its columns in the file."""
    needed = {own.get(name, name) for name in schema.names}
    needed |= {"_commit_version", "_present", "_row", "_change_type"}
    with LakeStore(unit.file.root).reading(unit.file.path) as opened:
        names = [name for name in opened.schema_arrow.names if name in needed]
        for batch in opened.iter_batches(columns=names):
            rows = pa.table(batch)
            rows = rows if part.is_whole else rows.filter(counts(rows.column("_commit_version"), unit))
            arrays = []
            for field in schema:
                name = own.get(field.name, field.name)
                if field.name == "_absent":
                    arrays.append(_absent(rows, part, own))
                elif field.name == ORDER:
                    arrays.append(_order(rows, part, field.type))
                elif field.name == REMOVED:
                    arrays.append(pa.repeat(pa.scalar(part.removed or None, UTC_TIMESTAMP), len(rows)))
                elif name in rows.column_names and (field.name in own or field.name in SYSTEM):
                    arrays.append(plain(rows.column(name), field.type))
                else:
                    arrays.append(pa.nulls(len(rows), field.type))
            yield from pa.table(arrays, schema=schema).to_batches()


def _order(rows: pa.Table, part: ViewPart, kind: pa.StructType) -> pa.Array:
    """Return the images' places in the order of all of the table's."""
    count = len(rows)
    version, row = (rows.column(name).combine_chunks() for name in ("_commit_version", "_row"))
    if part.base is not None:
        version, row = (
            pa.repeat(pa.scalar(number, pa.int64()), count) for number in (part.base.scn, LAST_ROW)
        )
    after = pc.equal(rows.column("_change_type").cast(pa.string()), "update_postimage").combine_chunks()
    rank = pa.repeat(pa.scalar(part.chain_rank, pa.int32()), count)
    return pa.StructArray.from_arrays([rank, version, row, after], fields=list(kind))


def _absent(rows: pa.Table, part: ViewPart, own: Mapping[str, str]) -> pa.Array:
    """Return the names of each image's absent columns, from its presence bits."""
    shown = {name: out for out, name in own.items()}
    names = [shown.get(column.name, column.name) for column in part.version.columns]
    known: dict[bytes, list[str]] = {}

    def lacking(bits: bytes) -> list[str]:
        if bits not in known:
            known[bits] = [name for at, name in enumerate(names) if not bits[at // 8] >> at % 8 & 1]
        return known[bits]

    present = rows.column("_present").to_pylist()
    return pa.array([None if bits is None else lacking(bits) for bits in present], pa.list_(pa.string()))
