"""The examples of help texts and manual pages that start Spark are run, on the shop's logs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from binx.cli.commands import to_parquet
from binx.cli.main import run as run_command
from binx.spark import session
from tests.cli.conftest import Shop
from tests.cli.process import binx
from tests.cli.test_examples import EVERY, needs_spark, prepare, run

DONE, PARTIAL = 0, 3
"""How commands end; the data set's only log does not have the beginning of its table."""

LINES = [line for line in EVERY if needs_spark(line)]
INPUTS = ("lake", "tables", "mysql-bin.index")
OUTPUT = ("-o", "--output", "--status")


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

    monkeypatch.setattr(session, "local_session", at_hand)
    monkeypatch.setattr(to_parquet, "local_session", at_hand)
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
