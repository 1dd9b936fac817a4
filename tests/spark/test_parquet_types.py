"""Spark reads every type of the data set's files, with its vectorized reader and without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dataset.tables import SCHEMA, many_rows
from tests.dataset.writing import write

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_spark_reads_what_was_put_in(spark: Any, tmp_path: Path, vectorized: str) -> None:
    rows = many_rows(6000, 7)
    # The reader without vectors takes unsigned integers of 16 bits for signed ones, and of 64 bits too.
    names = [name for name in SCHEMA.names if vectorized == "true" or name not in {"uint16", "uint64"}]
    path = write(
        tmp_path / "types.parquet", rows.slice(0, 5000).select(names), rows.slice(5000).select(names)
    )
    kept = spark.conf.get(VECTORIZED)
    spark.conf.set(VECTORIZED, vectorized)
    try:
        found = [row.asDict(recursive=True) for row in spark.read.parquet(str(path)).collect()]
    finally:
        spark.conf.set(VECTORIZED, kept)
    expected = rows.select(names).to_pylist()
    for name in names:
        column = [row[name] for row in found]
        assert _comparable(name, column) == _comparable(name, [row[name] for row in expected]), name


def _comparable(name: str, column: list[Any]) -> list[Any]:
    """What Spark and Arrow give as different types of Python, as one."""
    return [None if value is None else _ALIKE.get(name, _as_it_is)(value) for value in column]


def _as_it_is(value: Any) -> Any:
    return value


_ALIKE: dict[str, Callable[[Any], Any]] = {
    "notes": dict,
    "bytes": bytes,
    "uint64": int,
    "point": lambda point: (point["srid"], bytes(point["wkb"])),
    "local": lambda moment: moment.timestamp(),
    "moment": lambda moment: moment.timestamp(),
    "span": lambda span: span if isinstance(span, int) else round(span.total_seconds() * 1_000_000),
}
