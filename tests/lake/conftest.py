"""Ways to run the loader on the Spark session, and to read what it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.cli.commands.load import load_command
from binx.errors import BinxError
from binx.lake.options import LoadOptions
from binx.report.document import document
from binx.spark.load_run import load as run_load
from tests.lake.dataset import Name, Server
from tests.report.test_records import check

Load = Callable[..., tuple[int, dict[str, Any]]]
Loaded = Callable[..., tuple[int, dict[str, Any]]]


def options_of(arguments: list[str]) -> LoadOptions:
    """What the command makes of its arguments."""
    given = load_command.make_context("load", arguments).params
    inputs = (*given["folders"], *given["inputs"])
    options = {one.name: given[one.name] for one in fields(LoadOptions) if one.name not in ("inputs", "keys")}
    return LoadOptions(inputs, keys=dict(given["keys"]), **options)


@pytest.fixture(scope="session")
def load(spark: Any) -> Load:
    """Load folders into an output; returns the exit code and the summary, or the error."""

    def load(inputs: Path | list[Path], output: Path, *more: str) -> tuple[int, dict[str, Any]]:
        folders = inputs if isinstance(inputs, list) else [inputs]
        arguments = [*map(str, folders), "--output", str(output), *more]
        try:
            summary = run_load(options_of(arguments), lambda: nullcontext(spark))
        except BinxError as error:
            return error.exit_code, {"error": str(error)}
        printed = document("load", summary)
        check("load", printed)
        return summary.exit_code, printed

    return load


@pytest.fixture
def loaded(load: Load, tmp_path: Path) -> Loaded:
    """Export all logs of a server to ``in`` and load them into ``out``."""

    def loaded(server: Server, *more: str) -> tuple[int, dict[str, Any]]:
        server.export_all(tmp_path / "in")
        return load(tmp_path / "in", tmp_path / "out", *more)

    return loaded


def files_of(output: Path, table: Name, kind: str = "current") -> list[str]:
    """The files that the state lists of a table."""
    state = json.loads((output / "_state.json").read_text())
    if kind == "history":
        return [
            str(output / file["path"])
            for file in state["history"]
            if tuple(file["table"]) == table and not file["gone"]
        ]
    found = []
    for life in state["lives"].values():
        if tuple(life["name"]) == table and life["life"] in state["records"]:
            listed = life["ranges"] if kind == "current" else [*life["closed"], *life["held"]]
            found += [str(output / file["path"]) for file in listed]
    return found


@pytest.fixture
def rows() -> Callable[..., list[dict[str, Any]]]:
    """The rows of a table's state in order of its key, without the loader's columns."""

    def rows(
        output: Path, table: Name, key: tuple[str, ...] = ("id",), kind: str = "current"
    ) -> list[dict[str, Any]]:
        files = [pq.read_table(path, partitioning=None) for path in files_of(output, table, kind)]
        found = pa.concat_tables(files, promote_options="permissive").to_pylist() if files else []
        plain = [{name: value for name, value in row.items() if not name.startswith("_")} for row in found]
        return sorted(plain, key=lambda row: repr(tuple(row[name] for name in key)))

    return rows
