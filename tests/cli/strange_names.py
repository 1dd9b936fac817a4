"""Logs in which every name and every text has what drives a terminal."""

from __future__ import annotations

import struct

from tests.log import building as b

NAME = "\x1b]0;own\x07\x9b2J\u202e\u200b\r\n"
"""Sets the window's title, clears the screen in one byte, turns the text around, hides, ends the line."""

TEXT = f"\x1b[2J{NAME}\x1bPq#0\x1b\\\u2028\b\x7f"
COLUMNS = ("id\x1b[2J", NAME, "c\x9b3m")
_LONG, _VARCHAR, _ENUM = 3, 15, 0xFE
_TABLE_ID = (9).to_bytes(6, "little")


def _counted(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data


def query(sql: str, status: bytes = b"") -> bytes:
    """QUERY in a database of that name."""
    db = NAME.encode()
    head = struct.pack("<IIBHH", 3, 0, len(db), 0, len(status))
    return b.event(2, head + status + db + b"\0" + sql.encode())


def session() -> bytes:
    """Status variables: a time zone, who ran the statement, and databases that it changes."""
    databases = b"".join(text.encode() + b"\0" for text in (NAME, TEXT))
    zone, user = b"\x05" + _counted(NAME), b"\x0b" + _counted(NAME) + _counted(NAME)
    return zone + user + b"\x0c\x02" + databases


def table_map() -> bytes:
    """A text, one of some members and a number, the key, with all names (binlog_row_metadata=FULL)."""
    names = "".join(map(_sized, COLUMNS)).encode("latin-1")
    members = b"\x02" + _counted(NAME) + _counted("b")
    fields = {1: b"\x00", 4: names, 6: members, 8: b"\x02"}
    metadata = b"".join(bytes([number, len(field)]) + field for number, field in fields.items())
    kinds = bytes([3, _VARCHAR, _ENUM, _LONG, 4]) + struct.pack("<H", 800) + b"\xf7\x01\x07"
    place = _counted(NAME) + b"\0" + _counted(NAME) + b"\0"
    return b.event(19, _TABLE_ID + b"\0\0" + place + kinds + metadata)


def _sized(name: str) -> str:
    return _counted(name).decode("latin-1")


def rows(kind: int = 30) -> bytes:
    """One row; of an update the same row before and after."""
    text = TEXT.encode()
    image = b"\0" + struct.pack("<H", len(text)) + text + b"\x01" + struct.pack("<i", 7)
    images = image + image.replace(b"own", b"OWN") if kind == 31 else image
    return b.event(kind, _TABLE_ID + struct.pack("<HHB", 1, 2, 3) + b"\x07" * (1 + (kind == 31)) + images)


def strange_log() -> bytes:
    """Rows, statements of all kinds, variables, XA, a savepoint, LOAD DATA, and the name of the next log."""
    name, begin = NAME.encode(), query("BEGIN", session())
    load = struct.pack("<IIBHHIIIB", 3, 0, len(name), 0, 0, 1, 0, 4, 0) + name + b"\0"
    variable = struct.pack("<I", len(name)) + name + b"\0\0" + struct.pack("<II", 33, len(TEXT.encode()))
    change = (table_map(), rows())
    transactions = [
        (begin, b.event(29, b"\x10" + TEXT.encode()), *change, b.xid()),
        (begin, table_map(), rows(31), rows(32), b.xid()),
        (query(f"CREATE TABLE `{NAME}` (`{NAME}` INT) COMMENT '{TEXT}'", session()),),
        (query(f"ALTER TABLE `unknown{NAME}` ADD `{NAME}` INT"),),
        (query(f"CREATE USER '{NAME}'@'{NAME}'"),),
        (
            begin,
            b.event(14, variable + TEXT.encode()),
            query(f"INSERT INTO `{NAME}` VALUES ('{TEXT}')"),
            b.xid(),
        ),
        (
            begin,
            b.event(17, struct.pack("<I", 1) + TEXT.encode()),
            b.event(18, load + f"LOAD DATA INFILE '{TEXT}' INTO TABLE `{NAME}`".encode()),
            b.xid(),
        ),
        (begin, query(f"SAVEPOINT `{NAME}`"), *change, query(f"ROLLBACK TO `{NAME}`"), b.xid()),
        (
            query(f"XA START '{NAME}'"),
            *change,
            query(f"XA END '{NAME}'"),
            b.event(38, struct.pack("<?III", False, 1, len(name), 0) + name),
        ),
    ]
    events = [one for number, some in enumerate(transactions, 1) for one in (b.gtid(number), *some)]
    return b.whole_log(*events, b.event(4, struct.pack("<Q", 4) + f"../../{TEXT}".encode()))


def damaged_log() -> bytes:
    """A row that ends before its values do, an incident, and bytes that are no event."""
    cut = b.event(30, _TABLE_ID + struct.pack("<HHB", 1, 2, 3) + b"\x07\0\xff\xff" + TEXT.encode())
    incident = b.event(26, struct.pack("<H", 1) + _counted(TEXT))
    events = (b.gtid(1), query("BEGIN"), table_map(), cut, b.xid(), incident)
    return b.whole_log(*events, version=f"8.0.1{NAME}") + TEXT.encode() * 20
