"""Row changes as INSERT, UPDATE and DELETE statements, whole columns at a time.

A row is found by its key, or where the table has none by all its columns, compared so that letters, accents and
trailing spaces count, and one row at most is touched.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.event.format import Flavour, FormatDescription
from binx.event.header import HEADER_SIZE, EventType
from binx.event.rows import RowsFlag
from binx.export.changes import Rendered
from binx.export.images import BatchImages, ChangeGroup, Images
from binx.export.sql_literals import NULL, identifier, sql_literals, text_literal
from binx.export.texts import EMPTY, TEXT, behind, constant, joined, replaced
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.names import ResolvedColumn, ResolvedTable
from binx.rows.schema import Provenance
from binx.rows.types import Kind

EXACT_COLLATIONS = {
    Flavour.MYSQL: (((8, 0, 17), "utf8mb4_0900_bin"),),
    Flavour.MARIADB: (((10, 2, 2), "utf8mb4_nopad_bin"),),
}
"""Since which version a server has a collation for which every character and trailing space counts."""

_PADDING_COLLATION = "utf8mb4_bin"
_DATES_WITH_CLOCKS = frozenset({Kind.DATETIME, Kind.TIMESTAMP})
_MEMBERS = frozenset({Kind.ENUM, Kind.SET})
_ROW_PERIODS = frozenset({"row_start", "row_end"})
_ON_UPDATE = re.compile(r"\bon\s+update\b", re.IGNORECASE)
_CREATE = re.compile(r"\s*create\b", re.IGNORECASE)
_SHORT_TABLE_ID = 6


class RowMark(IntFlag):
    """What the session must be for a row change."""

    NO_FOREIGN_KEY_CHECKS = 1
    LENIENT = 2
    """It holds an ENUM's error value, which a strict session refuses."""


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """The server that the statements are for.

    Attributes:
        flavour: whose.
        version: the version that wrote the log; that of the server which takes the SQL should be no older.
    """

    flavour: Flavour
    version: tuple[int, int, int]

    @classmethod
    def of(cls, description: FormatDescription) -> SqlDialect:
        """The dialect of the server that wrote a file."""
        return cls(description.flavour, description.version)

    @property
    def exact_collation(self) -> str:
        """A collation of utf8mb4 that tells all texts apart, as far as the version has one."""
        for since, name in EXACT_COLLATIONS[self.flavour]:
            if self.version >= since:
                return name
        return _PADDING_COLLATION


class SqlTable:
    """What the statements about one table share.

    Raises:
        RefusedError: SQL cannot say what happens to the table.
    """

    def __init__(self, resolved: ResolvedTable) -> None:
        refuse_table(resolved)
        self.name = f"{identifier(resolved.db)}.{identifier(resolved.name)}"
        self.columns = resolved.columns
        self.names = [identifier(column.source_name) for column in resolved.columns]
        self.writable = [place for place, column in enumerate(self.columns) if column.generated is None]
        keyed = [
            place for place, column in enumerate(self.columns) if column.primary_key_position is not None
        ]
        self.key = tuple(sorted(keyed, key=lambda place: self.columns[place].primary_key_position or 0))
        created = resolved.definition is not None and _CREATE.match(resolved.definition.ddl)
        explicit = bool(created) and not _ON_UPDATE.search(
            resolved.definition.ddl if resolved.definition else ""
        )
        self.guarded = frozenset(
            place
            for place in self.writable
            if self.columns[place].type.kind in _DATES_WITH_CLOCKS
            and not (explicit and self.columns[place].type.kind is Kind.DATETIME)
        )
        """Columns that a server may set to the current time in an UPDATE that does not name them."""


