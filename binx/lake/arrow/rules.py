"""Rules for how a server converts a column's values when ALTER TABLE changes its type.

A rule is a function of one value, applied to each distinct value. If the result depends on facts that are not
in the log (a collation, the server's own time zone, rounding that settings change), the value is unknown.

Sources: MySQL manual, "Data Type Conversion" under ALTER TABLE, "Precision Math", "Fractional Seconds in Time
Values"; MariaDB rounds numbers alike, and truncates fractional seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pyarrow as pa

from binx.lake.arrow.times import (
    date_to_moment,
    moment_to_date,
    moments,
    printed_moment,
    text_to_moment,
)
from binx.lake.arrow.types import (
    INTEGERS,
    Case,
    Misfit,
    Rule,
    SqlType,
    UnknownError,
    arrow_type,
    no_misfit,
    sql_type,
    unknown,
)
from binx.lake.tables.lives import Column, Epoch
from binx.rows.columns.arrow_schema import time_text

_UNICODE = {"utf8", "utf8mb3", "utf8mb4", ""}
_CODECS = {"utf8": "utf-8", "utf8mb3": "utf-8", "utf8mb4": "utf-8", "latin1": "cp1252", "ascii": "ascii"}
_INTEGER = re.compile(r"-?\d{1,19}")
_TEXT_BYTES = {"tinytext": 255, "text": 2**16 - 1, "mediumtext": 2**24 - 1, "longtext": 2**32 - 1}
_NUMBER = re.compile(r"-?\d{1,40}(?:\.\d{1,30})?")


def rule_of(former: Column, column: Column, epoch: Epoch) -> Rule | None:
    """Return the rule for a change of type; None if values stay the same."""
    old, new = sql_type(former), sql_type(column)
    if old is None or new is None:
        same = arrow_type(former.arrow_type) == arrow_type(column.arrow_type)
        return None if same else unknown
    if old == new and former.charset == column.charset:
        return None
    case = Case(old, new, former, column, epoch)
    if (old.kind, new.kind) in _RULES:
        return _RULES[old.kind, new.kind](case)
    if new.kind == "text" and old.kind in _PRINTED:
        return _limited(_PRINTED[old.kind](case), new, epoch)
    if old.kind == new.kind and arrow_type(former.arrow_type) == arrow_type(column.arrow_type):
        return None if old.arguments == new.arguments else unknown
    return unknown


def _bounds(kind: SqlType) -> tuple[int, int]:
    bits = INTEGERS[kind.base]
    unsigned = "unsigned" in kind.rest or "zerofill" in kind.rest
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _into_integer(value: int, case: Case, *, strict: bool = False) -> int:
    least, most = _bounds(case.new)
    if least <= value <= most:
        return value
    if strict or case.epoch.strict:
        # The server would have rejected the statement.
        raise UnknownError
    return max(least, min(most, value))


def _to_integer(case: Case) -> Rule:
    return lambda value: _into_integer(int(value), case)


def _rounded(value: Decimal, scale: int) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def _into_decimal(value: Decimal, case: Case) -> Decimal:
    whole = (case.new.numbers[0] if case.new.numbers else 10) - case.new.scale
    rounded = _rounded(value, case.new.scale)
    if abs(rounded) >= Decimal(10) ** whole or (rounded < 0 and "unsigned" in case.new.rest):
        raise UnknownError
    return rounded


def _to_decimal(case: Case) -> Rule:
    # Decimals of more than 38 digits are stored as text.
    to_text = pa.types.is_string(arrow_type(case.column.arrow_type))

    def rule(value: Any) -> Any:
        number = _into_decimal(Decimal(value), case)
        return f"{number:f}" if to_text else number

    return rule


def _to_real(case: Case) -> Rule:
    if case.new.base == "double" and not case.new.arguments:
        return float
    if case.old.kind == "int" and INTEGERS[case.old.base] <= 24 and not case.new.arguments:
        return float
    return unknown


def _kept(value: Any) -> Any:
    return value


def _texts(case: Case) -> Rule:
    if case.column.charset not in _UNICODE and case.former.charset != case.column.charset:
        codec = _CODECS.get(case.column.charset)

        def encodable(value: str) -> str:
            if codec is None and not value.isascii():
                raise UnknownError
            value.encode(codec or "ascii")
            return value

        return _limited(encodable, case.new, case.epoch)
    return _limited(_kept, case.new, case.epoch)


def _limited(rule: Rule, new: SqlType, epoch: Epoch) -> Rule:
    """Fit a rule's text into a type that may be shorter; CHAR strips trailing spaces."""
    most = _TEXT_BYTES.get(new.base)

    def limited(value: Any) -> str:
        text = str(rule(value))
        if new.base == "char":
            text = text.rstrip(" ")
        if new.base in ("char", "varchar") and len(text) > new.size:
            kept = text[: new.size]
            if epoch.strict and text[new.size :].strip(" "):
                raise UnknownError
            return kept.rstrip(" ") if new.base == "char" else kept
        if most is not None and len(text.encode()) > most:
            raise UnknownError
        return text

    return limited


def _text_to_bytes(case: Case) -> Rule:
    codec = _CODECS.get(case.former.charset or "utf8mb4")

    def rule(value: str) -> bytes:
        if codec is None or "\\x" in value:
            raise UnknownError
        return _sized(value.encode(codec), case.new)

    return rule


