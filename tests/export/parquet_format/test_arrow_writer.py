"""What is written is what pyarrow, DuckDB and polars read."""

from __future__ import annotations

import hashlib
import io
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binx.export.parquet_format.arrow_writer import ArrowWriter
from binx.export.parquet_format.columns import null_values
from tests.export.parquet_format.reading import opened, write, written
from tests.export.parquet_format.tables import SCHEMA, TYPES, batches, many_rows, plain

_EXAMPLES = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_NAMES = list(TYPES)
_CONNECTION = duckdb.connect()


@pytest.mark.parametrize("name", _NAMES)
@_EXAMPLES
@given(data=st.data())
def test_pyarrow_reads_what_was_put_in(name: str, data: st.DataObject) -> None:
    groups = data.draw(st.lists(batches((name,)), min_size=1, max_size=2))
    file = opened(written(*groups))
    assert file.metadata.num_row_groups == len(groups)
    for number, group in enumerate(groups):
        table = file.read_row_group(number)
        assert plain(table) == group.to_pylist()
        assert table.schema == group.schema
        table.validate(full=True)


@settings(_EXAMPLES, max_examples=15)
@given(groups=st.lists(batches(tuple(_NAMES), rows=8), min_size=1, max_size=2))
def test_polars_reads_what_was_put_in(groups: list[pa.RecordBatch]) -> None:
    # A map is a list of pairs for polars, and a duration a number of whatever unit the file does not tell.
    names = [name for name in _NAMES if name not in {"span", "notes"}]
    parts = [group.select(names) for group in groups]
    read = polars.read_parquet(io.BytesIO(written(*parts))).to_arrow()
    assert plain(read) == [row for part in parts for row in part.to_pylist()]


@settings(_EXAMPLES, max_examples=15)
@given(groups=st.lists(batches(tuple(_NAMES), rows=8), min_size=1, max_size=2))
def test_duckdb_reads_what_it_reads_of_pyarrows_file(groups: list[pa.RecordBatch]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.parquet", Path(folder) / "theirs.parquet"
        write(ours, *groups)
        with pq.ParquetWriter(theirs, SCHEMA, store_decimal_as_integer=True) as writer:
            for group in groups:
                writer.write_batch(group)
        found, expected = (
            _CONNECTION.execute(f"SELECT * FROM read_parquet('{path}')").fetchall() for path in (ours, theirs)
        )
    assert found == expected


@pytest.mark.parametrize("compression", ["zstd", "snappy", "lz4", "none"])
def test_many_pages_and_row_groups_of_every_type(tmp_path: Path, compression: str) -> None:
    first, second = many_rows(70_000 if compression == "zstd" else 4000, 1), many_rows(900, 2)
    path = write(tmp_path / "all.parquet", first, second, compression=compression)
    table = pq.read_table(path)
    expected = pa.Table.from_batches([first, second])
    assert table.schema == SCHEMA
    for name in SCHEMA.names:
        assert table[name].to_pylist() == expected[name].to_pylist(), name
    counts = duckdb.connect().execute(
        f"SELECT count(*), sum(int64), count(DISTINCT word32), sum(len(tables)) FROM read_parquet('{path}')"
    )
    assert counts.fetchall() == [
        (
            first.num_rows + second.num_rows,
            sum(value for value in expected["int64"].to_pylist() if value is not None),
            len(set(expected["word32"].to_pylist()) - {None}),
            sum(len(value) for value in expected["tables"].to_pylist() if value is not None),
        )
    ]


@pytest.mark.parametrize("level", [None, 1, 3])
def test_large_pages_of_text_at_every_level(tmp_path: Path, level: int | None) -> None:
    digests = (hashlib.sha256(str(number).encode()).hexdigest() for number in range(20_000))
    notes = [f"please ring twice; voucher {digest}" for digest in digests]
    batch = pa.record_batch({"note": pa.array(notes)})
    path = write(tmp_path / "large.parquet", batch, compression="zstd", level=level)
    chunk = pq.read_metadata(path).row_group(0).column(0)
    assert chunk.total_uncompressed_size > 1_000_000
    assert chunk.total_compressed_size < 0.75 * chunk.total_uncompressed_size
    assert pq.read_table(path)["note"].to_pylist() == notes
    found = _CONNECTION.execute(f"SELECT note FROM read_parquet('{path}')").fetchall()
    assert found == [(note,) for note in notes]


def test_the_same_rows_give_the_same_bytes() -> None:
    rows = many_rows(5000, 3)
    assert written(rows, rows) == written(rows, rows)


def test_what_stood_in_the_memory_of_nulls_does_not_show() -> None:
    validity = pa.py_buffer(bytes([0b0101]))
    values = [pa.py_buffer(bytes([1, 0, 0, 0, filler, 0, 0, 0, 3, 0, 0, 0])) for filler in (0, 77)]
    arrays = [pa.Array.from_buffers(pa.int32(), 3, [validity, one]) for one in values]
    files = [written(pa.RecordBatch.from_arrays([one], names=["a"])) for one in arrays]
    assert files[0] == files[1]


def test_columns_that_cannot_be_null_have_no_levels() -> None:
    schema = pa.schema(
        [pa.field("id", pa.int32(), nullable=False), pa.field("name", pa.string(), nullable=False)]
    )
    rows = pa.RecordBatch.from_pydict({"id": [3, 1, 2], "name": ["c", "a", "b"]}, schema=schema)
    file = opened(written(rows))
    assert file.read().equals(pa.Table.from_batches([rows]))
    assert [file.schema.column(place).max_definition_level for place in (0, 1)] == [0, 0]


def test_a_batch_without_rows_adds_nothing() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [1]})
    assert opened(written(rows.slice(0, 0), rows, rows.slice(1))).metadata.num_row_groups == 1


