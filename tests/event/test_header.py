"""Event headers."""

from __future__ import annotations

import pytest

from binx.errors import DamagedError, TruncatedError
from binx.event.header import EventFlag, EventType, event_name, parse_header
from tests.event import samples


def test_a_header_holds_what_mysqlbinlog_prints() -> None:
    header = parse_header(samples.GTID_TAGGED, 0)
    assert header.name == "GTID_TAGGED"
    assert header.server_id == 97
    assert header.next_position == 2827
    assert header.size == 2827 - 2743 == len(samples.GTID_TAGGED)
    assert header.timestamp == 1795252853


def test_the_window_may_begin_anywhere_in_the_file() -> None:
    window = b"\0" * 7 + samples.XID
    header = parse_header(window, 5_000_000_007, origin=5_000_000_000)
    assert header.position == 5_000_000_007
    assert header.end == 5_000_000_007 + len(samples.XID)
    assert header.type == EventType.XID


def test_the_in_use_flag_is_that_of_an_open_file() -> None:
    closed = parse_header(samples.MYSQL_FORMAT, 0)
    opened = bytearray(samples.MYSQL_FORMAT)
    opened[17] |= 1
    assert EventFlag.IN_USE not in closed.flags
    assert EventFlag.IN_USE in parse_header(bytes(opened), 0).flags


@pytest.mark.parametrize("size", range(19))
def test_a_header_that_the_file_cuts_is_truncated(size: int) -> None:
    with pytest.raises(TruncatedError, match=f"found {size}; the file was truncated"):
        parse_header(samples.XID[:size], 0)


def test_a_place_outside_the_window_is_truncated() -> None:
    with pytest.raises(TruncatedError):
        parse_header(samples.XID, 10, origin=20)


def test_an_event_smaller_than_its_header_is_damage() -> None:
    event = samples.XID[:9] + (18).to_bytes(4, "little") + samples.XID[13:]
    with pytest.raises(DamagedError, match="expected an event of at least 19 bytes, found a size of 18"):
        parse_header(event, 0)


def test_an_unknown_type_keeps_its_number() -> None:
    header = parse_header(samples.XID[:4] + b"\xc8" + samples.XID[5:], 0)
    assert header.type == 200
    assert header.name == event_name(200) == "event type 200"


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (2, "QUERY"),
        (19, "TABLE_MAP"),
        (40, "TRANSACTION_PAYLOAD"),
        (41, "HEARTBEAT_V2"),
        (42, "GTID_TAGGED"),
        (160, "MARIADB_ANNOTATE_ROWS"),
        (171, "MARIADB_DELETE_ROWS_COMPRESSED"),
    ],
)
def test_type_numbers_are_those_of_the_servers(number: int, name: str) -> None:
    assert EventType(number).name == event_name(number) == name
