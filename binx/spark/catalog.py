"""Write ``current/`` to tables of a catalog of the Spark session, through its own engine (Iceberg, Delta).

A catalog's table is brought up to the committed state with one ``MERGE INTO``: rows of new files, compared
with those of files that no longer count. Merging is idempotent, so after a load that was killed the next one
repeats it. All rows are replaced if the former files are gone, or if the table's columns are not those of the
last write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from binx.errors import BinxError
from binx.lake.arrow.column_types import can_misfit, output_names
from binx.lake.place import LakeStore
from binx.lake.published.spark_types import spark_types
from binx.lake.state.json_records import reader_of, to_json
from binx.lake.state.loaded_state import LifeState, State
from binx.lake.table_name import TableName
from binx.rows.ddl.tokens import identifier
from binx.spark.catalog_table import LAST_LOAD, MISFITS, CatalogTable
from binx.spark.session import reason_of
from binx.spark.type_names import sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = "_catalog.json"
_TOGETHER = 4


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """What a catalog's table has: a life's rows from ``files``, in ``columns``; its key as column ids."""

    table: TableName
    life: str
    key: tuple[int, ...] = ()
    columns: dict[str, tuple[str, str]] = field(default_factory=dict)
    files: tuple[str, ...] = ()


@dataclass(slots=True)
class Records:
    """What an output has written to catalogs, by table name in the catalog."""

    writer: str = field(default_factory=lambda: uuid4().hex)
    tables: dict[str, WrittenTable] = field(default_factory=dict)


class CatalogTables:
    """A catalog's tables, kept in step with the committed state.

    ``name`` is a catalog with a namespace for each database, or a catalog and a namespace whose tables are
    named ``<db>_<table>``. Only wanted tables are written; those in ``rebuild`` are replaced. Problems of a
    table are collected in ``errors``.
    """

    def __init__(
        self,
        state: State,
        place: LakeStore,
        name: str,
        wants: Callable[[TableName], bool],
        rebuild: Collection[TableName] = (),
    ) -> None:
        self._place, self._load, self._name, self._rebuild = place, state.version, name.split("."), rebuild
        content = place.read(RECORDS)
        self._is_new = content is None
        self._records: Records = Records() if content is None else reader_of(Records)(json.loads(content))
        self.errors: dict[TableName, str] = {}
        self._work: dict[str, LifeState | None] = {}
        # A stopped table keeps its former name, which another table may have by now; that one wins.
        names = {life: record.name for life, record in state.records.items()}
        lives = sorted(state.lives.values(), key=lambda life: names.get(life.life) != life.name)
        taken: dict[str, TableName] = {}
        for life in [life for life in lives if wants(life.name)]:
            target = self._target(life.name)
            other = taken.setdefault(target.lower(), life.name)
            if other != life.name:
                self.errors[life.name] = f"{target} is what {other} is called there"
            elif target not in self._work and (self._differs(target, life) or life.name in rebuild):
                self._work[target] = life
        beginning = ".".join(map(identifier, self._name)) + "."
        for target, written in self._records.tables.items():
            is_left = target.lower() not in taken and target.startswith(beginning)
            if is_left and written.files and wants(written.table):
                self._work[target] = None

    @property
    def has_work(self) -> bool:
        """Whether any table differs from the committed state."""
        return bool(self._work)

    def _target(self, name: TableName) -> str:
        inside = [name.db, name.table] if len(self._name) == 1 else [f"{name.db}_{name.table}"]
        return ".".join(map(identifier, [*self._name, *inside]))

    def _differs(self, target: str, life: LifeState) -> bool:
        written = self._records.tables.get(target)
        files = tuple(file.path for file in life.ranges)
        return written is None or (written.life, written.files) != (life.life, files)

    def publish(self, spark: SparkSession) -> None:
        """Bring the tables up to the committed state; each is recorded as soon as it is done."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        if self._is_new:
            self._save()
        with ThreadPoolExecutor(_TOGETHER) as pool:
            running = {
                pool.submit(self._bring, spark, number, target): target
                for number, target in enumerate(self._work)
            }
            for done in as_completed(running):
                target = running[done]
                life = self._work[target]
                try:
                    self._records.tables[target] = done.result()
                    self._save()
                except (PySparkException, Py4JError, BinxError, OSError, pa.ArrowException) as error:
                    name = life.name if life is not None else self._records.tables[target].table
                    self.errors[name] = (
                        f"{target} could not be brought up to what is committed; the next load tries again:"
                        f" {reason_of(error)}"
                    )

    def _save(self) -> None:
        self._place.put(RECORDS, to_json(self._records))

    def _bring(self, spark: SparkSession, number: int, target: str) -> WrittenTable:
        table = CatalogTable(spark, self._place, target, f"binx_changes_{number}")
        life, written = self._work[target], self._records.tables.get(target)
        if life is None:
            assert written is not None
            if table.is_of(self._records.writer):
                table.sql(f"DELETE FROM {target}")
            return replace(written, life="", files=())
        schema = spark_types(self._place.parquet(life.ranges[0].path).schema_arrow)
        names = output_names(life.columns)
        ids = {name: str(number) for number, name in names.items()}
        wanted = {ids.get(field.name, field.name): (field.name, sql_name(field.type)) for field in schema}
        is_ours = table.is_of(self._records.writer)
        if not is_ours:
            table.take(self._records.writer, wanted, is_shared=len(self._name) > 1)
        left = {} if written is None else written.columns
        is_trusted = is_ours and written is not None and written.life == life.life
        carried = table.conform(wanted, left, is_trusted=is_trusted and life.name not in self._rebuild)
        columns = {identity: (name, table.columns[name.lower()][1]) for identity, (name, _) in wanted.items()}
        files = [file.path for file in life.ranges]
        before = () if written is None else written.files
        gone = [path for path in before if path not in files]
        keeps_key = (
            written is not None and written.key == life.key and {*map(str, life.key)} <= {*(carried or ())}
        )
        if carried is None or not keeps_key or not self._exist(gone):
            table.replace_rows(columns, files)
        else:
            misfits = (
                {column.id for column in life.columns if can_misfit(column)} if MISFITS in columns else set()
            )
            key = [(names[number], number in misfits) for number in life.key]
            new = [path for path in files if path not in before]
            table.merge(columns, key, new, gone, carried)
        table.set_property(LAST_LOAD, str(self._load))
        return WrittenTable(life.name, life.life, life.key, columns, tuple(files))

    def _exist(self, paths: Sequence[str]) -> bool:
        infos = self._place.filesystem.get_file_info([self._place.inside(path) for path in paths])
        return all(info.is_file for info in infos)