def _bytes_to_text(case: Case) -> Rule:
    codec = _CODECS.get(case.column.charset or "utf8mb4")

    def rule(value: bytes) -> str:
        if codec is None:
            raise UnknownError
        return value.decode(codec)

    return _limited(rule, case.new, case.epoch)


def _sized(value: bytes, new: SqlType) -> bytes:
    if new.base in ("binary", "varbinary") and len(value) > new.size:
        raise UnknownError
    return value.ljust(new.size, b"\0") if new.base == "binary" else value


def _text_to_integer(case: Case) -> Rule:
    def rule(value: str) -> int:
        if not _INTEGER.fullmatch(value):
            raise UnknownError
        return _into_integer(int(value), case, strict=True)

    return rule


def _text_to_number(case: Case) -> Rule:
    def rule(value: str) -> Any:
        if not _NUMBER.fullmatch(value):
            raise UnknownError
        return _into_decimal(Decimal(value), case) if case.new.kind == "decimal" else float(value)

    return rule if case.new.base != "float" else unknown


def _text_to_member(case: Case) -> Rule:
    members = set(case.new.members)

    def rule(value: str) -> str:
        if value not in members or isinstance(value, Misfit):
            raise UnknownError
        return value

    return rule


def _set_to_set(case: Case) -> Rule:
    order = {name: index for index, name in enumerate(case.new.members)}

    def rule(value: str) -> str:
        names = value.split(",") if value else []
        if isinstance(value, Misfit) or any(name not in order for name in names):
            raise UnknownError
        return ",".join(sorted(names, key=order.__getitem__))

    return rule


def _member_to_integer(case: Case) -> Rule:
    # The empty text is the error value, 0; of an ENUM with an empty member it may be either.
    names = ("", *case.old.members)
    places = {name: index for index, name in enumerate(names) if names.count(name) == 1}
    return lambda value: places[value] if value in places else unknown(value)


def _integer_to_member(case: Case) -> Rule:
    members = case.new.members
    return lambda value: members[value - 1] if 1 <= value <= len(members) else unknown(value)


def _hashes(case: Case) -> Rule:
    """Keep hashes if the hashed values stay the same: no value may convert to another text."""
    inner = [
        sql_type(replace(column, mysql_type=kind.arguments))
        for column, kind in ((case.former, case.old), (case.column, case.new))
    ]
    old, new = inner
    if old is None or new is None or old.kind != new.kind:
        return unknown
    if old.kind == "int":
        (least, most), (new_least, new_most) = _bounds(old), _bounds(new)
        return _kept if new_least <= least and most <= new_most else unknown
    if old.kind == "text" and (new.base != "char" or old.base == "char"):
        return _kept if _room(old) <= _room(new) else unknown
    if old.kind == "decimal" and old.scale == new.scale and old.rest == new.rest:
        return _kept if old.numbers <= new.numbers else unknown
    return unknown


def _room(kind: SqlType) -> int:
    """Return the approximate size limit of a text type in bytes."""
    return _TEXT_BYTES.get(kind.base, kind.size * 4)


_RULES: dict[tuple[str, str], Callable[[Case], Rule]] = {
    ("int", "int"): lambda case: no_misfit(_to_integer(case)),
    ("int", "decimal"): _to_decimal,
    ("int", "real"): _to_real,
    ("int", "year"): lambda case: lambda value: value if 1901 <= value <= 2155 else unknown(value),
    ("int", "enum"): _integer_to_member,
    ("decimal", "decimal"): _to_decimal,
    ("decimal", "int"): lambda case: lambda value: _into_integer(int(_rounded(Decimal(value), 0)), case),
    ("real", "real"): lambda case: _to_real(case) if case.old.base == "float" else unknown,
    ("text", "text"): _texts,
    ("text", "bytes"): _text_to_bytes,
    ("bytes", "text"): _bytes_to_text,
    ("bytes", "bytes"): lambda case: lambda value: _sized(value, case.new),
    ("text", "int"): _text_to_integer,
    ("text", "decimal"): _text_to_number,
    ("text", "real"): _text_to_number,
    ("text", "enum"): _text_to_member,
    ("enum", "enum"): _text_to_member,
    ("enum", "int"): lambda case: no_misfit(_member_to_integer(case)),
    ("set", "set"): _set_to_set,
    ("datetime", "datetime"): moments,
    ("timestamp", "timestamp"): moments,
    ("datetime", "timestamp"): moments,
    ("timestamp", "datetime"): moments,
    ("date", "datetime"): date_to_moment,
    ("date", "timestamp"): date_to_moment,
    ("datetime", "date"): moment_to_date,
    ("timestamp", "date"): moment_to_date,
    ("text", "date"): text_to_moment,
    ("text", "datetime"): text_to_moment,
    ("bit", "int"): _to_integer,
    ("year", "int"): _to_integer,
    ("hash", "hash"): _hashes,
}


_PRINTED: dict[str, Callable[[Case], Rule]] = {
    "int": lambda case: unknown if "zerofill" in case.old.rest else str,
    "year": lambda case: lambda value: f"{value:04}",
    "decimal": lambda case: lambda value: value if isinstance(value, str) else f"{value:f}",
    "enum": lambda case: no_misfit(str),
    "set": lambda case: no_misfit(str),
    "date": lambda case: lambda value: str(value) if isinstance(value, Misfit) else value.isoformat(),
    "datetime": printed_moment,
    "timestamp": printed_moment,
    "time": lambda case: lambda value: time_text(value // timedelta(microseconds=1), case.old.size),
    "json": lambda case: str,
}
