"""A scan for GTIDs alone takes what a whole scan takes, and of the others reads where they begin."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import BinxError, ChecksumError, TruncatedError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level, Scanner
from binx.log.boundary import compiled
from binx.log.file import BinlogFile
from binx.log.identifiers import kernel_intervals
from binx.log.selection.selection import Selection, Selector
from tests.log.memory import Bytes
from tests.log.searching import SHOPS, SMALL, TESTDATA

LOGS = [
    *SHOPS["mysql-9.7"],
    *SHOPS["mariadb-10.11"],
    *sorted(SMALL.glob("*.00*")),
    *sorted((TESTDATA / "mysql-9.7" / "relay").glob("*.0*")),
    # Those behind begin inside a transaction.
    *sorted((TESTDATA / "mariadb-10.11" / "relay").glob("*.0*"))[:2],
]
IDS = [f"{log.parent.parent.name}-{log.parent.name}-{log.name}" for log in LOGS]
COLUMNS = ("start", "end", "kind", "commit_timestamp", "xid", "server_id", "thread_id", "sequence_number")

Taken = list[tuple[str | None, ...]]


def taken(file: BinlogFile, gtids: GtidSet, *, alone: bool) -> tuple[Taken, int]:
    """The transactions that have the GTIDs, and how many the scan has handed over."""
    selector = Selector(Selection(gtids=gtids), [file.name])
    found: Taken = []
    seen = 0
    scan = file.scan(gtids=selector.sought if alone else None)
    for table in scan:
        seen += len(table)
        for index in table.marked(selector.mask(file, scan, table)):
            found.append((table.gtid(index), *(str(table.value(name, index)) for name in COLUMNS)))
        if selector.complete:
            break
    return found, seen


def all_gtids(file: BinlogFile) -> list[str]:
    found: list[str] = []
    # A relay log may end inside a transaction, which the next one goes on with.
    with suppress(TruncatedError):
        for table in file.scan():
            found += [gtid for gtid in map(table.gtid, range(len(table))) if gtid is not None]
    return found


@pytest.mark.parametrize("path", LOGS, ids=IDS)
def test_every_gtid_is_found_as_by_a_scan_of_everything(path: Path) -> None:
    with BinlogFile.open(str(path)) as file:
        gtids = all_gtids(file)
        for gtid in gtids[:: max(1, len(gtids) // 25)]:
            wanted = GtidSet.parse(gtid)
            assert taken(file, wanted, alone=True)[0] == taken(file, wanted, alone=False)[0] != []


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_of_the_others_hardly_any_is_handed_over(server: str) -> None:
    with BinlogFile.open(str(SHOPS[server][1])) as file:
        gtids = all_gtids(file)
        found, seen = taken(file, GtidSet.parse(gtids[-1]), alone=True)
        assert len(found) == 1
        assert seen < len(gtids) // 4


@settings(max_examples=25, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_any_set_is_found_as_by_a_scan_of_everything(server: str, data: st.DataObject) -> None:
    with BinlogFile.open(str(SHOPS[server][1])) as file:
        gtids = all_gtids(file)
        wanted = GtidSet()
        for gtid in data.draw(st.lists(st.sampled_from(gtids), min_size=1, max_size=20)):
            wanted |= GtidSet.parse(gtid)
        assert taken(file, wanted, alone=True)[0] == taken(file, wanted, alone=False)[0]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_of_a_damaged_log_comes_the_transaction_that_was_asked_for_or_none(
    server: str, data: st.DataObject
) -> None:
    path = SHOPS[server][1]
    whole = path.read_bytes()
    with BinlogFile.open(str(path)) as file:
        gtids = all_gtids(file)
        wanted = GtidSet.parse(data.draw(st.sampled_from(gtids)))
        right = taken(file, wanted, alone=False)[0]
    damaged = bytearray(whole)
    place = data.draw(st.integers(file.first_position, len(whole) - 1))
    damaged[place] ^= data.draw(st.integers(1, 255))
    with BinlogFile(Bytes(bytes(damaged))) as file:
        try:
            found = taken(file, wanted, alone=True)[0]
        except BinxError:
            return
        start, end = int(str(right[0][1])), int(str(right[0][2]))
        assert found in ([], right) or start <= place < end


def test_a_gtid_event_with_wrong_bytes_is_told() -> None:
    path = SHOPS["mysql-9.7"][1]
    damaged = bytearray(path.read_bytes())
    with BinlogFile.open(str(path)) as file:
        gtids = all_gtids(file)
        start = next(iter(file.scan())).value("start", 5)
    damaged[start + 19 + 17] ^= 1
    with BinlogFile(Bytes(bytes(damaged))) as file, pytest.raises(ChecksumError):
        taken(file, GtidSet.parse(gtids[-1]), alone=True)


def test_what_is_looked_for_is_said_before_the_walk() -> None:
    scanner = Scanner(Level.LEVEL_INDEX, 1_000, 4, compiled(), True)
    intervals = kernel_intervals(GtidSet.parse("0-1-5"))
    scanner.search(intervals)
    with pytest.raises(ValueError, match="begun"):
        scanner.search(intervals)
