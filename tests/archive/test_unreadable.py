"""Logs whose first event is damaged: they are named, kept where so asked, and never taken for held."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.archive.check import check_archive
from binx.archive.report import LogReport, RunReport
from binx.archive.restore import find_named, restore_log, restore_span
from binx.errors import AbsentError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.selection import Selection
from binx.storage.store import LocalStore
from tests.archive.places import SHOP, UUID, archive, check_manifests, contents, copy_logs, manifests, states
from tests.cli.process import binx

SECOND = "mysql-bin.000002"
PLACES = {"magic": 0, "size": 4 + 9, "version": 4 + 19}
"""Offsets of bytes without which no event can be read."""


def headless(folder: Path, offset: int = 0, *numbers: int, count: int = 512) -> Path:
    """Logs of the shop, the second with other bytes at a place."""
    copy_logs(folder, *(numbers or (1, 2, 3)))
    data = bytearray((SHOP / SECOND).read_bytes())
    data[offset : offset + count] = bytes(count)
    (folder / SECOND).write_bytes(data)
    return folder


def keep(source: Path, place: Path, **settings: object) -> tuple[list[LogReport], RunReport]:
    return archive(source, place, keep_damaged=True, **settings)


def with_index(folder: Path) -> Path:
    names = sorted(path.name for path in folder.glob("mysql-bin.0*"))
    (folder / "mysql-bin.index").write_text("".join(f"./{name}\n" for name in names))
    return folder


@pytest.mark.parametrize("listed", [True, False])
def test_it_is_named_and_the_others_are_taken(tmp_path: Path, listed: bool) -> None:
    """Also where no server's index lists it: it is called as the others are."""
    source = headless(tmp_path / "logs")
    reports, run = archive(with_index(source) if listed else source, tmp_path / "archive")
    assert dict(states(reports)) == {
        "mysql-bin.000001": "archived",
        SECOND: "failed",
        "mysql-bin.000003": "archived",
    }
    assert (run.held, run.failed) == (2, 1)
    assert binx("archive", source, "--to", tmp_path / "archive").code == 1


@pytest.mark.parametrize("offset", PLACES.values(), ids=list(PLACES))
def test_it_is_kept_and_comes_back_byte_for_byte(tmp_path: Path, offset: int) -> None:
    source, place = headless(tmp_path / "logs", offset, count=4), tmp_path / "archive"
    reports, run = keep(source, place)
    assert dict(states(reports))[SECOND] == "kept damaged"
    assert (run.held, run.damaged, run.failed) == (3, 1, 0)
    check_manifests(place)
    store = LocalStore(place)
    restore_log(store, find_named(store, SECOND), str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == (source / SECOND).read_bytes()
    (manifest,) = [one for one in manifests(place) if one["name"] == SECOND]
    assert (manifest["flavour"], len(manifest["damage"])) == ("unknown", 1)


def test_it_is_told_once_by_runs_and_each_time_by_checks(tmp_path: Path) -> None:
    source, place = headless(tmp_path / "logs"), tmp_path / "archive"
    keep(source, place)
    before = contents(place)
    reports, run = keep(source, place)
    assert (reports, run.held, run.is_idle) == ([], 3, True)
    assert contents(place) == before
    for _ in range(2):
        report = check_archive(LocalStore(place))
        assert {problem.kind for problem in report.problems} == {"damaged", "missing_file"}
    assert binx("archive", "--check", "--to", place).code == 4


def test_the_log_that_may_still_be_written_is_not_kept(tmp_path: Path) -> None:
    reports, run = keep(headless(tmp_path / "logs", 0, 1, 2), tmp_path / "archive")
    assert (dict(states(reports))[SECOND], run.held) == ("failed", 1)


def test_a_dry_run_says_that_it_would_be_kept(tmp_path: Path) -> None:
    reports, _ = keep(headless(tmp_path / "logs"), tmp_path / "archive", dry_run=True)
    assert dict(states(reports))[SECOND] == "would archive"
    assert not list((tmp_path / "archive").rglob("*.zst"))


def test_a_whole_copy_in_its_place_stands_for_it(tmp_path: Path) -> None:
    source, place = headless(tmp_path / "logs"), tmp_path / "archive"
    keep(source, place)
    copy_logs(source, 2)
    reports, run = archive(source, place)
    assert (states(reports), run.held) == ([(SECOND, "archived")], 4)
    report = check_archive(LocalStore(place), str(source))
    assert (report.ok, str(report.gtids)) == (True, f"{UUID}:1-1216")
    assert not find_named(LocalStore(place), SECOND).damage


@pytest.mark.parametrize("kept", [True, False])
def test_nothing_behind_it_is_removed_and_no_statement_removes_it(tmp_path: Path, kept: bool) -> None:
    source = headless(tmp_path / "logs", 0, 1, 2, 3, 4)
    run = archive(source, tmp_path / "archive", keep_damaged=kept, prune_days=0)[1]
    assert run.pruned == 1
    assert sorted(path.name for path in source.iterdir()) == [f"mysql-bin.00000{n}" for n in (2, 3, 4)]
    listed = with_index(headless(tmp_path / "listed", 0, 1, 2, 3, 4))
    run = archive(listed, tmp_path / "other", keep_damaged=kept, prune_days=0)[1]
    assert run.purge == f"PURGE BINARY LOGS TO '{SECOND}'"


def test_spans_and_tables_go_on_without_it(tmp_path: Path) -> None:
    source, place = headless(tmp_path / "logs"), tmp_path / "archive"
    reports, run = keep(source, place, parquet=str(tmp_path / "lake"))
    assert [state for _, state in states(reports)].count("tables written") == 2
    assert run.failed == 0
    store = LocalStore(place)
    report = restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:5")), str(tmp_path / "one"))
    assert report.transactions == 1
    assert any("is unknown" in warning for warning in report.warnings)
    with pytest.raises(AbsentError, match=r"first event of mysql-bin.000002.* was damaged"):
        restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:500")), str(tmp_path / "none"))
