"""Usual transactions that ``show`` writes many at a time, against the same written event by event."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path

import pytest

from binx.cli.show_frames import ShowFrames
from binx.cli.show_text import ShowText
from binx.errors import DamagedError
from binx.event.header import EventType
from binx.export.changes import WholeTexts
from binx.export.show import Showing, ShownEvent
from binx.log.ends import FileEnds, read_ends
from binx.log.file import BinlogFile
from binx.log.selection import Selection
from binx.stats.shown_rows import shown_rows
from tests.conftest import TESTDATA
from tests.log import building as b

LOGS = [*sorted(TESTDATA.glob("*/small/*.binlog")), TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003"]
ZONES = (UTC, timezone(timedelta(hours=-9, minutes=-30)))


def name_of(path: Path) -> str:
    return f"{path.parent.parent.name}-{path.stem}"


def shown(ends: list[FileEnds], zone: tzinfo, *, many: bool) -> tuple[bytes, int]:
    """What is written, and how many transactions of it many at a time."""
    text = ShowText(width=None, colour=False, zone=zone)
    frames = ShowFrames(text) if many else None
    chunks: list[bytes] = []
    whole = 0
    for item in Showing(ends, Selection(), rows=shown_rows, frames=frames):
        if isinstance(item, WholeTexts):
            chunks += item.text
            whole += item.count
        else:
            chunks += text.chunks(item) if isinstance(item, ShownEvent) else text.head(item)
    return b"".join(chunks), whole


@pytest.fixture(params=LOGS, ids=name_of)
def ends(request: pytest.FixtureRequest) -> Iterator[list[FileEnds]]:
    with BinlogFile.open(str(request.param)) as file:
        yield [read_ends(file)]


@pytest.mark.parametrize("zone", ZONES, ids=str)
def test_what_is_written_many_at_a_time_is_what_is_written_event_by_event(
    ends: list[FileEnds], zone: tzinfo
) -> None:
    assert shown(ends, zone, many=True)[0] == shown(ends, zone, many=False)[0]


def test_most_transactions_of_rows_are_written_many_at_a_time() -> None:
    with BinlogFile.open(str(TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000002")) as file:
        _, whole = shown([read_ends(file)], UTC, many=True)
        assert whole > 100


def statement(status: bytes = b"", *, thread_id: int = 3, seconds: int = 0) -> bytes:
    """BEGIN with status variables."""
    head = struct.pack("<IIBHH", thread_id, seconds, 4, 0, len(status))
    return b.event(2, head + status + b"shop\0BEGIN")


def gtid_with(tail: bytes, number: int) -> bytes:
    return b.event(33, b"\x00" + b.UUID + struct.pack("<Q", number) + tail)


def group(number: int, flags: int, commit_id: int) -> bytes:
    tail = struct.pack("<Q", commit_id) if flags & 2 else bytes(6)
    return b.event(162, struct.pack("<QIB", number, 4, flags) + tail)


CLOCK = b"\x02" + struct.pack("<qq", 4, 5)
TIMES = (1 << 55 | 1_700_000_000_000_001).to_bytes(7, "little") + (1_600_000_000_500_000).to_bytes(
    7, "little"
)
VERSIONS = struct.pack("<II", 1 << 31 | 90_704, 80_036)
TICKET = struct.pack("<Q", 77)
MYSQL = (
    (gtid_with(b"", 1), statement()),
    (gtid_with(CLOCK, 2), statement(seconds=12)),
    (gtid_with(CLOCK + TIMES + b"\x00", 3), statement(thread_id=0)),
    (
        gtid_with(CLOCK + TIMES + b"\x00" + VERSIONS + TICKET, 4),
        statement(thread_id=0, seconds=9),
    ),
    (gtid_with(CLOCK + TIMES + b"\x00" + struct.pack("<I", 999_999), 5), statement(b"\x0d\x01\x02\x03")),
    (b.event(34, bytes(25)), statement(b"\x05\x03UTC\x0d\x04\x05\x06")),
    (b.gtid(7), statement(b"\x0b\x01a\x01b\x0c\x01shop\0\x0d\x07\x08\x09")),
    (b.gtid(8), statement(b"\x0c\xfe\x0d\x0a\x0b\x0c\x10\x01")),
)
MARIADB = (
    (group(1, 0, 0),),
    (group(2, 2 | 4, 33),),
    (group(3, 2 | 4, 44),),
    (group(4, 4, 0), b.ROWS_QUERY),
)


@pytest.mark.parametrize(("begins", "version"), [(MYSQL, None), (MARIADB, "10.11.19-MariaDB-log")])
def test_what_differs_from_event_to_event_is_written_as_it_is(
    tmp_path: Path, begins: tuple[tuple[bytes, ...], ...], version: str | None
) -> None:
    changes = b.table_map() + b.rows(1) + b.rows(2, 3) + b.table_map(10, "other") + b.rows(4, table_id=10)
    bodies = [b"".join(begin) + changes + b.xid(number % 3) for number, begin in enumerate(begins)]
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(b.whole_log(*bodies, version=version))
    with BinlogFile.open(str(path)) as file:
        ends = [read_ends(file)]
        many, whole = shown(ends, UTC, many=True)
        assert many == shown(ends, UTC, many=False)[0]
        assert whole == len(bodies)


def test_an_event_that_cannot_be_read_is_told_as_ever(tmp_path: Path) -> None:
    good = b.gtid(1) + b.BEGIN + b.table_map() + b.rows(1) + b.xid()
    cut = b.event(EventType.ROWS_QUERY, b"")
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(b.whole_log(good, b.gtid(2) + b.BEGIN + cut + b.table_map() + b.rows(1) + b.xid(), good))
    told = []
    for many in (True, False):
        with BinlogFile.open(str(path)) as file, pytest.raises(DamagedError) as caught:
            shown([read_ends(file)], UTC, many=many)
        told.append(str(caught.value))
    assert told[0] == told[1]
