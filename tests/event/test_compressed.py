"""MariaDB's compressed parts, against zlib."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.event.reader import Reader, uncompress


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
