"""The transactions of a log as they are found, step by step, are those of one pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.dataset import finder as finding
from binx.dataset.continuation import ChainState
from binx.dataset.finder import Finder, Salvaging
from binx.dataset.manifest import LogReport
from binx.event.gtid.sets import GtidSet
from binx.event.payload import PayloadCache
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.log.selection.selection import Selection, Selector
from tests.conftest import TESTDATA
from tests.log.index.index_files import index_table

LOGS = sorted(path for path in TESTDATA.glob("*/shop/*-bin.0*") if path.suffix[1:].isdigit())
LOG = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001"


@pytest.fixture(autouse=True)
def many_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs are small, and are to be found in many steps all the same."""
    monkeypatch.setattr(finding, "STEP_BYTES", 3000)
    monkeypatch.setattr(finding, "_GROUP_ROWS", 50)


@contextmanager
def finder(path: Path, selection: Selection | None = None) -> Iterator[tuple[Finder, BinlogFile]]:
    with BinlogFile.open(str(path)) as file:
        scan = Scan(file, Level.LEVEL_TABLES)
        salvaging = Salvaging(scan, None, lambda: None)
        selector = Selector(selection or Selection())
        report = LogReport(file, selector.takes_table)
        yield Finder(scan, selector, ChainState(2, 7), salvaging, PayloadCache(1 << 20), report), file


def index_rows(made: Finder) -> list[dict[str, Any]]:
    """All transactions that a finder lists."""
    groups = []
    for _ in made:
        if (group := made.take_group()) is not None:
            groups.append(group)
    if (group := made.take_group(is_last=True)) is not None:
        groups.append(group)
    # Made when the scan has gone on to the end, as in another thread.
    batches = [group.batch() for group in groups]
    assert [batch.num_rows for batch in batches] == [group.marks.count(1) for group in groups]
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches).to_pylist()
    return rows


@pytest.mark.parametrize("path", LOGS, ids=lambda path: "/".join(path.parts[-3:]))
def test_the_rows_of_the_index_are_those_of_one_pass(path: Path) -> None:
    with finder(path) as (made, file):
        rows = index_rows(made)
        whole = index_table(file, Scan(file, Level.LEVEL_TABLES), epoch=2, first_seqno=7)
        assert rows == whole.to_pylist()


def test_what_was_not_chosen_is_numbered_and_not_listed() -> None:
    with finder(LOG) as (made, _):
        every = index_rows(made)
    chosen = every[3::5]
    gtids = GtidSet.parse(",".join(row["gtid"] for row in chosen))
    with finder(LOG, Selection(gtids=gtids)) as (made, _):
        assert index_rows(made) == chosen
        assert made.gtids == gtids
