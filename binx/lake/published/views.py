"""Read files of several schema versions as one table, and write views of them for DuckDB and Spark.

Columns are united by identity, and types if that is exact. ``views.sql`` and ``views.spark.sql`` have a view
of each table and of its history, and ``_loads``. The folder stands in one line of each: where it was moved or
is mounted elsewhere, that line alone is to be changed.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar, NamedTuple

import pyarrow as pa

from binx.lake.arrow.column_types import arrow_type, can_misfit, output_names
from binx.lake.dataset.files import Version
from binx.lake.dataset.loaded_chains import ChangePosition
from binx.lake.place import LakeStore
from binx.lake.published.loads import FOLDER as LOADS
from binx.lake.state.loaded_state import LifeState, RangeFile, State
from binx.lake.table_name import TableName
from binx.lake.tables.lives import FileSpan, TableHistory
from binx.rows.columns.arrow_schema import UTC_TIMESTAMP, wider
from binx.rows.columns.names import SYSTEM_COLUMNS
from binx.rows.ddl.tokens import identifier
from binx.sql.literals import comment_text

ORDER = "_order"
"""The column that orders all row images of a table, across servers."""

REMOVED = "_removed_at"
"""The column that says when a DROP, TRUNCATE or RENAME took the table away that an image is of."""

LAST_ROW = (1 << 63) - 1
"""The row of images of a base, which come after all changes that are in the base."""

VERSIONS, HISTORY = "_versions", "_history"
"""What the names of a table's further views end in."""

_FOLDER = re.compile(r"^(CREATE OR REPLACE MACRO \w+\(\) AS ).*;$", re.MULTILINE)


class ViewPart(NamedTuple):
    """Units whose rows have the same columns; a single unit if not all rows of its file count.

    ``base`` is the place of the base that they are of, None for rows of logs; ``removed`` when their table
    lost its name (µs since 1970), 0 if it has it.
    """

    units: tuple[FileSpan, ...]
    is_whole: bool
    columns: tuple[tuple[str, pa.DataType, Hashable], ...]
    base: ChangePosition | None = None
    removed: int = 0

    @property
    def version(self) -> Version:
        """The schema record of its files."""
        return self.units[0].version

    @property
    def chain_rank(self) -> int:
        """The place of its chain of logs in the order of application."""
        return self.units[0].at.rank if self.base is None else self.base.rank

    @property
    def system_columns(self) -> list[str]:
        """The data set's own columns that the files have."""
        columns = self.version.columns
        optional = {
            "_json_diff": any(column.mysql_type.lower() == "json" for column in columns),
            "_misfits": any(map(can_misfit, columns)),
        }
        return [name for name in SYSTEM_COLUMNS if optional.get(name, True)]


@dataclass(slots=True)
class United:
    """A column of the united table; ``names`` are its names and types in the files, by part number."""

    name: str
    type: pa.DataType
    names: dict[int, tuple[str, pa.DataType]] = field(default_factory=dict)


def parts_of(table: TableName, lives: Sequence[TableHistory]) -> list[ViewPart]:
    """Return the files with a table's changes, including those of former tables of its name."""
    # Of shards, each of which has the table, the columns of the first one count; the others' go by name.
    living = next((life for life in lives if life.name == table), None)
    ids: dict[str, Hashable] = {}
    if living is not None and living.epochs:
        ids = {column.name.lower(): column.id for column in living.epochs[-1].columns}
    # What many files have in common is compared once.
    shapes: dict[tuple[tuple[str, pa.DataType, Hashable], ...], int] = {}
    columns: dict[Hashable, tuple[tuple[str, pa.DataType, Hashable], ...]] = {}
    grouped: dict[tuple[Hashable, ...], list[FileSpan]] = {}
    for life in lives:
        if life.name != table and not (
            life.name is None and life.units and life.units[-1].file.table == table
        ):
            continue
        known: dict[tuple[Hashable, ...], int] = {}
        for unit in [unit for unit in life.units if not unit.file.gone]:
            file = unit.file
            version = file.table, file.version, unit.epoch, unit.ids
            if version not in known:
                own = tuple(_columns_in(unit, life, None if life is living else ids))
                known[version] = shapes.setdefault(own, len(shapes))
                columns[known[version]] = own
            whole = (unit.first, unit.last) == (file.first, file.last)
            whole = whole and not (file.spans or file.dropped or unit.excluded)
            where = "" if whole else (unit.first, unit.last, file.identity)
            base = life.base.at if life.base is not None and unit.at.rank < 0 else None
            removed = life.left.get(table, 0)
            key = (file.chain, where, base, removed, file.table, file.version, known[version])
            grouped.setdefault(key, []).append(unit)
    return [
        ViewPart(tuple(units), where == "", columns[shape], base, removed)  # type: ignore[arg-type]
        for (_, where, base, removed, _, _, shape), units in grouped.items()
    ]


