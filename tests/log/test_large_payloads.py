"""Large logs and large payloads are read in bounded memory."""

from __future__ import annotations

import json
import random
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from binx.errors import BinxError, ChecksumError, UnsupportedError
from binx.event.header import HEADER_SIZE
from binx.event.payload import TransactionPayload
from binx.event.rows_events import RowsHeader
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.log.selection.times import Position
from binx.log.transaction_events import raw_events
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading
from binx.slices.event_rows import events_with_rows
from binx.slices.extraction import extract
from binx.slices.items import Begin
from binx.slices.options import ExtractOptions
from binx.slices.search import Selected
from binx.source import READ_BYTES
from binx.stats.event_list import EventListing
from tests.conftest import PROJECT
from tests.log import building as b
from tests.log.searching import Bytes, read

DICE = random.Random(40)
VALUES = [[DICE.randrange(1 << 31) for _ in range(2_000)] for _ in range(200)]
INNER = (b.BEGIN, *chain.from_iterable((b.table_map(), b.rows(*values)) for values in VALUES), b.xid())
LARGE = b.compressed(*INNER)
FIELDS = 26
"""Bytes of the payload event's fields before the compressed ones."""
START = len(b.whole_log(b.gtid(1)))
LOG = b.whole_log(b.gtid(1), LARGE, b.gtid(2), b.BEGIN, b.table_map(), b.rows(7), b.xid(), b.STOP)


class Watched(Bytes):
    """Bytes that remember the largest window."""

    largest = 0

    def window(self, start: int, stop: int) -> memoryview:
        self.largest = max(self.largest, stop - start)
        return super().window(start, stop)


def with_checksums(log: bytes) -> bytes:
    """The same log with a checksum after each event, and positions that are right."""
    logged = bytearray(b.NO_CHECKSUM.read_bytes()[:4])
    at = 4
    while at < len(log):
        (size,) = struct.unpack_from("<I", log, at + 9)
        event = bytearray(log[at : at + size])
        if at == 4:
            # A format description always has a checksum; the byte before it says whether the others do.
            event[-5] = 1
            event = event[:-4]
        struct.pack_into("<II", event, 9, len(event) + 4, len(logged) + len(event) + 4)
        logged += event + struct.pack("<I", zlib.crc32(event))
        at += size
    return bytes(logged)


@pytest.fixture(scope="module", params=["plain", "checksums"])
def log(request: pytest.FixtureRequest) -> bytes:
    return LOG if request.param == "plain" else with_checksums(LOG)


def scanned(
    log: bytes, level: Level, on_damage: OnDamage = OnDamage.STOP
) -> tuple[Watched, list[tuple[int, ...]]]:
    source = Watched(log)
    fields = ("start", "end", "events", "rows", "uncompressed_bytes", "number")
    return source, [
        tuple(table.value(name, index) for name in fields)
        for table in Scan(BinlogFile(source), level, on_damage=on_damage)
        for index in range(len(table))
    ]


def test_the_payload_is_larger_than_what_is_read_at_once() -> None:
    assert len(LARGE) > 2 * READ_BYTES


@pytest.mark.parametrize("level", list(Level))
def test_a_scan_takes_it_in_pieces(log: bytes, level: Level) -> None:
    source, found = scanned(log, level)
    assert [one[4] for one in found] == [sum(map(len, INNER)), 0]
    assert [one[5] for one in found] == [1, 2]
    assert found[0][1] == found[1][0]
    if level is Level.LEVEL_TABLES:
        assert [one[3] for one in found] == [sum(map(len, VALUES)), 1]
    assert source.largest <= READ_BYTES


def test_a_salvaging_scan_finds_the_same(log: bytes) -> None:
    source, found = scanned(log, Level.LEVEL_TABLES, on_damage=OnDamage.SALVAGE)
    assert found == scanned(log, Level.LEVEL_TABLES)[1]
    assert source.largest <= READ_BYTES


