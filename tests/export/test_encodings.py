"""How columns are encoded: by their types, and by the first rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from binx.export.encodings import column_settings, with_distinct_words
from tests.conftest import TESTDATA

ROWS = 10_000
DELTA = "DELTA_BINARY_PACKED"


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def settings(rows: pa.RecordBatch, **options: Any) -> dict[str, Any]:
    return column_settings(rows.schema, rows, **options)


def test_numbers_that_change_are_written_as_differences_with_statistics() -> None:
    ascending = pa.array(range(ROWS), pa.int64())
    rows = batch(
        small=ascending.cast(pa.int16()),
        big=ascending.cast(pa.uint64()),
        moment=ascending.cast(pa.timestamp("us")),
        span=ascending.cast(pa.duration("us")),
        day=ascending.cast(pa.int32()).cast(pa.date32()),
        money=ascending.cast(pa.decimal128(20, 0)).cast(pa.decimal128(18, 0)),
        huge=ascending.cast(pa.decimal128(30, 0)),
        share=ascending.cast(pa.float64()),
    )
    chosen = settings(rows)
    assert set(chosen["column_encoding"].items()) == {
        (name, DELTA) for name in ("small", "big", "moment", "span", "day", "money")
    }
    assert chosen["write_statistics"] == rows.schema.names
    assert chosen["use_dictionary"] == []


def test_a_number_that_never_changes_is_left_to_the_compression() -> None:
    rows = batch(
        same=pa.repeat(7, ROWS),
        nulls=pa.nulls(ROWS, pa.int64()),
        changes=pa.array([*[7] * (ROWS - 1), 8]),
        none_then_same=pa.array([None, *[7] * (ROWS - 1)], pa.int64()),
    )
    assert settings(rows)["column_encoding"] == {
        "nulls": DELTA,
        "changes": DELTA,
        "none_then_same": DELTA,
    }


def test_the_type_alone_decides_where_there_are_no_rows() -> None:
    schema = pa.schema([("number", pa.int32()), ("word", pa.dictionary(pa.int8(), pa.string()))])
    chosen = column_settings(schema, None)
    assert chosen["column_encoding"] == {"number": DELTA}
    assert chosen["use_dictionary"] == ["word"]


def test_text_has_a_dictionary_where_few_values_repeat_and_statistics_where_it_is_a_key() -> None:
    rows = batch(
        few=pa.array([f"state {number % 5}" for number in range(ROWS)]),
        many=pa.array([f"name {number}" for number in range(ROWS)]),
        key=pa.array([f"key {number}" for number in range(ROWS)]),
        seldom=pa.array([None if number % 3 else "one" for number in range(ROWS)]),
    )
    chosen = settings(rows, keys=["key"])
    assert chosen["use_dictionary"] == ["few"]
    assert chosen["write_statistics"] == ["key"]


def test_transactions_have_a_dictionary_where_they_are_long() -> None:
    short = pa.array([f"gtid:{number // 2}" for number in range(ROWS)]).dictionary_encode()
    long = pa.array([f"gtid:{number // 100}" for number in range(ROWS)]).dictionary_encode()
    assert settings(batch(_transaction=short))["use_dictionary"] == []
    assert settings(batch(_transaction=long))["use_dictionary"] == ["_transaction"]


def test_dictionaries_within_lists_are_found() -> None:
    word = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema([("tables", pa.list_(pa.struct([("db", word), ("inserts", pa.int64())])))])
    assert column_settings(schema, None)["use_dictionary"] == ["tables.list.element.db"]


def test_a_word_that_is_twice_in_a_dictionary_is_written_once(tmp_path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2] * 100, pa.int32()), pa.array(["gtid:1", "gtid:2", "gtid:1"])
    )
    rows = batch(_transaction=words, number=pa.array(range(300)))
    distinct = with_distinct_words(rows, ["_transaction"])
    assert distinct.column("_transaction").dictionary.to_pylist() == ["gtid:1", "gtid:2"]
    assert distinct.to_pylist() == rows.to_pylist()
    assert with_distinct_words(rows, ["number"]) is rows
    path = tmp_path / "words.parquet"
    with pq.ParquetWriter(path, distinct.schema, **settings(distinct)) as writer:
        writer.write_batch(distinct)
    counted = duckdb.connect().execute(f"SELECT _transaction, count(*) FROM '{path}' GROUP BY 1 ORDER BY 1")
    assert counted.fetchall() == [("gtid:1", 200), ("gtid:2", 100)]


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
