"""Where bytes come from: files, pipes and object stores."""

from __future__ import annotations

import gzip
import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from binx.errors import NotABinlogError, OutputError, SourceError, UsageError
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import expand_paths, open_chain
from binx.log.scan import Scan
from binx.source import READ_BYTES, PlainFile, open_source, plain, spool
from binx.source.plain import Buffers
from binx.source.remote import RANGE_BYTES, RemoteFile, check_credentials, list_folder, shortened
from binx.storage.remote_store import RemoteStore
from tests.cli.process import binx
from tests.conftest import PROJECT
from tests.object_store import object_store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mysql-bin.000007"
    path.write_bytes(bytes(range(256)) * 64)
    return path


def test_a_file_is_known_by_its_path_and_its_own_name(file: Path) -> None:
    source = open_source(str(file))
    assert (source.path, source.name, source.size) == (str(file), "mysql-bin.000007", 16384)
    source.close()


def test_a_window_shows_the_bytes_of_its_span_and_ends_with_the_file(file: Path) -> None:
    source = open_source(str(file))
    assert bytes(source.window(255, 258)) == b"\xff\x00\x01"
    assert bytes(source.window(16380, 99999)) == bytes([252, 253, 254, 255])
    assert source.window(0, 4).readonly
    source.close()


def test_released_pages_can_be_looked_at_again(file: Path) -> None:
    source = open_source(str(file))
    before = bytes(source.window(0, source.size))
    source.release(0, source.size)
    source.release(1, 2)
    assert bytes(source.window(0, source.size)) == before
    source.close()


def test_a_file_that_grows_shows_what_it_held_when_it_was_opened(file: Path) -> None:
    source = open_source(str(file))
    with file.open("ab") as more:
        more.write(b"more")
    assert source.size == 16384
    assert len(source.window(0, 99999)) == 16384
    source.close()


def test_closing_leaves_a_window_that_is_still_held_readable(file: Path) -> None:
    source = open_source(str(file))
    window = source.window(0, 4)
    source.close()
    assert bytes(window) == b"\x00\x01\x02\x03"


