"""What ``--prune`` removes: only what the archive proves to hold, and never the newest log."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from binx.archive.manifest import read_manifests
from binx.archive.prune import expire
from binx.archive.report import State
from binx.cli.main import run
from binx.errors import ExitCode
from binx.storage.store import open_store
from tests.archive.places import IN_USE_OFFSET, SHOP, archive, check, copy_logs, states

LOGS = [f"mysql-bin.00000{number}" for number in (1, 2, 3, 4)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Logs that were last written to in 1970."""
    folder = copy_logs(tmp_path / "logs", 1, 2, 3, 4)
    for log in LOGS:
        os.utime(folder / log, (0, 0))
    return folder


def left(source: Path) -> list[str]:
    return sorted(path.name for path in source.iterdir())


def test_old_logs_go_and_the_newest_stays(source: Path, tmp_path: Path) -> None:
    reports, run = archive(source, tmp_path / "archive", prune_days=7)
    assert [one for one in states(reports) if one[1] == "pruned"] == [(log, "pruned") for log in LOGS[:3]]
    assert (left(source), run.pruned, run.held) == (LOGS[3:], 3, 4)
    assert archive(source, tmp_path / "archive", prune_days=7)[1].is_idle


def test_nothing_goes_unasked_or_in_a_dry_run(source: Path, tmp_path: Path) -> None:
    archive(source, tmp_path / "archive")
    reports, run = archive(source, tmp_path / "archive", prune_days=7, dry_run=True)
    assert states(reports) == [(log, "would prune") for log in LOGS[:3]]
    assert (left(source), run.pruned) == (LOGS, 3)


def test_young_logs_stay_and_so_do_those_behind_them(source: Path, tmp_path: Path) -> None:
    os.utime(source / LOGS[1])
    archive(source, tmp_path / "archive", prune_days=7)
    assert left(source) == LOGS[1:]


def test_logs_that_are_not_archived_stay_and_so_do_those_behind_them(source: Path, tmp_path: Path) -> None:
    _, run = archive(source, tmp_path / "archive", prune_days=0, max_files=1)
    assert (left(source), run.pruned) == (LOGS[1:], 1)


def test_the_log_before_one_that_is_being_written_may_go(source: Path, tmp_path: Path) -> None:
    data = bytearray((SHOP / "mysql-bin.000005").read_bytes()[:-50])
    data[IN_USE_OFFSET] |= 1
    (source / "mysql-bin.000005").write_bytes(data)
    archive(source, tmp_path / "archive", prune_days=7)
    assert left(source) == ["mysql-bin.000005"]


@pytest.mark.parametrize("suffix", [".zst", ".binx"])
def test_nothing_goes_that_is_changed_until_it_is_archived_again(
    source: Path, tmp_path: Path, suffix: str
) -> None:
    archive(source, tmp_path / "archive")
    (path,) = (tmp_path / "archive").glob(f"{LOGS[1]}.*{suffix}")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    reports, run = archive(source, tmp_path / "archive", prune_days=7)
    assert states(reports)[0] == (LOGS[0], "pruned")
    assert [report.state.value for report in reports[1:]] == ["failed"]
    assert (left(source), run.failed) == (LOGS[1:], 1)
    path.unlink()
    reports, run = archive(source, tmp_path / "archive", prune_days=7)
    assert states(reports)[0] == (LOGS[1], "archived")
    assert (left(source), run.failed) == (LOGS[-1:], 0)


def test_a_log_that_differs_in_its_middle_stays(source: Path, tmp_path: Path) -> None:
    archive(source, tmp_path / "archive")
    data = bytearray((source / LOGS[0]).read_bytes())
    data[100_000] ^= 1
    (source / LOGS[0]).write_bytes(data)
    os.utime(source / LOGS[0], (0, 0))
    reports, run = archive(source, tmp_path / "archive", prune_days=7)
    assert (left(source), run.failed) == (LOGS, 1)
    assert "found others; the log is not deleted" in str(reports[0].error)


