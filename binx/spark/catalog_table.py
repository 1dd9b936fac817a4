"""A table of a catalog, altered and merged into with Spark's SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from binx.errors import BinxError
from binx.lake.place import LakeStore
from binx.lake.published.spark_types import spark_types
from binx.rows.ddl.tokens import identifier
from binx.spark.type_names import sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WRITER, LAST_LOAD = "binx.writer", "binx.load"
"""Table properties: the output that the table belongs to, and the last load that changed it."""
MISFITS = "_misfits"
"""The loader's column of values that their types cannot hold."""
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DELTA = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
"""Without these, Delta cannot rename or drop a column or widen its type."""

Columns = Mapping[str, tuple[str, str]]
"""Names and types by identity: a column's id, or the name of one of the loader's own columns."""


class CatalogTable:
    """A table of a catalog; ``columns`` are its names and types, by lower-case name."""

    def __init__(self, spark: SparkSession, place: LakeStore, target: str, view: str) -> None:
        self._spark, self._place, self._target, self._view = spark, place, target, view
        self.columns: dict[str, tuple[str, str]] = {}

    def sql(self, text: str) -> DataFrame:
        """Run a statement in the session."""
        return self._spark.sql(text)

    def _alter(self, text: str) -> None:
        self.sql(f"ALTER TABLE {self._target} {text}")

    def set_property(self, name: str, value: str) -> None:
        """Set a property of the table."""
        self._alter(f"SET TBLPROPERTIES ('{name}' = '{value}')")

    def _exists(self) -> bool:
        return self._spark.catalog.tableExists(self._target)

    def is_of(self, writer: str) -> bool:
        """Whether the table exists and belongs to this output."""
        if not self._exists():
            return False
        return (_WRITER, writer) in {
            (row[0], row[1]) for row in self.sql(f"SHOW TBLPROPERTIES {self._target}").collect()
        }

    def take(self, writer: str, columns: Columns, *, is_shared: bool) -> None:
        """Create the table for this output, or adopt an existing one without rows.

        Raises:
            BinxError: the table has rows.
        """
        if self._exists():
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
        self.columns = {field.name.lower(): (field.name, field.dataType.simpleString()) for field in fields}
        is_known = is_trusted and all(
            self.columns.get(name.lower(), ("", ""))[1] == kind for name, kind in left.values()
        )
        names = {name.lower() for name, _ in wanted.values()}
        own = {identity: name for identity, (name, _) in (left if is_known else wanted).items()}
        for identity, (name, _) in left.items():
            if (identity not in wanted) if is_known else (name.lower() not in names):
                self._drop(name)
                own.pop(identity, None)
        before = dict(own)
        self._rename(own, wanted)
        for identity, (name, kind) in wanted.items():
            former = self.columns.get(name.lower())
            if former is None:
                self._add(name, kind)
                own.pop(identity, None)
                continue
            is_known = is_known and identity in own
            if not _holds(former[1], kind) and not self._widen(name, former[1], kind):
                self._drop(name)
                self._add(name, kind)
                own.pop(identity, None)
        return {identity: before[identity] for identity in own} if is_known else None

    def _rename(self, own: dict[str, str], wanted: Columns) -> None:
        """Rename columns; of two that swap names, one is dropped and added again."""
        while True:
            moving = {
                identity: name
                for identity, name in own.items()
                if name.lower() != wanted[identity][0].lower()
            }
            if not moving:
                return
            free = next(
                (identity for identity in moving if wanted[identity][0].lower() not in self.columns), None
            )
            if free is None:
                self._drop(own.pop(next(iter(moving))))
                continue
            _, kind = self.columns.pop(own[free].lower())
            self._alter(f"RENAME COLUMN {identifier(own[free])} TO {identifier(wanted[free][0])}")
            own[free] = wanted[free][0]
            self.columns[own[free].lower()] = (own[free], kind)

    def _drop(self, name: str) -> None:
        if self.columns.pop(name.lower(), None) is not None:
            self._alter(f"DROP COLUMN {identifier(name)}")

    def _add(self, name: str, kind: str) -> None:
        self._alter(f"ADD COLUMN {identifier(name)} {kind}")
        # Some types are stored as wider ones.
        field = next(
            field for field in self._spark.table(self._target).schema if field.name.lower() == name.lower()
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
        former = [(carried[identity], kind) for identity, (_, kind) in columns.items() if identity in carried]
        old = self.rows(gone, former).selectExpr(*before).selectExpr("struct(*) AS before")
        new_rows = self.rows(new, columns.values()).selectExpr(*after).selectExpr("struct(*) AS after")
        together = new_rows.join(old, expr(_same_key("after", "before", key)), "full_outer")
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
            own = {name.lower() for name, _ in columns.values()}
            others = [identifier(name) for key, (name, _) in self.columns.items() if key not in own]
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
        kinds = _defined((field.name, sql_name(field.type)) for field in schema)
        listed = self._spark.createDataFrame([(path,) for path in files], "path string")
        spread = listed.repartition(min(len(files), self._spark.sparkContext.defaultParallelism))
        return spread.mapInArrow(partial(_read, self._place.uri, schema), kinds)


def _read(output: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read files; runs in a task."""
    place = LakeStore(output)
    for batch in batches:
        for path in batch.column(0).to_pylist():
            with place.parquet(path) as file:
                for rows in file.iter_batches(use_threads=False):
                    yield from pa.Table.from_batches([rows]).cast(schema).to_batches()


def _defined(columns: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{identifier(name)} {kind}" for name, kind in columns)


def _cast(source: str | None, kind: str, name: str) -> str:
    return f"CAST({'NULL' if source is None else identifier(source)} AS {kind}) AS {identifier(name)}"


def _same(left: str, other: str, name: str, kind: str) -> str:
    left, right = f"{left}.{identifier(name)}", f"{other}.{identifier(name)}"
    # Maps are not comparable.
    return (
        f"map_entries({left}) <=> map_entries({right})" if kind.startswith("map") else f"{left} <=> {right}"
    )


def _same_key(left: str, other: str, key: Sequence[tuple[str, bool]]) -> str:
    conditions = []
    for name, can_be_misfit in key:
        conditions.append(f"{left}.{identifier(name)} <=> {other}.{identifier(name)}")
        if can_be_misfit:
            text = "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
            conditions.append(f"{left}.{MISFITS}[{text}] <=> {other}.{MISFITS}[{text}]")
    return " AND ".join(conditions)


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
