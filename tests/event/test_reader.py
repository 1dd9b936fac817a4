"""Headers, fields within an event's bounds, and events of all types, whole and damaged."""

from __future__ import annotations

import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binx.errors import BinxError, DamagedError, TruncatedError
from binx.event.format import FormatDescription, parse_format
from binx.event.header import EventFlag, EventType, event_name, parse_header
from binx.event.parsers import UnknownEvent, parse_event
from binx.event.query_event import Query
from binx.event.reader import Reader, uncompress
from binx.event.rows_events import RowsHeader, row_images
from binx.event.session_variables import session_options
from binx.event.statement import UserVar
from tests.event import samples
from tests.event.reading import MYSQL, events_of, sample_events, split


def test_integers_are_little_endian() -> None:
    reader = Reader(bytes.fromhex("01 0200 030000 04000000 050000000000 06000000000000 0700000000000000"))
    values = [
        reader.u8(),
        reader.u16(),
        reader.unsigned(3),
        reader.u32(),
        reader.unsigned(6),
        reader.unsigned(7),
        reader.u64(),
    ]
    assert values == [1, 2, 3, 4, 5, 6, 7]
    assert reader.remaining == 0


def test_signed_integers_are_twos_complement() -> None:
    reader = Reader(b"\xff" * 12)
    assert (reader.i32(), reader.i64()) == (-1, -1)


def test_reading_past_the_end_names_the_place_in_the_file() -> None:
    reader = Reader(b"\x01\x02\x03", origin=1000, event="QUERY")
    reader.u16()
    with pytest.raises(DamagedError, match="offset 1002, QUERY: expected 4 more bytes of the event, found 1"):
        reader.u32()


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(DamagedError):
        Reader(b"abc").take(-1)


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        ("00", 0),
        ("fa", 250),
        ("fcfb00", 251),
        ("fcffff", 65535),
        ("fd000001", 65536),
        ("fe0000000100000000", 2**24),
        ("feffffffffffffffff", 2**64 - 1),
    ],
)
def test_length_encoded_integers_are_those_of_the_client_protocol(encoded: str, value: int) -> None:
    assert Reader(bytes.fromhex(encoded)).packed() == value


@pytest.mark.parametrize("first", [251, 255])
def test_length_encoded_integers_have_no_null(first: int) -> None:
    with pytest.raises(DamagedError, match=f"found the byte {first}"):
        Reader(bytes([first]) + bytes(8)).packed()


def test_a_count_that_cannot_fit_is_refused_before_the_loop() -> None:
    with pytest.raises(DamagedError, match="expected 1000000 rows of at least 2 bytes each, found 10 bytes"):
        Reader(bytes(10)).count(1_000_000, 2, "rows")


def test_bytes_that_are_no_utf8_are_shown_escaped() -> None:
    assert Reader(b"a\xffb").text(3) == r"a\xffb"


@given(st.binary(), st.integers(0, 40))
def test_a_slice_keeps_its_place_in_the_file(data: bytes, count: int) -> None:
    reader = Reader(data, origin=500)
    if count > len(data):
        with pytest.raises(DamagedError):
            reader.slice(count)
        return
    slice_reader = reader.slice(count)
    assert slice_reader.position == 500
    assert reader.position == 500 + count
    assert bytes(slice_reader.rest()) + bytes(reader.rest()) == data


def packed(data: bytes, size: int | None = None, size_bytes: int = 4, head: int = 0x80) -> bytes:
    claimed = len(data) if size is None else size
    return bytes([head | size_bytes]) + claimed.to_bytes(size_bytes, "big") + zlib.compress(data)


@given(st.binary(max_size=300), st.integers(2, 4))
def test_what_zlib_compressed_comes_back(data: bytes, size_bytes: int) -> None:
    assert uncompress(Reader(packed(data, size_bytes=size_bytes))) == data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (packed(b"abc", head=0), "expected the head of a compressed part"),
        (packed(b"abc", head=0x90), r"expected the compression algorithm 0 \(zlib\), found 1"),
        (packed(b"abc", size=4), "expected 4 bytes after decompression, found 3"),
        (packed(b"abc", size=2), "expected 2 bytes after decompression, found 3"),
        (packed(b"abc", size=2**31), "expected at most .* bytes from 11 compressed"),
        (packed(b"abc")[:-5], "after decompression"),
        (packed(b"abc")[:5] + b"junk", "expected a zlib stream"),
        (b"", "expected 1 more bytes"),
    ],
)
def test_what_is_no_such_stream_is_damage(data: bytes, words: str) -> None:
    with pytest.raises(DamagedError, match=words):
        uncompress(Reader(data))


def test_a_bomb_is_not_blown_up() -> None:
    bomb = packed(bytes(10_000_000), size=1000)
    with pytest.raises(DamagedError, match="expected 1000 bytes after decompression, found 1001"):
        uncompress(Reader(bomb))


def test_a_header_holds_what_mysqlbinlog_prints() -> None:
    header = parse_header(samples.GTID_TAGGED, 0)
    assert header.name == "GTID_TAGGED"
    assert header.server_id == 97
    assert header.next_position == 2827
    assert header.size == 2827 - 2743 == len(samples.GTID_TAGGED)
    assert header.timestamp == 1795252853


