"""The command line of the measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.arguments import DEFAULT_SIZE, parse_arguments
from bench.logs import CACHE
from bench.recipes import RECIPES
from bench.tasks import LS, START, TO_PARQUET


def test_without_arguments_every_log_is_small_and_kept_in_the_cache() -> None:
    given = parse_arguments([])
    assert given.size == DEFAULT_SIZE
    assert given.kinds == (*RECIPES, START)
    assert given.tasks == ()
    assert given.keep == CACHE
    assert given.json is None


def test_only_takes_kinds_of_logs_and_tasks_side_by_side() -> None:
    given = parse_arguments(["--only", "bulk", TO_PARQUET, "oltp", LS])
    assert given.kinds == ("oltp", "bulk")
    assert set(given.tasks) == {LS, TO_PARQUET}


def test_only_tasks_means_all_kinds() -> None:
    assert parse_arguments(["--only", LS]).kinds == (*RECIPES, START)


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
