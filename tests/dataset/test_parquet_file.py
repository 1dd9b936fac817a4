"""Row groups are gathered: small batches are set aside, and the rows come back in their order."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.dataset import parquet_file
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet_file import ParquetFile, Shared, Spill
from binx.dataset.transaction import Transaction
from binx.rows.decoder import DecoderOptions
from tests.dataset.tables import many_rows
from tests.dataset.writing import sha256

SCHEMA = pa.schema([("_transaction", pa.dictionary(pa.int32(), pa.string())), ("n", pa.int64())])


def batch(first: int, count: int, *, twice: bool = False) -> pa.RecordBatch:
    """Numbered rows, each four of one identifier; in the dictionary it may stand twice."""
    words = pa.array([f"gtid:{(first + number) // 4}" for number in range(0, count, 2 if twice else 4)])
    codes = pa.array([number // (2 if twice else 4) for number in range(count)], pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, words)
    return pa.record_batch([column, pa.array(range(first, first + count))], schema=SCHEMA)


class Files:
    """Files of one log in a folder."""

    def __init__(self, folder: Path, memory: int, rows: int = 131_072) -> None:
        self.transaction = Transaction(DataSet(folder), "log.1")
        options = ParquetOptions(decoder=DecoderOptions(row_group_rows=rows, memory=memory))
        self.shared = Shared(self.transaction, options)

    def file(self, name: str = "changes/a/b/log.1-4-0.parquet") -> ParquetFile:
        return ParquetFile(self.shared, name, "changes", SCHEMA)

    def path(self, name: str = "changes/a/b/log.1-4-0.parquet") -> Path:
        return Path(self.transaction.path(name))


def numbers(path: Path) -> list[int]:
    table = pq.read_table(path)
    assert table["_transaction"].to_pylist() == [f"gtid:{number // 4}" for number in table["n"].to_pylist()]
    found: list[int] = table["n"].to_pylist()
    return found


@pytest.mark.parametrize("memory", [32, 32 * 1000, 32 * 20_000, 1 << 30])
@pytest.mark.parametrize("with_last", [True, False])
def test_rows_come_in_their_order_whatever_was_set_aside(
    memory: int, with_last: bool, tmp_path: Path
) -> None:
    files = Files(tmp_path, memory)
    file = files.file()
    sizes = [4, 400, 8, 2000, 4, 4, 800, 40]
    first = 0
    for size in sizes:
        file.add(batch(first, size))
        first += size
    last = batch(first, 12) if with_last else None
    file.finish(last)
    assert numbers(files.path()) == list(range(first + (12 if with_last else 0)))
    written = file.written
    assert written is not None
    assert (written.bytes, written.sha256) == (files.path().stat().st_size, sha256(files.path()))


def test_small_batches_become_one_row_group(tmp_path: Path) -> None:
    files = Files(tmp_path, 1 << 30)
    file = files.file()
    for number in range(50):
        file.add(batch(number * 8, 8))
    file.finish()
    assert pq.ParquetFile(files.path()).num_row_groups == 1


def test_no_row_group_has_more_rows_than_allowed(tmp_path: Path) -> None:
    files = Files(tmp_path, 1 << 30, rows=100)
    file = files.file()
    for number in range(5):
        file.add(batch(number * 80, 80))
    file.finish()
    metadata = pq.read_metadata(files.path())
    assert [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)] == [100] * 4


def test_where_many_files_are_open_others_wait_for_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_file, "OPEN_FILES", 3)
    files = Files(tmp_path, 32)
    names = [f"changes/a/t{number}/log.1-4-0.parquet" for number in range(10)]
    made = [files.file(name) for name in names]
    for turn in range(4):
        for file in made:
            file.add(batch(turn * 40, 40))
            assert files.shared.open_files <= 3
    for file in made:
        file.finish()
    assert files.shared.open_files == 0
    assert all(numbers(files.path(name)) == list(range(160)) for name in names)


def test_an_identifier_that_is_twice_in_a_dictionary_is_the_same_text(tmp_path: Path) -> None:
    files = Files(tmp_path, 32)
    file = files.file()
    file.add(batch(0, 4000, twice=True))
    file.finish()
    assert numbers(files.path()) == list(range(4000))


def test_a_file_without_rows_has_its_columns(tmp_path: Path) -> None:
    files = Files(tmp_path, 1 << 20)
    files.file().finish()
    assert pq.read_schema(files.path()).names == SCHEMA.names


def test_what_is_set_aside_comes_back_with_every_type(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    rows = many_rows(300, 5)
    parts = [rows.slice(0, 100), rows.slice(100, 1), rows.slice(101)]
    places = [spill.put(part) for part in parts]
    assert list(spill.read(reversed(places))) == parts[::-1]
    spill.close()
    assert list(tmp_path.iterdir()) == []
