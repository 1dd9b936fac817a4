"""The table of transactions: its fields, and masks against the same questions asked in Python."""

from __future__ import annotations

import struct
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.event.gtid.sets import GtidSet
from binx.kernels.transactions.table import FIELDS, FLAG_HAS_XID, Kind, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.identifiers import kernel_intervals, source_of
from tests.log import building as b

OTHER = bytes(range(100, 116))


@pytest.fixture(scope="module")
def table() -> TransactionTable:
    """Five transactions: with XID; a DDL of another UUID; MariaDB's; without GTID; the first UUID again."""
    return b.transactions(
        *(b.gtid(7), b.query("BEGIN", thread_id=11), b.INSERT, b.xid(70, timestamp=2_000)),
        *(b.gtid(8, OTHER), b.query("CREATE TABLE a (b INT)", thread_id=12, timestamp=3_000)),
        *(b.mariadb_gtid(9, domain=3, server_id=5), *(b.table_map(), b.rows(1, 2, 3)), b.xid(90)),
        b.INSERT,
        *(b.gtid(2**63 - 2), b.CREATE),
    )


def ones(table: TransactionTable, mask: bytearray) -> list[int]:
    assert set(mask) <= {0, 1}
    return table.marked(mask)


def test_a_table_knows_each_field_singly_and_as_a_column(table: TransactionTable) -> None:
    assert len(table) == 5
    for field in FIELDS:
        column = memoryview(table.column(field)).cast("q")
        assert list(column) == [table.value(field, index) for index in range(5)]
    assert [Kind(table.value("kind", index)).name for index in range(5)] == [
        "KIND_DML", "KIND_DDL", "KIND_DML", "KIND_DML", "KIND_DDL",
    ]  # fmt: skip
    assert table.value("bytes", 1) == len(b.gtid() + b.query("CREATE TABLE a (b INT)"))
    assert table.value("commit_timestamp", 0) == 2_000 * 1_000_000
    assert table.value("begin_timestamp", 0) == 1_000


def test_what_is_behind_the_end_is_an_index_error(table: TransactionTable) -> None:
    for index in (-1, 5):
        for ask in (table.gtid, table.source_key, table.counts_of, lambda i: table.value("start", i)):
            with pytest.raises(IndexError):
                ask(index)


def test_gtids_are_written_as_servers_write_them(table: TransactionTable) -> None:
    expected = [
        f"{b.UUID_TEXT}:7",
        f"{uuid.UUID(bytes=OTHER)}:8",
        "3-5-9",
        None,
        f"{b.UUID_TEXT}:9223372036854775806",
    ]
    assert [table.gtid(index) for index in range(5)] == expected
    offsets, text = table.gtids()
    ends = memoryview(offsets).cast("i")
    assert [text[ends[i] : ends[i + 1]].decode() or None for i in range(5)] == expected
    assert not table.all_have_gtids()


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_any_mariadb_gtid_is_written_with_its_three_numbers(number: int, domain: int, server_id: int) -> None:
    table = b.transactions(
        b.mariadb_gtid(number, domain=domain, server_id=server_id, standalone=True), b.CREATE
    )
    assert table.gtid(0) == f"{domain}-{server_id}-{number}"
    assert table.all_have_gtids()
    key = table.source_key(0)
    assert key is not None
    assert str(source_of(key)) == f"{domain}-{server_id}"


@given(st.binary(min_size=16, max_size=16), st.integers(1, 2**63 - 2))
def test_any_mysql_gtid_is_written_with_uuid_and_number(identifier: bytes, number: int) -> None:
    table = b.transactions(b.gtid(number, identifier), b.CREATE)
    assert table.gtid(0) == f"{uuid.UUID(bytes=identifier)}:{number}"


def test_a_mask_of_another_table_is_refused(table: TransactionTable) -> None:
    with pytest.raises(ValueError, match="mask of 4 for 5"):
        table.keep_range(bytearray(4), "start", 0, 1)
    with pytest.raises(ValueError, match="mask of 4 for 5"):
        table.marked(bytearray(4))


def test_an_overlap_needs_one_common_byte(table: TransactionTable) -> None:
    start, end = table.value("start", 2), table.value("end", 2)
    for span, expected in [
        ((start, end), [2]),
        ((start - 1, start), [1]),
        ((start - 1, start + 1), [1, 2]),
        ((end, end), []),
        ((end - 1, end), [2]),
    ]:
        mask = table.mask()
        table.keep_overlap(mask, *span)
        assert ones(table, mask) == expected


def test_a_value_of_64_bits_is_known_with_its_sign_and_without() -> None:
    table = b.transactions(b.gtid(), b.BEGIN, b.INSERT, b.xid(2**64 - 1))
    for values, expected in [([2**64 - 1], [0]), ([-1], [0]), ([2**64, -(2**63) - 1, 2**63], [])]:
        mask = table.mask()
        table.keep_values(mask, "xid", values, FLAG_HAS_XID)
        assert ones(table, mask) == expected


