"""What all tables of a run share, and the way to the rows of history."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from .arguments import Options
from .ddl import ColumnChanges
from .events import Part
from .images import CHAIN, COMMIT_DATE, Shape, is_of
from .lineage import Position
from .manifests import TableName
from .outcome import LoadError
from .output import Output
from .plan import Place
from .records import LoadedPart, LoadRecord, TableState, TakenFile
from .runs import Run
from .storage import Storage, address_of
from .summary import TableSummary

ZSTD_LEVEL = 1


@dataclass(frozen=True, slots=True)
class SortedRows:
    """A table's new rows as sorted runs.

    Attributes:
        runs: oldest first.
        key: the columns of history that they are sorted by.
        rank: that of the chain which they are all of.
        shape: their columns.
    """

    runs: list[Run]
    key: tuple[str, ...]
    rank: int
    shape: Shape


@dataclass(slots=True)
class Load:
    """What all tables of a run share.

    ``arrived`` are the first and last place of each table's new rows, ``sorted`` these rows as runs, where
    they were made. ``withheld`` are XA transactions whose
    rows do not hold, ``released`` those that did not at the last load and do now; their rows may be in
    the ``released_tables``.
    """

    spark: SparkSession
    output: Output
    options: Options
    record: LoadRecord
    ranks: dict[str, int]
    tables: dict[TableName, TableState]
    summaries: dict[TableName, TableSummary] = field(default_factory=dict)
    moves: list[tuple[str, str]] = field(default_factory=list)
    arrived: dict[TableName, tuple[Position, Position]] = field(default_factory=dict)
    sorted: dict[TableName, SortedRows] = field(default_factory=dict)
    withheld: frozenset[Place] = frozenset()
    released: frozenset[Place] = frozenset()
    released_tables: frozenset[TableName] = frozenset()
    column_changes: list[tuple[Position, ColumnChanges]] = field(default_factory=list)
    _guard: Lock = field(default_factory=Lock)

    @property
    def storage(self) -> Storage:
        """Where the output is."""
        return self.output.storage

    def summary(self, table: TableName) -> TableSummary:
        """The table's figures, made when they are asked for first."""
        with self._guard:
            return self.summaries.setdefault(table, TableSummary.of(table))

    def records(self) -> list[LoadRecord]:
        """All loads, this one last."""
        return [*self.output.loads, self.record]

    def take(
        self,
        files: Iterable[TakenFile],
        part: LoadedPart | None = None,
        moves: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Let what was staged of a table be part of the load; tables are staged at the same time."""
        with self._guard:
            self.record.files.extend(files)
            self.record.parts.extend([] if part is None else [part])
            self.moves.extend(moves)

    def sort(self, table: TableName, rows: SortedRows) -> None:
        """Keep a table's new rows as runs."""
        with self._guard:
            self.sorted[table] = rows

    def write(self, rows: DataFrame, path: str, partition: str | None = None) -> None:
        """Write Parquet where nothing is yet."""
        writer = rows.write.mode("error").option("compression", self.options.compression)
        writer = writer.option("parquet.compression.codec.zstd.level", ZSTD_LEVEL)
        if partition is not None:
            writer = writer.partitionBy(partition)
        writer.parquet(self.storage.target(path))

    def report_apart(self, table: TableName, columns: Sequence[str]) -> None:
        """Note that values whose type does not fit got columns of their own.

        Raises:
            LoadError: the options say to stop instead.
        """
        if not self.options.apart:
            raise LoadError(
                f"{table}: {columns[0].rpartition('__')[0]} changed to a type that cannot hold its earlier "
                f"values, and --on-conflict stop was given; with --on-conflict column they go to {columns[0]}"
            )
        note = f"earlier values of an incompatible type are in {', '.join(columns)}"
        summary = self.summary(table)
        if note not in summary.notes:
            summary.notes.append(note)


def new_parts(load: Load, table: TableName) -> list[Part]:
    """The rows that change a table's state: those of this load, and those of transactions that hold now."""
    parts = history_parts(load, table, only_new=True)
    if table in load.released_tables:
        late = is_of(load.released)
        parts += [
            replace(part, rows=part.rows.where(late)) for part in history_parts(load, table, only_old=True)
        ]
    return parts


def history_parts(
    load: Load, table: TableName, *, only_new: bool = False, only_old: bool = False
) -> list[Part]:
    """A table's history, loads with the same columns together."""
    state = load.tables.get(table)
    if state is None:
        return []
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for record in load.records():
        new = record is load.record
        for part in record.parts:
            if part.table == table and part.rows and not (only_old if new else only_new):
                path = f"{state.folder}/history"
                path = load.output.staged(path) if new else path
                days = f"{address_of(load.storage, path)}/{COMMIT_DATE}=*"
                address = days if new else f"{days}/load={record.load}"
                stored = json.dumps(part.stored, sort_keys=True)
                groups[part.schema, stored, tuple(part.steady)].append(address)
    parts = []
    for (schema, stored, steady), addresses in groups.items():
        rows = load.spark.read.schema(StructType.fromJson(json.loads(schema))).parquet(*addresses)
        parts.append(Part(table, rows, json.loads(stored), steady))
    return parts


def history_of_load(load: Load, state: TableState, record: LoadRecord) -> DataFrame | None:
    """The rows that one committed load brought to a table's history, or None where it brought none."""
    rows: DataFrame | None = None
    for part in record.parts:
        if part.table == state.name and part.rows:
            address = f"{address_of(load.storage, state.folder)}/history/{COMMIT_DATE}=*/load={record.load}"
            schema = StructType.fromJson(json.loads(part.schema))
            rows = load.spark.read.schema(schema).parquet(address)
    return rows


def history_identities(load: Load, table: TableName) -> DataFrame | None:
    """The columns of committed history that tell rows apart, or None where there is none."""
    rows: DataFrame | None = None
    for part in history_parts(load, table):
        some = part.rows.select(
            CHAIN, "_commit_version", "_row", "_change_type", "_transaction", "_event_timestamp"
        )
        rows = some if rows is None else rows.unionByName(some)
    return rows