def decoded(log: bytes) -> Iterator[int]:
    file = BinlogFile(Watched(log))
    decoder = ChangeDecoder(file, Catalog())
    for table in Scan(file, Level.LEVEL_EVENTS):
        for item in chain(decoder.decode(table, table.mask()), decoder.finish()):
            assert isinstance(item, ChangeBatch)
            yield from item.batch.column("c1").to_pylist()
    assert isinstance(file.source, Watched)
    assert file.source.largest <= READ_BYTES


def test_its_rows_are_decoded(log: bytes) -> None:
    assert list(decoded(log)) == [*chain.from_iterable(VALUES), 7]


def test_its_events_are_read_one_by_one(log: bytes) -> None:
    file = BinlogFile(Watched(log))
    (table,) = Scan(file, Level.LEVEL_EVENTS)
    raws = list(raw_events(file, table.value("start", 0), table.value("end", 0), table.format))
    payload = raws[1].event
    assert isinstance(payload, TransactionPayload)
    assert payload.compressed_size == len(LARGE) - HEADER_SIZE - FIELDS
    assert b"".join(bytes(raw.data) for raw in raws[2:]) == b"".join(INNER)
    assert sum(isinstance(raw.event, RowsHeader) for raw in raws) == len(VALUES)
    assert isinstance(file.source, Watched)
    assert file.source.largest <= READ_BYTES


def test_its_events_are_listed(log: bytes) -> None:
    source = Watched(log)
    listing = EventListing([BinlogFile(source)], inner=True, as_json=True)
    lines = [json.loads(line) for part in listing.lines() for line in part.splitlines()]
    assert sum(line["event_type"] == "WRITE_ROWS" for line in lines) == len(VALUES) + 1
    assert listing.problems == []
    assert source.largest <= READ_BYTES


@pytest.mark.parametrize("level", [Level.LEVEL_EVENTS, Level.LEVEL_TABLES])
def test_a_wrong_checksum_is_reported(level: Level) -> None:
    damaged = bytearray(with_checksums(LOG))
    damaged[START + len(LARGE) - 1000] ^= 1
    with pytest.raises(ChecksumError, match="expected the stored checksum"):
        scanned(bytes(damaged), level)
    listing = EventListing([BinlogFile(Bytes(bytes(damaged)))], as_json=True)
    lines = [json.loads(line) for part in listing.lines() for line in part.splitlines()]
    assert [line["checksum"] for line in lines if line["event_type"] == "TRANSACTION_PAYLOAD"] == ["bad"]
    _, found = scanned(bytes(damaged), level, on_damage=OnDamage.SALVAGE)
    assert [one[5] for one in found] == [2]


@pytest.mark.parametrize("place", [0, 5, FIELDS, FIELDS + 4])
def test_damaged_fields_are_an_error(place: int) -> None:
    damaged = bytearray(LOG)
    damaged[START + HEADER_SIZE + place] ^= 0x40
    with pytest.raises(BinxError):
        scanned(bytes(damaged), Level.LEVEL_TABLES)
    with pytest.raises(BinxError):
        list(decoded(bytes(damaged)))


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("end", [START + 30, START + READ_BYTES, START + len(LARGE) - 1])
def test_a_cut_one_is_an_error(level: Level, end: int) -> None:
    with pytest.raises(BinxError, match="the file is truncated inside a transaction"):
        scanned(LOG[:end], level)


BEGUN = PROJECT / "testdata/mysql-9.7/shop/mysql-bin.000002"
FOUR_GIB = 1 << 32


class Repeated:
    """A log whose transactions come again and again until it is larger than 4 GiB; nothing is stored."""

    def __init__(self) -> None:
        data = BEGUN.read_bytes()
        with BinlogFile.open(str(BEGUN)) as file:
            places = [
                (table.value("start", index), table.value("end", index))
                for table in Scan(file, Level.LEVEL_EVENTS)
                for index in range(len(table))
            ]
        self.starts = [start - places[0][0] for start, _ in places]
        self.head = data[: places[0][0]]
        self.body = data[places[0][0] : places[-1][1]]
        self.repeats = FOUR_GIB // len(self.body) + 2
        self.path = self.name = "mysql-bin.000002"
        self.size = len(self.head) + self.repeats * len(self.body)
        self._many = memoryview(self.body * 64)

    def window(self, start: int, stop: int) -> memoryview:
        stop = min(stop, self.size)
        parts = []
        if start < len(self.head):
            parts.append(memoryview(self.head)[start:stop])
            start += len(parts[0])
        while start < stop:
            at = (start - len(self.head)) % len(self.body)
            parts.append(self._many[at : at + stop - start])
            start += len(parts[-1])
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts))

    def release(self, start: int, stop: int) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def source() -> Repeated:
    return Repeated()


