"""Row changes as INSERT, UPDATE and DELETE statements, built whole columns at a time.

A row is found by its key. If the table has none, it is found by all its columns, compared with case, accents
and trailing spaces significant, and the statement changes at most one row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.event.format import Flavour
from binx.kernels.render.transactions import Spelling
from binx.log.binlog_file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, ChangeGroup, Images
from binx.rows.columns.schema import SEQUENCE_COLUMNS
from binx.rows.columns.types import Kind
from binx.slices.renaming import SAME_NAMES, DatabaseNames
from binx.slices.rendering import Changes, Part, Parts, changes_of, columns
from binx.slices.sql.compared_rows import changed_rows, replaced_rows
from binx.sql.dialect import SqlDialect
from binx.sql.literals import SqlValues, has_unknown_charset, text_literal
from binx.sql.session_settings import RowMark, marked, row_marks
from binx.sql.tables import SqlTable, TableWarnings
from binx.sql.values import TEXT, Spelled

_NEVER_EMPTY = frozenset({Kind.GEOMETRY, Kind.VECTOR})
_FLOATS = frozenset({Kind.FLOAT32, Kind.FLOAT64})
_VALUES, _COMPARED_VALUES = SqlValues(), SqlValues(compared=True)


class SqlRows:
    """Renders row changes as statements; a renderer for :func:`~binx.slices.changes.ordered_changes`.

    Attributes:
        warnings: about the tables of the rows.
    """

    def __init__(self, databases: DatabaseNames = SAME_NAMES) -> None:
        self.warnings = TableWarnings()
        self._databases = databases
        self._tables: dict[int, tuple[object, SqlTable]] = {}

    def __call__(self, changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
        """Return one statement for each row change of a batch."""
        return BatchSql(self.table(changes), BatchImages(changes), SqlDialect.of(file.format)).render()

    def table(self, changes: ChangeBatch) -> SqlTable:
        """Return what the statements about the batch's table share.

        Raises:
            RefusedError: the table's changes cannot be expressed in SQL.
        """
        self.warnings.take_rows(changes)
        _, table = self._tables.get(id(changes.table), (None, None))
        if table is None:
            table = SqlTable(changes.table.resolved, self._databases[changes.table.resolved.db])
            self._tables[id(changes.table)] = changes.table, table
        for column, count in changes.table.undecodable.items():
            raise RefusedError(
                f"{count} values of {changes.table.db}.{changes.table.name}.{column} have bytes that"
                " are not valid in their character set, so they cannot be written as text; use"
                " --format binlog"
            )
        return table


class BatchSql:
    """The statements of one batch."""

    def __init__(self, table: SqlTable, images: BatchImages, dialect: SqlDialect) -> None:
        self._table = table
        self._images = images
        self._dialect = dialect
        # Which of the current updates changed a value; None if there is no column that they could change.
        self.changed: pa.BooleanArray | None = None
        self._spelled: dict[tuple[int, bool], tuple[Spelled, ...]] = {}
        self._replaced = replaced_rows(images)

    def render(self) -> list[Changes]:
        """Return the statements with their order and marks."""
        marks = row_marks(self._images)
        if marks is None and (self._images.changes.partial_rows or self._replaced is not None):
            marks = pa.repeat(pa.scalar(0, pa.uint8()), self._images.changes.rows)
        return changes_of(
            self._images,
            self._parts,
            None if marks is None else lambda group: self._marks(group, marks),
            statement=self._statement,
            groups=self._groups(),
        )

    def _groups(self) -> Iterator[ChangeGroup]:
        return self._images.groups()

    def _statement(self, group: ChangeGroup) -> tuple[bytes, bytes, bytes] | None:
        """Return the text around the rows of an INSERT; None for changes that need a statement each."""
        if group.before is not None or group.after is None or self._is_taken(group.after):
            return None
        names = ", ".join(self._table.names[index] for index in self._inserted(group.after))
        return f"INSERT INTO {self._table.name} ({names}) VALUES ".encode(), b";\n", b""

    def _inserted(self, images: Images) -> list[int]:
        return [index for index in self._table.writable if index in images.columns]

    def _marks(self, group: ChangeGroup, marks: pa.Array) -> pa.Array:
        picked = group.images.pick(marks)
        absent = [index for index in self._table.writable if index not in group.images.columns]
        columns = [self._table.columns[index] for index in absent]
        # A strict session does not give a NOT NULL column its implicit default.
        if group.before is None and any(not column.nullable and column.default is None for column in columns):
            return pc.bit_wise_or(picked, pa.scalar(int(RowMark.LENIENT), pa.uint8()))
        return self._unchecked_deletes(group, picked) if group.after is None else picked

    def _unchecked_deletes(self, group: ChangeGroup, marks: pa.Array) -> pa.Array:
        """Delete rows without foreign key checks if those that refer to them stay, as with REPLACE."""
        if self._replaced is None:
            return marks
        unchecked = marked(group.images.pick(self._replaced), RowMark.NO_FOREIGN_KEY_CHECKS)
        return pc.bit_wise_or(marks, unchecked)

    def _parts(self, group: ChangeGroup) -> Parts:
        if group.before is None:
            assert group.after is not None
            yield from self._taken(group.after) if self._is_taken(group.after) else self._insert(group.after)
            return
        if group.after is None:
            yield f"DELETE FROM {self._table.name} WHERE ".encode()
        else:
            yield f"UPDATE {self._table.name} SET ".encode()
            yield from self._assignments(group.before, group.after)
            yield b" WHERE "
        yield from self._where(group.before)
        yield b";\n"

    def _is_taken(self, after: Images) -> bool:
        """Whether the images are of a sequence, and have only how far its values are taken."""
        return self._table.is_sequence and len(after.columns) < len(self._table.columns)

    def _taken(self, after: Images) -> Parts:
        """Servers refuse an INSERT of these columns alone."""
        yield f"DO SETVAL({self._table.name}, ".encode()
        yield from self._literals(b"", SEQUENCE_COLUMNS.index("next_not_cached_value"), after)
        yield from self._literals(b", 0, ", SEQUENCE_COLUMNS.index("cycle_count"), after)
        yield b");\n"

    def _insert(self, after: Images) -> Parts:
        yield b"("
        for number, index in enumerate(self._inserted(after)):
            self._refuse_empty_values(index, after, None)
            yield from self._literals(b", " if number else b"", index, after)
        yield b")"

    def _assignments(self, before: Images, after: Images) -> Iterator[Part]:
        """Assign the columns whose values changed; all if none did, as an UPDATE must set something."""
        table, count = self._table, self._images.size_of(after)
        indexes = [index for index in table.writable if index in after.columns]
        changed = {index: changed_rows(self._images, index, before, after) for index in indexes}
        differences = self._differences(after)
        any_changed = None if differences is None else differences.is_valid()
        for mask in changed.values():
            any_changed = mask if any_changed is None else pc.or_(any_changed, mask)
        if any_changed is not None and not pc.all(any_changed).as_py():
            changed = {index: pc.or_(mask, pc.invert(any_changed)) for index, mask in changed.items()}
        self.changed = any_changed
        listed = False
        for index in table.writable:
            name = table.names[index]
            unchanged = f"{name}={name}".encode() if index in table.guarded else b""
            mask = changed.get(index)
            if mask is not None and mask.true_count:
                self._refuse_empty_values(index, after, mask)
                mask = None if mask.true_count == count else mask
                for number, spelled in enumerate(self._values(index)):
                    lead, otherwise = (b"", b"") if number else (f"{name}=".encode(), unchanged)
                    yield Part(lead, spelled, after.rows, mask, otherwise, listed=not number)
            elif unchanged:
                yield Part(unchanged, listed=True)
            else:
                continue
            listed = True
        if differences is not None:
            spelled = Spelled(Spelling.SPELL_TEXT, differences)
            yield Part(b"", spelled, None, differences.is_valid(), listed=True)
        elif not listed:
            yield Part(f"{table.names[0]}={table.names[0]}".encode())

    def _refuse_empty_values(self, index: int, images: Images, mask: pa.Array | None) -> None:
        """Raise RefusedError for an empty geometry or vector: servers store these but accept none."""
        kind = self._table.columns[index].type.kind
        if kind not in _NEVER_EMPTY:
            return
        values = images.pick(self._images.column(index))
        if kind is Kind.VECTOR:
            lengths = pc.list_value_length(values)
        else:
            _, wkb = values.flatten()
            lengths = pc.binary_length(wkb)
        empty = pc.equal(lengths, 0)
        if pc.any(empty if mask is None else pc.and_(empty, mask)).as_py():
            raise RefusedError(
                f"a row of {self._table.name} has an empty value in {self._table.names[index]} (from"
                " adding a NOT NULL column), which no statement can write; leave out the transaction,"
                " or use --format binlog"
            )

    def _where(self, before: Images) -> Parts:
        """A condition that only the row matches, or only rows equal to it."""
        table = self._table
        if table.key and {*table.key} <= {*before.columns}:
            yield from self._has_key(dict.fromkeys(table.key, before))
            return
        indexes = [index for index in before.columns if table.columns[index].generated is None]
        if not indexes:
            raise RefusedError(
                f"a row of {table.name} was changed, and the log has none of its columns to find it by;"
                " use --format binlog"
            )
        yield from joined(indexes, lambda index: self._equal(index, before))
        yield b" LIMIT 1"

    def _has_key(self, rows: Mapping[int, Images]) -> Parts:
        """A condition on the key, with the values of some images."""
        key = self._table.key
        return self._has_values([self._table.names[index] for index in key], key, rows)

    def _has_values(self, names: Iterable[str], indexes: Iterable[int], rows: Mapping[int, Images]) -> Parts:
        """A condition that columns of a table have the values of columns of this one."""
        pairs = zip(names, indexes, strict=True)
        return joined(pairs, lambda pair: self._compared(f"{pair[0]}=".encode(), pair[1], rows[pair[1]]))

    def _equal(self, index: int, before: Images) -> Parts:
        """A condition that a column has exactly its logged value, which may be NULL."""
        column = self._table.columns[index]
        name = self._table.names[index].encode()
        kind, rows = column.type.kind, before.rows
        collation = f" COLLATE {self._dialect.exact_collation}".encode()
        literals = self._values(index, compared=kind in {Kind.TEXT, Kind.FLOAT32})
        if has_unknown_charset(self._images, index) or kind in _NEVER_EMPTY:
            yield from columns(b"CAST(" + name + b" AS BINARY) <=> ", literals, rows)
        elif kind is Kind.TEXT:
            (literal,) = literals
            yield Part(name + b" <=> ", literal.within(b"", collation), rows)
        elif kind is Kind.JSON:
            # Temporal and binary values that a statement set in a document equal no text, but print as one.
            (literal,) = literals
            yield Part(b"(" + name + b" <=> CAST(", literal, rows)
            yield b" AS JSON)"
            printed = literal.within(b" OR CAST(" + name + b" AS CHAR) <=> ", collation)
            yield Part(b"", printed._replace(null=b""), rows)
            yield b")"
        else:
            yield from columns(name + b" <=> ", literals, rows)
            if kind in _FLOATS and self._dialect.flavour is Flavour.MYSQL:
                yield from self._sign_of_zero(index, before)

    def _sign_of_zero(self, index: int, before: Images) -> Iterator[Part]:
        """Compare the sign of a zero: 0 and -0 are equal, but MySQL (not MariaDB) prints them apart."""
        values = before.pick(self._images.column(index))
        zeros = pc.fill_null(pc.equal(values, pa.scalar(0.0, values.type)), False)
        if not zeros.true_count:
            return
        bits = values.view(pa.int32() if values.type == pa.float32() else pa.int64())
        name = self._table.names[index].encode()
        negative = pa.scalar(b" AND " + name + b" LIKE '-%'", TEXT)
        positive = pa.scalar(b" AND " + name + b" NOT LIKE '-%'", TEXT)
        texts = pc.if_else(pc.less(bits, pa.scalar(0, bits.type)), negative, positive)
        yield Part(b"", Spelled(Spelling.SPELL_TEXT, texts), None, zeros)

    def _literals(self, lead: bytes, index: int, images: Images) -> Iterator[Part]:
        return columns(lead, self._values(index), images.rows)

    def _compared(self, lead: bytes, index: int, images: Images) -> Iterator[Part]:
        """Return the value to compare a column with."""
        kind = self._table.columns[index].type.kind
        return columns(lead, self._values(index, compared=kind is Kind.FLOAT32), images.rows)

    def _values(self, index: int, *, compared: bool = False) -> tuple[Spelled, ...]:
        spelled = self._spelled.get((index, compared))
        if spelled is None:
            spelled = (_COMPARED_VALUES if compared else _VALUES).column(self._images, index)
            self._spelled[index, compared] = spelled
        return spelled

    def _differences(self, after: Images) -> pa.Array | None:
        """Return assignments for the JSON columns that were logged in part; null if there are none."""
        column = self._images.system("_json_diff")
        if column is None or column.null_count == len(column):
            return None
        names = {
            column.name: name for column, name in zip(self._table.columns, self._table.names, strict=True)
        }
        texts = [
            None if text is None else _json_assignments(text, names) or None
            for text in after.pick(column).to_pylist()
        ]
        return pa.array(texts, TEXT)


_Value = TypeVar("_Value")


def joined(values: Iterable[_Value], parts: Callable[[_Value], Iterable[bytes | Part]]) -> Parts:
    """Join conditions with AND."""
    for number, value in enumerate(values):
        if number:
            yield b" AND "
        yield from parts(value)


_to_json = json.JSONEncoder(ensure_ascii=False).encode


def _json_assignments(text: str, names: dict[str, str]) -> bytes:
    """``col=JSON_SET(…)`` for each column of a JSON diff, with functions nested in the given order."""
    assignments: list[str] = []
    for column, operations in json.loads(text).items():
        value = names[column]
        for operation in operations:
            path = text_literal(operation["path"], escapes=True)
            if operation["op"] == "remove":
                value = f"JSON_REMOVE({value}, {path})"
                continue
            cell = operation["op"] == "insert" and operation["path"].endswith("]")
            function = "JSON_ARRAY_INSERT" if cell else f"JSON_{operation['op'].upper()}"
            # The text of a value of an SQL type loses the type.
            document = operation.get("sql")
            if document is None:
                document = f"CAST({text_literal(_to_json(operation['value']), escapes=True)} AS JSON)"
            value = f"{function}({value}, {path}, {document})"
        if operations:
            assignments.append(f"{names[column]}={value}")
    return ", ".join(assignments).encode()
