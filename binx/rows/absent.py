"""Compute the values of columns that a row image lacks, or that ALTER TABLE added after the row.

With binlog_row_image=MINIMAL, servers log only those columns of an inserted row that the statement named or
whose default was computed (expressions, the current time, AUTO_INCREMENT). An absent column has the default
of the table's definition: the constant of its DEFAULT clause, else NULL, else, for NOT NULL
in a non-strict sql_mode, the zero of its type (MySQL manual, "Data Type Default Values"). The same holds for
existing rows when ALTER TABLE adds a column: no images are logged for them.

Values are written so that Parquet readers can cast them to the column's type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import NamedTuple

from binx.event.charset import charset as charset_of_name
from binx.event.session_variables import time_zone
from binx.rows.columns.schema import ColumnDefinition, Default, DefaultKind
from binx.rows.columns.types import INTEGER_RANGES, Kind, LogicalType
from binx.rows.ddl.evaluated import evaluated

MOST_DIGITS = 65
_MOST_EXPONENT = 400
_MOST_DIGITS_OF_64_BITS = 20
_MINUTE = 60
_MOST_HOURS = 838
_YEARS = range(1901, 2156)
_PLAIN = re.compile(r"(?!-[0.]+$)-?(?:0|[1-9]\d*)(?:\.\d+)?")
_ROUNDED = re.compile(r"(?:float|double)\(\d+,(\d+)\)")
_ZERO_DATE = "0000-00-00"
_FIRST_OF_1900 = 70
_MOMENT = re.compile(
    r"(\d{4}|\d\d)[-/.](\d\d?)[-/.](\d\d?)"
    r"(?:(?:T| +)(\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d{1,6}))?)?)?"
)
_DIGITS_OF_MOMENT = re.compile(r"(\d{4}|\d\d)(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)())?")
_TIME = re.compile(
    r"-?(?:(?P<days>\d\d?) )?(?P<hours>\d{1,3}):(?P<minutes>\d\d?)"
    r"(?::(?P<seconds>\d\d?)(?:\.(?P<fraction>\d{1,6}))?)?"
)
_DIGITS_OF_TIME = re.compile(r"(?P<hours>\d{3})(?P<minutes>\d\d)(?P<seconds>\d\d)")


class Absent(NamedTuple):
    """The value of a column that is absent from the image of an inserted row.

    Attributes:
        value: numbers, YEAR and text as text; binary as hexadecimal digits; dates and times as
            ``YYYY-MM-DD HH:MM:SS.ffffff``; TIME as microseconds; BIT(1) as ``true`` or ``false``;
            None for NULL.
        misfit: the value as the server prints it, if the column's Arrow type cannot hold it.
    """

    value: str | None = None
    misfit: str | None = None


def absent_value(known: ColumnDefinition | None, logical: LogicalType, nullable: bool) -> Absent | None:
    """Return the value of a column that an inserted row's image lacks; None if unknown."""
    if known is None or known.generated is not None:
        return None
    default = known.default
    if default is None:
        return Absent() if nullable else _implicit(logical)
    return _value_of(default, known, logical)


def added_value(known: ColumnDefinition | None, logical: LogicalType) -> Absent | None:
    """Return a column's value in rows older than the ALTER TABLE that added it, unless changed since.

    None if the value is unknown, or if the column was created with its table.
    """
    if known is None or known.generated is not None or known.added is None:
        return None
    return _value_of(known.added, known, logical)


def _value_of(default: Default, known: ColumnDefinition, logical: LogicalType) -> Absent | None:
    default = evaluated(default, known)
    if default.kind is DefaultKind.NULL:
        return Absent()
    if default.kind is DefaultKind.IMPLICIT:
        return _implicit(logical)
    read = _READERS.get(logical.kind)
    if default.kind is DefaultKind.EXPRESSION or read is None:
        return None
    if rounded := _ROUNDED.match(known.mysql_type):
        # What has more digits is rounded in binary.
        number = _number(default)
        if number is None or -int(number.as_tuple().exponent) > int(rounded[1]):
            return None
    return read(default, logical)


def _implicit(logical: LogicalType) -> Absent | None:
    """Return the implicit default of a type, for NOT NULL columns without a DEFAULT clause."""
    kind = logical.kind
    if kind is Kind.ENUM:
        return Absent(logical.members[0]) if logical.members else None
    if kind in _EMPTY:
        return Absent("00" * (logical.padded_length or 0) if kind is Kind.BINARY else "")
    read = _READERS.get(kind)
    if read is None:
        return None
    if kind in _MOMENTS:
        return read(Default("", DefaultKind.STRING, "0000-00-00"), logical)
    return read(Default("", DefaultKind.NUMBER, "0"), logical)


