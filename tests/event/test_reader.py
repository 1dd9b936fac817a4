"""Reading fields within an event's bounds, and MariaDB's compressed parts, against zlib."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.event.reader import Reader, uncompress


def test_integers_are_little_endian() -> None:
    reader = Reader(bytes.fromhex("01 0200 030000 04000000 050000000000 06000000000000 0700000000000000"))
    values = [
        reader.u8(),
        reader.u16(),
        reader.unsigned(3),
        reader.u32(),
        reader.unsigned(6),
        reader.unsigned(7),
        reader.u64(),
    ]
    assert values == [1, 2, 3, 4, 5, 6, 7]
    assert reader.remaining == 0


def test_signed_integers_are_twos_complement() -> None:
    reader = Reader(b"\xff" * 12)
    assert (reader.i32(), reader.i64()) == (-1, -1)


def test_reading_past_the_end_names_the_place_in_the_file() -> None:
    reader = Reader(b"\x01\x02\x03", origin=1000, event="QUERY")
    reader.u16()
    with pytest.raises(DamagedError, match="offset 1002, QUERY: expected 4 more bytes of the event, found 1"):
        reader.u32()


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(DamagedError):
        Reader(b"abc").take(-1)


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        ("00", 0),
        ("fa", 250),
        ("fcfb00", 251),
        ("fcffff", 65535),
        ("fd000001", 65536),
        ("fe0000000100000000", 2**24),
        ("feffffffffffffffff", 2**64 - 1),
    ],
)
def test_length_encoded_integers_are_those_of_the_client_protocol(encoded: str, value: int) -> None:
    assert Reader(bytes.fromhex(encoded)).packed() == value


@pytest.mark.parametrize("first", [251, 255])
def test_length_encoded_integers_have_no_null(first: int) -> None:
    with pytest.raises(DamagedError, match=f"found the byte {first}"):
        Reader(bytes([first]) + bytes(8)).packed()


def test_a_count_that_cannot_fit_is_refused_before_the_loop() -> None:
    with pytest.raises(DamagedError, match="expected 1000000 rows of at least 2 bytes each, found 10 bytes"):
        Reader(bytes(10)).count(1_000_000, 2, "rows")


def test_bytes_that_are_no_utf8_are_shown_escaped() -> None:
    assert Reader(b"a\xffb").text(3) == r"a\xffb"


@given(st.binary(), st.integers(0, 40))
def test_a_slice_keeps_its_place_in_the_file(data: bytes, count: int) -> None:
    reader = Reader(data, origin=500)
    if count > len(data):
        with pytest.raises(DamagedError):
            reader.slice(count)
        return
    part = reader.slice(count)
    assert part.position == 500
    assert reader.position == 500 + count
    assert bytes(part.rest()) + bytes(reader.rest()) == data


def packed(data: bytes, size: int | None = None, size_bytes: int = 4, head: int = 0x80) -> bytes:
    claimed = len(data) if size is None else size
    return bytes([head | size_bytes]) + claimed.to_bytes(size_bytes, "big") + zlib.compress(data)


@given(st.binary(max_size=300), st.integers(2, 4))
def test_what_zlib_compressed_comes_back(data: bytes, size_bytes: int) -> None:
    assert uncompress(Reader(packed(data, size_bytes=size_bytes))) == data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (packed(b"abc", head=0), "expected the head of a compressed part"),
        (packed(b"abc", head=0x90), r"expected the compression algorithm 0 \(zlib\), found 1"),
        (packed(b"abc", size=4), "expected 4 bytes after decompression, found 3"),
        (packed(b"abc", size=2), "expected 2 bytes after decompression, found 3"),
        (packed(b"abc", size=2**31), "expected at most .* bytes from 11 compressed"),
        (packed(b"abc")[:-5], "after decompression"),
        (packed(b"abc")[:5] + b"junk", "expected a zlib stream"),
        (b"", "expected 1 more bytes"),
    ],
)
def test_what_is_no_such_stream_is_damage(data: bytes, words: str) -> None:
    with pytest.raises(DamagedError, match=words):
        uncompress(Reader(data))


def test_a_bomb_is_not_blown_up() -> None:
    bomb = packed(bytes(10_000_000), size=1000)
    with pytest.raises(DamagedError, match="expected 1000 bytes after decompression, found 1001"):
        uncompress(Reader(bomb))