def _columns_in(
    unit: FileSpan, life: TableHistory, ids: Mapping[str, Hashable] | None
) -> Iterator[tuple[str, pa.DataType, Hashable]]:
    """Yield the columns of a unit's file with their identities; ``ids`` are another life's, by name."""
    known = {column.id: column.name for column in life.epochs[unit.epoch].columns}
    for number, column in zip(unit.ids, unit.version.columns, strict=True):
        if number >= 0:
            name = known.get(number, column.source_name).lower()
            identity = number if ids is None else ids.get(name, name)
            yield column.name, arrow_type(column.arrow_type), identity


def unite(parts: Sequence[ViewPart], living: Iterable[tuple[Hashable, str]]) -> list[United]:
    """Unite the columns of all parts: the table's current columns, in order, then former ones.

    If no type holds the values of two types exactly, the second gets a separate column ``name@type``.
    """
    names: dict[Hashable, str] = dict(living)
    by_identity: dict[Hashable, list[United]] = {identity: [] for identity in names}
    for number, part in reversed(list(enumerate(parts))):
        for name, kind, identity in part.columns:
            names.setdefault(identity, name)
            listed = by_identity.setdefault(identity, [])
            for column in listed:
                together = common_type(column.type, kind)
                if together is not None:
                    column.type = together
                    break
            else:
                column = United(names[identity] + (f"@{kind}" if listed else ""), kind)
                listed.append(column)
            column.names[number] = (name, kind)
    columns = [column for listed in by_identity.values() for column in listed]
    taken = {name.lower() for name in SYSTEM_COLUMNS} | {"_chain", "_schema_version", ORDER, REMOVED}
    for column in columns:
        while column.name.lower() in taken:
            column.name += "_"
        taken.add(column.name.lower())
    return columns


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds all values of both exactly; None if there is none."""
    common = wider(one, other)
    # Texts would be spelled as no server does, and a date is of no time zone.
    is_exact = one == other or not (pa.types.is_string(common) or common == UTC_TIMESTAMP)
    return common if is_exact else None


def living_columns(lives: Sequence[TableHistory], table: TableName) -> list[tuple[Hashable, str]]:
    """Return the identities and names of a table's current columns."""
    life = next((life for life in lives if life.name == table and life.epochs), None)
    return [] if life is None else [(column.id, column.name) for column in life.epochs[-1].columns]


def _head(state: State, place: LakeStore, dialect: Dialect) -> str:
    origin = f"load {state.version}" if state.version else "the export with --views"
    return (
        f"-- Views as of {origin}; each writes this file again. If the folder is elsewhere, change the next"
        f" line.\n{dialect.folder(place)};\n\n"
    )


def _variable(place: LakeStore) -> str:
    """Return a name for the folder of a place, so that views of several places go together."""
    return f"binx_folder_{hashlib.sha256(place.uri.encode()).hexdigest()[:8]}"


