"""The schema that a record tells is the one that Spark itself finds in the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.spark.loading.manifests import SchemaRecord, TableName
from binx.spark.loading.outcome import LoadError
from tests.conftest import TESTDATA
from tests.spark.test_shop import export

TYPES = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64(),
    pa.float32(), pa.float64(), pa.decimal128(38, 10), pa.decimal128(5, 0), pa.date32(),
    pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.duration("us"), pa.string(), pa.binary(),
    pa.dictionary(pa.int32(), pa.string()), pa.json_(pa.string()), pa.list_(pa.float32()),
    pa.struct([("srid", pa.uint32()), ("wkb", pa.binary())]),
]  # fmt: skip


def test_each_type_of_the_data_set_is_read_as_spark_reads_it(tmp_path: Path, spark: Any) -> None:
    from binx.spark.loading.schemas import spark_type

    columns = {f"c{number}": pa.nulls(1, kind) for number, kind in enumerate(TYPES)}
    pq.write_table(pa.table(columns), tmp_path / "all.parquet")
    found = spark.read.parquet(str(tmp_path / "all.parquet")).schema
    assert [field.dataType for field in found] == [spark_type(str(kind)) for kind in TYPES]


def test_the_shops_records_tell_what_its_files_hold(tmp_path: Path, spark: Any) -> None:
    from binx.spark.loading.schemas import file_schema

    export(sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.0*")), tmp_path)
    compared = 0
    for manifest in (tmp_path / "_manifest").iterdir():
        for entry in json.loads(manifest.read_text())["files"]:
            if entry["kind"] == "changes":
                folder, version = Path(entry["path"]).parent.name, entry["schema_version"]
                db = Path(entry["path"]).parts[1]
                record = json.loads((tmp_path / f"schemas/{db}/{folder}/{version}.json").read_text())
                told = file_schema(
                    TableName(entry["db"], entry["table"]), SchemaRecord.parse(record, version)
                )
                found = spark.read.parquet(str(tmp_path / entry["path"])).schema
                kinds = {field.name: field.dataType for field in told}
                assert {field.name: field.dataType for field in found}.items() <= kinds.items()
                compared += 1
    assert compared > 20


def test_a_type_that_no_file_has_is_refused() -> None:
    from binx.spark.loading.schemas import file_schema

    record = SchemaRecord("v1", ("id",), ("time64[us]",), (), 0, "")
    with pytest.raises(LoadError, match=r"v1 of shop\.orders .*'time64\[us\]' is no type"):
        file_schema(TableName("shop", "orders"), record)
