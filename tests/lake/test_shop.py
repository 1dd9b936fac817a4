"""From a server's own logs through Parquet and Spark, on disks and in object stores: as SELECT said there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from binx.cli.run import run as run_command
from binx.dataset.dataset import escape_name
from binx.errors import ExitCode
from binx.lake.arrow.image_merge import applied
from binx.spark import load_run
from testdata.compare import compare_shop, normal, spell
from tests.cli.conftest import Shop
from tests.cli.process import binx
from tests.cli.test_examples import EVERY, needs_spark, prepare, run
from tests.conftest import TESTDATA
from tests.dataset.tables import SCHEMA, many_rows, write
from tests.exports import export
from tests.lake.conftest import Load


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_the_shops_tables_are_what_select_said(server: str, tmp_path: Path, load: Load) -> None:
    shop = TESTDATA / server / "shop"
    chain = sorted(shop.glob("mysql-bin.0*"))
    export(tmp_path / "lake", chain)
    code, summary = load(tmp_path / "lake", tmp_path / "tables")
    assert code == ExitCode.LOSSES
    incomplete = {table["table"] for table in summary["tables"] if table["completeness"] != "yes"}
    assert incomplete == {"lottery"}, "its changes alone were logged as statements"

    def current(db: str, table: str) -> Path:
        return tmp_path / "tables" / escape_name(db) / escape_name(table) / "current"

    comparisons = list(compare_shop(shop, current))
    assert len(comparisons) >= 8
    assert [one for one in comparisons if not one.equal] == []


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_the_current_state_of_minimal_images_is_what_select_said(
    server: str, tmp_path: Path, load: Load, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    log = TESTDATA / server / "small" / "row_image_minimal.binlog"
    assert len(export(tmp_path / "lake", [log])) == 1
    code, summary = load(tmp_path / "lake", tmp_path / "tables")
    assert code == ExitCode.DONE, summary
    expected = json.loads(log.with_suffix(".expected.json").read_text("utf-8"))["tables"]["small.keyed"]
    types = [(column["name"], column["type"]) for column in expected["columns"]]
    found = rows(tmp_path / "tables", ("small", "keyed"))
    assert [[spell(row[name], kind) for name, kind in types] for row in found] == [
        [normal(text, kind) for text, (_, kind) in zip(row, types, strict=True)] for row in expected["rows"]
    ]


@pytest.mark.parametrize(
    ("document", "change", "expected"),
    [
        ('{"a": 1.0, "bb": 2}', ["replace", "$.a", "2.50"], '{"a": 2.50, "bb": 2}'),
        ('{"bb": 1e100}', ["insert", "$.a", "1"], '{"a": 1, "bb": 1e100}'),
        ('{"a": [1, 2, 3]}', ["remove", "$.a[1]", None], '{"a": [1, 3]}'),
        ('{"a": [1, 2]}', ["insert", "$.a[1]", '"ä"'], '{"a": [1, "ä", 2]}'),
        ('{"a b": {"c": null}}', ["replace", '$."a b".c', "true"], '{"a b": {"c": true}}'),
        ("[1]", ["replace", "$", "{}"], "{}"),
        ('{"a": 1}', ["replace", "$.b", "1"], None),
        ('{"a": 1}', ["insert", "$.a", "2"], None),
        ('{"a": 1}', ["remove", "$.b", None], None),
        ('{"a": 1}', ["replace", "$.a[3].b", "1"], None),
        ("no document", ["remove", "$.b", None], None),
    ],
)
def test_a_change_is_applied_or_the_document_is_not_known(
    document: str, change: list[str | None], expected: str | None
) -> None:
    action, path, value = change
    told = f'{{"op": "{action}", "path": {json.dumps(path)}' + (f', "value": {value}}}' if value else "}")
    assert applied(document, f"[{told}]") == expected


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


pytest.importorskip("pyspark")


DONE, PARTIAL = 0, 3
"""How commands end; the data set's only log does not have the beginning of its table."""

LINES = [line for line in EVERY if needs_spark(line)]
INPUTS = ("lake", "tables", "mysql-bin.index")
OUTPUT = ("-o", "--output", "--status")
"""What comes before the folder that a command is about."""


@pytest.fixture(scope="module")
def place(testdata: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where examples are run: the data set has one table of one log, so that they take no longer."""
    folder = prepare(tmp_path_factory.mktemp("examples"), Shop(testdata / "mysql-9.7" / "shop", {}, {}))
    log = folder / "mysql-bin.000005"
    assert binx("to-parquet", "--table", "shop.orders", log, "-o", folder / "lake").code == 0
    return folder


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("binx")])
def test_example(line: str, place: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process and its session, whose folder is another one, so that names become paths."""

    @contextmanager
    def at_hand(**_: Any) -> Iterator[Any]:
        yield spark

    monkeypatch.setattr(load_run, "local_session", at_hand)
    monkeypatch.setattr("binx.spark.session.local_session", at_hand)
    if "--status" in line or "erase" in line:
        made = ["load", str(place / "lake"), "--output", str(place / "tables")]
        assert run_command(made) == PARTIAL
    words = list(pairwise(shlex.split(line)))
    given = [str(place / word) if word in INPUTS or before in OUTPUT else word for before, word in words]
    assert run_command(given) == (PARTIAL if words[0][1] == "load" else DONE)
    if words[0][1] == "erase":
        return
    (output,) = (place / word for before, word in words if before in OUTPUT)
    assert list(output.rglob("*.parquet"))


@pytest.mark.parametrize("line", [line for line in LINES if not line.startswith("binx")])
def test_example_of_another_program(line: str, place: Path, spark: Any) -> None:
    done = run(line, place)
    assert done.returncode == PARTIAL, done.stderr
    assert list((place / "tables").rglob("*.parquet"))