def test_what_a_server_has_in_its_index_is_left_to_the_server(source: Path, tmp_path: Path) -> None:
    shutil.copy(SHOP / "mysql-bin.index", source)
    shutil.copy(SHOP / "mysql-bin.000005", source)
    for place in (source, source / "mysql-bin.index"):
        _, run = archive(place, tmp_path / "archive", prune_days=7)
        assert run.purge == "PURGE BINARY LOGS TO 'mysql-bin.000005'"
        assert run.pruned == 0
        assert left(source) == [*LOGS, "mysql-bin.000005", "mysql-bin.index"]


def test_with_tables_only_what_they_hold_goes(source: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    archive(source, tmp_path / "archive", parquet=str(lake))
    (manifest,) = (lake / "_manifest").glob("mysql-bin.000002.*")
    manifest.unlink()
    _, run = archive(source, tmp_path / "archive", prune_days=7, parquet=str(lake), dry_run=True)
    assert run.pruned == 1
    archive(source, tmp_path / "archive", prune_days=7, parquet=str(lake))
    assert left(source) == LOGS[3:]


NAMES = [f"mysql-bin.{number:06}" for number in range(1, 6)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An archive of the shop's logs, all of which are old."""
    archive(SHOP, tmp_path / "archive")
    return tmp_path / "archive"


def held(place: Path) -> list[str]:
    return [log.name for log in read_manifests(open_store(str(place)))[0]]


def test_all_but_the_newest_go_and_the_rest_is_whole(place: Path) -> None:
    reports = list(expire(open_store(str(place)), 0))
    assert {report.state for report in reports} == {State.EXPIRED}
    assert [report.archived.name for report in reports if report.archived] == NAMES[:-1]
    assert held(place) == NAMES[-1:]
    assert len(list(place.glob("mysql-bin.*"))) == 2
    report = check(place)
    assert report.ok
    assert list(expire(open_store(str(place)), 0)) == []


def test_logs_that_are_not_old_stay(place: Path) -> None:
    assert list(expire(open_store(str(place)), 100_000)) == []
    assert held(place) == NAMES


def test_a_dry_run_only_tells(place: Path) -> None:
    reports = list(expire(open_store(str(place)), 0, dry_run=True))
    assert {report.state for report in reports} == {State.WOULD_EXPIRE}
    assert held(place) == NAMES


def test_nothing_goes_where_the_first_log_that_stays_is_not_whole(place: Path) -> None:
    (log,) = place.glob(f"{NAMES[-1]}.*.zst")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    (report,) = expire(open_store(str(place)), 0)
    assert report.state is State.FAILED
    assert held(place) == NAMES


def test_nothing_goes_where_the_first_log_that_stays_does_not_list_what_goes(tmp_path: Path) -> None:
    """The manifest of another server's log stands in for one that does not know of those before."""
    place = tmp_path / "archive"
    archive(copy_logs(tmp_path / "logs", 1, 2), place)
    (manifest,) = (place / "_manifest").glob(f"{NAMES[1]}.*")
    text = manifest.read_text("utf-8")
    manifest.write_text(text.replace('"previous_gtids": "bf1c133d', '"previous_gtids": "00000000'), "utf-8")
    (report,) = expire(open_store(str(place)), 0)
    assert report.state is State.FAILED
    assert held(place) == NAMES[:2]


def test_the_command_lists_and_expires_and_says_that_it_may_be_the_only_copy(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["archive", "--to", str(place), "--list"]) is ExitCode.DONE
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [fields[0].rsplit(".", 1)[0] for fields in lines] == NAMES
    assert sum(int(fields[6]) for fields in lines) == 1629
    assert run(["archive", "--to", str(place), "--expire", "0"]) is ExitCode.DONE
    told = capsys.readouterr()
    assert told.out.count("expired") == 4
    assert "may have been their only copy" in told.err
    assert run(["archive", "--to", str(place), "--list", "--check"]) is ExitCode.USAGE
