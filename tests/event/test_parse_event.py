"""All events: each goes to its parser, and no damage gives anything but a BinxError."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binx.errors import BinxError, DamagedError
from binx.event.format import FormatDescription, parse_format
from binx.event.header import EventType, parse_header
from binx.event.mariadb import StartEncryption
from binx.event.parse import UnknownEvent, parse_event
from binx.event.query import Query
from binx.event.rows import RowsHeader, row_images
from binx.event.session import session_options
from binx.event.statement import UserVar
from tests.event.reading import MYSQL, events_of, sample_events, split

SAMPLES = sample_events()
OBSOLETE = {
    EventType.UNKNOWN,
    EventType.START_V3,
    EventType.LOAD,
    EventType.SLAVE,
    EventType.CREATE_FILE,
    EventType.EXEC_LOAD,
    EventType.NEW_LOAD,
}


def use(body: memoryview, name: str, description: FormatDescription) -> None:
    """Read an event and everything that is derived from it."""
    header = split(SAMPLES[name][0])[0]
    found = parse_event(body, header, description)
    if isinstance(found, RowsHeader):
        row_images(body, header, found)
    if isinstance(found, Query):
        session_options(found)
        assert isinstance(found.text, str)
    if isinstance(found, UserVar):
        found.literal()


def test_every_type_that_format_version_4_has_is_read() -> None:
    body = memoryview(bytes(200))
    for number in EventType:
        if number in OBSOLETE:
            continue
        header = parse_header(bytes(4) + bytes([number]) + bytes(4) + b"\xff\x00\x00\x00" + bytes(6), 0)
        try:
            found = parse_event(body, header, MYSQL)
        except BinxError:
            continue
        assert not isinstance(found, UnknownEvent), number


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
    for place in data.draw(st.lists(st.integers(0, len(body) * 8 - 1), min_size=1, max_size=4)):
        body[place >> 3] ^= 1 << (place & 7)
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
            found = parse_event(body, header, description)
            assert not isinstance(found, UnknownEvent), (path, header)
            read[header.name] += 1
            if isinstance(found, StartEncryption):
                break
    assert len(refused) == 10
    assert read["QUERY"] > 1000
    assert read["TABLE_MAP"] > 1000
    assert read["PERCONA_START_ENCRYPTION"] == 1


def test_damage_names_the_event_and_the_place_in_the_file() -> None:
    event = bytes(4) + bytes([EventType.XID]) + bytes(4) + b"\x1f\x00\x00\x00" + bytes(6)
    header = parse_header(event, 5000, origin=5000)
    with pytest.raises(DamagedError, match="offset 5019, XID: expected 8 more bytes of the event, found 3"):
        parse_event(memoryview(b"abc"), header, MYSQL)
