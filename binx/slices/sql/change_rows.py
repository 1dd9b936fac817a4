"""Row changes as INSERT, UPDATE and DELETE statements: what these consist of, whole columns at a time.

A row is found by its key, or where the table has none by all its columns, compared so that letters, accents
and trailing spaces count, and one row at most is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.event.format import Flavour
from binx.kernels.render.row_changes import Spelling
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.columns.schema import Provenance
from binx.rows.columns.types import Kind
from binx.rows.images import BatchImages, ChangeGroup, Images
from binx.slices.options import DatabaseNames
from binx.slices.pieces import Changes, Part, Spelled, changes_of, columns
from binx.slices.sql.literals import NULL, sql_literals, text_literal, unknown_text
from binx.slices.sql.session import RowMark, row_marks
from binx.slices.sql.tables import SqlDialect, SqlTable
from binx.slices.texts import TEXT, changed_values, with_misfits

_MEMBERS = frozenset({Kind.ENUM, Kind.SET})
_NEVER_EMPTY = frozenset({Kind.GEOMETRY, Kind.VECTOR})
_FLOATS = frozenset({Kind.FLOAT32, Kind.FLOAT64})


class SqlRows:
    """Makes statements of row changes; a renderer for :func:`~binx.slices.changes.ordered_changes`."""

    def __init__(self, dialect: SqlDialect, databases: DatabaseNames | None = None) -> None:
        self.dialect = dialect
        self._databases = databases or DatabaseNames({})
        self._tables: dict[int, tuple[object, SqlTable]] = {}

    def __call__(self, changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
        """One statement for each row change of a batch."""
        statements = BatchSql(self.table(changes), BatchImages(changes), self.dialect)
        return statements.render(file)

    def table(self, changes: ChangeBatch) -> SqlTable:
        """What the statements about the batch's table share.

        Raises:
            RefusedError: SQL cannot say what happened to it.
        """
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
        # Which of the updates at hand changed a value; None where there is nothing that they could.
        self.changed: pa.BooleanArray | None = None
        self._cache: dict[tuple[int, bool], tuple[Spelled, ...]] = {}

    def render(self, file: BinlogFile) -> list[Changes]:
        """The statements, with what orders them."""
        marks = row_marks(self._images, file)
        if marks is None and self._images.changes.partial_rows:
            marks = pa.repeat(pa.scalar(0, pa.uint8()), self._images.changes.rows)
        return changes_of(
            self._images,
            self._parts,
            None if marks is None else lambda group: self._marks(group, marks),
            statement=self._statement,
        )

    def _statement(self, group: ChangeGroup) -> tuple[bytes, bytes, bytes] | None:
        """What stands around the rows of an INSERT; None for other changes, which have a statement each."""
        return self._insert_around(group.after) if group.before is None and group.after else None

    def _insert_around(self, images: Images) -> tuple[bytes, bytes, bytes]:
        names = ", ".join(self._table.names[place] for place in self._inserted(images))
        return f"INSERT INTO {self._table.name} ({names}) VALUES ".encode(), b";\n", b""

    def _inserted(self, images: Images) -> list[int]:
        return [place for place in self._table.writable if place in images.columns]

    def _marks(self, group: ChangeGroup, marks: pa.Array) -> pa.Array:
        picked = group.images.pick(marks)
        if group.before is None and self._leaves_out_values(group.images):
            return pc.bit_wise_or(picked, pa.scalar(int(RowMark.LENIENT), pa.uint8()))
        return picked

    def _leaves_out_values(self, images: Images) -> bool:
        """Whether inserts lack a NOT NULL column, whose implicit default a strict session does not give."""
        table = self._table
        absent = [table.columns[place] for place in table.writable if place not in images.columns]
        return any(not column.nullable and column.default is None for column in absent)

    def _parts(self, group: ChangeGroup) -> Iterator[bytes | Part]:
        if group.before is None:
            assert group.after is not None
            yield from self._insert(group.after)
            return
        if group.after is None:
            yield f"DELETE FROM {self._table.name} WHERE ".encode()
        else:
            yield f"UPDATE {self._table.name} SET ".encode()
            yield from self._assignments(group.before, group.after)
            yield b" WHERE "
        yield from self._where(group.before)
        yield b";\n"

    def _insert(self, after: Images) -> Iterator[bytes | Part]:
        yield b"("
        for number, place in enumerate(self._inserted(after)):
            self._refuse_empty_values(place, after, None)
            yield from self._literals(b", " if number else b"", place, after)
        yield b")"

    def _assignments(self, before: Images, after: Images) -> Iterator[Part]:
        """The columns whose values changed; all of them where none did, as an UPDATE must set something."""
        table, count = self._table, self._images.size_of(after)
        places = [place for place in table.writable if place in after.columns]
        changed = {place: changed_values(self._images, place, before, after) for place in places}
        differences = self._differences(after)
        any_changed = None if differences is None else differences.is_valid()
        for which in changed.values():
            any_changed = which if any_changed is None else pc.or_(any_changed, which)
        if any_changed is not None and not pc.all(any_changed).as_py():
            changed = {place: pc.or_(which, pc.invert(any_changed)) for place, which in changed.items()}
        self.changed = any_changed
        listed = False
        for place in table.writable:
            name = table.names[place]
            unchanged = f"{name}={name}".encode() if place in table.guarded else b""
            which = changed.get(place)
            if which is not None and which.true_count:
                self._refuse_empty_values(place, after, which)
                mask = None if which.true_count == count else which
                for number, spelled in enumerate(self._all_literals(place, exact=False)):
                    lead, otherwise = (b"", b"") if number else (f"{name}=".encode(), unchanged)
                    yield Part(lead, spelled, after.rows, mask, otherwise, listed=not number)
            elif unchanged:
                yield Part(unchanged, listed=True)
            else:
                continue
            listed = True
        if differences is not None:
            yield Part(
                b"", Spelled(Spelling.SPELL_TEXT, differences), None, differences.is_valid(), listed=True
            )
        elif not listed:
            yield Part(f"{table.names[0]}={table.names[0]}".encode())

    def _refuse_empty_values(self, place: int, images: Images, which: pa.Array | None) -> None:
        """Raise RefusedError where a shape or vector shall become empty: servers have such, and take none."""
        column = self._table.columns[place]
        if column.type.kind not in _NEVER_EMPTY:
            return
        values = images.pick(self._images.column(place))
        if column.type.kind is Kind.VECTOR:
            lengths = pc.list_value_length(values)
        else:
            _, wkb = values.flatten()
            lengths = pc.binary_length(wkb)
        empty = pc.equal(lengths, 0)
        if pc.any(empty if which is None else pc.and_(empty, which)).as_py():
            raise RefusedError(
                f"a row of {self._table.name} has an empty value in {self._table.names[place]} (from"
                " adding a NOT NULL column), which no statement can write; leave out the transaction,"
                " or use --format binlog"
            )

    def _where(self, before: Images) -> Iterator[bytes | Part]:
        """A condition that the row alone fulfils, or only rows equal to it."""
        table = self._table
        key = table.key if table.key and all(place in before.columns for place in table.key) else ()
        places = key or [place for place in before.columns if table.columns[place].generated is None]
        if not places:
            raise RefusedError(
                f"a row of {table.name} was changed, and the log has none of its columns to find it by;"
                " use --format binlog"
            )
        for number, place in enumerate(places):
            lead = b" AND " if number else b""
            if key:
                yield from self._literals(lead + f"{table.names[place]}=".encode(), place, before, exact=True)
            else:
                yield lead
                yield from self._equal(place, before)
        if not key:
            yield b" LIMIT 1"

    def _equal(self, place: int, before: Images) -> Iterator[bytes | Part]:
        """That a column has the very value that it had, null or not."""
        column = self._table.columns[place]
        name = self._table.names[place].encode()
        literals = self._all_literals(place, exact=True, collated=True)
        collation = f" COLLATE {self._dialect.exact_collation}".encode()
        kind = column.type.kind
        if self._has_unknown_charset(place):
            yield from columns(b"CAST(" + name + b" AS BINARY) <=> ", literals, before.rows)
        elif kind is Kind.TEXT or (kind is Kind.JSON and column.type.base != "json"):
            (literal,) = literals
            yield Part(name + b" <=> ", literal.within(b"", collation), before.rows)
        elif kind is Kind.JSON:
            # Times and bytes that a statement put into a document equal no text, but print as one.
            (literal,) = literals
            yield Part(b"(" + name + b" <=> CAST(", literal, before.rows)
            yield b" AS JSON)"
            printed = literal.within(b" OR CAST(" + name + b" AS CHAR) <=> ", collation)
            yield Part(b"", printed._replace(null=b""), before.rows)
            yield b")"
        elif kind in {Kind.GEOMETRY, Kind.VECTOR}:
            yield from columns(b"CAST(" + name + b" AS BINARY) <=> ", literals, before.rows)
        else:
            yield from columns(name + b" <=> ", literals, before.rows)
            if kind in _FLOATS and self._dialect.flavour is Flavour.MYSQL:
                yield from self._sign_of_zero(place, before)

    def _sign_of_zero(self, place: int, before: Images) -> Iterator[Part]:
        """That a zero has its sign: both zeros are equal, and MySQL prints them apart (MariaDB does not)."""
        values = before.pick(self._images.column(place))
        zeros = pc.fill_null(pc.equal(values, pa.scalar(0.0, values.type)), False)
        if not zeros.true_count:
            return
        bits = values.view(pa.int32() if values.type == pa.float32() else pa.int64())
        name = self._table.names[place].encode()
        negative = pa.scalar(b" AND " + name + b" LIKE '-%'", TEXT)
        positive = pa.scalar(b" AND " + name + b" NOT LIKE '-%'", TEXT)
        texts = pc.if_else(pc.less(bits, pa.scalar(0, bits.type)), negative, positive)
        yield Part(b"", Spelled(Spelling.SPELL_TEXT, texts), None, zeros)

    def _literals(self, lead: bytes, place: int, images: Images, *, exact: bool = False) -> Iterator[Part]:
        return columns(lead, self._all_literals(place, exact=exact), images.rows)

    def _all_literals(self, place: int, *, exact: bool, collated: bool = False) -> tuple[Spelled, ...]:
        """A column's literals; ``collated`` ones take a collation of utf8mb4, unlike text of other sets."""
        column = self._table.columns[place]
        kind = column.type.kind
        exact = (exact and kind is Kind.FLOAT32) or (collated and kind is Kind.TEXT)
        found = self._cache.get((place, exact))
        if found is None:
            values = self._images.column(place)
            unknown = self._has_unknown_charset(place)
            literals = unknown_text(values) if unknown else sql_literals(values, column.type, exact=exact)
            misfits = self._images.misfits.get(column.name)
            found = with_misfits(literals, values, misfits, NULL, str if kind in _MEMBERS else text_literal)
            self._cache[place, exact] = found
        return found

    def _has_unknown_charset(self, place: int) -> bool:
        """Whether a column has text of which neither the log nor a definition tells the character set."""
        column = self._table.columns[place]
        return column.type.kind is Kind.TEXT and column.provenance.charset is Provenance.NONE

    def _differences(self, after: Images) -> pa.Array | None:
        """Assignments of the JSON columns of which only parts were logged; null where there are none."""
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


def _json_assignments(text: str, names: dict[str, str]) -> bytes:
    """``col=JSON_SET(…)`` for each column of a difference, functions nested in the order given."""
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
            document = text_literal(json.dumps(operation["value"], ensure_ascii=False), escapes=True)
            value = f"{function}({value}, {path}, CAST({document} AS JSON))"
        if operations:
            assignments.append(f"{names[column]}={value}")
    return ", ".join(assignments).encode()
