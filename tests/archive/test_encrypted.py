"""Archives that are encrypted with age: what stands there, who reads it, and what is told without a key."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import zstandard

from binx.archive.objects import Storage
from binx.archive.restore import find_named, restore_log
from binx.errors import OutputError, RefusedError, UsageError
from binx.storage.store import LocalStore
from testdata import encrypted as encrypted_logs
from tests.archive.places import (
    SHOP,
    archive,
    check,
    check_manifests,
    contents,
    copy_logs,
    manifests,
    states,
)
from tests.source.ages import Key, decrypted


def objects(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.is_file() and path.name != "_lock")


class TestWhatStandsThere:
    def test_all_objects_are_encrypted_and_the_manifest_says_to_whom(self, sealed: Path, key: Key) -> None:
        check_manifests(sealed)
        assert len(objects(sealed)) == 10
        for path in objects(sealed):
            assert path.name.endswith((".zst.age", ".binx.age"))
            assert path.read_bytes().startswith(b"age-encryption.org/v1\n")
        for manifest in manifests(sealed):
            assert manifest["recipients"] == [key.text]
            assert manifest["decrypted"] is False

    def test_rage_and_zstd_restore_the_identical_log(self, sealed: Path, key: Key) -> None:
        sealed_logs = list(sealed.glob("*.zst.age"))
        assert len(sealed_logs) == 5
        for path in sealed_logs:
            log = SHOP / path.name[: len("mysql-bin.000001")]
            stream = zstandard.ZstdDecompressor().stream_reader(
                decrypted(path.read_bytes(), key.path), read_across_frames=True
            )
            assert stream.read() == log.read_bytes()

    def test_age_and_zstd_as_programs_do(self, sealed: Path, key: Key) -> None:
        (path,) = sealed.glob("*000001*.zst.age")
        try:
            plain = subprocess.run(
                ["age", "-d", "-i", key.path, path], capture_output=True, check=True
            ).stdout
            log = subprocess.run(["zstd", "-dc"], input=plain, capture_output=True, check=True).stdout
        except FileNotFoundError:
            pytest.skip("age or zstd is not installed")
        assert log == (SHOP / "mysql-bin.000001").read_bytes()

    def test_names_of_tables_which_a_plain_archive_tells_are_in_no_file(
        self, sealed: Path, tmp_path: Path
    ) -> None:
        def tells(place: Path) -> bool:
            return any(b"customers" in path.read_bytes() for path in place.rglob("*") if path.is_file())

        archive(copy_logs(tmp_path / "logs", 1), tmp_path / "plain")
        assert (tells(tmp_path / "plain"), tells(sealed)) == (True, False)


class TestRuns:
    def test_a_second_run_changes_nothing(self, sealed: Path, key: Key, tmp_path: Path) -> None:
        before = contents(sealed)
        assert archive(SHOP, sealed, recipients=(key.text,))[1].is_idle
        assert archive(SHOP, sealed, recipients=(Key(tmp_path, "other").text,))[1].is_idle
        assert archive(SHOP, sealed)[1].is_idle
        assert contents(sealed) == before

    def test_what_was_archived_in_the_clear_stays_and_is_told(self, tmp_path: Path, key: Key) -> None:
        archive(copy_logs(tmp_path / "logs", 1, 2), tmp_path / "archive")
        before = contents(tmp_path / "archive")
        reports, _ = archive(SHOP, tmp_path / "archive", recipients=(key.text,))
        assert [log for log, _ in states(reports)] == [f"mysql-bin.00000{number}" for number in (3, 4, 5)]
        assert contents(tmp_path / "archive").items() >= before.items()
        report = check(tmp_path / "archive")
        assert (report.ok, report.logs, report.encrypted) == (True, 5, 3)
        assert any("2 of 5 logs are not encrypted" in note for note in report.notes)

    def test_what_a_killed_run_left_in_the_clear_goes(self, tmp_path: Path, key: Key) -> None:
        source, place = copy_logs(tmp_path / "logs", 1), tmp_path / "archive"
        archive(source, place)
        (manifest,) = (place / "_manifest").iterdir()
        manifest.unlink()
        assert any(path.suffix == ".zst" for path in place.iterdir())
        archive(source, place, recipients=(key.text,))
        assert [path.suffix for path in objects(place)] == [".age", ".age"]

    def test_logs_that_their_server_encrypted_are_taken(
        self, tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = encrypted_logs.FOLDER
        keyrings = [str(folder / name) for name in (encrypted_logs.KEYRING_BEFORE, encrypted_logs.KEYRING)]
        monkeypatch.setenv("BINX_KEYRING", os.pathsep.join(keyrings))
        source, place = tmp_path / "logs", tmp_path / "archive"
        source.mkdir()
        shutil.copy(folder / encrypted_logs.LOGS[0], source)
        reports, _ = archive(source, place)
        assert isinstance(reports[0].error, RefusedError)
        assert "--encrypt-to" in str(reports[0].error)
        assert archive(source, place, recipients=(key.text,))[1].held == 1
        (manifest,) = manifests(place)
        assert manifest["decrypted"] is False
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        store = LocalStore(place)
        restore_log(store, find_named(store, manifest["name"]), str(tmp_path / "restored"))
        plain = folder / "decrypted" / encrypted_logs.LOGS[0]
        assert (tmp_path / "restored").read_bytes() == plain.read_bytes()

    def test_an_archive_is_encrypted_to_others_by_archiving_it(
        self, sealed: Path, key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = Key(tmp_path, "other")
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        reports, _ = archive(sealed, tmp_path / "plain")
        assert {type(report.error) for report in reports} == {RefusedError}
        archive(sealed, tmp_path / "new", recipients=(other.text,))
        monkeypatch.setenv("BINX_IDENTITY", str(other.path))
        assert check(tmp_path / "new").ok
        before, after = (
            [(one["name"], one["sha256"], one["gtid_set"]) for one in manifests(place)]
            for place in (sealed, tmp_path / "new")
        )
        assert before == after

    def test_damaged_logs_are_kept_encrypted(
        self, tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source, place = copy_logs(tmp_path / "logs", 1, 2, 3), tmp_path / "archive"
        bent = {}
        for number, at in ((1, 100_000), (2, 30)):
            data = bytearray((source / f"mysql-bin.00000{number}").read_bytes())
            data[at] ^= 1
            (source / f"mysql-bin.00000{number}").write_bytes(data)
            bent[f"mysql-bin.00000{number}"] = bytes(data)
        archive(source, place, recipients=(key.text,), keep_damaged=True)
        assert len(list(place.glob("*.zst.age"))) == 3
        assert len(list(place.glob("*.binx.age"))) == 1
        assert archive(source, place, recipients=(key.text,), keep_damaged=True)[1].archived == 0
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        store = LocalStore(place)
        for name, content in bent.items():
            restore_log(store, find_named(store, name), str(tmp_path / name))
            assert (tmp_path / name).read_bytes() == content

    @pytest.mark.parametrize("at", [0, 30, 80, 170, 300, 5_000, -1])
    def test_a_disk_that_changes_a_byte_is_met_before_the_commit(
        self, at: int, tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened = Storage.open

        def bend(self: Storage, *arguments: Any) -> Any:
            (path,) = (tmp_path / "archive").glob("*.zst.age")
            data = bytearray(path.read_bytes())
            data[at] ^= 1
            path.write_bytes(data)
            return opened(self, *arguments)

        monkeypatch.setattr(Storage, "open", bend)
        # What is hashed first is right still: it is the decrypted bytes that tell.
        with pytest.raises(OutputError, match="does not return what was written"):
            archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive", recipients=(key.text,))
        assert manifests(tmp_path / "archive") == []

    def test_logs_are_pruned_without_an_identity(self, tmp_path: Path, key: Key) -> None:
        source = copy_logs(tmp_path / "logs", 1, 2, 3)
        for path in source.iterdir():
            os.utime(path, (0, 0))
        reports, _ = archive(source, tmp_path / "archive", recipients=(key.text,), prune_days=1)
        pruned = [log for log, state in states(reports) if state == "pruned"]
        assert pruned == ["mysql-bin.000001", "mysql-bin.000002"]

    def test_nothing_is_pruned_that_the_archive_does_not_hold_as_it_was(
        self, tmp_path: Path, key: Key
    ) -> None:
        source, place = copy_logs(tmp_path / "logs", 1, 2, 3), tmp_path / "archive"
        for path in source.iterdir():
            os.utime(path, (0, 0))
        archive(source, place, recipients=(key.text,))
        (stored,) = place.glob("*000001*.zst.age")
        data = bytearray(stored.read_bytes())
        data[-1] ^= 1
        stored.write_bytes(data)
        assert archive(source, place, recipients=(key.text,), prune_days=1)[1].pruned == 0


class TestTables:
    def test_they_are_refused_where_nobody_said_that_rows_may_be_in_the_clear(
        self, tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source, place, lake = copy_logs(tmp_path / "logs", 1), tmp_path / "archive", tmp_path / "lake"
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        with pytest.raises(UsageError, match="requires --decrypt"):
            archive(source, place, recipients=(key.text,), parquet=str(lake))
        monkeypatch.delenv("BINX_IDENTITY")
        with pytest.raises(UsageError, match="requires --identity"):
            archive(source, place, recipients=(key.text,), parquet=str(lake), decrypt=True)
        assert not place.exists()
        assert not lake.exists()

    def test_they_are_those_of_an_archive_in_the_clear(
        self, tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = copy_logs(tmp_path / "logs", 1, 2)
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        lake = str(tmp_path / "lake")
        archive(source, tmp_path / "archive", recipients=(key.text,), parquet=lake, decrypt=True)
        archive(source, tmp_path / "plain", parquet=str(tmp_path / "other"))
        assert contents(tmp_path / "lake") == contents(tmp_path / "other")
