"""What a server makes of the values in a column whose type ALTER TABLE changes, where type rules tell it.

A rule is a function of one value, applied to each distinct one. Where the outcome depends on what the log
does not tell (a collation, the server's own zone, rounding that settings change), the value is not known.

Sources: MySQL manual, "Data Type Conversion" under ALTER TABLE, "Precision Math", "Fractional Seconds in Time
Values"; MariaDB rounds numbers alike, and cuts fractions of seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from binx.spark.lake.model import Change, Column, Epoch
from binx.spark.lake.types import arrow_type, constant

Rule = Callable[[Any], Any]
"""A value, or the text of a misfit, to the one after; raises :class:`UnknownError`."""

_TYPE = re.compile(r"\s*(?P<base>[a-z]\w*)\s*(?:\((?P<arguments>.*)\))?\s*(?P<rest>.*)", re.I | re.S)
_MEMBER = re.compile(r"'((?:[^'\\]|''|\\.)*)'")
_INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_CHARACTERS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
_BYTES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
_UNICODE = {"utf8", "utf8mb3", "utf8mb4", ""}
_CODECS = {"utf8": "utf-8", "utf8mb3": "utf-8", "utf8mb4": "utf-8", "latin1": "cp1252", "ascii": "ascii"}
_INTEGER = re.compile(r"-?\d{1,19}")
_NUMBER = re.compile(r"-?\d{1,40}(?:\.\d{1,30})?")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_ZERO = "0000-00-00"
_EPOCH = datetime(1970, 1, 1)


class UnknownError(Exception):
    """Only the server knows what became of the value."""


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type as COLUMN_TYPE has it: name, what stands in parentheses, whether it is unsigned."""

    base: str
    arguments: str
    rest: str

    @property
    def numbers(self) -> list[int]:
        """The numbers in parentheses."""
        return [int(one) for one in re.findall(r"\d+", self.arguments)]

    @property
    def members(self) -> list[str]:
        """Of ENUM and SET."""
        return [one.replace("''", "'").replace("\\\\", "\\") for one in _MEMBER.findall(self.arguments)]

    @property
    def size(self) -> int:
        """The first number; of a fraction of seconds the digits."""
        return self.numbers[0] if self.numbers else 1 if self.base in ("char", "binary") else 0

    @property
    def scale(self) -> int:
        """Digits behind the point."""
        return self.numbers[1] if self.base == "decimal" and len(self.numbers) > 1 else 0

    @property
    def kind(self) -> str:
        """The family of types that it follows the rules of."""
        if self.base in _INTEGERS:
            return "int"
        if self.base in _CHARACTERS:
            return "text"
        if self.base in _BYTES:
            return "bytes"
        return {"float": "real", "double": "real"}.get(self.base, self.base)


def sql_type(column: Column) -> SqlType | None:
    """The SQL type of a column; None where it is not known."""
    found = _TYPE.match(column.mysql_type)
    if found is None:
        return None
    base = found["base"].lower()
    return SqlType(
        {"integer": "int", "numeric": "decimal", "dec": "decimal"}.get(base, base),
        found["arguments"] or "",
        found["rest"].lower(),
    )


def converted(rows: pa.Table, before: Epoch, after: Epoch) -> tuple[pa.Table, set[str]]:
    """Rows in the columns that a table has from an epoch on, and the columns not known in some.

    Args:
        rows: images or a state.
        before: the epoch that they are in.
        after: the next one.
    """
    changes = {change.id: change for change in after.changes}
    ids = {column.id for column in before.columns}
    heads = [name for name in rows.column_names if not name[1:].isdigit()]
    found: dict[str, Any] = {name: rows.column(name) for name in heads}
    unknown = set()
    for column in after.columns:
        change = changes.get(column.id)
        if change is None and column.id not in ids:
            change = Change(column.id, None)
        made = _kept(rows, column) if change is None else _changed(rows, column, change, after)
        found |= made
        known = made.get(f"p{column.id}")
        if len(rows) and known is not None and change is not None and _lost(rows, column, known):
            unknown.add(column.name)
    return pa.table(found), unknown


def _lost(rows: pa.Table, column: Column, known: Any) -> bool:
    before = f"p{column.id}"
    was = rows.column(before) if before in rows.column_names else None
    now = sum(known.to_pylist())
    return bool(now < (len(rows) if was is None else sum(was.to_pylist())))


