"""The benchmark's arguments, logs, tables and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.arguments import parse_arguments
from bench.growth import Point
from bench.growth import render as render_growth
from bench.growth_logs import UUID, write_log
from bench.logs import Log, cache_key, find_log, need_log
from bench.measure import Outcome
from bench.process import Reading
from bench.recipes import RECIPES
from bench.report import Measured, ratios, render, to_json
from bench.tasks import LS, TO_PARQUET, Task
from binx.cli.run import run
from binx.kernels.transactions.table import FLAG_BY_LENGTH
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from tests.stats.mysqlbinlog import count_listing, count_with_binx, find_reader, print_log

MEBIBYTE = 1 << 20


def outcome(name: str, *cpu: float, against: tuple[str, ...] = (), reason: str | None = None) -> Outcome:
    readings = [Reading(seconds, seconds * 2, 30 * MEBIBYTE, 0) for seconds in cpu]
    return Outcome(Task(name, ("true",), against=against), readings, reason)


LOG = Log("oltp", Path("/logs/mysql-bin.000001"), 1_000_000_000, "MySQL 9.7.0", "u:9", "u:8")

OUTCOMES = [
    outcome("slow", 2.5, 2.0, 4.0),
    outcome("fast", 0.5, 0.75, 0.625, against=("slow", "missing", "absent")),
    outcome("missing", reason="not there"),
]

TABLE = """\
oltp: a log
1,234,567 transactions, 8 events
task     CPU s  median  wall s  peak MiB  GB/s  CPU of others, as a multiple
slow      2.00    2.50    4.00        30  0.50
fast     0.500   0.625    1.00        30  2.00  slow 4.00
missing  not there
"""


def test_a_table_has_a_line_a_task_with_least_and_median_and_ratios_of_the_least() -> None:
    contents = {"transactions": 1_234_567, "events": 8}
    assert render(Measured("oltp: a log", LOG, contents, OUTCOMES)) == TABLE


def test_a_task_on_two_logs_is_compared_by_wall_time_and_has_read_both() -> None:
    two = outcome("two jobs", 1.0)
    two.task = replace(two.task, wall_against=("slow",), names=("one", "two"))
    assert ratios(two, [*OUTCOMES, two]) == {"wall of slow": 2.0}
    assert render(Measured("title", LOG, {}, [two])).splitlines()[-1].split() == [
        *("two", "jobs"),
        *("1.00", "1.00", "2.00", "30", "2.00"),
    ]


def test_the_json_has_every_reading() -> None:
    document = json.loads(json.dumps(to_json({"cores": "2"}, [Measured("t", LOG, {}, OUTCOMES)])))
    log = document["logs"][0]
    assert log["log"]["path"] == "/logs/mysql-bin.000001"
    assert [reading["cpu"] for reading in log["tasks"][0]["readings"]] == [2.5, 2.0, 4.0]
    assert log["tasks"][1]["ratios"] == {"slow": 4.0}
    assert log["tasks"][2]["reason"] == "not there"


def test_only_takes_kinds_of_logs_and_tasks_side_by_side() -> None:
    given = parse_arguments(["--only", "bulk", TO_PARQUET, "oltp", LS])
    assert given.kinds == ("oltp", "bulk")
    assert set(given.tasks) == {LS, TO_PARQUET}


def test_size_folder_and_output_are_taken() -> None:
    given = parse_arguments(["--size", "200", "--rounds", "5", "--keep", "/tmp/logs", "--json", "out.json"])
    assert (given.size, given.rounds) == (200, 5)
    assert (given.keep, given.json) == (Path("/tmp/logs"), Path("out.json"))


@pytest.mark.parametrize(
    "words",
    [
        ["--size", "0"],
        ["--size", "1001"],
        ["--size", "1.5"],
        ["--size", "-1"],
        ["--rounds", "0"],
        ["--only", "nothing-like-that"],
        ["--only"],
        ["file"],
    ],
)
def test_what_makes_no_sense_ends_with_the_status_of_usage_errors(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(words)
    assert ended.value.code == 2
    assert "usage: python -m bench" in capsys.readouterr().err


def test_a_name_that_is_neither_kind_nor_task_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--only", "oltp", "bluk"])
    assert capsys.readouterr().err.rstrip().endswith("neither a kind of log nor a task: bluk")


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


def test_tables_tell_milliseconds_a_megabyte_without_the_start_and_the_peak() -> None:
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


GTID = "00000000-0000-0000-0000-000000000001:9"
GTID_BEFORE = "00000000-0000-0000-0000-000000000001:8"


def keep(folder: Path, key: str) -> Log:
    """Put a log into the cache, and say what should be found."""
    (folder / key).mkdir()
    path = folder / key / "mysql-bin.000001"
    path.write_bytes(b"\xfebin")
    facts = {"kind": "oltp", "path": path.name, "bytes": 4, "server": "MySQL 9.7.0"}
    facts |= {"gtid": GTID, "gtid_before": GTID_BEFORE}
    (folder / key / "log.json").write_text(json.dumps(facts), "utf-8")
    return Log("oltp", path, 4, "MySQL 9.7.0", GTID, GTID_BEFORE)


def test_the_key_names_kind_size_and_recipe_version() -> None:
    assert cache_key(replace(RECIPES["oltp"], version=7), 50) == "oltp-50MB-v7"


def test_a_log_that_was_kept_is_found_with_its_path(tmp_path: Path) -> None:
    kept = keep(tmp_path, cache_key(RECIPES["oltp"], 50))
    assert find_log(RECIPES["oltp"], 50, tmp_path) == kept


def test_a_log_that_is_there_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    kept = keep(tmp_path, cache_key(RECIPES["oltp"], 50))
    assert need_log("oltp", 50, tmp_path) == kept


def test_a_folder_without_facts_is_a_log_that_was_not_finished(tmp_path: Path) -> None:
    kept = keep(tmp_path, cache_key(RECIPES["oltp"], 50))
    (kept.path.parent / "log.json").unlink()
    assert find_log(RECIPES["oltp"], 50, tmp_path) is None
