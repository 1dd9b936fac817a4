"""Rows that foreign keys deleted or changed along with others, which most servers do not log.

MariaDB's and, before 9.6, MySQL's storage engine follows ``ON DELETE CASCADE`` and ``SET NULL`` below the
binary log: the log has the row that was referred to, and nothing of those that referred to it. What these
were is told by their last images in the logs that are given: all changes of the tables that refer are
followed, table by table down the foreign keys, as far as they refer to rows that are undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.format import Flavour
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.columns.schema import ForeignKey
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from binx.rows.images import BatchImages, ChangeGroup, Images
from binx.rows.parts import Part, assembled, kernel_part
from binx.slices.changes import Selected
from binx.slices.database_names import DatabaseNames
from binx.slices.pieces import Changes, Piece
from binx.slices.sql.change_rows import BatchSql
from binx.slices.sql.marks import RowMark, row_marks
from binx.slices.sql.tables import SqlDialect, SqlTable
from binx.slices.sql.undo_check import UndoCheck

LOGGED_SINCE = (9, 6, 0)
"""The version of MySQL that logs what foreign keys do."""

LISTED = 20
"""Keys that are listed of rows whose referring rows are not known."""

_BETWEEN = ", "
_CHANGES_NOTHING = "RESTRICT"

Name = tuple[str, str]


class Place(NamedTuple):
    """Where a change stands: the commit version of its transaction, and its number there."""

    version: int
    row: int


class Child(NamedTuple):
    """A foreign key, and the table that has it."""

    name: Name
    key: ForeignKey

    @property
    def parent(self) -> Name:
        """The table that it refers to."""
        return self.key.db, self.key.table


class _Gone(NamedTuple):
    """A row that was referred to and is no more, or has other values now."""

    place: Place
    value: str
    deleted: bool


@dataclass(slots=True)
class _Referring:
    """A row that refers to another one, as its last image says.

    Attributes:
        value: what it refers to.
        since: the transaction that gave it the image.
        inserted: whether that transaction inserted it.
        texts: the statements that restore it, if it was deleted or its foreign key set to NULL.
        values: its own values that other foreign keys refer to.
    """

    value: str
    since: int
    inserted: bool
    texts: dict[str, bytes]
    values: dict[Child, str]


@dataclass(slots=True)
class Restored:
    """What is written beside the log's changes.

    Attributes:
        texts: by commit version, the statements behind those that undo the transaction.
        rows: how many rows they restore, by table.
        unknown: what is not known, in sentences.
    """

    texts: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    rows: dict[Name, int] = field(default_factory=lambda: defaultdict(int))
    unknown: list[str] = field(default_factory=list)


def logs_cascades(dialect: SqlDialect) -> bool:
    """Whether a server logs what foreign keys do."""
    return dialect.flavour is Flavour.MYSQL and dialect.version >= LOGGED_SINCE


class Cascades:
    """Finds the rows that went with rows which are undone.

    Args:
        catalog: the tables, as the log that is read moves them on.
        before: the tables known before the first log; what these hold, the logs need not tell.
        databases: names that databases get in the script.
    """

    def __init__(self, catalog: Catalog, before: Catalog, databases: DatabaseNames | None = None) -> None:
        self.databases = databases or DatabaseNames({})
        self._catalog = catalog
        self._before = before
        self._seen: Catalog | None = None
        self._children: dict[Name, list[Child]] = {}
        self._gone: dict[Child, list[_Gone]] = defaultdict(list)

    def children_of(self, db: str, table: str) -> list[Child]:
        """The foreign keys that refer to a table."""
        if self._seen is None or not self._catalog.is_as(self._seen):
            self._seen = self._catalog.copy()
            self._children = defaultdict(list)
            for definition in self._catalog:
                for key in definition.foreign_keys:
                    child = Child((definition.db, definition.name), key)
                    self._children[child.parent].append(child)
        return self._children.get((db, table), [])

    def written_names(self, children: Iterable[Child]) -> list[Name]:
        """The tables that have foreign keys, as the script calls them."""
        return [(self.databases[child.name[0]], child.name[1]) for child in children]

    def take(self, table: SqlTable, images: BatchImages, file: BinlogFile) -> None:
        """Take in row changes that are undone, of tables that others may refer to."""
        if logs_cascades(SqlDialect.of(file.format)):
            return
        for child in self.children_of(*table.logged):
            gone = [*_gone(child, table, images)]
            if gone:
                unchecked = _unchecked(images, file)
                gone = [one for one in gone if one.place not in unchecked]
            if gone:
                self._gone[child] += gone

    @property
    def found(self) -> bool:
        """Whether rows may have gone with others."""
        return bool(self._gone)

    def restored(self, every: Callable[[], Iterable[Selected]], known: Catalog, check: UndoCheck) -> Restored:
        """What brings the rows back that went with those undone.

        Args:
            every: gives all transactions of the logs.
            known: the tables known before them.
            check: of the script.

        Raises:
            DamagedError, UnsupportedError, RefusedError: a transaction cannot be decoded, or is no SQL.
        """
        result = Restored()
        gone: Mapping[Child, list[_Gone]] = self._gone
        done: set[Name] = set()
        while gone:
            following: dict[Child, list[_Gone]] = defaultdict(list)
            level = _Level(gone, self, check)
            level.read(every(), known.copy())
            for child, rows in gone.items():
                level.restore(child, rows, result, following)
                self._tell_unknown(child, rows, level, result)
                done.add(child.name)
            gone = {child: rows for child, rows in following.items() if child.name not in done}
            for child in following.keys() - gone.keys():
                result.unknown.append(
                    f"rows of {'.'.join(child.name)} that went with rows it refers to itself are not restored"
                )
        return result

    def _tell_unknown(self, child: Child, rows: list[_Gone], level: _Level, result: Restored) -> None:
        name = ".".join(child.name)
        columns = ", ".join(child.key.columns)
        values = [*dict.fromkeys(one.value for one in rows)]
        more = f" and {len(values) - LISTED:,} more" if len(values) > LISTED else ""
        listed = f"{columns}={'; '.join(values[:LISTED])}{more}"
        if self._before.lookup(*child.name) is not None:
            result.unknown.append(
                f"rows of {name} that a foreign key deleted or changed ({listed}) are restored as far as they"
                " were changed in these logs; the others are not known"
            )
        if child.name in level.unreadable:
            result.unknown.append(
                f"rows of {name} that a foreign key deleted or changed ({listed}) are not restored: the table"
                " has no key, or its columns are not known"
            )


class _Level:
    """The tables that refer to some rows, followed through the logs.

    Attributes:
        unreadable: tables whose rows cannot be followed.
    """

    def __init__(self, gone: Mapping[Child, list[_Gone]], cascades: Cascades, check: UndoCheck) -> None:
        self._wanted = {
            child: pa.array(sorted({one.value for one in rows}), pa.string()) for child, rows in gone.items()
        }
        self._cascades = cascades
        self._check = check
        # By foreign key: place, whether before or behind, key of the row, and the row or None.
        self._events: dict[Child, list[tuple[Place, str, _Referring | None]]] = defaultdict(list)
        self._parents: dict[Child, list[_Gone]] = defaultdict(list)
        self.unreadable: set[Name] = set()

    def read(self, selected: Iterable[Selected], catalog: Catalog) -> None:
        """Read the changes of the tables that refer, and of those that are referred to."""
        names = {child.name for child in self._wanted} | {child.parent for child in self._wanted}
        options = DecoderOptions(arrow=ArrowOptions(raw_text=True, exact_members=True))
        decoder: ChangeDecoder | None = None
        for part in selected:
            if decoder is None or decoder.file is not part.file:
                decoder = ChangeDecoder(
                    part.file, catalog, lambda db, table: (db, table) in names, options=options
                )
            dialect = SqlDialect.of(part.file.format)
            for item in decoder.decode(part.table, part.mask):
                if isinstance(item, ChangeBatch):
                    self._take(item, dialect)
            for batch in decoder.flush():
                self._take(batch, dialect)

    def _take(self, batch: ChangeBatch, dialect: SqlDialect) -> None:
        database = self._cascades.databases[batch.table.db]
        table, images = SqlTable(batch.table.resolved, database), BatchImages(batch)
        name = table.logged
        for child, wanted in self._wanted.items():
            if child.parent == name:
                known = set(wanted.to_pylist())
                self._parents[child] += [one for one in _gone(child, table, images) if one.value in known]
            if child.name == name:
                self._follow(child, table, images, wanted, dialect)

    def _follow(
        self, child: Child, table: SqlTable, images: BatchImages, wanted: pa.Array, dialect: SqlDialect
    ) -> None:
        columns = _columns(table, child.key.columns)
        if columns is None or not table.key:
            self.unreadable.add(child.name)
            return
        for group in images.groups():
            for side in (group.before, group.after):
                if side is None or not {*columns, *table.key} <= {*side.columns}:
                    continue
                chosen = pc.fill_null(pc.is_in(_texts(images, columns, side), value_set=wanted), False)
                if not chosen.true_count:
                    continue
                rows = _chosen(images, side, chosen)
                places = _places(images, rows)
                keys = _texts(images, table.key, rows).to_pylist()
                referring: Iterable[_Referring | None] = [None] * len(places)
                if side is group.after:
                    referring = self._referring(child, table, images, rows, group, dialect)
                self._events[child] += zip(places, keys, referring, strict=True)

    def _referring(
        self,
        child: Child,
        table: SqlTable,
        images: BatchImages,
        rows: Images,
        group: ChangeGroup,
        dialect: SqlDialect,
    ) -> Iterator[_Referring]:
        columns = _columns(table, child.key.columns) or ()
        self._check.know(self._cascades.written_names(self._cascades.children_of(*child.name)))
        statements = _Statements(table, images, dialect, self._check)
        texts = {}
        if child.key.on_delete == "CASCADE":
            texts["CASCADE"] = statements.inserts(rows)
        if "SET NULL" in {child.key.on_delete, child.key.on_update}:
            texts["SET NULL"] = statements.sets(rows, columns)
        refers = {
            further: _texts(images, own, rows).to_pylist()
            for further in self._cascades.children_of(*child.name)
            if (own := _columns(table, further.key.referenced)) is not None
        }
        values = _texts(images, columns, rows).to_pylist()
        for number, place in enumerate(_places(images, rows)):
            yield _Referring(
                values[number],
                place.version,
                group.before is None,
                {action: found[number] for action, found in texts.items()},
                {further: found[number] for further, found in refers.items()},
            )

    def restore(
        self, child: Child, rows: list[_Gone], result: Restored, following: dict[Child, list[_Gone]]
    ) -> None:
        """Follow the rows that refer by one foreign key, and restore those that went with rows undone."""
        undone = {(one.place, one.value) for one in rows}
        # Rows that go on their own are in the log behind the change of the row that they refer to, or before.
        steps: list[tuple[Place, int, str, _Referring | None, _Gone | None]] = [
            (place, 0 if row is None else 1, key, row, None) for place, key, row in self._events[child]
        ]
        parents = {(one.place, one.value): one for one in (*self._parents[child], *rows)}
        steps += [(one.place, 2, "", None, one) for one in parents.values()]
        steps.sort(key=lambda step: step[:3])
        live: dict[str, _Referring] = {}
        for place, _, key, row, gone in steps:
            if gone is None:
                if row is None:
                    live.pop(key, None)
                else:
                    live[key] = row
                continue
            action = child.key.on_delete if gone.deleted else child.key.on_update
            for found in [key for key, one in live.items() if one.value == gone.value]:
                one = live.pop(found)
                is_new = one.inserted and one.since == place.version
                if (place, gone.value) not in undone or is_new or action == _CHANGES_NOTHING:
                    continue
                if action not in one.texts or (not gone.deleted and action == "CASCADE"):
                    continue
                result.texts[place.version].append(one.texts[action])
                result.rows[child.name] += 1
                if action == "CASCADE":
                    for further, value in one.values.items():
                        if further.key.on_delete != _CHANGES_NOTHING:
                            following[further].append(_Gone(place, value, True))


class _Statements(BatchSql):
    """The statements that restore rows of one batch."""

    def __init__(self, table: SqlTable, images: BatchImages, dialect: SqlDialect, check: UndoCheck) -> None:
        super().__init__(table, images, dialect)
        self._check = check

    def inserts(self, rows: Images) -> list[bytes]:
        """An INSERT for each row."""
        check = self._check.of(self._table, self._dialect, "insert")
        return self._texts(rows, self._insert(rows), check.around_insert(self._inserted(rows)))

    def sets(self, rows: Images, columns: tuple[int, ...]) -> list[bytes]:
        """For each row an UPDATE that gives columns their values, where these are NULL."""
        check = self._check.of(self._table, self._dialect, "update")
        shown = {place: self._literals(b"", place, rows) for place in self._table.key}

        def parts() -> Iterator[bytes | Part]:
            yield f"UPDATE {self._table.name} SET ".encode()
            for number, place in enumerate(columns):
                lead = b", " if number else b""
                yield from self._literals(lead + f"{self._table.names[place]}=".encode(), place, rows)
            lead = b" WHERE "
            for place in self._table.key:
                yield from self._literals(lead + f"{self._table.names[place]}=".encode(), place, rows)
                lead = b" AND "
            for place in columns:
                yield f" AND {self._table.names[place]} IS NULL".encode()
            yield from check.behind_row([b"ROW_COUNT()>0"], shown)

        return self._texts(rows, parts(), None)

    def _texts(
        self, rows: Images, parts: Iterable[bytes | Part], statement: tuple[bytes, bytes, bytes] | None
    ) -> list[bytes]:
        count = self._images.size_of(rows)
        changes = Changes(
            self._images.integers("_commit_version"),
            self._images.integers("_row"),
            rows.rows,
            count,
            [kernel_part(part) for part in assembled(parts)],
            statement=statement,
        )
        piece = Piece([changes])
        return [b"".join(piece.text(place, place + 1)) for place in range(count)]


def _gone(child: Child, table: SqlTable, images: BatchImages) -> Iterator[_Gone]:
    """The rows of a table that are no more what a foreign key refers to."""
    columns = _columns(table, child.key.referenced or ())
    if not columns:
        return
    for group in images.groups():
        before, after = group.before, group.after
        if before is None or not {*columns} <= {*before.columns}:
            continue
        action = child.key.on_delete if after is None else child.key.on_update
        if action == _CHANGES_NOTHING:
            continue
        values = _texts(images, columns, before).to_pylist()
        now = [None] * len(values)
        if after is not None and {*columns} <= {*after.columns}:
            now = _texts(images, columns, after).to_pylist()
        elif after is not None:
            now = values
        for place, value, other in zip(_places(images, before), values, now, strict=True):
            if value is not None and value != other:
                yield _Gone(place, value, after is None)


def _unchecked(images: BatchImages, file: BinlogFile) -> frozenset[Place]:
    """The changes that were made without foreign key checks, which foreign keys do not follow."""
    marks = row_marks(images, file)
    if marks is None:
        return frozenset()
    bit = pa.scalar(int(RowMark.NO_FOREIGN_KEY_CHECKS), marks.type)
    chosen = pc.equal(pc.bit_wise_and(marks, bit), bit)
    return frozenset(_places(images, _chosen(images, Images(None, ()), chosen)))


def _columns(table: SqlTable, names: Iterable[str]) -> tuple[int, ...] | None:
    """The places of columns; None where one is not there."""
    places = {column.source_name.casefold(): place for place, column in enumerate(table.columns)}
    found = [places.get(name.casefold()) for name in names]
    return None if None in found else tuple(place for place in found if place is not None)


def _texts(images: BatchImages, columns: Iterable[int], rows: Images) -> pa.Array:
    """Values of some columns as one text; null where one is null."""
    parts = []
    for place in columns:
        values = rows.pick(images.column(place))
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            texts = [None if v is None else v.decode(errors="backslashreplace") for v in values.to_pylist()]
            values = pa.array(texts, pa.string())
        parts.append(values.cast(pa.string()))
    return pc.binary_join_element_wise(*parts, _BETWEEN)


def _chosen(images: BatchImages, side: Images, chosen: pa.BooleanArray) -> Images:
    every = pa.array(range(images.changes.rows), pa.int64()) if side.rows is None else side.rows
    return Images(every.filter(chosen), side.columns)


def _places(images: BatchImages, rows: Images) -> list[Place]:
    versions = rows.pick(images.system("_commit_version")).to_pylist()
    numbers = rows.pick(images.system("_row")).to_pylist()
    return [Place(*place) for place in zip(versions, numbers, strict=True)]


__all__ = ["Cascades", "Child", "Name", "Place", "Restored", "logs_cascades"]