def _kept(rows: pa.Table, column: Column) -> dict[str, Any]:
    names = [f"{kind}{column.id}" for kind in "vmp"]
    return {name: rows.column(name) for name in names if name in rows.column_names}


def _changed(rows: pa.Table, column: Column, change: Change, epoch: Epoch) -> dict[str, Any]:
    count, kind = len(rows), arrow_type(column.arrow_type)
    name = f"v{column.id}"
    if change.former is None:
        value = None if change.value is None else constant(change.value.value, kind)
        misfit = None if change.value is None else change.value.misfit
        if not change.known or (value is None and misfit is None):
            return {name: pa.nulls(count, kind), f"p{column.id}": pa.repeat(pa.scalar(False), count)}
        given = pa.nulls(count, kind) if value is None else pa.repeat(value, count)
        texts = {} if misfit is None else {f"m{column.id}": pa.repeat(pa.scalar(misfit), count)}
        return {name: given, **texts}
    rule = rule_of(change.former, column, epoch)
    kept = _kept(rows, column)
    if rule is None and kept[name].type == kind and change.value is None:
        return kept
    known = kept.get(f"p{column.id}")
    present = [True] * count if known is None else known.to_pylist()
    texts_before = kept.get(f"m{column.id}")
    misfits = [None] * count if texts_before is None else texts_before.to_pylist()
    filled = None if change.value is None else constant(change.value.value, kind)
    outcome = _Outcome(rule or (lambda one: one), kind, None if filled is None else filled.as_py())
    values = [
        outcome.of(value, misfit, is_known)
        for value, misfit, is_known in zip(_plain_values(kept[name]), misfits, present, strict=True)
    ]
    made: dict[str, Any] = {name: _array([value for value, _, _ in values], kind)}
    if any(misfit is not None for _, misfit, _ in values):
        made[f"m{column.id}"] = pa.array([misfit for _, misfit, _ in values], pa.string())
    if not all(is_known for _, _, is_known in values):
        made[f"p{column.id}"] = pa.array([is_known for _, _, is_known in values])
    return made


