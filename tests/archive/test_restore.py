"""What an archive gives back is what went in, and what it lets go is held elsewhere."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from binx.archive.manifest import decode_manifest, encode_manifest, manifest_name, read_manifests
from binx.archive.prune import expire
from binx.archive.report import ArchiveLogState
from binx.archive.restore import find_named, restore_log, restore_span
from binx.cli.run import run
from binx.errors import AbsentError, DamagedError, ExitCode, SourceError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.slices.extraction import extract
from binx.storage.store import LocalStore, open_store
from tests.archive.places import (
    IN_USE_OFFSET,
    MARIADB_SHOP,
    SHOP,
    UUID,
    archive,
    check,
    copy_logs,
    states,
    with_checksum,
)
from tests.cli.process import binx
from tests.log.building import flip

ACROSS = Selection(gtids=GtidSet.parse(f"{UUID}:370-380"))


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    archive(SHOP, tmp_path / "archive")
    return LocalStore(tmp_path / "archive")


def damage(store: LocalStore, number: int) -> None:
    (path,) = Path(store.where).glob(f"mysql-bin.{number:06}.*.zst")
    flip(path)


def test_every_log_comes_back_byte_for_byte(store: LocalStore, tmp_path: Path) -> None:
    for number in range(1, 6):
        name = f"mysql-bin.{number:06}"
        path = restore_log(store, find_named(store, name), str(tmp_path))
        assert Path(path) == tmp_path / name
        assert Path(path).read_bytes() == (SHOP / name).read_bytes()


def test_a_name_that_several_logs_have_asks_which(store: LocalStore, tmp_path: Path) -> None:
    archive(MARIADB_SHOP, store.where)
    with pytest.raises(UsageError, match="several logs") as caught:
        find_named(store, "mysql-bin.000003")
    for log in read_manifests(store)[0]:
        assert (log.stem in caught.value.message) == (log.name == "mysql-bin.000003")
        restore_log(store, find_named(store, log.stem), str(tmp_path / log.stem))
        shop = SHOP if log.flavour == "mysql" else MARIADB_SHOP
        assert (tmp_path / log.stem).read_bytes() == (shop / log.name).read_bytes()


def test_a_log_is_not_said_to_be_absent_whose_manifest_may_be_one_that_cannot_be_read(
    store: LocalStore,
) -> None:
    (manifest,) = Path(store.where).glob("_manifest/mysql-bin.000002.*")
    manifest.write_bytes(b"{")
    with pytest.raises(SourceError, match="1 cannot be read, see --check"):
        find_named(store, "mysql-bin.000002")
    assert find_named(store, "mysql-bin.000001").name == "mysql-bin.000001"


def test_damage_leaves_nothing(store: LocalStore, tmp_path: Path) -> None:
    damage(store, 1)
    with pytest.raises(DamagedError):
        restore_log(store, find_named(store, "mysql-bin.000001"), str(tmp_path / "out"))
    with pytest.raises(DamagedError):
        restore_span(store, ACROSS, str(tmp_path / "out"))
    assert {path.name for path in tmp_path.iterdir()} == {"archive"}


def test_another_log_in_its_place_is_noticed(store: LocalStore, tmp_path: Path) -> None:
    (first,) = Path(store.where).glob("mysql-bin.000001.*.zst")
    (second,) = Path(store.where).glob("mysql-bin.000002.*.zst")
    first.write_bytes(second.read_bytes())
    with pytest.raises(DamagedError, match="hash"):
        restore_log(store, find_named(store, "mysql-bin.000001"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "selection", [ACROSS, Selection(since=1_795_254_532_500_000, until=1_795_254_533_000_000)]
)
def test_a_span_is_what_extract_takes_from_the_logs(
    store: LocalStore, tmp_path: Path, selection: Selection
) -> None:
    report = restore_span(store, selection, str(tmp_path / "restored"))
    with open_chain([str(SHOP)]) as chain:
        direct = extract(chain, selection, str(tmp_path / "direct"))
    assert report.transactions == direct.transactions > 0
    assert (tmp_path / "restored").read_bytes() == (tmp_path / "direct").read_bytes()


def test_gtids_that_are_not_there_are_reported(store: LocalStore, tmp_path: Path) -> None:
    wanted = Selection(gtids=GtidSet.parse(f"{UUID}:1629-1631"))
    report = restore_span(store, wanted, str(tmp_path / "out"))
    assert (report.transactions, str(report.absent_gtids)) == (1, f"{UUID}:1630-1631")
    with pytest.raises(AbsentError):
        restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:5000")), str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_times_of_several_servers_ask_for_one(store: LocalStore, tmp_path: Path) -> None:
    archive(MARIADB_SHOP, store.where)
    with pytest.raises(UsageError, match=r"several servers \(10, 97\)"):
        restore_span(store, Selection(since=0), str(tmp_path / "out"))
    assert restore_span(store, Selection(since=0), str(tmp_path / "out"), 97).transactions == 1629
    assert restore_span(store, ACROSS, str(tmp_path / "out")).transactions == 11


def test_times_of_servers_that_have_one_id_are_refused(store: LocalStore, tmp_path: Path) -> None:
    """Logs of equal names whose times overlap; after RESET BINARY LOGS AND GTIDS they would not."""
    other = tmp_path / "other"
    copy_logs(other)
    for number in (1, 2):
        data = bytearray((SHOP / f"mysql-bin.{number:06}").read_bytes())
        data[4:8] = (int.from_bytes(data[4:8], "little") + 1).to_bytes(4, "little")
        (other / f"mysql-bin.{number:06}").write_bytes(with_checksum(data))
    archive(other, store.where)
    with pytest.raises(UsageError, match="several servers have the id 97"):
        restore_span(store, Selection(since=0), str(tmp_path / "out"))
    assert restore_span(store, ACROSS, str(tmp_path / "out")).transactions == 11


def test_who_restores_a_gtid_as_if_it_were_a_log_is_shown_how(tmp_path: Path) -> None:
    archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive")
    store = LocalStore(tmp_path / "archive")
    with pytest.raises(AbsentError, match="to restore transactions, use --gtid"):
        find_named(store, "bf1c133d-e590-11f1-8de0-02fc00000001:5")
    with pytest.raises(AbsentError, match=r"no log named mysql-bin.000099 in the archive$"):
        find_named(store, "mysql-bin.000099")


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
    assert [log for log, state in states(reports) if state == "pruned"] == LOGS[:3]
    assert (left(source), run.pruned, run.held) == (LOGS[3:], 3, 4)
    assert archive(source, tmp_path / "archive", prune_days=7)[1].is_idle


def test_nothing_goes_unasked_or_in_a_dry_run(source: Path, tmp_path: Path) -> None:
    archive(source, tmp_path / "archive")
    reports, run = archive(source, tmp_path / "archive", prune_days=7, dry_run=True)
    assert states(reports) == [(log, "would prune") for log in LOGS[:3]]
    assert (left(source), run.pruned) == (LOGS, 3)


def test_young_logs_stay_and_so_do_those_after_them(source: Path, tmp_path: Path) -> None:
    os.utime(source / LOGS[1])
    archive(source, tmp_path / "archive", prune_days=7)
    assert left(source) == LOGS[1:]


def test_logs_that_are_not_archived_stay_and_so_do_those_after_them(source: Path, tmp_path: Path) -> None:
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
    flip(path)
    reports, run = archive(source, tmp_path / "archive", prune_days=7)
    assert states(reports)[0] == (LOGS[0], "pruned")
    assert [report.state.value for report in reports[1:]] == ["failed"]
    assert (left(source), run.failed) == (LOGS[1:], 1)
    path.unlink()
    reports, run = archive(source, tmp_path / "archive", prune_days=7)
    assert states(reports)[0] == (LOGS[1], "archived")
    assert (left(source), run.failed) == (LOGS[-1:], 0)


@pytest.mark.parametrize("fault", ["manifest", "object"])
def test_nothing_goes_in_a_run_that_finds_a_fault_of_the_archive(
    source: Path, tmp_path: Path, fault: str
) -> None:
    """The log of the manifest is archived again; that of the object is no longer in the source."""
    dest = tmp_path / "archive"
    archive(source, dest)
    if fault == "manifest":
        next(dest.glob(f"_manifest/{LOGS[1]}.*")).write_bytes(b"{}")
    else:
        (source / LOGS[0]).unlink()
        next(dest.glob(f"{LOGS[0]}.*.zst")).unlink()
    before = left(source)
    reports, run = archive(source, dest, prune_days=7)
    assert ("failed" in dict(states(reports)).values(), run.pruned, left(source)) == (True, 0, before)
    if fault == "manifest":
        assert archive(source, dest, prune_days=7)[1].pruned == 3


def test_a_log_that_differs_in_its_middle_stays(source: Path, tmp_path: Path) -> None:
    archive(source, tmp_path / "archive")
    flip((source / LOGS[0]), 100_000)
    os.utime(source / LOGS[0], (0, 0))
    reports, run = archive(source, tmp_path / "archive", prune_days=7)
    assert (left(source), run.failed) == (LOGS, 1)
    assert "found others; the log is not deleted" in str(reports[0].error)


def test_what_a_server_has_in_its_index_is_left_to_the_server(source: Path, tmp_path: Path) -> None:
    shutil.copy(SHOP / "mysql-bin.index", source)
    shutil.copy(SHOP / "mysql-bin.000005", source)
    for path in (source, source / "mysql-bin.index"):
        _, run = archive(path, tmp_path / "archive", prune_days=7)
        assert run.purge == "PURGE BINARY LOGS TO 'mysql-bin.000005'"
        assert run.pruned == 0
        assert left(source) == [*LOGS, "mysql-bin.000005", "mysql-bin.index"]


def test_a_server_whose_logs_were_renamed_purges_up_to_one_that_it_knows(
    source: Path, tmp_path: Path
) -> None:
    (source / LOGS[2]).rename(source / "other-bin.000001")
    (source / "other-bin.index").write_text("./other-bin.000001\n")
    (source / "mysql-bin.index").write_text("".join(f"./{LOGS[number]}\n" for number in (0, 1, 3)))
    assert archive(source, tmp_path / "archive", prune_days=7)[1].purge == f"PURGE BINARY LOGS TO '{LOGS[3]}'"
    os.utime(source / "other-bin.000001")
    assert archive(source, tmp_path / "archive", prune_days=7)[1].purge == f"PURGE BINARY LOGS TO '{LOGS[1]}'"


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
def dest(tmp_path: Path) -> Path:
    """An archive of the shop's logs, all of which are old."""
    archive(SHOP, tmp_path / "archive")
    return tmp_path / "archive"