def refuse_table(resolved: ResolvedTable) -> None:
    """Raise RefusedError for a table whose changes SQL cannot say."""
    name = f"{resolved.db}.{resolved.name}"
    if any(column.provenance.name is Provenance.NONE for column in resolved.columns):
        raise RefusedError(
            f"the names of the columns of {name} are not known, and SQL needs them: they are neither in the log"
            " (binlog_row_metadata=FULL) nor in a CREATE TABLE before it; give them with --schema FILE, as"
            " mysqldump --no-data writes it"
        )
    if any(column.generated in _ROW_PERIODS for column in resolved.columns):
        raise RefusedError(
            f"{name} keeps its history (WITH SYSTEM VERSIONING), which SQL statements cannot write as it was;"
            " take --format binlog"
        )


class SqlRows:
    """Makes statements of row changes; a renderer for :func:`~binx.export.changes.ordered_changes`."""

    def __init__(self, dialect: SqlDialect) -> None:
        self.dialect = dialect
        self._tables: dict[int, tuple[object, SqlTable]] = {}

    def __call__(self, changes: ChangeBatch, file: BinlogFile) -> Rendered:
        """One statement for each row change of a batch.

        Raises:
            RefusedError: SQL cannot say what happened.
        """
        return _BatchSql(self._table(changes), BatchImages(changes), self.dialect).render(file)

    def _table(self, changes: ChangeBatch) -> SqlTable:
        _, table = self._tables.get(id(changes.table), (None, None))
        if table is None:
            table = SqlTable(changes.table.resolved)
            self._tables[id(changes.table)] = changes.table, table
        for column, count in changes.table.undecodable.items():
            raise RefusedError(
                f"{count} values of {changes.table.db}.{changes.table.name}.{column} have bytes that their character"
                " set does not have, so no text is equal to them; take --format binlog"
            )
        return table


