"""A table of a catalog, altered and merged into with Spark's SQL.

A column's comment says which column of the loaded table it is, and since which load: so what a kill left of
an ``ALTER TABLE`` is found as it is, and goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import pyarrow as pa

from binx.errors import BinxError
from binx.lake.place import LakeStore
from binx.lake.published.spark_types import spark_types
from binx.lake.published.views import Spark
from binx.lake.state.loaded_state import RangeFile
from binx.rows.ddl.tokens import identifier
from binx.spark.frames import spread_of
from binx.spark.session import reason_of
from binx.spark.type_names import sql_name
from binx.spark.worker import keep_modules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITER, LIFE, LOAD = "binx.writer", "binx.table", "binx.load"
"""Table properties: the output that it belongs to, the loaded table, the last load that changed it."""
MISFITS = "_misfits"
"""The loader's column of values that their types cannot hold."""
VERSION_LOAD = "_load"
"""The identity of the column with the load that a version came with."""
_COMMENT = re.compile(r"binx (\S+) (\S+) (\d+)")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DELTA = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
"""Without these, Delta cannot rename or drop a column or widen its type."""
_NOT_DROPPED = ("incompatible", "Cannot find source column")
"""What Hive's metastore says of a column that is dropped between others, unless it is told not to look, and
Iceberg of one that the table's partitions or order are made of."""
_PLACES = "path string, rows bigint, bytes bigint, unknown bigint, deleted bigint"
_UTC = pa.timestamp("us", "UTC")

Columns = Mapping[str, tuple[str, str]]
"""Names and types by identity: a column's id, or the name of one of the loader's own columns."""

Key = Sequence[tuple[str, bool]]
"""The names of the key's columns, and whether their misfits are part of the key."""


class TableLayout(NamedTuple):
    """What a new table is partitioned by, and sorted by, as SQL; empty for nothing."""

    partitions: str = ""
    order: str = ""


class _CatalogColumn(NamedTuple):
    """A column as it is: the table and the column of the loader's that it is, and the load that made it."""

    name: str
    kind: str
    life: str = ""
    identity: str = ""
    load: int = -1