def test_the_window_may_begin_anywhere_in_the_file() -> None:
    window = b"\0" * 7 + samples.XID
    header = parse_header(window, 5_000_000_007, origin=5_000_000_000)
    assert header.position == 5_000_000_007
    assert header.end == 5_000_000_007 + len(samples.XID)
    assert header.type == EventType.XID


def test_the_in_use_flag_is_that_of_an_open_file() -> None:
    closed = parse_header(samples.MYSQL_FORMAT, 0)
    opened = bytearray(samples.MYSQL_FORMAT)
    opened[17] |= 1
    assert EventFlag.IN_USE not in closed.flags
    assert EventFlag.IN_USE in parse_header(bytes(opened), 0).flags


@pytest.mark.parametrize("size", range(19))
def test_a_header_that_the_file_cuts_is_truncated(size: int) -> None:
    with pytest.raises(TruncatedError, match=f"found {size}; the file was truncated"):
        parse_header(samples.XID[:size], 0)


def test_a_place_outside_the_window_is_truncated() -> None:
    with pytest.raises(TruncatedError):
        parse_header(samples.XID, 10, origin=20)


def test_an_event_smaller_than_its_header_is_damage() -> None:
    event = samples.XID[:9] + (18).to_bytes(4, "little") + samples.XID[13:]
    with pytest.raises(DamagedError, match="expected an event of at least 19 bytes, found a size of 18"):
        parse_header(event, 0)


def test_an_unknown_type_keeps_its_number() -> None:
    header = parse_header(samples.XID[:4] + b"\xc8" + samples.XID[5:], 0)
    assert header.type == 200
    assert header.name == event_name(200) == "event type 200"


SAMPLES = sample_events()


def use(body: memoryview, name: str, description: FormatDescription) -> None:
    """Read an event and everything that is derived from it."""
    header = split(SAMPLES[name][0])[0]
    event = parse_event(body, header, description)
    if isinstance(event, RowsHeader):
        row_images(body, header, event)
    if isinstance(event, Query):
        session_options(event)
        assert isinstance(event.text, str)
    if isinstance(event, UserVar):
        event.literal()


def test_an_unknown_type_keeps_its_bytes() -> None:
    header = parse_header(bytes(4) + b"\xc8" + bytes(4) + b"\xff\x00\x00\x00" + bytes(6), 0)
    assert parse_event(memoryview(b"abc"), header, MYSQL) == UnknownEvent(200, b"abc")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_anywhere_is_an_error_or_an_older_servers_event(name: str) -> None:
    event, description = SAMPLES[name]
    body = split(event)[1]
    for size in range(len(body)):
        with suppress(BinxError):
            use(body[:size], name, description)


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bits_are_an_error_or_another_value(name: str, data: st.DataObject) -> None:
    event, description = SAMPLES[name]
    body = bytearray(split(event)[1])
    for bit in data.draw(st.lists(st.integers(0, len(body) * 8 - 1), min_size=1, max_size=4)):
        body[bit >> 3] ^= 1 << (bit & 7)
    try:
        use(memoryview(body), name, description)
    except BinxError:
        return


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(EventType)), st.binary(max_size=120))
def test_any_bytes_are_an_error_or_an_event(number: EventType, data: bytes) -> None:
    header = parse_header(bytes(4) + bytes([number]) + bytes(4) + b"\xff\x00\x00\x00" + bytes(6), 0)
    try:
        parse_event(memoryview(data), header, MYSQL)
    except BinxError:
        return


@given(st.binary(max_size=160))
def test_any_bytes_are_no_format_description_or_one(data: bytes) -> None:
    try:
        parse_format(data, 0)
    except BinxError:
        return


def test_every_event_of_the_corpus_is_read(corpus: Path) -> None:
    """One file is encrypted from its second event on; others are read whole, or refused at their first."""
    read: Counter[str] = Counter()
    refused: list[str] = []
    for path in sorted(corpus.glob("*")):
        try:
            parse_format(path.read_bytes(), 4)
        except BinxError:
            refused.append(path.name)
            continue
        for header, body, description in events_of(path):
            read[header.name] += 1
            if header.type == EventType.PERCONA_START_ENCRYPTION:
                break
            event = parse_event(body, header, description)
            assert not isinstance(event, UnknownEvent), (path, header)
    assert len(refused) == 10
    assert read["QUERY"] > 1000
    assert read["TABLE_MAP"] > 1000
    assert read["PERCONA_START_ENCRYPTION"] == 1


def test_damage_names_the_event_and_the_place_in_the_file() -> None:
    event = bytes(4) + bytes([EventType.XID]) + bytes(4) + b"\x1f\x00\x00\x00" + bytes(6)
    header = parse_header(event, 5000, origin=5000)
    with pytest.raises(DamagedError, match="offset 5019, XID: expected 8 more bytes of the event, found 3"):
        parse_event(memoryview(b"abc"), header, MYSQL)
