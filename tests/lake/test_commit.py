"""A load becomes visible as a whole, whatever happens to it; and only one runs at a time."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binx.errors import OutputError
from binx.lake.place import LakeStore
from binx.lake.state.output_folder import Output
from binx.spark.session import SCRIPT
from tests.lake.conftest import Load, files_of
from tests.lake.dataset import Server
from tests.lake.test_history import history, logged
from tests.lake.test_state import ORDERS, Rows, insert, orders

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

    for name in ("put", "remove", "synchronize"):
        patch.setattr(LakeStore, name, counted(name, getattr(LakeStore, name)))
    patch.setattr(Output, "_give_up", lambda _: None)
    return steps


def two_runs() -> Server:
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"))
    server.rotate()
    server.transaction(("update", ORDERS, (1,), {"name": "x"}), insert(3), ("delete", ORDERS, (2,)))
    return server


def stored(output: Path) -> set[str]:
    """All data files, counted or not."""
    return {str(path) for path in output.glob("[!_]*/**/*.parquet")}


def test_a_load_killed_at_any_step_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, load: Load, rows: Rows
) -> None:
    server = two_runs()
    first, folder, begun = tmp_path / "first", tmp_path / "in", tmp_path / "begun"
    server.export(first, server.logs[0])
    load(first, begun)
    before = rows(begun, ORDERS)
    server.export_all(folder)
    step, finished = 0, False
    while not finished:
        out = Path(shutil.copytree(begun, tmp_path / f"out{step}"))
        with pytest.MonkeyPatch.context() as patch:
            kill_at(step, patch)
            try:
                load(folder, out)
                finished = True
            except Killed:
                version = json.loads((out / "_state.json").read_text())["version"]
                assert rows(out, ORDERS) == (before if version == 1 else server.rows(ORDERS))
        code, _ = load(folder, out)
        assert code == 0
        assert rows(out, ORDERS) == server.rows(ORDERS)
        assert history(out, "_change_type, _commit_version, _row, name") == logged(server, "name")
        state = json.loads((out / "_state.json").read_text())
        counted = {*files_of(out, ORDERS), *files_of(out, ORDERS, "history")}
        assert stored(out) == counted | {str(out / path) for path in state["garbage"]}
        assert {path.name for path in out.iterdir()} == {
            "_state.json", "_loads", "_lock", "shop", "views.sql", "views.spark.sql",
        }  # fmt: skip
        assert all(Path(path).name in (out / "views.sql").read_text() for path in counted)
        step += 1
    assert step > 5


def test_data_is_on_the_disk_before_the_state_that_names_it(
    tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses its power keeps what was brought to the disk, in whatever order it was written."""
    synchronized: set[int] = set()
    lost: list[Path] = []
    bring, put = os.fsync, LakeStore.put

    def noted(descriptor: int) -> None:
        bring(descriptor)
        synchronized.add(os.fstat(descriptor).st_ino)

    def look(place: LakeStore, path: str, content: bytes) -> None:
        if path == "_state.json":
            places = [tmp_path / "out", *(tmp_path / "out/shop").rglob("*")]
            lost.extend(one for one in places if one.stat().st_ino not in synchronized)
        put(place, path, content)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(LakeStore, "put", look)
    two_runs().export_all(tmp_path / "in [1]")
    assert load(tmp_path / "in [1]", tmp_path / "out")[0] == 0
    assert list((tmp_path / "out/shop").rglob("*.parquet"))
    assert lost == []


def test_a_second_run_at_the_same_time_is_refused(tmp_path: Path, load: Load) -> None:
    two_runs().export_all(tmp_path / "in")
    with LakeStore(str(tmp_path / "out")).locked(broken=False):
        code, answer = load(tmp_path / "in", tmp_path / "out")
    assert (code, f"another binx process ({os.getpid()})" in answer["error"]) == (1, True)
    assert load(tmp_path / "in", tmp_path / "out")[0] == 0


def test_a_dead_process_holds_no_lock(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from binx.lake.place import LakeStore\n"
        "with LakeStore(sys.argv[1]).locked(broken=False):\n"
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
    with LakeStore(str(tmp_path)).locked(broken=False):
        pass


def test_a_state_that_changed_meanwhile_is_not_replaced(tmp_path: Path, load: Load) -> None:
    """As where a lock was broken that was held: the slower load gives way, and leaves nothing."""
    server = two_runs()
    server.export(tmp_path / "in", server.logs[0])
    load(tmp_path / "in", tmp_path / "out")
    server.export_all(tmp_path / "in")
    synchronize = LakeStore.synchronize

    def meanwhile(place: LakeStore, paths: Any) -> None:
        synchronize(place, paths)
        state = json.loads((tmp_path / "out/_state.json").read_text())
        (tmp_path / "out/_state.json").write_text(json.dumps({**state, "version": 2}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LakeStore, "synchronize", meanwhile)
        code, answer = load(tmp_path / "in", tmp_path / "out")
    assert (code, "another load has committed" in answer["error"]) == (1, True)
    assert stored(tmp_path / "out") == {
        *files_of(tmp_path / "out", ORDERS),
        *files_of(tmp_path / "out", ORDERS, "history"),
    }


@pytest.mark.parametrize("content", ["[", "[]", '{"contract": 4}', '{"contract": 5, "version": 1}'])
def test_what_no_load_wrote_is_refused(tmp_path: Path, load: Load, content: str) -> None:
    two_runs().export_all(tmp_path / "in")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/_state.json").write_text(content)
    code, answer = load(tmp_path / "in", tmp_path / "out")
    assert (code, f"{tmp_path}/out/_state.json: " in answer["error"]) == (1, True)
    assert "load into a new folder" in answer["error"]


def test_a_full_disk_is_reported_and_nothing_is_left(tmp_path: Path, load: Load) -> None:
    server = two_runs()
    server.export(tmp_path / "in", server.logs[0])
    load(tmp_path / "in", tmp_path / "out")
    before = stored(tmp_path / "out")
    server.export_all(tmp_path / "in")

    def refuse(*_: object) -> None:
        raise OutputError("cannot be written: No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LakeStore, "synchronize", refuse)
        code, answer = load(tmp_path / "in", tmp_path / "out")
    assert (code, "No space left on device" in answer["error"]) == (1, True)
    assert json.loads((tmp_path / "out/_state.json").read_text())["version"] == 1
    assert stored(tmp_path / "out") == before


def test_an_output_that_cannot_be_written_is_reported(tmp_path: Path, load: Load) -> None:
    two_runs().export_all(tmp_path / "in")
    (tmp_path / "file").write_bytes(b"")
    code, answer = load(tmp_path / "in", tmp_path / "file/out")
    assert (code, "Not a directory" in answer["error"]) == (1, True)


def test_sources_may_leave_the_data_set_once_they_are_loaded(tmp_path: Path, load: Load, rows: Rows) -> None:
    server = two_runs()
    server.export(tmp_path / "in", server.logs[0])
    load(tmp_path / "in", tmp_path / "out")
    server.export(tmp_path / "in", server.logs[1])
    for path in tmp_path.glob("in/**/mysql-bin.000001*"):
        path.unlink()
    code, _ = load(tmp_path / "in", tmp_path / "out")
    assert code == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    # One that comes back is known.
    server.export(tmp_path / "in", server.logs[0])
    assert load(tmp_path / "in", tmp_path / "out", "--rebuild", "shop.orders")[0] == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


def test_a_python_without_binx_is_reported_in_one_line(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-S", "-E", str(SCRIPT), "--help"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "binx is not installed" in answer.stderr