class _BatchSql:
    """The statements of one batch."""

    def __init__(self, table: SqlTable, images: BatchImages, dialect: SqlDialect) -> None:
        self._table = table
        self._images = images
        self._dialect = dialect
        self._cache: dict[tuple[int, bool], pa.Array] = {}

    def render(self, file: BinlogFile) -> Rendered:
        versions, rows = self._images.system("_commit_version"), self._images.system("_row")
        marks = self._marks(file)
        parts: list[Rendered] = []
        for group in self._images.groups():
            pick = group.images.pick
            texts = self._texts(group)
            parts.append(Rendered(pick(versions), pick(rows), texts, None if marks is None else pick(marks)))
        if len(parts) == 1:
            return parts[0]
        return Rendered(
            pa.concat_arrays([part.versions for part in parts]),
            pa.concat_arrays([part.rows for part in parts]),
            pa.concat_arrays([part.texts for part in parts]),
            None if marks is None else pa.concat_arrays([part.marks for part in parts]),
        )

    def _texts(self, group: ChangeGroup) -> pa.Array:
        if group.before is None:
            assert group.after is not None
            return self._insert(group.after)
        where = self._where(group.before)
        if group.after is None:
            return joined(constant(f"DELETE FROM {self._table.name} WHERE "), *where, constant(";\n"))
        assignments = self._assignments(group.before, group.after)
        return joined(
            constant(f"UPDATE {self._table.name} SET "),
            assignments,
            constant(" WHERE "),
            *where,
            constant(";\n"),
        )

    def _insert(self, after: Images) -> pa.Array:
        places = [place for place in self._table.writable if place in after.columns]
        names = ", ".join(self._table.names[place] for place in places)
        head = f"INSERT INTO {self._table.name} ({names}) VALUES ("
        parts: list[Any] = [constant(head)]
        for number, place in enumerate(places):
            parts += (
                [constant(", "), self._literals(place, after)] if number else [self._literals(place, after)]
            )
        if not places:
            rows = self._images.batch.num_rows if after.rows is None else len(after.rows)
            return pa.repeat(constant(f"{head});\n"), rows)
        return joined(*parts, constant(");\n"))

    def _assignments(self, before: Images, after: Images) -> pa.Array:
        """The columns whose values changed; all of them where none did, as an UPDATE must set something."""
        table = self._table
        places = [place for place in table.writable if place in after.columns]
        changed = {place: self._changed(place, before, after) for place in places}
        differences = self._differences(after)
        any_changed = None if differences is None else pc.not_equal(differences, EMPTY)
        for which in changed.values():
            any_changed = which if any_changed is None else pc.or_(any_changed, which)
        if any_changed is not None and not pc.all(any_changed).as_py():
            changed = {place: pc.or_(which, pc.invert(any_changed)) for place, which in changed.items()}
        rows = self._images.batch.num_rows if after.rows is None else len(after.rows)
        parts: list[Any] = []
        for place in table.writable:
            name = table.names[place]
            unchanged = constant(f", {name}={name}" if place in table.guarded else "")
            which = changed.get(place)
            if which is None or not which.true_count:
                parts += [unchanged] if place in table.guarded else []
                continue
            assigned = joined(constant(f", {name}="), self._literals(place, after))
            parts.append(assigned if which.true_count == rows else pc.if_else(which, assigned, unchanged))
        if differences is not None:
            parts.append(differences)
        if not parts:
            parts.append(constant(f", {table.names[0]}={table.names[0]}"))
        if not any(isinstance(part, pa.Array) for part in parts):
            parts.append(pa.repeat(EMPTY, rows))
        return behind(joined(*parts), 2)

    def _changed(self, place: int, before: Images, after: Images) -> pa.Array:
        values = self._comparable(place)
        if place not in before.columns:
            return pa.repeat(pa.scalar(True), len(values) if after.rows is None else len(after.rows))
        old, new = before.pick(values), after.pick(values)
        if not old.null_count and not new.null_count:
            return pc.not_equal(old, new)
        return pc.fill_null(pc.not_equal(old, new), pc.xor(old.is_null(), new.is_null()))

    def _comparable(self, place: int) -> pa.Array:
        """Values that are equal where the column's are, to the last bit."""
        column = self._images.column(place)
        kind = column.type
        if self._table.columns[place].name in self._images.misfits or pa.types.is_nested(kind):
            return self._all_literals(place, exact=True)
        if pa.types.is_dictionary(kind):
            return column.indices
        if pa.types.is_floating(kind):
            return column.view(pa.int32() if kind == pa.float32() else pa.int64())
        return column

    def _where(self, before: Images) -> list[Any]:
        """The parts of a condition that the row alone fulfils, or only rows equal to it."""
        table = self._table
        key = table.key if table.key and all(place in before.columns for place in table.key) else ()
        places = key or [place for place in before.columns if table.columns[place].generated is None]
        if not places:
            raise RefusedError(
                f"a row of {table.name} was changed, and the log has none of its columns to find it by; take"
                " --format binlog"
            )
        parts: list[Any] = []
        for number, place in enumerate(places):
            name = table.names[place]
            lead = " AND " if number else ""
            if key:
                parts += [constant(f"{lead}{name}="), self._literals(place, before, exact=True)]
            else:
                parts += [constant(lead), *self._equal(place, before)]
        return parts if key else [*parts, constant(" LIMIT 1")]

    def _equal(self, place: int, before: Images) -> list[Any]:
        """That a column has the very value that it had, null or not."""
        column = self._table.columns[place]
        name, literals = self._table.names[place], self._literals(place, before, exact=True)
        if column.type.kind is Kind.TEXT or (column.type.kind is Kind.JSON and column.type.base != "json"):
            collated = joined(literals, constant(f" COLLATE {self._dialect.exact_collation}"))
            return [constant(f"{name} <=> "), pc.if_else(pc.equal(literals, NULL), NULL, collated)]
        if column.type.kind is Kind.JSON:
            return [constant(f"{name} <=> CAST("), literals, constant(" AS JSON)")]
        if column.type.kind in {Kind.GEOMETRY, Kind.VECTOR}:
            return [constant(f"CAST({name} AS BINARY) <=> "), literals]
        return [constant(f"{name} <=> "), literals]

    def _literals(self, place: int, images: Images, *, exact: bool = False) -> pa.Array:
        return images.pick(self._all_literals(place, exact=exact))

    def _all_literals(self, place: int, *, exact: bool) -> pa.Array:
        column = self._table.columns[place]
        exact = exact and column.type.kind is Kind.FLOAT32
        found = self._cache.get((place, exact))
        if found is None:
            found = sql_literals(self._images.column(place), column.type, exact=exact)
            found = self._cache[place, exact] = self._with_misfits(found, column)
        return found

    def _with_misfits(self, literals: pa.Array, column: ResolvedColumn) -> pa.Array:
        """The literals with the values that the column's type could not take."""
        misfits = self._images.misfits.get(column.name)
        if misfits is None:
            return literals
        texts = [text if column.type.kind in _MEMBERS else text_literal(text) for _, text in misfits]
        places = pa.array([row for row, _ in misfits], pa.int64())
        which = pc.is_in(pa.array(range(len(literals)), pa.int64()), value_set=places)
        return replaced(literals, which, pa.array([text.encode() for text in texts], TEXT))

    def _differences(self, after: Images) -> pa.Array | None:
        """Assignments of the JSON columns of which only parts were logged, each with a comma before it."""
        column = self._images.system("_json_diff")
        if column is None or column.null_count == len(column):
            return None
        names = {
            column.name: name for column, name in zip(self._table.columns, self._table.names, strict=True)
        }
        texts = [
            b"" if text is None else _json_assignments(text, names) for text in after.pick(column).to_pylist()
        ]
        return pa.array(texts, TEXT)

    def _marks(self, file: BinlogFile) -> pa.Array | None:
        """What the session must be, row by row; None where nothing special."""
        marks = _event_marks(file, self._images.system("_position"))
        for place, column in enumerate(self._table.columns):
            if (
                column.type.kind is Kind.ENUM
                and column.type.members is not None
                and "" not in column.type.members
            ):
                errors = pc.fill_null(pc.equal(self._images.column(place).cast(pa.string()), ""), False)
                if pc.any(errors).as_py():
                    lenient = pc.if_else(
                        errors, pa.scalar(int(RowMark.LENIENT), pa.uint8()), pa.scalar(0, pa.uint8())
                    )
                    marks = lenient if marks is None else pc.bit_wise_or(marks, lenient)
        return marks


