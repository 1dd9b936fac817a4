"""Write ``current/`` to tables of a catalog of the Spark session, through its own engine (Iceberg, Delta).

A catalog's table is brought up to the committed state with one ``MERGE INTO``: rows of new files, compared
with those of files that no longer count. Merging is idempotent, so after a load that was killed the next one
repeats it. All rows are replaced if the former files are gone, or if the table's columns are not those of the
last write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from binx.errors import BinxError
from binx.rows.ddl.tokens import identifier
from binx.spark.lake.arrow.types import can_misfit, output_names
from binx.spark.lake.model import LifeState, TableName
from binx.spark.lake.place import Place
from binx.spark.lake.state import State, reader_of, to_json
from binx.spark.session import reason_of
from binx.spark.type_names import spark_types, sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDS = "_catalog.json"
_WRITER, _LOAD = "binx.writer", "binx.load"
"""Table properties: the output that the table belongs to, and the last load that changed it."""

_TOGETHER = 4
_MISFITS = "_misfits"
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DELTA = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
"""Without these, Delta cannot rename or drop a column or widen its type."""

Columns = Mapping[str, tuple[str, str]]
"""Names and types by identity: a column's id, or the name of one of the loader's own columns."""


@dataclass(frozen=True, slots=True)
class Written:
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
    tables: dict[str, Written] = field(default_factory=dict)


class Catalog:
    """A catalog's tables, kept in step with the committed state.

    ``name`` is a catalog with a namespace for each database, or a catalog and a namespace whose tables are
    named ``<db>_<table>``. Only wanted tables are written; those in ``rebuild`` are replaced. Problems of a
    table are collected in ``errors``.
    """

    def __init__(
        self,
        state: State,
        place: Place,
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
        lives = sorted(state.lives.values(), key=lambda one: names.get(one.life) != one.name)
        taken: dict[str, TableName] = {}
        for life in [one for one in lives if wants(one.name)]:
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
        there = self._records.tables.get(target)
        files = tuple(file.path for file in life.ranges)
        return there is None or (there.life, there.files) != (life.life, files)

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

    def _bring(self, spark: SparkSession, number: int, target: str) -> Written:
        table = _Table(spark, self._place, target, f"binx_changes_{number}")
        life, written = self._work[target], self._records.tables.get(target)
        if life is None:
            assert written is not None
            if table.is_of(self._records.writer):
                table.sql(f"DELETE FROM {target}")
            return replace(written, life="", files=())
        schema = spark_types(self._place.parquet(life.ranges[0].path).schema_arrow)
        names = output_names(life.columns)
        ids = {name: str(number) for number, name in names.items()}
        wanted = {ids.get(one.name, one.name): (one.name, sql_name(one.type)) for one in schema}
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
        if carried is None or not keeps_key or not self._are_there(gone):
            table.replace_rows(columns, files)
        else:
            misfits = {one.id for one in life.columns if can_misfit(one)} if _MISFITS in columns else set()
            key = [(names[number], number in misfits) for number in life.key]
            new = [path for path in files if path not in before]
            table.merge(columns, key, new, gone, carried)
        table.set_property(_LOAD, str(self._load))
        return Written(life.name, life.life, life.key, columns, tuple(files))

    def _are_there(self, paths: Sequence[str]) -> bool:
        found = self._place.filesystem.get_file_info([self._place.inside(path) for path in paths])
        return all(one.is_file for one in found)


class _Table:
    """A table of a catalog; ``columns`` are its names and types, by lower-case name."""

    def __init__(self, spark: SparkSession, place: Place, target: str, view: str) -> None:
        self._spark, self._place, self._target, self._view = spark, place, target, view
        self.columns: dict[str, tuple[str, str]] = {}

    def sql(self, text: str) -> DataFrame:
        return self._spark.sql(text)

    def _alter(self, text: str) -> None:
        self.sql(f"ALTER TABLE {self._target} {text}")

    def set_property(self, name: str, value: str) -> None:
        self._alter(f"SET TBLPROPERTIES ('{name}' = '{value}')")

    def _is_there(self) -> bool:
        return self._spark.catalog.tableExists(self._target)

    def is_of(self, writer: str) -> bool:
        """Whether the table exists and belongs to this output."""
        if not self._is_there():
            return False
        return (_WRITER, writer) in {
            (row[0], row[1]) for row in self.sql(f"SHOW TBLPROPERTIES {self._target}").collect()
        }

    def take(self, writer: str, columns: Columns, *, is_shared: bool) -> None:
        """Create the table for this output, or adopt an existing one without rows.

        Raises:
            BinxError: the table has rows.
        """
        if self._is_there():
            if self._spark.table(self._target).limit(1).count():
                raise BinxError(
                    "it has rows that are not of this output: empty it, drop it, or give another namespace"
                )
            self.set_property(_WRITER, writer)
            return
        namespace, catalog = self._target.rpartition(".")[0], self._target.partition(".")[0].strip("`")
        if not is_shared:
            self.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
        engine = str(self._spark.conf.get(f"spark.sql.catalog.{catalog}", "")).lower()
        using = next((name for name in ("iceberg", "delta") if name in engine), "")
        properties = {_WRITER: writer, **(_DELTA if using == "delta" else {})}
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        self.sql(
            f"CREATE TABLE {self._target} ({_defined(columns.values())})"
            f"{using and f' USING {using}'} TBLPROPERTIES ({listed})"
        )

    def conform(self, wanted: Columns, left: Columns, *, is_trusted: bool) -> dict[str, str] | None:
        """Alter the table so that it has the wanted columns.

        Args:
            wanted: all wanted columns.
            left: the columns of this output's last write.
            is_trusted: whether identities in ``left`` and ``wanted`` refer to the same columns.

        Returns:
            the former names of the columns whose values stay; None if the table no longer has the columns of
            the last write, so that its values cannot be relied on.
        """
        fields = self._spark.table(self._target).schema.fields
        self.columns = {one.name.lower(): (one.name, one.dataType.simpleString()) for one in fields}
        is_known = is_trusted and all(
            self.columns.get(name.lower(), ("", ""))[1] == kind for name, kind in left.values()
        )
        names = {name.lower() for name, _ in wanted.values()}
        mine = {identity: name for identity, (name, _) in (left if is_known else wanted).items()}
        for identity, (name, _) in left.items():
            if (identity not in wanted) if is_known else (name.lower() not in names):
                self._drop(name)
                mine.pop(identity, None)
        before = dict(mine)
        self._rename(mine, wanted)
        for identity, (name, kind) in wanted.items():
            there = self.columns.get(name.lower())
            if there is None:
                self._add(name, kind)
                mine.pop(identity, None)
                continue
            is_known = is_known and identity in mine
            if not _holds(there[1], kind) and not self._widen(name, there[1], kind):
                self._drop(name)
                self._add(name, kind)
                mine.pop(identity, None)
        return {identity: before[identity] for identity in mine} if is_known else None

    def _rename(self, mine: dict[str, str], wanted: Columns) -> None:
        """Rename columns; of two that swap names, one is dropped and added again."""
        while True:
            moving = {one: name for one, name in mine.items() if name.lower() != wanted[one][0].lower()}
            if not moving:
                return
            free = next((one for one in moving if wanted[one][0].lower() not in self.columns), None)
            if free is None:
                self._drop(mine.pop(next(iter(moving))))
                continue
            _, kind = self.columns.pop(mine[free].lower())
            self._alter(f"RENAME COLUMN {identifier(mine[free])} TO {identifier(wanted[free][0])}")
            mine[free] = wanted[free][0]
            self.columns[mine[free].lower()] = (mine[free], kind)

    def _drop(self, name: str) -> None:
        if self.columns.pop(name.lower(), None) is not None:
            self._alter(f"DROP COLUMN {identifier(name)}")

    def _add(self, name: str, kind: str) -> None:
        self._alter(f"ADD COLUMN {identifier(name)} {kind}")
        # Some types are stored as wider ones.
        field = next(
            one for one in self._spark.table(self._target).schema if one.name.lower() == name.lower()
        )
        self.columns[name.lower()] = (name, field.dataType.simpleString())

    def _widen(self, name: str, before: str, after: str) -> bool:
        """Widen a column's type, if the engine supports it."""
        from pyspark.errors import PySparkException

        if not _holds(after, before):
            return False
        try:
            self._alter(f"ALTER COLUMN {identifier(name)} TYPE {after}")
        except PySparkException:
            return False
        self.columns[name.lower()] = (name, after)
        return True

    def replace_rows(self, columns: Columns, files: Sequence[str]) -> None:
        """Replace all rows with those of these files."""
        from pyspark.sql.functions import lit

        sources = {name.lower(): name for name, _ in columns.values()}
        listed = [_cast(sources.get(name.lower()), kind, name) for name, kind in self.columns.values()]
        self.rows(files, columns.values()).selectExpr(*listed).writeTo(self._target).overwrite(lit(True))

    def merge(
        self,
        columns: Columns,
        key: Sequence[tuple[str, bool]],
        new: Sequence[str],
        gone: Sequence[str],
        carried: Mapping[str, str],
    ) -> None:
        """Bring the table from the rows of the ``gone`` files to those of the ``new`` ones.

        Args:
            columns: the columns of the new files.
            key: the names of the key columns, and whether their misfits are part of the key.
            new: paths of the new files; ``gone`` likewise.
            carried: the names, in the ``gone`` files, of columns whose values the table still has.
        """
        from pyspark.sql.functions import expr

        before = [_cast(carried.get(identity), kind, name) for identity, (name, kind) in columns.items()]
        after = [_cast(name, kind, name) for name, kind in columns.values()]
        former = [(carried[one], kind) for one, (_, kind) in columns.items() if one in carried]
        old = self.rows(gone, former).selectExpr(*before).selectExpr("struct(*) AS before")
        found = self.rows(new, columns.values()).selectExpr(*after).selectExpr("struct(*) AS after")
        together = found.join(old, expr(_same_key("after", "before", key)), "full_outer")
        same = " AND ".join(_same("after", "before", name, kind) for name, kind in columns.values())
        changes = together.where(f"after IS NULL OR before IS NULL OR NOT ({same})").selectExpr(
            "after IS NULL AS gone", "CASE WHEN after IS NULL THEN before ELSE after END AS row"
        )
        changes = changes.persist()
        try:
            if changes.isEmpty():
                return
            changes.createOrReplaceTempView(self._view)
            names = [identifier(name) for name, _ in columns.values()]
            mine = {name.lower() for name, _ in columns.values()}
            others = [identifier(name) for key, (name, _) in self.columns.items() if key not in mine]
            values = [f"changed.row.{name}" for name in names] + ["NULL"] * len(others)
            self.sql(
                f"MERGE INTO {self._target} AS there USING {self._view} AS changed"
                f" ON {_same_key('there', 'changed.row', key)}"
                " WHEN MATCHED AND changed.gone THEN DELETE"
                f" WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = changed.row.{name}' for name in names)}"
                f" WHEN NOT MATCHED AND NOT changed.gone THEN INSERT ({', '.join([*names, *others])})"
                f" VALUES ({', '.join(values)})"
            )
        finally:
            self._spark.catalog.dropTempView(self._view)
            changes.unpersist()

    def rows(self, files: Sequence[str], columns: Iterable[tuple[str, str]]) -> DataFrame:
        """Return the rows of the output's files; tasks read them like all other files of a load."""
        if not files:
            return self._spark.createDataFrame([], _defined(columns))
        schema = spark_types(self._place.parquet(files[0]).schema_arrow)
        kinds = _defined((one.name, sql_name(one.type)) for one in schema)
        listed = self._spark.createDataFrame([(path,) for path in files], "path string")
        spread = listed.repartition(min(len(files), self._spark.sparkContext.defaultParallelism))
        return spread.mapInArrow(partial(_read, self._place.uri, schema), kinds)


