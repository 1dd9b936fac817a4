"""Slices are binary logs: read by mysqlbinlog they say what the same part of the source says."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import AbsentError, BinxError, ChecksumError, OutputError, RefusedError
from binx.event import EventHeader, EventType, Gtid, parse_event, parse_header
from binx.export.binlog import Run, SliceReport, write_binlog
from binx.export.output import open_output
from binx.kernels.scan import Level
from binx.kernels.transactions import FLAG_LENGTH_WRONG, TransactionTable
from binx.log.file import BinlogFile
from testdata.programs import MARIADB_HINT, MYSQL_HINT, find_mariadb, find_mysql
from testdata.servers import MariaDBServer, MySQLServer, Server

if TYPE_CHECKING:
    from typing_extensions import Buffer

TESTDATA = Path(__file__).resolve().parent.parent.parent / "testdata"
MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
SHOPS = [sorted((folder / "shop").glob("mysql-bin.0*")) for folder in (MYSQL, MARIADB)]
SMALL = sorted(path for folder in (MYSQL, MARIADB) for path in (folder / "small").glob("*.binlog"))

Wanted = Callable[[TransactionTable, int], bool]


def every(table: TransactionTable, index: int) -> bool:
    return True


def each_third(table: TransactionTable, index: int) -> bool:
    return index % 3 == 1


def runs_of(files: Iterable[BinlogFile], wanted: Wanted) -> Iterator[Run]:
    for file in files:
        for table in file.scan():
            yield Run(file, table, bytes(wanted(table, i) for i in range(len(table))))


def slice_of(
    paths: Sequence[Path], wanted: Wanted = every, *, verbatim: bool = False, verify: bool = True
) -> tuple[bytes, SliceReport]:
    out = io.BytesIO()
    with ExitStack() as stack:
        files = [stack.enter_context(BinlogFile.open(str(path))) for path in paths]
        report = write_binlog(runs_of(files, wanted), out, verbatim=verbatim, verify=verify)
    return out.getvalue(), report


def transactions_of(path: Path, level: Level = Level.LEVEL_EVENTS) -> list[tuple[int, int, str | None, int]]:
    """Start, end, GTID and flags of each transaction, after a scan that verifies all checksums it meets."""
    with BinlogFile.open(str(path)) as file:
        return [
            (table.value("start", i), table.value("end", i), table.gtid(i), table.value("flags", i))
            for table in file.scan(level)
            for i in range(len(table))
        ]


def events_of(log: bytes, checksum: int = 4) -> list[tuple[EventHeader, bytes]]:
    """Headers and bodies of all events, checksums compared with zlib's."""
    at, found = 4, []
    while at < len(log):
        header = parse_header(log, at)
        size = checksum if header.type != EventType.FORMAT_DESCRIPTION else 4
        whole = log[at : header.end]
        assert len(whole) == header.size
        if size:
            assert zlib.crc32(whole[:-4]) == int.from_bytes(whole[-4:], "little")
        found.append((header, whole[19 : len(whole) - size]))
        at = header.end
    return found


def gtids_of(path: Path) -> list[Gtid]:
    """MySQL's GTID events of a file."""
    found = []
    with BinlogFile.open(str(path)) as file:
        size = file.format.checksum_size
        for header, body in events_of(path.read_bytes(), size):
            if header.type in (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED):
                event = parse_event(memoryview(body), header, file.format)
                assert isinstance(event, Gtid)
                found.append(event)
    return found


