"""What ``--check`` proves of an archive."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from binx.archive.check import CheckReport
from binx.archive.manifest import decode_manifest
from binx.errors import BinxError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.slices.extraction import extract
from binx.storage.store import LocalStore
from tests.archive.places import (
    IN_USE_OFFSET,
    MARIADB_SHOP,
    SHOP,
    UUID,
    archive,
    check,
    copy_logs,
    manifests,
    with_checksum,
)
from tests.cli.process import binx


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    """An archive of the shop's logs."""
    archive(SHOP, tmp_path / "archive")
    return tmp_path / "archive"


def kinds(report: CheckReport) -> set[str]:
    return {problem.kind for problem in report.problems}


def objects(dest: Path, number: int, suffix: str) -> Path:
    (path,) = dest.glob(f"mysql-bin.{number:06}.*{suffix}")
    return path


def test_a_whole_archive_is_proved(dest: Path) -> None:
    report = check(dest, SHOP)
    assert (report.ok, report.has_missing, report.notes, report.tail) == (True, False, [], [])
    assert str(report.gtid_set) == f"{UUID}:1-1629"
    assert (report.logs, report.transactions) == (5, 1629)
    assert report.bytes == sum(path.stat().st_size for path in SHOP.glob("mysql-bin.0*"))


def test_so_is_one_of_mariadb_beside_it(dest: Path) -> None:
    archive(MARIADB_SHOP, dest)
    report = check(dest)
    assert (report.ok, report.logs, report.tail) == (True, 10, None)
    assert str(report.gtid_set) == f"{UUID}:1-1629,0-10-1..1629"


@pytest.mark.parametrize("suffix", [".zst", ".binx"])
def test_an_object_that_is_gone_is_missing(dest: Path, suffix: str) -> None:
    objects(dest, 3, suffix).unlink()
    report = check(dest)
    assert report.has_missing
    assert "object_missing" in kinds(report)


