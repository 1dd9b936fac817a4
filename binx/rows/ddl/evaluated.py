"""Evaluate the DEFAULT expressions whose value the statement's text, time and time zone decide."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal, localcontext

from binx.event.session_variables import time_zone
from binx.rows.columns.schema import DEFAULT_CONTEXT, ColumnDefinition, Default, DefaultKind, StatementContext
from binx.rows.ddl.clauses import default_clause
from binx.rows.ddl.resolve import resolved_default
from binx.rows.ddl.tokens import NotUnderstoodError, TokenReader

_CLOCKS = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
_DAYS = ("CURRENT_DATE", "CURDATE")
_EMPTY_JSON = {"JSON_ARRAY": "[]", "JSON_OBJECT": "{}"}
_MOST = 2**63
"""Integers beyond it are of another type, in which differences are none."""
_EXACT = re.compile(r"-?\d{1,30}(\.\d{1,30})?")
_DIGITS = 130
_PIPES_AS_CONCAT = 0x2


def evaluated(
    default: Default, column: ColumnDefinition, context: StatementContext = DEFAULT_CONTEXT
) -> Default:
    """Return an expression's value as a constant that the column takes; itself if only the server knows it.

    Known are constants in parentheses, sums and products of numbers, the current time, and empty JSON.
    """
    # What an introducer makes of a text is decided where that is read.
    if default.kind is not DefaultKind.EXPRESSION or default.text.startswith("_"):
        return default
    # The normal text is read in this mode.
    reader = TokenReader(default.sql, context._replace(sql_mode=_PIPES_AS_CONCAT, literals=None))
    try:
        with localcontext(prec=_DIGITS):
            found = _sum(reader, column)
        is_beyond = found.kind is DefaultKind.NUMBER and abs(_number(reader, found)) >= _MOST
    except NotUnderstoodError:
        return default
    if is_beyond or not reader.at_end:
        return default
    return found if found.time_zone else resolved_default(found, column.base, column.charset, reader.context)


def _sum(reader: TokenReader, column: ColumnDefinition) -> Default:
    left = _product(reader, column)
    while (sign := reader.accept_any("+", "-")) is not None:
        first, second = _number(reader, left), _number(reader, _product(reader, column))
        left = _constant(first + second if sign == "+" else first - second)
    return left


def _product(reader: TokenReader, column: ColumnDefinition) -> Default:
    left = _term(reader, column)
    while reader.accept("*"):
        left = _constant(_number(reader, left) * _number(reader, _term(reader, column)))
    return left


def _term(reader: TokenReader, column: ColumnDefinition) -> Default:
    if reader.at("-", "("):
        reader.next()
        return _constant(-_number(reader, _term(reader, column)))
    if reader.accept("("):
        found = _sum(reader, column)
        reader.expect(")")
        return found
    if (function := reader.accept_any(*_CLOCKS, *_DAYS)) is not None:
        fraction = 0
        if reader.accept("(") and not reader.accept(")"):
            fraction = reader.number()
            reader.expect(")")
        return _clock(reader, column, fraction, is_day=function in _DAYS)
    if (function := reader.accept_any(*_EMPTY_JSON)) is not None:
        reader.expect("(", ")")
        return Default("", DefaultKind.STRING, _EMPTY_JSON[function])
    found = default_clause(reader)
    if found.kind is DefaultKind.EXPRESSION:
        raise reader.not_understood("a constant")
    return found


def _number(reader: TokenReader, term: Default) -> Decimal:
    """Return an exact number of moderate size; what has an exponent is none."""
    if term.kind is not DefaultKind.NUMBER or not _EXACT.fullmatch(term.constant):
        raise reader.not_understood("an exact number")
    return Decimal(term.constant)


def _constant(number: Decimal) -> Default:
    return Default("", DefaultKind.NUMBER, f"{number:f}")


def _clock(reader: TokenReader, column: ColumnDefinition, fraction: int, *, is_day: bool) -> Default:
    """Return the statement's time as a constant of a column."""
    context, is_moment = reader.context, column.base == "timestamp"
    zone = UTC if is_moment and not is_day else time_zone(context.time_zone)
    is_other = column.base in ("timestamp", "datetime") and fraction != (column.length or 0)
    if context.seconds is None or zone is None or is_other or (fraction and context.microseconds is None):
        raise reader.not_understood("a time that the log tells")
    text = datetime.fromtimestamp(context.seconds, zone).replace(tzinfo=None).isoformat(" ")
    if is_day or (column.base == "date" and not fraction):
        text = text.partition(" ")[0]
    elif fraction:
        text += f".{context.microseconds:06}"[: fraction + 1]
    kept_zone = "" if not is_moment else context.time_zone if is_day else "+00:00"
    return Default("", DefaultKind.STRING, text, time_zone=kept_zone)
