"""Figures and listings of damaged logs: what was read before the damage, or an error that can be told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from binx.errors import BinxError
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.stats.gather import figures_json, gather
from tests.conftest import TESTDATA
from tests.log.memory import Bytes

STRIDE = 1 if os.environ.get("BINX_EVERY_BIT") else 311
NAMES = ["tagged_gtids", "no_checksum", "compressed", "statements"]


def damaged(name: str) -> list[bytes]:
    """The log with single bits flipped, and cut."""
    data = (TESTDATA / "mysql-9.7" / "small" / f"{name}.binlog").read_bytes()
    logs = [data[:size] for size in range(0, len(data), STRIDE)]
    for bit in range(0, len(data) * 8, STRIDE):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        logs.append(bytes(flipped))
    return logs


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_a_damaged_log_is_accounted_for(name: str, verify: bool, quick: bool) -> None:
    for data in damaged(name):
        try:
            file = BinlogFile(Bytes(data))
        except BinxError:
            continue
        figures = gather([file], quick=quick, verify=verify)
        (one,) = figures["files"]
        parts = [one[f"{part}_bytes"] for part in ("header", "transaction", "unfinished", "damaged")]
        assert min(parts) >= 0
        assert sum(parts) == one["bytes"] == len(data)
        assert figures_json(figures)


@pytest.mark.parametrize("name", NAMES)
def test_a_listing_ends_with_an_error_that_can_be_told(name: str, tmp_path: Path) -> None:
    for number, data in enumerate(damaged(name)):
        path = tmp_path / f"mysql-bin.{number:06d}"
        path.write_bytes(data)
        try:
            with BinlogFile.open(str(path)) as file:
                spans = [
                    (table.value("start", index), table.value("end", index))
                    for table in file.scan(Level.LEVEL_TABLES)
                    for index in range(len(table))
                ]
        except BinxError:
            continue
        assert all(start < end <= len(data) for start, end in spans)
