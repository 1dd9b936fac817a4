"""From a server's own binary logs through Parquet and Spark: the tables equal what SELECT said there."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.dataset.dataset import escape_name
from binx.dataset.parquet import to_parquet
from binx.errors import ExitCode
from binx.log.file import open_files
from testdata.compare import compare_shop
from tests.conftest import TESTDATA
from tests.spark.conftest import Load


def export(paths: list[Path], folder: Path) -> None:
    files = open_files([str(path) for path in paths])
    for _ in to_parquet(files, folder):
        pass
    for file in files:
        file.close()


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_the_shops_tables_are_what_select_said(server: str, tmp_path: Path, load: Load) -> None:
    shop = TESTDATA / server / "shop"
    chain = sorted(shop.glob("mysql-bin.0*"))
    export(chain, tmp_path / "lake")
    code, summary = load(tmp_path / "lake", tmp_path / "tables")
    assert code == ExitCode.LOSSES
    assert any("statements" in loss for loss in summary["losses"])

    def current(db: str, table: str) -> Path:
        return tmp_path / "tables" / escape_name(db) / escape_name(table) / "current"

    comparisons = list(compare_shop(shop, current))
    assert len(comparisons) >= 8
    assert [one for one in comparisons if not one.equal] == []
