"""The compiled CRC32 against zlib's."""

import ctypes
import mmap
import random
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.kernels import crc32

Checksum = Callable[..., int]

BYTES = random.Random(7).randbytes(1 << 20)
each_way = pytest.mark.parametrize("checksum", [crc32.checksum, crc32.checksum_by_tables])


def test_the_checksum_of_the_standard_text_is_the_published_one() -> None:
    assert crc32.checksum(b"123456789") == 0xCBF43926


def test_no_bytes_leave_the_seed_as_it_is() -> None:
    assert crc32.checksum(b"") == 0
    assert crc32.checksum(b"", 0xDEADBEEF) == 0xDEADBEEF


@each_way
def test_every_size_to_300_at_every_alignment_agrees_with_zlib(checksum: Checksum) -> None:
    view = memoryview(BYTES)
    for alignment in range(16):
        for size in range(301):
            part = view[alignment : alignment + size]
            assert checksum(part, size) == zlib.crc32(part, size), (alignment, size)


@each_way
@pytest.mark.parametrize("size", [1 << 12, (1 << 16) - 1, (1 << 20) - 3, 1 << 20])
def test_big_buffers_agree_with_zlib(checksum: Checksum, size: int) -> None:
    part = memoryview(BYTES)[:size]
    assert checksum(part) == zlib.crc32(part)


@each_way
@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_runs_of_one_byte_agree_with_zlib(checksum: Checksum, byte: bytes) -> None:
    for size in (1, 15, 16, 17, 63, 64, 65, 127, 128, 4097):
        assert checksum(byte * size) == zlib.crc32(byte * size)


@each_way
@given(data=st.binary(max_size=2000), seed=st.integers(0, 2**32 - 1))
def test_any_bytes_after_any_seed_agree_with_zlib(checksum: Checksum, data: bytes, seed: int) -> None:
    assert checksum(data, seed) == zlib.crc32(data, seed)


@each_way
@given(data=st.binary(max_size=600), cut=st.integers(0, 600))
def test_continuing_from_a_part_gives_the_sum_of_the_whole(checksum: Checksum, data: bytes, cut: int) -> None:
    part = checksum(data[:cut])
    assert checksum(data[cut:], part) == zlib.crc32(data)


@each_way
def test_nothing_around_the_data_is_read(checksum: Checksum) -> None:
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    memory[page : 2 * page] = BYTES[:page]
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for forbidden in (address, address + 2 * page):
        assert libc.mprotect(ctypes.c_void_p(forbidden), ctypes.c_size_t(page), 0) == 0
    view = memoryview(memory)
    for size in (*range(1, 200), 511, 512, 513, page):
        for part in (view[page : page + size], view[2 * page - size : 2 * page]):
            assert checksum(part, size) == zlib.crc32(part, size), size


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_of_bytes_is_taken(kind: type) -> None:
    assert crc32.checksum(kind(b"binlog")) == zlib.crc32(b"binlog")
