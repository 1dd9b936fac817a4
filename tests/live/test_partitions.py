"""Rows that change hands with a partition are in no row event, and what is asked of their tables says so."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from binx.dataset.parquet import to_parquet
from binx.errors import RefusedError
from binx.inspect.why import RowLife
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.slices.extract import ExtractOptions, SliceFormat, extract
from testdata.servers import MariaDBServer, Server
from testdata.small import drop_databases

PARTITIONED = """
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id)
(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
CREATE TABLE o (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (11, 11);
INSERT INTO o VALUES (5, 5);
ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE o; UPDATE o SET v = 7 WHERE id = 1;
"""
CONVERTED = """
USE small; ALTER TABLE t CONVERT PARTITION p1 TO TABLE made; UPDATE made SET v = 3;
ALTER TABLE t CONVERT TABLE made TO PARTITION p1 VALUES LESS THAN (20);
"""


def test_rows_that_change_hands_are_told(server: Server, tmp_path: Path) -> None:
    drop_databases(server)
    server.reset()
    server.sql(PARTITIONED)
    tables = {"o": ("1", ["create", "alter", "update"])}
    expected: list[tuple[str, str, str | None]] = [("partitions", "t", "o")]
    if isinstance(server, MariaDBServer):
        server.sql(CONVERTED)
        tables["made"] = ("11", ["alter", "update", "alter"])
        expected += [
            ("partitions", "t", "made"), ("created", "made", None),
            ("partitions", "t", "made"), ("dropped", "made", None),
        ]  # fmt: skip
    server.flush_logs()
    log = str(server.binlogs()[0])
    for table, (key, types) in tables.items():
        selection = Selection(tables=(f"small.{table}",))
        with open_chain([log]) as chain:
            changes = list(RowLife(chain, selection, key=(key,)))
        assert [change.row["type"] for change in changes] == types
        assert [change.uncertain for change in changes] == [kind == "alter" for kind in types]
        options = ExtractOptions(format=SliceFormat.SQL, reverse=True, only_matching=True)
        with (
            open_chain([log]) as chain,
            pytest.raises(RefusedError, match=r"“ALTER TABLE t .* PARTITION|TABLE"),
        ):
            extract(chain, selection, str(tmp_path / "undo.sql"), options)
    with open_chain([log]) as chain:
        list(to_parquet([ends.file for ends in chain], tmp_path))
    (statements,) = (tmp_path / "statements").glob("*.parquet")
    effects = [
        one for row in pq.ParquetFile(statements).read(["effects"]).to_pylist() for one in row["effects"]
    ]
    found = [(one["action"], one["table"], one["new_table"]) for one in effects]
    assert [one for one in found if one[0] == "partitions" or one[1] == "made"] == expected