class CatalogTable:
    """A table of a catalog, changed by the load of a number for a loaded table's ``life``."""

    def __init__(
        self, spark: SparkSession, place: LakeStore, target: str, life: str = "", load: int = 0
    ) -> None:
        self._spark, self._place, self.target, self._life, self._load = spark, place, target, life, load
        self._view = f"binx_{uuid4().hex}"
        self._columns: dict[str, _CatalogColumn] = {}

    def sql(self, text: str) -> DataFrame:
        """Run a statement in the session."""
        return self._spark.sql(text)

    def _alter(self, text: str) -> None:
        self.sql(f"ALTER TABLE {self.target} {text}")

    @property
    def exists(self) -> bool:
        """Whether there is such a table."""
        return bool(self._spark.catalog.tableExists(self.target))

    def properties(self) -> dict[str, str]:
        """Return the table's properties; none if it does not exist."""
        if not self.exists:
            return {}
        return {row[0]: row[1] for row in self.sql(f"SHOW TBLPROPERTIES {self.target}").collect()}

    def note(self, **properties: str) -> None:
        """Set properties of the table."""
        self._alter(f"SET {_table_properties(properties)}")

    def take(self, writer: str, columns: Columns, layout: TableLayout, *, is_shared: bool) -> None:
        """Create the table for this output, or adopt an existing one that has no rows and no output.

        Raises:
            BinxError: the table has rows, is of another output, or cannot be made as wanted.
        """
        from pyspark.errors import PySparkException

        if self.exists:
            self._adopt(writer)
            return
        namespace, catalog = self.target.rpartition(".")[0], self.target.partition(".")[0].strip("`")
        if not is_shared:
            self.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
        engine = str(self._spark.conf.get(f"spark.sql.catalog.{catalog}", "")).lower()
        using = next((name for name in ("iceberg", "delta") if name in engine), "")
        properties = {WRITER: writer, **(_DELTA if using == "delta" else {})}
        defined = ", ".join(
            f"{identifier(name)} {kind} COMMENT {self._comment(identity)}"
            for identity, (name, kind) in columns.items()
        )
        parts = f"PARTITIONED BY ({layout.partitions})" if layout.partitions else ""
        self.sql(
            f"CREATE TABLE {self.target} ({defined}) {using and f'USING {using}'} {parts}"
            f" {_table_properties(properties)}"
        )
        if layout.order:
            try:
                self._alter(f"WRITE ORDERED BY {layout.order}")
            except PySparkException as error:
                self.sql(f"DROP TABLE {self.target}")
                raise BinxError(
                    f"it cannot be sorted by {layout.order}; that is SQL of Iceberg, whose extensions the"
                    " session needs (spark.sql.extensions=org.apache.iceberg.spark.extensions"
                    f".IcebergSparkSessionExtensions): {reason_of(error)}"
                ) from error

    def _adopt(self, writer: str) -> None:
        """Take an existing table: of outputs that do so at the same time, at least one sees the other."""
        claim = f"{WRITER}.{writer}"
        self.note(**{claim: writer})
        others = [
            name
            for name, value in self.properties().items()
            if (name == WRITER or name.startswith(f"{WRITER}.")) and value != writer
        ]
        has_rows = not others and self._spark.table(self.target).limit(1).count()
        if not others and not has_rows:
            self.note(**{WRITER: writer})
        self._alter(f"UNSET TBLPROPERTIES ('{claim}')")
        if others:
            raise BinxError(
                f"it is of another output, as its property {others[0]} says: drop it, unset that, or give"
                " another namespace"
            )
        if has_rows:
            raise BinxError(
                "it has rows that are not of this output: empty it, drop it, or give another namespace"
            )

    def _comment(self, identity: str) -> str:
        return Spark.text(f"binx {self._life} {identity} {self._load}")

    def _read(self) -> None:
        self._columns = {}
        for field in self._spark.table(self.target).schema:
            found = _COMMENT.fullmatch(field.metadata.get("comment", ""))
            own = (found[1], found[2], int(found[3])) if found else ()
            self._columns[field.name.lower()] = _CatalogColumn(
                field.name, field.dataType.simpleString(), *own
            )

    def conform(self, wanted: Columns, *, is_new: bool) -> set[str]:
        """Alter the table so that it has the wanted columns; columns of the user's own stay.

        Args:
            wanted: all wanted columns.
            is_new: whether all rows are replaced: then columns of the wanted names are taken for these.

        Returns:
            the columns, by identity, that were there before this load, with their values.
        """
        self._read()
        if is_new:
            for identity, (name, _) in wanted.items():
                column = self._columns.get(name.lower())
                if identity not in self._own and column is not None and column.life != self._life:
                    self._alter(f"ALTER COLUMN {identifier(name)} COMMENT {self._comment(identity)}")
            self._read()
        for column in list(self._columns.values()):
            is_left = column.life and (column.life != self._life or column.identity not in wanted)
            if is_left:
                self._drop(column)
        self._rename(wanted)
        for identity, (name, kind) in wanted.items():
            own = self._own.get(identity)
            if own is None:
                self._add(identity, name, kind)
            elif not _holds(own.kind, kind) and not self._widen(own, kind):
                self._drop(own)
                self._add(identity, name, kind)
        return {identity for identity, column in self._own.items() if column.load < self._load}

    @property
    def _own(self) -> dict[str, _CatalogColumn]:
        return {column.identity: column for column in self._columns.values() if column.life == self._life}

    def kinds(self) -> dict[str, str]:
        """Return the types that the table has, by lower-case names."""
        return {name: column.kind for name, column in self._columns.items()}

    def _rename(self, wanted: Columns) -> None:
        """Rename columns; one of those that take each other's names has another one in between."""
        while True:
            moving = [
                (column, wanted[identity][0])
                for identity, column in self._own.items()
                if identity in wanted and column.name.lower() != wanted[identity][0].lower()
            ]
            if not moving:
                return
            free = next((pair for pair in moving if pair[1].lower() not in self._columns), None)
            if free is None:
                column, name = moving[0]
                self._check_free(name)
                free = column, f"_binx_{column.identity}"
            column, name = free
            self._alter(f"RENAME COLUMN {identifier(column.name)} TO {identifier(name)}")
            del self._columns[column.name.lower()]
            self._columns[name.lower()] = column._replace(name=name)

    def _check_free(self, name: str) -> None:
        other = self._columns.get(name.lower())
        if other is not None and not other.life:
            raise BinxError(f"its column {other.name} is of your own, and the table has one of that name now")

    def _drop(self, column: _CatalogColumn) -> None:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            self._alter(f"DROP COLUMN {identifier(column.name)}")
        except (PySparkException, Py4JError) as error:
            if not any(text in str(error) for text in _NOT_DROPPED):
                raise
            name = f"_dropped_{column.name}_{self._load}"
            self.sql(f"UPDATE {self.target} SET {identifier(column.name)} = NULL")
            self._alter(f"RENAME COLUMN {identifier(column.name)} TO {identifier(name)}")
            self._alter(f"ALTER COLUMN {identifier(name)} COMMENT 'dropped'")
            self._columns[name.lower()] = _CatalogColumn(name, column.kind)
        del self._columns[column.name.lower()]

    def _add(self, identity: str, name: str, kind: str) -> None:
        self._check_free(name)
        self._alter(f"ADD COLUMN {identifier(name)} {kind} COMMENT {self._comment(identity)}")
        # Some types are stored as wider ones.
        self._read()

    def _widen(self, column: _CatalogColumn, kind: str) -> bool:
        """Widen a column's type, if the engine supports it."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if not _holds(kind, column.kind):
            return False
        try:
            self._alter(f"ALTER COLUMN {identifier(column.name)} TYPE {kind}")
        except (PySparkException, Py4JError):
            return False
        self._columns[column.name.lower()] = column._replace(kind=kind)
        return True

    def replace_rows(self, columns: Columns, files: Sequence[str]) -> None:
        """Replace all rows with those of these files."""
        from pyspark.sql.functions import lit

        sources = {name.lower(): name for name, _ in columns.values()}
        listed = [_cast(sources.get(key), one.kind, one.name) for key, one in self._columns.items()]
        self.rows(files, columns.values()).selectExpr(*listed).writeTo(self.target).overwrite(lit(True))

    def empty(self) -> None:
        """Delete all rows."""
        self.sql(f"DELETE FROM {self.target}")

    def merge(
        self, columns: Columns, key: Key, new: Sequence[str], gone: Sequence[str], carried: Columns
    ) -> None:
        """Bring the table from the rows of the ``gone`` files to those of the ``new`` ones.

        Args:
            columns: the columns of the new files.
            key: the key.
            new: paths of the new files; ``gone`` likewise.
            carried: the columns of the gone files whose values the table still has.
        """
        from pyspark.sql.functions import expr

        kinds = self.kinds()
        target = {identity: (name, kinds[name.lower()]) for identity, (name, _) in columns.items()}
        former = {identity: carried[identity][0] for identity in carried if identity in target}
        before = [_cast(former.get(identity), kind, name) for identity, (name, kind) in target.items()]
        after = [_cast(name, kind, name) for name, kind in target.values()]
        old = self.rows(gone, carried.values()).selectExpr(*before).selectExpr("struct(*) AS before")
        new_rows = self.rows(new, columns.values()).selectExpr(*after).selectExpr("struct(*) AS after")
        together = new_rows.join(old, expr(_same_key("after", "before", key)), "full_outer")
        same = " AND ".join(_same("after", "before", name, kind) for name, kind in target.values())
        changes = together.where(f"after IS NULL OR before IS NULL OR NOT ({same})").selectExpr(
            "after IS NULL AS gone", "CASE WHEN after IS NULL THEN before ELSE after END AS row"
        )
        names = [name for name, _ in target.values()]
        self._merge(
            changes,
            _same_key("there", "changed.row", key),
            "WHEN MATCHED AND changed.gone THEN DELETE WHEN MATCHED THEN UPDATE SET "
            + ", ".join(f"{name} = changed.row.{name}" for name in map(identifier, names)),
            names,
        )

    def merge_versions(
        self, columns: Columns, key: Key, new: Sequence[str], ended: Sequence[str], former: Columns
    ) -> None:
        """Replace the current versions of all keys that files have with these files' versions.

        Versions that came with this load go, too, so that merging again adds none twice.

        Args:
            columns: the columns of the table.
            key: the key.
            new: paths of files with versions.
            ended: paths of files with rows of ``former`` columns, whose keys' current versions are replaced,
                too.
        """
        kinds, load = self.kinds(), columns[VERSION_LOAD][0]
        target = [(name, kinds[name.lower()]) for name, _ in columns.values()]
        own = [column for column in columns.values() if column[0] != load]
        values = {name: _cast(name, kind, name) for name, kind in target}
        values[load] = f"CAST({self._load} AS {kinds[load.lower()]}) AS {identifier(load)}"
        rows = self.rows(new, own).selectExpr(*values.values())
        shown = {name for name, _ in key} | ({MISFITS} if any(misfit for _, misfit in key) else set())
        only_key = [_cast(name if name in shown else None, kind, name) for name, kind in target]
        keys = rows.selectExpr(*only_key)
        if ended:
            keys = keys.unionByName(self.rows(ended, former.values()).selectExpr(*only_key))
        number = (
            f"row_number() OVER (PARTITION BY {', '.join(_parts_of_key(key))} ORDER BY 1) = 1 AS is_first"
        )
        keys = keys.selectExpr("*", number).where("is_first").drop("is_first")
        changes = keys.selectExpr("true AS gone", "struct(*) AS row").unionByName(
            rows.selectExpr("false AS gone", "struct(*) AS row")
        )
        self._merge(
            changes,
            f"{_same_key('there', 'changed.row', key)} AND changed.gone"
            f" AND (there.is_current OR there.{identifier(load)} = {self._load})",
            "WHEN MATCHED THEN DELETE",
            [name for name, _ in target],
        )

    def _merge(self, changes: DataFrame, condition: str, matched: str, names: Sequence[str]) -> None:
        changes = changes.persist()
        try:
            if changes.isEmpty():
                return
            changes.createOrReplaceTempView(self._view)
            own = {name.lower() for name in names}
            others = [identifier(one.name) for key, one in self._columns.items() if key not in own]
            quoted = [*map(identifier, names)]
            values = [f"changed.row.{name}" for name in quoted] + ["NULL"] * len(others)
            self.sql(
                f"MERGE INTO {self.target} AS there USING {self._view} AS changed ON {condition} {matched}"
                f" WHEN NOT MATCHED AND NOT changed.gone THEN INSERT ({', '.join([*quoted, *others])})"
                f" VALUES ({', '.join(values)})"
            )
        finally:
            self._spark.catalog.dropTempView(self._view)
            changes.unpersist()

    def copy_rows(
        self, folder: str, columns: Columns, key: Key, keys: DataFrame | None, parts: int
    ) -> list[RangeFile]:
        """Write rows of the table to files of a folder: those with one of the keys, or all.

        Args:
            folder: where, below the output.
            columns: the columns to write.
            key: the key, by whose names ``keys`` has columns; of misfits, by ``misfit <number>``.
            parts: how many tasks write the rows of keys.
        """
        rows = self._spark.table(self.target).alias("there")
        if keys is not None:
            from pyspark.sql.functions import expr

            conditions = []
            for number, (name, can_be_misfit) in enumerate(key):
                conditions.append(f"there.{identifier(name)} <=> wanted.{identifier(name)}")
                if can_be_misfit:
                    conditions.append(f"there.{_misfit(name)} <=> wanted.`misfit {number}`")
            rows = rows.join(keys.alias("wanted"), expr(" AND ".join(conditions)), "left_semi")
            rows = rows.repartition(parts)
        names = [name for name, _ in columns.values()]
        # Spark 3.5 looks for backticks and points in the names of columns that a task gets.
        plain = rows.selectExpr(*map(identifier, names)).toDF(*(f"c{number}" for number in range(len(names))))
        found = plain.mapInArrow(partial(_write, self._place.uri, folder, names), _PLACES).collect()
        return [RangeFile(*row) for row in found]

    def rows(self, files: Sequence[str], columns: Iterable[tuple[str, str]]) -> DataFrame:
        """Return the rows of the output's files; tasks read them like all other files of a load."""
        if not files:
            return self._spark.createDataFrame([], _defined(columns))
        schema = spark_types(self._place.parquet(files[0]).schema_arrow)
        kinds = _defined((field.name, sql_name(field.type)) for field in schema)
        spread = spread_of(self._spark, files, pa.string())
        return spread.mapInArrow(partial(_read, self._place.uri, schema), kinds)


