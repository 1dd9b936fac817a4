"""Transactions that are found ahead are those that are found one table after another."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binx.errors import DamagedError
from binx.event.gtid_set import GtidSet
from binx.export import finding
from binx.export.finding import Finder, Found
from binx.export.index_rows import INDEX_COLUMNS
from binx.export.parquet_format.file import ParquetFile
from binx.export.parquet_format.schema import FileSchema
from binx.export.salvaging import Salvaging
from binx.export.staging import ChainState
from binx.export.workers import Workers
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.index import index_table
from binx.log.selection import Selection, Selector
from tests.conftest import TESTDATA

LOGS = sorted(path for path in TESTDATA.glob("*/shop/*-bin.0*") if path.suffix[1:].isdigit())
LOG = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001"


@pytest.fixture(autouse=True)
def many_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs are small, and are to be found in many steps all the same."""
    monkeypatch.setattr(finding, "STEP_BYTES", 3000)
    monkeypatch.setattr(finding, "GROUP_ROWS", 50)


@contextmanager
def finder(path: Path, jobs: int, selection: Selection | None = None) -> Iterator[tuple[Finder, BinlogFile]]:
    with BinlogFile.open(str(path)) as file, Workers(jobs, 1 << 20) as workers:
        scan = file.scan(Level.LEVEL_TABLES)
        salvaging = Salvaging(scan, None, lambda: None)
        lane = workers.lane() if jobs > 1 else None
        selector = Selector(selection or Selection())
        made = Finder(scan, selector, ChainState(2, 7), salvaging, lane, 1 << 20)
        try:
            yield made, file
        finally:
            made.stop()


def facts(found: Found) -> tuple[Any, ...]:
    """All that is known of some transactions, as values that can be compared."""
    table = found.table
    return (
        table.column("start"),
        bytes(found.marks),
        found.ids,
        found.span,
        found.counts,
        found.position,
    )


def index_rows(made: Finder) -> list[dict[str, Any]]:
    """All transactions that a finder lists, out of a file of its row groups."""
    stream = io.BytesIO()
    file = ParquetFile(stream, FileSchema(INDEX_COLUMNS))
    groups = [found.group for found in made if found.group is not None]
    assert all(group.rows >= 50 for group in groups)
    for group in (*groups, made.rest()):
        if group is not None:
            file.write_rows(*group)
    file.close({})
    rows: list[dict[str, Any]] = pq.read_table(stream).to_pylist()
    return rows


@pytest.mark.parametrize("path", LOGS, ids=lambda path: "/".join(path.parts[-3:]))
def test_ahead_the_same_is_found(path: Path) -> None:
    with finder(path, 1) as (made, _):
        expected = [facts(found) for found in made]
        gtids = made.gtids
    with finder(path, 2) as (made, _):
        assert [facts(found) for found in made] == expected
        assert made.gtids == gtids
    assert len(expected) > 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_rows_of_the_index_are_those_of_one_pass(jobs: int) -> None:
    with finder(LOG, jobs) as (made, file):
        rows = index_rows(made)
        whole = index_table(file, file.scan(Level.LEVEL_TABLES), epoch=2, first_seqno=7)
        assert rows == whole.to_pylist()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_not_chosen_is_numbered_and_not_listed(jobs: int) -> None:
    with finder(LOG, 1) as (made, _):
        every = index_rows(made)
    chosen = every[3::5]
    gtids = GtidSet.parse(",".join(row["gtid"] for row in chosen))
    with finder(LOG, jobs, Selection(gtids=gtids)) as (made, _):
        assert index_rows(made) == chosen
        assert made.gtids == gtids


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_stands_before_damage_comes_first(jobs: int, tmp_path: Path) -> None:
    with finder(LOG, 1) as (made, _):
        whole = [facts(found) for found in made]
    data = bytearray(LOG.read_bytes())
    behind = whole[1][-1]
    data[behind + 30] ^= 1
    path = tmp_path / LOG.name
    path.write_bytes(data)
    with finder(path, jobs) as (made, _):
        tables = iter(made)
        assert [facts(next(tables)) for _ in range(2)] == whole[:2]
        with pytest.raises(DamagedError) as raised:
            list(tables)
    assert raised.value.offset is not None
    assert raised.value.offset >= behind


@pytest.mark.parametrize("jobs", [1, 2])
def test_whoever_stops_gets_no_more(jobs: int) -> None:
    with finder(LOG, jobs) as (made, file):
        tables = iter(made)
        first = next(tables)
        made.stop()
        assert first.position < file.size
        # Nothing looks at the file any more, so that it can be closed and the search be asked.
        assert made.gtids