def _number(default: Default) -> Decimal | None:
    """Parse a numeric constant, quoted or of bytes too; None if it is not a number of reasonable size.

    Parsing a million digits, or comparing a number with an exponent of a billion, would take forever.
    """
    if len(default.constant) > _MOST_EXPONENT:
        return None
    if default.kind is DefaultKind.BYTES:
        return Decimal(int(default.constant or "0", 16))
    try:
        number = Decimal(default.constant.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) <= _MOST_EXPONENT else None


def _integer(default: Default, logical: LogicalType) -> Absent | None:
    number = _number(default)
    whole = None if number is None else number.to_integral_value(ROUND_HALF_UP)
    # What has an exponent is binary, which servers do not round in the same way.
    if whole is None or (whole != number and "e" in default.constant.lower()):
        return None
    return Absent(str(int(whole))) if int(whole) in INTEGER_RANGES[logical.kind] else None


def _whole_number(default: Default) -> int:
    """Parse a constant of decimal digits only; -1 if it is anything else."""
    is_whole = default.constant.isdecimal() and len(default.constant) <= _MOST_DIGITS_OF_64_BITS
    return int(default.constant) if is_whole else -1


def _float(default: Default, logical: LogicalType) -> Absent | None:
    number = _number(default)
    return None if number is None else Absent(repr(float(number)))


def _decimal(default: Default, logical: LogicalType) -> Absent | None:
    number = _number(default)
    if number is None or number.adjusted() >= logical.precision - logical.scale:
        return None
    with localcontext(prec=2 * MOST_DIGITS):
        rounded = number.quantize(Decimal(1).scaleb(-logical.scale), ROUND_HALF_UP)
    if rounded.adjusted() >= logical.precision - logical.scale:
        return None
    return Absent(f"{abs(rounded) if rounded == 0 else rounded:f}")


def _bits(default: Default, logical: LogicalType) -> Absent | None:
    if default.kind is DefaultKind.STRING:
        if not default.constant.isascii():
            return None
        # Of a text, the bytes are the bits.
        default = default._replace(kind=DefaultKind.BYTES, constant=default.constant.encode().hex())
    number = _number(default)
    if number is None or not 0 <= number < 1 << (logical.length or 1) or number != int(number):
        return None
    if logical.kind is Kind.BOOL:
        return Absent("true" if number else "false")
    return Absent(str(int(number)))


def _year(default: Default, logical: LogicalType) -> Absent | None:
    text = default.constant
    if not text.isdecimal() or len(text) not in (1, 2, 4):
        return None
    number = int(text)
    if len(text) < 4 and (number or default.kind is DefaultKind.STRING):
        number = _with_century(number)
    return Absent(str(number)) if number in _YEARS or not number else None


def _with_century(year: int) -> int:
    """Return the year that is meant by two digits."""
    return year + (1900 if year >= _FIRST_OF_1900 else 2000)


def _date(default: Default, logical: LogicalType) -> Absent | None:
    parts = _parts_of_moment(default)
    return None if parts is None or any(parts[1:]) else _moment(parts[0], "")


def _datetime(default: Default, logical: LogicalType) -> Absent | None:
    parts = _parts_of_moment(default)
    if parts is None or len(parts[2]) > logical.fraction:
        return None
    day, clock, fraction = parts
    digits = fraction.ljust(logical.fraction, "0")
    clock = f" {clock or '00:00:00'}{'.' if digits else ''}{digits}"
    if logical.kind is Kind.TIMESTAMP and day != _ZERO_DATE:
        return _in_utc(day + clock, time_zone(default.time_zone))
    return _moment(day, clock)


def _in_utc(text: str, zone: tzinfo | None) -> Absent | None:
    """Return a session's moment in UTC; None if its zone is unknown, or has that time twice or never."""
    try:
        local = datetime.fromisoformat(text)
        moments = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    except (ValueError, OverflowError):
        return None
    (moment, *others) = moments
    if zone is None or others or moment.astimezone(zone).replace(tzinfo=None) != local:
        return None
    fraction = text.partition(".")[2]
    whole = moment.replace(tzinfo=None, microsecond=0).isoformat(" ")
    return Absent(whole + (f".{fraction}" if fraction else ""))


def _parts_of_moment(default: Default) -> tuple[str, str, str] | None:
    """Return day, time of day and fraction of a date in any form that all servers read alike."""
    text = default.constant
    if default.kind is DefaultKind.NUMBER and text == "0":
        return _ZERO_DATE, "", ""
    match = (_DIGITS_OF_MOMENT if text.isdecimal() else _MOMENT).fullmatch(text)
    if match is None or default.kind is DefaultKind.BYTES:
        return None
    year, month, day, hours, minutes, seconds, fraction = (part or "" for part in match.groups())
    if len(year) == 2:
        if not int(month) and not int(day):
            return None
        year = str(_with_century(int(year)))
    clock = ":".join(part.zfill(2) for part in (hours, minutes, seconds or "0")) if hours else ""
    return f"{year}-{month.zfill(2)}-{day.zfill(2)}", clock, fraction


