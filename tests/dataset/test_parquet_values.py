"""Parquet's current state = SELECT on the server that wrote the log, value by value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from binx.dataset.parquet import to_parquet
from binx.log.file import open_files
from testdata.compare import normal, spell
from tests.conftest import TESTDATA
from tests.dataset.current_state import Row, current_state

NOT_STATE_FROM_ROWS = {
    "reordered": "nothing in the log tells what the tables' columns are called",
    "if_not_exists": "nothing in the log tells what the tables' columns are called",
    "rollback": "the rolled-back part is logged as statements",
    "statements": "the changes are logged as statements",
    "load_data": "LOAD DATA is logged as a statement",
    "savepoints": "a part is logged as statements",
    "no_checksum": "a part is logged as statements",
    "foreign_key_cascade": "servers before 9.6 leave the foreign key's own changes out of the log",
    "compressed": "a part is logged as statements and with minimal images",
}

WARNINGS = {
    ("mariadb-10.11", name): [f"small.t: {rows} left out, undone by ROLLBACK TO SAVEPOINT"]
    for name, rows in (("savepoints_rows", "6 row changes"), ("savepoints_ansi", "1 row change"))
}

SERVERS = ("mysql-9.7", "mariadb-10.11")
SMALL = [
    pytest.param(server, path, id=f"{server}-{path.stem}")
    for server in SERVERS
    for path in sorted((TESTDATA / server / "small").glob("*.binlog"))
]


def export(paths: list[Path], folder: Path, warnings: Sequence[str] = ()) -> None:
    files = open_files([str(path) for path in paths])
    for report in to_parquet(files, folder):
        assert report.manifest["losses"] == []
        assert report.manifest["warnings"] == list(warnings)
    for file in files:
        file.close()


def expect_rows(state: list[Row], expected: dict[str, Any], rows: list[list[str | None]]) -> None:
    names = [column["name"] for column in expected["columns"]]
    types = [column["type"] for column in expected["columns"]]
    found = [[spell(row.get(name), kind) for name, kind in zip(names, types, strict=True)] for row in state]
    wanted = [[normal(text, kind) for text, kind in zip(row, types, strict=True)] for row in rows]
    places = [names.index(name) for name in expected["primary_key"]]

    def by_key(row: list[object]) -> list[str]:
        return [str(row[place]) for place in places]

    assert sorted(found, key=by_key) == sorted(wanted, key=by_key)


@pytest.mark.parametrize("server", SERVERS)
def test_the_shops_state_is_what_select_said(server: str, tmp_path: Path) -> None:
    shop = TESTDATA / server / "shop"
    export(sorted(shop.glob("mysql-bin.0*")), tmp_path)
    tables = json.loads((shop / "expected/tables.json").read_text("utf-8"))["tables"]
    compared = 0
    for name, expected in tables.items():
        if expected["state_from_rows"]:
            db, table = name.split(".", 1)
            lines = (shop / "expected" / expected["file"]).read_text("utf-8").splitlines()
            expect_rows(
                current_state(tmp_path, db, table, expected["primary_key"]),
                expected,
                [json.loads(line) for line in lines],
            )
            compared += 1
    assert compared >= 8


@pytest.mark.parametrize(("server", "path"), SMALL)
def test_the_state_of_a_small_log_is_what_select_said(server: str, path: Path, tmp_path: Path) -> None:
    if path.stem in NOT_STATE_FROM_ROWS and (server, path.stem) != ("mysql-9.7", "compressed"):
        pytest.skip(NOT_STATE_FROM_ROWS[path.stem])
    expected = json.loads(path.with_suffix(".expected.json").read_text("utf-8"))
    export([path], tmp_path, warnings=WARNINGS.get((server, path.stem), ()))
    for name, table in expected["tables"].items():
        db, _, short = name.partition(".")
        names = {column["name"] for column in table["columns"]}
        if table["primary_key"] and names.issuperset(table["primary_key"]):
            state = current_state(tmp_path, db, short, table["primary_key"])
            expect_rows(state, table, table["rows"])