def start_of(source: Repeated, number: int) -> int:
    """Where the first transaction of a repeat begins."""
    return len(source.head) + number * len(source.body)


@pytest.fixture(scope="module")
def last_table(source: Repeated) -> TransactionTable:
    """The last transactions that a whole walk finds, after all others were compared with their places."""
    found = 0
    for table in Scan(BinlogFile(source), Level.LEVEL_INDEX, verify=False):
        for index in (0, len(table) - 1):
            number, place = divmod(found + index, len(source.starts))
            assert table.value("start", index) == start_of(source, number) + source.starts[place]
        found += len(table)
    assert found == source.repeats * len(source.starts)
    return table


def test_every_transaction_is_found_where_it_is(source: Repeated, last_table: TransactionTable) -> None:
    assert last_table.value("end", len(last_table) - 1) == source.size > FOUR_GIB


def test_a_slice_from_beyond_4_gib_has_the_bytes_from_there(source: Repeated, tmp_path: Path) -> None:
    place = start_of(source, source.repeats - 1) + source.starts[3]
    assert place > FOUR_GIB
    chain = [ChainLog.of(BinlogFile(source))]
    selection = Selection(start=Position(None, place), limit=1)
    extract(chain, selection, str(tmp_path / "slice"), ExtractOptions(verify=False))
    with BinlogFile.open(str(tmp_path / "slice")) as written, BinlogFile.open(str(BEGUN)) as original:
        one, several = next(iter(Scan(written))), next(iter(Scan(original)))
        assert len(one) == 1
        assert one.gtid(0) == several.gtid(3)


def test_rows_from_beyond_4_gib_are_refused_and_none_is_numbered_wrongly(
    source: Repeated, last_table: TransactionTable
) -> None:
    mask = last_table.mask()
    last_table.mark_work(mask)
    with pytest.raises(UnsupportedError, match="begins after the first 4 GiB") as caught:
        list(ChangeDecoder(BinlogFile(source), Catalog()).decode(last_table, mask))
    assert caught.value.path == "mysql-bin.000002"
    assert (caught.value.offset or 0) >= FOUR_GIB


SECOND_INNER = (b.BEGIN, b.table_map(), b.rows(1, 2, 3), b.xid())
CUT = b.rows(1, 2, 3)[:-4]
CLAIMS_A_GIGABYTE = b.event(30, b"")[:9] + (1 << 30).to_bytes(4, "little") + bytes(6)

DAMAGED = {
    "two transactions": (
        b.compressed(*SECOND_INNER, *SECOND_INNER),
        "found events behind the end of the transaction",
    ),
    "a statement behind its end": (b.compressed(*SECOND_INNER, b.CREATE), "found events behind the end"),
    "a transaction without its end": (b.compressed(*SECOND_INNER[:-1]), "found one without its end"),
    "nothing": (b.compressed(), "found one without its end"),
    "a payload in the payload": (
        b.compressed(b.compressed(*SECOND_INNER)),
        "found a compressed event within it",
    ),
    "a cut event": (
        b.compressed(*SECOND_INNER, CUT),
        "bytes that are left of the compressed payload, found one",
    ),
    "a cut header": (b.compressed(*SECOND_INNER, b.xid()[:18]), "found 18 bytes after the last one"),
    "an event without size": (b.compressed(bytes(64)), "found one that claims 0"),
    "an event that claims a gigabyte": (
        b.compressed(CLAIMS_A_GIGABYTE),
        "within the 19 bytes that are left of the compressed payload, found one that claims 1073741824",
    ),
    "a payload and an event that claim more than a server writes": (
        b.compressed(b.event(30, b"")[:9] + b"\xff" * 4 + bytes(6), claimed=1 << 40),
        "found one that claims 4294967295",
    ),
}


