"""``statements/`` of a data set: what each statement did stands in columns, as the server's log has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binx.dataset.parquet import to_parquet
from binx.log.file import open_files
from tests.conftest import TESTDATA


def statements(log: Path, folder: Path) -> list[dict[str, Any]]:
    files = open_files([str(log)])
    [_] = to_parquet(files, folder)
    files[0].close()
    [path] = (folder / "statements").iterdir()
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_schema_statements_have_effects_and_others_have_none(server: str, tmp_path: Path) -> None:
    found = statements(TESTDATA / server / "small" / "ddl.binlog", tmp_path)
    for row in found:
        words = row["sql"].upper().split()
        if row["kind"] != "ddl":
            assert row["effects"] == [], row["sql"]
        for effect in row["effects"]:
            expected = {
                "CREATE TABLE": "created",
                "DROP TABLE": "dropped",
                "TRUNCATE TABLE": "truncated",
            }.get(" ".join(words[:2]))
            assert expected in (effect["action"], None), row["sql"]
            assert effect["action"] != "not_understood", row["sql"]
            written = row["sql"].replace("``", "`").casefold()
            assert effect["table"] is None or effect["table"].casefold() in written
    assert {effect["action"] for row in found for effect in row["effects"]} >= {"created", "altered"}