def stored_names(dest: Path) -> list[str]:
    return [log.name for log in read_manifests(open_store(str(dest)))[0]]


def test_all_but_the_newest_go_and_the_rest_is_whole(dest: Path) -> None:
    reports = list(expire(open_store(str(dest)), 0))
    assert {report.state for report in reports} == {ArchiveLogState.EXPIRED}
    assert [report.archived.name for report in reports if report.archived] == NAMES[:-1]
    assert stored_names(dest) == NAMES[-1:]
    assert len(list(dest.glob("mysql-bin.*"))) == 2
    report = check(dest)
    assert report.ok
    assert list(expire(open_store(str(dest)), 0)) == []


def test_logs_that_are_not_old_stay(dest: Path) -> None:
    assert list(expire(open_store(str(dest)), 100_000)) == []
    assert stored_names(dest) == NAMES


def test_a_dry_run_only_reports(dest: Path) -> None:
    reports = list(expire(open_store(str(dest)), 0, dry_run=True))
    assert {report.state for report in reports} == {ArchiveLogState.WOULD_EXPIRE}
    assert stored_names(dest) == NAMES


def test_nothing_goes_where_the_first_log_that_stays_is_not_whole(dest: Path) -> None:
    (log,) = dest.glob(f"{NAMES[-1]}.*.zst")
    flip(log)
    (report,) = expire(open_store(str(dest)), 0)
    assert report.state is ArchiveLogState.FAILED
    assert stored_names(dest) == NAMES


