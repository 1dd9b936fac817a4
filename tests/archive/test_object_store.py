"""Archives in an object store: a server of moto's that speaks S3, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from binx.archive.check import check_archive
from binx.archive.remote_store import RemoteStore
from binx.archive.restore import find_named, restore_log, restore_span
from binx.archive.store import LocalStore, open_store
from binx.errors import BinxError, OutputError, UsageError
from binx.event.gtid_set import GtidSet
from binx.log.selection import Selection
from tests.archive.places import SHOP, archive, contents, copy_logs, states
from tests.object_store import object_store

UUID = "bf1c133d-e590-11f1-8de0-02fc00000001"


class Bucket:
    """An empty bucket."""

    def __init__(self, client: Any, endpoint: str, name: str) -> None:
        self.client = client
        self.name = name
        override = quote(endpoint.removeprefix("http://"), safe="")
        self.uri = f"s3://{name}/logs?scheme=http&region=us-east-1&endpoint_override={override}"

    def listed(self) -> list[str]:
        found = self.client.list_objects_v2(Bucket=self.name).get("Contents", [])
        return sorted(one["Key"] for one in found if not one["Key"].endswith("/"))

    def download(self, folder: Path) -> dict[str, str]:
        for key in self.listed():
            path = folder / key.removeprefix("logs/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.client.get_object(Bucket=self.name, Key=key)["Body"].read())
        return contents(folder)


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[Any, str]]:
    with object_store() as store:
        yield store


@pytest.fixture
def bucket(service: tuple[Any, str], request: pytest.FixtureRequest) -> Bucket:
    client, endpoint = service
    name = f"b{abs(hash(request.node.name)):020}"
    client.create_bucket(Bucket=name)
    return Bucket(client, endpoint, name)


def test_a_bucket_holds_what_a_folder_would(bucket: Bucket, tmp_path: Path) -> None:
    reports, run = archive(SHOP, bucket.uri)
    assert (run.held, {state for _, state in states(reports)}) == (5, {"archived"})
    archive(SHOP, tmp_path / "folder")
    assert bucket.download(tmp_path / "downloaded") == contents(tmp_path / "folder")
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
    for number in range(1, 100):
        said = _archive_failing_at(number, source, bucket.uri, monkeypatch)
        if said is None:
            break
        assert "timed out" in said
        failures += 1
        listed = [key for key in bucket.listed() if key.endswith(".json")]
        assert not listed
        assert contents(source) == before
    assert failures >= 5
    archive(source, tmp_path / "folder")
    assert bucket.download(tmp_path / "downloaded") == contents(tmp_path / "folder")


def _archive_failing_at(number: int, source: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What is said of a failure; None where the archive holds the log."""
    with monkeypatch.context() as patch:
        _fail_at(patch, number)
        try:
            reports, run = archive(source, uri)
        except BinxError as error:
            return str(error)
    return None if run.held else str(reports[0].error)


def _fail_at(patch: pytest.MonkeyPatch, number: int) -> None:
    """Let one call of the store's file system fail, as after a timeout."""
    left = number

    def counted(function: Any) -> Any:
        def call(*arguments: Any, **settings: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise OSError(110, "the connection timed out")
            return function(*arguments, **settings)

        return call

    from binx.archive import remote_store
    from binx.source.remote import RemoteFile

    class Failing:
        """A file system that counts."""

        def __init__(self, system: Any) -> None:
            self._system = system
            self.type_name = system.type_name

        def __getattr__(self, name: str) -> Any:
            return counted(getattr(self._system, name))

        def open_output_stream(self, path: str, **settings: Any) -> Any:
            return FailingStream(counted(self._system.open_output_stream)(path, **settings))

    class FailingStream:
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def write(self, data: Any) -> Any:
            return counted(self._stream.write)(data)

        def close(self) -> None:
            if not self._stream.closed:
                try:
                    counted(lambda: None)()
                finally:
                    self._stream.close()

    begin = remote_store.RemoteStore.__init__

    def wrapped(self: RemoteStore, uri: str) -> None:
        begin(self, uri)
        patch.setattr(self, "_system", Failing(self._system), raising=True)

    patch.setattr(remote_store.RemoteStore, "__init__", wrapped)
    load = RemoteFile._load

    def failing_load(self: RemoteFile, start: int, stop: int) -> bytes:
        from binx.errors import SourceError

        try:
            return counted(load)(self, start, stop)  # type: ignore[no-any-return]
        except OSError as error:
            raise SourceError(str(error.strerror), path=self.path) from error

    patch.setattr(RemoteFile, "_load", failing_load)


def test_a_bucket_that_is_not_there_is_an_error(bucket: Bucket, tmp_path: Path) -> None:
    absent = bucket.uri.replace(bucket.name, "absent-bucket")
    with pytest.raises(OutputError, match=r"cannot be (written|reached)") as caught:
        archive(copy_logs(tmp_path / "logs", 1), absent)
    assert "endpoint_override" not in str(caught.value)


def test_another_run_on_this_machine_is_kept_away(bucket: Bucket, tmp_path: Path) -> None:
    with open_store(bucket.uri).locked(), pytest.raises(OutputError, match="another binx process"):
        archive(copy_logs(tmp_path / "logs", 1), bucket.uri)


def test_a_file_uri_is_a_folder(tmp_path: Path) -> None:
    assert isinstance(open_store(f"file://{tmp_path}"), LocalStore)


@pytest.mark.parametrize("uri", ["s3://key:secret@bucket/logs", "gopher://host/logs"])
def test_uris_that_are_refused(uri: str) -> None:
    with pytest.raises(UsageError, match="expected") as caught:
        open_store(uri)
    assert "secret@" not in str(caught.value)
