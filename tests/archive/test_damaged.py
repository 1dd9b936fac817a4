"""Damaged and unreadable logs: kept byte for byte where that is wanted, and never taken for whole ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from binx.archive.check import check_archive
from binx.archive.manifest import read_manifests
from binx.archive.report import ArchiveLogReport, RunReport
from binx.archive.restore import find_named, restore_log, restore_span
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.errors import AbsentError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.storage.store import LocalStore
from binx.verify.verification import verify
from tests.archive.places import SHOP, UUID, archive, check_manifests, copy_logs, manifests, states
from tests.cli.process import binx
from tests.exports import contents

SECOND = "mysql-bin.000002"
SIZE = (SHOP / SECOND).stat().st_size


def flipped(data: bytearray) -> None:
    """A bit in the middle."""
    data[100_000] ^= 1


def zeroed(data: bytearray) -> None:
    """A block that the disk has lost."""
    data[98304:102400] = bytes(4096)


def cut(data: bytearray) -> None:
    """The last third is missing."""
    del data[2 * len(data) // 3 :]


DAMAGE = [flipped, zeroed, cut]


def damaged_logs(folder: Path, damage: object = flipped, *numbers: int) -> Path:
    """Logs of the shop, the second of them damaged."""
    source = copy_logs(folder, *(numbers or (1, 2, 3)))
    data = bytearray((source / SECOND).read_bytes())
    damage(data)  # type: ignore[operator]
    (source / SECOND).write_bytes(data)
    return source


def keep(source: Path, dest: Path, **settings: object) -> tuple[list[ArchiveLogReport], RunReport]:
    return archive(source, dest, keep_damaged=True, **settings)


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_the_bytes_are_kept_as_they_are_and_the_damage_is_reported(tmp_path: Path, damage: object) -> None:
    source, dest = damaged_logs(tmp_path / "logs", damage), tmp_path / "archive"
    reports, run = keep(source, dest)
    assert [state for _, state in states(reports)] == ["archived", "kept damaged", "archived"]
    assert (run.held, run.archived, run.damaged, run.has_problems) == (3, 3, 1, True)
    check_manifests(dest)
    log = find_named(LocalStore(dest), SECOND)
    assert restore_log(LocalStore(dest), log, str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == (source / SECOND).read_bytes()
    (manifest,) = [entry for entry in manifests(dest) if entry["name"] == SECOND]
    problems = verify([str(source / SECOND)]).problems
    assert manifest["damage"]
    assert {*manifest["damage"]} <= {f"{problem.kind.value}: {problem.message}" for problem in problems}
    assert [entry["kind"] for entry in manifest["objects"]] == ["log"]


def test_the_manifests_of_whole_logs_list_no_damage(tmp_path: Path) -> None:
    keep(SHOP, tmp_path / "kept")
    archive(SHOP, tmp_path / "expected")
    assert contents(tmp_path / "kept") == contents(tmp_path / "expected")
    assert all(manifest["damage"] == [] for manifest in manifests(tmp_path / "kept"))


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_check_goes_on_to_report_it(tmp_path: Path, damage: object) -> None:
    source, dest = damaged_logs(tmp_path / "logs", damage), tmp_path / "archive"
    keep(source, dest)
    report = check_archive(LocalStore(dest), str(source))
    assert not report.ok
    assert "damaged" in {problem.kind for problem in report.problems}
    assert all(SECOND in problem.path for problem in report.problems if problem.kind == "damaged")
    assert report.tail == []
    lost = GtidSet.parse(f"{UUID}:1-1216") - report.gtid_set
    assert lost
    assert lost <= GtidSet.parse(f"{UUID}:375-820")


def test_spans_are_not_taken_out_of_it(tmp_path: Path) -> None:
    source, dest = damaged_logs(tmp_path / "logs"), tmp_path / "archive"
    keep(source, dest)
    store, selection = LocalStore(dest), Selection(gtids=GtidSet.parse(f"{UUID}:370-380"))
    report = restore_span(store, selection, str(tmp_path / "span"))
    assert (report.transactions, str(report.absent_gtids)) == (5, f"{UUID}:375-380")
    assert ["was damaged" in warning for warning in report.warnings] == [True]
    with pytest.raises(AbsentError, match="was damaged when it was archived"):
        restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:380")), str(tmp_path / "none"))


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_what_is_whole_of_it_is_in_the_tables_and_logs_after_it_too(tmp_path: Path, damage: object) -> None:
    source, dest, lake = damaged_logs(tmp_path / "logs", damage), tmp_path / "archive", tmp_path / "lake"
    reports, run = keep(source, dest, parquet=str(lake))
    assert [state for _, state in states(reports)][3:] == ["tables written"] * 3
    assert run.loss_count > 0
    with open_chain([str(source)], on_damage=OnDamage.SALVAGE) as chain:
        files = [ends.file for ends in chain]
        list(to_parquet(files, tmp_path / "once", options=ParquetOptions(on_damage=OnDamage.SALVAGE)))
    assert without_manifests(lake) == without_manifests(tmp_path / "once")
    documents = [json.loads(path.read_bytes()) for path in sorted((lake / "_manifest").iterdir())]
    assert [bool(document["damage"]) for document in documents] == [False, True, False]
    archive(copy_logs(source, 4), dest, parquet=str(lake))
    assert len(list((lake / "_manifest").iterdir())) == 4
    assert keep(source, dest, parquet=str(lake))[1].is_idle


def without_manifests(folder: Path) -> dict[str, str]:
    return {name: digest for name, digest in contents(folder).items() if not name.startswith("_manifest/")}


@pytest.mark.parametrize("offset", [*range(130, 2000, 97), SIZE - 20])
def test_wherever_the_damage_is_the_log_is_kept_and_comes_back(tmp_path: Path, offset: int) -> None:
    source = copy_logs(tmp_path / "logs", 2)
    data = bytearray((source / SECOND).read_bytes())
    data[offset] ^= 0xFF
    (source / SECOND).write_bytes(data)
    copy_logs(source, 3)
    _, run = keep(source, tmp_path / "archive")
    assert (run.held, run.damaged, run.failed) == (2, 1, 0)
    store = LocalStore(tmp_path / "archive")
    (log,) = [log for log in read_manifests(store)[0] if log.damage]
    restore_log(store, log, str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == data
    assert not check_archive(store).ok


def test_damage_is_reported_to_people_and_programs_and_the_exit_code_is_3(tmp_path: Path) -> None:
    source, dest = damaged_logs(tmp_path / "logs"), tmp_path / "archive"
    ended = binx("archive", "--on-damage", "keep", source, "--to", dest)
    assert ended.code == 3
    assert f"{SECOND}: damaged, archived as it is: checksum: " in ended.err
    assert [": kept damaged, " in line for line in ended.lines] == [False, True, False]
    assert binx("archive", "--on-damage", "keep", source, "--to", dest).code == 0
    assert binx("archive", source, "--to", dest).code == 0
    assert binx("archive", "--check", "--to", dest).code == 3
    ended = binx("archive", "--on-damage", "keep", "--json", source, "--to", tmp_path / "other")
    _, log, _, run = map(json.loads, ended.lines)
    assert (log["state"], bool(log["damage"]), run["run"], run["damaged"]) == (
        "kept damaged",
        True,
        "problems",
        1,
    )


OFFSETS = {"magic": 0, "size": 4 + 9, "version": 4 + 19}
"""Offsets of bytes without which no event can be read."""


def headless(folder: Path, offset: int = 0, *numbers: int, count: int = 512) -> Path:
    """Logs of the shop, the second with other bytes at a place."""
    copy_logs(folder, *(numbers or (1, 2, 3)))
    data = bytearray((SHOP / SECOND).read_bytes())
    data[offset : offset + count] = bytes(count)
    (folder / SECOND).write_bytes(data)
    return folder


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
    ended = binx("archive", source, "--to", tmp_path / "archive")
    assert (ended.code, "; --on-damage keep archives it as it is" in ended.err) == (1, True)


@pytest.mark.parametrize("offset", OFFSETS.values(), ids=list(OFFSETS))
def test_it_is_kept_and_comes_back_byte_for_byte(tmp_path: Path, offset: int) -> None:
    source, dest = headless(tmp_path / "logs", offset, count=4), tmp_path / "archive"
    reports, run = keep(source, dest)
    assert dict(states(reports))[SECOND] == "kept damaged"
    assert (run.held, run.damaged, run.failed) == (3, 1, 0)
    check_manifests(dest)
    store = LocalStore(dest)
    restore_log(store, find_named(store, SECOND), str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == (source / SECOND).read_bytes()
    (manifest,) = [entry for entry in manifests(dest) if entry["name"] == SECOND]
    assert (manifest["flavour"], len(manifest["damage"])) == ("unknown", 1)
    assert {problem.kind for problem in check_archive(store).problems} == {"damaged", "missing_file"}


KINDS = {"flipped": damaged_logs, "headless": headless}
"""Makers of logs whose second can be read in part, and not at all."""

of_any_kind = pytest.mark.parametrize("make", KINDS.values(), ids=list(KINDS))


@of_any_kind
def test_it_is_reported_once_by_runs_and_each_time_by_checks(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    source, dest = make(tmp_path / "logs"), tmp_path / "archive"
    keep(source, dest)
    before = contents(dest)
    for run_again in (keep, archive):
        reports, run = run_again(source, dest)
        assert (reports, run.held, run.is_idle) == ([], 3, True)
    assert contents(dest) == before
    for _ in range(2):
        assert "damaged" in {problem.kind for problem in check_archive(LocalStore(dest)).problems}


@of_any_kind
def test_a_whole_copy_in_its_place_is_archived_and_stands_for_it(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    """Of one with a flipped bit, size, beginning and end are the same."""
    source, dest = make(tmp_path / "logs"), tmp_path / "archive"
    keep(source, dest)
    copy_logs(source, 2)
    report = check_archive(LocalStore(dest), str(source))
    assert [(Path(log.path).name, log.closed) for log in report.tail or []] == [(SECOND, True)]
    reports, run = archive(source, dest)
    assert (states(reports), run.held) == ([(SECOND, "archived")], 4)
    assert archive(source, dest)[1].is_idle
    report = check_archive(LocalStore(dest), str(source))
    assert (report.ok, str(report.gtid_set)) == (True, f"{UUID}:1-1216")
    assert any("a whole copy of this log" in note for note in report.notes)
    assert not find_named(LocalStore(dest), SECOND).damage
    assert archive(source, dest, prune_days=0)[1].pruned == 2


@of_any_kind
@pytest.mark.parametrize("kept", [True, False])
def test_neither_it_nor_what_comes_after_it_is_removed_and_no_statement_removes_it(
    tmp_path: Path, make: Callable[..., Path], kept: bool
) -> None:
    source = copy_logs(make(tmp_path / "logs"), 4)
    run = archive(source, tmp_path / "archive", keep_damaged=kept, prune_days=0)[1]
    assert run.pruned == 1
    assert sorted(path.name for path in source.iterdir()) == [f"mysql-bin.00000{n}" for n in (2, 3, 4)]
    listed = with_index(make(tmp_path / "listed"))
    run = archive(listed, tmp_path / "other", keep_damaged=kept, prune_days=0)[1]
    assert run.purge == f"PURGE BINARY LOGS TO '{SECOND}'"


def test_the_log_that_may_still_be_written_is_not_kept(tmp_path: Path) -> None:
    reports, run = keep(headless(tmp_path / "logs", 0, 1, 2), tmp_path / "archive")
    assert (dict(states(reports))[SECOND], run.held) == ("failed", 1)


def test_a_dry_run_says_that_it_would_be_kept(tmp_path: Path) -> None:
    reports, _ = keep(headless(tmp_path / "logs"), tmp_path / "archive", dry_run=True)
    assert dict(states(reports))[SECOND] == "would archive"
    assert not list((tmp_path / "archive").rglob("*.zst"))


def test_spans_and_tables_go_on_without_it(tmp_path: Path) -> None:
    source, dest = headless(tmp_path / "logs"), tmp_path / "archive"
    reports, run = keep(source, dest, parquet=str(tmp_path / "lake"))
    assert [state for _, state in states(reports)].count("tables written") == 2
    assert run.failed == 0
    store = LocalStore(dest)
    report = restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:5")), str(tmp_path / "one"))
    assert report.transactions == 1
    assert any("is unknown" in warning for warning in report.warnings)
    with pytest.raises(AbsentError, match=r"first event of mysql-bin.000002.* was damaged"):
        restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:500")), str(tmp_path / "none"))