NUMBERS = st.one_of(st.integers(1, 12), st.integers(2**63 - 4, 2**64 - 1))


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=12), st.lists(NUMBERS, max_size=8), st.booleans())
def test_a_set_keeps_its_members_also_above_63_bits(held: list[int], wanted: list[int], inside: bool) -> None:
    table = b.transactions(*(part for n in held for part in (b.mariadb_gtid(n, standalone=True), b.CREATE)))
    gtids = GtidSet.parse(",".join(f"0-7-{number}" for number in wanted))
    mask = table.mask()
    table.keep_gtids(mask, kernel_intervals(gtids), inside)
    assert ones(table, mask) == [i for i, number in enumerate(held) if (number in wanted) == inside]


def test_the_number_of_another_source_is_no_member(table: TransactionTable) -> None:
    mask = table.mask()
    table.keep_gtids(mask, kernel_intervals(GtidSet.parse(f"{b.UUID_TEXT}:8-9,3-5-7,3-6-9")), True)
    assert ones(table, mask) == []


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([b.UUID, OTHER]), st.integers(1, 20)), max_size=30), st.data())
def test_runs_are_the_set_of_what_is_marked(gtids: list[tuple[bytes, int]], data: st.DataObject) -> None:
    table = b.transactions(*(part for source, n in gtids for part in (b.gtid(n, source), b.CREATE)))
    mask = bytearray(data.draw(st.lists(st.integers(0, 1), min_size=len(gtids), max_size=len(gtids))))
    runs = GtidSet((source_of(key), first, last) for key, first, last in table.gtid_runs(mask))
    marked = [f"{uuid.UUID(bytes=source)}:{n}" for (source, n), one in zip(gtids, mask, strict=True) if one]
    assert runs == GtidSet.parse(",".join(marked))


def test_no_number_follows_the_largest_one() -> None:
    largest = 2**64 - 1
    table = b.transactions(
        *(
            part
            for n in (largest - 1, largest, 0, 1)
            for part in (b.mariadb_gtid(n, standalone=True), b.CREATE)
        )
    )
    runs = [(first, last) for _, first, last in table.gtid_runs(table.mask())]
    assert runs == [(largest - 1, largest), (0, 1)]


def test_counts_tell_what_happened_to_which_table() -> None:
    table = b.transactions(
        *(b.BEGIN, b.table_map(1, "a"), b.table_map(2, "b"), b.rows(1, 2, table_id=1, end=False)),
        *(b.rows(3, table_id=2), b.table_map(1, "a"), b.rows(4, number=32, table_id=1), b.xid()),
        *(b.BEGIN, b.table_map(2, "b"), b.rows(5, table_id=2), b.xid()),
        b.CREATE,
        level=Level.LEVEL_TABLES,
    )
    size = len(b.rows(1)) + 5
    assert table.counts_of(0) == [(0, 2, 0, 1, size + len(b.rows(1))), (1, 1, 0, 0, len(b.rows(1)))]
    assert table.counts_of(1) == [(1, 1, 0, 0, len(b.rows(1)))]
    assert table.counts_of(2) == []
    assert [table.value("rows", index) for index in range(3)] == [4, 1, 0]
    columns = [struct.unpack("=3q", table.count_column(which)) for which in range(5)]
    assert columns == [(0, 1, 1), (2, 1, 1), (0, 0, 0), (1, 0, 0), (size + size - 5, size - 5, size - 5)]
    for wanted, expected in [(b"\1\0", [0]), (b"\0\1", [0, 1]), (b"\1", [0]), (b"", [])]:
        mask = table.mask()
        table.keep_tables(mask, wanted)
        assert ones(table, mask) == expected


@given(st.lists(st.integers(0, 7), min_size=60, max_size=60))
@settings(deadline=None, max_examples=30)
def test_row_changes_are_summed_up_by_mark_and_table(marks: list[int]) -> None:
    """As adding up what each transaction says of itself."""
    events = []
    for number in range(60):
        table_id = number % 3 + 1
        events += [b.gtid(number + 1), b.query("BEGIN")]
        events += [b.table_map(table_id, f"t{table_id}"), b.rows(*range(table_id), table_id=table_id)]
        events += [b.xid(number)]
    table = b.transactions(*events, level=Level.LEVEL_TABLES)
    assert len(table) == 60
    expected: dict[tuple[int, int], list[int]] = {}
    for index, mark in enumerate(marks):
        for number, *changes, _ in table.counts_of(index):
            sums = expected.setdefault((mark, number), [0, 0, 0])
            for place, count in enumerate(changes):
                sums[place] += count
    assert sum(sums[0] for sums in expected.values()) == 20 * (1 + 2 + 3)
    found = table.sum_counts(bytes(marks))
    assert {(mark, number): changes for mark, number, *changes in found} == expected
    assert [(mark, number) for mark, number, *_ in found] == sorted(expected)


def test_marks_that_cannot_be_are_refused(table: TransactionTable) -> None:
    with pytest.raises(ValueError, match="a mark of 8"):
        table.sum_counts(b"\0\1\10\0\0")
    with pytest.raises(ValueError, match="mask of 4 for 5"):
        table.sum_counts(bytes(4))
