"""The table of transactions: its fields, masks, sums, rankings, and the columns of an index file."""

from __future__ import annotations

import struct
import uuid
from array import array
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.event.gtid.sets import GtidSet
from binx.event.header import parse_header
from binx.event.mariadb import MariadbGtid
from binx.event.parsers import parse_event
from binx.kernels.transactions.summaries import Measure, Tally, gtid_runs, merged_ranges, rank
from binx.kernels.transactions.table import (
    COLUMN_NAMES,
    COUNT_COLUMNS,
    FIELDS,
    FLAG_HAS_THREAD,
    FLAG_HAS_XID,
    IndexedTables,
    Kind,
    TransactionTable,
    join,
    sources_of,
)
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.identifiers import kernel_intervals, source_of
from binx.log.scan import Scan
from tests.event.reading import MARIADB
from tests.log import building as b
from tests.stats.logs import Statement, log_of

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
    return list(table.marked(mask))


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


def test_what_is_beyond_the_end_is_an_index_error(table: TransactionTable) -> None:
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


@given(
    st.sampled_from([0, 0x04, 0x0C]),
    st.none() | st.integers(0, 2**64 - 1),
    st.none() | st.tuples(st.binary(max_size=64), st.binary(max_size=64)),
    st.none() | st.integers(0, 255),
    st.none() | st.integers(0, 2**64 - 1),
    st.none() | st.integers(0, 2**32 - 1),
)
def test_mariadbs_connection_stands_after_the_optional_fields_of_its_gtid(
    flags: int,
    group: int | None,
    branch: tuple[bytes, bytes] | None,
    engines: int | None,
    altered: int | None,
    thread: int | None,
) -> None:
    fields = b""
    if group is not None:
        flags, fields = flags | 0x02, struct.pack("<Q", group)
    if branch is not None:
        flags |= 0x40
        fields += struct.pack("<iBB", 1, *map(len, branch)) + b"".join(branch)
    extra = ((0x01, "<B", engines), (0x04, "<Q", altered), (0x10, "<I", thread))
    present = [(flag, struct.pack(layout, value)) for flag, layout, value in extra if value is not None]
    fields += bytes([sum(flag for flag, _ in present)]) + b"".join(value for _, value in present)
    event = b.mariadb_gtid(flags=flags, fields=fields.ljust(6, b"\0"))
    parsed = parse_event(memoryview(event)[19:], parse_header(event, 0), MARIADB)
    assert isinstance(parsed, MariadbGtid)
    assert parsed.thread_id == thread
    table = b.transactions(event, b.table_map(), b.rows(1), b.xid())
    has_thread = bool(table.value("flags", 0) & FLAG_HAS_THREAD)
    assert (table.value("thread_id", 0) if has_thread else None) == thread


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
    runs = GtidSet((source_of(key), first, last) for key, first, last in gtid_runs(table, mask))
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
    runs = [(first, last) for _, first, last in gtid_runs(table, table.mask())]
    assert runs == [(largest - 1, largest), (0, 1)]


def test_counts_say_what_happened_to_which_table() -> None:
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


moments = st.one_of(st.integers(0, 2**32 - 1), st.integers(1_700_000_000, 1_700_010_000))
statements = st.builds(
    Statement,
    seconds=moments,
    sql=st.integers(0, 300).map(lambda size: "DROP TABLE " + "t" * (size + 1)),
    thread_id=st.integers(0, 5),
    server_id=st.integers(0, 3),
)


def table_of(made: list[Statement]) -> TransactionTable:
    with log_of(made) as file:
        (table,) = Scan(file, Level.LEVEL_TABLES)
    return table


def tally_of(made: list[Statement]) -> Tally:
    tally = Tally()
    tally.add(table_of(made))
    return tally


