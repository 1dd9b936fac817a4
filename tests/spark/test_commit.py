"""A load becomes visible as a whole, whatever happens to it; and only one runs at a time."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binx.spark.loading.hadoop import HadoopStorage
from binx.spark.loading.manifests import TableName
from binx.spark.loading.outcome import LoadError
from binx.spark.loading.output import Output
from binx.spark.loading.records import LoadRecord, State, TableState
from binx.spark.loading.storage import LocalStorage
from binx.spark.session import script_path
from tests.spark.conftest import Load
from tests.spark.dataset import Server
from tests.spark.test_history import history, logged
from tests.spark.test_state import ORDERS, Rows, insert, orders

pyspark = pytest.importorskip("pyspark")


class Killed(BaseException):
    """What a kill looks like from inside: nothing that a handler of errors would catch."""


def kill_at(step: int, patch: pytest.MonkeyPatch) -> list[str]:
    """Let the given step that changes the output be the last one; returns the steps as they are taken."""
    steps: list[str] = []

    def counted(name: str, change: Callable[..., None]) -> Callable[..., None]:
        def count(*arguments: Any) -> None:
            if len(steps) == step:
                raise Killed(f"before {name}")
            steps.append(name)
            change(*arguments)

        return count

    for name in ("replace", "move", "remove", "link"):
        patch.setattr(LocalStorage, name, counted(name, getattr(LocalStorage, name)))
    return steps


def two_runs() -> Server:
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"))
    server.rotate()
    server.transaction(("update", ORDERS, (1,), {"name": "x"}), insert(3), ("delete", ORDERS, (2,)))
    return server


def commit(storage: LocalStorage, load: int) -> None:
    """Commit a load whose data are single files, as a run does it once Spark has written them."""
    output = Output(storage)
    table = TableState(TableName("shop", "orders"), "shop/orders")
    former = output.state.tables.get(table.name, table)
    table.snapshots = {"current": [load, *former.snapshots.get("current", [])[:1]]}
    moves = []
    for destination in (table.snapshot("current", load), f"shop/orders/history/load={load}"):
        storage.replace(f"{output.staged(destination)}/part", f"of load {load}".encode())
        moves.append((output.staged(destination), destination))
    state = State(load, [], output.state.chains, [], {table.name: table})
    output.commit(state, LoadRecord(load), moves)


def tree(folder: Path) -> dict[str, str]:
    """All files with their content, also through links."""
    found = {}
    for parent, _, names in os.walk(folder, followlinks=True):
        for name in names:
            path = Path(parent, name)
            found[str(path.relative_to(folder))] = path.read_text()
    return found


def test_a_commit_killed_at_any_step_is_taken_back_or_finished_by_the_next_run(tmp_path: Path) -> None:
    for load in (1, 2, 3):
        commit(LocalStorage(str(tmp_path / "whole")), load)
    whole = tree(tmp_path / "whole")
    assert {path for path in whole if "current" in path} == {
        "shop/orders/_current/v=2/part",
        "shop/orders/_current/v=3/part",
        "shop/orders/current/part",
    }
    finished, step = False, 0
    while not finished:
        storage = LocalStorage(str(tmp_path / f"out{step}"))
        commit(storage, 1)
        commit(storage, 2)
        before = tree(Path(storage.root))
        with pytest.MonkeyPatch.context() as patch:
            kill_at(step, patch)
            try:
                commit(storage, 3)
                finished = True
            except Killed:
                version = json.loads(storage.read("_state.json"))["version"]
                shown = Path(storage.root, "shop/orders/current/part").read_text()
                assert shown == "of load 2" or version == 3
        Output(storage)
        assert tree(Path(storage.root)) == (before if not finished and version == 2 else whole)
        if version == 2:
            commit(storage, 3)
        assert tree(Path(storage.root)) == whole
        step += 1
    assert step > 10


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_data_is_on_the_disk_before_the_state_that_names_it(
    tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A machine that loses its power keeps what was brought to the disk, in whatever order it was written."""
    synchronized: set[int] = set()
    lost: dict[str, list[Path]] = {}
    bring, replace, remove = os.fsync, LocalStorage.replace, LocalStorage.remove

    def noted(descriptor: int) -> None:
        bring(descriptor)
        synchronized.add(os.fstat(descriptor).st_ino)

    def look(storage: LocalStorage, path: str, pattern: str) -> None:
        places = [tmp_path / "out", *Path(storage.root, "shop").rglob(pattern)]
        places += {
            parent for place in places for parent in place.parents if parent.is_relative_to(storage.root)
        }
        lost[path] = [place for place in places if place.stat().st_ino not in synchronized]

    def replaced(storage: LocalStorage, path: str, content: bytes) -> None:
        if path == "_state.json":
            look(storage, path, "*.parquet")
        replace(storage, path, content)

    def removed(storage: LocalStorage, path: str) -> None:
        if path == "_pending.json":
            look(storage, path, "*.json")
        remove(storage, path)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(LocalStorage, "replace", replaced)
    monkeypatch.setattr(LocalStorage, "remove", removed)
    two_runs().export_all(tmp_path / "in")
    assert load(tmp_path / "in", tmp_path / "out", "--format", kind)[0] == 0
    assert list((tmp_path / "out/shop").rglob("*.parquet"))
    assert lost == {"_state.json": [], "_pending.json": []}


