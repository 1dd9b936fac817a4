"""Slices are binary logs of their own: clocks, lengths, positions, formats, and what is refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import AbsentError, BinxError, ChecksumError, DamagedError, OutputError, RefusedError
from binx.event.header import EventType, parse_header
from binx.kernels.transactions.table import FLAG_LENGTH_WRONG
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.slices.binlog import write_binlog
from binx.slices.renaming import DatabaseNames
from binx.slices.search import Selected
from binx.storage.output import open_output
from tests.dataset.current_state import (
    MARIADB,
    MYSQL,
    SHOPS,
    SMALL,
    Wanted,
    contiguous,
    each_third,
    events_of,
    every,
    gtids_of,
    runs_of,
    slice_of,
    transactions_of,
)
from tests.slices.sql.sql_of import json_of

if TYPE_CHECKING:
    from typing_extensions import Buffer


@pytest.mark.parametrize("folder", [MYSQL, MARIADB], ids=["mysql", "mariadb"])
def test_all_of_a_servers_first_file_is_that_file_but_for_notes_about_itself(folder: Path) -> None:
    original = (folder / "shop" / "mysql-bin.000001").read_bytes()
    data, _ = slice_of([folder / "shop" / "mysql-bin.000001"])
    if folder is MYSQL:
        assert data == original[: len(data)]
        assert parse_header(original, len(data)).type == EventType.ROTATE
        return
    # The checkpoint after the empty list is about the file, so that all positions move by its size.
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


@pytest.mark.parametrize("small", [0, 500, 1 << 20])
def test_a_verbatim_slice_has_the_very_bytes_however_they_are_collected(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binx.slices.slice_writer._SMALL_RUN", small)
    path = SHOPS[0][1]
    original, transactions = path.read_bytes(), transactions_of(path)
    data, report = slice_of([path], each_third, verbatim=True)
    head = original[: parse_header(original, 4).end]
    taken = [original[start:end] for start, end, _, _ in transactions[1::3]]
    assert {len(one) < 500 for one in taken} == {True, False}
    assert data == head + b"".join(taken)
    assert (report.bytes, report.renumbered) == (len(data), 0)


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
    with pytest.raises(AbsentError, match="none of the requested transactions"):
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


def every_part(file: BinlogFile, level: Level = Level.LEVEL_INDEX) -> Iterator[Selected]:
    """All transactions of a file."""
    scan = Scan(file, level)
    return (Selected(scan, table, table.mask()) for table in scan)


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
        (part,) = every_part(file)
        with pytest.raises(OutputError):
            write_binlog([part] * 20, Full())


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


def test_positions_wrap_beyond_four_gibibytes(tmp_path: Path) -> None:
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


def test_a_connection_lost_within_a_transaction_leaves_no_trace(corpus: Path, tmp_path: Path) -> None:
    path, torn = corpus / "5.7.41-debug-log-46004a.binlog", tmp_path / "torn"
    data = path.read_bytes()
    ((start, _, _, _),) = transactions_of(path)
    positions, at = [], 4
    while at < len(data):
        positions.append((at, parse_header(data, at)))
        at = positions[-1][1].end
    again = [data[at : header.end] for at, header in positions if header.type in (4, 15)][1:]
    inside = parse_header(data, parse_header(data, start).end).end
    torn.write_bytes(data[:inside] + b"".join(again) + data[inside:])
    assert slice_of([torn])[0] == slice_of([path])[0]


def test_events_about_the_file_within_a_length_that_counts_them_are_damage(tmp_path: Path) -> None:
    path, odd = MYSQL / "small" / "no_checksum.binlog", tmp_path / "odd"
    data = path.read_bytes()
    start, end, _, _ = transactions_of(path)[-1]
    gtid = parse_header(data, start)
    rotate = data[end : parse_header(data, end).end]
    second = parse_header(data, gtid.end).end
    length = end - start + len(rotate)
    place = gtid.end - 4 - 3 if end - start > 250 else gtid.end - 4 - 1
    assert length < 65536
    whole = bytearray(data[:second] + rotate + data[second:end])
    if end - start > 250:
        whole[place : place + 3] = b"\xfc" + length.to_bytes(2, "little")
    else:
        assert length < 251
        whole[place] = length
    odd.write_bytes(whole)
    with BinlogFile.open(str(odd)) as file:
        runs = [*every_part(file, Level.LEVEL_EVENTS)]
        with pytest.raises(DamagedError, match="found ROTATE"):
            write_binlog(runs, io.BytesIO())


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


def texts_of(log: Path, target: Path) -> tuple[str, str]:
    """A log as JSON lines, and its copy with another name for the database, without what must differ."""
    renamed = target / log.name
    with BinlogFile.open(str(log)) as file, renamed.open("wb") as output:
        runs = [*every_part(file)]
        report = write_binlog(runs, output, databases=DatabaseNames({"small": "another_name", "shop": "s"}))
    assert report.bytes == renamed.stat().st_size
    return facts_of(log), facts_of(renamed)


def facts_of(log: Path) -> str:
    """Rows and statements of a log; the database has one name, whatever it is."""
    places = ("commit_version", "position", "start", "end", "bytes", "uncompressed_bytes", "seqno", "file")
    lines = []
    for line in json_of(log).decode().splitlines():
        document = json.loads(line)
        for place in (*places, "transaction" if document["gtid"] is None else "", "how"):
            document.pop(place, None)
        for item in (*document["changes"], *document["sql_statements"], *document["tables"]):
            item.pop("position", None)
            item["db"] = {"another_name": "small", "s": "shop"}.get(item["db"], item["db"])
            item.pop("sql", None) if document["kind"] == "xa" else None
        lines.append(json.dumps(document))
    return "\n".join(lines)


@pytest.mark.parametrize(
    "log",
    # The character sets of members's columns are told by its statements alone, whose text keeps the old name.
    [*(path for path in SMALL if path.stem != "members"), *SHOPS[0], *SHOPS[1]],
    ids=lambda path: f"{path.parts[-3]}/{path.stem}",
)
def test_a_database_that_gets_another_name_is_all_that_changes(log: Path, tmp_path: Path) -> None:
    before, after = texts_of(log, tmp_path)
    assert after == before
    with BinlogFile.open(str(tmp_path / log.name)) as file:
        for table in Scan(file, Level.LEVEL_EVENTS, verify=True):
            assert not any(table.value("flags", index) & FLAG_LENGTH_WRONG for index in range(len(table)))


def test_events_that_go_on_in_the_next_window_are_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binx.slices.slice_writer.READ_BYTES", 1000)
    before, after = texts_of(SHOPS[0][3], tmp_path)
    assert after == before
