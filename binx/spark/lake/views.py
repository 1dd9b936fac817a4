"""``views.sql`` for DuckDB and ``views.spark.sql`` for Spark: a view of each table, and of its history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import pyarrow as pa

from binx.rows.columns.names import SYSTEM_COLUMNS
from binx.spark.lake.columns import Part, United, living_columns, parts_of, unite
from binx.spark.lake.model import Life, LifeState, RangeFile, TableName
from binx.spark.lake.place import Place
from binx.spark.lake.state import State

_HEAD = "-- Views as of the last load, or export with --views; each writes this file anew.\n\n"


class DuckDb:
    """What DuckDB calls things."""

    path = "views.sql"
    types: ClassVar = {"text": "VARCHAR", "map": "MAP(VARCHAR, VARCHAR)", "plain time": "TIMESTAMP"}

    @staticmethod
    def name(name: str) -> str:
        """An identifier."""
        return '"' + name.replace('"', '""') + '"'

    @staticmethod
    def folded(name: TableName) -> str:
        """What two views must not share."""
        return str(name).lower()

    def view(self, name: TableName) -> str:
        """How a view's definition begins."""
        schema, table = self.name(name.db), self.name(name.table)
        return f"CREATE SCHEMA IF NOT EXISTS {schema};\nCREATE OR REPLACE VIEW {schema}.{table} AS\n"

    @staticmethod
    def files(place: Place, paths: Sequence[str]) -> str:
        """What some files hold."""
        listed = ", ".join(_text(place.shown(path)) for path in paths)
        return f"read_parquet([{listed}], hive_partitioning = false)"


class Spark:
    """What Spark calls things."""

    path = "views.spark.sql"
    types: ClassVar = {"text": "STRING", "map": "MAP<STRING, STRING>", "plain time": "TIMESTAMP_NTZ"}

    @staticmethod
    def name(name: str) -> str:
        """An identifier."""
        return "`" + name.replace("`", "``") + "`"

    @staticmethod
    def folded(name: TableName) -> str:
        """What two views must not share."""
        return f"{name.db}_{name.table}".lower()

    def view(self, name: TableName) -> str:
        """How a view's definition begins; a temporary view's name has one part."""
        return f"CREATE OR REPLACE TEMPORARY VIEW {self.name(f'{name.db}_{name.table}')} AS\n"

    @staticmethod
    def files(place: Place, paths: Sequence[str]) -> str:
        """What some files hold, as one pattern."""
        special = re.compile(r"([\[\]{}*?,\\])")
        escaped = [special.sub(r"\\\1", path) for path in paths]
        root = special.sub(r"\\\1", re.sub("^s3://", "s3a://", place.shown("").rstrip("/")))
        inside = escaped[0] if len(escaped) == 1 else "{" + ",".join(escaped) + "}"
        return f"parquet.`{root}/{inside}`"


Dialect = DuckDb | Spark


def write_views(state: State, lives: Sequence[Life], place: Place) -> None:
    """Write the views of what is committed."""
    for dialect in (DuckDb(), Spark()):
        place.put(dialect.path, "".join(_views(state, lives, place, dialect)).encode())


def _views(state: State, lives: Sequence[Life], place: Place, dialect: Dialect) -> Iterator[str]:
    yield _HEAD
    living = {life.name: life for life in lives if life.name is not None}
    taken: set[str] = set()

    def free(name: TableName, suffix: str = "") -> TableName:
        found = TableName(name.db, name.table + suffix)
        while dialect.folded(found) in taken:
            found = TableName(name.db, f"{found.table}_")
        taken.add(dialect.folded(found))
        return found

    # Tables take their names before views that are made of them.
    for name, view in [(name, free(name)) for name in sorted(living)]:
        life = living[name]
        loaded = state.lives.get(life.id)
        if loaded is not None:
            yield from _state_views(loaded, view, free(view, "_versions"), place, dialect)
        parts = parts_of(name, lives)
        if parts:
            columns = unite(parts, living_columns(lives, name))
            yield dialect.view(free(view, "_history")) + _history(parts, columns, place, dialect) + ";\n\n"


def _state_views(
    loaded: LifeState, name: TableName, versions: TableName, place: Place, dialect: Dialect
) -> Iterator[str]:
    def select(files: Iterable[RangeFile]) -> str:
        return f"SELECT * FROM {dialect.files(place, [file.path for file in files])};\n\n"

    if loaded.ranges:
        yield dialect.view(name) + select(loaded.ranges)
    listed = [file for files in loaded.versions or () for file in files]
    if listed:
        yield dialect.view(versions) + select(listed)


def _history(parts: Sequence[Part], columns: Sequence[United], place: Place, dialect: Dialect) -> str:
    absent = {"_json_diff": dialect.types["text"], "_misfits": dialect.types["map"]}
    selects = []
    for number, part in enumerate(parts):
        own = set(part.system_columns)
        named = [
            dialect.name(name) if name in own else f"CAST(NULL AS {absent[name]}) AS {dialect.name(name)}"
            for name in SYSTEM_COLUMNS
        ]
        named += [f"{_text(part.files[0].chain)} AS _chain", f"{_text(part.version.name)} AS _schema_version"]
        named += [_column(one, number, dialect) for one in columns]
        text = f"SELECT {', '.join(named)}\nFROM {dialect.files(place, [file.path for file in part.files])}"
        if part.spans:
            spans = (f"_commit_version BETWEEN {first} AND {last}" for first, last in part.spans)
            text += f"\nWHERE ({' OR '.join(spans)})"
            if part.files[0].dropped:
                text += f" AND _commit_version NOT IN ({', '.join(map(str, part.files[0].dropped))})"
        selects.append(text)
    return "\nUNION ALL\n".join(selects)


def _column(column: United, number: int, dialect: Dialect) -> str:
    name = dialect.name(column.name)
    if number not in column.names:
        return f"NULL AS {name}"
    own, kind = column.names[number]
    source = dialect.name(own)
    if kind != column.type:
        source = f"CAST({source} AS {_type(column.type, dialect)})"
    return f"{source} AS {name}"


def _type(kind: pa.DataType, dialect: Dialect) -> str:
    """A type that :func:`~binx.spark.lake.columns.common_type` gives."""
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return dialect.types["plain time"]
    return {pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT", pa.float64(): "DOUBLE"}[kind]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
