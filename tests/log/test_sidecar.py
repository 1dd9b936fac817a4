"""Index files: what they give back, when they are believed, and what becomes of damaged ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import BinxError, DamagedError, StaleError
from binx.export.sidecar import write_sidecar
from binx.kernels.scan import Level
from binx.kernels.transactions import FIELDS, TransactionTable
from binx.log.file import BinlogFile
from binx.log.index_use import IndexUse, sidecar_path
from binx.log.inputs import open_logs
from binx.log.scan import Scan
from binx.log.scanning import TransactionScan
from binx.log.sidecar import Sidecar
from binx.log.sidecar_directory import decode_directory, encode_directory
from binx.log.sidecar_layout import (
    Block,
    Directory,
    KeyFilter,
    LogFacts,
)
from binx.log.sidecar_state import SidecarState, examine_sidecar
from binx.log.stored import StoredScan
from tests.conftest import TESTDATA
from tests.log.sidecars import EVERY, IN_USE, index_of, indexed, is_true, name_of, opened

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
        stored = file.transactions()
        assert isinstance(stored, StoredScan)
        scan = file.scan(Level.LEVEL_TABLES)
        assert facts_of(stored) == facts_of(scan)
        assert stored.level == scan.level
        assert stored.ending is scan.ending
        assert stored.unfinished == scan.unfinished
        assert stored.accounted == scan.accounted
        assert stored.control_events == scan.control_events
        assert stored.totals() == scan.totals()
        assert list(stored.table_maps()) == list(scan.table_maps())
        assert stored.table_count == scan.table_count


@pytest.mark.parametrize("log", IN_USE, ids=name_of)
def test_of_a_log_in_use_all_whole_transactions_are_known(log: Path, tmp_path: Path) -> None:
    with opened(indexed(log, tmp_path)) as file:
        assert file.sidecar is not None
        facts = file.sidecar.directory.log
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
        assert file.sidecar is None
        assert isinstance(file.transactions(), Scan)
        with pytest.raises(StaleError):
            Sidecar.open(str(index_of(log)), file)
        assert examine_sidecar(file, str(index_of(log)))[0] is SidecarState.STALE
    assert len(warnings) == 1
    assert "binx index" in str(warnings[0])


def section_of(index: Path) -> range:
    """Where an index file's lookup section is, from its first block to the end of the footer."""
    with BinlogFile.open(str(index.with_suffix(""))) as file:
        sidecar = Sidecar.open(str(index), file)
        start = sidecar.directory.blocks[0].offset
        sidecar.close()
    return range(start, index.stat().st_size)


def tail_end(index: Path) -> int:
    data = index.read_bytes()
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def test_every_flipped_bit_of_the_section_is_noticed(tmp_path: Path) -> None:
    log = indexed(TINY, tmp_path)
    index = index_of(log)
    data = index.read_bytes()
    start = section_of(index).start
    places = [*range(start, tail_end(index)), *range(len(data) - 8, len(data))]
    with BinlogFile.open(str(log)) as file:
        assert is_true(data, file)
        for place in places:
            for bit in range(8):
                changed_data = bytearray(data)
                changed_data[place] ^= 1 << bit
                assert not is_true(bytes(changed_data), file), (place, bit)


def test_an_index_file_cut_at_any_byte_is_not_used(tmp_path: Path) -> None:
    log = indexed(TINY, tmp_path)
    data = index_of(log).read_bytes()
    with BinlogFile.open(str(log)) as file:
        for size in range(len(data)):
            assert not is_true(data[:size], file), size


def test_a_damaged_block_is_told_and_the_log_is_read(tmp_path: Path) -> None:
    log = indexed(LOG, tmp_path)
    index = index_of(log)
    data = bytearray(index.read_bytes())
    data[section_of(index).start + 5] ^= 1
    index.write_bytes(data)
    warnings: list[BinxError] = []
    with open_logs([str(log)], IndexUse(warn=warnings.append)) as (file,):
        scan = file.transactions(Level.LEVEL_TABLES)
        assert isinstance(scan, Scan)
        assert facts_of(scan) == facts_of(file.scan(Level.LEVEL_TABLES))
        assert examine_sidecar(file, str(index))[0] is SidecarState.DAMAGED
    assert [str(warning) for warning in warnings] == [
        f"{index}: the index file is not used: the checksum is wrong"
    ]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"\xfebin" * 20, b"x" * 5000])
def test_what_is_no_index_file_is_told_and_left_aside(content: bytes, tmp_path: Path) -> None:
    log = Path(shutil.copy(LOG, tmp_path))
    index_of(log).write_bytes(content)
    warnings: list[BinxError] = []
    with open_logs([str(log)], IndexUse(warn=warnings.append)) as (file,):
        assert file.sidecar is None
    assert len(warnings) == 1