@pytest.mark.parametrize("step", [1, 4, 8])
def test_a_load_after_a_killed_one_ends_as_if_nothing_had_happened(
    step: int, tmp_path: Path, load: Load, rows: Rows
) -> None:
    server = two_runs()
    server.export(tmp_path / "in", server.logs[0])
    out = tmp_path / "out"
    load(tmp_path / "in", out)
    server.export_all(tmp_path / "in")
    with pytest.MonkeyPatch.context() as patch:
        kill_at(step, patch)
        with pytest.raises(Killed):
            load(tmp_path / "in", out)
    code, _ = load(tmp_path / "in", out)
    assert code == 0
    assert rows(out, ORDERS) == server.rows(ORDERS)
    assert history(out, "_change_type, _commit_version, _row, name") == logged(server, "name")
    assert {path.name for path in out.iterdir()} == {"_state.json", "_loads", "_lock", "shop"}


def test_a_second_run_at_the_same_time_is_refused(tmp_path: Path, load: Load) -> None:
    server = two_runs()
    server.export_all(tmp_path / "in")
    with LocalStorage(str(tmp_path / "out")).lock("_lock", broken=False):
        code, answer = load(tmp_path / "in", tmp_path / "out")
    assert code == 1
    assert f'"process": {os.getpid()}' in answer["error"]
    assert load(tmp_path / "in", tmp_path / "out")[0] == 0


def test_a_folder_without_locks_is_told_and_no_other_load_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(LoadError, match="cannot be locked: No locks available"),
        LocalStorage(str(tmp_path)).lock("_lock", broken=False),
    ):
        pytest.fail("the lock is held")


def test_a_dead_process_holds_no_lock(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from binx.spark.loading.storage import LocalStorage\n"
        "with LocalStorage(sys.argv[1]).lock('_lock', broken=False):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with LocalStorage(str(tmp_path)).lock("_lock", broken=False):
        pass


def test_addresses_of_hadoop_work_as_paths_do(tmp_path: Path, load: Load, rows: Rows, spark: Any) -> None:
    server = two_runs()
    server.export(tmp_path / "in", server.logs[0])
    out = (tmp_path / "out").as_uri()
    code, _ = load([(tmp_path / "in").as_uri()], out, "--verify")
    assert code == 0
    server.export_all(tmp_path / "in")
    with HadoopStorage(out, spark).lock("_lock", broken=False):
        code, answer = load([(tmp_path / "in").as_uri()], out)
        assert (code, "--break-lock" in answer["error"]) == (1, True)
        code, _ = load([(tmp_path / "in").as_uri()], out, "--break-lock")
        assert code == 0
    state = json.loads((tmp_path / "out/_state.json").read_text())
    assert state["version"] == 2
    [table] = state["tables"]
    found = spark.read.parquet(f"{out}/{table['paths']['current']}")
    assert sorted(row["id"] for row in found.collect()) == [1, 3]


@pytest.mark.parametrize("name", ["_state.json", "_pending.json", "_loads/1.json"])
@pytest.mark.parametrize("content", ["[", "[]", '{"contract": 4, "load": {}}'])
def test_what_no_load_wrote_is_refused(tmp_path: Path, load: Load, name: str, content: str) -> None:
    server = two_runs()
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", tmp_path / "out")
    (tmp_path / "out" / name).write_text(content)
    code, answer = load(tmp_path / "in", tmp_path / "out")
    assert (code, f"{tmp_path}/out/{name} cannot be read" in answer["error"]) == (1, True)


def test_a_full_disk_is_told_and_nothing_is_changed(tmp_path: Path, load: Load) -> None:
    server = two_runs()
    server.export(tmp_path / "in", server.logs[0])
    load(tmp_path / "in", tmp_path / "out")
    server.export_all(tmp_path / "in")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStorage, "replace", refuse)
        code, answer = load(tmp_path / "in", tmp_path / "out")
    told = [words in answer["error"] for words in ("nothing was changed", "No space left on device")]
    assert (code, told) == (1, [True, True])
    assert json.loads((tmp_path / "out/_state.json").read_text())["version"] == 1


