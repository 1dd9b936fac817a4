"""GTIDs: MySQL's events, how they are written again, and sets of both servers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import BinxError, DamagedError, UnsupportedError, UsageError
from binx.event.gtid.encode import (
    Clock,
    encode_packed,
    encode_variable,
    encode_variable_signed,
    rewrite_gtid,
)
from binx.event.gtid.mysql_events import Gtid, parse_gtid
from binx.event.gtid.previous import PreviousGtids, encode_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource, UuidSource
from binx.event.header import HEADER_SIZE, EventType, parse_header
from binx.event.parsers import parse_event
from binx.event.reader import Reader, read_variable, read_variable_signed
from tests.event import samples
from tests.event.reading import MYSQL, read, split
from tests.log import building

SERVER = "a86bbe0b-e58b-11f1-89c9-02fc00000001"


def gtid(event: bytes) -> Gtid:
    gtid_event = read(event)
    assert isinstance(gtid_event, Gtid)
    return gtid_event


def previous(event: bytes) -> GtidSet:
    gtid_event = read(event)
    assert isinstance(gtid_event, PreviousGtids)
    return gtid_event.gtids


def test_a_gtid_holds_what_mysqlbinlog_prints() -> None:
    gtid_event = gtid(samples.GTID)
    assert str(gtid_event) == f"{SERVER}:1"
    assert (gtid_event.last_committed, gtid_event.sequence_number) == (0, 1)
    assert gtid_event.immediate_commit_timestamp == gtid_event.original_commit_timestamp
    assert gtid_event.immediate_server_version == gtid_event.original_server_version == 90704
    assert not gtid_event.anonymous


@pytest.mark.parametrize(
    ("event", "name", "committed", "length"),
    [
        (samples.GTID_FROM_ELSEWHERE, "3", 1795254180577791, 324),
        (samples.GTID_TAGGED_FROM_ELSEWHERE, "tagged:4", 1795254180580024, 355),
    ],
)
def test_a_gtid_from_elsewhere_has_its_own_time_and_version(
    event: bytes, name: str, committed: int, length: int
) -> None:
    gtid_event = gtid(event)
    assert str(gtid_event) == f"33333333-2222-3333-4444-555555555555:{name}"
    assert gtid_event.original_commit_timestamp == 1700000000123456
    assert gtid_event.immediate_commit_timestamp == committed
    assert gtid_event.original_server_version == 80036
    assert gtid_event.immediate_server_version == 90704
    assert gtid_event.transaction_length == length


def test_a_tagged_gtid_holds_what_mysqlbinlog_prints() -> None:
    gtid_event = gtid(samples.GTID_TAGGED)
    assert str(gtid_event) == f"{SERVER}:nightly:1"
    assert gtid_event.source == UuidSource(bytes.fromhex(SERVER.replace("-", "")), "nightly")
    assert (gtid_event.last_committed, gtid_event.sequence_number) == (4, 7)
    assert gtid_event.immediate_commit_timestamp == gtid_event.original_commit_timestamp == 1795252853783888
    assert gtid_event.immediate_server_version == gtid_event.original_server_version == 90704
    assert gtid_event.transaction_length == 314
    assert gtid_event.commit_group_ticket is None


@pytest.mark.parametrize(("committed", "original"), [(2**56, None), (2**63, None), (0, 2**56)])
def test_a_commit_time_that_no_server_has_room_for_is_damage(committed: int, original: int | None) -> None:
    event = building.tagged_gtid(committed=committed, original=original)
    with pytest.raises(DamagedError, match="expected a commit time of at most 56 bits"):
        parse_event(memoryview(event)[HEADER_SIZE:], parse_header(event, 0), MYSQL)
    with pytest.raises(DamagedError, match="commit time of more than 56 bits"):
        building.transactions(event, building.CREATE)


def test_a_commit_time_of_56_bits_is_read() -> None:
    event = building.tagged_gtid(committed=2**56 - 1)
    gtid_event = parse_event(memoryview(event)[HEADER_SIZE:], parse_header(event, 0), MYSQL)
    assert isinstance(gtid_event, Gtid)
    assert gtid_event.immediate_commit_timestamp == 2**56 - 1
    table = building.transactions(event, building.CREATE)
    assert table.value("commit_timestamp", 0) == 2**56 - 1


def test_older_servers_wrote_less() -> None:
    """The body as MySQL 5.6 (25 bytes), 5.7 (42) and 8.0.1 (49) left it."""
    header, body = split(samples.GTID)
    fields = [parse_event(body[:size], header, MYSQL) for size in (25, 42, 49)]
    first, second, third = (gtid_event for gtid_event in fields if isinstance(gtid_event, Gtid))
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
    assert encode_variable(value).hex() == encoded


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


PLAIN = (samples.GTID, samples.GTID_FROM_ELSEWHERE)
TAGGED = (samples.GTID_TAGGED, samples.GTID_TAGGED_FROM_ELSEWHERE)
CHECKSUM_SIZE = 4


def body_of(event: bytes) -> memoryview:
    return memoryview(event)[HEADER_SIZE:-CHECKSUM_SIZE]


def parsed(event: bytes, body: bytes) -> Gtid:
    return parse_gtid(memoryview(body), parse_header(event, 0), MYSQL)


def following(event: bytes) -> int:
    """Bytes of the transaction after its GTID event, by the length that the server wrote."""
    return (parsed(event, bytes(body_of(event))).transaction_length or 0) - len(event)


@pytest.mark.parametrize("event", PLAIN + TAGGED)
def test_an_event_whose_fields_stay_is_written_as_the_server_wrote_it(event: bytes) -> None:
    gtid = parsed(event, bytes(body_of(event)))
    assert gtid.last_committed is not None
    assert gtid.sequence_number is not None
    clock = Clock(gtid.last_committed, gtid.sequence_number)
    for new in (None, clock):
        again = rewrite_gtid(
            body_of(event), parse_header(event, 0), clock=new, following=following(event), checksum_size=4
        )
        assert again == bytes(body_of(event))


@pytest.mark.parametrize("event", PLAIN + TAGGED)
@given(number=st.integers(1, 2**63 - 1), rest=st.integers(0, 2**40), checksum=st.sampled_from([0, 4]))
def test_clock_and_length_change_and_nothing_else(
    event: bytes, number: int, rest: int, checksum: int
) -> None:
    before = parsed(event, bytes(body_of(event)))
    body = rewrite_gtid(
        body_of(event),
        parse_header(event, 0),
        clock=Clock(number - 1, number),
        following=rest,
        checksum_size=checksum,
    )
    length = HEADER_SIZE + len(body) + checksum + rest
    expected = before._replace(last_committed=number - 1, sequence_number=number, transaction_length=length)
    assert parsed(event, body) == expected


@pytest.mark.parametrize("event", [samples.GTID, *TAGGED])
def test_the_length_fits_also_where_its_own_bytes_make_it_longer(event: bytes) -> None:
    header = parse_header(event, 0)
    for following_bytes in [*range(150, 260), *range(16_200, 16_390), *range(65_400, 65_540)]:
        body = rewrite_gtid(body_of(event), header, clock=None, following=following_bytes, checksum_size=4)
        assert parsed(event, body).transaction_length == HEADER_SIZE + len(body) + 4 + following_bytes


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
    data = bytes(body_of(samples.GTID))
    offset = len(data) - 4 - len(encode_packed(parsed(samples.GTID, data).transaction_length or 0))
    unknown = data[:offset] + b"\0" + data[-4:]
    header = parse_header(samples.GTID, 0)
    assert rewrite_gtid(memoryview(unknown), header, clock=None, following=9, checksum_size=4) == unknown


@pytest.mark.parametrize("event", PLAIN + TAGGED)
def test_a_body_cut_anywhere_is_written_again_or_refused(event: bytes) -> None:
    data = bytes(body_of(event))
    for size in range(len(data)):
        try:
            rewrite_gtid(
                memoryview(data[:size]), parse_header(event, 0), clock=None, following=9, checksum_size=4
            )
        except BinxError:
            continue


@given(st.integers(0, 2**64 - 1))
def test_an_unsigned_integer_reads_back(value: int) -> None:
    assert read_variable(Reader(encode_variable(value))) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_signed_integer_reads_back(value: int) -> None:
    assert read_variable_signed(Reader(encode_variable_signed(value))) == value


@given(st.integers(0, 2**64 - 1))
def test_a_length_encoded_integer_reads_back(value: int) -> None:
    assert Reader(encode_packed(value)).packed() == value


@pytest.mark.parametrize("value", [-1, 2**64])
def test_what_does_not_fit_is_a_mistake_of_the_caller(value: int) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        encode_variable(value)


A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "6bf3cf1e-1de2-11f1-9c6b-000000000001"
SOURCES: tuple[GtidSource, ...] = (
    UuidSource(bytes.fromhex(A.replace("-", ""))),
    UuidSource(bytes.fromhex(A.replace("-", "")), "nightly"),
    UuidSource(bytes.fromhex(B.replace("-", "")), "_x9"),
    DomainSource(0, 1),
    DomainSource(7, 4294967295),
)

Model = set[tuple[GtidSource, int]]
some_intervals = st.tuples(st.sampled_from(SOURCES), st.integers(1, 40), st.integers(0, 12)).map(
    lambda item: (item[0], item[1], item[1] + item[2])
)
interval_lists = st.lists(some_intervals, max_size=12)


def of_sets(items: list[tuple[GtidSource, int, int]]) -> Model:
    return {(source, number) for source, first, last in items for number in range(first, last + 1)}


def enumerated(gtids: GtidSet) -> Model:
    return of_sets(list(gtids))


@given(interval_lists)
def test_a_set_holds_what_was_put_in(items: list[tuple[GtidSource, int, int]]) -> None:
    gtids, model = GtidSet(items), of_sets(items)
    assert enumerated(gtids) == model
    assert gtids.count == len(model)
    assert gtids.is_empty == (not model) == (not gtids)
    for source in SOURCES:
        assert [n for n in range(60) if gtids.contains(source, n)] == sorted(
            n for s, n in model if s == source
        )


@given(interval_lists, interval_lists)
def test_set_operations_are_those_of_sets(
    left: list[tuple[GtidSource, int, int]], right: list[tuple[GtidSource, int, int]]
) -> None:
    a, b, model_a, model_b = GtidSet(left), GtidSet(right), of_sets(left), of_sets(right)
    assert enumerated(a | b) == model_a | model_b
    assert enumerated(a & b) == model_a & model_b
    assert enumerated(a - b) == model_a - model_b
    assert (a <= b) == (model_a <= model_b)
    assert (a >= b) == (model_a >= model_b)
    assert a.isdisjoint(b) == model_a.isdisjoint(model_b)
    assert (a == b) == (model_a == model_b)


@given(interval_lists)
def test_equal_sets_are_equal_however_they_were_built(items: list[tuple[GtidSource, int, int]]) -> None:
    first, second = GtidSet(items), GtidSet(reversed([*items, *items]))
    assert first == second
    assert hash(first) == hash(second)
    assert str(first) == str(second)


@given(interval_lists)
def test_intervals_of_a_source_never_touch(items: list[tuple[GtidSource, int, int]]) -> None:
    for source in GtidSet(items).sources:
        ranges = GtidSet(items).intervals(source)
        assert all(last + 1 < first for (_, last), (first, _) in pairwise(ranges))


@given(interval_lists)
def test_text_reads_back_as_the_same_set(items: list[tuple[GtidSource, int, int]]) -> None:
    gtids = GtidSet(items)
    assert GtidSet.parse(str(gtids)) == gtids
    assert GtidSet.parse(str(gtids).upper().replace(",", " ,\n")) == gtids


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (f"{A}:5", f"{A}:5"),
        (f"{A}:7:1-5:6", f"{A}:1-7"),
        (f"{A.upper()}:1-3:10", f"{A}:1-3:10"),
        (f"{B}:1,\n{A}:2", f"{A}:2,{B}:1"),
        (f"{A}:1-5:tag_b:7-9:a_tag:1", f"{A}:1-5:a_tag:1:tag_b:7-9"),
        (f"{A}:TAG:1-3, {A}:4", f"{A}:4:tag:1-3"),
        (f" {A} : 1 - 5 : 7 ", f"{A}:1-5:7"),
        (A.replace("-", "") + ":9", f"{A}:9"),
        (f"{{{A}}}:9", f"{A}:9"),
        ("0-1-100", "0-1-100"),
        ("0-1-100..200,0-1-50", "0-1-50,0-1-100..200"),
        ("0-1-100..", f"0-1-100..{2**64 - 1}"),
        (f"{A}:5-", f"{A}:5-{2**63 - 2}"),
        (f"{A}:1:5- ,{A}:3", f"{A}:1:3:5-{2**63 - 2}"),
        ("1-2-3, 0-5-7", "0-5-7,1-2-3"),
        (f"{A}:1-9223372036854775806", f"{A}:1-9223372036854775806"),
        ("0-1-18446744073709551615", "0-1-18446744073709551615"),
    ],
)
def test_texts_mean_the_set_that_servers_print(text: str, canonical: str) -> None:
    assert str(GtidSet.parse(text)) == canonical


def test_a_set_reads_as_mysql_9_7_prints_gtid_executed() -> None:
    printed = (
        "11111111-2222-3333-4444-555555555555:17,\n"
        "a86bbe0b-e58b-11f1-89c9-02fc00000001:1-20:alpha:1:nightly:1-2"
    )
    gtids = GtidSet.parse(printed)
    assert gtids.count == 24
    assert str(gtids) == printed.replace("\n", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "at character 1 of the GTID set, found 'hello'"),
        (f"{A}", "expected a transaction number or an interval"),
        (f"{A}:", "expected a number, an interval or a tag at character 38"),
        (f"{A}:0", "expected numbers from 1"),
        (f"{A}:5-3", "the first no larger than the last"),
        (f"{A}:1-9223372036854775807", "expected numbers from 1 to 9223372036854775806"),
        (f"{A}:1-5-7", "at character 38"),
        (f"{A}:tag", "expected a transaction number"),
        (f"{A}:tag:other:1", "expected a number"),
        (f"{A}:9tag:1", "at character 38"),
        (f"{A}:{'x' * 33}:1", "at character 38"),
        (f"{A}:1 {B}:2", "at character 38"),
        (f"{{{A}:1", "expected a server UUID"),
        ("0-1", "expected a server UUID or MariaDB's domain-server-number"),
        ("0-1-5..3", "the first no larger"),
        ("4294967296-1-5", "at most 4294967295"),
        ("0-1-99999999999999999999", "expected numbers from 0"),
        (f"{A}:\uff11", "at character 38"),
    ],
)
def test_an_unreadable_text_is_refused_with_its_place_and_the_syntax(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        GtidSet.parse(text)
    assert "UUID:1-5:7" in str(caught.value)


@given(st.text(alphabet=f"{A[:9]}:-., \n{{}}tag", max_size=80))
def test_any_text_is_a_set_or_a_usage_error(text: str) -> None:
    try:
        gtids = GtidSet.parse(text)
    except UsageError:
        return
    assert GtidSet.parse(str(gtids)) == gtids


def test_a_huge_interval_costs_nothing() -> None:
    everything = GtidSet.parse(f"{A}:1-9223372036854775806")
    assert (everything - GtidSet.parse(f"{A}:5")).count == 9223372036854775805


def test_a_long_text_is_read_in_linear_time() -> None:
    text = A + "".join(f":{number}" for number in range(1, 200_001, 2))
    gtids = GtidSet.parse(text)
    assert gtids.count == 100_000
    assert (gtids - gtids).is_empty
    assert gtids & gtids == gtids
    assert str(gtids) == text


@pytest.mark.parametrize("interval", [(0, 5), (5, 4), (1, 2**63)])
def test_numbers_that_no_server_gives_are_refused(interval: tuple[int, int]) -> None:
    with pytest.raises(UsageError):
        GtidSet([(SOURCES[0], *interval)])
