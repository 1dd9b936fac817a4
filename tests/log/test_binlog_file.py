"""A log opened and scanned: the levels agree, and what cannot be read is said and never skipped."""

from __future__ import annotations

import os
import struct
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from binx.errors import (
    BinxError,
    EncryptedError,
    SourceError,
    UnsupportedError,
)
from binx.event.header import EventType
from binx.kernels.transactions.table import FLAG_BY_LENGTH, Kind
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, open_files
from binx.log.scan import Scan
from binx.log.scanning import Ending
from tests.conftest import TESTDATA
from tests.log.searching import Bytes, read

SMALL = sorted(TESTDATA.glob("*/small/*.binlog"))
SHOP = sorted(TESTDATA.glob("*/shop/mysql-bin.0*"))
ALL = [*SMALL, *SHOP, *sorted(TESTDATA.glob("*/in-use/*"))]
LEVELS = list(Level)
ANONYMOUS = TESTDATA / "mysql-9.7/small/anonymous_gtids.binlog"


def name_of(path: Path) -> str:
    return str(path.relative_to(TESTDATA))


def places(path: Path, level: Level) -> list[tuple[int, int, int]]:
    """Start, end and kind of each transaction."""
    with BinlogFile.open(str(path)) as file:
        return [
            (table.value("start", index), table.value("end", index), table.value("kind", index))
            for table in Scan(file, level)
            for index in range(len(table))
        ]


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_length_and_boundary_give_the_same_transactions(path: Path) -> None:
    by_length, by_boundary = places(path, Level.LEVEL_INDEX), places(path, Level.LEVEL_EVENTS)
    assert by_length == by_boundary


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_counting_rows_finds_the_same_transactions(path: Path) -> None:
    walked, counted = places(path, Level.LEVEL_EVENTS), places(path, Level.LEVEL_TABLES)
    assert [one[:2] for one in walked] == [one[:2] for one in counted]
    if path.name != "compressed.binlog":
        assert walked == counted


def test_only_a_look_into_the_payload_shows_that_a_compressed_transaction_was_prepared() -> None:
    path = TESTDATA / "mysql-9.7/small/compressed.binlog"
    walked, counted = places(path, Level.LEVEL_EVENTS), places(path, Level.LEVEL_TABLES)
    differing = [(one[2], other[2]) for one, other in zip(walked, counted, strict=True) if one != other]
    assert differing == [(Kind.KIND_DML, Kind.KIND_XA_PREPARE)]


def test_length_and_boundary_agree_on_foreign_logs_of_version_8_and_later(corpus: Path) -> None:
    compared = 0
    for path in sorted(corpus.iterdir()):
        readings = [read(path.read_bytes(), level) for level in (Level.LEVEL_INDEX, Level.LEVEL_EVENTS)]
        if any(reading.error for reading in readings):
            # A file that was damaged on purpose: jumping sees less of the damage, never more.
            assert readings[1].error is not None, path.name
            continue
        assert readings[0].transactions == readings[1].transactions, path.name
        compared += 1
    assert compared >= 80


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_every_byte_is_header_or_control_event_or_transaction(path: Path) -> None:
    with BinlogFile.open(str(path)) as file:
        scan = Scan(file, Level.LEVEL_EVENTS)
        parts = [(0, file.first_position)]
        parts += [
            (table.value("start", i), table.value("end", i)) for table in scan for i in range(len(table))
        ]
        parts += [(position, position + size) for _, position, size in scan.control_events]
        parts.sort()
        assert all(before[1] == after[0] for before, after in pairwise(parts))
        assert parts[-1][1] + scan.unfinished == file.size


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_totals_count_every_event_and_byte(path: Path) -> None:
    with BinlogFile.open(str(path)) as file:
        scan = Scan(file, Level.LEVEL_EVENTS)
        for _ in scan:
            pass
        totals = scan.totals()
        data = bytes(file.source.window(0, file.size))
    events: Counter[int] = Counter()
    position = 4
    while position < len(data):
        events[data[position + 4]] += 1
        position += struct.unpack_from("<I", data, position + 9)[0]
    assert totals.events == events
    assert sum(totals.bytes.values()) == len(data) - 4


def test_mysql_transactions_are_found_by_length_and_mariadbs_by_boundary() -> None:
    for path in SHOP:
        with BinlogFile.open(str(path)) as file:
            (table,) = Scan(file, Level.LEVEL_INDEX)
            by_length = {bool(table.value("flags", i) & FLAG_BY_LENGTH) for i in range(len(table))}
        assert by_length == {name_of(path).startswith("mysql")}


def test_a_closed_log_ends_with_rotate_or_stop_and_an_open_one_says_so(testdata: Path) -> None:
    endings = {}
    for path in ALL:
        with BinlogFile.open(str(path)) as file:
            scan = Scan(file, Level.LEVEL_INDEX)
            for _ in scan:
                pass
            endings[path.parent.name] = scan.ending
    assert endings == {"small": Ending.CLOSED, "shop": Ending.CLOSED, "in-use": Ending.IN_USE}


# What is no binary log.


def test_a_missing_file_and_a_folder_are_source_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        BinlogFile.open(str(tmp_path / "absent"))
    with pytest.raises(SourceError, match="folder"):
        BinlogFile.open(str(tmp_path))


