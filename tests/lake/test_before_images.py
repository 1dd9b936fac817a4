"""Before images that differ from the rows before them show that something was not logged."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.lake.arrow.before_images import ComparedImages, KeyedRows
from binx.lake.arrow.image_merge import replay
from binx.lake.arrow.images import HEAD, KINDS
from binx.lake.at_moment import table_at
from binx.lake.state.loaded_state import Options
from binx.lake.tables.lives import SchemaSpan, TableColumn
from binx.spark import load_run as run
from tests.lake.conftest import Load
from tests.lake.dataset import Server
from tests.lake.test_state import ORDERS, insert, orders, work

SENTENCE = (
    "row changes that do not fit the rows before them: {}; something was not logged, as with sql_log_bin = 0,"
    " or a log is missing"
)


def unlogged_update(server: Server) -> None:
    server.tables[ORDERS][1,]["amount"] = 99


def unlogged_delete(server: Server) -> None:
    del server.tables[ORDERS][2,]


def unlogged_insert(server: Server) -> None:
    server.tables[ORDERS][7,] = {"id": 7, "name": "g", "amount": 7}


UNLOGGED: dict[str, tuple[Callable[[Server], None], list[tuple[Any, ...]]]] = {
    "a value": (unlogged_update, [("update", ORDERS, (1,), {"name": "z"})]),
    "a value of a deleted row": (unlogged_update, [("delete", ORDERS, (1,))]),
    "a value of a row whose key changes": (unlogged_update, [("update", ORDERS, (1,), {"id": 9})]),
    "a row that is not there": (unlogged_insert, [("update", ORDERS, (7,), {"name": "z"})]),
    "a deleted row that is not there": (unlogged_insert, [("delete", ORDERS, (7,))]),
    "a row that is there": (unlogged_delete, [insert(2, "new")]),
    "a key that is there": (unlogged_delete, [("update", ORDERS, (1,), {"id": 2})]),
}


@pytest.mark.parametrize("kind", UNLOGGED)
def test_a_table_that_was_changed_without_a_log_is_marked(kind: str, tmp_path: Path) -> None:
    server = orders()
    server.transaction(*(insert(number, "a", number) for number in range(1, 5)))
    moment = server.clock.isoformat()
    server.rotate()
    unlog, changes = UNLOGGED[kind]
    unlog(server)
    server.transaction(*changes)
    # What follows fits again.
    server.transaction(("update", ORDERS, (3,), {"amount": 5}))
    server.export_all(tmp_path / "lake")
    assert table_at(str(tmp_path / "lake"), "shop.orders", None).missing == [SENTENCE.format(1)]
    assert table_at(str(tmp_path / "lake"), "shop.orders", moment).missing == []


@pytest.mark.parametrize("shuffled", [False, True])
def test_loads_count_what_did_not_fit(
    tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch, shuffled: bool
) -> None:
    if shuffled:
        monkeypatch.setattr(run, "Options", partial(Options, range_bytes=6000, small_bytes=0))
    server = orders()
    server.transaction(*(insert(number, "a", number) for number in range(1, 300)))
    server.transaction(("update", ORDERS, (5,), {"amount": 6}), ("delete", ORDERS, (6,)))
    for found, (unlog, changes) in enumerate((UNLOGGED["a value"], UNLOGGED["a row that is there"])):
        server.export_all(tmp_path / "in", per_file=40)
        code, summary = load(tmp_path / "in", tmp_path / "out", "--accept-losses" if found else "--scd2")
        assert (code, summary["tables"][0]["reasons"]) == (
            0,
            [SENTENCE.format(1)][:found],
        )
        server.rotate()
        unlog(server)
        server.transaction(*changes)
    server.export_all(tmp_path / "in", per_file=40)
    code, summary = load(tmp_path / "in", tmp_path / "out")
    [table] = summary["tables"]
    # A user accepted the kind of loss.
    assert (code, table["reasons"]) == (0, [SENTENCE.format(2)])
    assert table["completeness"].startswith("losses since ")
    code, summary = load(tmp_path / "in", tmp_path / "new")
    assert (code, summary["tables"][0]["reasons"]) == (3, table["reasons"])
    assert "do not fit" in (tmp_path / "new" / "views.sql").read_text()


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_rows_older_than_the_logs_and_partial_images_are_no_loss(tmp_path: Path, image: str) -> None:
    server = orders(image=image)
    server.tables[ORDERS] = {(number,): {"id": number, "name": "a", "amount": 1} for number in range(20)}
    if image == "FULL":
        # Its CREATE TABLE is not in the logs.
        server.logs[0].statements.clear()
    else:
        server.tables[ORDERS].clear()
    work(server, random.Random(3), 30)
    server.export_all(tmp_path / "lake")
    missing = table_at(str(tmp_path / "lake"), "shop.orders", None).missing
    assert [text for text in missing if "do not fit" in text] == []


def test_images_that_stand_for_others_are_counted_as_those() -> None:
    """However images are cut and reduced to the last of each key, the same number of them does not fit."""
    choose = random.Random(5)
    epoch = SchemaSpan(None, (TableColumn(1, "id", "int32"), TableColumn(2, "v", "string")), (1,))
    found = set()
    for _ in range(60):
        whole = choose.random() < 0.5
        comparison = ComparedImages(frozenset((1, 2)), whole)
        images = pa.Table.from_pylist(
            [
                {
                    "_rank": 0,
                    "_scn": number,
                    "_row": 0,
                    "_kind": choose.choice([*KINDS.values()][:4]),
                    "v1": choose.randrange(4),
                    "v2": choose.choice("ab"),
                }
                for number in range(choose.randint(1, 40))
            ],
            pa.schema([*HEAD, ("v1", pa.int32()), ("v2", pa.string())]),
        )
        empty = images.slice(0, 0)
        expected = replay(empty, images, epoch, comparison, versions=False)
        parts, begin = [], 0
        while begin < len(images):
            size = choose.randint(1, 9)
            parts.append(KeyedRows(images.slice(begin, size), epoch, comparison).last_images())
            begin += size
        united = pa.concat_tables(parts)
        if choose.random() < 0.5:
            united = KeyedRows(united, epoch, comparison).last_images()
        reduced = replay(empty, united, epoch, comparison, versions=False)
        assert reduced.state.equals(expected.state)
        assert reduced.differing == expected.differing
        found.add(expected.differing)
    assert len(found) > 5
