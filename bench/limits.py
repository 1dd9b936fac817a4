"""``python -m bench.limits``: what each command takes of memory and time where a log goes to an extreme.

The logs are made here, event by event, as no server has the patience: one transaction of 4 GB, plain and as
the largest compressed event that a server writes, a row of 64 MB, a table of 4,000 columns, 10,000 tables,
a million tiny transactions. ``--part`` makes them smaller: what memory and time do between two sizes tells
whether they grow with the log.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import BinaryIO

import zstandard

from bench.process import Reading, run_measured
from bench.tasks import PROJECT

_FORMAT_OF = PROJECT / "testdata" / "mysql-9.7" / "small" / "all_types.binlog"
_BINX = (sys.executable, "-m", "binx")
_UUID = bytes(range(16))
_MEBIBYTE = 1 << 20
_EVENT_ROWS = 800
_PAYLOAD_MOST = (1 << 30) - (1 << 20)
LONGLONG, BLOB = 8, 252


class LogWriter:
    """Writes events one after another, with checksums and positions, as a server does.

    Args:
        out: the file.
    """

    def __init__(self, out: BinaryIO) -> None:
        data = _FORMAT_OF.read_bytes()
        (size,) = struct.unpack_from("<I", data, 13)
        out.write(data[: 4 + size])
        self._out = out
        self.position = 4 + size
        self._number = 0

    def put(self, number: int, body: bytes) -> None:
        """Write an event."""
        size = 19 + len(body) + 4
        head = struct.pack("<IBIIIH", 1_700_000_000, number, 1, size, self.position + size & 0xFFFFFFFF, 0)
        self._out.write(head)
        self._out.write(body)
        self._out.write(struct.pack("<I", zlib.crc32(body, zlib.crc32(head))))
        self.position += size

    def gtid(self) -> None:
        """Begin a transaction."""
        self._number += 1
        self.put(33, b"\0" + _UUID + struct.pack("<Q", self._number))

    def transaction(self, events: Iterator[tuple[int, bytes]], connection: int = 7) -> None:
        """Write a transaction of these events."""
        self.gtid()
        for number, body in _framed(events, connection):
            self.put(number, body)

    def end(self) -> None:
        """Write the event that ends the log of a server that is stopped."""
        self.put(3, b"")

    def payload(self, events: Iterator[tuple[int, bytes]]) -> None:
        """Write a transaction as one compressed event; its size is filled in at the end."""
        self.gtid()
        begin, inner = self.position, 0
        fields = b"\x02\x01\x00\x03\x09\xfe" + bytes(8) + b"\x01\x09\xfe" + bytes(8) + b"\x00"
        self._out.write(bytes(19) + fields)
        compressor = zstandard.ZstdCompressor(level=3).compressobj()
        stored = 0
        for number, body in _framed(events):
            head = struct.pack("<IBIIIH", 1_700_000_000, number, 1, 19 + len(body), 0, 0)
            inner += len(head) + len(body)
            stored += self._out.write(compressor.compress(head + body))
            if stored > _PAYLOAD_MOST:
                raise ValueError("a server writes no event of more than 1 GiB")
        stored += self._out.write(compressor.flush())
        size = 19 + len(fields) + stored + 4
        head = struct.pack("<IBIIIH", 1_700_000_000, 40, 1, size, begin + size & 0xFFFFFFFF, 0)
        fields = struct.pack("<3s3sQ3sQc", b"\2\1\0", b"\3\x09\xfe", inner, b"\1\x09\xfe", stored, b"\0")
        self._out.seek(begin)
        self._out.write(head + fields)
        self._out.seek(begin)
        found, left = 0, size - 4
        while left:
            piece = self._out.read(min(left, _MEBIBYTE))
            found = zlib.crc32(piece, found)
            left -= len(piece)
        self._out.seek(begin + size - 4)
        self._out.write(struct.pack("<I", found))
        self.position = begin + size


_XID = (16, struct.pack("<Q", 5))


def _framed(events: Iterator[tuple[int, bytes]], connection: int = 7) -> Iterator[tuple[int, bytes]]:
    yield 2, struct.pack("<IIBHH", connection, 0, 4, 0, 0) + b"shop\0BEGIN"
    yield from events
    yield _XID


def packed(number: int) -> bytes:
    """A length as MySQL packs it."""
    return bytes([number]) if number < 251 else b"\xfc" + struct.pack("<H", number)


def table_map(table: str, types: bytes, metadata: bytes = b"", table_id: int = 9) -> tuple[int, bytes]:
    """TABLE_MAP of shop.TABLE, of columns that may not be NULL."""
    name = table.encode()
    body = table_id.to_bytes(6, "little") + b"\0\0\x04shop\0" + bytes([len(name)]) + name + b"\0"
    body += packed(len(types)) + types + packed(len(metadata)) + metadata + bytes((len(types) + 7) // 8)
    return 19, body


def write_rows(columns: int, images: bytes, table_id: int = 9) -> tuple[int, bytes]:
    """WRITE_ROWS of images that begin with their null bits."""
    head = table_id.to_bytes(6, "little") + struct.pack("<HH", 1, 2) + packed(columns)
    return 30, head + b"\xff" * (columns // 8) + (
        bytes([(1 << columns % 8) - 1]) if columns % 8 else b""
    ) + images


def large_transaction(size: int, distinct: int = 512) -> Iterator[tuple[int, bytes]]:
    """Rows of three numbers each, in events of some 20 KB; the numbers are random, and repeat at last."""
    dice = random.Random(1)
    events = [
        write_rows(3, b"".join(b"\0" + dice.randbytes(24) for _ in range(_EVENT_ROWS)))
        for _ in range(distinct)
    ]
    written, place = 0, 0
    while written < size:
        yield table_map("numbers", bytes([LONGLONG] * 3))
        yield events[place % len(events)]
        written += len(events[0][1]) + 80
        place += 1


def plain(log: LogWriter, part: float) -> None:
    """One transaction of 4 GB."""
    log.transaction(large_transaction(int(part * 4096 * _MEBIBYTE)))


def payload(log: LogWriter, part: float) -> None:
    """One compressed event of almost 1 GB, the most that a server writes."""
    dice = random.Random(2)

    def fresh() -> Iterator[tuple[int, bytes]]:
        for _ in range(int(part * 930 * _MEBIBYTE) // (_EVENT_ROWS * 24)):
            yield table_map("numbers", bytes([LONGLONG] * 3))
            noise = dice.randbytes(_EVENT_ROWS * 24)
            yield write_rows(3, b"".join(b"\0" + noise[at : at + 24] for at in range(0, len(noise), 24)))

    log.payload(fresh())


def bomb(log: LogWriter, part: float) -> None:
    """One compressed event that holds 4 GB: the same rows again and again."""
    log.payload(large_transaction(int(part * 4096 * _MEBIBYTE), distinct=16))


def large_row(log: LogWriter, part: float) -> None:
    """A row of 64 MB."""
    data = random.Random(3).randbytes(int(part * 64 * _MEBIBYTE))
    events = (
        table_map("files", bytes([LONGLONG, BLOB]), b"\x04"),
        write_rows(2, b"\0" + struct.pack("<qI", 1, len(data)) + data),
    )
    log.transaction(iter(events))


def columns(log: LogWriter, part: float) -> None:
    """4,000 rows of 4,000 numbers."""
    dice, many = random.Random(4), 4_000
    for _ in range(int(part * 4_000)):
        image = bytes(many // 8) + dice.randbytes(8 * many)
        log.transaction(iter((table_map("wide", bytes([LONGLONG] * many)), write_rows(many, image))))


def tables(log: LogWriter, part: float) -> None:
    """10,000 tables of three numbers, ten transactions for each."""
    image = b"\0" + struct.pack("<qqq", 1, 2, 3)
    for number in range(int(part * 100_000)):
        place = number % int(part * 10_000)
        events = (
            table_map(f"t{place}", bytes([LONGLONG] * 3), table_id=place + 9),
            write_rows(3, image, place + 9),
        )
        log.transaction(iter(events))


def transactions(log: LogWriter, part: float) -> None:
    """A million transactions of one row, each of another connection."""
    for number in range(int(part * 1_000_000)):
        image = b"\0" + struct.pack("<qqq", number, number * 7, -number)
        events = (table_map("tiny", bytes([LONGLONG] * 3)), write_rows(3, image))
        log.transaction(iter(events), number + 1)


LOGS: dict[str, Callable[[LogWriter, float], None]] = {
    one.__name__: one for one in (plain, payload, bomb, large_row, columns, tables, transactions)
}


def commands(log: Path, table: str, rows: str) -> dict[str, list[str]]:
    """The commands, each with its arguments for a log."""
    one = f"{'00010203-0405-0607-0809-0a0b0c0d0e0f'}:1"
    named = ["--schema", rows]
    return {
        "ls": ["ls", str(log)],
        "stats": ["stats", str(log)],
        "stats --html": ["stats", "--html", "page.html", str(log)],
        "stats --by": ["stats", "--by", "thread,minute,table", "--json", str(log)],
        "verify": ["verify", str(log)],
        "index": ["index", "--force", "-o", "index", str(log)],
        "extract": ["extract", "-o", "out", str(log)],
        "extract --format sql": ["extract", "--format", "sql", *named, "-o", "out", str(log)],
        "extract --reverse": ["extract", "--format", "sql", "--reverse", *named, "-o", "out", str(log)],
        "extract --format json": ["extract", "--format", "json", "-o", "out", str(log)],
        "extract --format json --rows": ["extract", "--format", "json", "--rows", "-o", "out", str(log)],
        "extract --format thl": ["extract", "--format", "thl", "-o", "out", str(log)],
        "to-parquet --jobs 1": ["to-parquet", "--jobs", "1", *named, "-o", "lake", str(log)],
        "to-parquet --jobs 2": ["to-parquet", "--jobs", "2", *named, "-o", "lake", str(log)],
        "diff": ["diff", *named, str(log), str(log)],
        "archive": ["archive", str(log.parent), "--to", "archive"],
        "archive --parquet": ["archive", str(log.parent), "--to", "archive", "--parquet", "lake"],
        "show --rows 3": ["show", "--gtid", one, "--rows", "3", str(log)],
        "show": ["show", str(log)],
        "why": ["why", *named, "--pk", "1", "--table", f"shop.{table}", str(log)],
    }


TABLES = {"large_row": "files", "columns": "wide", "tables": "t5", "transactions": "tiny"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One command on one log."""

    log: str
    bytes: int
    command: str
    reading: Reading


