"""Taking logs into an archive: which ones, what then stands there, and that it is all of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from binx.archive.manifest import ArchivedLog, read_manifest
from binx.errors import OutputError, RefusedError
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_chain
from binx.log.index.index_file import IndexFile
from binx.log.index.lookup import IndexUse
from binx.log.index.writer import examine_index
from binx.log.scan import Scan
from binx.storage.store import LocalStore, Store
from testdata import encrypted
from tests.archive.places import (
    IN_USE,
    IN_USE_OFFSET,
    MARIADB_SHOP,
    SHOP,
    archive,
    check_manifests,
    copy_logs,
    manifests,
    states,
)
from tests.exports import contents
from tests.log.building import flip


def found_in(file: BinlogFile) -> list[tuple[int, int, str | None]]:
    return [
        (table.value("start", i), table.value("end", i), table.gtid(i))
        for table in Scan(file)
        for i in range(len(table))
    ]


def test_every_closed_log_is_taken_and_the_source_stays(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2, 3)
    before = contents(source)
    reports, run = archive(source, tmp_path / "archive")
    assert states(reports) == [(f"mysql-bin.00000{n}", "archived") for n in (1, 2, 3)]
    assert (run.held, run.archived, run.open) == (3, 3, ())
    assert contents(source) == before
    check_manifests(tmp_path / "archive")


def test_zstd_restores_the_identical_log(tmp_path: Path) -> None:
    archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive")
    (stored,) = (tmp_path / "archive").glob("*.zst")
    try:
        restored = subprocess.run(["zstd", "-q", "-dc", stored], check=True, capture_output=True).stdout
    except FileNotFoundError:
        pytest.skip("zstd is not installed")
    assert restored == (SHOP / "mysql-bin.000001").read_bytes()
    assert manifests(tmp_path / "archive")[0]["sha256"] == hashlib.sha256(restored).hexdigest()


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    archive(source, tmp_path / "archive")
    before = contents(tmp_path / "archive")
    reports, run = archive(source, tmp_path / "archive")
    assert (reports, run.held, run.archived) == ([], 2, 0)
    assert contents(tmp_path / "archive") == before


@pytest.mark.parametrize("suffix", ["zst", "binx"])
def test_a_log_is_archived_again_of_which_an_object_is_gone(tmp_path: Path, suffix: str) -> None:
    source, dest = copy_logs(tmp_path / "logs", 1, 2), tmp_path / "archive"
    archive(source, dest)
    before = contents(dest)
    next(dest.glob(f"mysql-bin.000001.*.{suffix}")).unlink()
    reports, run = archive(source, dest)
    assert (states(reports), run.held) == ([("mysql-bin.000001", "archived")], 2)
    assert contents(dest) == before


def test_an_object_is_missed_by_each_run_when_the_source_has_its_log_no_more(tmp_path: Path) -> None:
    source, dest = copy_logs(tmp_path / "logs", 1, 2, 3), tmp_path / "archive"
    archive(source, dest)
    gone = next(dest.glob("mysql-bin.000001.*.zst"))
    gone.unlink()
    (source / "mysql-bin.000001").unlink()
    for _ in range(2):
        reports, run = archive(source, dest)
        assert (states(reports), run.held, run.failed) == ([(gone.stem, "failed")], 3, 1)
        assert f"delete _manifest/{gone.stem}.json" in str(reports[0].error)


def test_a_run_reads_only_the_manifests_of_logs_that_the_source_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dest = tmp_path / "archive"
    archive(copy_logs(tmp_path / "all", 1, 2, 3), dest)
    read: list[str] = []

    def recorded(store: Store, name: str) -> ArchivedLog:
        read.append(name)
        return read_manifest(store, name)

    monkeypatch.setattr("binx.archive.manifest.read_manifest", recorded)
    reports, run = archive(copy_logs(tmp_path / "logs", 3), dest)
    assert (reports, run.held) == ([], 3)
    assert [name.partition(".0000")[2][:2] for name in read] == ["03"]


def test_a_log_that_lacks_an_object_waits_for_a_later_run_as_others_do(tmp_path: Path) -> None:
    source, dest = copy_logs(tmp_path / "logs", 1, 2, 3), tmp_path / "archive"
    archive(source, dest)
    for gone in dest.glob("mysql-bin.00000[12].*.zst"):
        gone.unlink()
    reports, run = archive(source, dest, max_files=1)
    assert (states(reports), run.remaining) == ([("mysql-bin.000001", "archived")], 1)
    reports, run = archive(source, dest)
    assert (states(reports), run.held) == ([("mysql-bin.000002", "archived")], 3)


def test_one_run_and_several_leave_the_same(tmp_path: Path) -> None:
    archive(copy_logs(tmp_path / "logs", 1, 2, 3), tmp_path / "at once")
    for number in (1, 2, 3):
        archive(copy_logs(tmp_path / "growing", number), tmp_path / "one by one")
    assert contents(tmp_path / "at once") == contents(tmp_path / "one by one")


def test_commands_read_the_archive_in_place(tmp_path: Path) -> None:
    archive(SHOP, tmp_path / "archive")
    with open_chain([str(SHOP)]) as chain, open_chain([str(tmp_path / "archive")]) as stored:
        assert [ends.file.name for ends in stored] == [ends.file.name for ends in chain]
        assert [ends.file.file_number for ends in stored] == [1, 2, 3, 4, 5]
        assert [found_in(ends.file) for ends in stored] == [found_in(ends.file) for ends in chain]


def test_each_log_has_an_index_that_is_true_and_is_used(tmp_path: Path) -> None:
    archive(SHOP, tmp_path / "archive")
    warnings: list[object] = []
    paths = sorted(map(str, (tmp_path / "archive").glob("*.zst")))
    with open_chain(paths, index=IndexUse(None, warnings.append)) as chain:
        for ends in chain:
            assert isinstance(ends.file.index, IndexFile)
            assert examine_index(ends.file, ends.file.index.path).state == "true"
    assert warnings == []


def test_logs_of_one_name_live_side_by_side(tmp_path: Path) -> None:
    archive(SHOP, tmp_path / "archive")
    archive(MARIADB_SHOP, tmp_path / "archive")
    documents = manifests(tmp_path / "archive")
    assert len(documents) == 10
    assert len({document["name"] for document in documents}) == 5
    check_manifests(tmp_path / "archive")
    with open_chain([str(tmp_path / "archive")]) as chain:
        assert len(chain) == 10


def test_a_longer_copy_of_a_log_is_another_log(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    with BinlogFile.open(str(SHOP / "mysql-bin.000001")) as file:
        _, end, _ = found_in(file)[100]
    os.truncate(source / "mysql-bin.000001", end)
    archive(source, tmp_path / "archive")
    _, run = archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive")
    assert (run.archived, run.held) == (1, 3)
    assert len({(log["name"], log["identity"]) for log in manifests(tmp_path / "archive")}) == 2


class TestClosed:
    def test_the_newest_log_without_an_end_is_left(self, tmp_path: Path) -> None:
        source = copy_logs(tmp_path / "logs")
        shutil.copy(IN_USE, source)
        reports, run = archive(source, tmp_path / "archive")
        assert (reports, run.held) == ([], 0)
        assert run.open == (str(source / "mysql-bin.000001"),)

    def test_a_log_that_a_crash_left_in_use_is_closed_by_the_next_one(self, tmp_path: Path) -> None:
        source = copy_logs(tmp_path / "logs", 2)
        data = bytearray((SHOP / "mysql-bin.000001").read_bytes()[:-10])
        data[IN_USE_OFFSET] |= 1
        (source / "mysql-bin.000001").write_bytes(data)
        reports, _ = archive(source, tmp_path / "archive")
        assert states(reports) == [("mysql-bin.000001", "archived"), ("mysql-bin.000002", "archived")]
        first = manifests(tmp_path / "archive")[0]
        assert (first["in_use"], first["ending"]) == (True, "in use")
        check_manifests(tmp_path / "archive")

    def test_a_log_that_mariadb_has_yet_to_unmark_waits_for_the_second_next(self, tmp_path: Path) -> None:
        source = copy_logs(tmp_path / "logs", 2, shop=MARIADB_SHOP)
        data = bytearray((MARIADB_SHOP / "mysql-bin.000001").read_bytes())
        data[IN_USE_OFFSET] |= 1
        (source / "mysql-bin.000001").write_bytes(data)
        assert states(archive(source, tmp_path / "archive")[0]) == [("mysql-bin.000002", "archived")]
        copy_logs(source, 3, shop=MARIADB_SHOP)
        reports, _ = archive(source, tmp_path / "archive")
        assert states(reports) == [("mysql-bin.000001", "archived"), ("mysql-bin.000003", "archived")]

    def test_a_log_that_was_only_just_made_is_no_error(self, tmp_path: Path) -> None:
        source = copy_logs(tmp_path / "logs", 1)
        for begun in (b"", b"\xfebin", (SHOP / "mysql-bin.000002").read_bytes()[:60]):
            (source / "mysql-bin.000002").write_bytes(begun)
            (source / "mysql-bin.index").write_text("./mysql-bin.000001\n./mysql-bin.000002\n")
            _, run = archive(source, tmp_path / "archive")
            assert (run.held, run.failed) == (1, 0)

    def test_a_small_file_that_is_no_log_is_reported(self, tmp_path: Path) -> None:
        source = copy_logs(tmp_path / "logs", 1)
        (source / "mysql-bin.000002").write_bytes(b"no log\n")
        (source / "mysql-bin.index").write_text("./mysql-bin.000001\n./mysql-bin.000002\n")
        _, run = archive(source, tmp_path / "archive")
        assert (run.held, run.failed) == (1, 1)


class TestRefusals:
    def test_a_damaged_log_is_not_taken_and_the_others_are(self, tmp_path: Path) -> None:
        source = copy_logs(tmp_path / "logs", 1, 2, 3)
        flip((source / "mysql-bin.000002"), 100_000)
        reports, run = archive(source, tmp_path / "archive")
        assert [state for _, state in states(reports)] == ["archived", "damaged", "archived"]
        assert (run.held, run.damaged) == (2, 1)
        assert "checksum" in str(reports[1].facts()["problems"])
        assert not list((tmp_path / "archive").glob("mysql-bin.000002*"))
        _, later = archive(copy_logs(source, 2), tmp_path / "archive")
        assert (later.held, later.damaged) == (3, 0)

    def test_an_encrypted_log_is_taken_only_when_that_is_wanted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keyrings = [str(encrypted.FOLDER / name) for name in (encrypted.KEYRING_BEFORE, encrypted.KEYRING)]
        monkeypatch.setenv("BINX_KEYRING", os.pathsep.join(keyrings))
        source = tmp_path / "logs"
        source.mkdir()
        shutil.copy(encrypted.FOLDER / encrypted.LOGS[0], source)
        reports, run = archive(source, tmp_path / "archive")
        assert (run.failed, run.held) == (1, 0)
        assert isinstance(reports[0].error, RefusedError)
        assert not list((tmp_path / "archive").glob("*.zst"))
        _, run = archive(source, tmp_path / "archive", decrypt=True)
        (manifest,) = manifests(tmp_path / "archive")
        plain = (encrypted.FOLDER / "decrypted" / encrypted.LOGS[0]).read_bytes()
        assert manifest["sha256"] == hashlib.sha256(plain).hexdigest()
        assert (manifest["decrypted"], run.failed) == (True, 0)

    def test_an_encrypted_log_without_its_key_is_an_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("BINX_KEYRING", "BINX_KEY_FILE", "BINX_KEY"):
            monkeypatch.delenv(name, raising=False)
        source = copy_logs(tmp_path / "logs", 1)
        shutil.copy(encrypted.FOLDER / encrypted.LOGS[1], source / "mysql-bin.000002")
        reports, run = archive(source, tmp_path / "archive", decrypt=True)
        assert sorted(states(reports)) == [("mysql-bin.000001", "archived"), ("mysql-bin.000002", "failed")]
        assert (run.held, run.failed) == (1, 1)

    def test_two_runs_at_once_are_one_too_many(self, tmp_path: Path) -> None:
        store = LocalStore(tmp_path / "archive")
        with store.locked(), pytest.raises(OutputError, match=rf"another binx process \({os.getpid()}\)"):
            archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive")
        _, run = archive(tmp_path / "logs", tmp_path / "archive")
        assert run.held == 1


def test_limits_leave_the_rest_for_the_next_run(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2, 3)
    reports, run = archive(source, tmp_path / "archive", max_files=2)
    assert states(reports) == [("mysql-bin.000001", "archived"), ("mysql-bin.000002", "archived")]
    assert run.remaining == 1
    assert archive(source, tmp_path / "archive", max_seconds=0)[1].remaining == 1
    assert archive(source, tmp_path / "archive", max_files=2)[1].held == 3


def test_a_dry_run_reports_and_writes_nothing(tmp_path: Path) -> None:
    reports, run = archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive", dry_run=True)
    assert states(reports) == [("mysql-bin.000001", "would archive")]
    assert (run.archived, run.held) == (1, 0)
    assert not (tmp_path / "archive").exists()


def test_leftovers_of_a_killed_run_go(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1)
    archive(source, tmp_path / "archive")
    before = contents(tmp_path / "archive")
    for folder in ("", "_manifest"):
        (tmp_path / "archive" / folder / ".binx-0123456789ab.tmp").write_bytes(b"half")
    archive(source, tmp_path / "archive")
    assert contents(tmp_path / "archive") == before


def test_a_manifest_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    archive(source, tmp_path / "archive")
    before = contents(tmp_path / "archive")
    (manifest, _) = sorted((tmp_path / "archive" / "_manifest").iterdir())
    for damage in (b"", b"{", b"[]", b"null", manifest.read_bytes().replace(b"mysql-bin", b"../../bin")):
        manifest.write_bytes(damage)
        reports, run = archive(source, tmp_path / "archive")
        assert [report.state.value for report in reports] == ["failed", "archived"]
        assert (run.failed, run.held) == (1, 2)
        assert contents(tmp_path / "archive") == before
