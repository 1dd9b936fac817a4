"""Conditions on rows in SQL syntax: ``status = 'paid' AND amount > 100``.

A row change passes if its before image or its after image matches the condition; ``before.status`` and
``after.status`` refer to one of them. sqlglot parses the text in its MySQL dialect. Supported are columns,
literals, ``= <> < <= > >= <=>``, ``AND OR XOR NOT``, ``IS [NOT] NULL | TRUE | FALSE``, ``[NOT] IN``,
``[NOT] BETWEEN``, ``[NOT] LIKE`` and ``[NOT] REGEXP``; anything else is rejected with an error that names it.

A comparison with NULL, or with a column that is absent from an image, is neither true nor false, as in SQL;
a warning names absent columns without which the condition decides nothing. A column absent from an update's
after image kept its value from the before image, if that has it. Text comparison is exact: case, accents and
trailing spaces count. Compared with a number, text counts as its leading number, and ENUM and SET values as
their numbers, as in servers. Zero and partial dates sort among the others by year, month and day; LIKE and
REGEXP see each value as servers print it, a TIMESTAMP in UTC.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError

from binx.errors import AbsentError, UsageError
from binx.event.charset import charset_or_default
from binx.rows.change_groups import BatchImages, ChangeGroup, Images
from binx.rows.columns.names import ResolvedColumn
from binx.rows.columns.schema import Provenance, folded_name
from binx.rows.columns.types import Kind, LogicalType
from binx.source.wording import did_you_mean, listed, shortened
from binx.where.comparison import check_expression, compared, is_null, matched
from binx.where.operands import Literal, Operand, zerofill_digits
from binx.where.parsed_literals import as_number, literal_of

# Without a handler, Python prints sqlglot's warnings about texts that are rejected here anyway.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

BEFORE, AFTER = "before", "after"
_SHOWN = 60
_TABLES_SHOWN = 20
_OPERAND_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[^']*'>")

_FILLED = frozenset({Kind.UINT8, Kind.UINT16, Kind.UINT24, Kind.UINT32, Kind.UINT64, Kind.DECIMAL})
"""Types that can be ZEROFILL and match LIKE."""

_SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_JOINS = {exp.And: pc.and_kleene, exp.Or: pc.or_kleene, exp.Xor: pc.xor}
_FLIPPED = {"=": "=", "<>": "<>", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class ColumnName(NamedTuple):
    """A column of the condition."""

    image: str | None
    name: str


class RowGroup:
    """Row changes of one group, as input of a condition.

    Attributes:
        lacking: the columns asked for that an image of these changes lacks.
    """

    def __init__(self, images: BatchImages, group: ChangeGroup, default: str) -> None:
        self._images = images
        self._group = group
        self._default = default
        self._indexes = {
            folded_name(column.source_name): index for index, column in enumerate(images.columns)
        }
        self.lacking: set[str] = set()
        changed = group.images
        self.size = images.changes.rows if changed.rows is None else len(changed.rows)

    def operand(self, column: ColumnName) -> Operand | None:
        """Return a column's values; None if the log does not have them."""
        index = self._indexes.get(column.name)
        if index is None:
            return None
        source = self._source(index, column.image or self._default)
        if source is None:
            self._note_lacking(column)
            return None
        resolved = self._images.columns[index]
        misfits = self._images.misfits.get(resolved.name, [])
        misfit_texts = None
        if misfits:
            text_by_row = dict(misfits)
            rows = range(self._images.changes.rows)
            misfit_texts = source.pick(pa.array([text_by_row.get(row) for row in rows], pa.string()))
        values = _as_decoded(source.pick(self._images.column(index)), resolved.type)
        return Operand(values, resolved.type, misfit_texts, self._zeros(resolved))

    def _zeros(self, column: ResolvedColumn) -> int | None:
        """Return the digits to which a server pads a column's values; None if unknown."""
        # Without a source, integers count as signed.
        if column.type.kind not in _FILLED and column.provenance.signedness is not Provenance.NONE:
            return 0
        if self._images.changes.table.resolved.definition is None:
            return None
        return zerofill_digits(column.mysql_type)

    def _note_lacking(self, column: ColumnName) -> None:
        is_before = (column.image or self._default) == BEFORE
        if (self._group.before if is_before else self._group.after) is not None:
            self.lacking.add(column.name)

    def _source(self, index: int, image: str) -> Images | None:
        """Return the image that has a column's value, or None."""
        before, after = self._group.before, self._group.after
        if image == BEFORE:
            return before if before is not None and index in before.columns else None
        if after is None:
            return None
        if index in after.columns:
            return after
        return before if before is not None and index in before.columns else None

    def unknown(self) -> pa.BooleanArray:
        """Return NULL (neither true nor false) for each change."""
        return pa.nulls(self.size, pa.bool_())


class TableFrame(RowGroup):
    """Rows of a table, as input of a condition: columns by case-folded name."""

    def __init__(self, operands: Mapping[str, Operand], size: int) -> None:
        self._operands = operands
        self.size = size

    def operand(self, column: ColumnName) -> Operand | None:
        """Return a column's values, or None."""
        return self._operands.get(column.name)


