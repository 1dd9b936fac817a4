"""The folder of a data set: commits, leftovers, staging, and work in the background."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.dataset.dataset import DataSet, escape_name
from binx.dataset.source_files import Background
from binx.dataset.transaction import StagedFiles, WrittenFile
from binx.errors import OutputError, ResourceError

SOURCE = "mysql-bin.000001.1a2b3c4d"
FILES = (f"changes/shop/orders/{SOURCE}-4-0.parquet", f"transactions/{SOURCE}.parquet")


MANIFEST: dict[str, Any] = {
    "contract": 1, "request": {}, "gtid_set": "", "files": [], "damage": [], "losses": [], "warnings": [],
    "source": {"name": "mysql-bin.000001", "identity": "1a2b3c4d", "sha256": "", "flavour": "mysql"},
}  # fmt: skip


def write(folder: Path, text: str, names: tuple[str, ...] = FILES) -> None:
    """Write and commit a source whose files all hold the same text."""
    transaction = StagedFiles(DataSet(folder), SOURCE)
    written: list[WrittenFile] = []
    for name in names:
        Path(transaction.path(name)).write_text(text, "utf-8")
        written.append(transaction.written(name, sha256(text.encode()).hexdigest()))
    entries = [{"path": file.path, "kind": "changes", "rows": 1, "sha256": file.sha256} for file in written]
    transaction.commit({**MANIFEST, "files": entries}, written)


def visible(folder: Path) -> dict[str, Any] | None:
    """What a reader sees: the listed files with their text; every one of them must be whole."""
    manifest = DataSet(folder).manifest(SOURCE)
    if manifest is None:
        return None
    return {entry["path"]: (folder / entry["path"]).read_text("utf-8") for entry in manifest["files"]}


def test_a_committed_source_is_visible_and_nothing_else_is_left(tmp_path: Path) -> None:
    write(tmp_path, "one")
    assert visible(tmp_path) == dict.fromkeys(FILES, "one")
    assert not [*tmp_path.glob("_staging/*")]


def test_an_abandoned_source_leaves_the_data_set_as_it_was(tmp_path: Path) -> None:
    write(tmp_path, "one")
    transaction = StagedFiles(DataSet(tmp_path), SOURCE)
    Path(transaction.path(FILES[0])).write_text("two", "utf-8")
    transaction.abandon()
    assert visible(tmp_path) == dict.fromkeys(FILES, "one")
    assert not [*tmp_path.glob("_staging/*")]


def test_files_that_a_source_no_longer_has_are_removed(tmp_path: Path) -> None:
    write(tmp_path, "one")
    write(tmp_path, "two", FILES[1:])
    assert visible(tmp_path) == {FILES[1]: "two"}
    assert not (tmp_path / FILES[0]).exists()


class KilledError(BaseException):
    """Stands for the process's end: nothing of ours catches it to clean up."""


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> Callable[[], int]:
    """Let the process die before the n-th change of the file system; returns how many there were."""
    calls = 0

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == step:
                raise KilledError
            return function(*arguments, **options)

        return called

    monkeypatch.setattr(os, "replace", dying(os.replace))
    monkeypatch.setattr(os, "unlink", dying(os.unlink))
    monkeypatch.setattr(os, "fsync", dying(os.fsync))
    monkeypatch.setattr("shutil.rmtree", dying(__import__("shutil").rmtree))
    return lambda: calls


@pytest.mark.parametrize("step", range(1, 25))
def test_a_run_killed_at_any_step_leaves_the_old_or_nothing_and_the_next_run_completes(
    step: int, tmp_path: Path
) -> None:
    write(tmp_path, "old")
    with pytest.MonkeyPatch.context() as patch:
        steps = kill_at(patch, step)
        try:
            write(tmp_path, "new", FILES[1:])
        except KilledError:
            pass
        else:
            assert steps() < step
    assert visible(tmp_path) in (dict.fromkeys(FILES, "old"), {FILES[1]: "new"}, None)
    write(tmp_path, "next", FILES[1:])
    assert visible(tmp_path) == {FILES[1]: "next"}
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {name for name in left if not name.split("/")[-1].startswith(".")} == {
        FILES[1],
        f"_manifest/{SOURCE}.json",
    }


def test_two_writers_at_once_are_refused(tmp_path: Path) -> None:
    with (
        DataSet(tmp_path).locked(),
        pytest.raises(OutputError, match="another binx process"),
        DataSet(tmp_path).locked(),
    ):
        pass


def test_a_manifest_that_is_no_json_is_reported(tmp_path: Path) -> None:
    (tmp_path / "_manifest").mkdir()
    (tmp_path / "_manifest" / f"{SOURCE}.json").write_text("{", "utf-8")
    with pytest.raises(OutputError, match="manifest cannot be read"):
        DataSet(tmp_path).manifest(SOURCE)


