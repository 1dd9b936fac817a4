"""A table's trouble is its own: that table stops or spills, the others are loaded."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.cli.run import run
from binx.lake.state.loaded_state import Options
from binx.lake.tasks.history import take_file
from binx.spark import job, load_run
from tests.lake.conftest import Load, files_of
from tests.lake.dataset import Server
from tests.lake.test_history import OTHER, two_tables
from tests.lake.test_ranges import FIELDS, work
from tests.lake.test_state import ORDERS, Rows, insert


def dying(task: Callable[[Any], Any], table: bytes) -> Callable[[Any], Any]:
    """A task that the kernel kills, as when memory is short, where it meets a table."""

    def die(given: Any) -> Any:
        def watched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if any(table in data for data in batch.column("data").to_pylist()):
                    os.kill(os.getpid(), signal.SIGKILL)
                yield batch

        if isinstance(given, Iterator):
            return task(watched(given))
        if table in repr(given).encode():
            os.kill(os.getpid(), signal.SIGKILL)
        return task(given)

    return die


@pytest.mark.parametrize("step", ["take_file", "_merge"])
def test_a_table_whose_task_dies_is_stopped_and_the_others_are_loaded(
    step: str, tmp_path: Path, load: Load, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, lake, out = two_tables(), tmp_path / "in", tmp_path / "out"
    server.create(("shop", "third"), [("id", pa.int32())], ["id"])
    server.transaction(("insert", ("shop", "third"), {"id": 3}))
    server.export_all(lake)
    with monkeypatch.context() as patch:
        patch.setattr(job, step, dying(getattr(job, step), OTHER[1].encode()))
        code, summary = load(lake, out)
    errors = {table["table"]: table["error"] for table in summary["tables"]}
    assert code == 1
    assert {name for name, error in errors.items() if error} == {OTHER[1]}
    assert "a task of Spark failed again and again" in errors[OTHER[1]]
    assert rows(out, ORDERS) == server.rows(ORDERS)
    assert files_of(out, OTHER) == []
    code, summary = load(lake, out)
    assert code == 0, summary
    assert rows(out, OTHER) == server.rows(OTHER)


def test_a_stopped_table_is_said_with_quiet_too(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server, lake = two_tables(), tmp_path / "in"
    server.export_all(lake)

    @contextmanager
    def at_hand(**_: Any) -> Iterator[Any]:
        yield spark

    monkeypatch.setattr(load_run, "local_session", at_hand)
    monkeypatch.setattr(job, "take_file", dying(take_file, OTHER[1].encode()))
    assert run(["load", "--quiet", str(lake), "--output", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{'.'.join(OTHER)}: stopped: a task of Spark failed again and again" in printed.err
    assert "orders" not in printed.err


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_tables_are_the_same_however_few_images_a_task_holds(
    image: str, tmp_path: Path, load: Load, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(image)
    server, lake = Server(image=image), tmp_path / "in"
    server.create(ORDERS, FIELDS, ["shop", "id"])
    for number in range(3):
        work(server, choose, 60)
        server.export(lake, server.logs[-1], per_file=60)
        server.rotate()
        if number == 1:
            fields = [*FIELDS[:3], ("amount", pa.decimal128(20, 0)), ("note", pa.string())]
            server.alter(ORDERS, "ALTER TABLE orders MODIFY amount DECIMAL(20), ADD note TEXT", fields)
    key = ("shop", "id")
    found = []
    for held_bytes in (1, 5_000, 256 << 20):
        small = partial(Options, range_bytes=20_000, small_bytes=0, held_bytes=held_bytes)
        monkeypatch.setattr(load_run, "Options", small)
        out = tmp_path / f"held-{held_bytes}"
        code, summary = load(lake, out, "--scd2")
        assert code == 0, summary
        versions = rows(out, ORDERS, (*key, "valid_from", "valid_to"), "scd2")
        found.append((rows(out, ORDERS, key), versions))
        assert len(versions) > len(server.rows(ORDERS))
    assert found[0] == found[1] == found[2]


def test_a_key_of_many_changes_takes_no_more_memory_with_versions(
    tmp_path: Path, load: Load, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a task holds of Arrow's memory is noted by the task itself."""
    noted = tmp_path / "noted"

    def watched(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        before = pa.total_allocated_bytes()
        most = 0

        def each() -> Iterator[pa.RecordBatch]:
            nonlocal most
            for batch in batches:
                most = max(most, pa.total_allocated_bytes() - before)
                yield batch

        yield from merge(each())
        with noted.open("a") as file:
            print(most, file=file)

    merge = job._merge
    server, lake = Server(), tmp_path / "in"
    server.create(ORDERS, [("id", pa.int32()), ("name", pa.string()), ("amount", pa.int32())], ["id"])
    server.transaction(insert(1, "x" * 1000, 0))
    for number in range(60):
        changes = [("update", ORDERS, (1,), {"amount": number * 100 + one}) for one in range(100)]
        server.transaction(*changes)
    server.export_all(lake)
    monkeypatch.setattr(load_run, "Options", partial(Options, small_bytes=0, held_bytes=1 << 20))
    monkeypatch.setattr(job, "_merge", watched)
    code, summary = load(lake, tmp_path / "out", "--scd2")
    assert code == 0, summary
    assert len(rows(tmp_path / "out", ORDERS, ("valid_from",), "scd2")) == 61
    # The images take 12 MB.
    assert max(map(int, noted.read_text().split())) < 6 << 20
