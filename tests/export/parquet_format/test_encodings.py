"""How a column is encoded is told by its values."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.export.file_columns import with_statistics
from tests.conftest import TESTDATA
from tests.export.parquet_format.reading import opened, written

ROWS = 10_000
CHANCE = random.Random(5)


def encoding(column: pa.Array, **options: object) -> str:
    """The encoding of a column's values; what is read is what was put in."""
    file = opened(written(pa.RecordBatch.from_arrays([column], names=["a"]), **options))
    assert file.read()["a"].to_pylist() == column.to_pylist()
    found = set(file.metadata.row_group(0).column(0).encodings)
    return "RLE_DICTIONARY" if "RLE_DICTIONARY" in found else (found - {"RLE"}).pop()


@pytest.mark.parametrize(
    "data_type",
    [
        *(pa.int8(), pa.int16(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64(), pa.date32()),
        *(pa.timestamp("us"), pa.duration("us"), pa.decimal128(9, 0), pa.decimal128(18, 0)),
    ],
    ids=str,
)
def test_whole_numbers_are_written_as_differences(data_type: pa.DataType) -> None:
    numbers = pa.array([number % 100 for number in range(ROWS)], pa.int32())
    column = numbers if pa.types.is_date(data_type) else numbers.cast(pa.int64())
    if pa.types.is_decimal(data_type):
        column = column.cast(pa.decimal128(19, 0))
    assert encoding(column.cast(data_type)) == "DELTA_BINARY_PACKED"


@pytest.mark.parametrize("data_type", [pa.float64(), pa.decimal128(30, 0), pa.bool_()], ids=str)
def test_other_numbers_are_written_plainly(data_type: pa.DataType) -> None:
    numbers = pa.array([number % 2 for number in range(ROWS)], pa.int64())
    whole = numbers.cast(pa.decimal128(30, 0)) if pa.types.is_decimal(data_type) else numbers.cast(data_type)
    assert encoding(whole) == "PLAIN"


@pytest.mark.parametrize("value", [7, -1.5, "7"])
def test_values_that_are_all_alike_are_one_run(value: object) -> None:
    column = pa.array([None, *[value] * ROWS])
    assert encoding(column) == "RLE_DICTIONARY"
    assert len(written(pa.RecordBatch.from_arrays([column], names=["a"]))) < 1500


def test_few_values_have_no_dictionary_of_their_own() -> None:
    assert encoding(pa.array([7] * 15)) == "DELTA_BINARY_PACKED"


def test_texts_that_come_again_have_a_dictionary_wherever_they_stand() -> None:
    owners = [f"owner {number}, {CHANCE.randbytes(20).hex()}" for number in range(ROWS // 5)]
    assert encoding(pa.array(CHANCE.choices(owners, k=ROWS))) == "RLE_DICTIONARY"
    assert encoding(pa.array([None, *CHANCE.choices(["new", "paid"], k=ROWS)])) == "RLE_DICTIONARY"


def test_texts_that_go_on_as_the_one_before_are_written_as_differences() -> None:
    gtids = [f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in range(ROWS)]
    assert encoding(pa.array(gtids)) == "DELTA_BYTE_ARRAY"
    twice = [CHANCE.randbytes(30).hex() for _ in range(ROWS // 2)]
    assert encoding(pa.array([text for text in twice for _ in range(2)])) == "DELTA_BYTE_ARRAY"


def test_other_texts_are_lengths_and_bytes() -> None:
    assert encoding(pa.array([CHANCE.randbytes(9) for _ in range(ROWS)])) == "DELTA_LENGTH_BYTE_ARRAY"


def test_words_of_arrow_keep_a_dictionary_even_where_each_stands_once() -> None:
    words = pa.array([f"word {number}" for number in range(ROWS)])
    column = pa.DictionaryArray.from_arrays(pa.array(range(0, ROWS, 3), pa.int32()), words)
    assert encoding(column) == "RLE_DICTIONARY"
    assert encoding(column, texts=["a"]) == "DELTA_BYTE_ARRAY"


def test_a_word_that_is_twice_in_a_dictionary_is_written_once(tmp_path: Path) -> None:
    places = pa.array([0, 1, 2] * 100, pa.int32())
    words = pa.DictionaryArray.from_arrays(places, pa.array(["gtid:1", "gtid:2", "gtid:1"]))
    path = tmp_path / "words.parquet"
    path.write_bytes(written(pa.RecordBatch.from_arrays([words], names=["a"])))
    assert pq.read_table(path)["a"].to_pylist() == words.to_pylist()
    assert len(pq.read_table(path)["a"].chunk(0).dictionary) == 2
    counted = duckdb.connect().execute(f"SELECT a, count(*) FROM '{path}' GROUP BY 1 ORDER BY 1")
    assert counted.fetchall() == [("gtid:1", 200), ("gtid:2", 100)]


def test_each_row_group_decides_for_itself() -> None:
    same = pa.RecordBatch.from_pydict({"a": pa.array([5] * ROWS)})
    other = pa.RecordBatch.from_pydict({"a": pa.array(range(ROWS))})
    metadata = opened(written(same, other)).metadata
    found = [metadata.row_group(number).column(0).encodings for number in (0, 1)]
    assert "RLE_DICTIONARY" in found[0]
    assert "DELTA_BINARY_PACKED" in found[1]


def test_what_compression_does_not_make_smaller_stays_as_it_is() -> None:
    noise = pa.RecordBatch.from_pydict({"a": pa.array([CHANCE.randbytes(40) for _ in range(ROWS)])})
    text = pa.RecordBatch.from_pydict({"a": pa.array([f"{number} and so on" for number in range(ROWS)])})
    assert opened(written(noise)).metadata.row_group(0).column(0).compression == "UNCOMPRESSED"
    assert opened(written(text)).metadata.row_group(0).column(0).compression == "ZSTD"


def test_statistics_are_of_numbers_and_of_the_text_of_keys() -> None:
    fields = [("n", pa.int8()), ("t", pa.timestamp("us")), ("key", pa.string()), ("note", pa.string())]
    schema = pa.schema([*fields, ("word", pa.dictionary(pa.int8(), pa.string())), ("yes", pa.bool_())])
    assert with_statistics(schema, ["key", "word"]) == ["n", "t", "key"]


def test_what_the_memory_held_before_does_not_show(tmp_path: Path) -> None:
    """Memory that is filled with other bytes before each use gives the same files."""
    log = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001"
    files = []
    for filling in ("37", "201"):
        folder = tmp_path / filling
        command = [sys.executable, "-m", "binx", "to-parquet", "--quiet", "-o", str(folder), str(log)]
        fillers = {"MALLOC_PERTURB_": filling, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        subprocess.run(command, check=True, env={**os.environ, **fillers})
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        files.append({path.relative_to(folder).as_posix(): path.read_bytes() for path in found})
    assert files[0] == files[1]
    assert any(name.startswith("changes/") for name in files[0])
