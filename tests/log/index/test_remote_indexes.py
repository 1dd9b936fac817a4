"""Index files in an object store and in folders: every command finds them, and a search finds the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.archive import writing
from binx.cli.run import run
from binx.errors import AbsentError
from binx.event.gtid.sets import GtidSet
from binx.log import binlog_file as log_file
from binx.log.chain.chain import ChainLog
from binx.log.chain.inputs import expand_paths, open_chain
from binx.log.index.lookup import IndexUse, index_path
from binx.log.index.writer import write_index
from binx.log.selection.selection import Selection
from binx.log.selection.times import Position
from binx.slices.extraction import extract
from binx.slices.search import Search
from binx.source import remote
from binx.storage.seekable import write_seekable
from tests.archive.places import SHOP, archive
from tests.cli.process import binx
from tests.conftest import SHOPS
from tests.log.searching import gtid_of
from tests.object_store import Bucket, at_request, object_store, timed_out

LOGS = sorted(SHOP.glob("mysql-bin.0*"))
FRAME = 8192
GTID = "bf1c133d-e590-11f1-8de0-02fc00000001:500"


@pytest.fixture(scope="module")
def archived() -> Iterator[Bucket]:
    """An archive of the shop's logs, in small frames."""
    with object_store() as service:
        bucket = Bucket(service, "remote indexes")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writing, "FRAME_BYTES", FRAME)
            patch.setattr(writing, "write_seekable", partial(write_seekable, frame_bytes=FRAME))
            archive(SHOP, bucket.uri)
        yield bucket


def folder(bucket: Bucket, prefix: str = "logs/") -> str:
    return bucket.place(prefix)


def objects(bucket: Bucket, suffix: str) -> list[str]:
    return [bucket.place(key) for key in bucket.listed("logs/mysql-bin") if key.endswith(suffix)]


def test_a_folder_there_stands_for_the_logs_in_it(archived: Bucket) -> None:
    assert expand_paths([folder(archived)]) == objects(archived, ".zst")
    assert len(objects(archived, ".zst")) == len(LOGS)


def test_a_folder_there_needs_no_slash_at_its_end(archived: Bucket) -> None:
    assert expand_paths([folder(archived, "logs")]) == objects(archived, ".zst")


def test_a_log_there_plain_and_compressed_is_taken_once_and_relay_logs_are_not(archived: Bucket) -> None:
    names = ("b.000001", "b.000001.zst", "b.000002.gz", "b.000002.binx", "h-relay-bin.000001", "b.index")
    for name in names:
        archived.client.put_object(Bucket=archived.name, Key=f"both/{name}", Body=b"any")
    taken = [uri.partition("?")[0].rpartition("/")[2] for uri in expand_paths([folder(archived, "both/")])]
    assert taken == ["b.000001", "b.000002.gz"]