def _read(output: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read files; runs in a task."""
    place = Place(output)
    for batch in batches:
        for path in batch.column(0).to_pylist():
            with place.parquet(path) as file:
                for rows in file.iter_batches(use_threads=False):
                    yield from pa.Table.from_batches([rows]).cast(schema).to_batches()


def _defined(columns: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{identifier(name)} {kind}" for name, kind in columns)


def _cast(source: str | None, kind: str, name: str) -> str:
    return f"CAST({'NULL' if source is None else identifier(source)} AS {kind}) AS {identifier(name)}"


def _same(one: str, other: str, name: str, kind: str) -> str:
    left, right = f"{one}.{identifier(name)}", f"{other}.{identifier(name)}"
    # Maps are not comparable.
    return (
        f"map_entries({left}) <=> map_entries({right})" if kind.startswith("map") else f"{left} <=> {right}"
    )


def _same_key(one: str, other: str, key: Sequence[tuple[str, bool]]) -> str:
    found = []
    for name, can_be_misfit in key:
        found.append(f"{one}.{identifier(name)} <=> {other}.{identifier(name)}")
        if can_be_misfit:
            text = "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
            found.append(f"{one}.{_MISFITS}[{text}] <=> {other}.{_MISFITS}[{text}]")
    return " AND ".join(found)


def _holds(one: str, other: str) -> bool:
    """Whether a type holds all values of another."""
    if one == other or (one, other) == ("double", "float"):
        return True
    if one in _INTEGERS and other in _INTEGERS:
        return _INTEGERS.index(one) >= _INTEGERS.index(other)
    if not (one.startswith("decimal(") and other.startswith("decimal(")):
        return False
    (digits, scale), (other_digits, other_scale) = (
        map(int, text[len("decimal(") : -1].split(",")) for text in (one, other)
    )
    return digits >= other_digits and scale == other_scale