def test_parquet_of_others_is_no_index_file(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = Path(shutil.copy(LOG, tmp_path))
    pq.write_table(pa.table({"a": list(range(100))}), index_of(log))
    with BinlogFile.open(str(log)) as file, pytest.raises(DamagedError, match="without binx's section"):
        Sidecar.open(str(index_of(log)), file)


def test_in_a_folder_logs_of_one_name_have_index_files_of_their_own(tmp_path: Path) -> None:
    logs = [TESTDATA / server / "shop" / "mysql-bin.000002" for server in ("mysql-9.7", "mariadb-10.11")]
    for log in logs:
        with BinlogFile.open(str(log)) as file:
            write_sidecar(file, sidecar_path(file, str(tmp_path)))
    assert len(list(tmp_path.iterdir())) == 2
    warnings: list[BinxError] = []
    with open_logs(list(map(str, logs)), IndexUse(str(tmp_path), warnings.append)) as files:
        for file in files:
            assert file.sidecar is not None
            assert facts_of(file.transactions()) == facts_of(file.scan(Level.LEVEL_TABLES))
    assert not warnings


def test_a_compressed_log_has_the_index_file_of_what_it_holds(tmp_path: Path) -> None:
    log = indexed(LOG, tmp_path)
    compressed = tmp_path / f"{log.name}.zst"
    compressed.write_bytes(zstandard.compress(log.read_bytes()))
    with opened(compressed) as file, BinlogFile.open(str(log)) as plain:
        assert isinstance(file.transactions(), StoredScan)
        assert facts_of(file.transactions()) == facts_of(plain.scan(Level.LEVEL_TABLES))


def test_without_being_asked_no_index_file_is_opened(tmp_path: Path) -> None:
    log = indexed(LOG, tmp_path)
    with open_logs([str(log)]) as (file,):
        assert file.sidecar is None


U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)
PAIR = st.tuples(I64, I64)


@st.composite
def directories(draw: st.DrawFn) -> Directory:
    """Directories whose parts refer to each other as they must."""
    sources = draw(st.lists(st.binary(min_size=8, max_size=48), max_size=3))
    tables = draw(st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9)), min_size=1, max_size=3))
    number = st.integers(0, len(tables) - 1)
    ends = sorted(draw(st.sets(st.integers(1, 2**62), max_size=4)))
    blocks = []
    for start, end in zip([0, *ends], ends, strict=False):
        blocks.append(
            Block(
                offset=draw(U64),
                size=draw(U32),
                crc=draw(U32),
                records=draw(st.integers(1, 9)),
                counts=draw(st.integers(0, 9)),
                format=0,
                start=start,
                end=end,
                times=draw(PAIR),
                xids=draw(st.none() | PAIR),
                threads=draw(st.none() | PAIR),
                servers=draw(PAIR),
                largest=draw(U64),
                gtids=tuple(
                    draw(st.lists(st.tuples(st.integers(0, len(sources) - 1), U64, U64), max_size=3))
                    if sources
                    else ()
                ),
                tables=tuple(draw(st.lists(st.tuples(number, U64, U64, U64), max_size=3))),
                statements=draw(U32),
                keys=tuple(
                    draw(
                        st.lists(
                            st.builds(KeyFilter, number, U64, U64, U32, U32, st.integers(0, 255)), max_size=2
                        )
                    )
                ),
            )
        )
    covered = blocks[-1].end if blocks else 0
    return Directory(
        log=LogFacts(
            covered + draw(st.integers(0, 99)),
            covered,
            draw(st.integers(0, 2)),
            draw(U32),
            draw(U32),
            draw(U32),
        ),
        sources=tuple(sources),
        tables=tuple(tables),
        maps=tuple(draw(st.lists(st.tuples(number, st.binary(max_size=20)), max_size=3))),
        formats=tuple(draw(st.lists(U64, min_size=1, max_size=2))),
        controls=tuple(draw(st.lists(st.tuples(st.integers(0, 255), U64, U32), max_size=3))),
        totals=tuple(draw(st.lists(st.tuples(st.integers(0, 255), U64, U64, U64), max_size=3))),
        blocks=tuple(blocks),
        keys=draw(st.none() | st.dictionaries(number, st.lists(st.text(max_size=4), max_size=3).map(tuple))),
    )


@given(directories())
def test_a_directory_comes_back_as_it_was_written(directory: Directory) -> None:
    assert decode_directory(encode_directory(directory)) == directory


@given(directories(), st.data())
def test_a_directory_of_other_bytes_is_an_error_or_a_directory(
    directory: Directory, data: st.DataObject
) -> None:
    encoded = bytearray(encode_directory(directory))
    place = data.draw(st.integers(0, len(encoded) - 1))
    encoded[place] = data.draw(st.integers(0, 255))
    del encoded[data.draw(st.integers(len(encoded) // 2, len(encoded))) :]
    try:
        again = decode_directory(bytes(encoded))
    except DamagedError:
        return
    assert isinstance(again, Directory)
