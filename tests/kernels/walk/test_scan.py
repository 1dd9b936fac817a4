"""The compiled walk: jumps are taken only where they can be trusted, and it goes on where it stopped."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import pytest

from binx.errors import BinxError, DamagedError
from binx.event.gtid.sources import MYSQL_MAX_NUMBER
from binx.kernels.transactions.table import FLAG_BY_LENGTH, FLAG_LENGTH_WRONG
from binx.kernels.walk.scan import Level, Stop
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from tests.conftest import PROJECT
from tests.log import building
from tests.log import building as b
from tests.log.searching import Bytes, read

PLAIN = (PROJECT / "testdata/mysql-9.7/small/no_checksum.binlog").read_bytes()
WALKED = read(PLAIN, Level.LEVEL_EVENTS).transactions


def length_field(start: int) -> int:
    """Where the length stands in a GTID event with one timestamp: after flags, UUID, number, clock type, two
    clocks and the timestamp's 7 bytes."""
    return start + 19 + 1 + 16 + 8 + 1 + 8 + 8 + 7


def with_length(data: bytes, start: int, length: int) -> bytes:
    """A log in which a transaction claims another length, in the room that the right one has."""
    at = length_field(start)
    changed = bytearray(data)
    if data[at] == 0xFC:
        changed[at + 1 : at + 3] = struct.pack("<H", length)
    else:
        assert length < 251
        changed[at] = length
    return bytes(changed)


def test_the_length_stands_where_this_test_takes_it_to_be() -> None:
    for start, end, *_ in WALKED:
        at = length_field(start)
        claimed = PLAIN[at] if PLAIN[at] < 251 else struct.unpack_from("<H", PLAIN, at + 1)[0]
        assert claimed == end - start