def _plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Values that Python can hold: of times the µs, without a zone."""
    if pa.types.is_timestamp(column.type):
        found = column.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
        return [None if one is None else _EPOCH + timedelta(microseconds=one) for one in found]
    return list(column.to_pylist())


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.timestamp("us")).cast(kind)
    return pa.array(values, kind)


class _Outcome:
    """What becomes of a value, kept for each distinct one: value, misfit, whether it is known."""

    def __init__(self, rule: Rule, kind: pa.DataType, filled: Any) -> None:
        self._rule = rule
        self._kind = kind
        self._filled = filled
        self._found: dict[Any, tuple[Any, str | None, bool]] = {}

    def of(self, value: Any, misfit: str | None, is_known: bool) -> tuple[Any, str | None, bool]:
        if not is_known:
            return None, None, False
        if value is None and misfit is None:
            return self._filled, None, True
        if isinstance(value, (list, dict)):
            return self._made(value, misfit)
        place = (value, misfit)
        if place not in self._found:
            self._found[place] = self._made(value, misfit)
        return self._found[place]

    def _made(self, value: Any, misfit: str | None) -> tuple[Any, str | None, bool]:
        try:
            found = self._rule(Misfit(misfit) if value is None and misfit is not None else value)
            if isinstance(found, Misfit):
                return None, str(found), True
            _array([found], self._kind)
        except (UnknownError, ValueError, ArithmeticError, OverflowError, pa.ArrowException, TypeError):
            return None, None, False
        return found, None, True


class Misfit(str):
    """The text of a value that its type cannot hold."""

    __slots__ = ()


def rule_of(former: Column, column: Column, epoch: Epoch) -> Rule | None:
    """How values change; None where they do not."""
    old, new = sql_type(former), sql_type(column)
    if old is None or new is None:
        same = arrow_type(former.arrow_type) == arrow_type(column.arrow_type)
        return None if same else _unknown
    if old == new and former.charset == column.charset:
        return None
    rule = _RULES.get((old.kind, new.kind))
    if rule is not None:
        return rule(_Case(old, new, former, column, epoch))
    if new.kind == "text" and old.kind in _PRINTED:
        return _limited(_PRINTED[old.kind](old, epoch), new, epoch)
    if old.kind == new.kind and arrow_type(former.arrow_type) == arrow_type(column.arrow_type):
        return None if old.arguments == new.arguments else _unknown
    return _unknown


def _unknown(value: Any) -> Any:
    raise UnknownError


@dataclass(frozen=True, slots=True)
class _Case:
    old: SqlType
    new: SqlType
    former: Column
    column: Column
    epoch: Epoch


def _no_misfit(rule: Rule) -> Rule:
    def checked(value: Any) -> Any:
        if isinstance(value, Misfit):
            raise UnknownError
        return rule(value)

    return checked


def _bounds(kind: SqlType) -> tuple[int, int]:
    bits = _INTEGERS[kind.base]
    unsigned = "unsigned" in kind.rest or "zerofill" in kind.rest
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _into_integer(value: int, new: SqlType, strict: bool) -> int:
    least, most = _bounds(new)
    if least <= value <= most:
        return value
    if strict:
        # The statement would have failed.
        raise UnknownError
    return max(least, min(most, value))


def _rounded(value: Decimal, scale: int) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def _into_decimal(value: Decimal, case: _Case) -> Decimal:
    whole = (case.new.numbers[0] if case.new.numbers else 10) - case.new.scale
    found = _rounded(value, case.new.scale)
    if abs(found) >= Decimal(10) ** whole or (found < 0 and "unsigned" in case.new.rest):
        raise UnknownError
    return found


def _integers(case: _Case) -> Rule:
    return lambda value: _into_integer(value, case.new, case.epoch.strict)


def _integer_to_decimal(case: _Case) -> Rule:
    return lambda value: _into_decimal(Decimal(value), case)


def _decimals(case: _Case) -> Rule:
    # Of more than 38 digits they are text.
    to_text = pa.types.is_string(arrow_type(case.column.arrow_type))

    def rule(value: Any) -> Any:
        found = _into_decimal(Decimal(value), case)
        return f"{found:f}" if to_text else found

    return rule


def _decimal_to_integer(case: _Case) -> Rule:
    return lambda value: _into_integer(int(_rounded(Decimal(value), 0)), case.new, case.epoch.strict)


def _to_real(case: _Case) -> Rule:
    if case.new.base == "double" and not case.new.arguments:
        return float
    if case.old.kind == "int" and _INTEGERS[case.old.base] <= 24 and not case.new.arguments:
        return float
    return _unknown


def _texts(case: _Case) -> Rule:
    if case.column.charset not in _UNICODE and case.former.charset != case.column.charset:
        codec = _CODECS.get(case.column.charset)

        def encodable(value: str) -> str:
            if codec is None and not value.isascii():
                raise UnknownError
            value.encode(codec or "ascii")
            return value

        return _limited(encodable, case.new, case.epoch)
    return _limited(lambda value: value, case.new, case.epoch)


def _limited(rule: Rule, new: SqlType, epoch: Epoch) -> Rule:
    """Text of a rule in a type that may be shorter; CHAR does not keep spaces at the end."""
    most = {"tinytext": 255, "text": 65_535, "mediumtext": 2**24 - 1}.get(new.base)

    def limited(value: Any) -> str:
        found = str(rule(value))
        if new.base == "char":
            found = found.rstrip(" ")
        if new.base in ("char", "varchar") and len(found) > new.size:
            kept = found[: new.size]
            if epoch.strict and found[new.size :].strip(" "):
                raise UnknownError
            return kept.rstrip(" ") if new.base == "char" else kept
        if most is not None and len(found.encode()) > most:
            raise UnknownError
        return found

    return limited


def _text_to_bytes(case: _Case) -> Rule:
    codec = _CODECS.get(case.former.charset or "utf8mb4")

    def rule(value: str) -> bytes:
        if codec is None or "\\x" in value:
            raise UnknownError
        return _sized(value.encode(codec), case.new)

    return rule


def _bytes_to_text(case: _Case) -> Rule:
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


def _text_to_number(case: _Case) -> Rule:
    def rule(value: str) -> Any:
        if case.new.kind == "int":
            if not _INTEGER.fullmatch(value):
                raise UnknownError
            return _into_integer(int(value), case.new, True)
        if not _NUMBER.fullmatch(value):
            raise UnknownError
        return _into_decimal(Decimal(value), case) if case.new.kind == "decimal" else float(value)

    return rule if case.new.base != "float" else _unknown


def _text_to_member(case: _Case) -> Rule:
    members = set(case.new.members)

    def rule(value: str) -> str:
        if value not in members or isinstance(value, Misfit):
            raise UnknownError
        return value

    return rule


def _set_to_set(case: _Case) -> Rule:
    order = {name: place for place, name in enumerate(case.new.members)}

    def rule(value: str) -> str:
        names = value.split(",") if value else []
        if isinstance(value, Misfit) or any(name not in order for name in names):
            raise UnknownError
        return ",".join(sorted(names, key=order.__getitem__))

    return rule


def _member_to_integer(case: _Case) -> Rule:
    places = {name: place for place, name in enumerate(case.old.members, 1)}
    return lambda value: (
        0 if value == "" and "" not in places else places[value] if value in places else _unknown(value)
    )


def _integer_to_member(case: _Case) -> Rule:
    members = case.new.members
    return lambda value: members[value - 1] if 1 <= value <= len(members) else _unknown(value)


def zone_of(epoch: Epoch) -> tzinfo | None:
    """The session's zone; None where the log does not tell it."""
    if found := _OFFSET.fullmatch(epoch.time_zone):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-offset if found[1] == "-" else offset)
    if epoch.time_zone.upper() in ("UTC", "GMT"):
        return UTC
    try:
        return ZoneInfo(epoch.time_zone) if "/" in epoch.time_zone else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def _fraction(value: datetime, old: SqlType, new: SqlType, epoch: Epoch) -> datetime:
    """A moment with as many digits of the second's fraction as the new type has."""
    if new.size >= old.size:
        return value
    step = 10 ** (6 - new.size)
    rest = value.microsecond % step
    if rest == 0 or epoch.flavour == "mariadb":
        return value - timedelta(microseconds=rest)
    return value + timedelta(microseconds=step - rest if rest * 2 >= step else -rest)