@given(st.lists(statements, min_size=1, max_size=60))
@settings(deadline=None)
def test_a_histogram_holds_every_transaction_in_the_bucket_of_its_time(made: list[Statement]) -> None:
    width, first, buckets = tally_of(made).histogram
    assert len(buckets) <= 240
    assert first % width == 0
    expected = Counter((one.seconds - first) // width for one in made)
    assert [transactions for transactions, _, _ in buckets] == [expected[i] for i in range(len(buckets))]
    assert buckets[0][0] > 0
    assert buckets[-1][0] > 0


@given(st.lists(statements, min_size=1, max_size=60))
@settings(deadline=None)
def test_a_histogram_is_as_narrow_as_its_number_of_buckets_lets_it_be(made: list[Statement]) -> None:
    width, _, _ = tally_of(made).histogram
    narrower = {5: 1, 10: 5, 30: 10, 60: 30, 300: 60, 600: 300, 1800: 600, 3600: 1800, 10800: 3600}
    narrower |= {21600: 10800, 43200: 21600, 86400: 43200, 604800: 86400}
    before = narrower.get(width, width // 2)
    if before:
        times = [one.seconds // before for one in made]
        assert max(times) - min(times) >= 240


@given(st.lists(statements, min_size=1, max_size=60))
@settings(deadline=None)
def test_every_sum_counts_every_transaction_once(made: list[Statement]) -> None:
    table = table_of(made)
    tally = Tally()
    tally.add(table)
    total = sum(memoryview(table.column("bytes")).cast("q"))
    assert tally.totals == (len(made), total, 0)
    for sums in (tally.kinds.values(), tally.sizes.values()):
        assert (sum(one[0] for one in sums), sum(one[1] for one in sums)) == (len(made), total)
    assert {key: count for key, count, _, _ in tally.servers} == Counter(one.server_id for one in made)
    connections = Counter(one.server_id << 32 | one.thread_id for one in made)
    assert {key: count for key, count, _, _ in tally.threads} == connections


def test_too_many_connections_leave_those_that_wrote_most() -> None:
    tally = Tally()
    busy = Statement(sql="DROP TABLE " + "t" * 500, thread_id=4_000_000)
    for round_ in range(3):
        made = [Statement(thread_id=round_ * 30_000 + number) for number in range(30_000)]
        tally.add(table_of([busy, *made]))
    assert tally.threads_forgotten
    assert len(tally.threads) < 90_000
    counts = {key & 0xFFFFFFFF: count for key, count, _, _ in tally.threads}
    assert counts[4_000_000] == 3
    assert tally.totals[0] == 90_003


def test_tables_are_handed_out_once() -> None:
    rows = b.rows(1, 2)
    tally = Tally()
    tally.add(b.transactions(b.BEGIN, b.table_map(), rows, b.xid(), level=Level.LEVEL_TABLES))
    assert tally.take_tables() == [(1, 2, 0, 0, len(rows))]
    assert tally.take_tables() == []


def test_marked_transactions_alone_are_added() -> None:
    made = [Statement(seconds=second, thread_id=second) for second in (5, 9, 7)]
    tally = Tally()
    tally.add(table_of(made), b"\1\0\1")
    assert tally.totals[0] == 2
    assert [key & 0xFFFFFFFF for key, *_ in tally.threads] == [5, 7]
    with pytest.raises(ValueError, match="a mask of 2"):
        tally.add(table_of(made), b"\1\0")


def test_too_many_servers_leave_those_that_wrote_most() -> None:
    tally = Tally()
    busy = Statement(sql="DROP TABLE " + "t" * 500, server_id=4_000_000)
    tally.add(table_of([busy, *(Statement(server_id=number) for number in range(70_000))]))
    assert tally.servers_forgotten
    assert 4_000_000 in {server for server, *_ in tally.servers}
    assert len(tally.servers) < 65_536


def test_transactions_that_touch_are_one_range(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "shop" / "mysql-bin.000001")) as file:
        (table,) = Scan(file)
        last = len(table) - 1
        whole = array("q", merged_ranges(table, None, False))
        assert whole.tolist() == [table.value("start", 0), table.value("end", last), len(table)]
        mask = bytearray(len(table))
        mask[3] = mask[4] = mask[9] = 1
        found = array("q", merged_ranges(table, mask, False)).tolist()
        first, second = (table.value("start", 3), table.value("end", 4), 2), (9,)
        assert found[:3] == list(first)
        assert found[3:] == [table.value("start", second[0]), table.value("end", 9), 1]


def test_tagged_transactions_stand_apart(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "tagged_gtids.binlog")) as file:
        (table,) = Scan(file)
        counts = array("q", merged_ranges(table, None, False))[2::3]
        tagged = sum((table.gtid(i) or "").count(":") == 2 for i in range(len(table)))
        assert counts.tolist().count(-1) == tagged > 0


def test_a_mask_of_another_length_is_a_mistake_of_the_caller(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "shop" / "mysql-bin.000001")) as file:
        (table,) = Scan(file)
        with pytest.raises(ValueError, match="mask"):
            merged_ranges(table, b"\1", False)