def test_nothing_goes_where_the_first_log_that_stays_does_not_list_what_goes(tmp_path: Path) -> None:
    """The manifest of another server's log stands in for one that does not know of those before."""
    dest = tmp_path / "archive"
    archive(copy_logs(tmp_path / "logs", 1, 2), dest)
    (manifest,) = (dest / "_manifest").glob(f"{NAMES[1]}.*")
    log = decode_manifest(manifest.read_bytes(), "")
    assert log.previous_gtids is not None
    strange = log.previous_gtids.replace("bf1c133d", "00000000")
    manifest.write_bytes(encode_manifest(replace(log, previous_gtids=strange)))
    (report,) = expire(open_store(str(dest)), 0)
    assert report.state is ArchiveLogState.FAILED
    assert stored_names(dest) == NAMES[:2]


def test_the_command_lists_and_expires_and_says_that_it_may_be_the_only_copy(
    dest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["archive", "--to", str(dest), "--list"]) is ExitCode.DONE
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [fields[0].rsplit(".", 1)[0] for fields in lines] == NAMES
    assert sum(int(fields[6]) for fields in lines) == 1629
    assert run(["archive", "--to", str(dest), "--expire", "0"]) is ExitCode.DONE
    printed = capsys.readouterr()
    assert printed.out.count("expired") == 4
    assert "may have been their only copy" in printed.err
    assert run(["archive", "--to", str(dest), "--list", "--check"]) is ExitCode.USAGE