def _moments(case: _Case) -> Rule:
    """Between DATETIME and TIMESTAMP, and of either to fewer digits."""
    zone = zone_of(case.epoch)

    def rule(value: Any) -> Any:
        if isinstance(value, Misfit):
            if value.startswith(_ZERO) or case.old.base == case.new.base == "datetime":
                whole = value.partition(".")[0]
                return Misfit(whole + (f".{'0' * case.new.size}" if case.new.size else ""))
            raise UnknownError
        found = _fraction(value, case.old, case.new, case.epoch)
        if case.old.base == case.new.base:
            return found
        if zone is None:
            raise UnknownError
        if case.old.base == "timestamp":
            return found.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
        early, late = (found.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if early != late or not datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC) <= early:
            raise UnknownError
        return early.replace(tzinfo=None)

    return rule


def _date_to_moment(case: _Case) -> Rule:
    zone = zone_of(case.epoch)

    def rule(value: Any) -> Any:
        if isinstance(value, Misfit):
            if value != _ZERO and case.new.base == "timestamp":
                raise UnknownError
            return Misfit(f"{value} 00:00:00" + (f".{'0' * case.new.size}" if case.new.size else ""))
        found = datetime(value.year, value.month, value.day)
        if case.new.base == "datetime":
            return found
        if zone is None:
            raise UnknownError
        early, late = (found.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if early != late:
            raise UnknownError
        return early.replace(tzinfo=None)

    return rule


def _moment_to_date(case: _Case) -> Rule:
    zone = zone_of(case.epoch) if case.old.base == "timestamp" else UTC

    def rule(value: Any) -> Any:
        if isinstance(value, Misfit):
            return Misfit(value[:10])
        if zone is None or (value.microsecond and case.epoch.flavour != "mariadb"):
            raise UnknownError
        return value.replace(tzinfo=UTC).astimezone(zone).date()

    return rule


def _text_to_moment(case: _Case) -> Rule:
    def rule(value: str) -> Any:
        if case.new.base == "date" and _DATE.fullmatch(value):
            return date.fromisoformat(value)
        if case.new.base == "datetime" and (_MOMENT.fullmatch(value) or _DATE.fullmatch(value)):
            digits = len(value.partition(".")[2])
            if digits <= case.new.size:
                return datetime.fromisoformat(value.ljust(26, "0") if digits else value)
        raise UnknownError

    return rule


def _json_to_text(case: _Case) -> Rule:
    return _limited(lambda value: value, case.new, case.epoch)


def _bits_to_integer(case: _Case) -> Rule:
    return lambda value: _into_integer(int(value), case.new, case.epoch.strict)


def _year_to_integer(case: _Case) -> Rule:
    return lambda value: _into_integer(value, case.new, case.epoch.strict)


def _integer_to_year(case: _Case) -> Rule:
    return lambda value: value if 1901 <= value <= 2155 else _unknown(value)


_RULES: dict[tuple[str, str], Callable[[_Case], Rule]] = {
    ("int", "int"): lambda case: _no_misfit(_integers(case)),
    ("int", "decimal"): _integer_to_decimal,
    ("int", "real"): _to_real,
    ("int", "year"): _integer_to_year,
    ("int", "enum"): _integer_to_member,
    ("decimal", "decimal"): _decimals,
    ("decimal", "int"): _decimal_to_integer,
    ("real", "real"): lambda case: _to_real(case) if case.old.base == "float" else _unknown,
    ("text", "text"): _texts,
    ("text", "bytes"): _text_to_bytes,
    ("bytes", "text"): _bytes_to_text,
    ("bytes", "bytes"): lambda case: lambda value: _sized(value, case.new),
    ("text", "int"): _text_to_number,
    ("text", "decimal"): _text_to_number,
    ("text", "real"): _text_to_number,
    ("text", "enum"): _text_to_member,
    ("enum", "enum"): _text_to_member,
    ("enum", "int"): lambda case: _no_misfit(_member_to_integer(case)),
    ("set", "set"): _set_to_set,
    ("datetime", "datetime"): _moments,
    ("timestamp", "timestamp"): _moments,
    ("datetime", "timestamp"): _moments,
    ("timestamp", "datetime"): _moments,
    ("date", "datetime"): _date_to_moment,
    ("date", "timestamp"): _date_to_moment,
    ("datetime", "date"): _moment_to_date,
    ("timestamp", "date"): _moment_to_date,
    ("text", "date"): _text_to_moment,
    ("text", "datetime"): _text_to_moment,
    ("json", "text"): _json_to_text,
    ("bit", "int"): _bits_to_integer,
    ("year", "int"): _year_to_integer,
}


def _printed_moment(old: SqlType, epoch: Epoch) -> Rule:
    zone = zone_of(epoch) if old.base == "timestamp" else UTC

    def rule(value: Any) -> str:
        if isinstance(value, Misfit):
            return str(value)
        if zone is None:
            raise UnknownError
        found = value.replace(tzinfo=UTC).astimezone(zone)
        text = f"{found:%H:%M:%S}"
        day = f"{found.year:04}-{found.month:02}-{found.day:02}"
        digits = f".{found.microsecond:06}"[: old.size + 1] if old.size else ""
        return f"{day} {text}{digits}"

    return rule


def _printed_time(old: SqlType, epoch: Epoch) -> Rule:
    def rule(value: timedelta) -> str:
        micros = abs(value) // timedelta(microseconds=1)
        seconds, fraction = divmod(micros, 10**6)
        digits = f".{fraction:06}"[: old.size + 1] if old.size else ""
        sign = "-" if value < timedelta(0) else ""
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{digits}"

    return rule


def _printed_integer(old: SqlType, epoch: Epoch) -> Rule:
    return _unknown if "zerofill" in old.rest else str


def _printed_date(old: SqlType, epoch: Epoch) -> Rule:
    return lambda value: str(value) if isinstance(value, Misfit) else value.isoformat()


_PRINTED: dict[str, Callable[[SqlType, Epoch], Rule]] = {
    "int": _printed_integer,
    "year": lambda old, epoch: lambda value: f"{value:04}",
    "decimal": lambda old, epoch: lambda value: value if isinstance(value, str) else f"{value:f}",
    "enum": lambda old, epoch: _no_misfit(str),
    "set": lambda old, epoch: _no_misfit(str),
    "date": _printed_date,
    "datetime": _printed_moment,
    "timestamp": _printed_moment,
    "time": _printed_time,
    "json": lambda old, epoch: str,
}


__all__ = ["Misfit", "SqlType", "converted", "rule_of", "sql_type", "zone_of"]
