"""Payloads that are looked at twice are decompressed once, within a limit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from binx.event import payload as module
from binx.event.payload import Compression, KeptPayloads, TransactionPayload


def event(size: int) -> bytes:
    """Bytes of an event, of which the header has no more than its size."""
    return bytes(9) + size.to_bytes(4, "little") + bytes(size - 13)


def payload(position: int, size: int) -> TransactionPayload:
    return TransactionPayload(Compression.NONE, size, memoryview(event(size)), position)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The positions of the payloads that were decompressed."""
    positions: list[int] = []
    whole_events = module.whole_events

    def counted(payload: TransactionPayload) -> Iterator[memoryview]:
        positions.append(payload.position)
        yield from whole_events(payload)

    monkeypatch.setattr(module, "whole_events", counted)
    return positions


def joined(pieces: Iterator[memoryview]) -> bytes:
    return b"".join(pieces)


def test_what_fits_is_decompressed_once_and_what_does_not_twice(opened: list[int]) -> None:
    kept = KeptPayloads(100)
    payloads = [payload(1, 60), payload(2, 50), payload(3, 40)]
    first = [joined(kept.first(one)) for one in payloads]
    again = [joined(kept.again(one)) for one in payloads]
    assert first == again == [event(60), event(50), event(40)]
    assert opened == [1, 2, 3, 2]


def test_what_was_taken_makes_room(opened: list[int]) -> None:
    kept = KeptPayloads(100)
    for position in range(5):
        one = payload(position, 100)
        assert joined(kept.first(one)) == joined(kept.again(one)) == event(100)
    assert opened == [0, 1, 2, 3, 4]


def test_nothing_is_kept_of_a_payload_that_was_left_in_the_middle(opened: list[int]) -> None:
    kept = KeptPayloads(100)
    one = TransactionPayload(Compression.NONE, 90, memoryview(event(50) + event(40)), 7)
    next(kept.first(one))
    assert joined(kept.again(one)) == event(50) + event(40)
    assert opened == [7, 7]


def test_what_nobody_asked_for_is_let_go(opened: list[int]) -> None:
    kept = KeptPayloads(100)
    assert joined(kept.first(payload(1, 100)))
    kept.clear()
    assert joined(kept.first(payload(2, 100))) == joined(kept.again(payload(2, 100)))
    assert joined(kept.again(payload(1, 100)))
    assert opened == [1, 2, 1]


def test_a_payload_that_does_not_tell_its_size_is_not_kept(opened: list[int]) -> None:
    kept = KeptPayloads(100)
    one = TransactionPayload(Compression.NONE, None, memoryview(event(30)), 5)
    assert joined(kept.first(one)) == joined(kept.again(one))
    assert opened == [5, 5]
