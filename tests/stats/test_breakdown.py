"""Figures by some dimensions, against DuckDB's sums over the data set of the same logs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest

from binx.errors import UsageError
from binx.log.binlog_file import BinlogFile
from binx.log.selection.selection import Selection
from binx.log.selection.times import parse_time
from binx.stats import breakdown as breakdown_module
from binx.stats.dimensions import (
    MEASURES,
    Dimension,
    csv_texts,
    key_columns,
    largest_groups,
    measures_of,
    parse_dimensions,
    size_bound,
    size_step,
)
from binx.stats.gather import gather, incomplete
from tests.conftest import SERVERS, SHOPS
from tests.exports import export
from tests.stats.logs import Statement, figures_of, log_of

BERLIN = ZoneInfo("Europe/Berlin")


@contextmanager
def opened(paths: Sequence[Path]) -> Iterator[list[BinlogFile]]:
    files = [BinlogFile.open(str(path)) for path in paths]
    try:
        yield files
    finally:
        for file in files:
            file.close()


def groups_of(
    flavour: str, by: str, *, selection: Selection | None = None, zone: tzinfo = UTC, quick: bool = False
) -> dict[tuple[Any, ...], SimpleNamespace]:
    """The groups by their keys."""
    dimensions = parse_dimensions(by)
    with opened(SHOPS[flavour]) as files:
        found = gather(files, by=dimensions, selection=selection, zone=zone, quick=quick)["breakdown"]
    assert found["complete"]
    groups = {
        tuple(one[key] for key in key_columns(dimensions)): SimpleNamespace(
            **one, measures=tuple(one[measure] for measure in measures_of(dimensions))
        )
        for one in found["groups"]
    }
    assert len(groups) == len(found["groups"])
    return groups


@pytest.fixture(scope="module", params=SERVERS)
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("lake")
    export(folder, SHOPS[request.param])
    return request.param, folder


def asked(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.execute(
            query.replace("TRANSACTIONS", f"read_parquet('{folder}/transactions/*.parquet')")
        ).fetchall()


BY_TRANSACTION = {
    "kind": "kind",
    "server": "server_id",
    "file,kind": "file, kind",
    "thread": "server_id, thread_id",
    "hour": "strftime(date_trunc('hour', commit_timestamp), '%Y-%m-%dT%H:00:00Z')",
    "minute,kind": "strftime(date_trunc('minute', commit_timestamp), '%Y-%m-%dT%H:%M:00Z'), kind",
    "day": "strftime(commit_timestamp, '%Y-%m-%d')",
}


@pytest.mark.parametrize("by", BY_TRANSACTION)
def test_transactions_are_grouped_as_a_database_groups_them(lake: tuple[str, Path], by: str) -> None:
    flavour, folder = lake
    keys = BY_TRANSACTION[by]
    places = ", ".join(map(str, range(1, keys.count(",") + 2)))
    if "strftime" in keys:
        places = "ALL"
    rows = asked(
        folder,
        f"SELECT {keys}, count(*), sum(bytes), sum(rows),"
        " sum(list_sum(list_transform(tables, lambda t: t.inserts))),"
        " sum(list_sum(list_transform(tables, lambda t: t.updates))),"
        " sum(list_sum(list_transform(tables, lambda t: t.deletes)))"
        f" FROM TRANSACTIONS GROUP BY {places}",
    )
    expected = {row[:-6]: tuple(int(number or 0) for number in row[-6:]) for row in rows}
    assert {keys: group.measures for keys, group in groups_of(flavour, by).items()} == expected


@pytest.mark.parametrize("by", ["table", "hour,table", "db", "db,kind"])
def test_tables_are_grouped_as_a_database_groups_them(lake: tuple[str, Path], by: str) -> None:
    flavour, folder = lake
    hour = "strftime(date_trunc('hour', commit_timestamp), '%Y-%m-%dT%H:00:00Z')"
    keys = {
        "table": "t.db, t.table",
        "hour,table": f"{hour}, t.db, t.table",
        "db": "t.db",
        "db,kind": "t.db, kind",
    }
    rows = asked(
        folder,
        f"SELECT {keys[by]}, count(DISTINCT commit_version), sum(t.inserts), sum(t.updates), sum(t.deletes)"
        " FROM (SELECT commit_timestamp, commit_version, kind, unnest(tables) AS t FROM TRANSACTIONS)"
        " GROUP BY ALL",
    )
    expected = {row[:-4]: tuple(map(int, row[-4:])) for row in rows}
    found = groups_of(flavour, by)
    assert {
        keys: (group.transactions, group.inserts, group.updates, group.deletes)
        for keys, group in found.items()
    } == expected
    assert all(group.rows == sum(group.measures[3:]) for group in found.values())


@pytest.mark.parametrize("flavour", SERVERS)
def test_groups_by_table_and_db_are_the_figures_of_both(flavour: str) -> None:
    with opened(SHOPS[flavour]) as files:
        figures = figures_of(files)
    tables, databases = groups_of(flavour, "table"), groups_of(flavour, "db")
    for table in figures.tables:
        assert tables[table.db, table.table].measures[1:] == (
            table.bytes, table.inserts + table.updates + table.deletes,
            table.inserts, table.updates, table.deletes,
        )  # fmt: skip
    for database in figures.databases:
        inside = [table for table in figures.tables if table.db == database.db]
        assert database.table_count == len(inside)
        assert databases[(database.db,)].bytes == database.bytes == sum(table.bytes for table in inside)
    assert len(tables) == len(figures.tables)


@pytest.mark.parametrize("flavour", SERVERS)
def test_sizes_are_the_classes_of_the_figures(flavour: str) -> None:
    with opened(SHOPS[flavour]) as files:
        figures = figures_of(files)
    expected = {(one.from_bytes, one.below_bytes): (one.transactions, one.bytes) for one in figures.sizes}
    found = groups_of(flavour, "size")
    assert {keys: group.measures[:2] for keys, group in found.items()} == expected


def test_every_size_is_in_the_class_of_its_bits() -> None:
    for size in [0, 1, 1023, 1024, 4095, 4096, 16383, 16384, 2**40]:
        step = size_step(size.bit_length())
        assert size_bound(step) <= size < size_bound(step + 1)


def test_a_source_is_the_server_of_the_gtids() -> None:
    assert list(groups_of("mariadb-10.11", "source")) == [("0-10",)]
    (keys,) = groups_of("mysql-9.7", "source")
    with opened(SHOPS["mysql-9.7"]) as files:
        assert figures_of(files).gtid_set.partition(":")[0] == keys[0]


def test_days_begin_by_the_clock_of_the_zone() -> None:
    # From noon on the days around the end of summer time in Berlin, an hour apart.
    first = int(datetime(2025, 10, 25, 12, tzinfo=UTC).timestamp())
    seconds = [first + 3600 * hour for hour in range(48)]
    with log_of([Statement(seconds=second) for second in seconds]) as file:
        found = figures_of([file], by=[Dimension.DAY], zone=BERLIN, verify=False).breakdown
    assert {group.day: group.transactions for group in found.groups} == {
        day: sum(datetime.fromtimestamp(second, BERLIN).strftime("%Y-%m-%d") == day for second in seconds)
        for day in ("2025-10-25", "2025-10-26", "2025-10-27")
    }
    assert [group.day for group in found.groups] == ["2025-10-25", "2025-10-26", "2025-10-27"]


def test_the_hour_that_a_zone_has_twice_is_two_hours() -> None:
    first = int(datetime(2025, 10, 26, 0, 30, tzinfo=UTC).timestamp())
    with log_of([Statement(seconds=first), Statement(seconds=first + 3600)]) as file:
        found = figures_of([file], by=[Dimension.HOUR], zone=BERLIN, verify=False).breakdown
    assert [group.hour for group in found.groups] == [
        "2025-10-26T02:00:00+02:00",
        "2025-10-26T02:00:00+01:00",
    ]


def test_a_quick_look_has_no_rows_and_refuses_tables() -> None:
    quick, full = groups_of("mysql-9.7", "hour", quick=True), groups_of("mysql-9.7", "hour")
    assert {keys: group.measures[:2] for keys, group in quick.items()} == {
        keys: group.measures[:2] for keys, group in full.items()
    }
    assert all(group.measures[2:] == (None,) * 4 for group in quick.values())
    with pytest.raises(UsageError, match="need rows"):
        groups_of("mysql-9.7", "hour,table", quick=True)


def test_more_groups_than_can_be_kept_leave_those_with_most_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakdown_module, "GROUPS_MAXIMUM", 3)
    made = [Statement(thread_id=number, sql="DROP TABLE " + "t" * number) for number in range(1, 21)]
    with log_of(made) as file:
        figures = gather([file], by=[Dimension.THREAD], verify=False)
    assert [group["thread_id"] for group in figures["breakdown"]["groups"]] == [20, 19, 18]
    assert incomplete(figures) == ["groups"]


def test_an_unknown_dimension_is_reported_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"table, db, server.*found 'tabel'"):
        parse_dimensions("hour,tabel")


def selected(selection: Selection, flavour: str = "mysql-9.7", *, quick: bool = False) -> SimpleNamespace:
    with opened(SHOPS[flavour]) as files:
        return figures_of(files, selection=selection, quick=quick)


@pytest.mark.parametrize("quick", [False, True])
def test_figures_of_a_time_span_are_those_of_its_transactions(lake: tuple[str, Path], quick: bool) -> None:
    flavour, folder = lake
    ((middle,),) = asked(
        folder, "SELECT strftime(median(commit_timestamp), '%Y-%m-%dT%H:%M:%S') FROM TRANSACTIONS"
    )
    figures = selected(Selection(since=parse_time(middle)), flavour, quick=quick)
    ((count, size, rows),) = asked(
        folder,
        f"SELECT count(*), sum(bytes), sum(rows) FROM TRANSACTIONS WHERE commit_timestamp >= '{middle}+00'",
    )
    assert 0 < figures.transactions == count
    assert figures.selected_bytes == size == sum(one.bytes for one in figures.kinds)
    assert figures.rows == (None if quick else rows)
    assert sum(one.transactions for one in figures.files) == count
    for file in figures.files:
        parts = (file.header_bytes, file.transaction_bytes, file.unfinished_bytes, file.damaged_bytes)
        assert sum(parts) == file.bytes
    assert figures.event_types is None
    assert figures.missing_gtids == ""


def test_figures_of_a_table_are_those_of_whole_transactions(lake: tuple[str, Path]) -> None:
    flavour, folder = lake
    figures = selected(Selection(tables=("shop.order_items",)), flavour, quick=True)
    assert not figures.quick
    touching = "list_contains(list_transform(tables, lambda t: t.table), 'order_items')"
    rows = asked(
        folder,
        "SELECT t.db, t.table, sum(t.inserts), sum(t.updates), sum(t.deletes)"
        f" FROM (SELECT unnest(tables) AS t FROM TRANSACTIONS WHERE {touching}) GROUP BY ALL",
    )
    found = {(one.db, one.table, one.inserts, one.updates, one.deletes) for one in figures.tables}
    assert found == {(db, table, *map(int, counts)) for db, table, *counts in rows}


def test_gtids_pass_over_files_and_report_what_is_not_there() -> None:
    from binx.event.gtid.sets import GtidSet

    with opened(SHOPS["mysql-9.7"]) as files:
        whole = figures_of(files)
    uuid = whole.gtid_set.partition(":")[0]
    wanted = GtidSet.parse(f"{uuid}:2,{uuid}:999999")
    figures = selected(Selection(gtids=wanted))
    assert figures.transactions == 1
    assert figures.gtid_set == f"{uuid}:2"
    assert figures.absent_gtids == f"{uuid}:999999"
    assert selected(Selection(gtids=GtidSet.parse(f"{uuid}:2"))).files[0].file == "mysql-bin.000001"


def test_the_csv_of_hostile_names_is_read_back_as_it_was() -> None:
    names = ['a,"b"', "line\nbreak", "tab\t", "=1+1", "<script>", "ü"]
    sums = {**dict.fromkeys(MEASURES), "transactions": 1, "bytes": 2}
    made = {"by": ["table"], "groups": [{"db": "shop", "table": name, **sums} for name in names]}
    text = "".join(csv_texts(made))
    head, *lines = csv.reader(io.StringIO(text, newline=""))
    assert head == ["db", "table", "transactions", "bytes", "rows", "inserts", "updates", "deletes"]
    assert [line[1] for line in lines] == names
    assert lines[-1] == ["shop", "ü", "1", "2", "", "", "", ""]


def test_the_top_groups_stay_in_the_order_of_time() -> None:
    groups = [{"hour": f"h{hour}", "bytes": size} for hour, size in enumerate([5, 9, 1, 9, 7])]
    assert [group["hour"] for group in largest_groups(groups, 3)] == ["h1", "h3", "h4"]
    assert largest_groups(groups, None) == groups