def test_a_log_that_is_missing_within_a_span_of_time_is_reported(store: LocalStore, tmp_path: Path) -> None:
    logs, _ = read_manifests(store)
    logs.sort(key=lambda log: log.name)
    for name in (manifest_name(logs[1].stem), *(stored.path for stored in logs[1].objects)):
        store.remove(name)
    for selection, is_told in (
        (Selection(since=0), True),
        (Selection(until=logs[1].first_commit), True),
        (Selection(until=logs[0].last_commit), False),
        (Selection(since=logs[3].first_commit), False),
        (Selection(gtids=logs[0].gtids | logs[2].gtids), False),
    ):
        report = restore_span(store, selection, str(tmp_path / "out"))
        assert (report.damage != ()) is is_told
        assert all("expected mysql-bin.000002 to follow" in message for message in report.damage)
    command = ["archive", "--since", "2000-01-01", "--to", store.where, "-o", str(tmp_path / "out")]
    assert run(command) == ExitCode.LOSSES


def test_a_span_that_goes_beyond_the_archive_is_reported(store: LocalStore, tmp_path: Path) -> None:
    logs, _ = read_manifests(store)
    first, last = min(logs, key=lambda log: log.name), max(logs, key=lambda log: log.name)
    begun, ended = first.header_timestamp * 1_000_000, last.last_commit or 0
    for selection, texts in (
        (Selection(since=begun, until=ended), []),
        (Selection(since=begun - 1, until=ended), ["begins with mysql-bin.000001"]),
        (Selection(until=ended + 3_600_000_000), ["ends with mysql-bin.000005"]),
    ):
        report = restore_span(store, selection, str(tmp_path / "out"))
        assert all(text in warning for text, warning in zip(texts, report.warnings, strict=True))
        assert report.damage == ()


def test_gtids_that_a_server_gave_again_are_reported(tmp_path: Path) -> None:
    """The shop's first log, and it again as if begun a day later, after a reset."""
    early, late = copy_logs(tmp_path / "early", 1), copy_logs(tmp_path / "late", 1)
    log = late / NAMES[0]
    data = bytearray(log.read_bytes())
    data[4:8] = (int.from_bytes(data[4:8], "little") + 86_400).to_bytes(4, "little")
    log.write_bytes(with_checksum(data))
    for source in (early, late):
        archive(source, tmp_path / "archive")
    selection = Selection(gtids=GtidSet.parse(f"{UUID}:3-4"))
    report = restore_span(open_store(str(tmp_path / "archive")), selection, str(tmp_path / "slice"))
    assert report.transactions == 2
    (sentence,) = report.damage
    assert f"has other transactions of {UUID}:3-4, which are not restored" in sentence
    ended = binx("ls", "--gtid", f"{UUID}:3-4", early / NAMES[0], log)
    assert ended.code == 0
    assert f"{log}: not read, although GTIDs begin again with it" in ended.err


def test_logs_whose_base_name_changed_and_changed_back_are_restored_in_order_and_expire(
    tmp_path: Path,
) -> None:
    source, dest = copy_logs(tmp_path / "logs", 1, 2, 4, 5), tmp_path / "archive"
    shutil.copy(SHOP / "mysql-bin.000003", source / "other-bin.000001")
    archive(source, dest)
    report = check(dest)
    assert ["name changed" in note for note in report.notes] == [True, True]
    assert {problem.kind for problem in report.problems} == set()
    store = open_store(str(dest))
    span = restore_span(store, Selection(since=0), str(tmp_path / "span"))
    assert (span.transactions, span.damage) == (1629, ())
    with open_chain([str(tmp_path / "span")]) as chain:
        times = [
            time
            for table in Scan(chain[0].file)
            for time in memoryview(table.column("commit_timestamp")).cast("q")
        ]
    assert times == sorted(times)
    *_, newest, other = read_manifests(store)[0]
    assert (newest.name, other.name) == ("mysql-bin.000005", "other-bin.000001")
    listed = replace(newest, previous_gtids=str(GtidSet.parse(newest.previous_gtids or "") - other.gtids))
    (dest / manifest_name(newest.stem)).write_bytes(encode_manifest(listed))
    assert {report.state for report in expire(store, 0)} == {ArchiveLogState.EXPIRED}
    assert stored_names(dest) == ["mysql-bin.000005"]
