"""The events of a transaction one by one, compared with the listing of the server's own reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from binx.errors import BinxError, DamagedError
from binx.event.header import EventType
from binx.event.payload import TransactionPayload
from binx.kernels.walk.scan import Level
from binx.log.events import transaction_events
from binx.log.file import BinlogFile
from tests.conftest import PROJECT
from tests.log.memory import Bytes

SMALL = sorted((PROJECT / "testdata").glob("mysql-9.7/small/*.binlog"))
_EVENT = re.compile(r"^#\d{6} .* server id \d+ ", re.MULTILINE)
_OUTSIDE = ("Start: binlog", "Previous-GTIDs", "Rotate to", "Stop")


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_as_many_events_are_read_as_the_servers_own_reader_lists(path: Path) -> None:
    listing = path.with_suffix(".txt").read_text(errors="replace")
    lines = [line for line in listing.splitlines() if _EVENT.match(line)]
    listed = [line for line in lines if not any(word in line for word in _OUTSIDE)]
    with BinlogFile.open(str(path)) as file:
        read = [
            header.type
            for table in file.scan(Level.LEVEL_EVENTS)
            for index in range(len(table))
            for header, _ in transaction_events(
                file, table.value("start", index), table.value("end", index), table.format
            )
        ]
    assert len(read) == len(listed)


def test_the_events_of_a_payload_come_behind_it_with_its_position() -> None:
    with BinlogFile.open(str(PROJECT / "testdata/mysql-9.7/small/compressed.binlog")) as file:
        (table,) = file.scan(Level.LEVEL_TABLES)
        index = next(i for i in range(len(table)) if table.value("uncompressed_bytes", i))
        start, end = table.value("start", index), table.value("end", index)
        events = list(transaction_events(file, start, end, table.format))
    assert isinstance(events[1][1], TransactionPayload)
    position = events[1][0].position
    inner = events[2:]
    assert [header.position for header, _ in inner] == [position] * len(inner)
    assert inner[-1][0].type == EventType.XID
    assert sum(header.size for header, _ in inner) == events[1][1].uncompressed_size


def test_a_range_that_ends_within_an_event_is_damage() -> None:
    path = PROJECT / "testdata/mysql-9.7/small/ddl.binlog"
    with BinlogFile.open(str(path)) as file:
        (table,) = file.scan()
        start, end = table.value("start", 3), table.value("end", 3)
        with pytest.raises(DamagedError) as raised:
            list(transaction_events(file, start, end - 1, table.format))
    assert raised.value.path == str(path)


def test_a_payload_changed_anywhere_gives_events_or_an_error() -> None:
    data = bytearray((PROJECT / "testdata/mysql-9.7/small/compressed.binlog").read_bytes())
    file = BinlogFile(Bytes(bytes(data)))
    (table,) = file.scan(Level.LEVEL_TABLES)
    index = next(i for i in range(len(table)) if table.value("uncompressed_bytes", i))
    start, end = table.value("start", index), table.value("end", index)
    for offset in range(start, end):
        data[offset] ^= 0x41
        damaged = BinlogFile(Bytes(bytes(data)))
        try:
            list(transaction_events(damaged, start, end, table.format))
        except BinxError:
            continue
        finally:
            data[offset] ^= 0x41
