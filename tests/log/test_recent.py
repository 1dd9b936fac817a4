"""Windows that a scan walked are looked at again without reading, and only as far as whole events go."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.recent import RecentWindows, windows_kept
from binx.source import READ_BYTES, WINDOW_BYTES
from tests.conftest import PROJECT

LIMIT = 8 * READ_BYTES

LOG = PROJECT / "testdata/mysql-9.7/small/all_types.binlog"


def event_of(size: int) -> bytes:
    """An event of which nothing but the size matters."""
    return bytes(9) + size.to_bytes(4, "little") + bytes(size - 13)


def test_events_come_from_the_window_that_has_all_of_the_first() -> None:
    recent = RecentWindows(LIMIT)
    recent.add(100, memoryview(event_of(30) + event_of(40) + event_of(50)[:20]))
    recent.add(170, memoryview(event_of(50) + event_of(60)))
    found = recent.events(130, 1000)
    assert found is not None
    assert bytes(found) == event_of(40) + event_of(50)[:20]
    behind = recent.events(170, 1000)
    assert behind is not None
    assert bytes(behind) == event_of(50) + event_of(60)
    stopped = recent.events(170, 220)
    assert stopped is not None
    assert bytes(stopped) == event_of(50)


@pytest.mark.parametrize("position", [0, 99, 160, 280, 281, 10_000])
def test_an_event_that_no_window_has_whole_is_not_given(position: int) -> None:
    recent = RecentWindows(LIMIT)
    recent.add(100, memoryview(event_of(60) + event_of(120)))
    recent.add(160, memoryview(event_of(120)[:119]))
    assert recent.events(position, 1 << 40) is None


def test_what_is_kept_is_bounded() -> None:
    recent = RecentWindows(LIMIT)
    window = memoryview(event_of(READ_BYTES))
    for number in range(100):
        recent.add(number * READ_BYTES, window)
    kept = [number for number in range(100) if recent.events(number * READ_BYTES, 1 << 40) is not None]
    assert kept == list(range(100 - LIMIT // READ_BYTES, 100))


def test_a_window_stays_while_others_come() -> None:
    recent = RecentWindows(100)
    recent.add(0, memoryview(event_of(60)))
    found = recent.events(0, 1000)
    recent.add(60, memoryview(event_of(60)))
    assert recent.events(0, 1000) is None
    assert found is not None
    assert bytes(found) == event_of(60)


def test_a_walk_that_begins_anew_forgets_the_one_before() -> None:
    recent = RecentWindows(LIMIT)
    recent.add(100, memoryview(event_of(30)))
    recent.add(4, memoryview(event_of(20)))
    assert recent.events(100, 1 << 40) is None
    assert recent.events(4, 1 << 40) is not None


def test_a_scanned_files_events_are_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(LOG.read_bytes())
    with BinlogFile.open(str(path)) as file, windows_kept(file, WINDOW_BYTES):
        for table in file.scan(Level.LEVEL_TABLES):
            path.write_bytes(bytes(LOG.stat().st_size))
            for index in range(len(table)):
                start, end = table.value("start", index), table.value("end", index)
                assert bytes(file.events_window(start, end)) == LOG.read_bytes()[start:end]
