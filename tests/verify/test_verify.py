"""``verify``: nothing is said of what servers wrote, and everything of what was done to it since."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from binx.errors import AbsentError, SourceError
from binx.event.header import EventType
from binx.log.scan import Scan
from binx.verify import LogProblemKind, VerifyReport, verify
from binx.verify.problems import ADVICE
from tests.conftest import TESTDATA
from tests.log import building as b

SHOPS = [TESTDATA / server / "shop" for server in ("mysql-9.7", "mariadb-10.11")]
SMALL = sorted(TESTDATA.glob("*/small/*.binlog"))
LOG = TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog"
TRANSACTION = (b.BEGIN, b.table_map(), b.rows(1, 2, 3), b.xid())

ODD_IN_THE_CORPUS = {
    "5.1.15-ndb-6.1.24-debug-log-207c45": {"unknown_event", "position"},
    "5.1.17-beta-debug-log-0f9095": {"unknown_event", "position"},
    "5.6.23-72.1-debug-log-a91849": {"checksum"},
    "5.7.18-log-405e7a": {"checksum"},
    "5.7.18-log-a38947": {"checksum"},
    "8.0.13-3-debug-c6babc": {"encrypted"},
    "8.0.30-tr-debug-049fdb": {"structure", "position"},
    "8.0.30-tr-debug-23f02f": {"checksum"},
    "8.0.30-tr-debug-2cbb2b": {"position"},
    "8.0.30-tr-debug-2d0c80": {"structure", "position"},
    "8.0.30-tr-debug-659ba7": {"checksum"},
    "8.0.30-tr-debug-a44f0c": {"length", "position"},
    "8.0.30-tr-debug-a6e876": {"length", "position"},
    "8.0.30-tr-debug-e2cdfa": {"structure", "position"},
    "unreadable-2a9e3b": {"format"},
}
"""What was edited by hand, written by flashback tools, by pre-releases, or cut; the catalogue says which."""

REFUSED = {"not_a_binlog", "encrypted"}


def kinds(report: VerifyReport) -> list[str]:
    return [problem.kind.value for problem in report.problems]


def written(folder: Path, data: bytes, name: str = "mysql-bin.000001") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def check_account(report: VerifyReport) -> None:
    for file in report.files:
        sizes = (file.header_bytes, file.transaction_bytes, file.damaged_bytes, file.unfinished_bytes)
        if file.server_version is not None:
            assert sum(sizes) == file.bytes
            assert min(sizes) >= 0


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.parent.name)
def test_rows_before_changes_are_what_earlier_changes_left(shop: Path) -> None:
    logs = [str(path) for path in sorted(shop.glob("mysql-bin.0*"))]
    report = verify(logs, rows=True)
    assert (report.ok, report.notes) == (
        True,
        ("not compared: rows of tables without a primary key in the logs, or with versions: shop.audit_log",),
    )
    report = verify(logs[:2] + logs[3:], rows=True)
    unlogged = [one for one in report.problems if one.kind is LogProblemKind.UNLOGGED_CHANGES]
    assert unlogged
    assert {one.path for one in unlogged} <= {*logs[3:]}


@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_what_a_server_wrote_is_clean(path: Path) -> None:
    report = verify([str(path)])
    assert report.problems == ()
    assert report.ok
    check_account(report)
    assert report.files[0].ending == "closed"


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.parent.name)
def test_a_chain_is_clean_in_any_order(shop: Path) -> None:
    paths = sorted(map(str, shop.glob("mysql-bin.0*")))
    report = verify(paths[::-1])
    assert report.problems == ()
    assert report.notes == ()
    assert [file.path for file in report.files] == paths
    counted = json.loads((shop / "expected" / "files.json").read_text("utf-8"))["files"]
    assert report.transactions > 0
    assert len(report.files) == len(counted)
    assert verify([str(shop / "mysql-bin.index")]).files == report.files


def test_every_good_log_of_other_servers_is_clean_and_every_odd_one_is_reported(corpus: Path) -> None:
    paths = sorted(corpus.glob("*.binlog"))
    assert {path.stem for path in paths} >= ODD_IN_THE_CORPUS.keys()
    for path in paths:
        report = verify([str(path)])
        check_account(report)
        found_kinds = set(kinds(report))
        if found_kinds & REFUSED and path.stem not in ODD_IN_THE_CORPUS:
            assert found_kinds <= REFUSED, path.name
        else:
            assert found_kinds == ODD_IN_THE_CORPUS.get(path.stem, set()), path.name


def test_all_transactions_of_later_servers_have_the_length_that_they_name() -> None:
    report = verify([str(LOG)])
    assert report.files[0].by_length == report.files[0].transactions


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_a_log_in_use_is_normal_and_its_end_is_reported(tmp_path: Path, server: str) -> None:
    data = (TESTDATA / server / "in-use" / "mysql-bin.000001").read_bytes()
    report = verify([written(tmp_path, data)])
    assert report.ok
    (note,) = report.notes
    assert "marked as being written" in note
    cut = verify([written(tmp_path, data[:-3])])
    assert cut.ok
    assert cut.files[0].unfinished_bytes > 0
    assert f"its last {cut.files[0].unfinished_bytes:,} bytes are an incomplete transaction" in cut.notes[0]
    check_account(cut)


# Damage.


def test_a_changed_byte_is_reported_with_place_and_transaction(tmp_path: Path) -> None:
    data = bytearray(LOG.read_bytes())
    data[1000] ^= 1
    report = verify([written(tmp_path, bytes(data))])
    (problem,) = report.problems
    assert problem.kind is LogProblemKind.CHECKSUM
    assert problem.start is not None
    assert problem.end is not None
    assert problem.start < 1000 < problem.end
    assert problem.transactions == 1
    assert problem.gtid is not None
    intact = verify([str(LOG)])
    assert report.transactions == intact.transactions - 1
    assert report.files[0].damaged_bytes == problem.end - problem.start
    check_account(report)
    assert verify([written(tmp_path, bytes(data))], checksums=False).ok


@pytest.mark.parametrize("offset", range(4, 2000, 61))
def test_it_finds_what_mysqlbinlog_finds(tmp_path: Path, offset: int) -> None:
    program = shutil.which("mysqlbinlog") or shutil.which("mariadb-binlog")
    if program is None:
        pytest.skip("there is no mysqlbinlog")
    data = bytearray((TESTDATA / "mariadb-10.11" / "small" / "xa.binlog").read_bytes())
    data[offset] ^= 0x10
    path = written(tmp_path, bytes(data))
    judge = subprocess.run([program, "--verify-binlog-checksum", path], capture_output=True, check=False)
    report = verify([path])
    assert not report.ok
    assert judge.returncode != 0 or b"error" in judge.stderr.lower()


def test_a_damaged_format_description_leaves_the_file_unread(tmp_path: Path) -> None:
    data = bytearray(LOG.read_bytes())
    data[30] ^= 1
    report = verify([written(tmp_path, bytes(data)), str(SMALL[0])])
    assert kinds(report) == ["format"]
    assert len(report.files) == 2
    check_account(report)


@pytest.mark.parametrize("data", [b"", b"text", b"\xfebin", b"\xfdbin" + bytes(600)])
def test_what_is_no_binary_log_is_a_problem_and_the_others_are_verified(tmp_path: Path, data: bytes) -> None:
    report = verify([written(tmp_path, data), str(LOG)])
    assert len(report.problems) == 1
    assert kinds(report)[0] in ("not_a_binlog", "format", "encrypted")
    assert report.transactions == verify([str(LOG)]).transactions


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        verify([str(tmp_path / "mysql-bin.000001")])
    (tmp_path / "mysql-bin.index").write_text("./mysql-bin.000007\n")
    with pytest.raises(AbsentError):
        verify([str(tmp_path / "mysql-bin.index")])


# What the bytes say of each other.


def clocked_gtid(number: int, last_committed: int, sequence: int, length: int = 0) -> bytes:
    """GTID of 8.0 with a logical clock and a transaction length."""
    body = b"\0" + b.UUID + struct.pack("<Q", number) + b"\x02" + struct.pack("<qq", last_committed, sequence)
    return b.event(33, body + (1_000_000).to_bytes(7, "little") + b"\xfd" + length.to_bytes(3, "little"))


def transaction(number: int, last_committed: int, sequence: int, more: int = 0) -> tuple[bytes, ...]:
    rest = b"".join(TRANSACTION)
    length = len(clocked_gtid(1, 0, 1)) + len(rest) + more
    return (clocked_gtid(number, last_committed, sequence, length), *TRANSACTION)


def test_a_logical_clock_that_ascends_is_clean(tmp_path: Path) -> None:
    log = b.whole_log(*transaction(1, 0, 1), *transaction(2, 0, 2), *transaction(3, 2, 5), b.STOP)
    assert verify([written(tmp_path, log)]).problems == ()


@pytest.mark.parametrize(("last_committed", "sequence"), [(2, 2), (3, 2), (0, 1), (-1, 3)])
def test_a_logical_clock_that_goes_back_is_reported(
    tmp_path: Path, last_committed: int, sequence: int
) -> None:
    log = b.whole_log(*transaction(1, 0, 1), *transaction(2, last_committed, sequence), b.STOP)
    (problem,) = verify([written(tmp_path, log)]).problems
    assert problem.kind is LogProblemKind.CLOCK
    assert problem.gtid == f"{b.UUID_TEXT}:2"


@pytest.mark.parametrize("more", [-1, 1, 19, 5000])
def test_a_wrong_length_is_reported(tmp_path: Path, more: int) -> None:
    log = b.whole_log(*transaction(1, 0, 1, more), *transaction(2, 1, 2), b.STOP)
    report = verify([written(tmp_path, log)])
    assert kinds(report) == ["length"]
    assert report.files[0].by_length == 1
    assert report.transactions == 2


def test_wrong_positions_are_reported_and_those_that_wrapped_are_not_wrong(tmp_path: Path) -> None:
    log = bytearray(b.whole_log(*transaction(1, 0, 1), *transaction(2, 1, 2), b.STOP))
    start = len(b.whole_log(*transaction(1, 0, 1)))
    log[start + 13] ^= 1
    (problem,) = verify([written(tmp_path, bytes(log))]).problems
    assert problem.kind is LogProblemKind.POSITION
    assert problem.start == start
    log[start + 13 : start + 17] = bytes(4)
    (problem,) = verify([written(tmp_path, bytes(log))]).problems
    assert "is 0 in 1 event" in problem.message


def test_events_after_the_end_are_reported(tmp_path: Path) -> None:
    log = b.whole_log(*transaction(1, 0, 1), b.STOP, *transaction(2, 1, 2), b.STOP)
    assert kinds(verify([written(tmp_path, log)])) == ["behind_the_end"]


def test_an_incident_is_reported(tmp_path: Path) -> None:
    log = b.whole_log(*transaction(1, 0, 1), b.gtid(2), b.INCIDENT, b.STOP)
    (problem,) = verify([written(tmp_path, log)]).problems
    assert problem.kind is LogProblemKind.INCIDENT
    assert problem.gtid == f"{b.UUID_TEXT}:2"


def test_an_incident_that_no_server_writes_is_reported_as_such(tmp_path: Path) -> None:
    made_up = b.event(26, struct.pack("<H", 66) + b"\0")
    log = b.whole_log(*transaction(1, 0, 1), b.gtid(2), made_up, b.STOP)
    assert sorted(kinds(verify([written(tmp_path, log)]))) == ["incident", "structure"]


def test_a_gtid_that_comes_twice_is_reported(tmp_path: Path) -> None:
    log = b.whole_log(*transaction(1, 0, 1), *transaction(2, 1, 2), *transaction(1, 2, 3), b.STOP)
    (problem,) = verify([written(tmp_path, log)]).problems
    assert problem.kind is LogProblemKind.DUPLICATE_GTID
    assert problem.gtid == f"{b.UUID_TEXT}:1"


def test_numbers_that_are_left_out_are_a_note(tmp_path: Path) -> None:
    log = b.whole_log(*transaction(1, 0, 1), *transaction(5, 1, 2), b.STOP)
    report = verify([written(tmp_path, log)])
    assert report.ok
    assert any(f"{b.UUID_TEXT}:2-4" in note for note in report.notes)


# What files say of each other.


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.parent.name)
def test_a_missing_file_of_the_chain_is_reported(shop: Path) -> None:
    paths = sorted(map(str, shop.glob("mysql-bin.0*")))
    report = verify(paths[:2] + paths[3:])
    assert kinds(report) == ["missing_file"]
    assert report.lacks_files
    assert "expected mysql-bin.000003 to follow" in report.problems[0].message


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.parent.name)
def test_transactions_that_only_the_next_file_knows_of_are_reported(shop: Path, tmp_path: Path) -> None:
    """The transaction is cut out without a trace: no checksum is wrong, but the next file knows better."""
    first, second = sorted(shop.glob("mysql-bin.0*"))[:2]
    data = first.read_bytes()
    with_gtids = verify([str(first)]).files[0]
    start, end = _second_last_span(first)
    shortened = bytearray(data[:start] + data[end:])
    _move(shortened, start)
    paths = [written(tmp_path, bytes(shortened)), written(tmp_path, second.read_bytes(), "mysql-bin.000002")]
    report = verify(paths)
    assert report.files[0].transactions == with_gtids.transactions - 1
    if shop.parent.name.startswith("mysql"):
        (problem,) = report.problems
        assert problem.kind is LogProblemKind.LOST_GTIDS
        assert problem.transactions == 1
    else:
        # MariaDB's lists hold the last number alone.
        assert report.problems == ()
        assert len(report.notes) == 1


def _second_last_span(path: Path) -> tuple[int, int]:
    from binx.kernels.walk.scan import Level
    from binx.log.binlog_file import BinlogFile

    with BinlogFile.open(str(path)) as file:
        (table,) = Scan(file, Level.LEVEL_EVENTS)
        return table.value("start", len(table) - 2), table.value("end", len(table) - 2)


def _move(log: bytearray, position: int) -> None:
    """Write the positions and checksums of the events from there on again."""
    while position < len(log):
        size = struct.unpack_from("<I", log, position + 9)[0]
        struct.pack_into("<I", log, position + 13, position + size)
        end = position + size - 4
        struct.pack_into("<I", log, end, zlib.crc32(log[position:end]))
        position += size


def test_a_number_in_an_anonymous_transaction_is_reported(tmp_path: Path) -> None:
    log = bytearray((TESTDATA / "mysql-9.7/small/anonymous_gtids.binlog").read_bytes())
    start, _ = _second_last_span(TESTDATA / "mysql-9.7/small/anonymous_gtids.binlog")
    assert log[start + 4] == EventType.ANONYMOUS_GTID
    log[start + 19 + 1 + 16] = 1
    _move(log, start)
    report = verify([written(tmp_path, bytes(log))])
    assert not report.ok


def test_a_file_that_is_there_twice_is_reported(tmp_path: Path) -> None:
    shop = SHOPS[0]
    copy = tmp_path / "mysql-bin.000001"
    shutil.copy(shop / "mysql-bin.000001", copy)
    report = verify([str(shop / "mysql-bin.000001"), str(copy)])
    assert (report.ok, len(report.files)) == (True, 1)
    assert f"{copy}: left out, as {shop / copy.name} has all of it" in report.notes
    b.flip(copy)
    assert "repeated" in kinds(verify([str(shop / "mysql-bin.000001"), str(copy)]))


def test_a_file_without_its_end_that_another_follows_is_reported(tmp_path: Path) -> None:
    first, second = sorted(SHOPS[0].glob("mysql-bin.0*"))[:2]
    rotate = 19 + 8 + len("mysql-bin.000002") + 4
    paths = [
        written(tmp_path, first.read_bytes()[:-rotate]),
        written(tmp_path, second.read_bytes(), "mysql-bin.000002"),
    ]
    assert kinds(verify(paths)) == ["not_closed"]


# The report.


def test_every_kind_of_problem_says_what_it_means_and_what_to_do() -> None:
    assert set(ADVICE) == set(LogProblemKind)
    for advice in ADVICE.values():
        assert advice.meaning.endswith(".")
        assert advice.action


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    paths = sorted(map(str, SHOPS[0].glob("mysql-bin.0*")))
    verify(paths, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] == sum(Path(path).stat().st_size for path in paths)


def test_nothing_is_changed(tmp_path: Path) -> None:
    path = Path(written(tmp_path, LOG.read_bytes()[:-7]))
    path.chmod(0o444)
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir()))
    verify([str(path)])
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before


# Any damage at all.

STRIDE = 1 if os.environ.get("BINX_EVERY_BIT") else 41


@pytest.mark.parametrize(
    "name", ["tagged_gtids", "xa", "compressed", "no_checksum", "partial_json", "statements"]
)
def test_any_flipped_bit_is_reported_or_changes_nothing_that_can_be_known(name: str, tmp_path: Path) -> None:
    """With checksums all are told but the mark of a log in use, which they do not cover."""
    data = (TESTDATA / "mysql-9.7" / "small" / f"{name}.binlog").read_bytes()
    for bit in range(0, len(data) * 8, STRIDE * 7):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        report = verify([written(tmp_path, bytes(flipped))])
        check_account(report)
        assert not report.ok or name == "no_checksum" or bit // 8 == 4 + 17, bit


@pytest.mark.parametrize("name", ["tagged_gtids", "xa", "compressed", "no_checksum"])
def test_any_cut_is_reported(name: str, tmp_path: Path) -> None:
    data = (TESTDATA / "mysql-9.7" / "small" / f"{name}.binlog").read_bytes()
    intact = verify([written(tmp_path, data)])
    for size in range(0, len(data), STRIDE):
        report = verify([written(tmp_path, data[:size])])
        check_account(report)
        assert report.transactions <= intact.transactions
        # Between transactions nothing tells of a cut but that the end event is not there.
        assert not report.ok or "no ROTATE or STOP at its end" in report.notes[0]


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_a_relay_log_with_the_sources_rotate_and_its_own_alone_is_intact(server: str, tmp_path: Path) -> None:
    """A replica that rotates its relay log right after it has connected leaves such ones."""
    logs = [path.read_bytes() for path in sorted((TESTDATA / server / "relay").glob("relay-bin.0*"))]
    events = next(
        events
        for events in (b.split(log, 4) for log in logs)
        if [event[4] for event in events].count(EventType.ROTATE) > 1
    )
    rotates = [event for event in events if event[4] == EventType.ROTATE]
    path = tmp_path / "relay-bin.000001"
    path.write_bytes(b"\xfebin" + events[0] + rotates[0] + rotates[-1])
    report = verify([str(path)])
    assert report.ok, report.problems
    assert report.files[0].relay_log


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_transactions_that_go_on_in_the_next_relay_log_are_intact(server: str) -> None:
    folder = TESTDATA / server / "relay"
    report = verify([str(folder / "relay-bin.index")])
    assert report.ok, report.problems
    sizes = {path.name: path.stat().st_size for path in folder.glob("relay-bin.0*")}
    assert {file.file: file.bytes for file in report.files} == sizes
    assert all(file.header_bytes + file.transaction_bytes == file.bytes for file in report.files)
    assert sum("no ROTATE or STOP" in note for note in report.notes) == 1


def test_a_relay_log_alone_that_begins_inside_a_transaction_needs_the_log_before_it() -> None:
    path = str(TESTDATA / "mariadb-10.11" / "relay" / "relay-bin.000003")
    report = verify([path])
    (problem,) = report.problems
    assert problem.kind is LogProblemKind.MISSING_FILE
    assert "inside a transaction of the log before it, relay-bin.000002; give that one too" in problem.message
    assert report.files[0].damaged_bytes == 0


def test_relay_logs_are_joined_after_one_that_is_damaged(tmp_path: Path) -> None:
    shutil.copytree(TESTDATA / "mariadb-10.11" / "relay", tmp_path / "relay")
    first = tmp_path / "relay" / "relay-bin.000001"
    data = bytearray(first.read_bytes())
    data[256 + 9 : 256 + 13] = bytes(4)
    first.write_bytes(data)
    report = verify([str(tmp_path / "relay" / "relay-bin.index")])
    assert {problem.path for problem in report.problems} == {str(first)}
    assert sum(file.transactions for file in report.files) == 8
