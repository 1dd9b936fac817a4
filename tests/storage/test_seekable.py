"""Logs as seekable zstd: what the programs make of them, where frames end, and what reading a part costs."""

from __future__ import annotations

import hashlib
import io
import random
import subprocess
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.source import PlainFile, open_source
from binx.source.compressed import read_seek_table
from binx.storage import seekable
from binx.storage.seekable import write_seekable
from tests.conftest import PROJECT
from tests.log.searching import Bytes

LOG = PROJECT / "testdata/mysql-9.7/shop/mysql-bin.000001"


def ends(file: BinlogFile) -> list[int]:
    return [table.value("end", index) for table in Scan(file) for index in range(len(table))]


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    path = tmp_path / "mysql-bin.000001.zst"
    with BinlogFile.open(str(LOG)) as file, path.open("wb") as output:
        sha256 = write_seekable(file.source, ends(file), output, frame_bytes=20_000)
    assert sha256 == hashlib.sha256(LOG.read_bytes()).hexdigest()
    return path


def test_zstd_restores_the_identical_log(archived: Path) -> None:
    try:
        subprocess.run(["zstd", "-q", "-t", archived], check=True)
        restored = subprocess.run(["zstd", "-q", "-dc", archived], check=True, capture_output=True).stdout
    except FileNotFoundError:
        pytest.skip("zstd is not installed")
    assert restored == LOG.read_bytes()


def test_frames_end_where_transactions_do(archived: Path) -> None:
    table = read_seek_table(PlainFile.open(str(archived)))
    assert table is not None
    edges = list(accumulate(size for _, size in table))
    with BinlogFile.open(str(LOG)) as file:
        assert set(edges) <= {*ends(file), file.size}
    assert len(edges) > 5
    assert all(size >= 20_000 for _, size in table[:-1])


def test_every_frame_has_a_checksum(archived: Path) -> None:
    table = read_seek_table(PlainFile.open(str(archived)))
    assert table is not None
    data = archived.read_bytes()
    starts = [0, *accumulate(compressed for compressed, _ in table)]
    # RFC 8878, section 3.1.1.1.1: bit 2 of the frame header descriptor.
    assert all(data[start + 4] & 4 for start in starts[:-1])


def test_a_transaction_is_read_from_its_frame_alone(archived: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = PlainFile.open(str(archived))
    table = read_seek_table(file)
    assert table is not None
    frame = len(table) // 2
    before = sum(compressed for compressed, _ in table[:frame])
    position = sum(size for _, size in table[:frame])
    source = open_source(str(archived))
    spans: list[tuple[int, int]] = []
    read = PlainFile.window

    def window(self: PlainFile, start: int, stop: int) -> memoryview:
        spans.append((start, stop))
        return read(self, start, stop)

    monkeypatch.setattr(PlainFile, "window", window)
    assert bytes(source.window(position, position + 100)) == LOG.read_bytes()[position : position + 100]
    assert spans
    assert all(before <= start <= stop <= before + table[frame][0] for start, stop in spans)


def test_the_archived_log_gives_the_same_transactions(archived: Path) -> None:
    with BinlogFile.open(str(LOG)) as plain, BinlogFile.open(str(archived)) as file:
        assert (file.name, file.size, file.identity) == (plain.name, plain.size, plain.identity)
        assert ends(file) == ends(plain)


def test_the_same_log_gives_the_same_file(archived: Path) -> None:
    again = io.BytesIO()
    with BinlogFile.open(str(archived)) as file:
        write_seekable(file.source, ends(file), again, frame_bytes=20_000)
    assert again.getvalue() == archived.read_bytes()


@given(
    content=st.binary(max_size=6000),
    cuts=st.sets(st.integers(1, 6000)),
    largest=st.sampled_from([64, 1 << 30]),
)
@settings(max_examples=80, deadline=None)
def test_any_bytes_with_any_cuts_come_back(
    content: bytes, cuts: set[int], largest: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = b"\xfebin" + content
    path = tmp_path_factory.mktemp("seekable") / "log.zst"
    inside = sorted(cut for cut in cuts if cut < len(log))
    with pytest.MonkeyPatch.context() as patch, path.open("wb") as output:
        patch.setattr(seekable, "LARGEST_FRAME", largest)
        write_seekable(Bytes(log), inside, output, frame_bytes=1)
    source = open_source(str(path))
    assert bytes(source.window(0, source.size)) == log
    table = read_seek_table(PlainFile.open(str(path)))
    assert table is not None
    assert set(inside) < {*accumulate(size for _, size in table)}
    assert all(0 < size <= largest for _, size in table)
    source.close()


def test_a_table_with_checksums_is_read_too(tmp_path: Path) -> None:
    data, output, frames = b"\xfebin" + random.Random(5).randbytes(4996), io.BytesIO(), 5
    write_seekable(Bytes(data), range(1000, 5000, 1000), output, frame_bytes=1)
    plain = output.getvalue()
    entries = len(plain) - 9 - 8 * frames
    with_checksums = b"".join(
        plain[at : at + 8] + b"\x01\x02\x03\x04" for at in range(entries, len(plain) - 9, 8)
    )
    footer = frames.to_bytes(4, "little") + b"\x80" + plain[-4:]
    head = plain[entries - 8 : entries - 4] + (len(with_checksums) + 9).to_bytes(4, "little")
    path = tmp_path / "log.zst"
    path.write_bytes(plain[: entries - 8] + head + with_checksums + footer)
    assert len(read_seek_table(PlainFile.open(str(path))) or ()) == frames
    source = open_source(str(path))
    assert bytes(source.window(0, source.size)) == data