def _as_decoded(values: pa.Array, logical: LogicalType) -> pa.Array:
    """Return values in comparable form: stored text is decoded, stored member numbers become names."""
    decode = _decoder_of(values, logical)
    if decode is None:
        return values
    words = values.dictionary_encode()
    texts = pa.array([decode(word) for word in words.dictionary.to_pylist()], pa.string())
    return texts.take(words.indices)


def _decoder_of(values: pa.Array, logical: LogicalType) -> Callable[[Any], str] | None:
    """Return the function that decodes a stored value; None if values are comparable as stored."""
    members = logical.members or ()
    if logical.kind is Kind.TEXT and pa.types.is_binary(values.type):
        return charset_or_default(logical.charset).decode
    if members and logical.kind is Kind.ENUM and pa.types.is_integer(values.type):
        return ("", *members).__getitem__
    if members and logical.kind is Kind.SET and pa.types.is_integer(values.type):
        return logical.set_text
    return None


Evaluate = Callable[[RowGroup], pa.BooleanArray]


class Condition:
    """A condition on rows.

    Raises:
        UsageError: it is invalid or not supported.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.columns: set[str] = set()
        self._sides: list[tuple[str, str]] = []
        self._either_image = False
        try:
            self._evaluate = self._compiled(_parsed(text))
        except RecursionError:
            raise UsageError("the condition is nested too deeply") from None

    def applies(self, images: BatchImages) -> bool:
        """Whether the table has all columns of the condition."""
        return self.columns.issubset(folded_name(column.source_name) for column in images.columns)

    def absent_error(self, tables: Iterable[str], columns: Collection[str]) -> AbsentError:
        """Return the error to raise if no table with row changes has all columns of the condition.

        Args:
            columns: the columns that the tables have.
        """
        absent = sorted(self.columns.difference(columns)) or sorted(self.columns)
        words = [(name, word) for name, word in self._sides if name in columns and word in absent]
        return AbsentError(
            f"no table has {', '.join(absent)}, as the condition {self.text!r} requires; tables with row"
            f" changes: {listed(list(tables), _TABLES_SHOWN)}"
            + "".join(f"; text needs quotes: {name} = '{word}'" for name, word in words)
            + ("" if words else "".join(did_you_mean(name, columns) for name in absent))
        )

    def matching(self, frame: RowGroup) -> pa.BooleanArray:
        """Return a mask of the rows that match the condition, without nulls."""
        return pc.fill_null(self._evaluate(frame), False)

    def passing(
        self, images: BatchImages, lacking: set[str] | None = None
    ) -> Iterator[tuple[ChangeGroup, pa.BooleanArray]]:
        """Yield the changes of a batch by group, each with a mask of those that pass, without nulls.

        Args:
            lacking: receives the columns that images lack, and without which it is unknown of some changes
                whether they pass.

        Raises:
            IncomparableError: a literal is not valid for its column's type; it may be for another table's.
            UsageError: a regular expression is invalid.
        """
        for group in images.groups():
            sides = [AFTER] if group.after is not None or not self._either_image else []
            sides += [BEFORE] if group.before is not None and self._either_image else []
            frames = [RowGroup(images, group, side) for side in sides]
            mask = reduce(pc.or_kleene, map(self._evaluate, frames))
            if lacking is not None and mask.null_count:
                lacking.update(*(frame.lacking for frame in frames))
            yield group, pc.fill_null(mask, False)

    def _compiled(self, node: exp.Expr) -> Evaluate:
        if isinstance(node, exp.Paren):
            return self._compiled(node.this)
        if isinstance(node, exp.Connector):
            return self._connected(node)
        if isinstance(node, exp.Not):
            inner = self._compiled(node.this)
            return lambda frame: pc.invert(inner(frame))
        if isinstance(node, exp.Is):
            return self._is(node)
        if isinstance(node, exp.In) and node.expressions:
            return _joined([self._listed(node.this, "=", item) for item in node.expressions], pc.or_kleene)
        if isinstance(node, exp.Between):
            return self._between(node)
        if isinstance(node, exp.Like | exp.RegexpLike):
            return self._match(node)
        sign = _SIGNS.get(type(node))
        if sign is not None:
            return self._comparison(node.this, sign, node.expression)
        if isinstance(node, exp.Column | exp.Boolean):
            return self._comparison(node, "<>", exp.Literal.number(0))
        raise _unsupported(node)

    def _between(self, node: exp.Between) -> Evaluate:
        bounds = [node.args["low"], node.args["high"]]
        # If one bound is a number, servers convert the other to a number too.
        literals = [literal for literal in map(literal_of, bounds) if literal is not None]
        numeric = any(literal.number for literal in literals)
        real = numeric and any(not one.number or "e" in str(one.value).lower() for one in literals)
        signs = zip((">=", "<="), bounds, strict=True)
        conditions = [
            self._listed(node.this, sign, bound, numeric=numeric, real=real) for sign, bound in signs
        ]
        return _joined(conditions, pc.and_kleene)

    def _listed(
        self, left: exp.Expr, sign: str, right: exp.Expr, *, numeric: bool = False, real: bool = False
    ) -> Evaluate:
        """Compile a comparison within IN or BETWEEN."""
        literal = literal_of(right)
        if literal is None:
            return self._comparison(left, sign, right)
        if numeric:
            literal = as_number(literal)
        return self._with_literal(left, sign, literal._replace(listed=True, real=real))

    def _connected(self, node: exp.Connector) -> Evaluate:
        operands = [self._compiled(node.left), self._compiled(node.right)]
        join = _JOINS.get(type(node))
        if join is None:
            raise _unsupported(node)
        return _joined(operands, join)

    def _is(self, node: exp.Is) -> Evaluate:
        if isinstance(node.expression, exp.Boolean):
            truth = self._comparison(node.this, "<>", exp.Literal.number(0))
            wanted = bool(node.expression.this)
            return lambda frame: pc.fill_null(pc.equal(truth(frame), pa.scalar(wanted)), False)
        if not isinstance(node.expression, exp.Null) or not isinstance(node.this, exp.Column):
            raise _unsupported(node)
        column = self._column(node.this)

        def evaluate(frame: RowGroup) -> pa.BooleanArray:
            operand = frame.operand(column)
            return frame.unknown() if operand is None else is_null(operand)

        return evaluate

    def _match(self, node: exp.Like | exp.RegexpLike) -> Evaluate:
        pattern = literal_of(node.expression)
        if not isinstance(node.this, exp.Column) or pattern is None or not isinstance(pattern.value, str):
            raise _unsupported(node)
        column, text, is_regex = self._column(node.this), pattern.value, isinstance(node, exp.RegexpLike)
        if is_regex:
            check_expression(text)
        negated = bool(node.args.get("negate"))

        def evaluate(frame: RowGroup) -> pa.BooleanArray:
            operand = frame.operand(column)
            if operand is None:
                return frame.unknown()
            mask = matched(operand, text, column.name, is_regex=is_regex)
            return pc.invert(mask) if negated else mask

        return evaluate

    def _comparison(self, left: exp.Expr, sign: str, right: exp.Expr) -> Evaluate:
        if not isinstance(left, exp.Column):
            if not isinstance(right, exp.Column):
                raise _unsupported(left)
            left, sign, right = right, _FLIPPED[sign], left
        if isinstance(right, exp.Column):
            column, other_column = self._column(left), self._column(right)
            self._sides += [(column.name, other_column.name), (other_column.name, column.name)]
            return lambda frame: self._compare_columns(frame, column, sign, other_column)
        literal = literal_of(right)
        if literal is None:
            raise _unsupported(right)
        return self._with_literal(left, sign, literal)

    def _with_literal(self, node: exp.Expr, sign: str, literal: Literal) -> Evaluate:
        if not isinstance(node, exp.Column):
            raise _unsupported(node)
        column = self._column(node)

        def evaluate(frame: RowGroup) -> pa.BooleanArray:
            operand = frame.operand(column)
            return frame.unknown() if operand is None else compared(operand, sign, literal, column.name)

        return evaluate

    @staticmethod
    def _compare_columns(frame: RowGroup, left: ColumnName, sign: str, right: ColumnName) -> pa.BooleanArray:
        first, second = frame.operand(left), frame.operand(right)
        if first is None or second is None:
            return frame.unknown()
        return compared(first, sign, second, left.name)

    def _column(self, node: exp.Column) -> ColumnName:
        if node.args.get("db") is not None:
            raise _unsupported(node)
        image = folded_name(node.table) or None
        if image not in {None, BEFORE, AFTER}:
            raise UsageError(
                f"expected a column, or before.COLUMN or after.COLUMN, found {node.sql('mysql')!r};"
                " select tables with --table"
            )
        name = folded_name(node.name)
        self.columns.add(name)
        self._either_image = self._either_image or image is None
        return ColumnName(image, name)


def _joined(conditions: list[Evaluate], join: Callable[..., pa.BooleanArray]) -> Evaluate:
    return lambda frame: reduce(join, (condition(frame) for condition in conditions))


def _parsed(text: str) -> exp.Expr:
    try:
        expressions = sqlglot.parse(text, dialect="mysql")
    except (SqlglotError, RecursionError) as error:
        problem = _OPERAND_MISSING.sub(
            "an operand is missing", (str(error).splitlines() or ["not understood"])[0]
        )
        if isinstance(error, TokenError):
            problem = "a quote or a comment is not closed"
        raise UsageError(
            f"expected a condition such as \"status = 'paid'\", found {text!r}: {problem}"
        ) from error
    if len(expressions) != 1 or expressions[0] is None:
        raise UsageError(f"expected one condition, found {text!r}")
    return expressions[0]


def _unsupported(node: exp.Expr) -> UsageError:
    return UsageError(
        f"{shortened(node.sql('mysql'), _SHOWN)!r} is not supported in a condition, which consists of columns"
        " and literals, compared by = <> < <= > >= <=>, IN, BETWEEN, LIKE, REGEXP or IS NULL, joined by AND,"
        " OR, XOR and NOT"
    )
