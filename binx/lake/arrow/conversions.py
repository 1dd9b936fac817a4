"""Rows of a state, or images, in the columns of a later epoch.

Of a value whose type ALTER TABLE changed, only that is kept which every server makes of it in every SQL mode,
and which Arrow's casts compute: wider integers and decimals, longer text, members appended or read as text,
more digits of time, DATE as DATETIME. All other values are unknown.

Sources: MySQL manual, "Data Type Conversion" under ALTER TABLE; MySQL's and MariaDB's sql/field_conv.cc.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.lake.arrow.column_types import arrow_type, constant, size_of, sql_type
from binx.lake.tables.lives import ColumnChange, SchemaSpan, TableColumn
from binx.rows.columns.types import BLOB_BASES, INTEGER_BASES, INTEGER_RANGES, INTEGERS, TEXT_BASES
from binx.rows.ddl.column_definitions import written_type
from binx.rows.ddl.parsed_statements import ColumnSpec

Values = Any
"""A chunked array, or an array, of values or of whether they are known."""
Kept = tuple[Values, Values] | None
"""Values, and which of them stay the same on every server; None for none. NULL stays NULL."""

_UNICODE = frozenset({"utf8mb4", ""})
_SHORT_UNICODE = frozenset({"utf8", "utf8mb3"})
_BEYOND_16_BITS = r"[\x{10000}-\x{10FFFF}]"
_OTHER_THAN_ASCII = r"[^\x00-\x7F]"
_NOT_OF_ITS_CHARSET = r"\\x[0-9A-Fa-f]{2}"
"""How the data set has bytes that a character set does not decode."""
_WITHOUT_ASCII = "swe7"
_MOST_BYTES_OF_A_CHARACTER = 4
_TEXT_BYTES = {"tinytext": 255, "text": 2**16 - 1, "mediumtext": 2**24 - 1, "longtext": 2**32 - 1}
_ZERO_DATE = "0000-00-00"
_ZERO_IN_DATE = "-00"
_EXACT_INTEGERS = {"float": 2**24, "double": 2**53}
_MOST_SCALE = 18
"""A decimal128 holds all 64-bit integers with this many digits after the point."""


def converted(rows: pa.Table, before: SchemaSpan, after: SchemaSpan) -> tuple[pa.Table, set[str]]:
    """Return rows in the columns of the epoch ``after``, and the columns in which values became unknown."""
    changes = {change.id: change for change in after.changes}
    ids = {column.id for column in before.columns}
    heads = [name for name in rows.column_names if not name[1:].isdigit()]
    columns: dict[str, Any] = {name: rows.column(name) for name in heads}
    lost = set()
    for column in after.columns:
        change = changes.get(column.id)
        if change is None and column.id not in ids:
            change = ColumnChange(column.id, None)
        if change is None and not (after.changes and f"m{column.id}" in rows.column_names):
            columns |= _kept(rows, column)
            continue
        if change is None:
            change = ColumnChange(column.id, column)
        is_added = change.former is None
        values = (
            _added(len(rows), column, change) if is_added else _changed(rows, column, change, after.sql_mode)
        )
        columns |= values
        if _known(values, column) < _known(_kept(rows, column), column, len(rows)):
            lost.add(column.name)
    return pa.table(columns), lost


def _known(values: dict[str, Any], column: TableColumn, count: int = 0) -> int:
    """Return in how many rows a column is known."""
    known = values.get(f"p{column.id}")
    if known is None:
        return len(values.get(f"v{column.id}", ())) or count
    return int(pc.sum(known).as_py() or 0)


def _kept(rows: pa.Table, column: TableColumn) -> dict[str, Any]:
    names = [f"{kind}{column.id}" for kind in "vmp"]
    return {name: rows.column(name) for name in names if name in rows.column_names}


def _added(count: int, column: TableColumn, change: ColumnChange) -> dict[str, Any]:
    kind, name = arrow_type(column.arrow_type), f"v{column.id}"
    value = None if change.value is None else constant(change.value.value, kind)
    misfit = None if change.value is None else change.value.misfit
    if not change.known or (value is None and misfit is None):
        return {name: pa.nulls(count, kind), f"p{column.id}": pa.repeat(pa.scalar(False), count)}
    constants = pa.nulls(count, kind) if value is None else pa.repeat(value, count)
    return {name: constants} | (
        {} if misfit is None else {f"m{column.id}": pa.repeat(pa.scalar(misfit), count)}
    )


def _changed(
    rows: pa.Table, column: TableColumn, change: ColumnChange, sql_mode: str | None
) -> dict[str, Any]:
    """Return the values of a column whose type or attributes changed."""
    assert change.former is not None
    held, kind = _kept(rows, column), arrow_type(column.arrow_type)
    values, misfits = held[f"v{column.id}"], held.get(f"m{column.id}")
    is_null = values.is_null() if misfits is None else pc.and_(values.is_null(), misfits.is_null())
    if _is_same(change.former, column):
        known, result = pc.is_valid(is_null), dict(held)
    else:
        kept = _outcome(values, change.former, column)
        known = pc.or_(is_null, False if kept is None else pc.fill_null(kept[1], False))
        nothing = pa.scalar(None, kind)
        converted_values = (
            pa.nulls(len(rows), kind)
            if kept is None
            else pc.if_else(known, kept[0], pa.scalar(None, kept[0].type)).cast(kind)
        )
        result = {f"v{column.id}": pc.if_else(known, converted_values, nothing)}
    if misfits is not None and pa.types.is_temporal(kind):
        known = pc.and_not(known, pc.fill_null(_zeroed(misfits, sql_mode), False))
    if change.numbers or (change.former.nullable and not column.nullable):
        # What NULL becomes depends on the SQL mode and the server.
        known = pc.and_not(known, is_null)
    if change.numbers:
        known = pc.and_not(known, pc.fill_null(pc.equal(result[f"v{column.id}"], pa.scalar(0, kind)), False))
    if f"p{column.id}" in held:
        known = pc.and_(known, pc.fill_null(held[f"p{column.id}"], False))
    if pc.all(known, min_count=0).as_py():
        return {name: array for name, array in result.items() if name[0] != "p"}
    result[f"v{column.id}"] = pc.if_else(known, result[f"v{column.id}"], pa.scalar(None, kind))
    if f"m{column.id}" in result:
        result[f"m{column.id}"] = pc.if_else(known, result[f"m{column.id}"], pa.scalar(None, pa.string()))
    return result | {f"p{column.id}": known}


def _zeroed(misfits: Values, sql_mode: str | None) -> Values:
    """Return which dates an ALTER TABLE that copies the table may have made zero.

    It does so with dates that its SQL mode does not take; in a strict mode it fails.
    """
    # An unknown one, or one with a bit that has no name, takes none.
    mode = "NO_ZERO_IN_DATE" if sql_mode is None or sql_mode.isdecimal() else sql_mode
    if "STRICT_" in mode:
        return pa.scalar(False)
    zeroed = pc.and_not(misfits.is_valid(), pc.starts_with(misfits, _ZERO_DATE))
    if "NO_ZERO_IN_DATE" in mode:
        return zeroed
    has_zero = pc.match_substring(misfits, _ZERO_IN_DATE)
    return pc.and_not(zeroed, True if "ALLOW_INVALID_DATES" in mode else has_zero)


def _is_same(former: TableColumn, column: TableColumn) -> bool:
    old, new = sql_type(former), sql_type(column)
    # Bases may have another Arrow type for what is one type on the server.
    is_same_arrow = arrow_type(former.arrow_type) == arrow_type(column.arrow_type)
    if not is_same_arrow:
        return False
    if old is None or new is None:
        # A hashed column's type says what was hashed.
        return former.mysql_type == column.mysql_type or not (former.mysql_type and column.mysql_type)
    is_same_text = former.charset == column.charset or _family(old) not in _OF_CHARACTERS
    return is_same_text and old == new


def _outcome(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    hashed = _HASHED.fullmatch(former.mysql_type), _HASHED.fullmatch(column.mysql_type)
    if all(hashed):
        return _hash(values, *(match[1] for match in hashed if match))
    old, new = sql_type(former), sql_type(column)
    rule = None if old is None or new is None else _RULES.get((_family(old), _family(new)))
    return None if rule is None else rule(values, former, column)


def _types(former: TableColumn, column: TableColumn) -> tuple[ColumnSpec, ColumnSpec]:
    old, new = sql_type(former), sql_type(column)
    assert old is not None
    assert new is not None
    return old, new


def _family(kind: ColumnSpec) -> str:
    """Return the family of types whose rules apply."""
    return _FAMILIES.get(kind.base, kind.base)


def _scale(kind: ColumnSpec) -> int:
    return kind.arguments[1] if kind.base == "decimal" and len(kind.arguments) > 1 else 0


def _bounds(kind: ColumnSpec) -> tuple[int, int]:
    """Return the least and the greatest value of a type of whole numbers."""
    if kind.base in ("bit", "year"):
        return 0, 2 ** (size_of(kind) or 1) - 1 if kind.base == "bit" else 2155
    bounds = INTEGER_RANGES[INTEGERS[kind.base, kind.unsigned]]
    return bounds[0], bounds[-1]


def _within(values: Values, old: ColumnSpec, least: int, most: int) -> Kept:
    values = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
    own_least, own_most = _bounds(old)
    least, most = max(least, own_least), min(most, own_most)
    if pa.types.is_unsigned_integer(values.type):
        least = max(least, 0)
    low, high = pa.scalar(least, values.type), pa.scalar(most, values.type)
    return values, pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))


def _to_integer(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    old, new = _types(former, column)
    return _within(values, old, *_bounds(new))


def _integer_to_decimal(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    old, new = _types(former, column)
    kind = arrow_type(column.arrow_type)
    if not pa.types.is_decimal(kind) or _scale(new) > _MOST_SCALE:
        return None
    most = 10 ** (kind.precision - kind.scale) - 1
    kept = _within(values, old, 0 if new.unsigned else -most, most)
    # Arrow casts an integer to a decimal only if that holds all of the integer's type.
    return None if kept is None else (kept[0].cast(pa.decimal128(20 + _scale(new), _scale(new))), kept[1])


def _integer_to_real(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    old, new = _types(former, column)
    most = _EXACT_INTEGERS[new.base]
    return None if new.arguments else _within(values, old, 0 if new.unsigned else -most, most)


def _to_decimal(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    old, new = _types(former, column)
    was, kind = values.type, arrow_type(column.arrow_type)
    if not (pa.types.is_decimal(was) and pa.types.is_decimal(kind)) or kind.scale < was.scale:
        return None
    if kind.precision - kind.scale < was.precision - was.scale:
        return None
    return values, _signed(values, old, new)


def _signed(values: Values, old: ColumnSpec, new: ColumnSpec) -> Values:
    """Return which values a type that may be unsigned takes."""
    if not new.unsigned or old.unsigned:
        return values.is_valid()
    return pc.greater_equal(values, pa.scalar(0, values.type))


def _to_double(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    old, new = _types(former, column)
    return None if new.base != "double" or new.arguments else (values, _signed(values, old, new))


def _to_text(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    old, new = _types(former, column)
    known = pc.and_(_encodable(values, former, column), _fits(values, new, column))
    if old.base == "char" and new.base != "char":
        # With PAD_CHAR_TO_FULL_LENGTH, spaces are added to shorter ones.
        known = pc.and_(known, pc.equal(pc.utf8_length(values), size_of(old)))
    return values, known


def _integer_to_text(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    old, new = _types(former, column)
    if old.zerofill:
        return None
    texts = values.cast(pa.string())
    return texts, _fits(texts, new, column)


def _encodable(values: Values, former: TableColumn, column: TableColumn) -> Values:
    """Return which texts another character set surely has."""
    if former.charset == column.charset:
        return values.is_valid()
    if column.charset == _WITHOUT_ASCII:
        return pc.equal(values, "")
    unsure = _OTHER_THAN_ASCII
    if column.charset in _UNICODE:
        unsure = _NOT_OF_ITS_CHARSET
    elif column.charset in _SHORT_UNICODE:
        unsure = f"{_NOT_OF_ITS_CHARSET}|{_BEYOND_16_BITS}"
    return pc.invert(pc.match_substring_regex(values, unsure))


def _fits(values: Values, new: ColumnSpec, column: TableColumn) -> Values:
    """Return which texts are not too long; CHAR has no spaces at its end."""
    if new.base in _TEXT_BYTES:
        is_utf8 = column.charset in _UNICODE | _SHORT_UNICODE
        size = pc.binary_length(values) if is_utf8 else pc.utf8_length(values)
        return pc.less_equal(size, _TEXT_BYTES[new.base] // (1 if is_utf8 else _MOST_BYTES_OF_A_CHARACTER))
    fits = pc.less_equal(pc.utf8_length(values), size_of(new))
    return pc.and_not(fits, pc.ends_with(values, " ")) if new.base == "char" else fits


def _bytes(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    new = _types(former, column)[1]
    most = {"blob": 2**16 - 1, "tinyblob": 255, "mediumblob": 2**24 - 1, "longblob": 2**32 - 1}
    size = pc.binary_length(values)
    if new.base == "binary":
        return values, pc.equal(size, size_of(new))
    return values, pc.less_equal(size, most.get(new.base, size_of(new)))


def _member(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    """Keep members if others were only appended; an ENUM's error value is no member."""
    old, new = _types(former, column)
    if old.members is None or new.members is None or new.members[: len(old.members)] != old.members:
        return None
    known = _encodable(values, former, column)
    is_sure = old.base == "set" or "" in old.members
    return values, known if is_sure else pc.and_(known, pc.not_equal(values, ""))