def _read(output: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read files; runs in a task."""
    keep_modules()
    place = LakeStore(output)
    for batch in batches:
        for path in batch.column(0).to_pylist():
            with place.parquet(path) as file:
                for rows in file.iter_batches(use_threads=False):
                    yield from pa.Table.from_batches([rows]).cast(schema).to_batches()


def _write(
    output: str, folder: str, names: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write rows to a file with columns of these names, and yield what it has; runs in a task."""
    keep_modules()
    place, path = LakeStore(output), f"{folder}/{uuid4().hex}.parquet"
    writer, rows, size, unknown, deleted = None, 0, 0, 0, 0
    try:
        for batch in batches:
            part = pa.Table.from_batches([batch]).rename_columns([*names])
            for number, field in enumerate(part.schema):
                if pa.types.is_timestamp(field.type) and field.type.tz is not None:
                    part = part.set_column(number, field.name, part.column(number).cast(_UTC))
            if not len(part):
                continue
            writer = writer or place.writer(path, part.schema)
            writer.write_table(part)
            rows, size = rows + len(part), size + part.nbytes
            unknown += len(part) - part.column("_unknown").null_count
            if "_deleted" in part.column_names:
                deleted += sum(part.column("_deleted").to_pylist())
    finally:
        if writer is not None:
            writer.close()
    if rows:
        found = {"path": [path], "rows": [rows], "bytes": [size], "unknown": [unknown], "deleted": [deleted]}
        yield pa.RecordBatch.from_pydict(found)


def _defined(columns: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{identifier(name)} {kind}" for name, kind in columns)


def _table_properties(properties: Mapping[str, str]) -> str:
    listed = ", ".join(f"{Spark.text(name)} = {Spark.text(value)}" for name, value in properties.items())
    return f"TBLPROPERTIES ({listed})"


def _cast(source: str | None, kind: str, name: str) -> str:
    return f"CAST({'NULL' if source is None else identifier(source)} AS {kind}) AS {identifier(name)}"


def _same(left: str, other: str, name: str, kind: str) -> str:
    left, right = f"{left}.{identifier(name)}", f"{other}.{identifier(name)}"
    # Maps are not comparable.
    return (
        f"map_entries({left}) <=> map_entries({right})" if kind.startswith("map") else f"{left} <=> {right}"
    )


def _misfit(name: str) -> str:
    return f"{MISFITS}[{Spark.text(name)}]"


def _parts_of_key(key: Key) -> list[str]:
    return [part for name, misfit in key for part in (identifier(name), *([_misfit(name)] if misfit else []))]


def _same_key(left: str, other: str, key: Key) -> str:
    return " AND ".join(f"{left}.{part} <=> {other}.{part}" for part in _parts_of_key(key))


def _holds(wide: str, other: str) -> bool:
    """Whether a type holds all values of another."""
    if wide == other or (wide, other) == ("double", "float"):
        return True
    if wide in _INTEGERS and other in _INTEGERS:
        return _INTEGERS.index(wide) >= _INTEGERS.index(other)
    if not (wide.startswith("decimal(") and other.startswith("decimal(")):
        return False
    (digits, scale), (other_digits, other_scale) = (
        map(int, text[len("decimal(") : -1].split(",")) for text in (wide, other)
    )
    return digits >= other_digits and scale == other_scale
