"""The tasks, how they are run in turns, and pyarrow's writer among them."""

from __future__ import annotations

import json
import sys
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
from bench.process import Reading, run_measured
from bench.pyarrow_writer import main, writer_settings
from bench.recipes import RECIPES
from bench.tasks import (
    BINX,
    EXTRACT_INDEXED,
    INDEX,
    PROJECT,
    PYARROW,
    PYTHON_PROGRAM,
    READER_GTID,
    READER_ROWS,
    TASK_NAMES,
    TO_PARQUET,
    Task,
    log_tasks,
    select_tasks,
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
        for kind in ("oltp", "mariadb")
    }
    assert "--include-gtids=0-1-9" in commands["oltp"]
    assert {"--start-position=0-1-8", "--stop-position=0-1-9"} <= set(commands["mariadb"])


def test_a_named_task_brings_what_it_needs_and_is_compared_with(installation: Programs) -> None:
    tasks = log_tasks(log_of("bulk"), installation)
    chosen = {task.name for task in select_tasks(tasks, [PYARROW, "no such"])}
    assert {PYARROW, TO_PARQUET, READER_ROWS} <= chosen
    assert not {INDEX, EXTRACT_INDEXED} & chosen


def test_tasks_take_turns(tmp_path: Path) -> None:
    order: list[str] = []

    def run(task: Task, work: Path, needed: Path | None) -> Reading:
        order.append(task.name)
        return Reading(1.0, 1.0, 1, 0)

    measure([Task("a", ("x",)), Task("b", ("y",))], 3, tmp_path, run)
    assert order == ["a", "b"] * 3


def test_what_binx_does_not_know_is_not_there_and_neither_is_what_needs_it(tmp_path: Path) -> None:
    def run(task: Task, work: Path, needed: Path | None) -> Reading:
        return Reading(1.0, 1.0, 1, 2, "No such command")

    tasks = [Task("a", (*BINX, "new")), Task("b", ("y",), needs="a"), Task("c", ("false",))]
    first, second, third = measure(tasks, 2, tmp_path, run)
    assert first.reason == second.reason == "not there"
    assert third.reason == "failed with status 2: No such command"
    assert not any(outcome.readings for outcome in (first, second, third))


def test_a_task_that_needs_another_reads_its_folder(tmp_path: Path) -> None:
    write = (sys.executable, "-c", "open(r'{work}/made', 'w').write('text')")
    read = (sys.executable, "-c", "assert open(r'{needed}/made').read() == 'text'")
    outcomes = measure([Task("write", write), Task("read", read, needs="write")], 2, tmp_path, run_task)
    assert [outcome.reason for outcome in outcomes] == [None, None]
    assert [len(outcome.readings) for outcome in outcomes] == [2, 2]
    assert not list(tmp_path.iterdir())


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


def test_output_goes_to_a_file_and_the_last_words_are_kept(tmp_path: Path) -> None:
    script = "import sys; print('data'); print('one\\ntwo\\n', file=sys.stderr); sys.exit(3)"
    reading = run_measured([sys.executable, "-c", script], output=tmp_path / "out")
    assert (tmp_path / "out").read_text() == "data\n"
    assert (reading.status, reading.message) == (3, "two")
    assert reading.cpu > 0
    assert reading.peak > 0


def test_a_log_gets_the_names_that_a_task_asks_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("bytes")
    for names in ((), ("one", "two")):
        work = tmp_path / "work"
        run_task(Task("look", ("true",), link=log, names=names), work, None)
        assert {path.name: path.read_text() for path in work.iterdir()} == dict.fromkeys(
            names or ("log",), "bytes"
        )


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
    assert told["cpu"] > 0
    with pq.ParquetFile(next(target.iterdir())) as written:
        assert written.read().equals(TABLE)
        assert written.metadata.num_row_groups == 3
