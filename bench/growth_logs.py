"""Logs of any size with any number of tables, made event by event: the same work, more or less of it.

Small transactions as MySQL 9.7 writes them: GTID with its length, BEGIN, a table map with names, three rows
inserted, XID; about 1 KB each, of which half is text that hardly repeats. Transaction ``n`` is of table
``n % tables``.
"""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

from bench.limits import LONGLONG, LogWriter, packed

MEGABYTE = 1_000_000
UUID = "00010203-0405-0607-0809-0a0b0c0d0e0f"
"""The server's, which all GTIDs have."""

_VARCHAR, _INT = 15, 3
_TYPES = bytes([LONGLONG, _INT, _VARCHAR])
_TEXT_LENGTH = 250
_ROWS = 3
_TEXTS = 4096
_FIRST_TABLE_ID = 9
_TABLE_NAME = "t{:05}"
_WRITTEN_AT_ONCE = 1000
_HEADER_SIZE = 19
_COMMITTED = 1_700_000_000


class _Template:
    """A transaction's bytes, and where in them stands what is another in each.

    Attributes:
        data: the bytes; checksums are those of no transaction yet.
        events: offset and size of each event.
        numbers: offset of the GTID's number.
        clock: offset of its logical clock.
        table: offsets of the table's id in the table map, of its name's digits, and of its id in the rows.
        rows: offset of each row's values.
    """

    def __init__(self) -> None:
        names = b"".join(packed(len(name)) + name for name in (b"id", b"account", b"note"))
        metadata = b"\x04" + packed(len(names)) + names + b"\x08\x01\x00"
        table = _TABLE_NAME.format(0).encode()
        row = b"\0" + bytes(8 + 4 + 2 + _TEXT_LENGTH)
        bodies = [
            (33, b"\0" + bytes.fromhex(UUID.replace("-", "")) + bytes(8) + b"\x02" + bytes(16) + bytes(10)),
            (2, struct.pack("<IIBHH", 7, 0, 4, 0, 0) + b"shop\0BEGIN"),
            (
                19,
                bytes(6) + b"\0\0\x04shop\0" + bytes([len(table)]) + table + b"\0\x03" + _TYPES
                + b"\x02" + struct.pack("<H", 4 * _TEXT_LENGTH) + b"\0" + metadata,
            ),
            (30, bytes(6) + struct.pack("<HH", 1, 2) + b"\x03\x07" + row * _ROWS),
            (16, bytes(8)),
        ]  # fmt: skip
        self.data = bytearray()
        self.events: list[tuple[int, int]] = []
        for number, body in bodies:
            size = _HEADER_SIZE + len(body) + 4
            self.events.append((len(self.data), size))
            self.data += struct.pack("<IBIIIH", _COMMITTED, number, 1, size, 0, 0) + body + bytes(4)
        (gtid, _), _, (table_map, _), (rows, rows_size), _ = self.events
        self.number = gtid + _HEADER_SIZE + 17
        self.clock = self.number + 9
        committed = (_COMMITTED * 1_000_000).to_bytes(7, "little")
        struct.pack_into("<7sBH", self.data, self.clock + 16, committed, 252, len(self.data))
        self.table_id = table_map + _HEADER_SIZE
        self.table_digits = self.table_id + 16
        self.rows_table_id = rows + _HEADER_SIZE
        first = rows + rows_size - 4 - _ROWS * len(row)
        self.rows = [first + place * len(row) + 1 for place in range(_ROWS)]


def write_log(path: Path, size: int, tables: int) -> str:
    """Make a log.

    Args:
        path: where.
        size: bytes, roughly; at least one transaction.
        tables: how many tables, at most 100,000.

    Returns:
        A GTID 1 % before the end.
    """
    dice = random.Random(5)
    texts = [
        struct.pack("<H", _TEXT_LENGTH) + dice.randbytes(_TEXT_LENGTH // 2).hex().encode()
        for _ in range(_TEXTS)
    ]
    template = _Template()
    data = template.data
    count = max(1, size // len(data))
    with path.open("wb") as out:
        log = LogWriter(out)
        position, waiting = log.position, []
        for number in range(1, count + 1):
            table = number % tables
            struct.pack_into("<Q", data, template.number, number)
            struct.pack_into("<QQ", data, template.clock, number - 1, number)
            struct.pack_into("<I", data, template.table_id, table + _FIRST_TABLE_ID)
            struct.pack_into("<I", data, template.rows_table_id, table + _FIRST_TABLE_ID)
            name = _TABLE_NAME.format(table).encode()
            data[template.table_digits - len(name) + 5 : template.table_digits + 5] = name
            for place, at in enumerate(template.rows):
                row = number * _ROWS + place
                struct.pack_into("<qI", data, at, row, row % 10_007)
                data[at + 12 : at + 14 + _TEXT_LENGTH] = texts[row * 31 % _TEXTS]
            for begin, length in template.events:
                end = begin + length
                struct.pack_into("<I", data, begin + 13, position + end & 0xFFFFFFFF)
                struct.pack_into("<I", data, end - 4, zlib.crc32(data[begin : end - 4]))
            position += len(data)
            waiting.append(bytes(data))
            if len(waiting) == _WRITTEN_AT_ONCE:
                out.write(b"".join(waiting))
                waiting.clear()
        out.write(b"".join(waiting))
        log.position = position
        log.end()
    return f"{UUID}:{count - count // 100}"


__all__ = ["MEGABYTE", "UUID", "write_log"]