def _moment(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    old, new = _types(former, column)
    return (values, values.is_valid()) if size_of(new) >= size_of(old) else None


def _every(values: Values, former: TableColumn, column: TableColumn) -> Kept:
    return values, values.is_valid()


def _hash(values: Values, former: str, hashed: str) -> Kept:
    """Keep hashes if the hashed values stay the same: no value may become another text."""
    old, new = written_type(former), written_type(hashed)
    if old is None or new is None or _family(old) != _family(new):
        return None
    is_wider = False
    match _family(old):
        case "int":
            (least, most), (new_least, new_most) = _bounds(old), _bounds(new)
            is_wider = new_least <= least and most <= new_most
        case "text":
            is_wider = _room(old) <= _room(new) and (old.base == "char") == (new.base == "char")
        case "decimal":
            is_wider = _scale(old) == _scale(new) and old.unsigned == new.unsigned
            is_wider &= old.zerofill == new.zerofill and old.arguments <= new.arguments
    return (values, values.is_valid()) if is_wider else None


def _room(kind: ColumnSpec) -> int:
    """Return the approximate size limit of a text type in bytes."""
    return _TEXT_BYTES.get(kind.base, size_of(kind) * _MOST_BYTES_OF_A_CHARACTER)


_HASHED = re.compile(r"hash\((.*)\)", re.DOTALL)
_FAMILIES = {
    **dict.fromkeys(INTEGER_BASES, "int"),
    **dict.fromkeys(("char", "varchar", *TEXT_BASES), "text"),
    **dict.fromkeys(("binary", "varbinary", *BLOB_BASES), "bytes"),
    **dict.fromkeys(("float", "double"), "real"),
}
_OF_CHARACTERS = frozenset({"text", "enum", "set"})
_RULES: dict[tuple[str, str], Callable[[Values, TableColumn, TableColumn], Kept]] = {
    ("int", "int"): _to_integer,
    ("bit", "bit"): _to_integer,
    ("bit", "int"): _to_integer,
    ("year", "int"): _to_integer,
    ("int", "decimal"): _integer_to_decimal,
    ("int", "real"): _integer_to_real,
    ("int", "text"): _integer_to_text,
    ("decimal", "decimal"): _to_decimal,
    ("real", "real"): _to_double,
    ("text", "text"): _to_text,
    ("enum", "text"): _to_text,
    ("set", "text"): _to_text,
    ("json", "text"): _to_text,
    ("bytes", "bytes"): _bytes,
    ("enum", "enum"): _member,
    ("set", "set"): _member,
    ("datetime", "datetime"): _moment,
    ("timestamp", "timestamp"): _moment,
    ("time", "time"): _moment,
    ("date", "datetime"): _every,
}
