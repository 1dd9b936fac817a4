"""The copying kernel: new positions and checksums through any window and buffer, all else as it was."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import ChecksumError, DamagedError
from binx.kernels.copy.rewrite import Pause, Rewriter, measure

HEADER = struct.Struct("<IBIIIH")
QUERY, ROTATE, GTID, TABLE_MAP = 2, 4, 33, 19
MAGIC = b"\xfebin"


def event(number: int, body: bytes, *, position: int = 77, checksum: bool = True) -> bytes:
    size = HEADER.size + len(body) + 4 * checksum
    data = HEADER.pack(1_700_000_000, number, 97, size, position, 8) + body
    return data + (zlib.crc32(data).to_bytes(4, "little") if checksum else b"")


def gtid_body(last_committed: int, sequence_number: int) -> bytes:
    return b"\1" + bytes(range(16)) + struct.pack("<qBqq", 5, 2, last_committed, sequence_number) + b"rest"


def rewritten(
    data: bytes,
    *,
    window: int = 1 << 20,
    capacity: int = 1 << 20,
    source_checksum: int = 4,
    checksum: int = 4,
    verbatim: bool = False,
    serial: bool = False,
    verify: bool = True,
    zeros_stay: bool = False,
) -> bytes:
    """Feed all of ``data`` through windows of a size."""
    rewriter = Rewriter(capacity, checksum, verbatim, serial, verify)
    rewriter.begin_source(source_checksum, zeros_stay)
    rewriter.put_bytes(MAGIC)
    out = b""
    while True:
        origin = rewriter.position
        pause = rewriter.feed(data[origin : origin + window], origin, len(data), False)
        out += bytes(rewriter.pending())
        if verbatim:
            out += data[origin : rewriter.position]
        rewriter.clear()
        if pause == Pause.PAUSE_DONE:
            return out
        assert pause in (Pause.PAUSE_WINDOW, Pause.PAUSE_FULL)


def events_of(log: bytes, checksum: bool = True) -> list[tuple[tuple[int, ...], bytes]]:
    """Headers and bodies, read without binx; checksums are compared with zlib's."""
    at, found = 4, []
    while at < len(log):
        header = HEADER.unpack_from(log, at)
        whole = log[at : at + header[3]]
        if checksum:
            assert zlib.crc32(whole[:-4]) == int.from_bytes(whole[-4:], "little")
            whole = whole[:-4]
        assert header[4] == (at + header[3]) & 0xFFFFFFFF
        found.append((header, whole[HEADER.size :]))
        at += header[3]
    return found


def test_positions_and_checksums_are_written_anew_and_bodies_stay() -> None:
    bodies = [b"", b"one", bytes(range(256)) * 40]
    log = rewritten(b"".join(event(QUERY, body) for body in bodies))
    assert [body for _, body in events_of(log)] == bodies


def test_checksums_are_added_where_the_source_has_none() -> None:
    log = rewritten(event(QUERY, b"one", checksum=False), source_checksum=0)
    assert [body for _, body in events_of(log)] == [b"one"]


def test_checksums_are_dropped_where_the_output_has_none() -> None:
    log = rewritten(event(QUERY, b"one"), checksum=0)
    assert [body for _, body in events_of(log, checksum=False)] == [b"one"]


def test_a_verbatim_copy_is_byte_by_byte() -> None:
    data = event(QUERY, b"one") + event(ROTATE, b"two") + event(GTID, gtid_body(4, 9))
    assert rewritten(data, verbatim=True, serial=False) == MAGIC + data


def test_a_position_of_zero_stays_where_the_flavour_wants_it() -> None:
    data = event(QUERY, b"one", position=0)
    assert HEADER.unpack_from(rewritten(data, zeros_stay=True), 4)[4] == 0
    assert HEADER.unpack_from(rewritten(data, zeros_stay=False), 4)[4] == 4 + len(data)


