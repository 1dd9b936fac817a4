"""Values that binx has read, in the spelling of the servers' own readers of binary logs.

The spelling is that of ``log_event_print_value`` in both servers' ``sql/log_event.cc``.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

from binx.rows.columns.types import Kind, LogicalType

_INTEGER_BITS = {
    Kind.INT8: 8, Kind.UINT8: 8, Kind.INT16: 16, Kind.UINT16: 16, Kind.INT24: 24, Kind.UINT24: 24,
    Kind.INT32: 32, Kind.UINT32: 32, Kind.INT64: 64, Kind.UINT64: 64,
}  # fmt: skip
_MICROSECONDS = 1_000_000
_EPOCH = dt.datetime(1970, 1, 1)
_ESCAPES_OF_MYSQL = {
    ord("\\"): b"\\\\",
    ord("'"): b"\\'",
    8: b"\\b",
    9: b"\\t",
    10: b"\\n",
    12: b"\\f",
    13: b"\\r",
}
_CONTROLS = 0x20
_YEAR_ZERO = 1900
"""The readers print the year 0 as if it had no meaning of its own."""


def printed(
    value: Any, misfit: str | None, column: LogicalType, type_name: str, *, mariadb: bool
) -> bytes | None:
    """A value as the reader prints it; None where the two cannot be compared.

    Args:
        value: from a batch whose text is raw; times are integers of microseconds.
        misfit: the text that stands for a value which its type cannot hold.
        column: its type.
        type_name: what the reader calls the type.
        mariadb: in the spelling of MariaDB's reader.
    """
    # What a compressed column holds is printed as it is stored.
    if type_name.endswith(" COMPRESSED") or column.kind in _STORED_OTHERWISE:
        return b"NULL" if value is None and misfit is None else None
    if misfit is not None:
        return _MISFITS[column.kind](misfit, column)
    if value is None:
        return b"NULL"
    bits = _INTEGER_BITS.get(column.kind)
    if bits is not None:
        return _integer(value, bits)
    if column.kind in (Kind.TEXT, Kind.BINARY, Kind.JSON, Kind.GEOMETRY):
        return quoted(_stored(value, column), mariadb=mariadb)
    if column.kind is Kind.SET:
        return _set(value, column, type_name)
    return _PRINTERS[column.kind](value, column)


def quoted(value: bytes, *, mariadb: bool) -> bytes:
    """Bytes between quotes; MariaDB escapes neither quotes nor backslashes."""
    parts = []
    for byte in value:
        if not mariadb and byte in _ESCAPES_OF_MYSQL:
            parts.append(_ESCAPES_OF_MYSQL[byte])
        else:
            parts.append(bytes([byte]) if byte >= _CONTROLS else b"\\x%02x" % byte)
    return b"'%b'" % b"".join(parts)


def _stored(value: Any, column: LogicalType) -> bytes:
    """The bytes that the log has."""
    if isinstance(value, dict):
        return bytes(int(value["srid"]).to_bytes(4, "little") + value["wkb"])
    if column.kind is Kind.JSON and value.startswith('"'):
        # A document that is a text alone is printed as that text.
        value = json.loads(value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return data.rstrip(b"\0") if column.padded_length is not None else data


def _integer(value: int, bits: int) -> bytes:
    signed = value - (1 << bits) if value >= 1 << (bits - 1) else value
    return b"%d" % signed if signed >= 0 else b"%d (%d)" % (signed, signed + (1 << bits))


def _float(value: float, _: LogicalType) -> bytes:
    return b"%g" % value


def _double(value: float, _: LogicalType) -> bytes:
    return b"%.20g" % value


def _decimal(value: Any, _: LogicalType) -> bytes:
    return (value if isinstance(value, str) else f"{value:f}").encode()


def _bits(value: int, column: LogicalType) -> bytes:
    return b"b'%s'" % format(int(value), f"0{column.length or 1}b").encode()


def _date(value: Any, _: LogicalType) -> bytes:
    return f"'{value.year:04d}:{value.month:02d}:{value.day:02d}'".encode()


def _fraction(microseconds: int, digits: int) -> str:
    return f".{microseconds:06d}"[: digits + 1] if digits else ""


def _datetime(value: int, column: LogicalType) -> bytes:
    moment = _EPOCH + dt.timedelta(microseconds=value)
    text = f"{moment.year:04d}-{moment:%m-%d %H:%M:%S}{_fraction(moment.microsecond, column.fraction)}"
    return f"'{text}'".encode()


def _timestamp(value: int, column: LogicalType) -> bytes:
    seconds, fraction = divmod(value, _MICROSECONDS)
    return f"{seconds}{_fraction(fraction, column.fraction)}".encode()


def _time(value: int, column: LogicalType) -> bytes:
    seconds, fraction = divmod(abs(value), _MICROSECONDS)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"'{'-' if value < 0 else ''}{text}{_fraction(fraction, column.fraction)}'".encode()


def _year(value: int, _: LogicalType) -> bytes:
    return b"%04d" % (value or _YEAR_ZERO)


def _enum(value: Any, column: LogicalType) -> bytes:
    if isinstance(value, int):
        return b"%d" % value
    assert column.members is not None
    return b"%d" % (column.members.index(value) + 1)


def _set(value: Any, column: LogicalType, type_name: str) -> bytes:
    number = value
    if not isinstance(value, int):
        assert column.members is not None
        number = sum(1 << column.members.index(member) for member in value.split(",")) if value else 0
    # The readers print the bytes as they are stored, the least significant first.
    data = int(number).to_bytes(int(type_name.removeprefix("SET(").split()[0]), "little")
    return b"b'%s'" % "".join(f"{byte:08b}" for byte in data).encode()


def _vector(value: list[float], _: LogicalType) -> bytes:
    return ("[" + ",".join(f"{number:.5e}" for number in value) + "]").encode()


_STORED_OTHERWISE = {Kind.INET4, Kind.INET6, Kind.UUID}

_MISFITS: dict[Kind, Callable[[str, LogicalType], bytes]] = {
    Kind.DATE: lambda text, _: f"'{text.replace('-', ':')}'".encode(),
    Kind.DATETIME: lambda text, _: f"'{text}'".encode(),
    Kind.TIMESTAMP: lambda _, column: f"0{_fraction(0, column.fraction)}".encode(),
    Kind.ENUM: lambda text, _: text.encode() or b"0",
    Kind.YEAR: lambda text, _: text.encode(),
}

_PRINTERS: dict[Kind, Callable[[Any, LogicalType], bytes]] = {
    Kind.FLOAT32: _float,
    Kind.FLOAT64: _double,
    Kind.DECIMAL: _decimal,
    Kind.BOOL: _bits,
    Kind.BITS: _bits,
    Kind.DATE: _date,
    Kind.DATETIME: _datetime,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIME: _time,
    Kind.YEAR: _year,
    Kind.ENUM: _enum,
    Kind.VECTOR: _vector,
}