def test_a_folder_there_without_logs_is_reported(archived: Bucket) -> None:
    archived.client.put_object(Bucket=archived.name, Key="none/readme", Body=b"any")
    with pytest.raises(AbsentError, match="found none"):
        expand_paths([folder(archived, "none/")])


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls", "--gtid", GTID],
        ["extract", "--gtid", GTID, "-o", "-"],
        ["why", "--table", "shop.orders", "--pk", "1000"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_use_the_index_files_there_and_print_the_same(
    archived: Bucket, arguments: list[str]
) -> None:
    there = binx(*arguments, "--verbose", folder(archived))
    # Only those of logs that are searched are opened.
    assert 1 <= there.err.count("its index file is used: s3://") <= len(LOGS)
    without = binx(*arguments, "--no-index", folder(archived))
    assert "index file" not in without.err
    assert (there.code, there.out) == (without.code, without.out)


def test_one_transaction_costs_its_frame_and_the_index(
    archived: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges are small here, as the logs are."""
    monkeypatch.setattr(remote.RemoteFile, "chunk_bytes", 1024)
    monkeypatch.setattr(log_file, "READ_BYTES", 1024)
    (uri,) = [uri for uri in objects(archived, ".zst") if "000002" in uri]
    read = {use: _bytes_read(uri, use, tmp_path / "one", monkeypatch) for use in (IndexUse(), None)}
    assert 0 < read[IndexUse()] < read[None] * 0.7


def _bytes_read(uri: str, use: IndexUse | None, output: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes of the compressed log that are fetched to cut a transaction out of it."""
    total = 0
    load = remote.RemoteFile._load

    def counted(self: remote.RemoteFile, start: int, stop: int) -> bytes:
        nonlocal total
        total += (stop - start) * self.path.partition("?")[0].endswith(".zst")
        return load(self, start, stop)

    with monkeypatch.context() as patch:
        patch.setattr(remote.RemoteFile, "_load", counted)
        with open_chain([uri], index=use) as chain:
            assert extract(chain, Selection(gtids=GtidSet.parse(GTID)), str(output)).transactions == 1
    return total


def test_an_index_file_there_that_is_of_another_log_is_reported_and_left_aside(archived: Bucket) -> None:
    first, second = objects(archived, ".binx")[:2]
    log = LOGS[0].read_bytes()
    archived.client.put_object(Bucket=archived.name, Key="stale/mysql-bin.000001", Body=log)
    key = second.partition("?")[0].partition(f"{archived.name}/")[2]
    assert first != second
    index = archived.read(key)
    archived.client.put_object(Bucket=archived.name, Key="stale/mysql-bin.000001.binx", Body=index)
    uri = archived.place("stale/mysql-bin.000001")
    ended = binx("ls", uri)
    assert "the index file is not used: it was made" in ended.err
    assert ended.out == binx("ls", "--no-index", uri).out


def test_index_files_are_written_and_checked_there(archived: Bucket) -> None:
    archived.client.put_object(Bucket=archived.name, Key="new/mysql-bin.000001", Body=LOGS[0].read_bytes())
    uri = archived.place("new/mysql-bin.000001")
    assert binx("index", "--check", uri).code == 4
    assert "written" in binx("index", uri).out
    assert binx("index", "--check", uri).code == 0
    assert archived.listed("new/") == ["new/mysql-bin.000001", "new/mysql-bin.000001.binx"]
    assert "its index file is used" in binx("ls", "--verbose", uri).err


@pytest.mark.parametrize("request_number", [2, 4])
def test_a_store_that_does_not_answer_is_waited_for_once_and_not_for_each_log(
    archived: Bucket,
    request_number: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Once when a log is read, and once when its index file is written."""
    for log in LOGS[:3]:
        key = f"silent-{request_number}/{log.name}"
        archived.client.put_object(Bucket=archived.name, Key=key, Body=log.read_bytes())
    uri = folder(archived, f"silent-{request_number}/")
    with monkeypatch.context() as patch:
        at_request(patch, request_number, timed_out)
        assert run(["index", uri]) == 1
    told = capsys.readouterr().err
    assert told.count("the connection timed out") == 1
    assert "the logs after this one (2) were not processed" in told
    written = [key for key in archived.listed(f"silent-{request_number}/") if key.endswith(".binx")]
    assert written == []
    assert run(["index", uri]) == 0
    assert run(["index", "--check", uri]) == 0


def test_a_log_there_that_is_gone_keeps_no_other_from_its_index_file(archived: Bucket) -> None:
    archived.client.put_object(Bucket=archived.name, Key="some/mysql-bin.000002", Body=LOGS[1].read_bytes())
    ended = binx("index", archived.place("some/mysql-bin.000001"), archived.place("some/mysql-bin.000002"))
    assert (ended.code, "no such file" in ended.err) == (1, True)
    assert archived.listed("some/") == ["some/mysql-bin.000002", "some/mysql-bin.000002.binx"]


def test_a_log_there_without_an_index_file_is_read_without_a_word(archived: Bucket) -> None:
    archived.client.put_object(Bucket=archived.name, Key="alone/mysql-bin.000001", Body=LOGS[0].read_bytes())
    ended = binx("ls", archived.place("alone/mysql-bin.000001"))
    assert (ended.code, "index file" in ended.err) == (0, False)
    assert ended.out


@pytest.fixture(scope="module", params=list(SHOPS))
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def indexes(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of index files of a shop's logs, in small row groups."""
    folder = tmp_path_factory.mktemp("indexes")
    with pytest.MonkeyPatch.context() as patch, open_chain(list(map(str, SHOPS[server]))) as chain:
        patch.setattr("binx.log.scan.WINDOW_BYTES", 4096)
        patch.setattr("binx.log.index.writer.GROUP_ROWS", 1)
        for ends in chain:
            write_index(ends.file, index_path(ends.file, str(folder)))
    return folder


def found(
    chain: list[ChainLog], selection: Selection
) -> tuple[list[tuple[str, int, int]], int, str, list[str]]:
    """What a search takes, how many that is, what it misses, and what it says."""
    search = Search(chain, selection)
    taken = [
        (run.file.name, run.table.value("start", index), run.table.value("end", index))
        for run in search.runs()
        for index in run.table.marked(run.mask)
    ]
    return taken, search.taken, str(search.selector.missing()), search.selector.notes


def numbers(most: int) -> st.SearchStrategy[int]:
    return st.integers(1, most)


TIMES = st.none() | st.integers(0, 400).map(lambda seconds: seconds * 500_000)
GLOBS = st.lists(
    st.sampled_from(["shop.orders", "shop.*", "shop.customers", "*.audit_log", "nowhere.*"]), max_size=2
)


@st.composite
def selections(draw: st.DrawFn, server: str, first: int, logs: list[str]) -> Selection:
    """Selections of every kind, most of which take something."""
    gtids = None
    if draw(st.booleans()):
        wanted = draw(st.lists(numbers(1500), min_size=1, max_size=4))
        gtids = GtidSet.parse(",".join(gtid_of(server, number) for number in wanted))
    since, length = draw(TIMES), draw(st.none() | st.integers(1, 10**9))
    positions = st.none() | st.builds(Position, st.sampled_from(logs), st.integers(0, 200_000))
    start, stop = draw(positions), draw(positions)
    return Selection(
        gtids=gtids,
        exclude_gtids=draw(st.none() | st.just(GtidSet.parse(gtid_of(server, 20)))),
        since=None if since is None else first + since,
        until=None if length is None else first + (since or 0) + length,
        start=start,
        stop=stop,
        tables=tuple(draw(GLOBS)),
        thread_ids=tuple(draw(st.lists(numbers(40), max_size=2))),
        xids=tuple(draw(st.lists(numbers(3000), max_size=2))),
        server_ids=tuple(draw(st.lists(st.sampled_from([1, 97, 1011]), max_size=1))),
        min_bytes=draw(st.none() | numbers(5000)),
        limit=draw(st.none() | numbers(50)),
    )


@pytest.fixture(scope="module")
def chains(server: str, indexes: Path) -> Iterator[tuple[list[ChainLog], list[ChainLog]]]:
    """A shop's logs, once without and once with their index files."""
    paths = list(map(str, SHOPS[server]))
    with open_chain(paths) as plain, open_chain(paths, index=IndexUse(str(indexes))) as indexed:
        assert all(ends.file.index is not None for ends in indexed)
        # As a compressed log or one in an object store, whose index is used for GTIDs too.
        for ends in indexed:
            ends.file.is_plain = False
        yield plain, indexed


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_search_finds_the_same_with_index_files(
    server: str, chains: tuple[list[ChainLog], list[ChainLog]], data: st.DataObject
) -> None:
    plain, indexed = chains
    first = plain[0].file.format.header_timestamp * 1_000_000
    selection = data.draw(selections(server, first, [ends.file.name for ends in plain]))
    with_index, without = found(indexed, selection), found(plain, selection)
    assert with_index[:3] == without[:3]
    # A search that is complete ends at once; of positions beyond it may have seen some.
    assert set(with_index[3]) <= set(without[3])
    if selection.gtids is None and selection.limit is None:
        assert with_index[3] == without[3]
