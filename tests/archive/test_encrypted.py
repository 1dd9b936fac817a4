"""Archives that are encrypted with age: what stands there, who reads it, what is told without a key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import zstandard

from binx.archive.check import check_archive
from binx.archive.objects import Storage
from binx.archive.restore import find_named, restore_log, restore_span
from binx.errors import EncryptedError, OutputError, RefusedError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.index.lookup import IndexUse
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.report.document import document
from binx.storage.store import LocalStore, open_store
from testdata import encrypted as encrypted_logs
from tests.archive.places import (
    MARIADB_SHOP,
    SHOP,
    UUID,
    archive,
    check,
    check_manifests,
    copy_logs,
    manifests,
    states,
)
from tests.cli.process import binx
from tests.exports import contents
from tests.log.building import flip
from tests.object_store import Bucket
from tests.source.ages import Key, decrypted


def objects(dest: Path) -> list[Path]:
    return sorted(path for path in dest.iterdir() if path.is_file() and path.name != "_lock")


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

    def test_names_of_tables_which_a_plain_archive_has_are_in_no_file(
        self, sealed: Path, tmp_path: Path
    ) -> None:
        def tells(dest: Path) -> bool:
            return any(b"customers" in path.read_bytes() for path in dest.rglob("*") if path.is_file())

        archive(copy_logs(tmp_path / "logs", 1), tmp_path / "plain")
        assert (tells(tmp_path / "plain"), tells(sealed)) == (True, False)


class TestRuns:
    def test_a_second_run_changes_nothing(self, sealed: Path, key: Key, tmp_path: Path) -> None:
        before = contents(sealed)
        assert archive(SHOP, sealed, recipients=(key.text,))[1].is_idle
        assert archive(SHOP, sealed, recipients=(Key(tmp_path, "other").text,))[1].is_idle
        assert archive(SHOP, sealed)[1].is_idle
        assert contents(sealed) == before

    def test_what_was_archived_in_the_clear_stays_and_is_reported(self, tmp_path: Path, key: Key) -> None:
        archive(copy_logs(tmp_path / "logs", 1, 2), tmp_path / "archive")
        before = contents(tmp_path / "archive")
        reports, _ = archive(SHOP, tmp_path / "archive", recipients=(key.text,))
        assert [log for log, _ in states(reports)] == [f"mysql-bin.00000{number}" for number in (3, 4, 5)]
        assert contents(tmp_path / "archive").items() >= before.items()
        report = check(tmp_path / "archive")
        assert (report.ok, report.logs, report.encrypted) == (True, 5, 3)
        assert any("2 of 5 logs are not encrypted" in note for note in report.notes)

    def test_what_a_killed_run_left_in_the_clear_goes(self, tmp_path: Path, key: Key) -> None:
        source, dest = copy_logs(tmp_path / "logs", 1), tmp_path / "archive"
        archive(source, dest)
        (manifest,) = (dest / "_manifest").iterdir()
        manifest.unlink()
        assert any(path.suffix == ".zst" for path in dest.iterdir())
        archive(source, dest, recipients=(key.text,))
        assert [path.suffix for path in objects(dest)] == [".age", ".age"]

    def test_logs_that_their_server_encrypted_are_taken(
        self, tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = encrypted_logs.FOLDER
        keyrings = [str(folder / name) for name in (encrypted_logs.KEYRING_BEFORE, encrypted_logs.KEYRING)]
        monkeypatch.setenv("BINX_KEYRING", os.pathsep.join(keyrings))
        source, dest = tmp_path / "logs", tmp_path / "archive"
        source.mkdir()
        shutil.copy(folder / encrypted_logs.LOGS[0], source)
        reports, _ = archive(source, dest)
        assert isinstance(reports[0].error, RefusedError)
        assert "--encrypt-to" in str(reports[0].error)
        assert archive(source, dest, recipients=(key.text,))[1].held == 1
        (manifest,) = manifests(dest)
        assert manifest["decrypted"] is False
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        store = LocalStore(dest)
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
            [(manifest["name"], manifest["sha256"], manifest["gtid_set"]) for manifest in manifests(dest)]
            for dest in (sealed, tmp_path / "new")
        )
        assert before == after

    def test_damaged_logs_are_kept_encrypted(
        self, tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source, dest = copy_logs(tmp_path / "logs", 1, 2, 3), tmp_path / "archive"
        bent = {}
        for number, at in ((1, 100_000), (2, 30)):
            data = bytearray((source / f"mysql-bin.00000{number}").read_bytes())
            data[at] ^= 1
            (source / f"mysql-bin.00000{number}").write_bytes(data)
            bent[f"mysql-bin.00000{number}"] = bytes(data)
        archive(source, dest, recipients=(key.text,), keep_damaged=True)
        assert len(list(dest.glob("*.zst.age"))) == 3
        assert len(list(dest.glob("*.binx.age"))) == 1
        assert archive(source, dest, recipients=(key.text,), keep_damaged=True)[1].archived == 0
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        store = LocalStore(dest)
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
        source, dest = copy_logs(tmp_path / "logs", 1, 2, 3), tmp_path / "archive"
        for path in source.iterdir():
            os.utime(path, (0, 0))
        archive(source, dest, recipients=(key.text,))
        (stored,) = dest.glob("*000001*.zst.age")
        flip(stored, -1)
        assert archive(source, dest, recipients=(key.text,), prune_days=1)[1].pruned == 0


class TestTables:
    def test_they_are_refused_where_nobody_said_that_rows_may_be_in_the_clear(
        self, tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source, dest, lake = copy_logs(tmp_path / "logs", 1), tmp_path / "archive", tmp_path / "lake"
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        with pytest.raises(UsageError, match="requires --decrypt"):
            archive(source, dest, recipients=(key.text,), parquet=str(lake))
        monkeypatch.delenv("BINX_IDENTITY")
        with pytest.raises(UsageError, match="requires --identity"):
            archive(source, dest, recipients=(key.text,), parquet=str(lake), decrypt=True)
        assert not dest.exists()
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


class TestCheck:
    def test_no_identity_is_needed_and_all_is_reported_as_of_a_plain_archive(
        self, sealed: Path, tmp_path: Path
    ) -> None:
        archive(SHOP, tmp_path / "plain")
        plain, report = (
            document("archive_check", check(folder, SHOP)) for folder in (tmp_path / "plain", sealed)
        )
        differing = {name for name in plain if plain[name] != report[name]}
        assert differing == {"stored_bytes", "encrypted"}
        assert (report["check"], report["logs"], report["encrypted"]) == ("ok", 5, 5)
        assert (report["gtid_set"], report["tail"]) == (f"{UUID}:1-1629", [])

    @pytest.mark.parametrize("suffix", [".zst.age", ".binx.age"])
    def test_a_changed_and_a_missing_object_are_found_without_an_identity(
        self, sealed: Path, suffix: str
    ) -> None:
        (stored,) = sealed.glob(f"*000002*{suffix}")
        flip(stored)
        assert [problem.kind for problem in check(sealed).problems][:1] == ["object_changed"]
        stored.unlink()
        assert check(sealed).has_missing

    def test_a_missing_log_is_found_by_the_manifests_alone(self, sealed: Path) -> None:
        for path in sealed.rglob("*000003*"):
            path.unlink()
        report = check(sealed)
        assert {problem.kind for problem in report.problems} >= {"missing_file"}
        assert report.has_missing

    def test_so_is_one_of_mariadb(self, tmp_path: Path, key: Key) -> None:
        archive(MARIADB_SHOP, tmp_path / "archive", recipients=(key.text,))
        assert check(tmp_path / "archive").ok
        for path in (tmp_path / "archive").rglob("*000003*"):
            path.unlink()
        assert "missing_file" in {problem.kind for problem in check(tmp_path / "archive").problems}

    def test_a_log_that_follows_in_the_source_is_held_against_the_archived_ones(
        self, tmp_path: Path, key: Key
    ) -> None:
        archive(copy_logs(tmp_path / "logs", 1, 2), tmp_path / "archive", recipients=(key.text,))
        report = check(tmp_path / "archive", copy_logs(tmp_path / "later", 3))
        assert report.ok
        assert [log.closed for log in report.tail or []] == [True]
        report = check(tmp_path / "archive", copy_logs(tmp_path / "too late", 4))
        assert "missing_file" in {problem.kind for problem in report.problems}


class TestReadingInPlace:
    def test_commands_read_it_with_its_index(
        self, sealed: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        warnings: list[object] = []
        with open_chain([str(sealed)], index=IndexUse(None, warnings.append)) as chain:
            assert [ends.file.name for ends in chain] == [f"mysql-bin.00000{n}" for n in range(1, 6)]
            assert all(ends.file.index is not None for ends in chain)
            assert sum(len(table) for ends in chain for table in Scan(ends.file)) == 1629
        assert warnings == []

    def test_extract_and_index_take_the_identity(self, sealed: Path, key: Key, tmp_path: Path) -> None:
        span = ["--gtid", f"{UUID}:400-410", str(sealed), "-o", str(tmp_path / "slice")]
        ended = binx("extract", "--identity", key.path, *span)
        assert ended.code == 0, ended.err
        assert binx("extract", "--gtid", f"{UUID}:400-410", SHOP, "-o", tmp_path / "expected").code == 0
        assert (tmp_path / "slice").read_bytes() == (tmp_path / "expected").read_bytes()
        before = contents(sealed)
        assert binx("index", "--identity", key.path, sealed).code == 0
        assert contents(sealed) == before

    def test_without_it_the_exit_status_is_1(self, sealed: Path, tmp_path: Path) -> None:
        commands: list[list[str | Path]] = [
            ["ls", sealed],
            ["archive", "--restore", "mysql-bin.000001", "--to", sealed, "-o", tmp_path / "out"],
            ["archive", "--gtid", f"{UUID}:400", "--to", sealed, "-o", tmp_path / "out"],
        ]
        for command in commands:
            ended = binx(*command)
            assert ended.code == 1
            assert "--identity FILE, or BINX_IDENTITY" in ended.err
            assert not (tmp_path / "out").exists()

    def test_logs_and_spans_are_restored(
        self, sealed: Path, key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        store = LocalStore(sealed)
        restore_log(store, find_named(store, "mysql-bin.000004"), str(tmp_path / "log"))
        assert (tmp_path / "log").read_bytes() == (SHOP / "mysql-bin.000004").read_bytes()
        report = restore_span(
            store, Selection(gtids=GtidSet.parse(f"{UUID}:370-380")), str(tmp_path / "span")
        )
        assert report.transactions == 11

    def test_python_reads_it_with_a_path_to_the_identity(self, sealed: Path, key: Key) -> None:
        import binx as library

        with library.open(sealed, identity=key.path) as logs:
            assert sum(1 for _ in logs.transactions()) == 1629
        with pytest.raises(EncryptedError):
            library.open(sealed)


class TestCommandLine:
    def test_recipients_come_from_options_and_files_each_once(self, tmp_path: Path, key: Key) -> None:
        other = Key(tmp_path, "other")
        (tmp_path / "recipients").write_text(f"# ops\n{key.text}\n{other.text}\n")
        ended = binx(
            *("archive", SHOP, "--to", tmp_path / "archive", "--json"),
            *("--encrypt-to", key.text, "--encrypt-to", key.text),
            *("--encrypt-to-file", tmp_path / "recipients"),
        )
        assert ended.code == 0, ended.err
        assert json.loads(ended.lines[0])["recipients"] == [key.text, other.text]
        assert {tuple(manifest["recipients"]) for manifest in manifests(tmp_path / "archive")} == {
            (key.text, other.text)
        }

    def test_a_secret_key_on_the_command_line_is_refused_and_not_repeated(
        self, tmp_path: Path, key: Key
    ) -> None:
        secret = key.path.read_text().splitlines()[-1]
        ended = binx("archive", SHOP, "--to", tmp_path / "archive", "--encrypt-to", secret)
        assert ended.code == 2
        assert secret not in ended.err
        assert not (tmp_path / "archive").exists()


def test_a_bucket_holds_an_encrypted_archive(
    service: tuple[Any, str], key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = Bucket(service, "encrypted")
    source = copy_logs(tmp_path / "logs", 1, 2)
    assert archive(source, bucket.uri, recipients=(key.text,))[1].held == 2
    assert archive(source, bucket.uri, recipients=(key.text,))[1].is_idle
    assert {name.rpartition(".")[2] for name in bucket.listed("logs/")} == {"age", "json"}
    store = open_store(bucket.uri)
    report = check_archive(store, str(source))
    assert (report.ok, report.encrypted) == (True, 2)
    monkeypatch.setenv("BINX_IDENTITY", str(key.path))
    restore_log(store, find_named(store, "mysql-bin.000002"), str(tmp_path / "restored"))
    assert (tmp_path / "restored").read_bytes() == (SHOP / "mysql-bin.000002").read_bytes()
    folder = bucket.place("logs/")
    with open_chain([folder], index=IndexUse(None, None)) as chain:
        assert all(ends.file.index is not None for ends in chain)
        assert sum(len(table) for ends in chain for table in Scan(ends.file)) == 820
