"""Data sets in an object store: a server of moto's that speaks S3, in this process."""

from __future__ import annotations

import hashlib
import json
import signal
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from binx.dataset.dataset import DataSet
from binx.dataset.transaction import StagedFiles
from binx.errors import BinxError, OutputError
from binx.log.selection.selection import Selection
from binx.storage.remote_store import RemoteStore
from tests.archive.places import SHOP, archive, copy_logs
from tests.cli.process import binx, binx_with
from tests.dataset.test_dataset import MANIFEST
from tests.exports import contents, export
from tests.object_store import Bucket, at_request, timed_out

CHAIN = sorted(SHOP.glob("mysql-bin.0*"))[:2]
FEW = Selection(limit=6)
"""Transactions whose rows are in few tables."""


@pytest.fixture
def bucket(
    service: tuple[Any, str],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Bucket:
    """An empty bucket; what is on its way to it stands in a folder of the test."""
    passing = tmp_path / "passing"
    passing.mkdir()
    monkeypatch.setenv("TMPDIR", str(passing))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return Bucket(service, request.node.nodeid)


def check_manifests(bucket: Bucket) -> None:
    """No manifest without its files."""
    for key in bucket.listed("logs/_manifest/"):
        for one in json.loads(bucket.read(key))["files"]:
            data = bucket.read(f"logs/{one['path']}")
            # Records of schemas are shared by sources, and listed without a hash.
            assert one.get("sha256") in (hashlib.sha256(data).hexdigest(), None)


def on_the_way(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "passing").rglob("*") if not path.name.endswith(".lock")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a folder holds."""
    folder = tmp_path_factory.mktemp("folder")
    export(folder, CHAIN)
    return contents(folder)


def test_a_bucket_holds_what_a_folder_would(bucket: Bucket, tmp_path: Path, expected: dict[str, str]) -> None:
    assert [report.kept for report in export(bucket.uri, CHAIN)] == [False, False]
    assert bucket.contents() == expected
    assert on_the_way(tmp_path) == []


def test_a_store_that_falls_silent_is_asked_once_to_remove_what_was_begun(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, expected: dict[str, str]
) -> None:
    """Each question would take minutes, and there are two records of each table."""
    asked: list[str] = []

    def silent(_: RemoteStore, name: str) -> None:
        asked.append(name)
        raise OutputError("the connection timed out")

    with monkeypatch.context() as patch:
        at_request(patch, 40, timed_out)
        patch.setattr(RemoteStore, "remove", silent)
        with pytest.raises(BinxError, match="timed out"):
            export(bucket.uri, CHAIN)
    assert len(asked) == 1
    assert asked[0].startswith("schemas/")
    check_manifests(bucket)
    export(bucket.uri, CHAIN)
    assert bucket.contents() == expected


def test_one_of_several_attempts_is_committed(bucket: Bucket, tmp_path: Path) -> None:
    """Other machines write them, which do not commit: they hand in what they wrote."""
    name = "changes/shop/orders/log.0-4-0.parquet"
    dataset = DataSet(bucket.uri)
    with dataset.locked():
        transaction = StagedFiles(dataset, "log.0")
        taken = []
        for attempt in ("first", "second"):
            writer = StagedFiles(DataSet(bucket.uri), "log.0", attempt)
            Path(writer.path(name)).write_text(attempt)
            taken = [writer.written(name, sha256(attempt.encode()).hexdigest())]
            writer.hand_in(taken)
        assert name not in bucket.contents()
        transaction.commit(MANIFEST, taken, "second")
        transaction.abandon()
    assert bucket.read(f"logs/{name}") == b"second"
    assert set(bucket.contents()) == {name, "_manifest/log.0.json"}
    assert on_the_way(tmp_path) == []


def test_attempts_that_nobody_commits_are_removed_by_the_next_run(bucket: Bucket, tmp_path: Path) -> None:
    with DataSet(bucket.uri).locked():
        writer = StagedFiles(DataSet(bucket.uri), "log.0", "lost")
        Path(writer.path("transactions/log.0.parquet")).write_text("lost")
        writer.hand_in([writer.written("transactions/log.0.parquet", sha256(b"lost").hexdigest())])
    assert list(bucket.contents()) == ["_staging/attempts/log.0/lost/transactions/log.0.parquet"]
    with DataSet(bucket.uri).locked():
        assert bucket.contents() == {}


def test_a_second_run_keeps_what_is_there(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    export(bucket.uri, CHAIN[:1])
    before = bucket.client.list_objects_v2(Bucket=bucket.name)["Contents"]
    with monkeypatch.context() as patch:
        patch.delattr(RemoteStore, "writing")
        (report,) = export(bucket.uri, CHAIN[:1])
    assert report.kept
    assert bucket.client.list_objects_v2(Bucket=bucket.name)["Contents"] == before


def test_a_manifest_is_put_last(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[str] = []
    writing = RemoteStore.writing

    def noted(self: RemoteStore, name: str) -> Any:
        put.append(name.partition("/")[0])
        return writing(self, name)

    monkeypatch.setattr(RemoteStore, "writing", noted)
    export(bucket.uri, CHAIN[:1])
    assert put.index("_manifest") == len(put) - 1
    assert {*put[:-1]} == {"_staging", "schemas", "changes", "transactions", "statements"}


def test_another_request_replaces_the_files_of_before(bucket: Bucket, tmp_path: Path) -> None:
    export(bucket.uri, CHAIN[:1])
    export(bucket.uri, CHAIN[:1], compression="none")
    export(tmp_path / "folder", CHAIN[:1], compression="none")
    assert bucket.contents() == contents(tmp_path / "folder")


def test_an_error_of_the_store_loses_nothing(bucket: Bucket, tmp_path: Path) -> None:
    """The n-th request fails, for every n up to where none does; the source had another manifest before."""
    export(bucket.uri, CHAIN[:1], FEW, compression="none")
    export(tmp_path / "folder", CHAIN[:1], FEW)
    wanted = contents(tmp_path / "folder")
    for number in range(1, 100):
        error = _failing_at(number, bucket)
        check_manifests(bucket)
        assert on_the_way(tmp_path) == []
        if error is None:
            break
        assert "timed out" in str(error)
    assert number > 15
    assert bucket.contents() == wanted


def _failing_at(number: int, bucket: Bucket) -> BinxError | None:
    """Why the log is not exported; None where it is."""
    with pytest.MonkeyPatch.context() as patch:
        at_request(patch, number, timed_out)
        try:
            export(bucket.uri, CHAIN[:1], FEW)
        except BinxError as error:
            return error
    return None


@pytest.mark.parametrize(
    "number", [3, 9, 20, *(pytest.param(number, marks=pytest.mark.sweep) for number in (6, 14))]
)
def test_a_run_that_is_killed_leaves_nothing_false_and_the_next_completes(
    number: int, bucket: Bucket, tmp_path: Path
) -> None:
    """Killed at its n-th request, while it replaces files of another number."""
    export(bucket.uri, CHAIN[:1], compression="none")
    code = f"""
import pytest
from tests.object_store import at_request
at_request(pytest.MonkeyPatch(), {number}, lambda: os.kill(os.getpid(), signal.SIGKILL))
"""
    arguments = ["to-parquet", "--quiet", "--table", "shop.orders", str(CHAIN[0]), "-o", bucket.uri]
    assert binx_with(code, *arguments).code == -signal.SIGKILL
    check_manifests(bucket)
    assert binx(*arguments).code == 0
    folder = tmp_path / "folder"
    assert binx(*arguments[:-1], folder).code == 0
    found, wanted = bucket.contents(), contents(folder)
    # Records of schemas are shared by sources, and stay.
    assert {name: one for name, one in found.items() if not name.startswith("schemas/")} == {
        name: one for name, one in wanted.items() if not name.startswith("schemas/")
    }
    assert on_the_way(tmp_path) == []


def test_the_tables_of_an_archive_grow_there(bucket: Bucket, tmp_path: Path) -> None:
    lake = bucket.place("lake")
    archive(copy_logs(tmp_path / "logs", 1), bucket.uri, parquet=lake)
    archive(copy_logs(tmp_path / "logs", 2), bucket.uri, parquet=lake)
    export(tmp_path / "folder", CHAIN)
    assert bucket.contents("lake") == contents(tmp_path / "folder")
    assert archive(tmp_path / "logs", bucket.uri, parquet=lake)[1].is_idle


def test_logs_are_removed_when_archive_and_data_set_hold_them(bucket: Bucket, tmp_path: Path) -> None:
    logs, lake = copy_logs(tmp_path / "logs", 1, 2), bucket.place("lake")
    archive(logs, bucket.uri)
    export(lake, [CHAIN[1]])
    assert archive(logs, bucket.uri, parquet=lake, prune_days=0)[1].pruned == 1
    assert bucket.contents("lake").keys() >= {
        f"_manifest/{DataSet(lake).store.names('_manifest')[0]}",
    }
    assert [path.name for path in logs.iterdir()] == ["mysql-bin.000002"]


def test_names_with_all_kinds_of_characters_are_found_again(bucket: Bucket, tmp_path: Path) -> None:
    log = tmp_path / "söme log+100%.000001"
    log.write_bytes(CHAIN[0].read_bytes())
    (report,) = export(bucket.uri, [log])
    assert not report.kept
    assert export(bucket.uri, [log])[0].kept
    check_manifests(bucket)
    logs = tmp_path / "logs"
    logs.mkdir()
    log.rename(logs / log.name)
    (copied,), _ = archive(logs, bucket.place("kept"))
    assert copied.archived is not None
    assert archive(logs, bucket.place("kept"))[1].is_idle


def test_another_writer_on_this_machine_is_kept_away(bucket: Bucket) -> None:
    with DataSet(bucket.uri).locked(), pytest.raises(OutputError, match="another binx process"):
        export(bucket.uri, CHAIN[:1])


def test_a_folder_on_the_way_that_others_could_read_or_change_is_refused(
    bucket: Bucket, tmp_path: Path
) -> None:
    store = DataSet(bucket.uri).store
    assert isinstance(store, RemoteStore)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    store.upload_folder.symlink_to(elsewhere)
    with pytest.raises(OutputError, match="belongs to another user"):
        export(bucket.uri, CHAIN[:1])
    assert list(elsewhere.iterdir()) == []


def test_a_bucket_that_is_not_there_is_an_error(bucket: Bucket) -> None:
    with pytest.raises(OutputError, match=r"cannot be written"):
        export(bucket.uri.replace(bucket.name, "absent-bucket"), CHAIN[:1])