@given(st.lists(statements, max_size=60), st.integers(0, 70), st.booleans(), st.none() | st.integers(0, 400))
@settings(deadline=None)
def test_ranking_gives_what_sorting_gives(
    made: list[Statement], limit: int, smallest: bool, floor: int | None
) -> None:
    table = table_of(made) if made else TransactionTable()
    sizes = memoryview(table.column("bytes")).cast("q").tolist()
    pairs = [
        (size, index)
        for index, size in enumerate(sizes)
        if floor is None or (size < floor if smallest else size > floor)
    ]
    pairs.sort(key=lambda pair: (pair[0] if smallest else -pair[0], pair[1]))
    assert rank(table, None, Measure.MEASURE_BYTES, smallest, limit, floor) == pairs[:limit]


def test_ranking_takes_marked_transactions_only() -> None:
    table = table_of([Statement(seconds=second) for second in (5, 9, 7)])
    assert rank(table, b"\1\0\1", Measure.MEASURE_COMMIT_TIME, False, 5) == [(7_000_000, 2), (5_000_000, 0)]
    with pytest.raises(ValueError, match="a mask of 2"):
        rank(table, b"\1\0", Measure.MEASURE_BYTES, False, 5)


LOG_BYTES = 1 << 20
COUNTS = [array("q")] * COUNT_COLUMNS
UUID = bytes(range(16))


def made(sources: tuple[bytes, ...] = (), /, **values: int) -> TransactionTable:
    """A table of one transaction of 100 bytes with these values."""
    columns = [array("q", [{"end": 100, **values}.get(name, 0)]) for name in COLUMN_NAMES]
    return IndexedTables(list(sources), 0).table(columns, COUNTS, 0, LOG_BYTES)


def test_a_table_comes_back_from_its_columns() -> None:
    table = b.transactions(b.CREATE)
    columns = [table.column(name) for name in COLUMN_NAMES]
    again = IndexedTables(sources_of(table), 0).table(
        [memoryview(column).cast("q") for column in columns], COUNTS, 0, LOG_BYTES
    )
    assert [again.column(name) for name in COLUMN_NAMES] == columns


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start", -1),
        ("start", 100),
        ("end", LOG_BYTES + 1),
        ("commit_timestamp", 2**56),
        ("commit_timestamp", -1),
        ("original_commit_timestamp", 2**56),
        ("original_commit_timestamp", -1),
        ("begin_timestamp", 2**32),
        ("begin_timestamp", -1),
        ("counts", 1),
        ("counts", -1),
        ("source", 2**31),
        ("server_id", 2**32),
        ("thread_id", -1),
        ("kind", 9),
        ("gtid_kind", 4),
        ("flags", 256),
        ("undoes_part", 2),
        ("gtid_kind", 1),
    ],
)
def test_what_no_transaction_can_be_is_damage(name: str, value: int) -> None:
    with pytest.raises(DamagedError):
        made(**{name: value})


def test_the_last_times_of_all_are_read() -> None:
    table = made(commit_timestamp=2**56 - 1, original_commit_timestamp=2**56 - 1, begin_timestamp=2**32 - 1)
    assert table.value("commit_timestamp", 0) == table.value("original_commit_timestamp", 0) == 2**56 - 1
    assert table.value("begin_timestamp", 0) == 2**32 - 1


def test_a_gtid_needs_a_source_of_its_kind() -> None:
    assert made((UUID,), gtid_kind=1, number=7).gtid(0) == "00010203-0405-0607-0809-0a0b0c0d0e0f:7"
    with pytest.raises(DamagedError):
        made((UUID,), gtid_kind=2, number=7)


def test_a_source_that_stands_there_twice_is_damage() -> None:
    with pytest.raises(DamagedError):
        IndexedTables([UUID, UUID], 0)


def test_a_count_of_a_table_that_there_is_not_is_damage() -> None:
    columns = [array("q", [{"end": 100, "counts": 1}.get(name, 0)]) for name in COLUMN_NAMES]
    counts = [array("q", [1])] * COUNT_COLUMNS
    with pytest.raises(DamagedError):
        IndexedTables([], 1).table(columns, counts, 0, LOG_BYTES)
    assert IndexedTables([], 2).table(columns, counts, 0, LOG_BYTES).counts_of(0) == [(1, 1, 1, 1, 1)]


def test_transactions_overlap_nowhere() -> None:
    columns = [array("q", {"start": [0, 99], "end": [100, 200]}.get(name, [0, 0])) for name in COLUMN_NAMES]
    with pytest.raises(DamagedError):
        IndexedTables([], 0).table(columns, COUNTS, 0, LOG_BYTES)


def test_tables_of_two_scans_are_not_joined() -> None:
    with pytest.raises(ValueError, match="one scan"):
        join(made(), made())
