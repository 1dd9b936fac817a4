"""Index files: what they give back, when they are believed, and what becomes of damaged ones."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import Buffer

from binx.errors import BinxError, DamagedError, OutputError, StaleError
from binx.kernels.crc32 import checksum
from binx.kernels.transactions.table import FIELDS, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.chain.inputs import open_logs
from binx.log.index.index_file import IndexFacts, IndexFile, decode_facts, encode_facts
from binx.log.index.lookup import IndexUse, index_path
from binx.log.index.transactions import index_schema
from binx.log.index.writer import examine_index, write_index, write_index_to
from binx.log.scan import Scan, find_transactions
from tests.conftest import TESTDATA
from tests.log.building import flip
from tests.log.index.index_files import (
    EVERY,
    IN_USE,
    index_of,
    index_table,
    indexed,
    is_true,
    name_of,
    opened,
)
from tests.log.searching import Bytes

LOG = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003"
TINY = TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog"


def facts_of(scan: TransactionScan) -> list[dict[str, Any]]:
    """All that a pass tells of each transaction; tables by name."""
    facts: list[dict[str, Any]] = []
    for table in scan:
        for index in range(len(table)):
            facts.append(_facts(scan, table, index))
    return facts


def _facts(scan: TransactionScan, table: TransactionTable, index: int) -> dict[str, Any]:
    known: dict[str, Any] = {
        name: table.value(name, index) for name in FIELDS if name not in ("first_count", "source")
    }
    known["gtid"] = table.gtid(index)
    known["key"] = table.source_key(index)
    known["tables"] = [(scan.table_name(number), *sums) for number, *sums in table.counts_of(index)]
    known["format"] = table.format
    return known


@pytest.mark.parametrize("log", EVERY, ids=name_of)
def test_an_index_file_gives_what_a_full_scan_gives(log: Path, tmp_path: Path) -> None:
    with opened(indexed(log, tmp_path)) as file:
        stored = find_transactions(file, Level.LEVEL_TABLES)
        assert isinstance(stored, IndexFile)
        scan = Scan(file, Level.LEVEL_TABLES)
        assert facts_of(stored) == facts_of(scan)
        assert stored.level == scan.level
        assert stored.ending is scan.ending
        assert stored.unfinished == scan.unfinished
        assert stored.accounted == scan.accounted
        assert stored.totals() == scan.totals()
        assert list(stored.table_maps()) == list(scan.table_maps())
        assert stored.table_count == scan.table_count


@pytest.mark.parametrize("log", IN_USE, ids=name_of)
def test_of_a_log_in_use_all_whole_transactions_are_known(log: Path, tmp_path: Path) -> None:
    with opened(indexed(log, tmp_path)) as file:
        assert isinstance(file.index, IndexFile)
        facts = file.index.facts
        assert facts.covered <= facts.size == file.size


def changed(log: Path, change: str) -> None:
    data = bytearray(log.read_bytes())
    if change == "grown":
        data += b"\0"
    elif change == "cut":
        del data[-1:]
    elif change == "another head":
        # The time of its creation: another log.
        data[4] ^= 1
    else:
        data[-30] ^= 1
    log.write_bytes(data)


@pytest.mark.parametrize("change", ["grown", "cut", "another head", "another tail"])
def test_an_index_file_of_a_log_that_changed_is_not_used(change: str, tmp_path: Path) -> None:
    log = indexed(LOG, tmp_path)
    changed(log, change)
    warnings: list[BinxError] = []
    with open_logs([str(log)], IndexUse(warn=warnings.append)) as (file,):
        assert file.index is None
        assert isinstance(find_transactions(file), Scan)
        with pytest.raises(StaleError):
            IndexFile.open(str(index_of(log)), file)
        assert examine_index(file, str(index_of(log))).state == "stale"
    assert len(warnings) == 1
    assert "binx index" in str(warnings[0])


def footer_of(data: bytes) -> int:
    """Where the footer of a Parquet file begins."""
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    log = indexed(TINY, tmp_path)
    data = index_of(log).read_bytes()
    with BinlogFile.open(str(log)) as file:
        assert is_true(data, file)
        for place in (*range(0, footer_of(data), 5), *range(footer_of(data), len(data))):
            flipped = bytearray(data)
            flipped[place] ^= 1 << place % 8
            assert not is_true(bytes(flipped), file), place


def test_an_index_file_cut_anywhere_is_not_used(tmp_path: Path) -> None:
    log = indexed(TINY, tmp_path)
    data = index_of(log).read_bytes()
    with BinlogFile.open(str(log)) as file:
        for size in range(0, len(data), 5):
            assert not is_true(data[:size], file), size


def test_a_damaged_block_is_reported_and_the_log_is_read(tmp_path: Path) -> None:
    log = indexed(LOG, tmp_path)
    index = index_of(log)
    flip(index, 100)
    warnings: list[BinxError] = []
    with open_logs([str(log)], IndexUse(warn=warnings.append)) as (file,):
        scan = find_transactions(file, Level.LEVEL_TABLES)
        assert isinstance(scan, Scan)
        assert facts_of(scan) == facts_of(Scan(file, Level.LEVEL_TABLES))
        assert examine_index(file, str(index)).state == "damaged"
    assert [str(warning) for warning in warnings] == [
        f"{index}: the index file is not used: the checksum is wrong"
    ]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"\xfebin" * 20, b"x" * 5000])
def test_what_is_no_index_file_is_reported_and_left_aside(content: bytes, tmp_path: Path) -> None:
    log = Path(shutil.copy(LOG, tmp_path))
    index_of(log).write_bytes(content)
    warnings: list[BinxError] = []
    with open_logs([str(log)], IndexUse(warn=warnings.append)) as (file,):
        assert file.index is None
    assert len(warnings) == 1


def test_parquet_of_others_is_no_index_file(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = Path(shutil.copy(LOG, tmp_path))
    pq.write_table(pa.table({"a": list(range(100))}), index_of(log))
    with (
        BinlogFile.open(str(log)) as file,
        pytest.raises(DamagedError, match="did not write"),
    ):
        IndexFile.open(str(index_of(log)), file)


def test_in_a_folder_logs_of_one_name_have_index_files_of_their_own(tmp_path: Path) -> None:
    logs = [TESTDATA / server / "shop" / "mysql-bin.000002" for server in ("mysql-9.7", "mariadb-10.11")]
    for log in logs:
        with BinlogFile.open(str(log)) as file:
            write_index(file, index_path(file, str(tmp_path)))
    assert len(list(tmp_path.iterdir())) == 2
    warnings: list[BinxError] = []
    with open_logs(list(map(str, logs)), IndexUse(str(tmp_path), warnings.append)) as files:
        for file in files:
            assert file.index is not None
            assert facts_of(find_transactions(file, Level.LEVEL_TABLES)) == facts_of(
                Scan(file, Level.LEVEL_TABLES)
            )
    assert not warnings


def test_a_compressed_log_has_the_index_file_of_what_it_holds(tmp_path: Path) -> None:
    log = indexed(LOG, tmp_path)
    compressed = tmp_path / f"{log.name}.zst"
    compressed.write_bytes(zstandard.compress(log.read_bytes()))
    with opened(compressed) as file, BinlogFile.open(str(log)) as plain:
        assert isinstance(find_transactions(file), IndexFile)
        assert facts_of(find_transactions(file)) == facts_of(Scan(plain, Level.LEVEL_TABLES))


def test_without_being_asked_no_index_file_is_opened(tmp_path: Path) -> None:
    log = indexed(LOG, tmp_path)
    with open_logs([str(log)]) as (file,):
        assert file.index is None


NUMBER = st.integers(0, 2**63)


@st.composite
def all_facts(draw: st.DrawFn) -> IndexFacts:
    """What an index file may say of a log."""
    names = st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9)), max_size=3)
    return IndexFacts(
        size=draw(NUMBER),
        covered=draw(NUMBER),
        ending=draw(NUMBER),
        head=draw(NUMBER),
        tail_bytes=draw(NUMBER),
        tail=draw(NUMBER),
        sources=tuple(draw(st.lists(st.binary(min_size=8, max_size=48), max_size=3))),
        tables=tuple(draw(names)),
        maps=tuple(draw(st.lists(st.tuples(NUMBER, st.binary(max_size=20)), max_size=3))),
        formats=tuple(draw(st.lists(NUMBER, max_size=2))),
        totals=tuple(draw(st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER), max_size=3))),
        groups=tuple(draw(st.lists(st.tuples(NUMBER, NUMBER), max_size=3))),
    )


@given(all_facts())
def test_facts_come_back_as_they_were_written(facts: IndexFacts) -> None:
    assert decode_facts(encode_facts(facts)) == facts


@given(all_facts(), st.data())
def test_facts_of_other_bytes_are_an_error(facts: IndexFacts, data: st.DataObject) -> None:
    text = encode_facts(facts)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda letter: letter != text[place]))
    with pytest.raises(DamagedError):
        decode_facts(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize("told", ["", "{}", "[]", '{"version": 1}', '{"version": 2}', "null"])
def test_what_binx_does_not_write_of_a_log_is_an_error(told: str) -> None:
    with pytest.raises(DamagedError):
        decode_facts(f"{checksum(told.encode()):08x} {told}")


@pytest.mark.parametrize("log", EVERY, ids=name_of)
def test_an_index_file_is_the_transaction_index_as_parquet(log: Path, tmp_path: Path) -> None:
    index = tmp_path / "log.binx"
    with BinlogFile.open(str(log)) as file:
        report = write_index(file, str(index))
        expected = index_table(
            file, Scan(file, Level.LEVEL_TABLES), epoch=int(file.format.at_startup), first_seqno=1
        )
    assert report.index_bytes == index.stat().st_size
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
            file, Scan(file, Level.LEVEL_TABLES), epoch=int(file.format.at_startup), first_seqno=1
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
