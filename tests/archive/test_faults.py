"""Killed runs, full disks, logs that change: a clear error, nothing lost, and the next run completes."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from binx.archive import writing
from binx.errors import OutputError, SourceError
from binx.storage import seekable
from tests.archive.killing import VICTIMS, finish, killed_at
from tests.archive.places import SHOP, archive, check_manifests, contents, copy_logs, states
from tests.cli.process import binx, binx_with

STEPS = {
    "archive": (3, 7, 11, 15, 19),
    "archive-encrypted": (3, 7, 11, 15),
    "to-parquet": (4, 12, 20),
    "index": (2, 3, 4),
    "index-beside": (3, 4),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_run_that_is_killed_leaves_nothing_false_and_the_next_completes(name: str, tmp_path: Path) -> None:
    victim = VICTIMS[name]
    logs = copy_logs(tmp_path / "logs", 1)
    expected, place = tmp_path / "expected", tmp_path / "place"
    for folder in (expected, place):
        victim.make(folder, 1)
    finish(victim, logs, expected)
    for step in STEPS[name]:
        assert killed_at(step, victim, logs, place) == -signal.SIGKILL
        victim.check(place)
    finish(victim, logs, place)
    assert victim.contents(place) == victim.contents(expected)
    assert contents(logs) == contents(copy_logs(tmp_path / "again", 1))


@pytest.mark.parametrize("limit", [10_000, 60_000])
def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, limit: int) -> None:
    """A limit on files' sizes stands for it: in the compressed log, and in nothing at all."""
    source = copy_logs(tmp_path / "logs", 1, 2)
    place = tmp_path / "archive"
    code = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    ended = binx_with(code, "archive", source, "--to", place)
    assert ended.code == (1 if limit == 10_000 else 0)
    assert ("cannot be written" in ended.err) == (limit == 10_000)
    check_manifests(place)
    assert not list(place.rglob(".binx-*"))
    assert binx("archive", source, "--to", place).code == 0
    archive(source, tmp_path / "expected")
    assert contents(place) == contents(tmp_path / "expected")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    place = tmp_path / "archive"
    place.mkdir(mode=0o500)
    with pytest.raises(OutputError, match="not permitted"):
        archive(copy_logs(tmp_path / "logs", 1), place)


def _change(path: Path, how: str) -> None:
    if how == "cut":
        os.truncate(path, path.stat().st_size - 1000)
    elif how == "changed":
        data = bytearray(path.read_bytes())
        data[100_000] ^= 1
        path.write_bytes(data)
    elif how == "grown":
        with path.open("ab") as file:
            file.write(bytes(100))
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["cut", "changed"])
def test_a_log_that_changes_while_it_is_read_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    write = seekable.write_seekable

    def changing(log: Any, cuts: Any, output: Any) -> Any:
        if log.name == "mysql-bin.000001":
            _change(source / log.name, how)
        return write(log, cuts, output)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "write_seekable", changing)
        reports, _ = archive(source, tmp_path / "archive")
    assert states(reports) == [("mysql-bin.000001", "failed"), ("mysql-bin.000002", "archived")]
    assert isinstance(reports[0].error, SourceError)
    assert not list((tmp_path / "archive").rglob("mysql-bin.000001*"))
    _, run = archive(copy_logs(source, 1), tmp_path / "archive")
    assert run.held == 2
    archive(SHOP, tmp_path / "expected", max_files=2)
    assert contents(tmp_path / "archive") == contents(tmp_path / "expected")


@pytest.mark.parametrize("how", ["grown", "gone"])
def test_what_happens_to_a_log_behind_what_was_opened_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    write = seekable.write_seekable

    def changing(log: Any, cuts: Any, output: Any) -> Any:
        _change(source / log.name, how)
        return write(log, cuts, output)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "write_seekable", changing)
        archive(source, tmp_path / "archive")
    archive(SHOP, tmp_path / "expected", max_files=1)
    assert contents(tmp_path / "archive") == contents(tmp_path / "expected")


def test_a_log_that_its_index_lists_and_that_is_gone_is_told(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    (source / "mysql-bin.index").write_text("./mysql-bin.000001\n./mysql-bin.000002\n")
    ended = binx("archive", source, "--to", tmp_path / "archive")
    assert (ended.code, "mysql-bin.000002, which does not exist" in ended.err) == (4, True)
    copy_logs(source, 2)
    assert binx("archive", source, "--to", tmp_path / "archive").code == 0


def test_an_archive_that_does_not_give_back_what_was_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that loses a bit between writing and reading."""
    place = tmp_path / "archive"
    compare = writing._compare

    def flipped(store: Any, stored: Any) -> None:
        path = place / stored.path
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        compare(store, stored)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "_compare", flipped)
        with pytest.raises(OutputError, match="does not return what was written"):
            archive(copy_logs(tmp_path / "logs", 1), place)
    assert not list((place / "_manifest").iterdir())
    assert archive(tmp_path / "logs", place)[1].held == 1
    check_manifests(place)


@pytest.mark.parametrize(
    ("name", "limit"), [("to-parquet", 10_000), ("to-parquet", 2_000), ("index", 10_000)]
)
def test_a_disk_that_is_full_for_other_commands_is_told_and_the_next_run_completes(
    tmp_path: Path, name: str, limit: int
) -> None:
    logs, place, expected = copy_logs(tmp_path / "logs", 1), tmp_path / "place", tmp_path / "expected"
    for folder in (place, expected):
        folder.mkdir()
    victim = VICTIMS[name]
    code = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    ended = binx_with(code, *victim.arguments(logs, place))
    assert (ended.code, "cannot be written" in ended.err) == (1, True)
    assert not list(place.glob("_manifest/*"))
    victim.check(place)
    finish(victim, logs, place)
    finish(victim, logs, expected)
    assert contents(place) == contents(expected)


@pytest.mark.parametrize("name", ["to-parquet", "index"])
def test_a_log_that_is_cut_while_it_is_read_gives_an_error_and_nothing_is_committed(
    tmp_path: Path, name: str
) -> None:
    """It is cut when the first file is opened for writing."""
    logs, place, expected = copy_logs(tmp_path / "logs", 1), tmp_path / "place", tmp_path / "expected"
    for folder in (place, expected):
        folder.mkdir()
    victim, log = VICTIMS[name], str(logs / "mysql-bin.000001")
    code = f"""
cut = []
def watch(event, arguments):
    if event in ("open", "os.mkdir") and str(arguments[0]).startswith({str(place)!r} + "/") and not cut:
        if "_lock" not in str(arguments[0]):
            cut.append(1)
            os.truncate({log!r}, 1000)
sys.addaudithook(watch)
"""
    ended = binx_with(code, *victim.arguments(logs, place))
    assert (ended.code, "shrank while it was read" in ended.err) == (1, True)
    assert not [path for path in place.rglob("*") if path.suffix in (".json", ".parquet", ".binx")]
    copy_logs(logs, 1)
    finish(victim, logs, place)
    finish(victim, logs, expected)
    assert contents(place) == contents(expected)