class DuckDb:
    """DuckDB's SQL dialect."""

    path = "views.sql"
    types: ClassVar = {
        "text": "VARCHAR",
        "map": "MAP(VARCHAR, VARCHAR)",
        "time": "TIMESTAMPTZ",
        "plain time": "TIMESTAMP",
    }

    @staticmethod
    def name(name: str) -> str:
        """Quote an identifier."""
        return '"' + name.replace('"', '""') + '"'

    @staticmethod
    def text(value: str) -> str:
        """Write a text as a literal."""
        return "'" + value.replace("'", "''") + "'"

    @staticmethod
    def struct(fields: Iterable[tuple[str, str]]) -> str:
        """Return a struct of named expressions."""
        return "{" + ", ".join(f"'{name}': {value}" for name, value in fields) + "}"

    @staticmethod
    def folded(name: TableName) -> str:
        """Return the name in the form that must be unique."""
        return str(name).lower()

    def view(self, name: TableName) -> str:
        """Return the beginning of a view's definition."""
        schema, table = self.name(name.db), self.name(name.table)
        return f"CREATE SCHEMA IF NOT EXISTS {schema};\nCREATE OR REPLACE VIEW {schema}.{table} AS\n"

    def own_view(self, name: str) -> str:
        """Return the beginning of a view's definition that is of no database."""
        return f"CREATE OR REPLACE VIEW {self.name(name)} AS\n"

    @staticmethod
    def folder(place: LakeStore) -> str:
        """Return the statement that says where the files are."""
        return f"CREATE OR REPLACE MACRO {_variable(place)}() AS {DuckDb.text(place.shown(''))}"

    @staticmethod
    def script(place: LakeStore) -> str:
        """Return the script that was written, for where the folder is now."""
        script = (place.read(DuckDb.path) or b"").decode()
        folder = DuckDb.text(place.shown(""))
        return _FOLDER.sub(lambda match: f"{match[1]}{folder};", script, count=1)

    @staticmethod
    def files(place: LakeStore, paths: Sequence[str]) -> str:
        """Return a table expression that reads files."""
        listed = ", ".join(map(DuckDb.text, paths))
        return f"read_parquet([{_variable(place)}() || one for one in [{listed}]], hive_partitioning = false)"


class Spark:
    """Spark's SQL dialect."""

    path = "views.spark.sql"
    types: ClassVar = {
        "text": "STRING",
        "map": "MAP<STRING, STRING>",
        "time": "TIMESTAMP",
        "plain time": "TIMESTAMP_NTZ",
    }

    @staticmethod
    def name(name: str) -> str:
        """Quote an identifier."""
        return identifier(name)

    @staticmethod
    def text(value: str) -> str:
        """Write a text as a literal, in which backslashes escape."""
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    @staticmethod
    def struct(fields: Iterable[tuple[str, str]]) -> str:
        """Return a struct of named expressions."""
        return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields) + ")"

    @staticmethod
    def folded(name: TableName) -> str:
        """Return the name in the form that must be unique."""
        return f"{name.db}_{name.table}".lower()

    def view(self, name: TableName) -> str:
        """Return the beginning of a view's definition; a temporary view's name has one part."""
        return self.own_view(f"{name.db}_{name.table}")

    def own_view(self, name: str) -> str:
        """Return the beginning of a view's definition that is of no database."""
        return f"CREATE OR REPLACE TEMPORARY VIEW {self.name(name)} AS\n"

    @staticmethod
    def folder(place: LakeStore) -> str:
        """Return the statement that says where the files are."""
        root = _escaped(re.sub("^s3://", "s3a://", place.shown("").rstrip("/")))
        return f"SET {identifier(_variable(place))}={identifier(root)}"

    @staticmethod
    def files(place: LakeStore, paths: Sequence[str]) -> str:
        """Return a table expression that reads files, as one pattern."""
        escaped = list(map(_escaped, paths))
        inside = escaped[0] if len(escaped) == 1 else "{" + ",".join(escaped) + "}"
        return f"parquet.`${{{_variable(place)}}}/{inside}`"


