"""The measurement of growth: its logs are what a server writes, and its tables say what was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.growth import Point, render
from bench.growth_logs import UUID, write_log
from binx.cli.main import run
from binx.kernels.transactions.table import FLAG_BY_LENGTH
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from tests.stats.mysqlbinlog import count_listing, count_with_binx, find_reader, print_log

MEBIBYTE = 1 << 20
SIZE = 60_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "mysql-bin.000001"
    assert write_log(path, SIZE, 7) == f"{UUID}:56"
    return path


def test_the_log_is_whole_and_of_the_size_asked_for(log: Path) -> None:
    assert run(["verify", "--quiet", str(log)]) == 0
    assert 0.95 * SIZE < log.stat().st_size <= SIZE + 1200


def test_transactions_are_found_by_their_length_and_each_tables_in_turn(log: Path) -> None:
    with BinlogFile.open(str(log)) as file:
        scan = file.scan(Level.LEVEL_TABLES)
        (table,) = scan
        assert all(table.value("flags", index) & FLAG_BY_LENGTH for index in range(len(table)))
        assert [table.gtid(index) for index in (0, 55)] == [f"{UUID}:1", f"{UUID}:56"]
        assert {scan.table_name(number) for number in range(scan.table_count)} == {
            ("shop", f"t{number:05}") for number in range(7)
        }


def test_the_servers_own_reader_finds_the_same_in_it(log: Path, tmp_path: Path) -> None:
    reader = find_reader(log)
    if reader is None:
        pytest.skip("mysqlbinlog is not on this machine")
    text, complaints = print_log(reader, log, tmp_path)
    assert (count_listing(text), complaints) == (count_with_binx(log), "")


def test_tables_tell_milliseconds_a_megabyte_without_the_start_and_the_peak() -> None:
    points = [
        Point("ls", 0, 1, 0.04, 20 * MEBIBYTE),
        Point("ls", 10.0, 10, 0.05, 21 * MEBIBYTE),
        Point("ls", 99.9, 10, 0.09, 30 * MEBIBYTE),
        Point("ls", 99.9, 1000, 0.24, 31 * MEBIBYTE),
    ]
    assert render(points).splitlines() == [
        "| command | start-up, ms | 10 MB | 100 MB |",
        "|---|--:|--:|--:|",
        "| ls | 40 | 1.00, 21 | 0.50, 30 |",
        "",
        "| command | start-up, ms | 10 tables | 1,000 tables |",
        "|---|--:|--:|--:|",
        "| ls | 40 | 0.50, 30 | 2.00, 31 |",
    ]


def test_a_log_that_was_measured_again_counts_as_measured_last() -> None:
    points = [Point("ls", 0, 1, 0.0, 0), Point("ls", 10.0, 10, 9.0, 0), Point("ls", 10.0, 10, 0.01, 0)]
    assert "| ls | 0 | 1.00, 0 |" in render(points)
