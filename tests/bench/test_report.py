"""The benchmark's arguments, logs, tables and JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.growth import Point
from bench.growth import render as render_growth
from bench.growth_logs import UUID, write_log
from bench.logs import Log
from bench.measure import Outcome
from bench.process import Reading
from bench.report import Measured, render
from bench.tasks import Task
from binx.cli.run import run
from binx.kernels.transactions.table import FLAG_BY_LENGTH
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from tests.stats.mysqlbinlog import count_listing, count_with_binx, find_reader, print_log

MEBIBYTE = 1 << 20


def readings(*cpu: float) -> list[Reading]:
    return [Reading(seconds * 3 / 4, seconds / 4, seconds * 2, 30 * MEBIBYTE, 0) for seconds in cpu]


LOG = Log("oltp", Path("/logs/mysql-bin.000001"), 1_000_000_000, "MySQL 9.7.0", "u:9", "u:8")

OUTCOMES = [
    Outcome(Task("slow", ("true",)), readings(2.5, 2.0, 4.0)),
    Outcome(
        Task("fast", ("true",), against=("slow", "missing", "absent")),
        readings(0.5, 0.75, 0.625),
        readings(0.15, 0.1),
    ),
    Outcome(Task("missing", ("true",)), reason="not there"),
]

TABLE = """\
oltp: a log
1,234,567 transactions, 8 events
task     CPU s  user s  system s  wall s  start-up  peak MiB  GB/s  CPU of others, as a multiple
slow      2.00    1.50     0.500    4.00                  30  0.50
fast     0.500   0.375     0.125    1.00       20%        30  2.00  slow 4.00
missing  not there
"""


def test_a_table_has_a_line_a_task_with_its_least_times_the_share_of_starting_up_and_ratios() -> None:
    contents = {"transactions": 1_234_567, "events": 8}
    assert render(Measured("oltp: a log", LOG, contents, OUTCOMES)) == TABLE


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
        scan = Scan(file, Level.LEVEL_TABLES)
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


def test_tables_show_milliseconds_a_megabyte_without_the_start_and_the_peak() -> None:
    points = [
        Point("ls", 0, 1, 0.04, 20 * MEBIBYTE),
        Point("ls", 10.0, 10, 0.05, 21 * MEBIBYTE),
        Point("ls", 99.9, 10, 0.09, 30 * MEBIBYTE),
        Point("ls", 99.9, 1000, 0.24, 31 * MEBIBYTE),
    ]
    assert render_growth(points).splitlines() == [
        "| command | start-up, ms | 10 MB | 100 MB |",
        "|---|--:|--:|--:|",
        "| ls | 40 | 1.00, 21 | 0.50, 30 |",
        "",
        "| command | start-up, ms | 10 tables | 1,000 tables |",
        "|---|--:|--:|--:|",
        "| ls | 40 | 0.50, 30 | 2.00, 31 |",
    ]
