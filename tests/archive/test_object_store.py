"""Archives in an object store, the tables that grow with an archive, and the page about cron."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from binx.archive.check import check_archive
from binx.archive.restore import find_named, restore_log, restore_span
from binx.cli.application import load_command
from binx.dataset.dataset import DataSet
from binx.dataset.parquet import to_parquet
from binx.errors import BinxError, OutputError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.storage.remote_store import RemoteStore
from binx.storage.store import LocalStore, open_store
from tests.archive.places import MARIADB_SHOP, SHOP, UUID, archive, copy_logs, states
from tests.conftest import PROJECT
from tests.exports import contents
from tests.object_store import Bucket, at_request, timed_out


@pytest.fixture
def bucket(service: tuple[Any, str], request: pytest.FixtureRequest) -> Bucket:
    return Bucket(service, request.node.nodeid)


def test_a_bucket_holds_what_a_folder_would(bucket: Bucket, tmp_path: Path) -> None:
    reports, run = archive(SHOP, bucket.uri)
    assert (run.held, {state for _, state in states(reports)}) == (5, {"archived"})
    archive(SHOP, tmp_path / "folder")
    assert bucket.contents() == contents(tmp_path / "folder")
    assert archive(SHOP, bucket.uri)[1].is_idle


def test_it_is_checked_and_gives_back_logs_and_spans(bucket: Bucket, tmp_path: Path) -> None:
    archive(copy_logs(tmp_path / "logs", 1, 2), bucket.uri)
    store = open_store(bucket.uri)
    report = check_archive(store, str(tmp_path / "logs"))
    assert (report.ok, str(report.gtid_set), report.tail) == (True, f"{UUID}:1-820", [])
    restore_log(store, find_named(store, "mysql-bin.000002"), str(tmp_path / "restored"))
    assert (tmp_path / "restored").read_bytes() == (SHOP / "mysql-bin.000002").read_bytes()
    span = restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:370-380")), str(tmp_path / "span"))
    assert span.transactions == 11
    (key,) = [key for key in bucket.listed() if "000002" in key and key.endswith(".zst")]
    bucket.client.delete_object(Bucket=bucket.name, Key=key)
    assert check_archive(store).has_missing


def test_a_manifest_is_put_last(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[str] = []
    writing = RemoteStore.writing

    def recorded(self: RemoteStore, name: str) -> Any:
        put.append(name.rpartition(".")[2])
        return writing(self, name)

    monkeypatch.setattr(RemoteStore, "writing", recorded)
    archive(copy_logs(tmp_path / "logs", 1), bucket.uri)
    assert put == ["zst", "binx", "json"]


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.sweep)])
def test_an_error_of_the_store_loses_nothing(
    step: int, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th request fails, for every n, or every so many, up to where none does."""
    source = copy_logs(tmp_path / "logs", 5)
    before = contents(source)
    failures = 0
    message: str | None = ""
    for number in range(1, 1000, step):
        message = _archive_failing_at(number, source, bucket.uri, monkeypatch)
        if message is None:
            break
        assert "timed out" in message
        failures += 1
        listed = [key for key in bucket.listed() if key.endswith(".json")]
        assert not listed
        assert contents(source) == before
    assert message is None
    assert failures >= 5
    archive(source, tmp_path / "folder")
    assert bucket.contents() == contents(tmp_path / "folder")