Dialect = DuckDb | Spark


def _escaped(path: str) -> str:
    """Return a path as a pattern of Hadoop that is that path alone."""
    return re.sub(r"([\[\]{}*?,\\])", r"\\\1", path)


def has_views(state: State, place: LakeStore) -> bool:
    """Whether the committed state's views exist."""
    content = place.read(Spark.path)
    return content is not None and content.startswith(_head(state, place, Spark()).encode())


def write_views(state: State, lives: Sequence[TableHistory], place: LakeStore) -> None:
    """Write the committed state's views."""
    living: dict[TableName, list[str]] = defaultdict(list)
    for life in lives:
        if life.name is not None:
            living[life.name].append(life.id)
    parts = {name: parts_of(name, lives) for name in living}
    histories = {
        name: (listed, unite(listed, living_columns(lives, name))) for name, listed in parts.items() if listed
    }
    for dialect in (DuckDb(), Spark()):
        place.put(dialect.path, "".join(_views(state, living, histories, place, dialect)).encode())


def _views(
    state: State,
    living: Mapping[TableName, Sequence[str]],
    histories: Mapping[TableName, tuple[Sequence[ViewPart], Sequence[United]]],
    place: LakeStore,
    dialect: Dialect,
) -> Iterator[str]:
    yield _head(state, place, dialect)
    ids = {life for listed in living.values() for life in listed}
    replaced = {loaded.name: loaded for life, loaded in state.lives.items() if life not in ids}
    taken: set[str] = set()

    def free(name: TableName, suffix: str = "") -> TableName:
        candidate = TableName(name.db, name.table + suffix)
        while dialect.folded(candidate) in taken:
            candidate = TableName(name.db, f"{candidate.table}_")
        taken.add(dialect.folded(candidate))
        return candidate

    loads = [file.path for file in place.files(LOADS)]
    if loads:
        yield f"{dialect.own_view(LOADS)}SELECT * FROM {dialect.files(place, loads)};\n\n"
    # Tables take their names before the derived views do.
    for name, view in [(name, free(name)) for name in sorted(living)]:
        loaded = [state.lives[life] for life in living[name] if life in state.lives]
        loaded = loaded or ([replaced[name]] if name in replaced else [])
        loaded = [one for one in loaded if one.catalog is None]
        if loaded:
            reasons = [
                text
                for life in living[name]
                if life in state.records
                for text in state.records[life].sentences
            ]
            yield from (f"-- Incomplete: {comment_text(text)}\n" for text in reasons)
            yield from _state_views(loaded, view, free(view, VERSIONS), place, dialect)
        if name in histories:
            yield dialect.view(free(view, HISTORY)) + _history(*histories[name], place, dialect) + ";\n\n"


def _state_views(
    loaded: Sequence[LifeState], name: TableName, versions: TableName, place: LakeStore, dialect: Dialect
) -> Iterator[str]:
    """Yield the views of a table's rows and versions, each shard's."""
    for view, kind in ((name, "current"), (versions, "scd2")):
        files = [(one, one.ranges if kind == "current" else one.versions) for one in loaded]
        listed = [(one, own) for one, own in files if own]
        if listed:
            yield f"{dialect.view(view)}{_stored(listed, kind, place, dialect)};\n\n"


