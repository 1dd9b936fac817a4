"""How these tests make slices and look into logs."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from binx.event.gtid.events import Gtid
from binx.event.header import EventHeader, EventType, parse_header
from binx.event.parse import parse_event
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.slices.binlog import SliceReport, write_binlog
from binx.slices.search import Run

TESTDATA = Path(__file__).resolve().parent.parent.parent / "testdata"
MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
SHOPS = [sorted((folder / "shop").glob("mysql-bin.0*")) for folder in (MYSQL, MARIADB)]
SMALL = sorted(path for folder in (MYSQL, MARIADB) for path in (folder / "small").glob("*.binlog"))

Wanted = Callable[[TransactionTable, int], bool]


def every(table: TransactionTable, index: int) -> bool:
    return True


def each_third(table: TransactionTable, index: int) -> bool:
    return index % 3 == 1


def runs_of(files: Iterable[BinlogFile], wanted: Wanted) -> Iterator[Run]:
    for file in files:
        for table in file.scan():
            yield Run(file, table, bytes(wanted(table, i) for i in range(len(table))))


def slice_of(
    paths: Sequence[Path], wanted: Wanted = every, *, verbatim: bool = False, verify: bool = True
) -> tuple[bytes, SliceReport]:
    out = io.BytesIO()
    with ExitStack() as stack:
        files = [stack.enter_context(BinlogFile.open(str(path))) for path in paths]
        report = write_binlog(runs_of(files, wanted), out, verbatim=verbatim, verify=verify)
    return out.getvalue(), report


def transactions_of(path: Path, level: Level = Level.LEVEL_EVENTS) -> list[tuple[int, int, str | None, int]]:
    """Start, end, GTID and flags of each transaction, after a scan that verifies all checksums it meets."""
    with BinlogFile.open(str(path)) as file:
        return [
            (table.value("start", i), table.value("end", i), table.gtid(i), table.value("flags", i))
            for table in file.scan(level)
            for i in range(len(table))
        ]


def events_of(log: bytes, checksum: int = 4) -> list[tuple[EventHeader, bytes]]:
    """Headers and bodies of all events, checksums compared with zlib's."""
    at, found = 4, []
    while at < len(log):
        header = parse_header(log, at)
        size = checksum if header.type != EventType.FORMAT_DESCRIPTION else 4
        whole = log[at : header.end]
        assert len(whole) == header.size
        if size:
            assert zlib.crc32(whole[:-4]) == int.from_bytes(whole[-4:], "little")
        found.append((header, whole[19 : len(whole) - size]))
        at = header.end
    return found


def gtids_of(path: Path) -> list[Gtid]:
    """MySQL's GTID events of a file."""
    found = []
    with BinlogFile.open(str(path)) as file:
        size = file.format.checksum_size
        for header, body in events_of(path.read_bytes(), size):
            if header.type in (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED):
                event = parse_event(memoryview(body), header, file.format)
                assert isinstance(event, Gtid)
                found.append(event)
    return found


def contiguous(first: int, last: int) -> Wanted:
    return lambda table, index: first <= index <= last