def test_bytes_that_nobody_decrypted_are_refused() -> None:
    with pytest.raises(EncryptedError, match="still encrypted after decryption"):
        BinlogFile(Bytes(b"\xfdbin" + bytes(600)))


@pytest.mark.parametrize(
    ("number", "source"), [(159, "mysql-9.7"), (164, "mariadb-10.11"), (164, "mysql-9.7")]
)
def test_a_file_encrypted_by_mariadb_or_percona_server_names_the_way_out(number: int, source: str) -> None:
    log = (TESTDATA / source / "shop/mysql-bin.000001").read_bytes()
    first = BinlogFile(Bytes(log)).first_position
    start = struct.pack("<IBIIIH", 0, number, 1, 40, 0, 0) + bytes(21)
    with pytest.raises(EncryptedError, match="read-from-remote-server") as caught:
        BinlogFile(Bytes(log[:first] + start + bytes(range(256))))
    assert ("MariaDB" in caught.value.message) == (source == "mariadb-10.11")
    assert (caught.value.offset, caught.value.event) == (first, "START_ENCRYPTION")


def test_where_one_of_several_files_cannot_be_opened_all_are_closed(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        open_files([str(SMALL[0]), str(tmp_path / "absent")])


# Names and numbers.


def test_the_commit_version_is_file_number_and_start(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7/shop/mysql-bin.000003")) as file:
        assert file.file_number == 3
        assert file.commit_version(105_219) == 3 * 2**32 + 105_219
        with pytest.raises(UnsupportedError, match="4 GiB"):
            file.commit_version(2**32)


def test_a_name_without_a_number_counts_as_file_0() -> None:
    assert BinlogFile(Bytes(ANONYMOUS.read_bytes(), "binlog")).file_number == 0


def test_a_scan_resumes_over_windows_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    path = TESTDATA / "mysql-9.7/small/ddl.binlog"
    whole = places(path, Level.LEVEL_EVENTS)
    monkeypatch.setattr("binx.log.scan.WINDOW_BYTES", 100)
    for level in LEVELS:
        assert places(path, level) == whole


def test_errors_carry_path_and_offset() -> None:
    data = bytearray(ANONYMOUS.read_bytes())
    data[200] ^= 0xFF
    error = read(bytes(data), Level.LEVEL_EVENTS).error
    assert isinstance(error, BinxError)
    assert error.path == "memory.000001"
    assert error.offset is not None


def test_control_events_are_listed_with_their_places() -> None:
    with BinlogFile.open(str(TESTDATA / "mysql-9.7/shop/mysql-bin.000002")) as file:
        scan: Scan = Scan(file, Level.LEVEL_INDEX)
        for _ in scan:
            pass
        types = [number for number, _, _ in scan.control_events]
    assert types == [EventType.PREVIOUS_GTIDS, EventType.ROTATE]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("path", "size"), [*((path, 300) for path in [*SMALL, SHOP[0]]), (SHOP[0], 1000), (SHOP[0], 20_000)]
)
def test_the_transactions_are_the_same_however_much_is_read_at_once(
    path: Path, level: Level, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(path.read_bytes(), level)
    monkeypatch.setattr("binx.log.binlog_file.READ_BYTES", size)
    monkeypatch.setattr("binx.log.scan.READ_BYTES", size)
    pieces = read(path.read_bytes(), level)
    assert pieces.transactions == whole.transactions
    assert (pieces.error is None) == (whole.error is None)


def test_the_inside_of_a_long_transaction_is_not_read_where_its_length_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 300
    monkeypatch.setattr("binx.log.binlog_file.READ_BYTES", size)
    monkeypatch.setattr("binx.log.scan.READ_BYTES", size)
    path = next(path for path in SHOP if "mysql-9.7" in str(path))
    source = Bytes(path.read_bytes())
    spans: list[tuple[int, int]] = []

    def window(start: int, stop: int) -> memoryview:
        spans.append((start, stop))
        return Bytes.window(source, start, stop)

    monkeypatch.setattr(source, "window", window)
    start, end, _ = max(places(path, Level.LEVEL_INDEX), key=lambda place: place[1] - place[0])
    assert end - start > 20 * size
    for _ in Scan(BinlogFile(source), Level.LEVEL_INDEX):
        pass
    inside = range(start + 2 * size, end - 2 * size)
    assert not [span for span in spans if span[0] in inside or span[1] in inside]


@pytest.mark.parametrize("size", [50, 1000, 150_000])
def test_a_file_that_is_cut_between_two_reads_is_an_error_with_its_place(size: int, tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes((TESTDATA / "mysql-9.7/shop/mysql-bin.000001").read_bytes())
    with BinlogFile.open(str(path)) as file:
        os.truncate(path, size)
        with pytest.raises(SourceError, match="shrank while it was read") as caught:
            list(Scan(file, Level.LEVEL_TABLES))
    assert (caught.value.path, caught.value.offset) == (str(path), size)


def test_a_file_that_grows_or_vanishes_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes((TESTDATA / "mysql-9.7/shop/mysql-bin.000001").read_bytes())
    with BinlogFile.open(str(path)) as file:
        with path.open("ab") as more:
            more.write(b"more")
        path.unlink()
        assert sum(len(table) for table in Scan(file)) == 374
