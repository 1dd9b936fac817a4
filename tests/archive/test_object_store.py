"""Archives in an object store: a server of moto's that speaks S3, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binx.archive.check import check_archive
from binx.archive.restore import find_named, restore_log, restore_span
from binx.dataset.dataset import DataSet
from binx.errors import BinxError, OutputError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.selection import Selection
from binx.storage.remote_store import RemoteStore
from binx.storage.store import LocalStore, open_store
from tests.archive.places import SHOP, UUID, archive, contents, copy_logs, states
from tests.object_store import Bucket, at_request, object_store, timed_out


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[Any, str]]:
    with object_store() as store:
        yield store


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
    assert (report.ok, str(report.gtids), report.tail) == (True, f"{UUID}:1-820", [])
    restore_log(store, find_named(store, "mysql-bin.000002"), str(tmp_path / "restored"))
    assert (tmp_path / "restored").read_bytes() == (SHOP / "mysql-bin.000002").read_bytes()
    span = restore_span(store, Selection(gtids=GtidSet.parse(f"{UUID}:370-380")), str(tmp_path / "span"))
    assert span.transactions == 11
    (key,) = [key for key in bucket.listed() if "000002" in key and key.endswith(".zst")]
    bucket.client.delete_object(Bucket=bucket.name, Key=key)
    assert check_archive(store).lacks


def test_a_manifest_is_put_last(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[str] = []
    writing = RemoteStore.writing

    def noted(self: RemoteStore, name: str) -> Any:
        put.append(name.rpartition(".")[2])
        return writing(self, name)

    monkeypatch.setattr(RemoteStore, "writing", noted)
    archive(copy_logs(tmp_path / "logs", 1), bucket.uri)
    assert put == ["zst", "binx", "json"]


def test_an_error_of_the_store_loses_nothing(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th request fails, for every n up to where none does."""
    source = copy_logs(tmp_path / "logs", 1)
    before = contents(source)
    failures = 0
    said: str | None = ""
    for number in range(1, 1000):
        said = _archive_failing_at(number, source, bucket.uri, monkeypatch)
        if said is None:
            break
        assert "timed out" in said
        failures += 1
        listed = [key for key in bucket.listed() if key.endswith(".json")]
        assert not listed
        assert contents(source) == before
    assert said is None
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


def test_another_run_on_this_machine_is_kept_away(bucket: Bucket, tmp_path: Path) -> None:
    with open_store(bucket.uri).locked(), pytest.raises(OutputError, match="another binx process"):
        archive(copy_logs(tmp_path / "logs", 1), bucket.uri)


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