def test_a_file_may_have_no_row_group() -> None:
    file = opened(written(many_rows(1, 1).slice(1)))
    assert file.read().num_rows == 0
    assert file.schema_arrow == SCHEMA


@pytest.mark.parametrize("data_type", [pa.time64("us"), pa.large_string(), pa.list_(pa.list_(pa.int8()))])
def test_types_that_the_data_set_has_not_are_refused(data_type: pa.DataType) -> None:
    rows = pa.RecordBatch.from_arrays([pa.nulls(1, data_type)], names=["odd"])
    with pytest.raises((TypeError, ValueError)):
        written(rows.slice(0, 1))


@settings(_EXAMPLES, max_examples=15)
@given(rows=batches(("vector", "tables", "notes", "point")), start=st.integers(0, 59))
def test_slices_of_nested_columns(rows: pa.RecordBatch, start: int) -> None:
    part = rows.slice(min(start, rows.num_rows - 1))
    assert plain(opened(written(part)).read()) == part.to_pylist()


def test_a_null_list_that_has_elements_in_memory() -> None:
    offsets = pa.py_buffer(b"".join(one.to_bytes(4, "little") for one in (0, 2, 4, 5)))
    values = pa.array([1, 2, 3, 4, 5], pa.int64())
    lists = pa.Array.from_buffers(
        pa.list_(pa.int64()), 3, [pa.py_buffer(bytes([0b101])), offsets], children=[values]
    )
    rows = pa.RecordBatch.from_arrays([lists], names=["a"])
    assert opened(written(rows)).read()["a"].to_pylist() == [[1, 2], None, [5]]


@pytest.mark.parametrize("rows", [1, 8, 1003, 70_000])
@pytest.mark.parametrize("data_type", [pa.string(), pa.binary(), pa.map_(pa.string(), pa.string())], ids=str)
def test_a_column_without_a_value_is_written_without_an_array(data_type: pa.DataType, rows: int) -> None:
    schema = pa.schema([pa.field("nothing", data_type)])
    stream = io.BytesIO()
    writer = ArrowWriter(stream, schema)
    writer.write_rows(rows, null_values(data_type, rows))
    writer.close()
    assert stream.getvalue() == written(pa.record_batch([pa.nulls(rows, data_type)], schema=schema))
    assert opened(stream.getvalue()).read()["nothing"].null_count == rows