def logged(payload: bytes) -> bytes:
    return b.whole_log(b.gtid(1), payload, b.gtid(2), *SECOND_INNER, b.STOP)


def test_a_whole_payload_is_a_transaction_with_its_rows() -> None:
    file = BinlogFile(Bytes(logged(b.compressed(*SECOND_INNER))))
    (table,) = Scan(file, Level.LEVEL_TABLES)
    assert [table.value("rows", index) for index in range(len(table))] == [3, 3]


@pytest.mark.parametrize(("payload", "words"), DAMAGED.values(), ids=list(DAMAGED))
def test_the_scan_says_what_is_wrong_with_a_payload(payload: bytes, words: str) -> None:
    reading = read(logged(payload), Level.LEVEL_TABLES)
    assert reading.transactions == []
    assert reading.error is not None
    assert words in reading.error.message
    assert reading.error.offset == len(b.whole_log(b.gtid(1)))


def index(data: bytes) -> tuple[BinlogFile, list[TransactionTable]]:
    file = BinlogFile(Bytes(data))
    return file, list(Scan(file, Level.LEVEL_EVENTS))


@pytest.mark.parametrize("name", [name for name in DAMAGED if "event" in name or "in the payload" in name])
def test_the_decoder_says_it_too(name: str) -> None:
    file, tables = index(logged(DAMAGED[name][0]))
    decoder = ChangeDecoder(file, Catalog())
    with pytest.raises(BinxError):
        list(decoder.decode(tables[0], tables[0].mask()))


DAMAGED_WITHIN = {
    "rows that are cut": (b.BEGIN, b.table_map(), b.event(30, b.rows(1, 2, 3)[19:-1]), b.xid()),
    "a table map that is cut": (b.BEGIN, b.event(19, b.table_map()[19:-3]), b.rows(1), b.xid()),
}
PAYLOAD = len(b.whole_log(b.gtid(1)))


@pytest.mark.parametrize("inner", DAMAGED_WITHIN.values(), ids=list(DAMAGED_WITHIN))
def test_damage_within_a_payload_is_reported_at_the_payload(inner: tuple[bytes, ...]) -> None:
    """What it holds stands nowhere in the file, so no other offset leads there."""
    data = logged(b.compressed(*inner))
    errors = [read(data, Level.LEVEL_TABLES).error]
    file, tables = index(data)
    with pytest.raises(BinxError) as raised:
        list(ChangeDecoder(file, Catalog()).decode(tables[0], tables[0].mask()))
    errors.append(raised.value)
    part = Selected(Scan(file), tables[0], tables[0].mask())
    place = {name: tables[0].value(name, 0) for name in ("start", "end")}
    with pytest.raises(BinxError) as raised:
        list(events_with_rows(Begin(part, 0, place), iter(()), Reading(Catalog())))
    errors.append(raised.value)
    assert [error and (error.offset, error.event) for error in errors] == [
        (PAYLOAD, "TRANSACTION_PAYLOAD")
    ] * len(errors)


def test_what_is_said_of_a_prepared_transaction_stands_at_its_payload() -> None:
    inner = (b.XA_START, b.table_map(), b.rows(1), b.XA_END, b.xa_prepare())
    file, (table, *_) = index(b.whole_log(b.gtid(1), b.compressed(*inner), b.STOP))
    items = list(ChangeDecoder(file, Catalog()).decode(table, table.mask()))
    assert [item.position for item in items if isinstance(item, Statement)] == [PAYLOAD]


@pytest.mark.parametrize("claimed", [1 << 30, (1 << 40) + 7])
def test_a_payload_that_claims_a_gigabyte_takes_no_such_memory(claimed: int) -> None:
    inner = b.event(30, b"")[:9] + (1 << 30).to_bytes(4, "little") + bytes(6)
    data = b.whole_log(b.gtid(1), b.compressed(inner, claimed=claimed))
    tracemalloc.start()
    reading = read(data, Level.LEVEL_TABLES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reading.error is not None
    assert peak < 4 << 20
