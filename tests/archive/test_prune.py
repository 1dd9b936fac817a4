"""What ``--prune`` removes: only what the archive proves to hold, and never the newest log."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.archive.places import IN_USE_OFFSET, SHOP, archive, copy_logs, states

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
