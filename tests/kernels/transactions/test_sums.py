"""Running sums against the same done with Python's own means."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.kernels.transactions.sums import Tally
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from tests.log import building as b
from tests.stats.logs import Statement, log_of

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
        (table,) = file.scan(Level.LEVEL_TABLES)
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
