"""Compressed transactions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import zstandard

from binx.errors import DamagedError, UnsupportedError
from binx.event import payload as module
from binx.event.header import parse_header
from binx.event.parse import parse_event
from binx.event.payload import Compression, KeptPayloads, TransactionPayload, open_payload
from tests.event import samples
from tests.event.reading import MYSQL, read, split


def payload() -> TransactionPayload:
    found = read(samples.TRANSACTION_PAYLOAD)
    assert isinstance(found, TransactionPayload)
    return found


def test_a_payload_holds_what_mysqlbinlog_prints() -> None:
    found = payload()
    assert found.compression is Compression.ZSTD
    assert found.uncompressed_size == 206
    assert len(found.payload) == 152


def test_the_inner_events_are_those_that_mysqlbinlog_prints() -> None:
    inner = b"".join(open_payload(payload()))
    names, position = [], 0
    while position < len(inner):
        header = parse_header(inner, position)
        names.append(header.name)
        position = header.end
    assert names == ["QUERY", "TABLE_MAP", "WRITE_ROWS", "XID"]


def test_pieces_are_of_a_megabyte_at_most() -> None:
    data = bytes(range(256)) * 10_000
    packed = memoryview(zstandard.compress(data))
    for compression, stored in ((Compression.ZSTD, packed), (Compression.NONE, memoryview(data))):
        large = TransactionPayload(compression, len(data), stored, 4)
        pieces = list(open_payload(large))
        assert max(map(len, pieces)) == 1 << 20
        assert b"".join(pieces) == data


def test_a_payload_may_be_uncompressed() -> None:
    plain = payload()._replace(
        compression=Compression.NONE, uncompressed_size=None, payload=memoryview(b"abcdef")
    )
    assert b"".join(open_payload(plain)) == b"abcdef"


@pytest.mark.parametrize("claimed", [205, 207])
def test_a_payload_of_another_size_is_damage(claimed: int) -> None:
    with pytest.raises(DamagedError, match=f"expected {claimed} bytes after decompression"):
        list(open_payload(payload()._replace(uncompressed_size=claimed)))


def test_a_bomb_is_found_by_its_first_piece_too_many() -> None:
    bomb = memoryview(zstandard.compress(bytes(50_000_000)))
    pieces = open_payload(payload()._replace(payload=bomb, uncompressed_size=1000))
    with pytest.raises(DamagedError, match="expected 1000 bytes after decompression, found 1048576"):
        next(pieces)


def test_a_stream_that_is_none_is_damage() -> None:
    with pytest.raises(DamagedError, match="expected a zstd stream"):
        list(open_payload(payload()._replace(payload=memoryview(b"not zstd at all"))))


def test_a_stream_that_is_cut_is_damage() -> None:
    with pytest.raises(DamagedError):
        list(open_payload(payload()._replace(payload=payload().payload[:-20])))


def test_an_unknown_compression_is_unsupported() -> None:
    header, body = split(samples.TRANSACTION_PAYLOAD)
    changed = bytes(body).replace(bytes.fromhex("020100"), bytes.fromhex("020107"), 1)
    with pytest.raises(UnsupportedError, match="expected the compression 0"):
        parse_event(memoryview(changed), header, MYSQL)


def test_a_payload_shorter_than_it_says_is_damage() -> None:
    header, body = split(samples.TRANSACTION_PAYLOAD)
    with pytest.raises(DamagedError, match="expected a payload of 152 bytes, found 151"):
        parse_event(body[:-1], header, MYSQL)


def event(size: int) -> bytes:
    """Bytes of an event, of which the header has no more than its size."""
    return bytes(9) + size.to_bytes(4, "little") + bytes(size - 13)


def payload_of(position: int, size: int) -> TransactionPayload:
    return TransactionPayload(Compression.NONE, size, memoryview(event(size)), position)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The positions of the payloads that were decompressed."""
    positions: list[int] = []
    whole_events = module.whole_events

    def counted(payload_of: TransactionPayload) -> Iterator[memoryview]:
        positions.append(payload_of.position)
        yield from whole_events(payload_of)

    monkeypatch.setattr(module, "whole_events", counted)
    return positions


def joined(pieces: Iterator[memoryview]) -> bytes:
    return b"".join(pieces)


def test_what_fits_is_decompressed_once_and_what_does_not_twice(opened: list[int]) -> None:
    kept = KeptPayloads(100)
    payloads = [payload_of(1, 60), payload_of(2, 50), payload_of(3, 40)]
    first = [joined(kept.first(one)) for one in payloads]
    again = [joined(kept.again(one)) for one in payloads]
    assert first == again == [event(60), event(50), event(40)]
    assert opened == [1, 2, 3, 2]


def test_what_was_taken_makes_room(opened: list[int]) -> None:
    kept = KeptPayloads(100)
    for position in range(5):
        one = payload_of(position, 100)
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
    assert joined(kept.first(payload_of(1, 100)))
    kept.clear()
    assert joined(kept.first(payload_of(2, 100))) == joined(kept.again(payload_of(2, 100)))
    assert joined(kept.again(payload_of(1, 100)))
    assert opened == [1, 2, 1]


def test_a_payload_that_does_not_tell_its_size_is_not_kept(opened: list[int]) -> None:
    kept = KeptPayloads(100)
    one = TransactionPayload(Compression.NONE, None, memoryview(event(30)), 5)
    assert joined(kept.first(one)) == joined(kept.again(one))
    assert opened == [5, 5]
