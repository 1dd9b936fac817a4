"""The flags of rows events, by the events' places and through any windows."""

from __future__ import annotations

import struct
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.kernels.copy.rows_events import rows_flags

POST_HEADER = bytes(10 if number >= 30 else 6 if number < 26 else 8 for number in range(1, 40))
ROWS_V0, ROWS_V2, PAYLOAD = 20, 30, 40


def event(number: int, flags: int) -> bytes:
    """A rows event, whose table id has four bytes in the oldest layout; or one with no flags there."""
    width = 4 if number == ROWS_V0 else 6
    body = b"\xff" * width + struct.pack("<H", flags) + bytes(20)
    return struct.pack("<IBIIIH", 0, number, 1, 19 + len(body), 0, 0) + body


EVENTS = st.lists(st.tuples(st.sampled_from([ROWS_V0, ROWS_V2, PAYLOAD]), st.integers(0, 0xFFFF)), min_size=1)


@given(EVENTS, st.integers(27, 200))
def test_each_event_has_the_flags_that_stand_in_it(events: list[tuple[int, int]], size: int) -> None:
    data, places = b"", array("q")
    for number, flags in events:
        places.append(1_000 + len(data))
        data += event(number, flags)
    found, done = bytearray(b"\xee" * len(events)), 0
    while done < len(events):
        at = places[done] - 1_000
        before, done = done, rows_flags(data[at : at + size], places[done], places, done, POST_HEADER, found)
        assert done > before
    assert list(found) == [flags & 0xFF if number != PAYLOAD else 0 for number, flags in events]


@pytest.mark.parametrize("place", [-(2**63), -1, 0, 999, 1_021, 2**62, 2**63 - 1])
def test_a_place_that_the_window_does_not_show_is_left(place: int) -> None:
    flags = bytearray(b"\xee")
    assert rows_flags(event(ROWS_V2, 1), 1_000, array("q", [place]), 0, POST_HEADER, flags) == 0
    assert flags == b"\xee"
    assert rows_flags(b"", 1_000, array("q", [1_000]), 0, POST_HEADER, flags) == 0
