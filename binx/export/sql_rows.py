"""Row changes as INSERT, UPDATE and DELETE statements, whole columns at a time.

A row is found by its key, or where the table has none by all its columns, compared so that letters, accents
and trailing spaces count, and one row at most is touched.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.export.changes import Rendered
from binx.export.images import BatchImages, ChangeGroup, Images
from binx.export.sql_literals import NULL, sql_literals, text_literal
from binx.export.sql_marks import row_marks
from binx.export.sql_tables import SqlDialect, SqlTable
from binx.export.texts import EMPTY, TEXT, behind, constant, joined, replaced
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.names import ResolvedColumn
from binx.rows.types import Kind

_MEMBERS = frozenset({Kind.ENUM, Kind.SET})


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
        return BatchSql(self.table(changes), BatchImages(changes), self.dialect).render(file)

    def table(self, changes: ChangeBatch) -> SqlTable:
        """What the statements about the batch's table share.

        Raises:
            RefusedError: SQL cannot say what happened to it.
        """
        _, table = self._tables.get(id(changes.table), (None, None))
        if table is None:
            table = SqlTable(changes.table.resolved)
            self._tables[id(changes.table)] = changes.table, table
        for column, count in changes.table.undecodable.items():
            raise RefusedError(
                f"{count} values of {changes.table.db}.{changes.table.name}.{column} have bytes that their"
                " character set does not have, so no text is equal to them; take --format binlog"
            )
        return table


class BatchSql:
    """The statements of one batch."""

    def __init__(self, table: SqlTable, images: BatchImages, dialect: SqlDialect) -> None:
        self._table = table
        self._images = images
        self._dialect = dialect
        self._cache: dict[tuple[int, bool], pa.Array] = {}

    def render(self, file: BinlogFile) -> Rendered:
        """The statements, with what orders them."""
        versions, rows = self._images.system("_commit_version"), self._images.system("_row")
        marks = row_marks(self._images, file)
        parts: list[Rendered] = []
        for group in self._images.groups():
            pick = group.images.pick
            texts = self._texts(group)
            own_marks = None if marks is None else self._marks(group, marks)
            parts.append(Rendered(pick(versions), pick(rows), texts, own_marks))
        if len(parts) == 1:
            return parts[0]
        return Rendered(
            pa.concat_arrays([part.versions for part in parts]),
            pa.concat_arrays([part.rows for part in parts]),
            pa.concat_arrays([part.texts for part in parts]),
            None if marks is None else pa.concat_arrays([part.marks for part in parts]),
        )

    def _marks(self, group: ChangeGroup, marks: pa.Array) -> pa.Array:
        """What the session must be for the group's statements."""
        return group.images.pick(marks)

    def _texts(self, group: ChangeGroup) -> pa.Array:
        """A statement for each change of the group."""
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
        name = self._table.names[place]
        literals = self._literals(place, before, exact=True, collated=True)
        if column.type.kind is Kind.TEXT or (column.type.kind is Kind.JSON and column.type.base != "json"):
            collated = joined(literals, constant(f" COLLATE {self._dialect.exact_collation}"))
            return [constant(f"{name} <=> "), pc.if_else(pc.equal(literals, NULL), NULL, collated)]
        if column.type.kind is Kind.JSON:
            # Times and bytes that a statement put into a document equal no text, but print as one.
            text = joined(literals, constant(f" COLLATE {self._dialect.exact_collation}"))
            printed = joined(constant(f" OR CAST({name} AS CHAR) <=> "), text)
            either = pc.if_else(pc.equal(literals, NULL), EMPTY, printed)
            return [constant(f"({name} <=> CAST("), literals, constant(" AS JSON)"), either, constant(")")]
        if column.type.kind in {Kind.GEOMETRY, Kind.VECTOR}:
            return [constant(f"CAST({name} AS BINARY) <=> "), literals]
        return [constant(f"{name} <=> "), literals]

    def _literals(
        self, place: int, images: Images, *, exact: bool = False, collated: bool = False
    ) -> pa.Array:
        return images.pick(self._all_literals(place, exact=exact, collated=collated))

    def _all_literals(self, place: int, *, exact: bool, collated: bool = False) -> pa.Array:
        """A column's literals; ``collated`` ones take a collation of utf8mb4, unlike text of other sets."""
        column = self._table.columns[place]
        kind = column.type.kind
        exact = (exact and kind is Kind.FLOAT32) or (collated and kind is Kind.TEXT)
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


def _json_assignments(text: str, names: dict[str, str]) -> bytes:
    """``, col=JSON_SET(…)`` for each column of a difference, functions nested in the order given."""
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
