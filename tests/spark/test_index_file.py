"""Spark reads an index file as the Parquet that it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from binx.log.file import BinlogFile
from binx.log.index.writer import write_index
from tests.conftest import TESTDATA


def test_spark_reads_an_index_file(spark: Any, tmp_path: Path) -> None:
    index = tmp_path / "log.parquet"
    with BinlogFile.open(str(TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003")) as file:
        write_index(file, str(index))
    expected = pq.read_table(index, columns=["gtid", "start", "rows", "tables"]).to_pylist()
    rows = spark.read.parquet(str(index)).select("gtid", "start", "rows", "tables").orderBy("start").collect()
    assert [row.asDict(recursive=True) for row in rows] == expected
