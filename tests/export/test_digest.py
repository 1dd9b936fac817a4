"""The digest of a log is that of its bytes, in whatever pieces it was seen."""

from __future__ import annotations

import hashlib
import os
import weakref
from pathlib import Path

import pytest

from binx.export.digest import LogDigest
from binx.export.workers import Workers
from binx.log.file import BinlogFile
from binx.source import READ_BYTES
from binx.source.plain import PlainFile
from tests.conftest import PROJECT

LOG = PROJECT / "testdata/mysql-9.7/small/all_types.binlog"
DATA = LOG.read_bytes()
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "spans",
    [
        [],
        [(0, len(DATA))],
        [(4, 100), (90, 300), (300, len(DATA))],
        [(2000, 2100), (0, 50), (2050, 2200)],
        [(len(DATA) - 10, len(DATA)), (0, 100)],
    ],
    ids=["nothing", "all", "overlaps", "a step back", "the end first"],
)
def test_it_is_that_of_all_bytes(jobs: int, spans: list[tuple[int, int]]) -> None:
    with BinlogFile.open(str(LOG)) as file, Workers(jobs, 1 << 20) as workers:
        digest = LogDigest(file, workers.lane())
        for start, stop in spans:
            digest.saw(start, memoryview(DATA)[start:stop])
        assert digest.hexdigest() == SHA256


def test_what_was_read_before_it_is_seen_is_taken_once(tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(DATA)
    size, seen = 3 * READ_BYTES + 1000, READ_BYTES + 10
    os.truncate(path, size)
    whole = path.read_bytes()
    with BinlogFile.open(str(path)) as file:
        digest = LogDigest(file, None)
        assert digest.read_on()
        for start in range(0, 2 * seen, seen):
            digest.saw(start, memoryview(whole)[start : start + seen])
        pieces = 0
        while digest.read_on():
            pieces += 1
        assert pieces == 2
        assert digest.hexdigest() == hashlib.sha256(whole).hexdigest()


def test_one_that_is_dropped_reads_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(DATA)
    with BinlogFile.open(str(path)) as file, Workers(1, 1 << 20) as workers:
        read: list[int] = []

        def window(_: PlainFile, start: int, stop: int) -> memoryview:
            read.append(start)
            return memoryview(DATA)[start:stop]

        monkeypatch.setattr(PlainFile, "window", window)
        digest = LogDigest(file, workers.lane())
        digest.drop()
        digest.saw(100, memoryview(DATA)[100:200])
        assert not digest.read_on()
        assert read == []


def test_little_is_held_of_what_is_scanned_before_anything_is_decoded(
    tmp_path: Path,
) -> None:
    """As in a transaction of many gigabytes: windows that were hashed are let go."""
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(DATA)
    size, piece = 128 << 20, 1 << 20
    os.truncate(path, size)
    with BinlogFile.open(str(path)) as file, Workers(2, 1 << 20) as workers:
        digest = LogDigest(file, workers.lane())
        held: list[weakref.ref[Piece]] = []
        most = 0
        for start in range(0, size, piece):
            window = Piece(piece)
            if start == 0:
                window[: len(DATA)] = DATA
            held.append(weakref.ref(window))
            digest.saw(start, memoryview(window))
            del window
            most = max(most, sum(one() is not None for one in held))
        assert digest.hexdigest() == hashlib.sha256(DATA + bytes(size - len(DATA))).hexdigest()
        assert most <= 34


class Piece(bytearray):
    """Memory of which it can be told whether it is still held."""
