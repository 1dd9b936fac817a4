"""What kills, full disks and changing logs leave of an archive, a data set or an index."""

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
from tests.archive.places import SHOP, archive, check_manifests, copy_logs, states
from tests.cli.process import binx, binx_with
from tests.exports import contents
from tests.log.building import flip

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
    expected, dest = tmp_path / "expected", tmp_path / "place"
    for folder in (expected, dest):
        victim.make(folder, 1)
    finish(victim, logs, expected)
    for step in STEPS[name]:
        assert killed_at(step, victim, logs, dest) == -signal.SIGKILL
        victim.check(dest)
    finish(victim, logs, dest)
    assert victim.contents(dest) == victim.contents(expected)
    assert contents(logs) == contents(copy_logs(tmp_path / "again", 1))


@pytest.mark.parametrize("limit", [10_000, 60_000])
def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path, limit: int) -> None:
    """A limit on files' sizes stands for it: in the compressed log, and in nothing at all."""
    source = copy_logs(tmp_path / "logs", 1, 2)
    dest = tmp_path / "archive"
    code = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    ended = binx_with(code, "archive", source, "--to", dest)
    assert ended.code == (1 if limit == 10_000 else 0)
    assert ("cannot be written" in ended.err) == (limit == 10_000)
    check_manifests(dest)
    assert not list(dest.rglob(".binx-*"))
    assert binx("archive", source, "--to", dest).code == 0
    archive(source, tmp_path / "expected")
    assert contents(dest) == contents(tmp_path / "expected")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    dest = tmp_path / "archive"
    dest.mkdir(mode=0o500)
    with pytest.raises(OutputError, match="not permitted"):
        archive(copy_logs(tmp_path / "logs", 1), dest)


def _change(path: Path, how: str) -> None:
    if how == "cut":
        os.truncate(path, path.stat().st_size - 1000)
    elif how == "changed":
        flip(path, 100_000)
    elif how == "grown":
        with path.open("ab") as file:
            file.write(bytes(100))
    else:
        path.unlink()


@pytest.mark.parametrize(
    ("how", "is_taken"), [("cut", False), ("changed", False), ("grown", True), ("gone", True)]
)
def test_a_log_that_changes_while_it_is_read_is_taken_where_what_was_opened_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, is_taken: bool
) -> None:
    source, dest = copy_logs(tmp_path / "logs", 1, 2), tmp_path / "archive"
    write = seekable.write_seekable

    def changing(log: Any, cuts: Any, output: Any) -> Any:
        if log.name == "mysql-bin.000001":
            _change(source / log.name, how)
        return write(log, cuts, output)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "write_seekable", changing)
        reports, _ = archive(source, dest)
    taken = "archived" if is_taken else "failed"
    assert states(reports) == [("mysql-bin.000001", taken), ("mysql-bin.000002", "archived")]
    if not is_taken:
        assert isinstance(reports[0].error, SourceError)
        assert not list(dest.rglob("mysql-bin.000001*"))
        assert archive(copy_logs(source, 1), dest)[1].held == 2
    archive(SHOP, tmp_path / "expected", max_files=2)
    assert contents(dest) == contents(tmp_path / "expected")


def test_a_log_that_its_index_lists_and_that_is_gone_is_reported(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    (source / "mysql-bin.index").write_text("./mysql-bin.000001\n./mysql-bin.000002\n")
    ended = binx("archive", source, "--to", tmp_path / "archive")
    assert (ended.code, "mysql-bin.000002, which does not exist" in ended.err) == (4, True)
    copy_logs(source, 2)
    assert binx("archive", source, "--to", tmp_path / "archive").code == 0


def test_an_archive_that_does_not_give_back_what_was_written_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that loses a bit between writing and reading."""
    dest = tmp_path / "archive"
    compare = writing._compare

    def flipped(store: Any, stored: Any) -> None:
        path = dest / stored.path
        flip(path)
        compare(store, stored)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "_compare", flipped)
        with pytest.raises(OutputError, match="does not return what was written"):
            archive(copy_logs(tmp_path / "logs", 1), dest)
    assert not list((dest / "_manifest").iterdir())
    assert archive(tmp_path / "logs", dest)[1].held == 1
    check_manifests(dest)


@pytest.mark.parametrize(
    ("name", "limit"), [("to-parquet", 10_000), ("to-parquet", 2_000), ("index", 10_000)]
)
def test_a_disk_that_is_full_for_other_commands_is_reported_and_the_next_run_completes(
    tmp_path: Path, name: str, limit: int
) -> None:
    logs, dest, expected = copy_logs(tmp_path / "logs", 1), tmp_path / "place", tmp_path / "expected"
    for folder in (dest, expected):
        folder.mkdir()
    victim = VICTIMS[name]
    code = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    ended = binx_with(code, *victim.arguments(logs, dest))
    assert (ended.code, "cannot be written" in ended.err) == (1, True)
    assert not list(dest.glob("_manifest/*"))
    victim.check(dest)
    finish(victim, logs, dest)
    finish(victim, logs, expected)
    assert contents(dest) == contents(expected)


@pytest.mark.parametrize("name", ["to-parquet", "index"])
def test_a_log_that_is_cut_while_it_is_read_gives_an_error_and_nothing_is_committed(
    tmp_path: Path, name: str
) -> None:
    """It is cut when the first file is opened for writing."""
    logs, dest, expected = copy_logs(tmp_path / "logs", 1), tmp_path / "place", tmp_path / "expected"
    for folder in (dest, expected):
        folder.mkdir()
    victim, log = VICTIMS[name], str(logs / "mysql-bin.000001")
    code = f"""
cut = []
def watch(event, arguments):
    if event in ("open", "os.mkdir") and str(arguments[0]).startswith({str(dest)!r} + "/") and not cut:
        if "_lock" not in str(arguments[0]):
            cut.append(1)
            os.truncate({log!r}, 1000)
sys.addaudithook(watch)
"""
    ended = binx_with(code, *victim.arguments(logs, dest))
    assert (ended.code, "shrank while it was read" in ended.err) == (1, True)
    assert not [path for path in dest.rglob("*") if path.suffix in (".json", ".parquet", ".binx")]
    copy_logs(logs, 1)
    finish(victim, logs, dest)
    finish(victim, logs, expected)
    assert contents(dest) == contents(expected)
