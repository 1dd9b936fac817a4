"""Events come off their packets as they are in the log, in whatever pieces they arrive."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.kernels.packets import PacketStop, PacketStream
from tests.conftest import TESTDATA
from tests.pull.wire import PACKET_MAXIMUM, Wire, event, events_of, heartbeat, rotate

LOG = (TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000002").read_bytes()
FIRST, *EVENTS = events_of(LOG)
BODY = b"".join(EVENTS)


def taken(wire: Wire, pieces: list[int], room: int = 4096) -> tuple[bytes, list[bytes], int]:
    """The events of the file, the special packets, and where an acknowledgement was asked for last."""
    stream = PacketStream(wire.semi_sync)
    events, special, received, at = b"", [], bytearray(), 0
    out = bytearray(room)
    for size in [*pieces, len(wire.data)]:
        received += wire.data[at : at + size]
        at = min(at + size, len(wire.data))
        while True:
            used, made, stop = stream.unpack(received, out)
            events += out[:made]
            del received[:used]
            if stop == PacketStop.PACKET_SPECIAL:
                packet = stream.special(received)
                if packet is None:
                    break
                special.append(packet)
                del received[: len(packet) + 4]
            elif stop == PacketStop.PACKET_MORE:
                break
    assert not received
    return events, special, stream.asked_at


def sent(*, semi_sync: bool) -> Wire:
    wire = Wire(semi_sync).send(rotate("mysql-bin.000002")).send(FIRST)
    for place, one in enumerate(EVENTS):
        wire.send(one, asks=semi_sync and one[4] == 16)
        if place == 40:
            wire.send(heartbeat("mysql-bin.000002", 4))
    return wire


@given(st.lists(st.integers(1, 5000), max_size=60), st.booleans(), st.integers(64, 9000))
def test_pieces_make_no_difference(pieces: list[int], semi_sync: bool, room: int) -> None:
    events, special, _ = taken(sent(semi_sync=semi_sync), pieces, room)
    assert events == BODY
    assert [packet[-1:] for packet in special] == [
        rotate("mysql-bin.000002")[-1:],
        FIRST[-1:],
        heartbeat("mysql-bin.000002", 4)[-1:],
    ]


def test_the_end_of_the_last_event_that_asks_is_known() -> None:
    ends, end = [], 0
    for one in EVENTS:
        end += len(one)
        ends += [end] if one[4] == 16 else []
    assert taken(sent(semi_sync=True), [])[2] == ends[-1]
    assert taken(sent(semi_sync=False), [])[2] == -1


@pytest.mark.parametrize(
    "size", [PACKET_MAXIMUM - 2, PACKET_MAXIMUM - 1, PACKET_MAXIMUM, 2 * PACKET_MAXIMUM, 40_000_000]
)
def test_an_event_of_several_packets_is_one(size: int) -> None:
    large = event(29, random.Random(size).randbytes(size - 23))
    assert len(large) == size
    wire = Wire().send(large).send(EVENTS[0])
    assert taken(wire, [1 << 20] * 50, 1 << 22)[0] == large + EVENTS[0]


def test_errors_and_the_end_are_special() -> None:
    error = b"\xff\xd4\x04#HY000Could not find first log file name in binary log index file"
    events, special, _ = taken(Wire().send(EVENTS[0]).packet(error).packet(b"\xfe\0\0\2\0"), [7])
    assert (events, special) == (EVENTS[0], [error, b"\xfe\0\0\2\0"])


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (3, 2, "packet with the number 1, found 2"),
        (0, 1, "event that fills its packet"),
        (14, 0xFF, "event that fills its packet"),
    ],
)
def test_what_does_not_fit_is_damage(place: int, value: int, message: str) -> None:
    wire = Wire().send(EVENTS[0]).send(EVENTS[1])
    wire.data[place] = value ^ (wire.data[place] if place == 0 else 0)
    with pytest.raises(DamagedError, match=message):
        taken(wire, [])


def test_semi_sync_without_its_mark_is_damage() -> None:
    wire = Wire(semi_sync=True).send(EVENTS[0])
    wire.data[5] ^= 1
    with pytest.raises(DamagedError, match="mark of semi-synchronous"):
        taken(wire, [])


def test_the_rest_of_a_large_event_must_be_there() -> None:
    wire = Wire().send(event(29, bytes(PACKET_MAXIMUM)))
    del wire.data[PACKET_MAXIMUM + 4 :]
    wire.send(EVENTS[0])
    with pytest.raises(DamagedError, match="rest of an event"):
        taken(wire, [], 1 << 25)


def test_the_test_log_is_there() -> None:
    assert Path(TESTDATA).is_dir()
    assert len(EVENTS) > 100