@pytest.fixture(scope="session")
def mysqlbinlog(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """MySQL's own reader; no server runs."""
    programs = find_mysql()
    if programs is None:
        pytest.skip(MYSQL_HINT)
    return MySQLServer(tmp_path_factory.mktemp("reader"), programs=programs)


@pytest.fixture(scope="session")
def mariadb_binlog(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """MariaDB's own reader."""
    programs = find_mariadb()
    if programs is None:
        pytest.skip(MARIADB_HINT)
    return MariaDBServer(tmp_path_factory.mktemp("reader"), programs=programs)


@pytest.fixture
def reader_for(request: pytest.FixtureRequest) -> Callable[[Path], Server]:
    """The reader of the server that wrote a file of the test data."""

    def find(path: Path) -> Server:
        name = "mariadb_binlog" if MARIADB in path.parents else "mysqlbinlog"
        reader: Server = request.getfixturevalue(name)
        return reader

    return find


_ABOUT_THE_FILE = re.compile(
    r"\t(Start: binlog|Previous-GTIDs|Gtid list|Binlog checkpoint|Rotate|Stop)", re.IGNORECASE
)
_AT_THE_END = re.compile(
    r"SET @@SESSION.GTID_NEXT= 'AUTOMATIC'|ROLLBACK /\* added by|DELIMITER ;\n# End of log file"
)
_PLACE = re.compile(r"end_log_pos \d+ ?|CRC32 0x[0-9a-f]+ ?|(?<=SQL_LOAD_MB)-\w+-\w+")


def listing(reader: Server, path: Path, *arguments: str) -> list[str]:
    """What the server's reader prints of a file's transactions, without what tells their places."""
    options = ["--verify-binlog-checksum", "-vv", "--base64-output=decode-rows", *arguments]
    options.append(f"--local-load={reader.folder.parent}")
    text = reader.mysqlbinlog(*options, path).decode(errors="backslashreplace")
    blocks = re.split(r"^# at \d+\n", text, flags=re.MULTILINE)[1:]
    kept = [block for block in blocks if block.strip() and not _ABOUT_THE_FILE.search(block)]
    return [_PLACE.sub("", _AT_THE_END.split(block)[0]).strip() for block in kept]


def without_clock(blocks: list[str]) -> list[str]:
    return [re.sub(r"last_committed=\d+\tsequence_number=\d+", "", block) for block in blocks]


def contiguous(first: int, last: int) -> Wanted:
    return lambda table, index: first <= index <= last


@pytest.mark.parametrize("path", [shop[2] for shop in SHOPS] + SMALL, ids=lambda path: path.name)
def test_the_servers_reader_prints_of_a_slice_what_it_prints_of_that_part_of_the_source(
    path: Path, tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    reader, target = reader_for(path), tmp_path / "slice"
    transactions = transactions_of(path)
    half = len(transactions) // 2
    for first, last in ((half, half), (half // 2, half), (0, len(transactions) - 1)):
        data, report = slice_of([path], contiguous(first, last))
        target.write_bytes(data)
        assert report.renumbered == 0
        start, end = transactions[first][0], transactions[last][1]
        part = listing(reader, path, f"--start-position={start}", f"--stop-position={end}")
        assert listing(reader, target) == part


@pytest.mark.parametrize(
    "path", [SHOPS[0][1], *(path for path in SMALL if MYSQL in path.parents)], ids=lambda path: path.name
)
def test_scattered_transactions_are_what_the_servers_reader_selects_by_gtid(
    path: Path, tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    reader, target = reader_for(path), tmp_path / "slice"
    target.write_bytes(slice_of([path], each_third)[0])
    wanted = [gtid for _, _, gtid, _ in transactions_of(path)[1::3] if gtid is not None]
    if not wanted:
        pytest.skip("its transactions have no GTIDs to select by")
    part = listing(reader, path, f"--include-gtids={','.join(wanted)}")
    assert without_clock(listing(reader, target)) == without_clock(part)


@pytest.mark.parametrize("shop", SHOPS, ids=["mysql", "mariadb"])
def test_a_chain_becomes_one_slice_that_says_what_its_files_say_in_turn(
    shop: list[Path], tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    reader, target = reader_for(shop[0]), tmp_path / "slice"
    target.write_bytes(slice_of(shop)[0])
    rows = re.compile(r"^###.*$|^GTID .*$", re.MULTILINE)

    def essence(path: Path) -> list[str]:
        return [line for block in without_clock(listing(reader, path)) for line in rows.findall(block)]

    assert essence(target) == [line for path in shop for line in essence(path)]


@pytest.mark.parametrize("folder", [MYSQL, MARIADB], ids=["mysql", "mariadb"])
def test_all_of_a_servers_first_file_is_that_file_but_for_notes_about_itself(folder: Path) -> None:
    original = (folder / "shop" / "mysql-bin.000001").read_bytes()
    data, _ = slice_of([folder / "shop" / "mysql-bin.000001"])
    if folder is MYSQL:
        assert data == original[: len(data)]
        assert parse_header(original, len(data)).type == EventType.ROTATE
        return
    # The checkpoint behind the empty list is about the file, so that all positions move by its size.
    head = parse_header(original, 4).end
    head = parse_header(original, head).end
    assert data[:head] == original[:head]
    kept = [
        body for header, body in events_of(original) if header.type != EventType.MARIADB_BINLOG_CHECKPOINT
    ]
    assert [body for _, body in events_of(data)] == kept[:-1]


@pytest.mark.parametrize("wanted", [every, each_third])
@pytest.mark.parametrize("path", [*SHOPS[0], *SHOPS[1], *SMALL], ids=lambda path: path.name)
def test_both_ways_of_finding_transactions_agree_on_a_slice(
    path: Path, wanted: Wanted, tmp_path: Path
) -> None:
    target = tmp_path / "slice"
    data, report = slice_of([path], wanted)
    target.write_bytes(data)
    walked = transactions_of(target)
    by_length = transactions_of(target, Level.LEVEL_INDEX)
    assert [found[:3] for found in walked] == [found[:3] for found in by_length]
    assert not any(found[3] & FLAG_LENGTH_WRONG for found in walked)
    assert len(walked) == report.transactions
    expected = [
        gtid for i, (_, _, gtid, _) in enumerate(transactions_of(path)) if wanted is every or i % 3 == 1
    ]
    assert [gtid for _, _, gtid, _ in walked] == expected
    assert report.bytes == len(data)


@pytest.mark.parametrize(
    "path", [*SHOPS[0], *(path for path in SMALL if MYSQL in path.parents)], ids=lambda path: path.name
)
def test_the_clock_of_scattered_transactions_is_serial(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "slice"
    data, report = slice_of([path], each_third)
    if report.transactions == 1:
        pytest.skip("one transaction is a contiguous run")
    target.write_bytes(data)
    clocks = [(gtid.last_committed, gtid.sequence_number) for gtid in gtids_of(target)]
    assert clocks == [(n - 1, n) for n in range(1, report.transactions + 1)]
    assert report.renumbered == report.transactions


def test_a_serial_clock_of_tagged_gtids_changes_nothing_else(tmp_path: Path) -> None:
    path, target = MYSQL / "small" / "tagged_gtids.binlog", tmp_path / "slice"
    target.write_bytes(slice_of([path, path])[0])
    keep = ("flags", "uuid", "tag", "number", "immediate_commit_timestamp", "original_commit_timestamp")
    before = [tuple(getattr(gtid, name) for name in keep) for gtid in gtids_of(path)]
    after = [tuple(getattr(gtid, name) for name in keep) for gtid in gtids_of(target)]
    assert after == before * 2
    lengths = [end - start for start, end, _, _ in transactions_of(target)]
    assert [gtid.transaction_length for gtid in gtids_of(target)] == lengths


def test_a_slice_of_a_slice_is_the_slice(tmp_path: Path) -> None:
    target = tmp_path / "slice"
    target.write_bytes(slice_of(SHOPS[0], each_third)[0])
    assert slice_of([target])[0] == target.read_bytes()


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_slices_of_a_partition_into_runs_hold_the_wholes_transactions(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, folder = (
        data.draw(st.sampled_from([SHOPS[0][1], SHOPS[1][1], MYSQL / "small" / "tagged_gtids.binlog"])),
        tmp_path_factory.mktemp("parts"),
    )
    count = len(transactions_of(path))
    cuts = sorted({0, count, *data.draw(st.lists(st.integers(1, count - 1), max_size=4))})
    parts = []
    for first, end in pairwise(cuts):
        part = folder / f"part.{first}"
        part.write_bytes(slice_of([path], contiguous(first, end - 1))[0])
        parts.append(part)
    joined, whole = folder / "joined", folder / "whole"
    joined.write_bytes(slice_of(parts)[0])
    whole.write_bytes(slice_of([path])[0])
    found, expected = transactions_of(joined), transactions_of(whole)
    assert [gtid for _, _, gtid, _ in found] == [gtid for _, _, gtid, _ in expected]
    clocked = (EventType.GTID, EventType.GTID_TAGGED)
    bodies = [
        [(header.type, body) for header, body in events_of(log.read_bytes()) if header.type not in clocked]
        for log in (joined, whole)
    ]
    assert bodies[0] == bodies[1]


def test_a_verbatim_slice_has_the_very_bytes() -> None:
    path = SHOPS[0][1]
    original, transactions = path.read_bytes(), transactions_of(path)
    data, report = slice_of([path], each_third, verbatim=True)
    head = original[: parse_header(original, 4).end]
    assert data == head + b"".join(original[start:end] for start, end, _, _ in transactions[1::3])
    assert report.renumbered == 0


def test_a_file_in_use_gives_a_slice_that_is_closed(
    tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    path, target = MYSQL / "in-use" / "mysql-bin.000001", tmp_path / "slice"
    assert parse_header(path.read_bytes(), 4).flags & 1
    data, _ = slice_of([path])
    target.write_bytes(data)
    assert not parse_header(data, 4).flags & 1
    assert not any("not closed properly" in block for block in listing(reader_for(path), target))


@pytest.mark.parametrize("flavour", [MYSQL, MARIADB], ids=["mysql", "mariadb"])
@pytest.mark.parametrize("names", [("no_checksum", "rollback"), ("rollback", "no_checksum")])
def test_files_that_differ_by_checksum_are_joined_under_the_first_ones(
    flavour: Path, names: tuple[str, str], tmp_path: Path, reader_for: Callable[[Path], Server]
) -> None:
    paths, target = [flavour / "small" / f"{name}.binlog" for name in names], tmp_path / "slice"
    target.write_bytes(slice_of(paths)[0])
    events_of(target.read_bytes(), 0 if names[0] == "no_checksum" else 4)
    assert not any(found[3] & FLAG_LENGTH_WRONG for found in transactions_of(target))
    assert [f[:3] for f in transactions_of(target)] == [
        f[:3] for f in transactions_of(target, Level.LEVEL_INDEX)
    ]
    reader, rows = reader_for(paths[0]), re.compile(r"^###.*$", re.MULTILINE)

    # Both files count their GTIDs from 1, which MariaDB's reader takes ill in a file's middle.
    options = [] if flavour is MYSQL else ["--skip-gtid-strict-mode"]

    def changes(path: Path) -> list[str]:
        return [line for block in listing(reader, path, *options) for line in rows.findall(block)]

    assert changes(target) == changes(paths[0]) + changes(paths[1])


def test_files_that_differ_by_checksum_are_not_joined_verbatim() -> None:
    paths = [MYSQL / "small" / "no_checksum.binlog", MYSQL / "small" / "rollback.binlog"]
    with pytest.raises(RefusedError, match="leave out --verbatim"):
        slice_of(paths, verbatim=True)


def test_files_of_different_servers_are_refused_by_name_before_a_byte_is_written() -> None:
    out = io.BytesIO()
    with (
        BinlogFile.open(str(SHOPS[0][0])) as one,
        BinlogFile.open(str(SHOPS[1][0])) as other,
        pytest.raises(RefusedError) as caught,
    ):
        write_binlog(runs_of([one, other], every), out)
    assert "MySQL 9.7.4: " + str(SHOPS[0][0]) in str(caught.value)
    assert "MariaDB 10.11." in str(caught.value)
    assert out.getvalue() == b""


def test_nothing_to_write_is_absent() -> None:
    with pytest.raises(AbsentError, match="found none"):
        slice_of([SHOPS[0][0]], lambda table, index: False)


def test_damage_that_the_search_jumped_over_is_found_while_copying(tmp_path: Path) -> None:
    bad, target = tmp_path / "bad", tmp_path / "slice"
    data = bytearray(SHOPS[0][0].read_bytes())
    start, end, gtid, _ = transactions_of(SHOPS[0][0])[100]
    data[(start + end) // 2] ^= 1
    bad.write_bytes(data)
    with BinlogFile.open(str(bad)) as file:
        runs = list(runs_of([file], lambda table, index: table.gtid(index) == gtid))
        with pytest.raises(ChecksumError) as caught, open_output(str(target)) as output:
            write_binlog(runs, output)
        assert caught.value.path == str(bad)
        assert start <= (caught.value.offset or 0) < end
        assert not target.exists()
        assert write_binlog(runs, io.BytesIO(), verify=False).transactions == 1


class Full:
    """A sink that takes a few bytes and then has no space."""

    def __init__(self) -> None:
        self.left = 2

    def write(self, data: Buffer, /) -> int:
        self.left -= 1
        if not self.left:
            raise OutputError("cannot be written: no space is left")
        return len(memoryview(data))


def test_an_output_that_fails_ends_the_writing() -> None:
    with BinlogFile.open(str(SHOPS[0][0])) as file:
        (table,) = file.scan()
        with pytest.raises(OutputError):
            write_binlog([Run(file, table)] * 20, Full())


class Counted:
    """A sink that keeps only how much it took, and the last of it."""

    def __init__(self) -> None:
        self.size = 0
        self.last = b""

    def write(self, data: Buffer, /) -> int:
        with memoryview(data) as view:
            self.size += len(view)
            self.last = (self.last + bytes(view[-200:]))[-200:]
            return len(view)


def test_positions_wrap_behind_four_gibibytes(tmp_path: Path) -> None:
    small = MYSQL / "small" / "no_checksum.binlog"
    source = small.read_bytes()
    start, end, _, _ = transactions_of(small)[0]
    gtid = parse_header(source, start)
    query = bytearray(source[gtid.end : end] + bytes(96 << 20))
    query[9:13] = len(query).to_bytes(4, "little")
    path = tmp_path / "large"
    path.write_bytes(source[: gtid.end] + query)
    sink = Counted()
    with BinlogFile.open(str(path)) as large, BinlogFile.open(str(small)) as last:
        runs = [*runs_of([large], every)] * 43 + [*runs_of([last], lambda table, index: index == 0)]
        report = write_binlog(runs, sink)
    assert report.bytes == sink.size > 1 << 32
    event = sink.last[-(end - gtid.end) :]
    assert parse_header(event, 0).next_position == sink.size - (1 << 32)


def test_events_of_mariadb_without_a_position_keep_none(corpus: Path, tmp_path: Path) -> None:
    path, target = corpus / "11.8.5-mariadb-ubu2404-log-29b075.binlog", tmp_path / "slice"
    data, _ = slice_of([path], each_third)
    target.write_bytes(data)
    starts = {start: end for start, end, _, _ in transactions_of(path)[1::3]}
    inside = [
        header.next_position == 0
        for header, _ in events_of(path.read_bytes())
        if any(start <= header.position < end for start, end in starts.items())
    ]
    after = events_of(data)[2:]
    assert any(inside)
    assert [header.next_position == 0 for header, _ in after] == inside
    assert all(header.next_position in (0, header.end) for header, _ in after)


@pytest.mark.parametrize("name", ["8.0.28-tr-639f9e", "5.7.41-debug-log-46004a", "5.0.58-debug-log-caebf7"])
def test_a_relay_logs_notes_about_itself_are_left_out(corpus: Path, name: str, tmp_path: Path) -> None:
    path, target = corpus / f"{name}.binlog", tmp_path / "slice"
    target.write_bytes(slice_of([path])[0])
    assert len(transactions_of(target)) == len(transactions_of(path))
    data, at, types = target.read_bytes(), 4, []
    while at < len(data):
        header = parse_header(data, at)
        types.append(header.type)
        at = header.end
    assert types.count(EventType.FORMAT_DESCRIPTION) == 1
    assert EventType.ROTATE not in types


def test_every_log_of_the_corpus_that_can_be_read_gives_a_slice_that_can_be_read(
    corpus: Path, tmp_path: Path
) -> None:
    target, written = tmp_path / "slice", 0
    for path in sorted(corpus.iterdir()):
        try:
            data, report = slice_of([path], each_third)
        except BinxError:
            continue
        target.write_bytes(data)
        walked = transactions_of(target)
        assert len(walked) == report.transactions, path.name
        assert not any(found[3] & FLAG_LENGTH_WRONG for found in walked), path.name
        written += 1
    assert written > 60