def _archive_failing_at(number: int, source: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What is said of a failure; None where the archive holds the log."""
    with monkeypatch.context() as patch:
        at_request(patch, number, timed_out)
        try:
            reports, run = archive(source, uri)
        except BinxError as error:
            return str(error)
    return None if run.held else str(reports[0].error)


def test_another_run_on_this_machine_is_kept_away_and_a_check_takes_what_it_writes_for_no_loss(
    bucket: Bucket, tmp_path: Path
) -> None:
    store = open_store(bucket.uri)
    archive(copy_logs(tmp_path / "logs", 1), bucket.uri)
    with store.locked():
        with pytest.raises(OutputError, match="another binx process"):
            archive(copy_logs(tmp_path / "logs", 2), bucket.uri)
        store.put("mysql-bin.000002.4f2a91c0-8d0e77aa.zst", b"begun")
        report = check_archive(store)
        assert (report.problems, len(report.notes)) == ([], 1)
    assert [problem.kind for problem in check_archive(store).problems] == ["manifest_missing"]


def test_a_file_uri_is_a_folder(tmp_path: Path) -> None:
    assert isinstance(open_store(tmp_path.as_uri()), LocalStore)


@pytest.mark.parametrize("uri", ["s3://key:secret@bucket/logs", "gopher://host/logs"])
def test_uris_that_are_refused(uri: str) -> None:
    with pytest.raises(UsageError, match=r"expected a URI|must not contain a secret") as caught:
        open_store(uri)
    assert "secret@" not in str(caught.value)


class KilledError(BaseException):
    """Stands for the process's end."""


def killed(*_: object) -> None:
    raise KilledError


def test_that_a_commit_of_tables_has_begun_is_no_longer_said_when_it_has_ended(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was killed between the manifest and the end, and had nothing else to do."""
    source, lake = copy_logs(tmp_path / "logs", 1), bucket.place("lake")
    with monkeypatch.context() as patch:
        patch.setattr(DataSet, "clear_staged", killed)
        with pytest.raises(KilledError):
            archive(source, tmp_path / "archive", parquet=lake)
    assert bucket.listed("lake/_staging/") == ["lake/_staging/mysql-bin.000001.531885cf"]
    assert archive(source, tmp_path / "archive", parquet=lake)[1].is_idle
    assert bucket.listed("lake/_staging/") == []


def at_once(source: Path, folder: Path) -> dict[str, str]:
    with open_chain([str(source)]) as chain:
        for _ in to_parquet([ends.file for ends in chain], folder):
            pass
    return contents(folder)


@pytest.mark.parametrize("shop", [SHOP, MARIADB_SHOP], ids=["mysql", "mariadb"])
def test_log_by_log_is_the_same_as_all_at_once(tmp_path: Path, shop: Path) -> None:
    """The names of MariaDB's columns come from DDL in the first log alone."""
    for number in (1, 2, 3):
        source = copy_logs(tmp_path / "logs", number, shop=shop)
        reports, run = archive(source, tmp_path / "archive", parquet=str(tmp_path / "lake"))
        assert [state for _, state in states(reports)] == ["archived", "tables written"]
        assert (run.loss_count, run.exported) == (0, 1)
    assert contents(tmp_path / "lake") == at_once(tmp_path / "logs", tmp_path / "expected")


def test_tables_of_logs_that_were_archived_before_are_made_of_the_archive(tmp_path: Path) -> None:
    source = copy_logs(tmp_path / "logs", 1, 2)
    archive(source, tmp_path / "archive")
    expected = at_once(source, tmp_path / "expected")
    shutil.rmtree(source)
    reports, _ = archive(copy_logs(source, 3), tmp_path / "archive", parquet=str(tmp_path / "lake"))
    assert [state for _, state in states(reports)] == ["archived", *["tables written"] * 3]
    assert expected.items() <= contents(tmp_path / "lake").items()


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    archive(SHOP, tmp_path / "archive", parquet=str(tmp_path / "lake"))
    before = contents(tmp_path)
    reports, run = archive(SHOP, tmp_path / "archive", parquet=str(tmp_path / "lake"))
    assert (reports, run.is_idle) == ([], True)
    assert contents(tmp_path) == before


def test_a_dry_run_makes_no_data_set(tmp_path: Path) -> None:
    archive(SHOP, tmp_path / "archive", parquet=str(tmp_path / "lake"), dry_run=True)
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_left_that_was_killed_after_its_last_commit_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, dest, lake = copy_logs(tmp_path / "logs", 1), tmp_path / "archive", tmp_path / "lake"
    with monkeypatch.context() as patch:
        patch.setattr(DataSet, "clear_staged", killed)
        with pytest.raises(KilledError):
            archive(source, dest, parquet=str(lake))
    assert [path.name for path in (lake / "_staging").iterdir()] == ["mysql-bin.000001.531885cf"]
    with DataSet(lake).store.locked():
        # Whoever writes there now removes it, and is no reason to fail.
        assert archive(source, dest, parquet=str(lake))[1].is_idle
    assert archive(source, dest, parquet=str(lake))[1].is_idle
    assert not (lake / "_staging").exists()


def test_the_tables_of_a_server_are_followed_where_its_id_changed_for_a_while(tmp_path: Path) -> None:
    """The names of MariaDB's columns come from DDL in the first log alone, whatever id that has."""
    source = copy_logs(tmp_path / "logs", 1, 2, 3, shop=MARIADB_SHOP)
    path = source / "mysql-bin.000002"
    data = bytearray(path.read_bytes())
    end = 4 + int.from_bytes(data[13:17], "little")
    data[9:13] = (98).to_bytes(4, "little")
    data[end - 4 : end] = zlib.crc32(data[4 : end - 4]).to_bytes(4, "little")
    path.write_bytes(data)
    _, run = archive(source, tmp_path / "archive", parquet=str(tmp_path / "lake"))
    assert (run.loss_count, run.exported) == (0, 3)
    assert contents(tmp_path / "lake") == at_once(source, tmp_path / "expected")


PAGE = (PROJECT / "docs" / "cron.md").read_text("utf-8")
FIELD = re.compile(r"(\*|\d+(-\d+)?(,\d+(-\d+)?)*)(/\d+)?")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def units() -> dict[str, str]:
    """The units by the names of their files, which stand before them."""
    names = re.findall(r"`/etc/systemd/system/([\w.-]+)`:", PAGE)
    return dict(zip(names, blocks("ini"), strict=True))


def command_lines() -> list[str]:
    """Every call of ``binx archive`` on the page."""
    return re.findall(r"binx (archive [^\n|]*)", "\n".join([*blocks("crontab"), *blocks("ini"), indented()]))


def indented() -> str:
    return "\n".join(re.findall(r"^    \$ (.*)$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("line", command_lines())
def test_a_command_line_is_understood(line: str) -> None:
    arguments = shlex.split(line)[1:]
    with load_command("archive").make_context("archive", arguments) as context:
        assert context.params["archive"] == "/backup/binlogs"
    assert len(command_lines()) >= 8


def test_the_crontab_has_five_fields_and_a_command() -> None:
    (table,) = blocks("crontab")
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    assert len(lines) == 2
    for line in lines:
        *fields, command = line.split(maxsplit=5)
        assert [FIELD.fullmatch(field) is not None for field in fields] == [True] * 5
        assert "%" not in command
        assert subprocess.run(["sh", "-n", "-c", command], check=False).returncode == 0


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    for name, text in units().items():
        program = text.replace("/usr/local/bin/binx", sys.executable).replace("User=mysql", "User=root")
        (tmp_path / name).write_text(program)
    for name in units():
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert [line for line in done.stderr.splitlines() if "binx-archive" in line] == []


def test_the_timer_belongs_to_the_service() -> None:
    assert sorted(units()) == ["binx-archive.service", "binx-archive.timer"]
    keys = {line.partition("=")[0] for text in units().values() for line in text.splitlines() if "=" in line}
    assert {"Type", "ExecStart", "OnCalendar", "WantedBy"} <= keys
