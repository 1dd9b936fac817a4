"""Events about replication, built by the layouts that MySQL's sources document: servers seldom log them."""

from __future__ import annotations

import pytest

from binx.errors import DamagedError
from binx.event.header import EventType, parse_header
from binx.event.parse import Event, parse_event
from binx.event.replication import (
    Heartbeat,
    Ignorable,
    Incident,
    Rotate,
    Stop,
    TransactionContext,
    ViewChange,
)
from tests.event import samples
from tests.event.reading import MYSQL, read, split


def event(number: EventType, body: bytes) -> Event:
    header = parse_header(samples.XID[:4] + bytes([number]) + samples.XID[5:], 0)
    return parse_event(memoryview(body), header, MYSQL)


def test_an_incident_has_a_number_and_a_message() -> None:
    found = event(EventType.INCIDENT, b"\x01\x00\x05hello")
    assert found == Incident(1, "hello")
    assert isinstance(found, Incident)
    assert found.name == "LOST_EVENTS"
    assert Incident(7, "").name == "incident 7"


def test_heartbeats_name_the_file_that_is_sent() -> None:
    assert event(EventType.HEARTBEAT, b"binlog.000007") == Heartbeat("binlog.000007", None)
    fields = b"\x01\x0dbinlog.000007" + b"\x02\x09\xfe" + (5 << 32).to_bytes(8, "little") + b"\x00"
    assert event(EventType.HEARTBEAT_V2, fields) == Heartbeat("binlog.000007", 5 << 32)


def test_an_ignorable_event_is_kept_as_bytes() -> None:
    assert event(EventType.IGNORABLE, b"whatever") == Ignorable(b"whatever")


def test_a_transaction_context_holds_what_is_certified() -> None:
    body = b"".join(
        [
            b"\x04" + (9).to_bytes(4, "little") + b"\x01",
            *(n.to_bytes(4, "little") for n in (3, 2, 1)),
            b"uuid" + b"set",
            b"\x01\x00a\x02\x00bb",
            b"\x01\x00c",
        ]
    )
    expected = TransactionContext("uuid", 9, True, b"set", (b"a", b"bb"), (b"c",))
    assert event(EventType.TRANSACTION_CONTEXT, body) == expected


def test_a_view_change_holds_the_certification() -> None:
    body = b"".join(
        [
            b"14:3".ljust(40, b"\0"),
            (7).to_bytes(8, "little"),
            (1).to_bytes(4, "little"),
            b"\x01\x00k\x03\x00\x00\x00val",
        ]
    )
    assert event(EventType.VIEW_CHANGE, body) == ViewChange("14:3", 7, ((b"k", b"val"),))


def test_rotate_names_the_next_file() -> None:
    assert read(samples.ROTATE) == Rotate("mysql-bin.000002", 4)


def test_rotate_without_a_name_is_damage() -> None:
    header, body = split(samples.ROTATE)
    with pytest.raises(DamagedError, match="expected the next file's name"):
        parse_event(body[:8], header, MYSQL)


def test_stop_says_nothing_more() -> None:
    stop = samples.XID[:4] + bytes([EventType.STOP]) + samples.XID[5:]
    assert parse_event(memoryview(b""), parse_header(stop, 0), MYSQL) == Stop()