def schema(folder: Path, name: str) -> str:
    """Where a dump stands that names the first column of a log's table ``id``, its key."""
    table = TABLES.get(name, "numbers")
    more = {"large_row": ["b LONGBLOB"], "columns": [f"c{number} BIGINT" for number in range(3_999)]}
    parts = ["id BIGINT PRIMARY KEY", *more.get(name, ["b BIGINT", "c BIGINT"])]
    names = [f"t{number}" for number in range(10_000)] if name == "tables" else [table]
    path = folder / "schema.sql"
    path.write_text("USE shop;\n" + "".join(f"CREATE TABLE {one} ({', '.join(parts)});\n" for one in names))
    return str(path)


def make(log: Path, name: str, part: float) -> None:
    """Write a log."""
    with log.open("w+b") as out:
        writer = LogWriter(out)
        LOGS[name](writer, part)
        writer.end()


def measured(folder: Path, name: str, part: float, wanted: list[str]) -> Iterator[Measured]:
    """Make a log, and run the commands on it."""
    log = folder / "mysql-bin.000001"
    # What this process has held of memory would count as the commands', which it starts.
    making = get_context("fork").Process(target=make, args=(log, name, part))
    making.start()
    making.join()
    if making.exitcode:
        raise SystemExit(f"the log {name} could not be made")
    work = folder / "work"
    for command, arguments in commands(log, TABLES.get(name, "numbers"), schema(folder, name)).items():
        if wanted and command not in wanted:
            continue
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        yield Measured(name, log.stat().st_size, command, run_measured([*_BINX, *arguments], folder=work))


def main() -> None:
    """Print a line of JSON for each command on each log."""
    parser = argparse.ArgumentParser(prog="python -m bench.limits", description=__doc__)
    parser.add_argument("logs", nargs="*", metavar="LOG", help="which logs (all)")
    parser.add_argument("--part", type=float, default=1.0, help="of the full size (1)")
    parser.add_argument("--only", nargs="*", default=[], help="which commands (all)")
    arguments = parser.parse_args()
    for name in arguments.logs or LOGS:
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            for one in measured(Path(folder), name, arguments.part, arguments.only):
                reading = one.reading
                megabytes = one.bytes / 1e6
                print(
                    json.dumps(
                        {
                            "log": one.log,
                            "part": arguments.part,
                            "MB": round(megabytes, 1),
                            "command": one.command,
                            "peak MiB": round(reading.peak / _MEBIBYTE),
                            "CPU s": round(reading.cpu, 2),
                            "CPU ms/MB": round(reading.cpu * 1000 / megabytes, 2),
                            "status": reading.status,
                            "message": reading.message if reading.status else "",
                        }
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