def _json_assignments(text: str, names: dict[str, str]) -> bytes:
    """``, col=JSON_SET…`` for each column of a difference, one function around the other in the order given."""
    result = ""
    for column, operations in json.loads(text).items():
        value = names[column]
        for operation in operations:
            path = text_literal(operation["path"])
            if operation["op"] == "remove":
                value = f"JSON_REMOVE({value}, {path})"
                continue
            cell = operation["op"] == "insert" and operation["path"].endswith("]")
            function = "JSON_ARRAY_INSERT" if cell else f"JSON_{operation['op'].upper()}"
            document = text_literal(json.dumps(operation["value"], ensure_ascii=False))
            value = f"{function}({value}, {path}, CAST({document} AS JSON))"
        if operations:
            result += f", {names[column]}={value}"
    return result.encode()


def _event_marks(file: BinlogFile, positions: pa.Array | None) -> pa.Array | None:
    """Which rows were changed in a session without foreign key checks, as the flags of their events say.

    Events within compressed payloads have no place in the file, and count as those of a usual session.
    """
    assert positions is not None
    runs = pc.run_end_encode(positions)
    flags = [_event_mark(file, position) for position in runs.values.to_pylist()]
    if not any(flags):
        return None
    return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(runs.run_ends, pa.array(flags, pa.uint8())))


def _event_mark(file: BinlogFile, position: int) -> int:
    head = file.source.window(position, position + HEADER_SIZE + 8)
    event_type = head[4]
    if event_type == EventType.TRANSACTION_PAYLOAD:
        return 0
    width = 4 if file.format.post_header_length(event_type, 8) == _SHORT_TABLE_ID else 6
    start = HEADER_SIZE + width
    flags = int.from_bytes(head[start : start + 2], "little")
    return RowMark.NO_FOREIGN_KEY_CHECKS if flags & RowsFlag.NO_FOREIGN_KEY_CHECKS else 0
