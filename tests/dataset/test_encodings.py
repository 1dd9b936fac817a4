"""How a column is encoded is told by its first values; what is read is what was written."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from binx.dataset.parquet_file import with_statistics
from tests.conftest import TESTDATA
from tests.dataset.tables import many_rows
from tests.dataset.writing import opened, written

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
    numbers = pa.array([number // 100 for number in range(ROWS)], pa.int32())
    column = numbers if pa.types.is_date(data_type) else numbers.cast(pa.int64())
    if pa.types.is_decimal(data_type):
        column = column.cast(pa.decimal128(19, 0))
    assert encoding(column.cast(data_type)) == "DELTA_BINARY_PACKED"


NUMBERS = pa.array([CHANCE.randrange(2**52) for _ in range(ROWS)], pa.int64())
DISTINCT = pa.array(CHANCE.choices([CHANCE.randrange(2**52) for _ in range(30)], k=ROWS))
OWNERS = [f"owner {number}, {CHANCE.randbytes(20).hex()}" for number in range(3072)]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (NUMBERS.cast(pa.float64()), "PLAIN"),
        (NUMBERS.cast(pa.decimal128(30, 0)), "PLAIN"),
        (NUMBERS.cast(pa.bool_()), "PLAIN"),
        (DISTINCT, "RLE_DICTIONARY"),
        (DISTINCT.cast(pa.float64()), "RLE_DICTIONARY"),
        (pa.array(CHANCE.choices(OWNERS, k=ROWS)), "RLE_DICTIONARY"),
        (pa.array([None, *CHANCE.choices(["new", "paid"], k=ROWS)]), "RLE_DICTIONARY"),
        (pa.array([CHANCE.randbytes(9).hex() for _ in range(ROWS)]), "PLAIN"),
        # Of few rows the types decide.
        (pa.array([7] * 15), "DELTA_BINARY_PACKED"),
        (pa.array(["a", "b", "a"]), "RLE_DICTIONARY"),
    ],
)
def test_the_smallest_encoding_is_taken(column: pa.Array, expected: str) -> None:
    assert encoding(column) == expected


def test_identifiers_that_ascend_are_written_as_differences() -> None:
    gtids = [f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in range(ROWS)]
    assert encoding(pa.array(gtids), identifiers=["a"]) == "DELTA_BYTE_ARRAY"


def test_every_type_is_read_as_it_was_by_pyarrow_and_duckdb(tmp_path: Path) -> None:
    rows = many_rows(5000, 3)
    path = tmp_path / "types.parquet"
    path.write_bytes(written(rows.slice(0, 4000), rows.slice(4000)))
    assert pq.read_table(path).to_pylist() == rows.to_pylist()
    counts = duckdb.connect().execute(f"SELECT count(int64), count(alike), sum(small) FROM '{path}'")
    small = pc.sum(rows["small"]).as_py()
    assert counts.fetchone() == (
        *(len(rows) - rows[name].null_count for name in ("int64", "alike")),
        small,
    )


def test_files_are_hardly_larger_than_with_the_defaults_of_pyarrow() -> None:
    rows = many_rows(50_000, 11)
    assert len(written(rows)) <= 1.05 * len(by_default(rows))
    for name in rows.schema.names:
        one = rows.select([name])
        # A dictionary is not taken for a few per cent, as it takes longer.
        assert len(written(one)) <= 1.15 * len(by_default(one)), name


def by_default(rows: pa.RecordBatch) -> bytes:
    """A file that pyarrow writes by its defaults."""
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_batches([rows]), stream, compression="zstd", compression_level=1)
    return stream.getvalue()


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
