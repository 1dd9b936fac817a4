"""Rows that their own transactions undid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import binx
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.rows.savepoints import undone_runs
from binx.slices.extract import ExtractOptions, SliceFormat, extract
from tests.conftest import TESTDATA

LOG = TESTDATA / "mariadb-10.11" / "small" / "savepoints_rows.binlog"

ROWS: tuple[bool, str | None] = (True, None)


def said(sql: str) -> tuple[bool, str | None]:
    return (False, sql)


@pytest.mark.parametrize(
    ("events", "undone"),
    [
        pytest.param([ROWS, said("SAVEPOINT `a`"), ROWS], [], id="a savepoint alone undoes nothing"),
        pytest.param(
            [ROWS, said("SAVEPOINT `a`"), ROWS, said("ROLLBACK TO `a`"), ROWS],
            [(1, 2)],
            id="what stands between savepoint and rollback is undone",
        ),
        pytest.param(
            [said("SAVEPOINT a"), ROWS, said("rollback work to savepoint A"), ROWS],
            [(0, 1)],
            id="names are equal whatever their case, and old servers log what the user wrote",
        ),
        pytest.param(
            [said('SAVEPOINT "a b"'), ROWS, said('SAVEPOINT "a ""c"""'), ROWS, said('ROLLBACK TO `a "c"`')],
            [(1, 2)],
            id="names stand between double quotes where the session has ANSI_QUOTES",
        ),
        pytest.param(
            [said("SAVEPOINT `a`"), ROWS, said("SAVEPOINT `a`"), ROWS, said("ROLLBACK TO `a`")],
            [(1, 2)],
            id="the same name again moves the savepoint",
        ),
        pytest.param(
            [
                said("SAVEPOINT `a`"),
                ROWS,
                said("SAVEPOINT `b`"),
                ROWS,
                said("ROLLBACK TO `b`"),
                ROWS,
                said("ROLLBACK TO `a`"),
            ],
            [(0, 3)],
            id="an outer rollback takes an inner one in",
        ),
        pytest.param(
            [said("SAVEPOINT `a`"), ROWS, said("RELEASE SAVEPOINT `a`"), said("ROLLBACK TO `a`")],
            [],
            id="a released savepoint is gone",
        ),
        pytest.param(
            [ROWS, said("SAVEPOINT `a`"), said("ROLLBACK TO `a`")], [], id="nothing between is no run"
        ),
    ],
)
def test_runs_of_undone_rows_events(
    events: list[tuple[bool, str | None]], undone: list[tuple[int, int]]
) -> None:
    assert list(undone_runs(events)) == undone


def test_changes_hold_only_rows_that_the_server_kept() -> None:
    expected = json.loads(LOG.with_suffix(".expected.json").read_text("utf-8"))["tables"]["small.t"]["rows"]
    changes = binx.open(LOG).changes("small.t").read_all()
    assert set(changes["_change_type"].to_pylist()) == {"insert"}
    assert [str(value) for value in changes["id"].to_pylist()] == [row[0] for row in expected]


def test_json_holds_only_rows_that_the_server_kept_and_sql_undoes_the_others(tmp_path: Path) -> None:
    written = {}
    for form in (SliceFormat.JSON, SliceFormat.SQL):
        target = tmp_path / form.value
        with open_chain([str(LOG)]) as chain:
            extract(chain, Selection(), str(target), ExtractOptions(format=form, rows=True))
        written[form] = target.read_text("utf-8")
    assert "'undone'" in written[SliceFormat.SQL]
    assert "ROLLBACK TO" in written[SliceFormat.SQL]
    assert "undone" not in written[SliceFormat.JSON]