@pytest.mark.parametrize("value", [None, 0.5])
@pytest.mark.parametrize("whose", ["", "source", "files"])
def test_a_manifest_in_which_something_is_missing_is_reported(
    tmp_path: Path, whose: str, value: object
) -> None:
    folder = tmp_path / "_manifest"
    folder.mkdir()
    whole = {**MANIFEST, "files": [{"path": "a", "kind": "changes", "rows": 1}]}
    (folder / f"{SOURCE}.json").write_text(json.dumps(whole), "utf-8")
    assert DataSet(tmp_path).manifest(SOURCE) == whole
    members: Any = {"": whole, "source": whole["source"], "files": whole["files"][0]}[whose]
    for name in members:
        changed: Any = {**members, name: value}
        document = {
            "": changed,
            "source": {**whole, "source": changed},
            "files": {**whole, "files": [changed]},
        }
        (folder / f"{SOURCE}.json").write_text(json.dumps(document[whose]), "utf-8")
        with pytest.raises(OutputError, match=f"has no {name}; delete it to export the log again"):
            DataSet(tmp_path).manifest(SOURCE)


def test_all_manifests_are_listed_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "_manifest"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.json").write_text(json.dumps({**MANIFEST, "binx": name}), "utf-8")
    assert [manifest["binx"] for manifest in DataSet(tmp_path).manifests()] == ["a", "b"]


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="a part of its path is a file"):
        DataSet(tmp_path / "file" / "set")


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("orders", "orders"),
        ("Größe", "Größe"),
        ("closed orders/2026 100%", "closed%20orders%2F2026%20100%25"),
        ("..", "%2E."),
        (".hidden", "%2Ehidden"),
        ("_hidden", "%5Fhidden"),
        ("a=b", "a%3Db"),
        ("a\nb\x1b[31m", "a%0Ab%1B%5B31m"),
        ("", "%"),
    ],
)
def test_names_become_folders_that_no_reader_misreads(name: str, folder: str) -> None:
    assert escape_name(name) == folder


@given(st.text(max_size=64))
def test_a_folder_name_is_one_visible_path_component_of_a_legal_length(name: str) -> None:
    folder = escape_name(name)
    assert "/" not in folder
    assert "\0" not in folder
    assert folder[0] not in "._"
    assert len(folder.encode("utf-8", "surrogatepass")) <= 200


@given(st.text(max_size=20), st.text(max_size=20))
def test_different_names_have_different_folders(first: str, second: str) -> None:
    assert (escape_name(first) == escape_name(second)) == (first == second)


def test_what_a_run_left_that_was_killed_after_its_commit_goes(tmp_path: Path) -> None:
    write(tmp_path, "one")
    (tmp_path / "_staging" / SOURCE / "changes").mkdir(parents=True)
    records = tmp_path / "schemas" / "shop" / "orders"
    records.mkdir(parents=True)
    for folder in (records, tmp_path / "_manifest"):
        (folder / ".binx-0123456789ab.tmp").write_bytes(b"half")
    with DataSet(tmp_path).locked():
        pass
    assert visible(tmp_path) == dict.fromkeys(FILES, "one")
    assert not (tmp_path / "_staging").exists()
    assert not list(tmp_path.rglob("*.tmp"))


def test_what_a_run_left_that_was_killed_within_its_commit_waits_for_its_source(tmp_path: Path) -> None:
    (tmp_path / "_staging" / SOURCE).mkdir(parents=True)
    moved = tmp_path / FILES[0]
    moved.parent.mkdir(parents=True)
    moved.write_text("half")
    with DataSet(tmp_path).locked():
        pass
    write(tmp_path, "one", FILES[1:])
    assert visible(tmp_path) == {FILES[1]: "one"}
    assert not moved.exists()


@pytest.mark.parametrize("has_thread", [True, False])
def test_work_is_done_in_order(has_thread: bool) -> None:
    done: list[int] = []
    threads = set()
    background = Background(10, has_thread=has_thread)

    def work(number: int) -> None:
        threads.add(current_thread())
        done.append(number)

    for number in range(100):
        background.do(lambda number=number: work(number), 3)  # type: ignore[misc]
    background.join()
    background.close()
    assert done == list(range(100))
    assert (current_thread() in threads) == (not has_thread)
    assert len(threads) == 1


def test_whoever_hands_over_too_much_waits() -> None:
    begun, may_end = Event(), Event()
    background = Background(10, has_thread=True)

    def wait() -> None:
        begun.set()
        may_end.wait()

    background.do(wait, 8)
    begun.wait()
    background.do(lambda: None, 2)
    with ThreadPoolExecutor(1) as pool:
        third = pool.submit(background.do, lambda: None, 1)
        assert not third.done()
        may_end.set()
        third.result()
    background.close()


@pytest.mark.parametrize("has_thread", [True, False])
def test_an_error_is_reported(has_thread: bool) -> None:
    def fail() -> None:
        raise KeyError("it")

    background = Background(10, has_thread=has_thread)

    def do() -> None:
        background.do(fail)
        background.join()

    with pytest.raises(KeyError, match="it"):
        do()
    background.close()


def test_a_system_without_threads_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", none)
    with pytest.raises(ResourceError, match="threads"):
        Background(10, has_thread=True).do(lambda: None)
