"""Columns that an inserted row's minimal image lacks: the current state has their defaults."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from binx.dataset.parquet import to_parquet
from binx.errors import ExitCode
from binx.log.file import open_files
from testdata.compare import normal, spell
from tests.conftest import TESTDATA
from tests.spark.conftest import Load


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_the_current_state_of_minimal_images_is_what_select_said(
    server: str, tmp_path: Path, load: Load, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    log = TESTDATA / server / "small" / "row_image_minimal.binlog"
    files = open_files([str(log)])
    assert len(list(to_parquet(files, tmp_path / "lake"))) == 1
    files[0].close()
    code, summary = load(tmp_path / "lake", tmp_path / "tables")
    assert code == ExitCode.DONE, summary
    expected = json.loads(log.with_suffix(".expected.json").read_text("utf-8"))["tables"]["small.keyed"]
    types = [(column["name"], column["type"]) for column in expected["columns"]]
    found = rows(tmp_path / "tables", ("small", "keyed"))
    assert [[spell(row[name], kind) for name, kind in types] for row in found] == [
        [normal(text, kind) for text, (_, kind) in zip(row, types, strict=True)] for row in expected["rows"]
    ]


def test_recorded_values_become_values_of_the_columns_types(spark: Any) -> None:
    from binx.spark.loading.events import Part
    from binx.spark.loading.inserted import untold_columns, with_defaults
    from binx.spark.loading.manifests import SchemaRecord, TableName

    columns = {
        "i": ("int", "-7", -7),
        "u": ("decimal(20,0)", "18446744073709551615", Decimal(2**64 - 1)),
        "d": ("decimal(5,2)", "1.50", Decimal("1.50")),
        "f": ("float", "1.5", 1.5),
        "s": ("string", "it's", "it's"),
        "e": ("string", "", ""),
        "b": ("binary", "00ff", bytearray(b"\x00\xff")),
        "t": ("boolean", "true", True),
        "y": ("date", "2020-02-29", date(2020, 2, 29)),
        "m": ("timestamp_ntz", "2020-01-02 03:04:05.600", datetime(2020, 1, 2, 3, 4, 5, 600000)),
        "l": ("bigint", "-3020399000000", -3020399000000),
        "n": ("int", None, None),
    }
    zero = {"name": "z", "arrow_type": "date32[day]", "absent": {"value": None, "misfit": "0000-00-00"}}
    record = SchemaRecord.parse(
        {
            "columns": [
                *(
                    {"name": name, "arrow_type": kind, "absent": {"value": text, "misfit": None}}
                    for name, (kind, text, _) in columns.items()
                ),
                zero,
                {"name": "untold", "arrow_type": "int32", "absent": None},
            ]
        },
        "v",
    )  # fmt: skip
    assert SchemaRecord.parse(record.to_json(), "v") == record
    names = [*columns, "z", "untold"]
    kinds = [*(f"`{name}` {kind}" for name, (kind, _, _) in columns.items()), "z date", "untold int"]
    heads = "_change_type string, _absent array<string>, _schema_version string, _misfits map<string,string>"
    nulls = (None,) * len(names)
    data = [
        ("insert", names, "v", {"other": "x"}, *nulls),
        ("update_postimage", names, "v", None, *nulls),
        ("insert", names, "w", None, *nulls),
        ("insert", None, "v", None, *nulls),
    ]
    rows = spark.createDataFrame(data, f"{heads}, {', '.join(kinds)}")
    stored = {version: {name: name for name in names} for version in "vw"}
    filled = with_defaults(Part(TableName("d", "t"), rows, stored), {"v": record})
    first, *others = (row.asDict() for row in filled.rows.collect())
    assert {name: first[name] for name in columns} == {name: value for name, (_, _, value) in columns.items()}
    assert first["_absent"] == ["untold"]
    assert first["_misfits"] == {"other": "x", "z": "0000-00-00"}
    assert [tuple(row.values()) for row in others] == data[1:]
    assert untold_columns(filled) == sorted(names)
