"""One Spark session for all tests here, and a way to run the loader on it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from binx.spark.loading.arguments import parse_arguments
from binx.spark.loading.run import run
from binx.spark.session import local_session
from tests.spark.dataset import Name

#: The runtime of Iceberg for the installed Spark, where there is one.
ICEBERG_JAR = os.environ.get("BINX_ICEBERG_JAR")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session in which small queries are quick."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    settings = {"spark.sql.shuffle.partitions": "2"}
    if ICEBERG_JAR is not None:
        folder = tmp_path_factory.mktemp("iceberg")
        settings |= {
            "spark.jars": ICEBERG_JAR,
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(folder),
        }
    with local_session(master="local[2,4]", memory="1g", settings=settings, small=True) as session:
        yield session


Load = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def load(spark: Any, capsys: pytest.CaptureFixture[str]) -> Load:
    """Load folders into an output; returns the exit code and the summary (empty after an error)."""

    def load(inputs: Path | list[Path], output: Path, *more: str) -> tuple[int, dict[str, Any]]:
        folders = inputs if isinstance(inputs, list) else [inputs]
        arguments = [argument for folder in folders for argument in ("--input", str(folder))]
        capsys.readouterr()
        code = run(spark, parse_arguments([*arguments, "--output", str(output), "--json", *more]))
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else {"error": printed.err}

    return load


@pytest.fixture
def rows(spark: Any) -> Callable[..., list[dict[str, Any]]]:
    """The rows of a table's snapshot in order of its key, without the loader's own columns."""

    def rows(
        output: Path, table: Name, key: tuple[str, ...] = ("id",), kind: str = "current"
    ) -> list[dict[str, Any]]:
        found = spark.read.parquet(str(output / table[0] / table[1] / kind)).collect()
        plain = [
            {name: value for name, value in row.asDict().items() if not name.startswith("_")} for row in found
        ]
        return sorted(plain, key=lambda row: repr(tuple(row[name] for name in key)))

    return rows