def _stored(
    listed: Sequence[tuple[LifeState, Sequence[RangeFile]]], kind: str, place: LakeStore, dialect: Dialect
) -> str:
    """Return the SQL of the rows of a table, whose columns may differ from shard to shard."""
    columns = [_columns_of(one) for one, _ in listed]
    if all(own == columns[0] for own in columns):
        return f"SELECT * FROM {dialect.files(place, [file.path for _, own in listed for file in own])}"
    united = unite(
        [ViewPart((), True, own) for own, _ in columns], [(number, name) for name, _, number in columns[0][0]]
    )
    times = ["_commit_timestamp"] if kind == "current" else ["valid_from", "valid_to", "is_current"]
    selects = []
    for number, (_, files) in enumerate(listed):
        has_misfits, has_deleted = columns[number][1]
        selected = [_column(column, number, dialect) for column in united]
        selected += ["_commit_version", *times, "_unknown", "_chain"]
        if any(misfits for _, (misfits, _) in columns):
            selected.append(
                "_misfits" if has_misfits else f"CAST(NULL AS {dialect.types['map']}) AS _misfits"
            )
        if kind == "current" and any(deleted for _, (_, deleted) in columns):
            selected.append("_deleted" if has_deleted else "false AS _deleted")
        paths = [file.path for file in files]
        selects.append(f"SELECT {', '.join(selected)}\nFROM {dialect.files(place, paths)}")
    return "\nUNION ALL\n".join(selects)


def _columns_of(
    loaded: LifeState,
) -> tuple[tuple[tuple[str, pa.DataType, Hashable], ...], tuple[bool, bool]]:
    """Return the columns of a state's files, by name, and whether they have ``_misfits`` and ``_deleted``."""
    names = output_names(loaded.columns)
    own = ((names[column.id], arrow_type(column.arrow_type)) for column in loaded.columns)
    misfits = any(map(can_misfit, loaded.columns))
    return tuple((name, kind, name.lower()) for name, kind in own), (misfits, loaded.soft_deletes)


def _history(parts: Sequence[ViewPart], columns: Sequence[United], place: LakeStore, dialect: Dialect) -> str:
    absent = {"_json_diff": dialect.types["text"], "_misfits": dialect.types["map"]}
    selects = []
    for number, part in enumerate(parts):
        own = set(part.system_columns)
        named = [
            dialect.name(name) if name in own else f"CAST(NULL AS {absent[name]}) AS {dialect.name(name)}"
            for name in SYSTEM_COLUMNS
        ]
        named += [
            f"{dialect.text(part.units[0].file.chain)} AS _chain",
            f"{dialect.text(part.version.name)} AS _schema_version",
            f"{_order(part, dialect)} AS {ORDER}",
            f"{_removed(part, dialect)} AS {REMOVED}",
        ]
        named += [_column(column, number, dialect) for column in columns]
        paths = [unit.file.path for unit in part.units]
        text = f"SELECT {', '.join(named)}\nFROM {dialect.files(place, paths)}"
        if not part.is_whole:
            text += f"\nWHERE ({_counting(part.units[0])})"
        selects.append(text)
    return "\nUNION ALL\n".join(selects)


def _order(part: ViewPart, dialect: Dialect) -> str:
    """Return the SQL of a struct that orders images: chain, commit version, row, before images first."""
    version, row = "_commit_version", "_row"
    if part.base is not None:
        version, row = f"CAST({part.base.scn} AS BIGINT)", f"CAST({LAST_ROW} AS BIGINT)"
    values = [str(part.chain_rank), version, row, "_change_type = 'update_postimage'"]
    return dialect.struct(zip(("chain", "commit_version", "row", "after"), values, strict=True))


def _removed(part: ViewPart, dialect: Dialect) -> str:
    kind = dialect.types["time"]
    if not part.removed:
        return f"CAST(NULL AS {kind})"
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=part.removed)
    return f"CAST('{moment:%Y-%m-%d %H:%M:%S.%f}+00:00' AS {kind})"


def _counting(unit: FileSpan) -> str:
    """Return the SQL condition for the rows of a unit."""
    spans = [
        f"_commit_version BETWEEN {max(unit.first, first)} AND {min(unit.last, last)}"
        for first, last in unit.file.spans or [(unit.first, unit.last)]
    ]
    dropped = ", ".join(map(str, (*unit.file.dropped, *unit.excluded)))
    return " OR ".join(spans) + (f") AND _commit_version NOT IN ({dropped}" if dropped else "")


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
    """Return the SQL name of a type from :func:`common_type`."""
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return dialect.types["plain time"]
    return {pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT", pa.float64(): "DOUBLE"}[kind]
