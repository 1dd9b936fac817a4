"""Columns that an inserted row's minimal image lacks: the current state has their defaults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binx.dataset.parquet import to_parquet
from binx.errors import ExitCode
from binx.log.file import open_files
from testdata.compare import normal, spell
from tests.conftest import TESTDATA
from tests.spark.conftest import Load


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_the_current_state_of_minimal_images_is_what_select_said(
    server: str, tmp_path: Path, load: Load, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    log = TESTDATA / server / "small" / "row_image_minimal.binlog"
    files = open_files([str(log)])
    assert len(list(to_parquet(files, tmp_path / "lake"))) == 1
    files[0].close()
    code, summary = load(tmp_path / "lake", tmp_path / "tables")
    assert code == ExitCode.DONE, summary
    expected = json.loads(log.with_suffix(".expected.json").read_text("utf-8"))["tables"]["small.keyed"]
    types = [(column["name"], column["type"]) for column in expected["columns"]]
    found = rows(tmp_path / "tables", ("small", "keyed"))
    assert [[spell(row[name], kind) for name, kind in types] for row in found] == [
        [normal(text, kind) for text, (_, kind) in zip(row, types, strict=True)] for row in expected["rows"]
    ]
