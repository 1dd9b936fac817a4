"""MySQL's GTID events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import DamagedError, UnsupportedError
from binx.event.gtid.events import Gtid
from binx.event.gtid.previous import PreviousGtids, encode_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, UuidSource
from binx.event.header import HEADER_SIZE, EventType, parse_header
from binx.event.parse import parse_event
from binx.event.reader import Reader, read_variable, read_variable_signed
from tests.event import samples
from tests.event.reading import MYSQL, read, split
from tests.log import building

SERVER = "a86bbe0b-e58b-11f1-89c9-02fc00000001"


def gtid(event: bytes) -> Gtid:
    found = read(event)
    assert isinstance(found, Gtid)
    return found


def previous(event: bytes) -> GtidSet:
    found = read(event)
    assert isinstance(found, PreviousGtids)
    return found.gtids


def test_a_gtid_holds_what_mysqlbinlog_prints() -> None:
    found = gtid(samples.GTID)
    assert str(found) == f"{SERVER}:1"
    assert (found.last_committed, found.sequence_number) == (0, 1)
    assert found.immediate_commit_timestamp == found.original_commit_timestamp
    assert found.immediate_server_version == found.original_server_version == 90704
    assert not found.anonymous


def test_a_gtid_from_elsewhere_has_its_own_time_and_version() -> None:
    found = gtid(samples.GTID_FROM_ELSEWHERE)
    assert str(found) == "33333333-2222-3333-4444-555555555555:3"
    assert found.original_commit_timestamp == 1700000000123456
    assert found.immediate_commit_timestamp == 1795254180577791
    assert found.original_server_version == 80036
    assert found.immediate_server_version == 90704
    assert found.transaction_length == 324


def test_a_tagged_gtid_holds_what_mysqlbinlog_prints() -> None:
    found = gtid(samples.GTID_TAGGED)
    assert str(found) == f"{SERVER}:nightly:1"
    assert found.source == UuidSource(bytes.fromhex(SERVER.replace("-", "")), "nightly")
    assert (found.last_committed, found.sequence_number) == (4, 7)
    assert found.immediate_commit_timestamp == found.original_commit_timestamp == 1795252853783888
    assert found.immediate_server_version == found.original_server_version == 90704
    assert found.transaction_length == 314
    assert found.commit_group_ticket is None


def test_a_tagged_gtid_from_elsewhere_has_its_own_time_and_version() -> None:
    found = gtid(samples.GTID_TAGGED_FROM_ELSEWHERE)
    assert str(found) == "33333333-2222-3333-4444-555555555555:tagged:4"
    assert found.original_commit_timestamp == 1700000000123456
    assert found.immediate_commit_timestamp == 1795254180580024
    assert found.original_server_version == 80036
    assert found.transaction_length == 355
    assert (found.last_committed, found.sequence_number) == (1, 2)


@pytest.mark.parametrize(("committed", "original"), [(2**56, None), (2**63, None), (0, 2**56)])
def test_a_commit_time_that_no_server_has_room_for_is_damage(committed: int, original: int | None) -> None:
    event = building.tagged_gtid(committed=committed, original=original)
    with pytest.raises(DamagedError, match="expected a commit time of at most 56 bits"):
        parse_event(memoryview(event)[HEADER_SIZE:], parse_header(event, 0), MYSQL)
    with pytest.raises(DamagedError, match="commit time of more than 56 bits"):
        building.transactions(event, building.CREATE)


def test_a_commit_time_of_56_bits_is_read() -> None:
    event = building.tagged_gtid(committed=2**56 - 1)
    found = parse_event(memoryview(event)[HEADER_SIZE:], parse_header(event, 0), MYSQL)
    assert isinstance(found, Gtid)
    assert found.immediate_commit_timestamp == 2**56 - 1
    table = building.transactions(event, building.CREATE)
    assert table.value("commit_timestamp", 0) == 2**56 - 1


def test_older_servers_wrote_less() -> None:
    """The body as MySQL 5.6 (25 bytes), 5.7 (42) and 8.0.1 (49) left it."""
    header, body = split(samples.GTID)
    fields = [parse_event(body[:size], header, MYSQL) for size in (25, 42, 49)]
    first, second, third = (found for found in fields if isinstance(found, Gtid))
    assert (first.last_committed, first.immediate_commit_timestamp) == (None, None)
    assert (second.last_committed, second.immediate_commit_timestamp) == (0, None)
    assert (third.transaction_length, third.immediate_server_version) == (None, None)
    assert third.immediate_commit_timestamp == gtid(samples.GTID).immediate_commit_timestamp


def test_an_anonymous_gtid_has_no_number() -> None:
    anonymous = bytearray(samples.GTID)
    anonymous[4] = EventType.ANONYMOUS_GTID
    with pytest.raises(DamagedError, match="expected a transaction number of ANONYMOUS_GTID, found 1"):
        gtid(bytes(anonymous))
    anonymous[36:44] = bytes(8)
    assert gtid(bytes(anonymous)).anonymous
    assert str(gtid(bytes(anonymous))) == "ANONYMOUS"


def test_a_field_that_must_be_known_but_is_not_is_unsupported() -> None:
    newer = bytearray(samples.GTID_TAGGED)
    newer[21] = 20 << 1
    with pytest.raises(UnsupportedError, match="field 20 must be known"):
        gtid(bytes(newer))


@pytest.mark.parametrize(
    ("encoded", "value"),
    [("fbff07", 65535), ("00", 0), ("fe", 127), ("0102", 128), ("ff" + "ff" * 8, 2**64 - 1)],
)
def test_variable_integers_are_those_of_mysqls_page(encoded: str, value: int) -> None:
    assert read_variable(Reader(bytes.fromhex(encoded))) == value


@pytest.mark.parametrize(("encoded", "value"), [("f3ff0f", 65535), ("ebff0f", -65535), ("fbff0f", -65536)])
def test_signed_variable_integers_are_those_of_mysqls_page(encoded: str, value: int) -> None:
    """The page that MySQL documents its format on gives these three as bits."""
    assert read_variable_signed(Reader(bytes.fromhex(encoded))) == value


def test_previous_gtids_hold_what_mysqlbinlog_prints() -> None:
    expected = f"11111111-2222-3333-4444-555555555555:17,{SERVER}:1-20:alpha:1:nightly:1-2"
    assert str(previous(samples.PREVIOUS_GTIDS_TAGGED)) == expected
    assert previous(samples.PREVIOUS_GTIDS_EMPTY).is_empty


def test_what_is_encoded_is_what_the_server_wrote() -> None:
    event = samples.PREVIOUS_GTIDS_TAGGED
    assert encode_previous_gtids(previous(event)) == split(event)[1]


numbers = st.integers(1, 2**63 - 2)
sources = st.builds(
    UuidSource, st.binary(min_size=16, max_size=16), st.from_regex("([a-z_][a-z0-9_]{0,31})?", fullmatch=True)
)
intervals = st.tuples(sources, numbers, numbers).map(lambda item: (item[0], min(item[1:]), max(item[1:])))
sets = st.lists(intervals, max_size=8).map(GtidSet)


@given(sets)
def test_encoded_sets_read_back(gtids: GtidSet) -> None:
    header = parse_header(samples.PREVIOUS_GTIDS_EMPTY, 0)
    body = memoryview(encode_previous_gtids(gtids))
    assert parse_event(body, header, MYSQL) == PreviousGtids(gtids)


def test_a_set_without_tags_is_encoded_as_every_server_reads_it() -> None:
    uuid = "11111111222233334444555555555555"
    encoded = encode_previous_gtids(GtidSet([(UuidSource(bytes.fromhex(uuid)), 1, 5)]))
    assert encoded.hex() == "01" + "00" * 7 + uuid + "01" + "00" * 7 + "01" + "00" * 7 + "06" + "00" * 7


def test_mariadbs_gtids_are_not_encoded() -> None:
    with pytest.raises(ValueError, match="MySQL's GTIDs only"):
        encode_previous_gtids(GtidSet([(DomainSource(0, 1), 1, 1)]))


def test_overlapping_intervals_are_damage() -> None:
    uuid = bytes(16)
    body = b"".join([(1).to_bytes(8, "little"), uuid, *(n.to_bytes(8, "little") for n in (2, 1, 5, 4, 6))])
    with pytest.raises(DamagedError, match="expected an interval after 5, found 4 up to 6"):
        parse_event(memoryview(body), parse_header(samples.PREVIOUS_GTIDS_EMPTY, 0), MYSQL)


def test_a_count_beyond_the_event_is_damage() -> None:
    body = memoryview((2**40).to_bytes(8, "little") + bytes(100))
    with pytest.raises(DamagedError, match="sources of at least 24 bytes"):
        parse_event(body, parse_header(samples.PREVIOUS_GTIDS_EMPTY, 0), MYSQL)
