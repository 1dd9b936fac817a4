"""Payloads larger than what is read at once: read piece by piece, to the same end as small ones."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Iterator
from itertools import chain

import pytest

from binx.errors import BinxError, ChecksumError
from binx.event.header import HEADER_SIZE
from binx.event.payload import TransactionPayload
from binx.event.rows import RowsHeader
from binx.kernels.walk.scan import Level
from binx.log.events import raw_events
from binx.log.file import BinlogFile
from binx.log.scanning import OnDamage
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.source import READ_BYTES
from binx.stats.event_list import EventListing
from tests.log import building as b
from tests.log.memory import Bytes

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
    """The same log with a checksum behind each event, and positions that are right."""
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
        for table in BinlogFile(source).scan(level, on_damage=on_damage)
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
    for table in file.scan(Level.LEVEL_EVENTS):
        for item in chain(decoder.decode(table, table.mask()), decoder.finish()):
            assert isinstance(item, ChangeBatch)
            yield from item.batch.column("c1").to_pylist()
    assert isinstance(file.source, Watched)
    assert file.source.largest <= READ_BYTES


def test_its_rows_are_decoded(log: bytes) -> None:
    assert list(decoded(log)) == [*chain.from_iterable(VALUES), 7]


def test_its_events_are_read_one_by_one(log: bytes) -> None:
    file = BinlogFile(Watched(log))
    (table,) = file.scan(Level.LEVEL_EVENTS)
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
    assert sum(line["type"] == "WRITE_ROWS" for line in lines) == len(VALUES) + 1
    assert listing.problems == []
    assert source.largest <= READ_BYTES


@pytest.mark.parametrize("level", [Level.LEVEL_EVENTS, Level.LEVEL_TABLES])
def test_a_wrong_checksum_is_told(level: Level) -> None:
    damaged = bytearray(with_checksums(LOG))
    damaged[START + len(LARGE) - 1000] ^= 1
    with pytest.raises(ChecksumError, match="expected the stored checksum"):
        scanned(bytes(damaged), level)
    listing = EventListing([BinlogFile(Bytes(bytes(damaged)))], as_json=True)
    lines = [json.loads(line) for part in listing.lines() for line in part.splitlines()]
    assert [line["checksum"] for line in lines if line["type"] == "TRANSACTION_PAYLOAD"] == ["bad"]
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
