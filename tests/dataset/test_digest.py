"""The digest of a log is that of its bytes, in whatever pieces it was seen."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from binx.dataset.log_export import LogDigest
from binx.log.file import BinlogFile
from binx.source import READ_BYTES
from tests.conftest import PROJECT

LOG = PROJECT / "testdata/mysql-9.7/small/all_types.binlog"
DATA = LOG.read_bytes()
SHA256 = hashlib.sha256(DATA).hexdigest()


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
def test_it_is_that_of_all_bytes(spans: list[tuple[int, int]]) -> None:
    with BinlogFile.open(str(LOG)) as file:
        digest = LogDigest(file)
        for start, stop in spans:
            digest.saw(start, memoryview(DATA)[start:stop])
        assert digest.hexdigest() == SHA256


def test_what_was_not_seen_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(DATA)
    os.truncate(path, 3 * READ_BYTES + 1000)
    whole = path.read_bytes()
    with BinlogFile.open(str(path)) as file:
        digest = LogDigest(file)
        digest.saw(READ_BYTES, memoryview(whole)[READ_BYTES : READ_BYTES + 10])
        assert digest.hexdigest() == hashlib.sha256(whole).hexdigest()
