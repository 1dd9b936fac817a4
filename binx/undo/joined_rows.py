"""Undo many row changes of a table by one statement: a table of their values, joined with the rows.

Where each row has a statement, and another that counts it, the client and the server need many times as long
as for the changes themselves::

    UPDATE (SELECT NULL AS k0, … FROM DUAL WHERE FALSE UNION ALL VALUES
    ROW(7, …),
    ROW(8, …)) AS undone_1
    LEFT JOIN shop.items ON shop.items.id=undone_1.k0
    SET shop.items.price=undone_1.b2
    WHERE IF(shop.items.id IS NOT NULL AND shop.items.price<=>undone_1.a2 …, TRUE, <record the key>);

A server may change the rows of a statement in any order. Rows whose order may matter have statements of their
own: those that occur twice, that others may refer to, and those of which the columns of a unique or a foreign
key changed. So have values whose type a table of literals would lose. Sources: the manuals of MySQL 8.0.19
and MariaDB 10.3.3, which are the first to have ``VALUES``, and both on the types of a UNION's columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.format import Flavour
from binx.kernels.render.transactions import Spelling
from binx.rows.change_groups import ChangeGroup, Images, columns_of
from binx.rows.columns.types import INTEGER_NAMES, Kind
from binx.slices.rendering import Parts, columns
from binx.slices.sql.compared_rows import changed_rows, key_texts
from binx.sql.literals import SqlValues, has_unknown_charset
from binx.sql.values import Spelled, mapped_charset
from binx.undo.conditions import ConditionsSql

_SINCE = {Flavour.MYSQL: (8, 0, 19), Flavour.MARIADB: (10, 3, 3)}
_TYPES = {
    Kind.DATE: b"DATE",
    Kind.DATETIME: b"TIMESTAMP",
    Kind.TIMESTAMP: b"TIMESTAMP",
    Kind.TIME: b"TIME",
}
"""Types that stand before a literal."""

_KEYS = frozenset({*INTEGER_NAMES, Kind.DECIMAL, Kind.TEXT, Kind.BINARY, Kind.DATE, Kind.DATETIME})
"""Columns whose index servers use to find the values of another table's column."""

_FLOATS = frozenset({Kind.FLOAT32, Kind.FLOAT64})
_MEMBERS = frozenset({Kind.ENUM, Kind.SET})
_TEXTS = frozenset({Kind.TEXT, Kind.JSON, *_MEMBERS})
_KINDS = frozenset({*_KEYS, *_TYPES, *_FLOATS, *_TEXTS, Kind.YEAR, Kind.BITS, Kind.BOOL})
_WRITTEN_DOCUMENT = "^(JSON_|CAST)"
FEWEST = 10
"""Fewest changes that are undone together; of fewer, statements of their own are easier to read."""


class _Given(NamedTuple):
    """A column of the table of literals.

    Attributes:
        column: the column of the changed table that it has values of.
        role: ``k`` for a key's, ``b`` for those from before, ``a`` for those that the change left.
    """

    column: int
    role: str
    images: Images

    @property
    def name(self) -> str:
        """Its name, unique in the table of literals."""
        return f"{self.role}{self.column}"


@dataclass(frozen=True, slots=True)
class JoinedGroup(ChangeGroup):
    """Row changes that one statement can undo, and the columns of the literals that it needs."""

    given: tuple[_Given, ...]


