"""What a server sends, packet by packet, becomes its log."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import BinxError, ConnectionLostError, DamagedError, RefusedError, ServerError
from binx.event.header import EventFlag
from binx.kernels.packets import PacketStop, PacketStream
from binx.pull.mirror import read_tail
from binx.pull.server import LogPosition
from binx.pull.transfer import Progress, Transfer
from tests.conftest import TESTDATA
from tests.pull.wire import PACKET_MAXIMUM, Sender, Wire, event, events_of, heartbeat, rotate

FOLDERS = ("mysql-9.7/shop", "mariadb-10.11/shop")
NAMES = ("mysql-bin.000001", "mysql-bin.000002")
IN_USE_AT = 4 + 17
LOG_START = (TESTDATA / FOLDERS[0] / NAMES[0]).read_bytes()[:100]


def logs_of(folder: str) -> list[bytes]:
    return [(TESTDATA / folder / name).read_bytes() for name in NAMES]


def pulled(
    data: bytes, to: Path, until: LogPosition | None, *, semi_sync: bool = False, ends: bool = False
) -> tuple[Progress, bytes]:
    """Take what a server sends, after what is there; how far it came, and what the server heard."""
    progress = Progress()
    with Sender(data, ends=ends) as sender:
        tail = read_tail(to)
        Transfer(sender.server, to, tail, NAMES[0], until, progress, silence=5.0, semi_sync=semi_sync).run()
    return progress, sender.heard


def end_of(log: bytes, name: str) -> LogPosition:
    return LogPosition.of(name, len(log))


@pytest.mark.parametrize("folder", FOLDERS)
def test_logs_are_the_servers_own(folder: str, tmp_path: Path) -> None:
    logs = logs_of(folder)
    wire = Wire().log(NAMES[0], logs[0]).log(NAMES[1], logs[1])
    progress, _ = pulled(bytes(wire.data), tmp_path, end_of(logs[1], NAMES[1]))
    assert (tmp_path / NAMES[0]).read_bytes() == logs[0]
    written = bytearray((tmp_path / NAMES[1]).read_bytes())
    assert written[IN_USE_AT] & EventFlag.IN_USE
    written[IN_USE_AT] &= ~EventFlag.IN_USE & 0xFF
    assert written == logs[1]
    assert (progress.log, progress.position, progress.closed) == (NAMES[1], len(logs[1]), 1)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_pull_goes_on_where_it_was_cut(folder: str, tmp_path: Path) -> None:
    logs = logs_of(folder)
    wire = bytes(Wire().log(NAMES[0], logs[0]).data)
    size, last = 0, 0
    for cut in [*range(100, len(wire), len(wire) // 23), len(wire)]:
        tail = read_tail(tmp_path)
        start = 4 if tail is None else tail.start
        sent = bytes(Wire().log(NAMES[0], logs[0], start).data)[
            : cut - last + (0 if tail is None else len(wire) // 20)
        ]
        with pytest.raises(ConnectionLostError):
            pulled(sent, tmp_path, None, ends=True)
        if (tmp_path / NAMES[0]).exists():
            stored = (tmp_path / NAMES[0]).read_bytes()
            assert stored[IN_USE_AT + 1 :] == logs[0][IN_USE_AT + 1 : len(stored)]
            assert len(stored) >= size
            size = len(stored)
            tail = read_tail(tmp_path)
            assert tail is None or tail.end == size
        last = cut
    assert size > len(logs[0]) // 2


def test_a_killed_pulls_half_transaction_is_cut(tmp_path: Path) -> None:
    log = logs_of(FOLDERS[0])[0]
    begun = bytearray(log[: len(log) // 2] + bytes(1000))
    begun[IN_USE_AT] |= EventFlag.IN_USE
    (tmp_path / NAMES[0]).write_bytes(begun)
    tail = read_tail(tmp_path)
    assert tail is not None
    assert tail.start < tail.end <= len(log) // 2
    pulled(bytes(Wire().log(NAMES[0], log, tail.start).data), tmp_path, end_of(log, NAMES[0]))
    assert (tmp_path / NAMES[0]).read_bytes()[IN_USE_AT + 1 :] == log[IN_USE_AT + 1 :]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_log_that_was_only_begun_still_follows_those_before(folder: str, tmp_path: Path) -> None:
    first, second = logs_of(folder)
    (tmp_path / NAMES[0]).write_bytes(first)
    before = read_tail(tmp_path)
    begin = 4 + len(next(events_of(second)))
    (tmp_path / NAMES[1]).write_bytes(second[:IN_USE_AT] + b"\1" + second[IN_USE_AT + 1 : begin])
    tail = read_tail(tmp_path)
    assert before is not None
    assert tail is not None
    assert (tail.log, tail.end, tail.gtids) == (NAMES[1], begin, before.gtids)
    pulled(bytes(Wire().log(NAMES[1], second, begin).data), tmp_path, end_of(second, NAMES[1]))
    (tmp_path / NAMES[1]).write_bytes(first[:IN_USE_AT] + b"\1" + first[IN_USE_AT + 1 : begin])
    with pytest.raises(RefusedError, match="lacks"):
        pulled(bytes(Wire().log(NAMES[1], first, begin).data), tmp_path, None)


@pytest.mark.parametrize("left", [b"", LOG_START[:3], LOG_START[:60], bytes(200)])
def test_a_log_that_was_only_begun_is_begun_again(left: bytes, tmp_path: Path) -> None:
    log = logs_of(FOLDERS[0])[0]
    (tmp_path / NAMES[0]).write_bytes(left)
    assert read_tail(tmp_path) is None
    pulled(bytes(Wire().log(NAMES[0], log).data), tmp_path, end_of(log, NAMES[0]))
    assert (tmp_path / NAMES[0]).stat().st_size == len(log)


def test_a_closed_log_that_is_damaged_here_is_no_tail(tmp_path: Path) -> None:
    log = logs_of(FOLDERS[0])[0]
    for damaged in (log[:-10], log[:-1000] + bytes([log[-1000] ^ 1]) + log[-999:]):
        (tmp_path / NAMES[0]).write_bytes(damaged)
        with pytest.raises(DamagedError):
            read_tail(tmp_path)
        assert (tmp_path / NAMES[0]).read_bytes() == damaged


def test_damage_is_not_written(tmp_path: Path) -> None:
    log = logs_of(FOLDERS[0])[0]
    wire = Wire().log(NAMES[0], log)
    wire.data[len(wire.data) * 2 // 3] ^= 8
    with pytest.raises(DamagedError, match=NAMES[0]):
        pulled(bytes(wire.data), tmp_path, None)
    stored = (tmp_path / NAMES[0]).read_bytes()
    assert stored[IN_USE_AT + 1 :] == log[IN_USE_AT + 1 : len(stored)]
    tail = read_tail(tmp_path)
    assert tail is not None
    assert tail.end == len(stored)


def test_what_is_acknowledged_is_on_the_disk(tmp_path: Path) -> None:
    log = logs_of(FOLDERS[0])[0]
    wire = Wire(semi_sync=True).send(rotate(NAMES[0]))
    for event_bytes in events_of(log):
        wire.send(event_bytes, asks=event_bytes[4] == 16)
    progress, heard = pulled(bytes(wire.data), tmp_path, end_of(log, NAMES[0]), semi_sync=True)
    acknowledged = progress.acknowledged
    assert acknowledged is not None
    reply = bytes([0xEF]) + acknowledged.position.to_bytes(8, "little") + NAMES[0].encode()
    assert heard.endswith(len(reply).to_bytes(3, "little") + b"\0" + reply)
    assert acknowledged.position <= progress.position


def begun(tmp_path: Path) -> tuple[bytes, int]:
    """A log of which more than half is here, and where its last transaction begins."""
    log = logs_of(FOLDERS[0])[0]
    (tmp_path / NAMES[0]).write_bytes(
        log[:IN_USE_AT] + bytes([log[IN_USE_AT] | 1]) + log[IN_USE_AT + 1 :][: len(log) * 2 // 3]
    )
    tail = read_tail(tmp_path)
    assert tail is not None
    return log, tail.start


def test_another_log_of_the_same_name_is_refused(tmp_path: Path) -> None:
    _, start = begun(tmp_path)
    before = (tmp_path / NAMES[0]).read_bytes()
    second = logs_of(FOLDERS[0])[1]
    with pytest.raises(BinxError):
        pulled(bytes(Wire().log(NAMES[0], second, start).data), tmp_path, None)
    assert (tmp_path / NAMES[0]).read_bytes() == before


def test_a_log_that_ends_before_is_refused(tmp_path: Path) -> None:
    log, start = begun(tmp_path)
    wire = Wire().send(rotate(NAMES[0], start))
    wire.log(NAMES[0], log[:0] + log, start)
    head = bytes(Wire().log(NAMES[0], log[: 4 + len(next(events_of(log)))], start).data)
    beat = Wire()
    beat._number = 3
    with pytest.raises(RefusedError, match="has lost transactions"):
        pulled(head + bytes(beat.send(heartbeat(NAMES[0], start)).data), tmp_path, None)


def test_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    for name in ("../mysql-bin.000001", "mysql-bin", ".000001", "a/b.000001", "mysql-bin.000001\n"):
        with pytest.raises(BinxError):
            pulled(bytes(Wire().log(name, logs_of(FOLDERS[0])[0]).data), tmp_path, None)
    assert not list(tmp_path.iterdir())


def test_a_gap_between_logs_is_refused(tmp_path: Path) -> None:
    logs = logs_of(FOLDERS[0])
    wire = Wire().log(NAMES[0], logs[0]).log("mysql-bin.000003", logs[1])
    with pytest.raises(RefusedError, match=r"expected mysql-bin\.000002"):
        pulled(bytes(wire.data), tmp_path, None)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_log_that_lacks_what_came_before_is_not_kept(folder: str, tmp_path: Path) -> None:
    first, second = logs_of(folder)
    events = list(events_of(first))
    wire = Wire().send(rotate(NAMES[0]))
    for event_bytes in events:
        wire.send(event_bytes)
    wire.send(rotate(NAMES[1]))
    for event_bytes in events:
        wire.send(event_bytes)
    with pytest.raises(RefusedError, match="lacks"):
        pulled(bytes(wire.data), tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == [NAMES[0]]
    assert second != first


def test_a_servers_error_is_reported_in_its_words(tmp_path: Path) -> None:
    wire = Wire().packet(b"\xff\xd4\x04#HY000no such log")
    with pytest.raises(ServerError, match=r"no such log \(1236\)"):
        pulled(bytes(wire.data), tmp_path, None)


LOG = (TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000002").read_bytes()
FIRST, *EVENTS = events_of(LOG)
BODY = b"".join(EVENTS)


def unpacked(wire: Wire, sizes: list[int], room: int = 4096) -> tuple[bytes, list[bytes], int]:
    """The events of the file, the special packets, and where an acknowledgement was asked for last."""
    stream = PacketStream(wire.semi_sync)
    events, special, received, at = b"", [], bytearray(), 0
    out = bytearray(room)
    for size in [*sizes, len(wire.data)]:
        received += wire.data[at : at + size]
        at = min(at + size, len(wire.data))
        while True:
            used, written, stop = stream.unpack(received, out)
            events += out[:written]
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
    for index, event_bytes in enumerate(EVENTS):
        wire.send(event_bytes, asks=semi_sync and event_bytes[4] == 16)
        if index == 40:
            wire.send(heartbeat("mysql-bin.000002", 4))
    return wire


@given(st.lists(st.integers(1, 5000), max_size=60), st.booleans(), st.integers(64, 9000))
def test_pieces_make_no_difference(sizes: list[int], semi_sync: bool, room: int) -> None:
    events, special, _ = unpacked(sent(semi_sync=semi_sync), sizes, room)
    assert events == BODY
    assert [packet[-1:] for packet in special] == [
        rotate("mysql-bin.000002")[-1:],
        FIRST[-1:],
        heartbeat("mysql-bin.000002", 4)[-1:],
    ]


def test_the_end_of_the_last_event_that_asks_is_known() -> None:
    ends, end = [], 0
    for event_bytes in EVENTS:
        end += len(event_bytes)
        ends += [end] if event_bytes[4] == 16 else []
    assert unpacked(sent(semi_sync=True), [])[2] == ends[-1]
    assert unpacked(sent(semi_sync=False), [])[2] == -1


@pytest.mark.parametrize(
    "size", [PACKET_MAXIMUM - 2, PACKET_MAXIMUM - 1, PACKET_MAXIMUM, 2 * PACKET_MAXIMUM, 40_000_000]
)
def test_an_event_of_several_packets_is_one(size: int) -> None:
    large = event(29, random.Random(size).randbytes(size - 23))
    assert len(large) == size
    wire = Wire().send(large).send(EVENTS[0])
    assert unpacked(wire, [1 << 20] * 50, 1 << 22)[0] == large + EVENTS[0]


def test_errors_and_the_end_are_special() -> None:
    error = b"\xff\xd4\x04#HY000Could not find first log file name in binary log index file"
    events, special, _ = unpacked(Wire().send(EVENTS[0]).packet(error).packet(b"\xfe\0\0\2\0"), [7])
    assert (events, special) == (EVENTS[0], [error, b"\xfe\0\0\2\0"])


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (3, 2, "packet with the number 1, found 2"),
        (0, 1, "event that fills its packet"),
        (14, 0xFF, "event that fills its packet"),
    ],
)
def test_what_does_not_fit_is_damage(offset: int, value: int, message: str) -> None:
    wire = Wire().send(EVENTS[0]).send(EVENTS[1])
    wire.data[offset] = value ^ (wire.data[offset] if offset == 0 else 0)
    with pytest.raises(DamagedError, match=message):
        unpacked(wire, [])


def test_semi_sync_without_its_mark_is_damage() -> None:
    wire = Wire(semi_sync=True).send(EVENTS[0])
    wire.data[5] ^= 1
    with pytest.raises(DamagedError, match="mark of semi-synchronous"):
        unpacked(wire, [])


def test_the_rest_of_a_large_event_must_be_there() -> None:
    wire = Wire().send(event(29, bytes(PACKET_MAXIMUM)))
    del wire.data[PACKET_MAXIMUM + 4 :]
    wire.send(EVENTS[0])
    with pytest.raises(DamagedError, match="rest of an event"):
        unpacked(wire, [], 1 << 25)


def test_the_test_log_is_there() -> None:
    assert Path(TESTDATA).is_dir()
    assert len(EVENTS) > 100
