"""Transactions, changes and values as the servers' own readers print them, and how binx's are compared."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.batches import ChangeBatch
from binx.rows.columns.types import ArrowOptions, Kind, LogicalType
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from testdata.compare import as_integers
from testdata.servers import Server
from tests.dataset.current_state import ORDER
from tests.live.state import SYSTEM

OPERATIONS = {b"INSERT INTO": "insert", b"UPDATE": "update", b"DELETE FROM": "delete"}

_AT = re.compile(rb"# at (\d+)$")
_EVENT = re.compile(
    rb"#\d{6} [ \d]\d:\d\d:\d\d server id (\d+)  end_log_pos (\d+)(?: CRC32 0x[0-9a-f]+)? ?\t(.*)$"
)
_GTID = re.compile(rb"(?:GTID|Anonymous_GTID|Anonymous_Gtid)\b")
_MARIADB_GTID = re.compile(rb"GTID (\d+-\d+-\d+)\b")
_NEXT = re.compile(rb"SET @@SESSION\.GTID_NEXT= '([^']*)'")
_CHANGE = re.compile(rb"### (INSERT INTO|UPDATE|DELETE FROM) `(.*)`\.`(.*)`$")
_VALUE = re.compile(rb"###   @(\d+)=(.*) /\* (.+) meta=(\d+) nullable=[01] is_null=[01] \*/$")
_PARTIAL = re.compile(rb"JSON_|@\d+$")
_BETWEEN = (b"Rotate", b"Stop", b"Start", b"Gtid list", b"Binlog checkpoint", b"Previous-GTIDs", b"Ignorable")


@dataclass(frozen=True, slots=True)
class Value:
    """One printed value: its text, and the type and its metadata as the reader names them."""

    text: bytes
    type: str
    meta: int


@dataclass(slots=True)
class Change:
    """One printed row change; values by column, from 1. A partial JSON update's value is left out."""

    table: tuple[str, str]
    operation: str
    before: dict[int, Value] = field(default_factory=dict)
    after: dict[int, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Transaction:
    """One printed transaction, ``[start, end)`` in its file."""

    start: int
    end: int = 0
    gtid: str | None = None
    changes: list[Change] = field(default_factory=list)


def read_listing(text: bytes, size: int) -> list[Transaction]:
    """The transactions of a listing (``-vv --base64-output=decode-rows``) of a log with GTID events."""
    return list(_transactions(text, size))


def _transactions(text: bytes, size: int) -> Iterator[Transaction]:
    current: Transaction | None = None
    position = 0
    image: dict[int, Value] = {}
    for line in text.split(b"\n"):
        if found := _AT.match(line):
            position = int(found[1])
        elif line.startswith(b"###") and current is not None:
            image = _take_row_line(line, current, image)
        elif found := _EVENT.match(line):
            name = found[3]
            if _GTID.match(name) or name.startswith(_BETWEEN):
                if current is not None:
                    current.end = position
                    yield current
                current = None
                if _GTID.match(name):
                    gtid = _MARIADB_GTID.match(name)
                    current = Transaction(position, gtid=gtid[1].decode() if gtid else None)
        elif (
            current is not None
            and (found := _NEXT.match(line))
            and found[1] not in (b"ANONYMOUS", b"AUTOMATIC")
        ):
            current.gtid = found[1].decode()
    if current is not None:
        current.end = size
        yield current


def _take_row_line(line: bytes, current: Transaction, image: dict[int, Value]) -> dict[int, Value]:
    """Take in a line about rows; returns the image that values belong to from then on."""
    if found := _CHANGE.match(line):
        names = tuple(part.decode().replace("``", "`") for part in (found[2], found[3]))
        current.changes.append(Change((names[0], names[1]), OPERATIONS[found[1]]))
    elif line == b"### WHERE":
        return current.changes[-1].before
    elif line == b"### SET":
        return current.changes[-1].after
    elif (found := _VALUE.match(line)) and not _PARTIAL.match(found[2]):
        image[int(found[1])] = Value(found[2], found[3].decode(), int(found[4]))
    return image


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
    """A value as the reader prints it; None where the two cannot be compared."""
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


MOST_REPORTED = 20

Read = tuple[tuple[str, str], str, list[LogicalType], list[str], dict[str, Any]]
"""A row image: table, change type, the columns' types and names, all values."""


def compare_with_listing(server: Server, path: Path, catalog: Catalog, seen: set[str]) -> list[str]:
    """Compare one log; returns a line for each difference, up to some."""
    mariadb = server.daemon == "mariadbd"
    listing = server.mysqlbinlog("-vv", "--base64-output=decode-rows", path)
    theirs = read_listing(listing, path.stat().st_size)
    differences: list[str] = []
    with BinlogFile.open(str(path)) as file:
        decoder = ChangeDecoder(
            file, catalog, options=DecoderOptions(arrow=ArrowOptions(raw_text=True), undone=True)
        )
        ours: list[Transaction] = []
        images: dict[int, list[tuple[tuple[int, int], Read]]] = defaultdict(list)
        for table in Scan(file, Level.LEVEL_TABLES):
            for index in range(len(table)):
                ours.append(
                    Transaction(table.value("start", index), table.value("end", index), table.gtid(index))
                )
            for item in [*decoder.decode(table, table.mask()), *decoder.flush()]:
                if isinstance(item, ChangeBatch):
                    for version, order, image in _images(item):
                        images[version].append((order, image))
        for batch in decoder.finish():
            for version, order, image in _images(batch):
                images[version].append((order, image))
        where = [(one.start, one.end, one.gtid) for one in ours]
        wanted = [(one.start, one.end, one.gtid) for one in theirs]
        if where != wanted:
            pairs = [(w, o) for w, o in zip(wanted, where, strict=False) if w != o]
            return [f"{path.name}: transactions {pairs[:3]} of {len(wanted)} printed, {len(where)} read"]
        for one in theirs:
            rows = [
                image for _, image in sorted(images[file.commit_version(one.start)], key=lambda pair: pair[0])
            ]
            differences += _compare_rows(f"{path.name} at {one.start}", one.changes, rows, mariadb, seen)
            if len(differences) >= MOST_REPORTED:
                break
    return differences


def _images(item: ChangeBatch) -> Iterator[tuple[int, tuple[int, int], Read]]:
    batch = item.batch
    names = [name for name in batch.schema.names if name not in SYSTEM]
    types = [column.type for column in item.table.resolved.columns]
    columns = {}
    for name in batch.schema.names:
        column = batch.column(name)
        columns[name] = as_integers(column).to_pylist()
    for row in range(batch.num_rows):
        values = {name: columns[name][row] for name in columns}
        change = values["_change_type"]
        order = (values["_row"], ORDER[change])
        yield (
            values["_commit_version"],
            order,
            ((item.table.db, item.table.name), change, types, names, values),
        )


def _compare_rows(
    where: str, changes: list[Change], images: list[Read], mariadb: bool, seen: set[str]
) -> list[str]:
    """Compare the row changes of one transaction."""
    if not mariadb:
        # MySQL's reader stops a row event at its first GEOMETRY value.
        shapes = {read[0] for read in images if any(column.kind is Kind.GEOMETRY for column in read[2])}
        changes = [change for change in changes if change.table not in shapes]
        images = [read for read in images if read[0] not in shapes]
    differences: list[str] = []
    place = 0
    for number, change in enumerate(changes):
        for values, part in ((change.before, "before"), (change.after, "after")):
            if (part == "before" and change.operation == "insert") or (
                part == "after" and change.operation == "delete"
            ):
                continue
            if place >= len(images):
                return [
                    *differences,
                    f"{where}: row change {number} {change.table} {change.operation} is not read",
                ]
            read = images[place]
            place += 1
            expected = {"insert": "insert", "delete": "delete"}.get(
                change.operation, "update_preimage" if part == "before" else "update_postimage"
            )
            if (read[0], read[1]) != (change.table, expected):
                found = f"{read[0]} {read[1]}"
                return [
                    *differences,
                    f"{where}: row change {number} is {change.table} {expected}, read as {found}",
                ]
            differences += _compare_values(
                f"{where}: row change {number} {change.table} {part}", values, read, mariadb, seen
            )
    if place < len(images):
        differences.append(f"{where}: {len(images) - place} images are read that are not printed")
    return differences


def _compare_values(
    where: str, values: dict[int, Value], read: Read, mariadb: bool, seen: set[str]
) -> list[str]:
    _, _, types, names, row = read
    misfits = dict(row.get("_misfits") or [])
    present = row["_present"]
    differences = []
    for place, (name, column) in enumerate(zip(names, types, strict=True)):
        there = present is None or bool(present[place // 8] >> (place % 8) & 1)
        value = values.get(place + 1)
        if value is None:
            if there and not (column.kind is Kind.JSON and not mariadb):
                differences.append(
                    f"{where}: column {place + 1} {name!r} is not printed, read as {row[name]!r}"
                )
            continue
        if not there:
            differences.append(f"{where}: column {place + 1} {name!r} is {value.text!r}, read as absent")
            continue
        ours = printed(row[name], misfits.get(name), column, value.type, mariadb=mariadb)
        if ours is None:
            seen.add("skipped")
        else:
            seen.add(column.kind.value)
            if ours.rstrip() != value.text.rstrip():
                differences.append(
                    f"{where}: column {place + 1} {name!r} ({column.base}, {value.type}) is"
                    f" {value.text[:200]!r}, read as {ours[:200]!r}"
                )
    return differences
