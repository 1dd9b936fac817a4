"""The event that says how the others are read, and transaction payloads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from binx.errors import (
    BinxError,
    ChecksumError,
    DamagedError,
    NotABinlogError,
    TruncatedError,
    UnsupportedError,
)
from binx.event import payload as module
from binx.event.format import (
    ChecksumAlgorithm,
    Flavour,
    Magic,
    parse_format,
    read_magic,
    split_version,
    verify_format_checksum,
)
from binx.event.header import EventType, parse_header
from binx.event.parsers import parse_event
from binx.event.payload import Compression, PayloadCache, TransactionPayload, open_payload
from tests.event import samples
from tests.event.reading import MARIADB, MYSQL, read, split


def test_mysql_describes_itself() -> None:
    assert MYSQL.server_version == "9.7.4-2"
    assert MYSQL.version == (9, 7, 4)
    assert MYSQL.flavour is Flavour.MYSQL
    assert MYSQL.checksum is ChecksumAlgorithm.CRC32
    assert MYSQL.checksum_size == 4
    assert MYSQL.binlog_version == 4
    assert MYSQL.server_id == 97
    assert not MYSQL.at_startup
    assert len(MYSQL.post_header_lengths) == 42
    assert MYSQL.post_header_length(EventType.QUERY, 0) == 13
    assert MYSQL.post_header_length(EventType.MARIADB_GTID, 19) == 19


def test_mariadb_describes_itself() -> None:
    assert MARIADB.server_version == "10.11.19-MariaDB-0+deb12u1-log"
    assert MARIADB.version == (10, 11, 19)
    assert MARIADB.flavour is Flavour.MARIADB
    assert MARIADB.post_header_length(EventType.MARIADB_GTID, 0) == 19


def test_the_identity_follows_from_server_and_times_alone() -> None:
    changed = bytearray(samples.MYSQL_FORMAT)
    changed[17] |= 1
    assert parse_format(bytes(changed), 0).identity() == MYSQL.identity()
    changed[5] ^= 1
    assert parse_format(bytes(changed), 0).identity() != MYSQL.identity()
    assert len(MYSQL.identity()) == 8
    int(MYSQL.identity(), 16)


@pytest.mark.parametrize("event", [samples.MYSQL_FORMAT, samples.MARIADB_FORMAT])
def test_the_checksum_leaves_out_the_in_use_flag(event: bytes) -> None:
    verify_format_checksum(event, parse_format(event, 0))
    opened = bytearray(event)
    opened[17] |= 1
    description = parse_format(bytes(opened), 0)
    assert description.in_use
    verify_format_checksum(bytes(opened), description)


def test_a_changed_byte_breaks_the_checksum() -> None:
    changed = bytearray(samples.MYSQL_FORMAT)
    changed[30] ^= 4
    with pytest.raises(ChecksumError, match="FORMAT_DESCRIPTION"):
        verify_format_checksum(bytes(changed), MYSQL)


@pytest.mark.parametrize("event", [samples.MYSQL_FORMAT, samples.MARIADB_FORMAT])
def test_without_checksums_an_event_sent_from_a_logs_middle_has_the_crc32_of_before(event: bytes) -> None:
    """As servers with binlog_checksum=NONE send it, and relay logs keep it: no position, no create time."""
    sent = bytearray(event)
    sent[71:75] = bytes(4)
    sent[-5] = 0
    with pytest.raises(ChecksumError):
        verify_format_checksum(bytes(sent), parse_format(bytes(sent), 0))
    sent[13:17] = bytes(4)
    verify_format_checksum(bytes(sent), parse_format(bytes(sent), 0))
    sent[-5] = 1
    with pytest.raises(ChecksumError):
        verify_format_checksum(bytes(sent), parse_format(bytes(sent), 0))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("8.0.36-log", (8, 0, 36)),
        ("5.0.91-b22.lucid.0-log", (5, 0, 91)),
        ("5.5.5-10.6.12-MariaDB-log", (10, 6, 12)),
        ("5.5.5-m3-log", (5, 5, 5)),
        ("nonsense", (0, 0, 0)),
    ],
)
def test_versions_split_into_three_numbers(text: str, version: tuple[int, int, int]) -> None:
    assert split_version(text) == version


def test_the_magic_distinguishes_plain_from_encrypted() -> None:
    assert read_magic(b"\xfebin" + samples.MYSQL_FORMAT) is Magic.PLAIN
    assert read_magic(b"\xfdbin\x01") is Magic.ENCRYPTED


@pytest.mark.parametrize("data", [b"", b"\xfeb", b"text", b"PK\x03\x04"])
def test_other_files_are_no_binary_logs(data: bytes) -> None:
    with pytest.raises(NotABinlogError):
        read_magic(data)


def test_a_log_of_mysql_4_is_refused_by_name() -> None:
    start_v3 = samples.MYSQL_FORMAT[:4] + b"\x01" + samples.MYSQL_FORMAT[5:]
    with pytest.raises(NotABinlogError, match=r"START_V3, written by MySQL 3\.23 to 4\.1"):
        parse_format(start_v3, 0)


def test_another_first_event_is_refused() -> None:
    with pytest.raises(NotABinlogError, match="expected FORMAT_DESCRIPTION as the first event, found XID"):
        parse_format(samples.XID, 0)


@pytest.mark.parametrize(
    ("offset", "value", "error", "words"),
    [
        (19, 3, NotABinlogError, "found version 3"),
        (75, 23, UnsupportedError, "found 23 in the log of server"),
        (75, 13, DamagedError, "expected event headers of 19 bytes, found 13"),
        (21, 0x78, DamagedError, "expected a server version"),
        (-5, 7, DamagedError, "checksum algorithm"),
    ],
)
def test_what_cannot_be_read_is_named(offset: int, value: int, error: type[BinxError], words: str) -> None:
    changed = bytearray(samples.MYSQL_FORMAT)
    changed[offset] = value
    with pytest.raises(error, match=words):
        parse_format(bytes(changed), 0)


def test_every_cut_is_truncation() -> None:
    for size in range(5, len(samples.MYSQL_FORMAT)):
        with pytest.raises(TruncatedError):
            parse_format(samples.MYSQL_FORMAT[:size], 0)


def test_servers_before_checksums_have_neither_algorithm_nor_crc(corpus: Path) -> None:
    data = (corpus / "5.5.33-log-52c90d.binlog").read_bytes()
    description = parse_format(data, 4)
    assert not description.has_checksum_field
    assert description.checksum is ChecksumAlgorithm.OFF
    assert parse_header(data, 4).size == 19 + 57 + len(description.post_header_lengths)
    assert len(description.post_header_lengths) == 27


def test_a_server_without_checksums_still_sums_this_event(corpus: Path) -> None:
    checked = 0
    for path in corpus.glob("*.binlog"):
        data = path.read_bytes()
        try:
            description = parse_format(data, 4)
        except BinxError:
            continue
        if description.has_checksum_field and description.checksum is ChecksumAlgorithm.OFF:
            verify_format_checksum(data[4 : 4 + parse_header(data, 4).size], description)
            checked += 1
    assert checked > 0


def payload() -> TransactionPayload:
    parsed = read(samples.TRANSACTION_PAYLOAD)
    assert isinstance(parsed, TransactionPayload)
    return parsed


def test_a_payload_holds_what_mysqlbinlog_prints() -> None:
    parsed = payload()
    assert parsed.compression is Compression.ZSTD
    assert parsed.uncompressed_size == 206
    assert len(parsed.payload) == 152


def test_the_inner_events_are_those_that_mysqlbinlog_prints() -> None:
    inner = b"".join(open_payload(payload()))
    names, position = [], 0
    while position < len(inner):
        header = parse_header(inner, position)
        names.append(header.name)
        position = header.end
    assert names == ["QUERY", "TABLE_MAP", "WRITE_ROWS", "XID"]


def test_pieces_are_of_a_megabyte_at_most() -> None:
    data = bytes(range(256)) * 10_000
    packed = memoryview(zstandard.compress(data))
    for compression, stored in ((Compression.ZSTD, packed), (Compression.NONE, memoryview(data))):
        large = TransactionPayload(compression, len(data), stored, 4)
        pieces = list(open_payload(large))
        assert max(map(len, pieces)) == 1 << 20
        assert b"".join(pieces) == data


def test_a_payload_may_be_uncompressed() -> None:
    plain = payload()._replace(
        compression=Compression.NONE, uncompressed_size=None, payload=memoryview(b"abcdef")
    )
    assert b"".join(open_payload(plain)) == b"abcdef"


@pytest.mark.parametrize("claimed", [205, 207])
def test_a_payload_of_another_size_is_damage(claimed: int) -> None:
    with pytest.raises(DamagedError, match=f"expected {claimed} bytes after decompression"):
        list(open_payload(payload()._replace(uncompressed_size=claimed)))


def test_a_bomb_is_found_by_its_first_piece_too_many() -> None:
    bomb = memoryview(zstandard.compress(bytes(50_000_000)))
    pieces = open_payload(payload()._replace(payload=bomb, uncompressed_size=1000))
    with pytest.raises(DamagedError, match="expected 1000 bytes after decompression, found 1048576"):
        next(pieces)


def test_a_stream_that_is_none_is_damage() -> None:
    with pytest.raises(DamagedError, match="expected a zstd stream"):
        list(open_payload(payload()._replace(payload=memoryview(b"not zstd at all"))))


def test_a_stream_that_is_cut_is_damage() -> None:
    with pytest.raises(DamagedError):
        list(open_payload(payload()._replace(payload=payload().payload[:-20])))


def test_an_unknown_compression_is_unsupported() -> None:
    header, body = split(samples.TRANSACTION_PAYLOAD)
    changed = bytes(body).replace(bytes.fromhex("020100"), bytes.fromhex("020107"), 1)
    with pytest.raises(UnsupportedError, match="expected the compression 0"):
        parse_event(memoryview(changed), header, MYSQL)


def test_a_payload_shorter_than_it_says_is_damage() -> None:
    header, body = split(samples.TRANSACTION_PAYLOAD)
    with pytest.raises(DamagedError, match="expected a payload of 152 bytes, found 151"):
        parse_event(body[:-1], header, MYSQL)


def event(size: int) -> bytes:
    """Bytes of an event, of which the header has no more than its size."""
    return bytes(9) + size.to_bytes(4, "little") + bytes(size - 13)


def payload_of(position: int, size: int) -> TransactionPayload:
    return TransactionPayload(Compression.NONE, size, memoryview(event(size)), position)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The positions of the payloads that were decompressed."""
    positions: list[int] = []
    whole_events = module.whole_events

    def counted(payload_of: TransactionPayload) -> Iterator[memoryview]:
        positions.append(payload_of.position)
        yield from whole_events(payload_of)

    monkeypatch.setattr(module, "whole_events", counted)
    return positions