def test_a_serial_clock_counts_up_and_leaves_the_rest_of_the_event() -> None:
    data = event(GTID, gtid_body(40, 49)) + event(QUERY, b"x") + event(GTID, gtid_body(3, 55))
    bodies = [body for _, body in events_of(rewritten(data, serial=True))]
    assert bodies == [gtid_body(0, 1), b"x", gtid_body(1, 2)]


def test_a_gtid_event_of_a_server_without_a_clock_stays_as_it_is() -> None:
    body = b"\1" + bytes(range(16)) + struct.pack("<q", 5)
    assert events_of(rewritten(event(GTID, body), serial=True))[0][1] == body


@given(window=st.integers(61, 400), capacity=st.integers(4096, 5000), sizes=st.lists(st.integers(0, 6000)))
def test_windows_and_buffers_of_any_size_give_the_same(window: int, capacity: int, sizes: list[int]) -> None:
    data = b"".join(event(GTID, gtid_body(7, 8)) + event(TABLE_MAP, b"m" * size) for size in sizes)
    for serial in (True, False):
        whole = rewritten(data, serial=serial)
        assert rewritten(data, window=window, capacity=capacity, serial=serial) == whole
    assert rewritten(data, window=window, verbatim=True) == MAGIC + data


def test_events_about_the_source_file_are_pointed_out() -> None:
    rewriter = Rewriter(4096, 4, False, False, True)
    rewriter.begin_source(4, False)
    data = event(QUERY, b"x") + event(ROTATE, b"y")
    assert rewriter.feed(data, 0, len(data), False) == Pause.PAUSE_CONTROL
    assert rewriter.position == len(event(QUERY, b"x"))


def test_a_gtid_event_is_held_where_python_shall_write_it() -> None:
    rewriter = Rewriter(4096, 4, False, False, True)
    rewriter.begin_source(4, False)
    data = event(GTID, gtid_body(1, 2))
    assert rewriter.feed(data, 0, len(data), True) == Pause.PAUSE_GTID
    assert rewriter.position == 0


@pytest.mark.parametrize("verbatim", [False, True])
def test_any_flipped_bit_after_the_header_is_a_checksum_error_at_its_event(verbatim: bool) -> None:
    good = event(QUERY, b"abc") + event(QUERY, b"defgh")
    second = len(event(QUERY, b"abc"))
    for at in range(second + HEADER.size, len(good)):
        bad = bytearray(good)
        bad[at] ^= 1 << at % 8
        with pytest.raises(ChecksumError) as caught:
            rewritten(bytes(bad), verbatim=verbatim)
        assert caught.value.offset == second


def test_without_verification_a_damaged_body_is_copied_with_a_fresh_checksum() -> None:
    bad = bytearray(event(QUERY, b"abc"))
    bad[20] ^= 1
    log = rewritten(bytes(bad), verify=False)
    assert events_of(log)[0][1] == bytes(bad[19:22])


def test_a_source_cut_at_any_byte_is_damaged() -> None:
    data = event(GTID, gtid_body(1, 2)) + event(QUERY, b"abc")
    for size in range(1, len(data)):
        if size != len(event(GTID, gtid_body(1, 2))):
            with pytest.raises(DamagedError):
                rewritten(data[:size], serial=True)


@given(data=st.binary(min_size=1, max_size=300))
def test_any_bytes_are_copied_or_refused(data: bytes) -> None:
    rewriter = Rewriter(4096, 4, False, True, True)
    rewriter.begin_source(4, False)
    with suppress(DamagedError):
        rewriter.feed(data, 0, len(data), False)
    assert rewriter.written == len(rewriter.pending())


def test_measuring_leaves_out_events_about_the_file() -> None:
    data = event(QUERY, b"abc") + event(ROTATE, b"defgh") + event(QUERY, b"")
    assert measure(data, 0, 0, len(data), 4) == (len(data), 2, 2 * HEADER.size + 3)


def test_measuring_stops_where_the_window_does() -> None:
    data = event(QUERY, b"abc") * 2
    assert measure(data[:30], 0, 0, len(data), 4) == (len(data) // 2, 1, HEADER.size + 3)
