"""Encrypted archives, checked and read: with the key, and by those who have none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binx.archive.check import check_archive
from binx.archive.restore import find_named, restore_log, restore_span
from binx.errors import EncryptedError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.index.lookup import IndexUse
from binx.log.selection.selection import Selection
from binx.storage.store import LocalStore, open_store
from tests.archive.places import MARIADB_SHOP, SHOP, UUID, archive, check, contents, copy_logs, manifests
from tests.cli.process import binx
from tests.object_store import Bucket, object_store
from tests.source.ages import Key


class TestCheck:
    def test_no_identity_is_needed_and_all_is_told_as_of_a_plain_archive(
        self, sealed: Path, tmp_path: Path
    ) -> None:
        archive(SHOP, tmp_path / "plain")
        plain, report = check(tmp_path / "plain", SHOP).as_dict(), check(sealed, SHOP).as_dict()
        differing = {name for name in plain if plain[name] != report[name]}
        assert differing == {"stored_bytes", "encrypted"}
        assert (report["check"], report["logs"], report["encrypted"]) == ("ok", 5, 5)
        assert (report["gtid_set"], report["tail"]) == (f"{UUID}:1-1629", [])

    @pytest.mark.parametrize("suffix", [".zst.age", ".binx.age"])
    def test_a_changed_and_a_missing_object_are_found_without_an_identity(
        self, sealed: Path, suffix: str
    ) -> None:
        (stored,) = sealed.glob(f"*000002*{suffix}")
        data = bytearray(stored.read_bytes())
        data[len(data) // 2] ^= 1
        stored.write_bytes(data)
        assert [problem.kind for problem in check(sealed).problems][:1] == ["object_changed"]
        stored.unlink()
        assert check(sealed).lacks

    def test_a_missing_log_is_found_by_the_manifests_alone(self, sealed: Path) -> None:
        for path in sealed.rglob("*000003*"):
            path.unlink()
        report = check(sealed)
        assert {problem.kind for problem in report.problems} >= {"missing_file"}
        assert report.lacks

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

    def test_a_manifest_that_names_a_strange_server_is_no_end(self, sealed: Path) -> None:
        (path,) = (sealed / "_manifest").glob("*000002*")
        manifest = json.loads(path.read_text())
        manifest |= {"flavour": "oracle", "server_id": 1 << 80, "create_timestamp": -1}
        path.write_text(json.dumps(manifest))
        assert check(sealed).logs == 5


class TestReadingInPlace:
    def test_commands_read_it_with_its_index(
        self, sealed: Path, key: Key, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BINX_IDENTITY", str(key.path))
        warnings: list[object] = []
        with open_chain([str(sealed)], index=IndexUse(None, warnings.append)) as chain:
            assert [ends.file.name for ends in chain] == [f"mysql-bin.00000{n}" for n in range(1, 6)]
            assert all(ends.file.index is not None for ends in chain)
            assert sum(len(table) for ends in chain for table in ends.file.scan()) == 1629
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
        assert {tuple(one["recipients"]) for one in manifests(tmp_path / "archive")} == {
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


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[Any, str]]:
    with object_store() as store:
        yield store


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
        assert sum(len(table) for ends in chain for table in ends.file.scan()) == 820
