"""Keys that were erased forever stay away, whatever loads bring, and whatever becomes of their table."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from binx.cli.run import run
from binx.lake.options import LoadOptions
from binx.report.document import document
from binx.spark.load_run import load as run_load
from testdata.servers import Server
from tests.live.lake.test_personal_data import canaries, canary
from tests.live.logs import export_last
from tests.live.tables_at_end import read_rows


class Lake:
    """A table ``shop.people`` of which one key is erased forever, and its loads."""

    def __init__(self, server: Server, spark: Any, folder: Path) -> None:
        self.server, self._spark, self._folder = server, spark, folder
        self.out = folder / "out"

    def erased(self, kind: str, key: str, other: str) -> None:
        self.server.sql("DROP DATABASE IF EXISTS shop")
        self.server.reset()
        self.server.sql(
            f"CREATE DATABASE shop; CREATE TABLE shop.people (id {kind} PRIMARY KEY, name VARCHAR(30));"
            f"INSERT INTO shop.people VALUES ('{key}', '{canary()}'), ('{other}', 'ann')"
        )
        self.load("")
        assert (
            run(["erase", str(self.out), "--table", "shop.people", "--where", "name <> 'ann'", "--forever"])
            == 0
        )

    def load(self, *texts: str) -> dict[str, Any]:
        """Load logs, one of each text."""
        for text in texts:
            self.server.sql(text or "DO 0")
            export_last(self.server, self._folder / "lake")
        options = LoadOptions((str(self._folder / "lake"),), str(self.out))
        return document("load", run_load(options, lambda: nullcontext(self._spark)))

    def names(self) -> list[str]:
        return [row["name"] for row in read_rows(self.out, ("shop", "people"))]


@pytest.fixture
def lake(server: Server, spark: Any, tmp_path: Path) -> Lake:
    return Lake(server, spark, tmp_path)


def test_a_load_that_joins_the_files_of_a_day_erases_what_they_bring(lake: Lake) -> None:
    lake.erased("INT", "2", "1")
    summary = lake.load(
        *(
            f"REPLACE INTO shop.people VALUES (2, '{canary()}'); INSERT INTO shop.people VALUES ({n}, 'x')"
            for n in range(10, 20)
        )
    )
    assert canaries(lake.out) == set()
    # One commit has the rows without these, and the figures are of it.
    assert (summary["load"], summary["tables"][0]["current"]) == (3, len(lake.names())) == (3, 11)


@pytest.mark.parametrize(
    ("kind", "later", "key", "other"),
    [
        ("INT", "VARCHAR(20)", "2", "02"),
        ("DATE", "DATETIME(3)", "2026-01-02", "2026-01-03"),
        ("DECIMAL(10,2)", "DECIMAL(14,4)", "2.50", "2.51"),
    ],
)
def test_they_are_known_when_their_column_has_another_type(
    kind: str, later: str, key: str, other: str, lake: Lake
) -> None:
    lake.erased(kind, key, "1" if kind == "INT" else other)
    alter, write = (
        f"ALTER TABLE shop.people MODIFY id {later}",
        f"UPDATE shop.people SET name = '{{}}' WHERE id = '{key}'",
    )
    lake.load(alter, f"{write.format(canary())}; REPLACE INTO shop.people VALUES ('{other}', 'other')")
    assert (canaries(lake.out), "other" in lake.names()) == (set(), True)


def test_they_are_known_by_their_columns_when_the_key_is_of_others(lake: Lake) -> None:
    lake.erased("INT", "2", "1")
    write = "UPDATE shop.people SET name = '{}' WHERE {} = 2"
    for alter, column in (
        ("ADD more INT DEFAULT 7, DROP PRIMARY KEY, ADD PRIMARY KEY (more, id)", "id"),
        ("CHANGE id code INT", "code"),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (more, name)", "code"),
    ):
        assert lake.load(f"ALTER TABLE shop.people {alter}; {write.format(canary(), column)}")["load"]
        assert (canaries(lake.out), lake.names()) == (set(), ["ann"])
    summary = lake.load("ALTER TABLE shop.people DROP code")
    [reason] = summary["tables"][0]["reasons"]
    assert "erased forever" in reason
