"""Index files as Parquet, as other programs read them, and how they are written."""

from __future__ import annotations

import errno
from pathlib import Path

import duckdb
import polars
import pyarrow.parquet as pq
import pytest
from typing_extensions import Buffer

from binx.errors import DamagedError, OutputError
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.index.transactions import index_schema
from binx.log.index.writer import write_index, write_index_to
from tests.conftest import TESTDATA
from tests.log.index.index_files import EVERY, index_table, name_of
from tests.log.memory import Bytes

LOG = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003"


@pytest.mark.parametrize("log", EVERY, ids=name_of)
def test_an_index_file_is_the_transaction_index_as_parquet(log: Path, tmp_path: Path) -> None:
    index = tmp_path / "log.binx"
    with BinlogFile.open(str(log)) as file:
        report = write_index(file, str(index))
        expected = index_table(
            file, file.scan(Level.LEVEL_TABLES), epoch=int(file.format.at_startup), first_seqno=1
        )
    assert report.bytes == index.stat().st_size
    assert report.transactions == expected.num_rows
    table = pq.read_table(index)
    assert table.schema.names == index_schema(records=True).names
    assert table.select(expected.schema.names).to_pylist() == expected.to_pylist()


def test_other_programs_read_it(tmp_path: Path) -> None:
    index = tmp_path / "log.binx"
    with BinlogFile.open(str(LOG)) as file:
        write_index(file, str(index))
    expected = pq.read_table(index)
    by_polars = polars.read_parquet(index)
    assert by_polars["gtid"].to_list() == expected["gtid"].to_pylist()
    assert by_polars["tables"].to_list() == expected["tables"].to_pylist()
    query = f"SELECT gtid, start, tables, xid FROM read_parquet('{index}') ORDER BY start"
    by_duckdb = duckdb.execute(query).fetchall()
    assert [row[:2] for row in by_duckdb] == list(
        zip(expected["gtid"].to_pylist(), expected["start"].to_pylist(), strict=True)
    )
    assert [row[2] for row in by_duckdb] == expected["tables"].to_pylist()
    assert [row[3] for row in by_duckdb] == expected["xid"].to_pylist()


def test_small_tables_are_gathered_into_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binx.log.scan.WINDOW_BYTES", 4096)
    monkeypatch.setattr("binx.log.index.writer.GROUP_ROWS", 25)
    index = tmp_path / "log.binx"
    with BinlogFile.open(str(LOG)) as file:
        write_index(file, str(index))
        expected = index_table(
            file, file.scan(Level.LEVEL_TABLES), epoch=int(file.format.at_startup), first_seqno=1
        )
    written = pq.ParquetFile(index).metadata
    rows = [written.row_group(number).num_rows for number in range(written.num_row_groups)]
    assert len(rows) > 3
    assert all(count >= 25 for count in rows[:-1])
    assert pq.read_table(index, columns=expected.schema.names).to_pylist() == expected.to_pylist()


class FullSink:
    """Takes so many bytes, and no more."""

    def __init__(self, room: int) -> None:
        self._room = room

    def write(self, data: Buffer, /) -> int:
        size = memoryview(data).nbytes
        self._room -= size
        if self._room < 0:
            raise OutputError("no space left") from OSError(errno.ENOSPC, "full")
        return size


@pytest.mark.parametrize("missing", [1, 100, 5_000, 20_000])
def test_a_sink_that_takes_no_more_ends_the_writing_with_its_error(missing: int, tmp_path: Path) -> None:
    with BinlogFile(Bytes(LOG.read_bytes())) as file:
        write_index(file, str(tmp_path / "log.binx"))
        whole = (tmp_path / "log.binx").stat().st_size
        with pytest.raises(OutputError, match="no space left"):
            write_index_to(file, FullSink(whole - missing))


def test_where_the_log_is_damaged_nothing_is_left(tmp_path: Path) -> None:
    data = bytearray(LOG.read_bytes())
    data[len(data) // 2] ^= 0xFF
    with BinlogFile(Bytes(bytes(data))) as file, pytest.raises(DamagedError):
        write_index(file, str(tmp_path / "log.binx"))
    assert not list(tmp_path.iterdir())