def test_an_absent_file_is_named_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent: cannot be opened: No such file or directory"):
        open_source(str(tmp_path / "absent"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="found a folder or a device"):
        open_source(str(tmp_path))


def test_an_empty_file_is_no_binary_log(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(NotABinlogError, match="empty file"):
        open_source(str(tmp_path / "empty"))


def test_a_stream_is_spooled_whole_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = spool(io.BytesIO(b"some bytes" * 1000))
    assert (source.path, source.name, source.size) == ("-", "stdin", 10000)
    assert bytes(source.window(9995, 10000)) == b"bytes"
    assert list(tmp_path.iterdir()) == []
    source.close()


def test_an_empty_stream_is_no_binary_log() -> None:
    with pytest.raises(NotABinlogError):
        spool(io.BytesIO())


def test_a_stream_that_fails_says_so() -> None:
    class Broken(io.RawIOBase):
        def readinto(self, buffer: object) -> int:
            raise OSError(5, "Input/output error")

        def readable(self) -> bool:
            return True

    with pytest.raises(SourceError, match="Input/output error"):
        spool(io.BufferedReader(Broken()))


def test_a_device_is_refused_before_anything_is_read() -> None:
    with pytest.raises(SourceError, match="device"):
        PlainFile.open(os.devnull)


def test_a_name_that_is_no_utf_8_is_escaped(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/mysql-bin-\xff.000001")
    Path(path).write_bytes(b"x")
    source = open_source(path)
    assert source.name == r"mysql-bin-\xff.000001"
    source.close()


def test_a_window_stays_as_it_is_while_others_are_read(file: Path) -> None:
    source = open_source(str(file))
    held = [source.window(start, start + 256) for start in range(0, 16384, 256)]
    assert b"".join(held) == file.read_bytes()
    source.close()


def test_memory_is_used_again_when_a_window_was_given_up() -> None:
    buffers = Buffers(16)
    first = buffers.take(8)
    part = first[2:4]
    other = buffers.take(8)
    assert other.obj is not first.obj
    memory = first.obj
    del first
    assert buffers.take(16).obj is not memory, "a part of it is still looked at"
    del part
    assert buffers.take(16).obj is memory


def test_open_files_share_their_memory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "_buffers", Buffers(READ_BYTES))
    sources = [open_source(str(file)) for _ in range(3)]
    assert len({id(source.window(0, 256).obj) for source in sources}) == 1
    for source in sources:
        source.close()


def test_more_than_a_buffer_gets_memory_of_its_own() -> None:
    assert len(Buffers(16).take(17)) == 17


def test_a_file_that_shrinks_while_it_is_read_is_an_error_with_its_place(file: Path) -> None:
    source = open_source(str(file))
    with file.open("r+b") as cut:
        cut.truncate(100)
    with pytest.raises(
        SourceError, match="shrank while it was read: expected 16384 bytes, found 100"
    ) as caught:
        source.window(50, 200)
    assert (caught.value.path, caught.value.offset) == (str(file), 100)
    source.close()


def test_a_file_that_vanishes_while_it_is_read_is_read_to_its_end(file: Path) -> None:
    expected = file.read_bytes()
    source = open_source(str(file))
    file.unlink()
    assert bytes(source.window(0, source.size)) == expected
    source.close()


def test_an_input_error_is_reported_with_its_place(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int, buffers: object, offset: int) -> int:
        raise OSError(5, "Input/output error")

    source = open_source(str(file))
    monkeypatch.setattr("os.preadv", fail)
    with pytest.raises(SourceError, match=r"offset 7: cannot be read: Input/output error"):
        source.window(7, 9)
    source.close()


def test_a_fifo_without_a_writer_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SourceError, match="found a pipe"):
        open_source(str(tmp_path / "fifo"))


LOG = PROJECT / "testdata/mysql-9.7/shop/mysql-bin.000001"
BIG = b"\xfebin" + bytes(range(256)) * (3 * RANGE_BYTES // 256)


class Bucket:
    """A bucket with logs, and the URIs of what is in it."""

    def __init__(self, client: Any, endpoint: str) -> None:
        self.client = client
        self.endpoint = endpoint

    def put(self, name: str, data: bytes) -> str:
        self.client.put_object(Bucket="logs", Key=name, Body=data)
        return self.uri(name)

    def uri(self, name: str) -> str:
        override = quote(self.endpoint.removeprefix("http://"), safe="")
        return f"s3://logs/{name}?scheme=http&region=us-east-1&endpoint_override={override}"


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with object_store() as (client, endpoint):
        client.create_bucket(Bucket="logs")
        yield Bucket(client, endpoint)


def test_a_log_in_a_bucket_gives_the_transactions_of_the_file(bucket: Bucket) -> None:
    uri = bucket.put("server/mysql-bin.000001", LOG.read_bytes())
    with BinlogFile.open(uri) as remote, BinlogFile.open(str(LOG)) as local:
        assert (remote.path, remote.name, remote.file_number) == (uri, "mysql-bin.000001", 1)
        ends = [[t.value("end", i) for t in Scan(file) for i in range(len(t))] for file in (remote, local)]
    assert ends[0] == ends[1] != []


def test_a_compressed_log_in_a_bucket_is_read_too(bucket: Bucket) -> None:
    uri = bucket.put("mysql-bin.000001.gz", gzip.compress(LOG.read_bytes()))
    with open_chain([uri, str(LOG)]) as chain:
        assert [ends.file.name for ends in chain] == ["mysql-bin.000001"]
        assert chain[0].file.copies == [str(LOG)]


def test_only_the_ranges_asked_for_are_fetched(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[tuple[int, int]] = []
    load = RemoteFile._load

    def counted(self: RemoteFile, start: int, stop: int) -> bytes:
        fetched.append((start, stop))
        return load(self, start, stop)

    monkeypatch.setattr(RemoteFile, "_load", counted)
    source = RemoteFile.open(bucket.put("big.000001", BIG))
    middle = RANGE_BYTES + 100
    assert bytes(source.window(middle, middle + 50)) == BIG[middle : middle + 50]
    assert bytes(source.window(middle + 50, middle + 900)) == BIG[middle + 50 : middle + 900]
    assert fetched == [(RANGE_BYTES, 2 * RANGE_BYTES)]
    assert bytes(source.window(RANGE_BYTES - 1, len(BIG))) == BIG[RANGE_BYTES - 1 :]
    source.close()


def test_what_is_not_there_is_reported(bucket: Bucket) -> None:
    with pytest.raises(SourceError, match=r"no such file|cannot be opened") as caught:
        open_source(bucket.uri("absent.000001"))
    assert caught.value.path == bucket.uri("absent.000001")


def test_an_empty_object_is_no_binary_log(bucket: Bucket) -> None:
    with pytest.raises(NotABinlogError, match="empty"):
        open_source(bucket.put("empty.000001", b""))


def test_an_object_that_shrinks_or_vanishes_while_it_is_read_is_an_error(bucket: Bucket) -> None:
    for change in (
        lambda: bucket.put("changing.000001", BIG[:100]),
        lambda: bucket.client.delete_object(Bucket="logs", Key="changing.000001"),
    ):
        source = open_source(bucket.put("changing.000001", BIG))
        change()
        with pytest.raises(SourceError, match=r"shrank|cannot be read"):
            source.window(2 * RANGE_BYTES, 3 * RANGE_BYTES)
        source.close()


@pytest.mark.parametrize("escape", [str, quote], ids=["as it is", "escaped"])
def test_a_uri_may_hold_spaces_and_letters(tmp_path: Path, escape: Callable[[str], str]) -> None:
    log = tmp_path / "bäckups of May" / "mysql-bin.000001"
    log.parent.mkdir()
    shutil.copy(LOG, log)
    source = open_source(f"file://{escape(str(log))}")
    assert (source.name, source.size) == (log.name, log.stat().st_size)
    assert list_folder(f"file://{escape(str(log.parent))}/") == [log.name]


def test_a_file_uri_names_a_local_file(tmp_path: Path) -> None:
    source = open_source(LOG.as_uri())
    assert (source.name, source.size) == (LOG.name, LOG.stat().st_size)
    assert bytes(source.window(0, 4)) == b"\xfebin"
    source.close()
    with pytest.raises(SourceError, match="no such file"):
        open_source((tmp_path / "absent").as_uri())


def test_a_file_system_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a URI of s3, gs, hdfs, abfs or file"):
        open_source("gopher://host/log")


@pytest.mark.parametrize("uri", ["s3://key:secret@bucket/mysql-bin.000001", "s3://key:secret@bucket/logs/"])
def test_a_secret_in_a_uri_is_refused_and_not_said(uri: str) -> None:
    for read in (open_source, list_folder, lambda uri: expand_paths([uri])):
        with pytest.raises(UsageError, match="must not contain a secret") as caught:
            read(uri)
        assert "secret@" not in str(caught.value)


def nowhere(name: str = "", *options: str) -> str:
    """A URI of Google's store at an address where nothing answers."""
    return "&".join((f"gs://anonymous@logs/{name}?scheme=http&endpoint_override=127.0.0.1:1", *options))


@pytest.mark.parametrize("options", [(), ("retry_limit_seconds=1",)])
def test_googles_store_is_given_up_after_a_while_which_a_uri_may_set(
    options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binx.source.remote.RETRY_SECONDS", 600 if options else 1)
    with pytest.raises(SourceError, match=r"cannot be opened: .*Could(n't| not) connect"):
        RemoteFile.open(nowhere("mysql-bin.000001", *options))


def test_a_place_in_googles_store_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binx.source.remote.RETRY_SECONDS", 1)
    store = RemoteStore(nowhere())
    with pytest.raises(OutputError, match=r"cannot be written: .*Could(n't| not) connect"):
        store.put("mysql-bin.000001", b"log")


def test_an_error_without_a_word_is_reported_too() -> None:
    assert shortened(OSError()) == "no reason given"
    assert shortened(OSError("no answer error_info={reason=, domain=}")) == "no answer"
    assert shortened(OSError("no answer Detail: of Arrow's")) == "no answer"


AZURE = "abfs://container@account.dfs.core.windows.net/mysql-bin.000001?credential_kind=environment"


def test_azure_without_credentials_is_an_error_where_its_library_would_end_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID"):
        monkeypatch.delenv(name, raising=False)
    for arguments in (["ls", AZURE], ["to-parquet", LOG, "-o", AZURE], ["archive", tmp_path, "--to", AZURE]):
        ended = binx(*arguments)
        assert (ended.code, ended.out) == (1, ""), ended.err
        said = " ".join(ended.err.split())
        assert "no working Azure credentials: EnvironmentCredential" in said
        assert "?credential_kind=anonymous" in said


@pytest.mark.parametrize("option", ["credential_kind=anonymous", "sv=2024&sig=abc"])
def test_azure_is_not_asked_for_credentials_where_the_uri_says_that_none_are_needed(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: Any, **__: Any) -> None:
        pytest.fail("a process was started")

    monkeypatch.setattr("subprocess.run", run)
    check_credentials(f"abfs://container@account.dfs.core.windows.net/a?{option}", SourceError)
    check_credentials("s3://bucket/a", SourceError)
