"""``current/`` is divided into ranges of the key, and a load rewrites those that it changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.spark.loading.keys import Key, Keys, last_of_each, places_between, ranges_met
from binx.spark.loading.ranges import Piece, Range, plan_pieces, read_index
from binx.spark.loading.runs import Run, RunWriter, read_batches
from binx.spark.loading.storage import LocalStorage
from tests.spark.conftest import Load
from tests.spark.dataset import Server
from tests.spark.test_state import FIELDS, ORDERS, Rows, insert, orders, work

SNAPSHOTS = "shop/orders/_current"
START = datetime(2026, 1, 1)

KEYS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "int": (pa.int32(), lambda number: number - 50),
    "bigint unsigned": (pa.decimal128(20, 0), lambda number: Decimal(2**64 - 1 - number)),
    "text": (pa.string(), lambda number: f"ä{number}" if number % 2 else f"z{number}\U0001f600"),
    "binary": (pa.binary(), lambda number: bytes([255 - number, 0])),
    "date": (pa.date32(), lambda number: date(1, 1, 1) + timedelta(days=number)),
    "datetime": (pa.timestamp("us"), lambda number: START + timedelta(microseconds=number)),
    "timestamp": (pa.timestamp("us", "UTC"), lambda number: START.replace(tzinfo=UTC) + timedelta(number)),
    "bit": (pa.bool_(), lambda number: number % 2 == 0),
}


def key_of(values: Sequence[Any]) -> Key:
    return tuple((value is None, value) for value in values)


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("columns", [1, 2])
def test_of_each_key_the_last_row_is_found_in_the_order_of_the_keys(kind: str, columns: int) -> None:
    choose = random.Random(columns)
    type_, value = KEYS[kind]
    numbers = [[choose.choice([None, *range(40)]) for _ in range(200)] for _ in range(columns)]
    values = [[None if one is None else value(one) for one in listed] for listed in numbers]
    names = [f"k{place}" for place in range(columns)]
    rows = pa.table({name: pa.array(listed, type_) for name, listed in zip(names, values, strict=True)})
    last = {key_of(key): place for place, key in enumerate(zip(*values, strict=True))}
    found = last_of_each(rows, names).to_pylist()
    assert sorted(found) == sorted(last.values())
    keys = Keys(rows.take(found), names)
    assert list(keys) == sorted(keys)
    assert len(set(keys)) == len(keys)
    for low, high in pairwise([None, *(keys[place] for place in range(0, len(keys), 7)), None]):
        first, end = places_between(keys, low, high)
        inside = [key for key in keys if (low is None or key >= low) and (high is None or key < high)]
        assert keys[first:end] == inside


def test_no_rows_have_no_last_ones() -> None:
    rows = pa.table({"id": pa.array([], pa.int32())})
    assert last_of_each(rows, ["id"]).to_pylist() == []


def test_the_ranges_that_keys_fall_into_are_found() -> None:
    rows = pa.table({"id": pa.array([1, 2, 9, 10, 11, 35], pa.int32())})
    lows = [key_of([number]) for number in (0, 5, 10, 20, 30, 40)]
    assert ranges_met(Keys(rows, ["id"]), lows) == {1, 2, 3, 5}
    assert ranges_met(Keys(rows, ["id"]), []) == {0}


def test_a_run_gives_the_batches_that_hold_some_keys(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, ["id"], [])
    numbers = list(range(0, 2000, 2))
    random.Random(1).shuffle(numbers)
    writer.add(pa.table({"id": pa.array(numbers, pa.int32())}))
    writer.close()
    [run] = writer.runs
    for low, high in [(None, 100), (100, 101), (700, 1500), (1999, None), (101, 102), (None, None)]:
        bounds = [None if one is None else key_of([one]) for one in (low, high)]
        first, last = run.batches(*bounds)
        read = read_batches(run.path, first, last).column("id").to_pylist()
        assert read == sorted(read)
        asked = {number for number in numbers if (low or 0) <= number < (2000 if high is None else high)}
        assert asked <= set(read)
        assert len(read) <= len(asked) + 2 * len(numbers) // 16 + 2


def spans(planned: Sequence[Piece | Range]) -> list[tuple[Key | None, Key | None]]:
    """Where each piece or kept range begins and ends."""
    if not planned:
        return []
    lows: list[Key | None] = [None, *(one.low for one in planned[1:])]
    return list(zip(lows, [*lows[1:], None], strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_pieces_and_ranges_that_stay_hold_all_keys_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binx.spark.loading.ranges.RANGE_BYTES", 1000)
    choose = random.Random(seed)
    bounds = sorted(choose.sample(range(1000), choose.randrange(1, 12)))
    former = [Range(f"f{low}", 1, choose.randrange(1, 1500), key_of([low])) for low in bounds]
    if seed % 5 == 0:
        former = []
    lows = [one.low for one in former[1:]]
    runs = []
    for _ in range(choose.randrange(4)):
        firsts = tuple(key_of([number]) for number in sorted(choose.sample(range(1000), 30)))
        met = ranges_met(firsts, lows)
        runs.append(Run("", firsts, tuple(choose.randrange(1, 300) for _ in firsts), met))
    planned = plan_pieces(former, runs, all_anew=seed % 3 == 0)
    touched = {place for run in runs for place in run.met}
    kept = [one for one in planned if isinstance(one, Range)]
    if seed % 3:
        assert [one.file for one in kept] == [
            one.file for place, one in enumerate(former) if place not in touched
        ]
    else:
        assert not kept
    found = spans(planned)
    for one, (low, high) in zip(planned, found, strict=True):
        assert low is None or high is None or low < high
        if isinstance(one, Piece):
            assert (one.low, one.high) == (low, high)
            overlapping = [
                range_.file
                for range_, (begin, end) in zip(former, spans(former), strict=True)
                if (end is None or low is None or low < end)
                and (begin is None or high is None or begin < high)
            ]
            assert one.files == overlapping
        else:
            assert (low, high) in spans(former)


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binx.spark.loading.ranges.RANGE_BYTES", 300)


def snapshot(output: Path, number: int) -> dict[str, int]:
    """The files of a snapshot in the order of their ranges, and which file each is on the disk."""
    ranges = read_index(LocalStorage(str(output)), f"{SNAPSHOTS}/v={number}") or []
    return {one.file: (output / f"{SNAPSHOTS}/v={number}" / one.file).stat().st_ino for one in ranges}


def test_only_ranges_with_changes_are_rewritten(
    tmp_path: Path, load: Load, rows: Rows, small_ranges: None
) -> None:
    server = orders()
    server.transaction(*[insert(number, f"name {number}") for number in range(200)])
    server.rotate()
    server.export_all(tmp_path / "in")
    assert load(tmp_path / "in", tmp_path / "out")[0] == 0
    before = snapshot(tmp_path / "out", 1)
    assert len(before) > 5
    server.transaction(("update", ORDERS, (100,), {"name": "changed"}), ("delete", ORDERS, (101,)))
    server.export_all(tmp_path / "in")
    _, summary = load(tmp_path / "in", tmp_path / "out")
    after = snapshot(tmp_path / "out", 2)
    assert len(set(before.values()) & set(after.values())) >= len(before) - 2
    assert set(before.values()) != set(after.values())
    assert summary["tables"][0]["current"] == 199
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    folder = tmp_path / "out" / SNAPSHOTS / "v=2"
    ids = [pq.read_table(folder / name, partitioning=None).column("id").to_pylist() for name in after]
    assert [number for listed in ids for number in listed] == [n for n in range(200) if n != 101]


def test_ranges_grow_are_divided_and_vanish_with_their_rows(
    tmp_path: Path, load: Load, rows: Rows, small_ranges: None
) -> None:
    server = orders()
    steps: list[list[tuple[Any, ...]]] = [
        [insert(number) for number in range(20)],
        [insert(number) for number in range(20, 300)],
        [("delete", ORDERS, (number,)) for number in range(10, 290)],
        [("delete", ORDERS, key) for key in [*((n,) for n in range(10)), *((n,) for n in range(290, 300))]],
        [insert(number) for number in range(5)],
    ]
    for number, changes in enumerate(steps, 1):
        server.transaction(*changes)
        server.export(tmp_path / "in", server.logs[-1])
        server.rotate()
        assert load(tmp_path / "in", tmp_path / "out")[0] == 0
        assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
        assert bool(snapshot(tmp_path / "out", number)) == bool(server.rows(ORDERS))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_work_by_ranges_is_that_without_them(
    seed: int, tmp_path: Path, load: Load, rows: Rows, small_ranges: None
) -> None:
    """Keys move, columns come and go, and now and then Spark writes the state."""
    choose = random.Random(seed)
    server = orders()
    alterations: list[tuple[str, list[tuple[str, pa.DataType]], dict[str, str]]] = [
        ("ALTER TABLE orders ADD note text", [*FIELDS, ("note", pa.string())], {}),
        ("ALTER TABLE orders DROP COLUMN amount", [*FIELDS[:2], ("note", pa.string())], {}),
    ]
    ways = []
    for number in range(6):
        work(server, choose, 15)
        if alterations and choose.random() < 0.5:
            server.alter(ORDERS, *alterations.pop(0))
        elif choose.random() < 0.2:
            server.truncate(ORDERS)
        work(server, choose, 10)
        server.export(tmp_path / "in", server.logs[-1], per_file=choose.choice([3, 1000]), whole=True)
        with pytest.MonkeyPatch.context() as patch:
            if choose.random() < 0.3:
                patch.setattr("binx.spark.loading.snapshots.advance_ranges", lambda *_: None)
            code, summary = load(tmp_path / "in", tmp_path / "out")
        assert code == 0, summary
        assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
        ways.append(bool(snapshot(tmp_path / "out", number + 1)))
        if choose.random() < 0.7:
            server.rotate()
    assert any(ways)


@pytest.mark.parametrize("kind", [name for name in KEYS if name != "bit"])
def test_keys_of_all_types_lead_to_ranges(
    kind: str, tmp_path: Path, load: Load, rows: Rows, small_ranges: None
) -> None:
    type_, value = KEYS[kind]
    server = Server()
    server.create(ORDERS, [("part", pa.int16()), ("id", type_), ("n", pa.int32())], ["part", "id"])
    for first in (0, 30):
        server.transaction(
            *[
                ("insert", ORDERS, {"part": n % 2, "id": value(n), "n": n})
                for n in range(first, first + 40)
                if (n % 2, value(n)) not in server.tables[ORDERS]
            ]
        )
        server.transaction(*[("delete", ORDERS, (n % 2, value(n))) for n in range(first, first + 5)])
        server.export(tmp_path / "in", server.logs[-1])
        server.rotate()
        assert load(tmp_path / "in", tmp_path / "out")[0] == 0
    assert len(snapshot(tmp_path / "out", 2)) > 2
    found = rows(tmp_path / "out", ORDERS, ("part", "id"))
    # Spark gives times of the session's zone, which is UTC, without it.
    expected = [
        {name: one.replace(tzinfo=None) if isinstance(one, datetime) else one for name, one in row.items()}
        for row in server.rows(ORDERS)
    ]
    by_number = sorted(found, key=lambda row: row["n"])
    assert by_number == sorted(expected, key=lambda row: row["n"])