@pytest.mark.parametrize("index", range(len(WALKED)))
def test_a_wrong_length_is_not_followed(index: int) -> None:
    start, end = WALKED[index][:2]
    size = end - start
    two_bytes = PLAIN[length_field(start)] == 0xFC
    claims = [0, 1, 18, 19, size - 1, size // 2, 75, 76, 200]
    claims += [size + 1, size + 19, 0xFFFF, len(PLAIN) - start] if two_bytes else [250]
    for claim in claims:
        if claim != size:
            data = with_length(PLAIN, start, claim)
            assert read(data, Level.LEVEL_INDEX).transactions == WALKED, claim


def test_a_length_that_leads_to_a_later_transactions_end_is_reported_by_the_walk() -> None:
    """Without checksums a jump cannot tell it: all that it looks at is as it should be."""
    index = next(i for i, one in enumerate(WALKED) if PLAIN[length_field(one[0])] == 0xFC)
    data = with_length(PLAIN, WALKED[index][0], WALKED[index + 1][1] - WALKED[index][0])
    assert read(data, Level.LEVEL_EVENTS).transactions == WALKED
    (table,) = Scan(BinlogFile(Bytes(data)), Level.LEVEL_EVENTS)
    wrong = [bool(table.value("flags", i) & FLAG_LENGTH_WRONG) for i in range(len(table))]
    assert wrong == [i == index for i in range(len(table))]


def test_a_transaction_whose_length_was_wrong_is_marked() -> None:
    start, end = WALKED[0][:2]
    data = with_length(PLAIN[WALKED[0][0] :], 0, end - start - 1)
    scan = b.scanner(Level.LEVEL_INDEX, file_size=b.FIRST + len(data))
    scan.set_format(0, b.POST_HEADERS)
    assert scan.feed(data, b.FIRST, b.FILE_SIZE) == Stop.STOP_END
    flags = [scan.table.value("flags", index) for index in range(len(scan.table))]
    assert flags[0] & FLAG_LENGTH_WRONG
    assert not flags[0] & FLAG_BY_LENGTH
    assert all(flag & FLAG_BY_LENGTH for flag in flags[1:])


def test_events_may_come_one_at_a_time() -> None:
    events = [b.gtid(), b.BEGIN, b.table_map(), b.rows(1, 2), b.xid(), b.gtid(2), b.CREATE]
    at_once, one_by_one = b.scanner(Level.LEVEL_TABLES), b.scanner(Level.LEVEL_TABLES)
    b.feed(at_once, *events)
    for event in events:
        assert b.feed(one_by_one, event) == Stop.STOP_LIMIT
    for field in ("start", "end", "kind", "events", "rows", "number"):
        assert one_by_one.table.column(field) == at_once.table.column(field)


def test_a_table_handed_over_in_mid_transaction_loses_no_count() -> None:
    scan = b.scanner(Level.LEVEL_TABLES)
    b.feed(scan, b.BEGIN, b.table_map(), b.rows(1, 2, end=False))
    assert len(scan.new_table()) == 0
    b.feed(scan, b.rows(3), b.xid(), b.CREATE)
    table = scan.new_table()
    assert table.counts_of(0) == [(0, 3, 0, 0, len(b.rows(1, 2)) + len(b.rows(3)))]
    assert table.counts_of(1) == []


def test_an_event_cut_by_the_window_waits_and_one_cut_by_the_file_is_reported() -> None:
    data = b.gtid() + b.CREATE
    for size in range(len(data)):
        scan = b.scanner()
        assert scan.feed(data[:size], b.FIRST, b.FILE_SIZE) == Stop.STOP_LIMIT
        assert scan.position == b.FIRST + (len(b.gtid()) if size >= len(b.gtid()) else 0)
        cut = b.scanner(file_size=b.FIRST + size)
        at_an_end = size in {0, len(b.gtid())}
        stop = cut.feed(data[:size], b.FIRST, b.FILE_SIZE)
        assert stop == (Stop.STOP_END if at_an_end else Stop.STOP_TRUNCATED), size


@pytest.mark.parametrize("size", [0, 1, 18, 2**31, 2**32 - 1])
def test_an_impossible_size_neither_loops_nor_takes_memory(size: int) -> None:
    event = bytearray(b.CREATE)
    struct.pack_into("<I", event, 9, size)
    scan = b.scanner()
    if size < 19:
        with pytest.raises(DamagedError, match=f"size {size}"):
            b.feed(scan, bytes(event))
    else:
        assert b.feed(scan, bytes(event)) == Stop.STOP_TRUNCATED


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize(
    "event",
    [
        b.gtid(), b.mariadb_gtid(), b.query("BEGIN"), b.xid(), b.table_map(), b.rows(1), b.xa_prepare(),
        b.payload(), b.EXECUTE_LOAD, b.INTVAR, b.event(42, bytes(40)), b.event(39, bytes(12)),
    ],
    ids=lambda event: f"type {event[4]}",
)  # fmt: skip
def test_a_body_cut_anywhere_is_an_error_or_an_answer(event: bytes, level: Level) -> None:
    for size in range(len(event) - 19):
        cut = b.event(event[4], event[19 : 19 + size])
        for before in ([], [b.gtid()], [b.BEGIN], [b.BEGIN, b.table_map()]):
            scan = b.scanner(level)
            with suppress(BinxError):
                b.feed(scan, *before, cut)


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("number", [0, MYSQL_MAX_NUMBER + 1, (1 << 64) - 1])
def test_a_number_that_no_server_gives_is_damage(number: int, level: Level) -> None:
    """As of a GTID set, which the transactions of a log are gathered in."""
    after = (b.BEGIN, b.table_map(), b.rows(1), b.xid())
    most = read(b.whole_log(b.gtid(MYSQL_MAX_NUMBER), *after), level)
    assert most.error is None
    assert [one[3] for one in most.transactions] == [MYSQL_MAX_NUMBER]
    reading = read(b.whole_log(b.gtid(number), *after), level)
    assert isinstance(reading.error, DamagedError)
    assert "number" in reading.error.message


def test_a_tag_that_is_no_name_is_damage() -> None:
    data = bytearray((PROJECT / "testdata/mysql-9.7/small/tagged_gtids.binlog").read_bytes())
    whole = read(bytes(data), Level.LEVEL_EVENTS, verify=False)
    assert whole.error is None
    at = data.index(b"nightly") if b"nightly" in data else _first_tag(data)
    data[at] = 0xFF
    reading = read(bytes(data), Level.LEVEL_EVENTS, verify=False)
    assert isinstance(reading.error, DamagedError)
    assert "tag" in str(reading.error)


def _first_tag(data: bytearray) -> int:
    """Where the first tag in a log stands, by the listing of the server's own reader."""
    listing = Path(PROJECT / "testdata/mysql-9.7/small/tagged_gtids.txt").read_text(errors="replace")
    tags = [line.split("'")[1].split(":")[1] for line in listing.splitlines() if "GTID_NEXT= '" in line]
    tag = next(one for one in tags if not one.isdigit() and one != "AUTOMATIC")
    return data.index(tag.encode())


HEAD = struct.Struct("<IIBHH")
NAME = b"shop\0"


def query(variables: bytes, name: bytes = NAME) -> bytes:
    head = HEAD.pack(3, 0, 4, 0, len(variables))
    return building.event(2, head + variables + name + b"DROP TABLE t")


def test_the_reader_gets_each_event_whose_parser_could_reject_it() -> None:
    shown: list[tuple[int, int]] = []
    scan = building.scanner(Level.LEVEL_TABLES)
    scan.show_events(lambda event, position: shown.append((event[4], position)))
    first, second, longer = query(b"\x0d\1\2\3"), query(b"\x0d\1\2\4"), query(b"\x0d\1\2\3") + b" more"
    longer = longer[:9] + len(longer).to_bytes(4, "little") + longer[13:]
    events = [building.gtid(1), first, building.gtid(2), longer, building.gtid(3), second]
    building.feed(scan, *events)
    starts = [building.FIRST + len(b"".join(events[:number])) for number in range(len(events))]
    assert shown == [(2, starts[1]), (2, starts[5])]
