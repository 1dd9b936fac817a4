"""The options of a load, and the formats that tables are written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from binx.lake.table_name import TableName, filter_of
from binx.rows.columns.schema import folded_name

PARQUET, DELTA, CSV, SQL = "parquet", "delta", "csv", "sql"
LOAD_FORMATS = (PARQUET, DELTA)
FILE_FORMATS = (PARQUET, CSV, SQL)
"""The formats of a table at a moment."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options of a load.

    Attributes:
        inputs: the data sets.
        output: the folder or URI of the tables.
        tables: patterns of tables to load; empty for all.
        keys: key columns by table, for tables without a recorded key.
        chains: the order in which servers are applied.
        shards: whether servers have tables of the same names whose rows are not the same, from now on.
        at: the moment of the tables, as in :func:`.moment_of`; None for the end of the logs.
        rebuild: tables whose state is rebuilt from history.
        scd2: whether versions of rows are written.
        soft_deletes: whether ``current/`` keeps deleted rows, marked.
        verify: whether new files are compared with their hashes.
        accept_losses: whether current losses are marked as seen.
        compact: whether all small files of history are joined, not only those of days with many.
        keep_history: the number of days of history to keep; None for all.
        hourly_history: whether files of history cover one hour instead of one day, from now on.
        catalog: a catalog of the Spark session, or a namespace of one, whose tables have the rows.
        partition_by: what its new tables are partitioned by, as SQL; ``sort_by``, sorted by.
        break_lock: whether to break the lock of a load that no longer runs.
    """

    inputs: tuple[str, ...]
    output: str
    tables: tuple[str, ...] = ()
    keys: Mapping[TableName, tuple[str, ...]] = field(default_factory=dict)
    chains: tuple[str, ...] = ()
    shards: bool = False
    at: str | None = None
    rebuild: tuple[TableName, ...] = ()
    scd2: bool = False
    soft_deletes: bool = False
    verify: bool = False
    accept_losses: bool = False
    compression: str = "zstd"
    format: str = PARQUET
    compact: bool = False
    keep_history: int | None = None
    hourly_history: bool = False
    catalog: str | None = None
    partition_by: tuple[tuple[TableName, str], ...] = ()
    sort_by: tuple[tuple[TableName, str], ...] = ()
    break_lock: bool = False

    def wants(self, table: TableName) -> bool:
        """Whether a table is selected."""
        return filter_of((), self.tables).takes(*table)


def parse_key(text: str) -> tuple[TableName, tuple[str, ...]]:
    """Parse ``DB.TABLE=COLUMN,…`` into a table and its key columns."""
    table, _, columns = text.partition("=")
    names = tuple(name.strip() for name in columns.split(","))
    if not all(names) or len({*map(folded_name, names)}) < len(names):
        raise ValueError(f"expected DB.TABLE=COLUMN,… with each column once, found {text!r}")
    return TableName.parse(table), names


def parse_layout(text: str) -> tuple[TableName, str]:
    """Parse ``DB.TABLE=EXPRESSION,…`` into a table and what it is partitioned or sorted by, as SQL."""
    table, _, expressions = text.partition("=")
    if not expressions.strip():
        raise ValueError(f"expected DB.TABLE=EXPRESSION,…, found {text!r}")
    return TableName.parse(table), expressions.strip()


def parse_catalog(text: str) -> str:
    """Parse the name of a catalog, or of a catalog and a namespace in it."""
    if not all(text.split(".")):
        raise ValueError(f"expected CATALOG or CATALOG.NAMESPACE, found {text!r}")
    return text