def joined(pieces: Iterator[memoryview]) -> bytes:
    return b"".join(pieces)


def again(cache: PayloadCache, payload: TransactionPayload) -> Iterator[memoryview]:
    return cache.again(payload.position, lambda: payload)


def test_what_fits_is_decompressed_once_and_what_does_not_twice(opened: list[int]) -> None:
    cache = PayloadCache(100)
    payloads = [payload_of(1, 60), payload_of(2, 50), payload_of(3, 40)]
    first = [joined(cache.first(payload)) for payload in payloads]
    second = [joined(again(cache, payload)) for payload in payloads]
    assert first == second == [event(60), event(50), event(40)]
    assert opened == [1, 2, 3, 2]


def test_what_was_taken_makes_room(opened: list[int]) -> None:
    cache = PayloadCache(100)
    for position in range(5):
        payload = payload_of(position, 100)
        assert joined(cache.first(payload)) == joined(again(cache, payload)) == event(100)
    assert opened == [0, 1, 2, 3, 4]


def test_nothing_is_kept_of_a_payload_that_was_left_in_the_middle(opened: list[int]) -> None:
    cache = PayloadCache(100)
    payload = TransactionPayload(Compression.NONE, 90, memoryview(event(50) + event(40)), 7)
    next(cache.first(payload))
    assert joined(again(cache, payload)) == event(50) + event(40)
    assert opened == [7, 7]


def test_what_nobody_asked_for_is_let_go(opened: list[int]) -> None:
    cache = PayloadCache(100)
    assert joined(cache.first(payload_of(1, 100)))
    cache.clear()
    assert joined(cache.first(payload_of(2, 100))) == joined(again(cache, payload_of(2, 100)))
    assert joined(again(cache, payload_of(1, 100)))
    assert opened == [1, 2, 1]


def test_a_payload_that_does_not_name_its_size_is_not_kept(opened: list[int]) -> None:
    cache = PayloadCache(100)
    payload = TransactionPayload(Compression.NONE, None, memoryview(event(30)), 5)
    assert joined(cache.first(payload)) == joined(again(cache, payload))
    assert opened == [5, 5]
