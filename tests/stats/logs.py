"""Small binary logs that tests make up: statements of any time, connection and size after a real header."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.stats.gather import gather
from binx.stats.lines import COLUMNS, LineWriter
from binx.stats.listing import Listing
from tests.conftest import PROJECT

_HEADER = struct.Struct("<IBIIIH")
_QUERY = 2
_ROTATE = 4


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, which is a transaction of its own."""

    seconds: int = 1_700_000_000
    sql: str = "DROP TABLE t"
    thread_id: int = 7
    server_id: int = 1
    db: str = "shop"


class BytesSource:
    """Bytes in memory as a source."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = memoryview(data)
        self.path = name
        self.name = name

    @property
    def size(self) -> int:
        return len(self._data)

    def window(self, start: int, stop: int) -> memoryview:
        return self._data[start:stop]

    def release(self, start: int, stop: int) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""


@cache
def beginning() -> bytes:
    """Magic and format description of a real log whose events have no checksums."""
    data = (PROJECT / "testdata" / "mysql-9.7" / "small" / "no_checksum.binlog").read_bytes()
    (size,) = struct.unpack_from("<I", data, 13)
    return data[: 4 + size]


def log_bytes(statements: Iterable[Statement], *, next_file: str | None = "made.000002") -> bytes:
    """A log of statements, closed by ROTATE where a next file is named."""
    data = bytearray(beginning())
    for one in statements:
        db = one.db.encode()
        body = struct.pack("<IIBHH", one.thread_id, 0, len(db), 0, 0) + db + b"\0" + one.sql.encode()
        data += _event(_QUERY, one.seconds, one.server_id, body, len(data))
    if next_file is not None:
        data += _event(_ROTATE, 0, 1, struct.pack("<Q", 4) + next_file.encode(), len(data))
    return bytes(data)


def log_of(statements: Iterable[Statement], name: str = "made.000001") -> BinlogFile:
    """The same, opened."""
    return BinlogFile(BytesSource(log_bytes(statements), name))


def _event(number: int, seconds: int, server_id: int, body: bytes, position: int) -> bytes:
    size = _HEADER.size + len(body)
    return _HEADER.pack(seconds, number, server_id, size, position + size, 0) + body


def listing_of(files: Sequence[BinlogFile], **options: Any) -> Iterator[SimpleNamespace]:
    """The transactions of a chain of opened logs, as JSON has them, and their durations."""
    chain = [ChainLog.of(file) for file in files]
    listing = Listing(chain, LineWriter(COLUMNS, as_json=True), **options)
    return (record(json.loads(line)) for text in listing for line in text.splitlines())


def figures_of(files: Sequence[BinlogFile], **options: Any) -> SimpleNamespace:
    """The figures of opened logs."""
    return record(gather(files, **options))


def record(document: dict[str, Any]) -> SimpleNamespace:
    """A JSON object, and all those in it, with attributes."""
    found: SimpleNamespace = json.loads(json.dumps(document), object_hook=lambda one: SimpleNamespace(**one))
    return found