class JoinedSql(ConditionsSql):
    """Statements that undo many row changes of a batch each."""

    @property
    def _force(self) -> bool:
        return self._check.forces(self._table)

    def _divided(self, group: ChangeGroup) -> Iterator[ChangeGroup]:
        """Divide inserts or updates into those that one statement can undo, and the others."""
        changes = self._changes(group)
        alone = self._alone(group, changes)
        joined = None if alone is None else self._in_runs(group, pc.invert(alone))
        if joined is None or not joined.true_count:
            yield group
            return
        if joined.false_count:
            yield ChangeGroup(*self._marked(group, pc.invert(joined)))
        if not self._force or not changes:
            yield self._joined(group, joined, changes)
            return
        # By force a row keeps what others have written since into columns that its change left alone.
        flags = [mask.cast(pa.uint8()).cast(pa.string()) for mask in changes.values()]
        patterns = pc.binary_join_element_wise(*flags, "")
        for pattern in patterns.filter(joined).unique():
            yield self._joined(group, pc.and_(joined, pc.equal(patterns, pattern)), changes)

    def _in_runs(self, group: ChangeGroup, mask: pa.BooleanArray) -> pa.BooleanArray:
        """Return those of some changes that follow each other in one transaction, and are enough."""
        facts = (self._images.system(name) for name in ("_commit_version", "_row"))
        versions, rows = (group.images.pick(fact).filter(mask) for fact in facts)
        if len(rows) < FEWEST:
            return pa.repeat(pa.scalar(False), len(mask))
        same = pc.equal(versions.slice(1), versions.slice(0, len(versions) - 1))
        next_to = pc.equal(pc.subtract(rows.slice(1), rows.slice(0, len(rows) - 1)), pa.scalar(1, rows.type))
        begins = pa.concat_arrays([pa.array([True]), pc.invert(pc.and_(same, next_to))])
        runs = pc.cumulative_sum(begins.cast(pa.int32()))
        counted = pc.value_counts(runs)
        enough = counted.field("values").filter(pc.greater_equal(counted.field("counts"), FEWEST))
        return pc.replace_with_mask(mask, mask, pc.is_in(runs, value_set=enough))

    def _joined(
        self, group: ChangeGroup, mask: pa.BooleanArray, changes: dict[int, pa.BooleanArray]
    ) -> JoinedGroup:
        before, after = self._marked(group, mask)
        changed = [index for index, changed in changes.items() if pc.and_(changed, mask).true_count]
        return JoinedGroup(before, after, (*self._given(ChangeGroup(before, after), changed),))

    def _marked(self, group: ChangeGroup, mask: pa.BooleanArray) -> tuple[Images | None, Images | None]:
        before, after = group.before, group.after
        return (
            None if before is None else self._images.marked(before, mask),
            None if after is None else self._images.marked(after, mask),
        )

    def _changes(self, group: ChangeGroup) -> dict[int, pa.BooleanArray]:
        """Return which updates changed each column, without those that no update changed."""
        before, after = group.before, group.after
        if before is None or after is None:
            return {}
        both = [index for index in self._table.writable if index in before.columns and index in after.columns]
        masks = {index: changed_rows(self._images, index, before, after) for index in both}
        return {index: mask for index, mask in masks.items() if mask.true_count}

    def _given(self, group: ChangeGroup, changed: Iterable[int]) -> Iterator[_Given]:
        """Yield the columns of the table of literals."""
        image_of = latest_images(group)
        rows = group.before or group.images
        for index in self._table.key:
            yield _Given(index, "k", rows)
        if group.before is not None:
            for index in changed:
                yield _Given(index, "b", group.before)
        if not self._force:
            for index in self._identifying(image_of):
                yield _Given(index, "a", image_of[index])

    def _alone(self, group: ChangeGroup, changes: dict[int, pa.BooleanArray]) -> pa.BooleanArray | None:
        """Return which changes need statements of their own; None if all do."""
        table, images, rows = self._table, self._images, group.before or group.images
        if (
            not table.key
            or not {*table.key} <= {*rows.columns}
            or self._dialect.version < _SINCE[self._dialect.flavour]
            or self._replaced is not None
        ):
            return None
        given = [*self._given(group, changes)]
        if (
            not {self._kind(column.column) for column in given} <= _KINDS
            or not {self._kind(index) for index in table.key} <= _KEYS
            or any(has_unknown_charset(images, column.column) for column in given)
        ):
            return None
        keys = key_texts(images, table.key, rows)
        counted = pc.value_counts(keys)
        repeated = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
        alone = [pc.is_in(keys, value_set=repeated)]
        if group.before is None:
            if self._foreign_keys.children:
                return None
        else:
            ordered = self._ordered()
            if ordered is None or not changes:
                return None
            alone.append(pc.invert(reduce(pc.or_, changes.values())))
            alone += [mask for index, mask in changes.items() if index in ordered]
        for column in given:
            untyped = self._untyped(column)
            if untyped is None:
                return None
            alone += untyped
        return reduce(pc.or_, alone)

    def _ordered(self) -> set[int] | None:
        """Return the columns whose changes are undone in order; None if they are not known."""
        definition = self._images.changes.table.resolved.definition
        if definition is None or definition.unknown is not None or definition.period:
            return None
        columns = self._table.columns
        keys = [index.columns for index in definition.indexes if index.unique]
        keys += [child.key.referenced for _, child in self._foreign_keys.children]
        keys += [child.key.columns for _, child in self._foreign_keys.parents]
        ordered = {*self._table.key}
        for names in keys:
            indexes = columns_of(columns, names)
            if indexes is None or any(columns[index].generated is not None for index in indexes):
                return None
            ordered.update(indexes)
        whole = all(index.whole for index in definition.indexes if index.unique)
        return ordered if whole else None

    def _untyped(self, given: _Given) -> list[pa.BooleanArray] | None:
        """Return which values a column of literals would not keep, as masks; None if those are not known."""
        column, rows = self._table.columns[given.column], given.images
        spelled, *_ = self._spelled_as(given)
        masks = []
        misfits = self._images.misfits.get(column.name)
        if misfits is not None:
            which = rows.pick(pa.array(range(self._images.changes.rows), pa.int64()))
            masks.append(pc.is_in(which, value_set=pa.array([row for row, _ in misfits], pa.int64())))
        kind, values = column.type.kind, rows.pick(self._images.column(given.column))
        if kind in _MEMBERS and spelled.spelling is not Spelling.SPELL_SQL:
            return None
        if kind is Kind.JSON:
            masks.append(pc.fill_null(pc.match_substring_regex(values, _WRITTEN_DOCUMENT), False))
        elif kind is Kind.TEXT and given.role != "a" and spelled.column is not None:
            if spelled.spelling is Spelling.SPELL_TEXT:
                texts = rows.pick(spelled.column).cast(pa.large_string())
                # Bytes of another character set, which a column would convert.
                odd = pc.and_(pc.starts_with(texts, "_"), pc.invert(pc.starts_with(texts, "_utf8mb4 ")))
                masks.append(pc.fill_null(odd, False))
            elif spelled.spelling is Spelling.SPELL_SQL and not _is_utf8(spelled.column):
                return None
        return masks

    def _kind(self, index: int) -> Kind:
        return self._table.columns[index].type.kind

    def _identifying(self, image_of: dict[int, Images]) -> list[int]:
        """Return the columns, beside the key, by which the row is found that a change left."""
        table = self._table
        # `=` compares a key's text only as exactly as its collation.
        return [
            index
            for index in image_of
            if table.columns[index].generated is None
            and (index not in table.key or self._kind(index) is Kind.TEXT)
        ]

    def _spelled_as(self, given: _Given) -> tuple[Spelled, ...]:
        kind = self._kind(given.column)
        if given.role == "k" and kind is Kind.TEXT and self._dialect.flavour is Flavour.MARIADB:
            # MariaDB has no UNION of a column with texts of another character set.
            array = self._images.column(given.column)
            charset = mapped_charset(array, self._table.columns[given.column].type)
            if charset is not None:
                return (SqlValues().binary(array).within(f"_{charset.name} ".encode(), b""),)
        spelled, *misfits = self._values(
            given.column, compared=given.role == "a" and kind in {Kind.TEXT, Kind.FLOAT32}
        )
        return spelled.within(_TYPES.get(kind, b""), b""), *misfits

    def _literals_of(self, group: JoinedGroup) -> Parts:
        """A row of the table of literals."""
        yield b"ROW(" if self._dialect.flavour is Flavour.MYSQL else b"("
        for number, column in enumerate(group.given):
            yield from columns(b", " if number else b"", self._spelled_as(column), column.images.rows)
        yield b")"

    def _around_literals(self, group: JoinedGroup) -> tuple[bytes, bytes, bytes]:
        """Return the text around the table of literals."""
        check = self._table_check("delete" if group.before is None else "update")
        self._check.compared(self._table, latest_images(group))
        name, names = self._table.name, [f"{self._table.name}.{column}" for column in self._table.names]
        literals = f"undone_{self._check.next_joined()}"
        given: dict[str, dict[int, str]] = {role: {} for role in "kba"}
        for column in group.given:
            given[column.role][column.column] = f"{literals}.{column.name}"
        types = ", ".join(f"{self._type_of(column)} AS {column.name}" for column in group.given)
        has_text = any(self._kind(index) is Kind.TEXT for index in self._table.key)
        head = f"(SELECT {types} FROM {name if has_text else 'DUAL'} WHERE FALSE UNION ALL VALUES\n"
        keys = " AND ".join(f"{names[index]}={value}" for index, value in given["k"].items())
        found = [f"{names[self._table.key[0]]} IS NOT NULL"]
        found += [self._is_given(index, names[index], value) for index, value in given["a"].items()]
        where = f"WHERE IF({' AND '.join(found)}, TRUE, {check.not_found(given['k'])})"
        counted, total = check.after_rows()
        if group.before is not None:
            assigned = {index: names[index] for index in self._table.guarded} | given["b"]
            sets = ", ".join(f"{names[index]}={value}" for index, value in assigned.items())
            head, tail = f"UPDATE {head}", f"LEFT JOIN {name} ON {keys}\nSET {sets}\n{where}"
        elif self._force:
            head, tail = f"DELETE {name} FROM {head}", f"JOIN {name} ON {keys}"
        else:
            head, tail = f"DELETE {name} FROM {head}", f"LEFT JOIN {name} ON {keys}\n{where}"
        return head.encode(), f") AS {literals}\n{tail}{counted}".encode(), total.encode()

    def _type_of(self, column: _Given) -> str:
        """Return an expression that has a column's type, together with its literals."""
        kind = self._kind(column.column)
        if column.role == "k" and kind is Kind.TEXT:
            return f"{self._table.name}.{self._table.names[column.column]}"
        return "''" if kind in _TEXTS else "NULL"

    def _is_given(self, index: int, name: str, given: str) -> str:
        """A condition that a column of the table has exactly the value of a column of literals."""
        kind, exact = self._kind(index), f"COLLATE {self._dialect.exact_collation}"
        if kind is Kind.JSON:
            return f"({name}<=>CAST({given} AS JSON) OR CAST({name} AS CHAR)<=>{given} {exact})"
        if kind in _TEXTS:
            return f"{name}<=>{given} {exact}"
        if kind in _FLOATS and self._dialect.flavour is Flavour.MYSQL:
            # 0 and -0 are equal.
            return f"{name}<=>{given} AND ({given} IS NULL OR ({name} LIKE '-%')=({given} LIKE '-%'))"
        return f"{name}<=>{given}"


def latest_images(group: ChangeGroup) -> dict[int, Images]:
    """Return the row as the change left it: for each column the image that has its value."""
    image_of: dict[int, Images] = {}
    for images in (group.before, group.after):
        if images is not None:
            image_of.update(dict.fromkeys(images.columns, images))
    return dict(sorted(image_of.items()))


def _is_utf8(array: pa.Array) -> bool:
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return True
    try:
        array.cast(pa.large_string() if pa.types.is_large_binary(array.type) else pa.string())
    except pa.ArrowInvalid:
        return False
    return True
