"""The compiled CRC32 against zlib's."""

import ctypes
import mmap
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.kernels import crc32

BYTES = random.Random(7).randbytes(1 << 20)
each_backend = pytest.mark.parametrize("backend", crc32.backends())


def test_the_checksum_of_the_standard_text_is_the_published_one() -> None:
    assert crc32.checksum(b"123456789") == 0xCBF43926


def test_no_bytes_leave_the_seed_as_it_is() -> None:
    assert crc32.checksum(b"") == 0
    assert crc32.checksum(b"", 0xDEADBEEF) == 0xDEADBEEF


def test_the_fastest_backend_is_in_use_and_tables_are_always_there() -> None:
    assert crc32.backend() == crc32.backends()[0]
    assert "tables" in crc32.backends()


def test_an_unknown_backend_is_named_in_the_error() -> None:
    with pytest.raises(ValueError, match="'abacus'"):
        crc32.checksum_by("abacus", b"")


@each_backend
def test_every_size_to_300_at_every_alignment_agrees_with_zlib(backend: str) -> None:
    view = memoryview(BYTES)
    for alignment in range(16):
        for size in range(301):
            part = view[alignment : alignment + size]
            assert crc32.checksum_by(backend, part, size) == zlib.crc32(part, size), (alignment, size)


@each_backend
@pytest.mark.parametrize("size", [1 << 12, (1 << 16) - 1, (1 << 20) - 3, 1 << 20])
def test_big_buffers_agree_with_zlib(backend: str, size: int) -> None:
    part = memoryview(BYTES)[:size]
    assert crc32.checksum_by(backend, part) == zlib.crc32(part)


@each_backend
@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_runs_of_one_byte_agree_with_zlib(backend: str, byte: bytes) -> None:
    for size in (1, 15, 16, 17, 63, 64, 65, 127, 128, 4097):
        assert crc32.checksum_by(backend, byte * size) == zlib.crc32(byte * size)


@each_backend
@given(data=st.binary(max_size=2000), seed=st.integers(0, 2**32 - 1))
def test_any_bytes_after_any_seed_agree_with_zlib(backend: str, data: bytes, seed: int) -> None:
    assert crc32.checksum_by(backend, data, seed) == zlib.crc32(data, seed)


@each_backend
@given(data=st.binary(max_size=600), cut=st.integers(0, 600))
def test_continuing_from_a_part_gives_the_sum_of_the_whole(backend: str, data: bytes, cut: int) -> None:
    part = crc32.checksum_by(backend, data[:cut])
    assert crc32.checksum_by(backend, data[cut:], part) == zlib.crc32(data)


@each_backend
def test_nothing_around_the_data_is_read(backend: str) -> None:
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
            assert crc32.checksum_by(backend, part, size) == zlib.crc32(part, size), size


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_of_bytes_is_taken(kind: type) -> None:
    assert crc32.checksum(kind(b"binlog")) == zlib.crc32(b"binlog")