@pytest.mark.parametrize("suffix", [".zst", ".binx"])
def test_flipped_bits_are_met(dest: Path, suffix: str) -> None:
    path = objects(dest, 3, suffix)
    data = path.read_bytes()
    for offset in range(0, len(data), len(data) // 7):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
        report = check(dest)
        assert not report.ok
        assert "object_changed" in kinds(report)
    path.write_bytes(data[:-1])
    assert not check(dest).ok


def test_a_manifest_that_is_damaged_is_reported(dest: Path) -> None:
    (manifest,) = (dest / "_manifest").glob("mysql-bin.000005*")
    manifest.write_bytes(b"{}")
    report = check(dest, SHOP)
    assert kinds(report) == {"manifest"}
    assert report.tail is not None
    assert [Path(log.path).name for log in report.tail] == ["mysql-bin.000005"]


def test_a_manifest_of_which_any_field_was_changed_is_reported(dest: Path) -> None:
    path = sorted(dest.glob("_manifest/*.json"))[0]
    whole = path.read_bytes()
    document = json.loads(whole)
    for name, value in document.items():
        for other in ("today", 1.5, None if isinstance(value, int) else 5):
            with pytest.raises(BinxError):
                decode_manifest(json.dumps(document | {name: other}).encode(), str(path))
    for name in ("transactions", "bytes"):
        path.write_bytes(whole.replace(f'"{name}": '.encode(), f'"{name}": 1'.encode(), 1))
        assert kinds(check(dest)) == {"manifest"}


@pytest.mark.parametrize("exists", [True, False])
def test_a_place_without_logs_is_no_archive(tmp_path: Path, exists: bool) -> None:
    """A name that is written wrong, and a disk that is not mounted, look like this."""
    dest = tmp_path / "archive"
    if exists:
        dest.mkdir()
    ended = binx("archive", "--check", "--to", dest)
    assert (ended.code, ended.out) == (4, "")
    assert "expected an archive, found no logs in it" in ended.err
    assert dest.exists() is exists


def test_a_log_between_others_is_missed(tmp_path: Path) -> None:
    archive(copy_logs(tmp_path / "logs", 1, 2, 4, 5), tmp_path / "archive")
    report = check(tmp_path / "archive")
    assert (kinds(report), report.has_missing) == ({"missing_file"}, True)
    assert str(report.missing_gtids) == f"{UUID}:821-1216"


def test_a_log_that_was_purged_before_it_was_archived_is_missed(tmp_path: Path) -> None:
    archive(copy_logs(tmp_path / "logs", 1, 2), tmp_path / "archive")
    assert check(tmp_path / "archive").ok
    report = check(tmp_path / "archive", copy_logs(tmp_path / "later", 4))
    assert (kinds(report), report.has_missing) == ({"missing_file"}, True)


def test_the_tail_is_reported(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    archive(source, tmp_path / "archive")
    data = bytearray((SHOP / "mysql-bin.000003").read_bytes()[:100_000])
    data[IN_USE_OFFSET] |= 1
    (source / "mysql-bin.000003").write_bytes(data)
    report = check(tmp_path / "archive", source)
    assert report.ok
    assert report.tail is not None
    (tail,) = report.tail
    assert (Path(tail.path).name, tail.closed, tail.bytes) == ("mysql-bin.000003", False, 100_000)
    assert tail.gtid_set & GtidSet.parse(f"{UUID}:1-820") == GtidSet()
    assert tail.gtid_set
    assert str(report.gtid_set) == f"{UUID}:1-820"


def test_gtids_that_two_logs_of_a_server_hold_are_an_overlap(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    with open_chain([str(SHOP / "mysql-bin.000001")]) as chain:
        wanted = Selection(gtids=GtidSet.parse(f"{UUID}:300-310"))
        extract(chain, wanted, str(source / "mysql-bin.000002"))
    shutil.copy(SHOP / "mysql-bin.000003", source)
    archive(source, tmp_path / "archive")
    report = check(tmp_path / "archive")
    overlap = [problem.gtid for problem in report.problems if problem.kind == "overlap"]
    assert overlap == [f"{UUID}:300-310"]


def test_a_crash_that_lost_nothing_is_a_note(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    data = (SHOP / "mysql-bin.000001").read_bytes()
    with open_chain([str(SHOP / "mysql-bin.000001")]) as chain:
        end = max(table.value("end", len(table) - 1) for table in Scan(chain[0].file))
    (source / "mysql-bin.000001").write_bytes(data[:end])
    archive(source, tmp_path / "archive")
    report = check(tmp_path / "archive")
    assert report.ok
    assert "server crashed" in report.notes[0]


def test_a_crash_that_lost_transactions_is_a_problem(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    data = (SHOP / "mysql-bin.000001").read_bytes()
    with open_chain([str(SHOP / "mysql-bin.000001")]) as chain:
        (table,) = list(Scan(chain[0].file))
        end = table.value("end", 99)
    (source / "mysql-bin.000001").write_bytes(data[:end])
    reports, run = archive(source, tmp_path / "archive")
    assert run.has_problems
    (problem,) = reports[0].archived.problems if reports[0].archived else ()
    assert f"mysql-bin.000002 lists {UUID}:101-374 as logged before it, which it lacks" in problem
    report = check(tmp_path / "archive")
    assert {"not_closed", "lost_gtids"} <= kinds(report)


def test_a_longer_copy_stands_for_a_shorter_one(tmp_path: Path) -> None:
    test_a_crash_that_lost_transactions_is_a_problem(tmp_path)
    archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive")
    report = check(tmp_path / "archive")
    assert report.ok
    assert ["a longer copy" in note for note in report.notes] == [True]


def test_objects_whose_manifest_is_lost_are_a_loss(dest: Path) -> None:
    (manifest,) = (dest / "_manifest").glob("mysql-bin.000005*")
    manifest.unlink()
    report = check(dest)
    assert report.has_missing
    assert [problem.kind for problem in report.problems] == ["manifest_missing"] * 2
    assert binx("archive", "--check", "--to", dest).code == 4


def test_what_an_active_run_writes_is_no_loss_and_what_lay_there_before_is(dest: Path) -> None:
    (lost,) = (dest / "_manifest").glob("mysql-bin.000004*")
    lost.unlink()
    (begun,) = (dest / "_manifest").glob("mysql-bin.000005*")
    begun.unlink()
    with LocalStore(dest).locked():
        objects(dest, 5, ".zst").touch()
        objects(dest, 5, ".binx").touch()
        for path in (objects(dest, 4, ".zst"), objects(dest, 4, ".binx")):
            os.utime(path, (0, path.stat().st_mtime - 60))
        report = check(dest)
        held = (dest / "_lock").read_bytes()
    assert [problem.path for problem in report.problems] == [
        str(objects(dest, 4, ".binx")),
        str(objects(dest, 4, ".zst")),
    ]
    assert sum("another run is archiving" in note for note in report.notes) == 2
    (dest / "_lock").write_bytes(held)  # As a run that was killed leaves it.
    os.utime(dest / "_lock", (0, 0))
    assert len(check(dest).problems) == 4


def test_a_check_changes_nothing(dest: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in dest.rglob("*")}
    check(dest, SHOP)
    assert {path: path.stat().st_mtime_ns for path in dest.rglob("*")} == before
    assert len(manifests(dest)) == 5


def test_numbering_that_began_anew_is_a_note(tmp_path: Path) -> None:
    archive(copy_logs(tmp_path / "logs", 4, 5), tmp_path / "archive")
    data = bytearray((SHOP / "mysql-bin.000001").read_bytes())
    later = int.from_bytes((SHOP / "mysql-bin.000005").read_bytes()[4:8], "little") + 1000
    data[4:8] = later.to_bytes(4, "little")
    archive_of_reset = copy_logs(tmp_path / "reset")
    (archive_of_reset / "mysql-bin.000001").write_bytes(with_checksum(data))
    archive(archive_of_reset, tmp_path / "archive")
    report = check(tmp_path / "archive")
    assert "numbering restarted" in report.notes[0]
    assert "missing_file" not in kinds(report)


def test_a_damaged_log_that_runs_leave_out_is_a_hole_when_later_ones_are_archived(tmp_path: Path) -> None:
    source, dest = tmp_path / "source", tmp_path / "archive"
    copy_logs(source, 1, 2, 3, 4, 5)
    damaged = source / "mysql-bin.000002"
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    archive(source, dest)
    report = check(dest, source)
    assert report.has_missing
    (hole,) = [problem for problem in report.problems if problem.kind == "not_archived"]
    assert hole.path == str(damaged)
    damaged.write_bytes(bytes(64) + data[64:])
    assert "not_archived" in kinds(check(dest, source))


def test_logs_that_are_not_archived_yet_are_no_hole(tmp_path: Path) -> None:
    source, dest = tmp_path / "source", tmp_path / "archive"
    copy_logs(source, 1, 2, 3)
    archive(source, dest)
    copy_logs(source, 4, 5)
    report = check(dest, source)
    assert report.ok
    assert report.tail
