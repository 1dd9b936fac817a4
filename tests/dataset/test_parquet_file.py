"""Parquet files: encodings, values and statistics, as pyarrow and DuckDB read them."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from binx.dataset import parquet_file
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet_file import ParquetFile, Shared, Spill, with_statistics
from binx.dataset.transaction import StagedFiles
from binx.rows.decoder import DecoderOptions
from testdata.compare import normal, spell
from tests.conftest import TESTDATA
from tests.dataset.current_state import Row, current_state
from tests.dataset.tables import many_rows, opened, sha256, written
from tests.exports import export

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
        self.transaction = StagedFiles(DataSet(folder), "log.1")
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


ROWS = 10_000
CHANCE = random.Random(5)


def encoding(column: pa.Array) -> str:
    """The encoding of a column's values; what is read is what was put in."""
    file = opened(written(pa.RecordBatch.from_arrays([column], names=["a"])))
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
SELDOM = [CHANCE.randbytes(20).hex() for _ in range(20_000)]
OWNERS = [f"owner {number}, {CHANCE.randbytes(20).hex()}" for number in range(5_000)]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (NUMBERS.cast(pa.float64()), "PLAIN"),
        (NUMBERS.cast(pa.decimal128(30, 0)), "PLAIN"),
        (NUMBERS.cast(pa.bool_()), "PLAIN"),
        (DISTINCT, "RLE_DICTIONARY"),
        (DISTINCT.cast(pa.float64()), "RLE_DICTIONARY"),
        (pa.array(CHANCE.choices(OWNERS, k=ROWS)), "RLE_DICTIONARY"),
        # The first rows alone would do better without: each key is new at first.
        (pa.array([*OWNERS, *CHANCE.choices(OWNERS, k=10 * ROWS)]), "RLE_DICTIONARY"),
        (pa.array([None, *CHANCE.choices(["new", "paid"], k=ROWS)]), "RLE_DICTIONARY"),
        # Hardly any value is in a sample of 4,096 rows twice, but in the row group each is, five times.
        (pa.array(CHANCE.choices(SELDOM, k=100_000)), "RLE_DICTIONARY"),
        (pa.array([CHANCE.randbytes(9).hex() for _ in range(ROWS)]), "PLAIN"),
        (pa.array([f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in range(ROWS)]), "PLAIN"),
        # Words that stay the same are as small without, but Arrow has them as a dictionary.
        (pa.array(["insert"] * ROWS), "PLAIN"),
        (pa.array(["insert"] * ROWS).dictionary_encode(), "RLE_DICTIONARY"),
        # Of few rows the types decide.
        (pa.array([7] * 15), "DELTA_BINARY_PACKED"),
        (pa.array(["a", "b", "a"]), "RLE_DICTIONARY"),
    ],
)
def test_the_smallest_encoding_is_taken(column: pa.Array, expected: str) -> None:
    assert encoding(column) == expected


def test_differences_that_cannot_be_compressed_are_not() -> None:
    numbers = pa.array([CHANCE.randrange(2**30) for _ in range(ROWS)], pa.int32())
    times = pa.array([number * 1000 + number % 7 for number in range(ROWS)], pa.int64())
    group = opened(written(pa.record_batch({"n": numbers, "t": times}))).metadata.row_group(0)
    assert [group.column(index).compression for index in (0, 1)] == ["UNCOMPRESSED", "ZSTD"]


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


NOT_STATE_FROM_ROWS = {
    "reordered": "nothing in the log tells what the tables' columns are called",
    "if_not_exists": "nothing in the log tells what the tables' columns are called",
    "rollback": "the rolled-back part is logged as statements",
    "statements": "the changes are logged as statements",
    "load_data": "LOAD DATA is logged as a statement",
    "savepoints": "a part is logged as statements",
    "no_checksum": "a part is logged as statements",
    "foreign_key_cascade": "servers before 9.6 leave the foreign key's own changes out of the log",
    "compressed": "a part is logged as statements and with minimal images",
}

WARNINGS = {
    ("mariadb-10.11", name): [f"small.t: {rows} left out, undone by ROLLBACK TO SAVEPOINT"]
    for name, rows in (("savepoints_rows", "6 row changes"), ("savepoints_ansi", "1 row change"))
}

SERVERS = ("mysql-9.7", "mariadb-10.11")
SMALL = [
    pytest.param(server, path, id=f"{server}-{path.stem}")
    for server in SERVERS
    for path in sorted((TESTDATA / server / "small").glob("*.binlog"))
]


def exported(paths: list[Path], folder: Path, warnings: Sequence[str] = ()) -> None:
    for report in export(folder, paths):
        assert report.manifest["losses"] == []
        told = [
            one for one in report.manifest["warnings"] if not one.startswith("changes logged as statements")
        ]
        assert told == list(warnings)


def expect_rows(state: list[Row], expected: dict[str, Any], rows: list[list[str | None]]) -> None:
    names = [column["name"] for column in expected["columns"]]
    types = [column["type"] for column in expected["columns"]]
    found = [[spell(row.get(name), kind) for name, kind in zip(names, types, strict=True)] for row in state]
    wanted = [[normal(text, kind) for text, kind in zip(row, types, strict=True)] for row in rows]
    places = [names.index(name) for name in expected["primary_key"]]

    def by_key(row: list[object]) -> list[str]:
        return [str(row[place]) for place in places]

    assert sorted(found, key=by_key) == sorted(wanted, key=by_key)


@pytest.mark.parametrize("server", SERVERS)
def test_the_shops_state_is_what_select_said(server: str, tmp_path: Path) -> None:
    shop = TESTDATA / server / "shop"
    exported(sorted(shop.glob("mysql-bin.0*")), tmp_path)
    tables = json.loads((shop / "expected/tables.json").read_text("utf-8"))["tables"]
    compared = 0
    for name, expected in tables.items():
        if expected["state_from_rows"]:
            db, table = name.split(".", 1)
            lines = (shop / "expected" / expected["file"]).read_text("utf-8").splitlines()
            expect_rows(
                current_state(tmp_path, db, table, expected["primary_key"]),
                expected,
                [json.loads(line) for line in lines],
            )
            compared += 1
    assert compared >= 8


@pytest.mark.parametrize(("server", "path"), SMALL)
def test_the_state_of_a_small_log_is_what_select_said(server: str, path: Path, tmp_path: Path) -> None:
    if path.stem in NOT_STATE_FROM_ROWS and (server, path.stem) != ("mysql-9.7", "compressed"):
        pytest.skip(NOT_STATE_FROM_ROWS[path.stem])
    expected = json.loads(path.with_suffix(".expected.json").read_text("utf-8"))
    exported([path], tmp_path, warnings=WARNINGS.get((server, path.stem), ()))
    for name, table in expected["tables"].items():
        db, _, short = name.partition(".")
        names = {column["name"] for column in table["columns"]}
        if table["primary_key"] and names.issuperset(table["primary_key"]):
            state = current_state(tmp_path, db, short, table["primary_key"])
            expect_rows(state, table, table["rows"])
