"""Compressed logs are read as what they hold; damaged ones are refused with their place."""

from __future__ import annotations

import gzip
import io
import random
import struct
import subprocess
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binx.errors import BinxError, DamagedError, NotABinlogError, SourceError, TruncatedError
from binx.source import open_source, opening, spool
from binx.source.base import CHUNK_BYTES, Source

MAGIC = b"\xfebin"
LOG = MAGIC + random.Random(7).randbytes(3 * CHUNK_BYTES // 2) + bytes(6 * CHUNK_BYTES) + b"end"


def one_frame(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def without_size(data: bytes) -> bytes:
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return stream.compress(data) + stream.flush()


def halves(compress: Callable[[bytes], bytes], data: bytes) -> bytes:
    middle = len(data) // 3
    return compress(data[:middle]) + compress(data[middle:])


SKIPPABLE = b"\x50\x2a\x4d\x18\x03\0\0\0abc"

FORMS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": one_frame,
    "zstd without its size": without_size,
    "zstd of two frames": lambda data: halves(one_frame, data),
    "zstd of frames without their size": lambda data: halves(without_size, data),
    "zstd with frames to skip": lambda data: SKIPPABLE + one_frame(data) + SKIPPABLE,
    "zstd with an empty frame": lambda data: one_frame(b"") + one_frame(data) + one_frame(b""),
    "gzip": gzip.compress,
    "gzip of two members": lambda data: halves(gzip.compress, data),
    "gzip with an empty member": lambda data: gzip.compress(b"") + gzip.compress(data),
    "gzip padded with zeros": lambda data: gzip.compress(data) + bytes(50),
}


def opened(data: bytes, folder: Path, name: str = "mysql-bin.000007.zst") -> Source:
    (folder / name).write_bytes(data)
    return open_source(str(folder / name))


@pytest.fixture(params=FORMS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return opened(FORMS[request.param](LOG), tmp_path)


def test_any_span_in_any_order_is_that_of_the_log(source: Source) -> None:
    assert source.size == len(LOG)
    numbers = random.Random(3)
    assert bytes(source.window(len(LOG) - 3, len(LOG) + 5)) == b"end"
    for _ in range(40):
        start = numbers.randrange(len(LOG))
        stop = start + numbers.choice([1, 19, 1000, CHUNK_BYTES, 2 * CHUNK_BYTES + 5])
        assert bytes(source.window(start, stop)) == LOG[start:stop]
    assert source.window(0, 4).readonly
    assert bytes(source.window(len(LOG), len(LOG) + 1)) == b""


@pytest.mark.parametrize("suffix", [".zst", ".gz", ""])
def test_the_log_s_name_is_without_the_suffix(tmp_path: Path, suffix: str) -> None:
    source = opened(one_frame(LOG), tmp_path, "mysql-bin.000007" + suffix)
    assert source.name == "mysql-bin.000007"
    assert source.path == str(tmp_path / ("mysql-bin.000007" + suffix))


def test_a_plain_log_keeps_its_name_whatever_it_is(tmp_path: Path) -> None:
    (tmp_path / "mysql-bin.000007.zst").write_bytes(LOG)
    assert open_source(str(tmp_path / "mysql-bin.000007.zst")).name == "mysql-bin.000007.zst"


def test_compressed_standard_input_is_decompressed(tmp_path: Path) -> None:
    source = opening.decompressed(spool(io.BytesIO(gzip.compress(LOG))))
    assert (source.path, source.name, source.size) == ("-", "stdin", len(LOG))
    assert bytes(source.window(0, source.size)) == LOG


@pytest.mark.parametrize("form", FORMS)
def test_something_else_inside_is_no_binary_log(form: str, tmp_path: Path) -> None:
    for content in (b"", b"\xfe", b"SELECT 1;" * 1000, gzip.compress(LOG)):
        with pytest.raises(NotABinlogError, match=r"inside the (zstd|gzip) file"):
            opened(FORMS[form](content), tmp_path)


def whole(data: bytes, folder: Path) -> bytes:
    source = opened(data, folder)
    return bytes(source.window(0, source.size))


def outcome(data: bytes, folder: Path) -> tuple[bytes, BinxError | None]:
    try:
        return whole(data, folder), None
    except BinxError as error:
        return b"", error


SHORT = MAGIC + random.Random(1).randbytes(300) + bytes(200)


@pytest.mark.parametrize("form", FORMS)
def test_cut_anywhere_it_is_refused_with_its_place(form: str, tmp_path: Path) -> None:
    data = FORMS[form](SHORT)
    for size in range(4, len(data)):
        read, error = outcome(data[:size], tmp_path)
        if error is None:
            # Whole frames or members, or padding, are a whole file.
            assert SHORT.startswith(read)
            assert form not in ("zstd", "gzip", "zstd without its size")
        else:
            assert error.path is not None
            assert error.offset is not None


@pytest.mark.parametrize("form", ["zstd", "zstd of frames without their size", "gzip"])
def test_a_flipped_bit_anywhere_gives_an_error_or_the_right_bytes(form: str, tmp_path: Path) -> None:
    data = FORMS[form](SHORT)
    refused = 0
    for at in range(4, len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        try:
            assert whole(bytes(flipped), tmp_path) == SHORT
        except BinxError:
            refused += 1
    assert refused > len(data) * 9 // 10


def test_damage_names_the_frame_it_is_in(tmp_path: Path) -> None:
    first, second = one_frame(LOG[:1000]), one_frame(LOG[1000:3000])
    damaged = bytearray(first + second)
    damaged[len(first) + 500] ^= 1
    source = opened(bytes(damaged), tmp_path)
    assert bytes(source.window(0, 1000)) == LOG[:1000]
    with pytest.raises(DamagedError, match="zstd frame") as caught:
        source.window(1000, 1001)
    assert caught.value.offset == len(first)
    assert bytes(source.window(5, 10)) == LOG[5:10]


def seek_table(*sizes: tuple[int, int]) -> bytes:
    entries = b"".join(struct.pack("<II", *size) for size in sizes)
    footer = struct.pack("<IBI", len(sizes), 0, 0x8F92EAB1)
    return struct.pack("<II", 0x184D2A5E, len(entries) + len(footer)) + entries + footer


@pytest.mark.parametrize("wrong", [-1, 1, 2**31])
def test_a_frame_that_holds_another_number_of_bytes_than_the_table_says_is_damaged(
    wrong: int, tmp_path: Path
) -> None:
    first, second = one_frame(SHORT), one_frame(SHORT)
    table = seek_table((len(first), len(SHORT)), (len(second), len(SHORT) + wrong))
    source = opened(first + second + table, tmp_path)
    assert source.size == 2 * len(SHORT) + wrong
    assert bytes(source.window(0, len(SHORT))) == SHORT
    with pytest.raises(DamagedError, match="bytes from this frame") as caught:
        source.window(len(SHORT), source.size)
    assert caught.value.offset == len(first)


def test_a_table_that_does_not_fit_its_file_is_not_believed(tmp_path: Path) -> None:
    frame = one_frame(SHORT)
    source = opened(frame + frame + seek_table((len(frame), len(SHORT))), tmp_path)
    assert bytes(source.window(0, source.size)) == SHORT + SHORT


@pytest.mark.parametrize("form", ["zstd", "zstd without its size", "gzip"])
def test_a_bomb_is_read_in_bounded_memory(form: str, tmp_path: Path) -> None:
    log = MAGIC + bytes(150 * 1024 * 1024)
    data = FORMS[form](log)
    del log
    assert len(data) < 200_000
    tracemalloc.start()
    source = opened(data, tmp_path)
    for start in range(0, source.size, CHUNK_BYTES):
        source.window(start, start + CHUNK_BYTES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.size == 150 * 1024 * 1024 + 4
    assert peak < 100 * 1024 * 1024
    source.close()


def test_a_frame_that_needs_much_memory_is_refused_with_a_way_out(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=29, write_content_size=0)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    with pytest.raises(SourceError, match="--long=31"):
        opened(stream.compress(LOG) + stream.flush(), tmp_path)


@example(cuts=[1, 2, 3], spans=[(0, 4)])
@given(
    cuts=st.lists(st.integers(0, 2000), max_size=8),
    spans=st.lists(st.tuples(st.integers(0, 2100), st.integers(0, 2100)), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_frames_of_any_sizes_give_the_log(
    cuts: list[int], spans: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = LOG[:2000]
    edges = [0, *sorted(cuts), len(log)]
    parts = [log[first:last] for first, last in pairwise(edges)]
    source = opened(b"".join(map(one_frame, parts)), tmp_path_factory.mktemp("frames"))
    for start, stop in spans:
        assert bytes(source.window(start, stop)) == log[start:stop]
    source.close()


def test_what_the_programs_write_is_read(tmp_path: Path) -> None:
    (tmp_path / "mysql-bin.000007").write_bytes(LOG)
    for command in (["zstd", "-q", "-19"], ["zstd", "-q", "--no-check"], ["gzip", "-k", "-f"]):
        try:
            subprocess.run([*command, "-f", "mysql-bin.000007"], cwd=tmp_path, check=True)
        except FileNotFoundError:
            pytest.skip(f"{command[0]} is not installed")
        suffix = ".gz" if command[0] == "gzip" else ".zst"
        source = open_source(str(tmp_path / f"mysql-bin.000007{suffix}"))
        assert bytes(source.window(0, source.size)) == LOG


def test_a_cut_file_is_told_apart_from_a_damaged_one(tmp_path: Path) -> None:
    for form in ("zstd", "gzip"):
        with pytest.raises(TruncatedError, match="was truncated"):
            whole(FORMS[form](SHORT)[:-6], tmp_path)
