"""The tasks, how they are run in turns, and pyarrow's writer among them."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.installed import install
from bench.logs import Log
from bench.measure import measure, run_task
from bench.process import Reading
from bench.pyarrow_writer import main, writer_settings
from bench.recipes import RECIPES
from bench.tasks import (
    BINX,
    PROJECT,
    PYTHON_PROGRAM,
    READER_GTID,
    TASK_NAMES,
    Task,
    log_tasks,
    start_tasks,
)
from testdata.programs import Programs


@pytest.fixture
def installation(tmp_path: Path) -> Programs:
    """A folder that has readers of binary logs."""
    folder = tmp_path / "usr" / "bin"
    folder.mkdir(parents=True)
    for name in ("mysqlbinlog", "mariadb-binlog"):
        (folder / name).touch(0o755)
    return Programs(tmp_path, "1.2.3")


def log_of(kind: str) -> Log:
    return Log(kind, Path("/logs/mysql-bin.000001"), 100, "a server", "0-1-9", "0-1-8")


@pytest.mark.parametrize("kind", RECIPES)
def test_every_kind_of_log_has_all_tasks_by_their_listed_names(kind: str, installation: Programs) -> None:
    names = [task.name for task in (*start_tasks(), *log_tasks(log_of(kind), installation))]
    assert sorted(names) == sorted(TASK_NAMES)


@pytest.mark.parametrize("kind", RECIPES)
def test_tasks_are_compared_with_tasks_that_there_are_and_come_after_what_they_need(
    kind: str, installation: Programs
) -> None:
    before: set[str] = set()
    tasks = log_tasks(log_of(kind), installation)
    for task in tasks:
        assert set(task.against) <= {other.name for other in tasks}
        assert task.needs is None or task.needs in before
        before.add(task.name)


def test_one_transaction_is_asked_for_as_each_reader_takes_it(installation: Programs) -> None:
    commands = {
        kind: next(task for task in log_tasks(log_of(kind), installation) if task.name == READER_GTID).command
        for kind in ("sysbench", "sysbench-mariadb")
    }
    assert "--include-gtids=0-1-9" in commands["sysbench"]
    assert {"--start-position=0-1-8", "--stop-position=0-1-9"} <= set(commands["sysbench-mariadb"])


@pytest.mark.sweep
@pytest.mark.parametrize("kind", RECIPES)
def test_what_starting_up_takes_is_the_same_command_on_a_small_log_of_the_kind(
    kind: str, installation: Programs, tmp_path: Path
) -> None:
    log = log_of(kind)
    for task in log_tasks(log, installation):
        if task.command[:1] != BINX or task.needs is not None:
            assert task.start is None
            continue
        assert task.start is not None
        words = zip(task.command, task.start.command, strict=True)
        assert {one for one, other in words if one != other} <= {
            str(log.path),
            log.gtid,
            f"{{work}}/{log.path.name}",
        }
        assert run_task(task.start, tmp_path / "work", None).status == 0


def test_what_binx_does_not_know_is_not_there_and_neither_is_what_needs_it(tmp_path: Path) -> None:
    def run(task: Task, work: Path, needed: Path | None) -> Reading:
        return Reading(1.0, 0.5, 1.0, 1, 2, "No such command")

    tasks = [Task("a", (*BINX, "new")), Task("b", ("y",), needs="a"), Task("c", ("false",))]
    first, second, third = measure(tasks, 2, tmp_path, run)
    assert first.reason == second.reason == "not there"
    assert third.reason == "failed with status 2: No such command"
    assert not any(outcome.readings for outcome in (first, second, third))


def test_binx_is_measured_as_it_is_installed(tmp_path: Path) -> None:
    programs = install(tmp_path / "installed", PROJECT / "binx")
    look = "import binx, sys; print(binx.__file__, *(name for name in sys.modules if '__editable__' in name))"
    tasks = [Task("version", (*BINX, "--version")), Task("look", (PYTHON_PROGRAM, "-P", "-c", look))]
    for task in tasks:
        assert run_task(replace(task, output="said"), tmp_path / task.name, None, programs).status == 0
    assert (tmp_path / "version" / "said").read_text().startswith("binx ")
    where = Path((tmp_path / "look" / "said").read_text().strip())
    assert where.is_relative_to(tmp_path / "installed")
    assert where.resolve() == PROJECT / "binx" / "__init__.py"


TABLE = pa.table(
    {
        "id": list(range(1000)),
        "text": ["a", "b"] * 500,
        "twice": [1.5, 2.5] * 500,
        "price": [Decimal("0.50"), Decimal("1.00")] * 500,
    }
)


@pytest.mark.parametrize(
    "settings",
    [
        {"compression": "zstd", "use_dictionary": ["text"], "column_encoding": {"id": "DELTA_BINARY_PACKED"}},
        {"compression": "snappy", "use_dictionary": True},
        {"compression": "zstd", "write_statistics": ["id"], "store_decimal_as_integer": True},
        {"compression": "none", "use_dictionary": False, "write_statistics": False},
        {"compression": "zstd", "use_dictionary": ["id"], "column_encoding": {"twice": "BYTE_STREAM_SPLIT"}},
    ],
)
def test_settings_taken_from_a_file_encode_columns_as_there(tmp_path: Path, settings: dict[str, Any]) -> None:
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    pq.write_table(TABLE, first, **settings)
    pq.write_table(TABLE, second, **writer_settings(pq.read_metadata(first), 1))
    columns = [pq.read_metadata(path).row_group(0).to_dict()["columns"] for path in (first, second)]
    for one, other in zip(*columns, strict=True):
        assert one["encodings"] == other["encodings"]
        assert one["physical_type"] == other["physical_type"]
        assert one["compression"] == other["compression"]
        assert one["is_stats_set"] == other["is_stats_set"]


def test_all_tables_of_a_data_set_are_written_and_timed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset, target = tmp_path / "dataset", tmp_path / "target"
    for folder in (dataset / "changes" / "shop", dataset / "_manifest", target):
        folder.mkdir(parents=True)
    pq.write_table(TABLE, dataset / "changes" / "shop" / "a.parquet", row_group_size=400)
    (dataset / "_manifest" / "a.json").write_text(json.dumps({"request": {"compression_level": 1}}))
    assert main([str(dataset), str(target)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == TABLE.num_rows
    assert told["user"] + told["system"] > 0
    with pq.ParquetFile(next(target.iterdir())) as written:
        assert written.read().equals(TABLE)
        assert written.metadata.num_row_groups == 3
