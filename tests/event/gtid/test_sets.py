"""GTID sets, against Python's own sets of numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource, UuidSource

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
intervals = st.tuples(st.sampled_from(SOURCES), st.integers(1, 40), st.integers(0, 12)).map(
    lambda item: (item[0], item[1], item[1] + item[2])
)
interval_lists = st.lists(intervals, max_size=12)


def numbers(items: list[tuple[GtidSource, int, int]]) -> Model:
    return {(source, number) for source, first, last in items for number in range(first, last + 1)}


def enumerated(gtids: GtidSet) -> Model:
    return numbers(list(gtids))


@given(interval_lists)
def test_a_set_holds_what_was_put_in(items: list[tuple[GtidSource, int, int]]) -> None:
    gtids, model = GtidSet(items), numbers(items)
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
    a, b, model_a, model_b = GtidSet(left), GtidSet(right), numbers(left), numbers(right)
    assert enumerated(a | b) == model_a | model_b
    assert enumerated(a & b) == model_a & model_b
    assert enumerated(a - b) == model_a - model_b
    assert (a <= b) == (model_a <= model_b)
    assert (a >= b) == (model_a >= model_b)
    assert a.isdisjoint(b) == model_a.isdisjoint(model_b)
    assert (a == b) == (model_a == model_b)


@given(interval_lists)
def test_equal_sets_are_equal_however_they_were_built(items: list[tuple[GtidSource, int, int]]) -> None:
    one, other = GtidSet(items), GtidSet(reversed([*items, *items]))
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == str(other)


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