def _moment(day: str, clock: str) -> Absent:
    """Return a date or time, as a misfit if it is not a calendar date."""
    text = day + clock
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return Absent(misfit=text)
    return Absent(text)


def _time(default: Default, logical: LogicalType) -> Absent | None:
    text = default.constant
    match = _TIME.fullmatch(text) or _DIGITS_OF_TIME.fullmatch(text.removeprefix("-").zfill(7))
    if default.kind is DefaultKind.BYTES or match is None:
        return None
    parts = match.groupdict(default="0")
    hours = int(parts.get("days", 0)) * 24 + int(parts["hours"])
    minutes, seconds = int(parts["minutes"]), int(parts["seconds"])
    fraction = parts.get("fraction", "0")
    fraction = "" if fraction == "0" else fraction
    if hours > _MOST_HOURS or minutes >= _MINUTE or seconds >= _MINUTE or len(fraction) > logical.fraction:
        return None
    total_seconds = (hours * _MINUTE + minutes) * _MINUTE + seconds
    microseconds = total_seconds * 1_000_000 + int(fraction.ljust(6, "0"))
    return Absent(str(-microseconds if text.startswith("-") else microseconds))


def _text(default: Default, logical: LogicalType) -> Absent | None:
    text: str | None = default.constant
    if default.kind is DefaultKind.NUMBER and not _PLAIN.fullmatch(default.constant):
        return None
    if logical.base == "json" and default.constant not in ("[]", "{}"):
        return None
    if default.kind is DefaultKind.BYTES:
        charset = charset_of_name(logical.charset or "")
        text = None if charset is None else charset.decode_strictly(bytes.fromhex(default.constant))
    if text is None or (logical.characters is not None and len(text) > logical.characters):
        return None
    return Absent(text.rstrip(" ") if logical.base == "char" else text)


def _binary(default: Default, logical: LogicalType) -> Absent | None:
    if default.kind is DefaultKind.BYTES:
        digits = default.constant
    elif default.constant.isascii():
        digits = default.constant.encode().hex()
    else:
        return None
    if logical.length is not None and len(digits) > 2 * logical.length:
        return None
    return Absent(digits.ljust(2 * (logical.padded_length or 0), "0"))


def _enum(default: Default, logical: LogicalType) -> Absent | None:
    members = logical.members or ()
    if default.kind is DefaultKind.NUMBER:
        number = _whole_number(default)
        return Absent(members[number - 1]) if 1 <= number <= len(members) else None
    member = _member(default.constant, members) if default.kind is DefaultKind.STRING else None
    return None if member is None else Absent(member)


def _set(default: Default, logical: LogicalType) -> Absent | None:
    members = logical.members
    if members is None or default.kind is DefaultKind.BYTES:
        return None
    if default.kind is DefaultKind.NUMBER:
        number = _whole_number(default)
        if not 0 <= number < 1 << len(members):
            return None
        return Absent(logical.set_text(number))
    named = [_member(text, members) for text in default.constant.split(",") if default.constant]
    if None in named:
        return None
    return Absent(",".join(member for member in members if member in named))


def _member(text: str, members: tuple[str, ...]) -> str | None:
    """Find a member by its text, ignoring case and trailing spaces as most collations do."""
    if text in members:
        return text
    folded = text.rstrip(" ").casefold()
    alike = [member for member in members if member.casefold() == folded]
    return alike[0] if len(alike) == 1 else None


_EMPTY = frozenset({Kind.TEXT, Kind.BINARY, Kind.SET})
_MOMENTS = frozenset({Kind.DATE, Kind.DATETIME, Kind.TIMESTAMP})

_READERS: dict[Kind, Callable[[Default, LogicalType], Absent | None]] = {
    **dict.fromkeys(INTEGER_RANGES, _integer),
    Kind.FLOAT32: _float,
    Kind.FLOAT64: _float,
    Kind.DECIMAL: _decimal,
    Kind.BOOL: _bits,
    Kind.BITS: _bits,
    Kind.DATE: _date,
    Kind.DATETIME: _datetime,
    Kind.TIMESTAMP: _datetime,
    Kind.TIME: _time,
    Kind.YEAR: _year,
    Kind.TEXT: _text,
    Kind.JSON: _text,
    Kind.BINARY: _binary,
    Kind.ENUM: _enum,
    Kind.SET: _set,
}
"""Converters of constant defaults, by kind of column."""
