"""GTID events written again: equal where nothing changes, else different in the named fields alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import BinxError
from binx.event.gtid.encode import (
    Clock,
    encode_packed,
    encode_variable,
    encode_variable_signed,
    rewrite_gtid,
)
from binx.event.gtid.events import Gtid, parse_gtid
from binx.event.header import HEADER_SIZE, parse_header
from binx.event.reader import Reader, read_variable, read_variable_signed
from tests.event import samples
from tests.event.reading import MYSQL

PLAIN = (samples.GTID, samples.GTID_FROM_ELSEWHERE)
TAGGED = (samples.GTID_TAGGED, samples.GTID_TAGGED_FROM_ELSEWHERE)
CHECKSUM_SIZE = 4


def body_of(event: bytes) -> memoryview:
    return memoryview(event)[HEADER_SIZE:-CHECKSUM_SIZE]


def parsed(event: bytes, body: bytes) -> Gtid:
    return parse_gtid(memoryview(body), parse_header(event, 0), MYSQL)


def following(event: bytes) -> int:
    """Bytes of the transaction behind its GTID event, by the length that the server wrote."""
    return (parsed(event, bytes(body_of(event))).transaction_length or 0) - len(event)


@pytest.mark.parametrize("event", PLAIN + TAGGED)
def test_an_event_whose_fields_stay_is_written_as_the_server_wrote_it(event: bytes) -> None:
    gtid = parsed(event, bytes(body_of(event)))
    assert gtid.last_committed is not None
    assert gtid.sequence_number is not None
    clock = Clock(gtid.last_committed, gtid.sequence_number)
    for kept in (None, clock):
        again = rewrite_gtid(
            body_of(event), parse_header(event, 0), clock=kept, following=following(event), checksum_size=4
        )
        assert again == bytes(body_of(event))


@pytest.mark.parametrize("event", PLAIN + TAGGED)
@given(number=st.integers(1, 2**63 - 1), behind=st.integers(0, 2**40), checksum=st.sampled_from([0, 4]))
def test_clock_and_length_change_and_nothing_else(
    event: bytes, number: int, behind: int, checksum: int
) -> None:
    before = parsed(event, bytes(body_of(event)))
    body = rewrite_gtid(
        body_of(event),
        parse_header(event, 0),
        clock=Clock(number - 1, number),
        following=behind,
        checksum_size=checksum,
    )
    length = HEADER_SIZE + len(body) + checksum + behind
    expected = before._replace(last_committed=number - 1, sequence_number=number, transaction_length=length)
    assert parsed(event, body) == expected


@pytest.mark.parametrize("event", [samples.GTID, *TAGGED])
def test_the_length_fits_also_where_its_own_bytes_make_it_longer(event: bytes) -> None:
    header = parse_header(event, 0)
    for behind in [*range(150, 260), *range(16_200, 16_390), *range(65_400, 65_540)]:
        body = rewrite_gtid(body_of(event), header, clock=None, following=behind, checksum_size=4)
        assert parsed(event, body).transaction_length == HEADER_SIZE + len(body) + 4 + behind


def test_an_event_without_a_clock_gets_none() -> None:
    old = bytes(body_of(samples.GTID))[:25]
    header = parse_header(samples.GTID, 0)
    assert rewrite_gtid(memoryview(old), header, clock=Clock(6, 7), following=9, checksum_size=4) == old


def test_an_event_without_a_length_gets_none() -> None:
    old = bytes(body_of(samples.GTID))[:42]
    header = parse_header(samples.GTID, 0)
    body = rewrite_gtid(memoryview(old), header, clock=Clock(6, 7), following=9, checksum_size=4)
    assert body == old[:26] + (6).to_bytes(8, "little") + (7).to_bytes(8, "little")


def test_a_length_that_the_server_did_not_know_stays_unknown() -> None:
    whole = bytes(body_of(samples.GTID))
    place = len(whole) - 4 - len(encode_packed(parsed(samples.GTID, whole).transaction_length or 0))
    unknown = whole[:place] + b"\0" + whole[-4:]
    header = parse_header(samples.GTID, 0)
    assert rewrite_gtid(memoryview(unknown), header, clock=None, following=9, checksum_size=4) == unknown


@pytest.mark.parametrize("event", PLAIN + TAGGED)
def test_a_body_cut_anywhere_is_written_again_or_refused(event: bytes) -> None:
    whole = bytes(body_of(event))
    for size in range(len(whole)):
        try:
            rewrite_gtid(
                memoryview(whole[:size]), parse_header(event, 0), clock=None, following=9, checksum_size=4
            )
        except BinxError:
            continue


@given(st.integers(0, 2**64 - 1))
def test_an_unsigned_integer_reads_back(value: int) -> None:
    assert read_variable(Reader(encode_variable(value))) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_signed_integer_reads_back(value: int) -> None:
    assert read_variable_signed(Reader(encode_variable_signed(value))) == value


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (65535, "fbff07"), (127, "fe"), (128, "0102"), (2**64 - 1, "ff" * 9)],
)
def test_integers_are_encoded_as_the_format_says(value: int, encoded: str) -> None:
    # 65535 is the example of MySQL's libs/mysql/serialization/readme.md: 11111011 11111111 00000111.
    assert encode_variable(value).hex() == encoded


@given(st.integers(0, 2**64 - 1))
def test_a_length_encoded_integer_reads_back(value: int) -> None:
    assert Reader(encode_packed(value)).packed() == value


@pytest.mark.parametrize("value", [-1, 2**64])
def test_what_does_not_fit_is_a_mistake_of_the_caller(value: int) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        encode_variable(value)