def test_what_could_not_be_shown_of_a_load_is_told_and_shown_by_the_next_run(
    tmp_path: Path, load: Load, rows: Rows
) -> None:
    server = two_runs()
    server.export_all(tmp_path / "in")

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStorage, "link", refuse)
        code, answer = load(tmp_path / "in", tmp_path / "out")
    assert (code, f"{tmp_path}/out is loaded" in answer["error"]) == (1, True)
    code, summary = load(tmp_path / "in", tmp_path / "out")
    assert (code, summary["changed"]) == (0, False)
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


def test_a_replacement_that_fails_leaves_what_was_there(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = HadoopStorage(tmp_path.as_uri(), spark)
    output.replace("state", b"old")
    written: list[str] = []
    monkeypatch.setattr(HadoopStorage, "_write", lambda _, path, *__, **___: written.append(path.getName()))
    with pytest.raises(LoadError, match="state cannot be written"):
        output.replace("state", b"new")
    assert (written, (tmp_path / "state").read_bytes()) == (["state.draft"], b"old")


def test_an_object_store_replaces_an_object_without_a_rename(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renames are copies there, and delete what was there first."""
    monkeypatch.setattr("binx.spark.loading.hadoop._OBJECT_STORES", {"file"})
    (tmp_path / "state.draft").mkdir()
    output = HadoopStorage(tmp_path.as_uri(), spark)
    output.replace("state", b"old")
    output.replace("state", b"new")
    assert (tmp_path / "state").read_bytes() == b"new"


def test_a_place_of_hadoop_that_cannot_be_written_is_told_and_no_other_load_is_blamed(
    tmp_path: Path, load: Load
) -> None:
    two_runs().export_all(tmp_path / "in")
    (tmp_path / "file").write_bytes(b"")
    code, answer = load(tmp_path / "in", (tmp_path / "file/out").as_uri())
    told = [words in answer["error"] for words in ("cannot be written", "another load")]
    assert (code, told) == (1, [True, False])


def test_the_script_runs_by_itself(tmp_path: Path) -> None:
    """As ``spark-submit`` starts it: from its own folder, without the package around it."""
    server = two_runs()
    server.export_all(tmp_path / "in [1]")
    quick = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    submit = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--master", "local[1]", "--driver-java-options", "-XX:TieredStopAtLevel=1"),
        *[word for name, value in quick.items() for word in ("--conf", f"{name}={value}")],
    ]
    script = [str(script_path()), "--input", str(tmp_path / "in [1]"), "--output", str(tmp_path / "out")]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": ""}
    answer = subprocess.run(
        [*submit, *script, "--json"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["tables"][0]["current"] == 2
    # Its tasks found the package, too.
    assert (tmp_path / "out/shop/orders/current/_ranges.arrow").is_file()


def test_help_needs_no_spark(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-S", "-E", str(script_path()), "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, "--output OUT" in answer.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--output", "x"], "--input"),
        (["--input", "x", "--output", "y", "--key", "orders"], "DB.TABLE=COLUMN"),
    ],
)
def test_a_wrong_command_line_ends_with_2(arguments: list[str], complaint: str) -> None:
    answer = subprocess.run(
        [sys.executable, str(script_path()), *arguments], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2
    assert complaint in answer.stderr
