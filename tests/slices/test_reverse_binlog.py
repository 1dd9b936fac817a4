"""Binary logs that undo: images swapped and turned round, and what cannot be swapped refused."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binx.errors import AbsentError, RefusedError
from binx.event.gtid.sets import GtidSet
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.chain.inputs import open_chain
from binx.log.file import BinlogFile
from binx.log.scanning import KIND_NAMES
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.slices.extract import ExtractOptions, extract
from binx.slices.json_lines import write_json
from binx.slices.reverse_binlog import ReversePart, ReverseReport, write_reversed
from binx.storage.output import Sink
from tests.slices.sql.sql_of import everything

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
LOGS = [
    TESTDATA / server / "small" / f"{name}.binlog"
    for server in ("mysql-9.7", "mariadb-10.11")
    for name in ("all_types", "charsets", "compressed", "no_checksum")
    if (server, name) != ("mariadb-10.11", "compressed")
]
OPPOSITE = {"insert": "delete", "delete": "insert", "update": "update"}


def reverse(path: Path, output: Sink, wanted: Callable[[TransactionTable, int], bool]) -> ReverseReport:
    """Write what undoes some transactions of a log."""
    with BinlogFile.open(str(path)) as file:
        tables = file.scan(Level.LEVEL_TABLES)
        marks = ((table, [i for i in range(len(table)) if wanted(table, i)]) for table in tables)
        return write_reversed((ReversePart(file, table, indexes, {}) for table, indexes in marks), output)


def row_changes(table: TransactionTable, index: int) -> bool:
    dml = KIND_NAMES[Kind(table.value("kind", index))] == "dml"
    return dml and bool(table.value("rows", index)) and not table.value("statements", index)


def changes_of(path: Path, tables: Path) -> list[dict[str, Any]]:
    """The row changes of a log, with the names that another log tells."""
    catalog = Catalog()
    write_json(everything([tables]), io.BytesIO(), catalog, rows=True)
    output = io.BytesIO()
    write_json(everything([path]), output, catalog, rows=True)
    return [json.loads(line) for line in output.getvalue().splitlines()]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_changes_are_swapped_and_turned_round_and_twice_they_are_as_they_were(
    path: Path, tmp_path: Path
) -> None:
    once, twice = tmp_path / "once.binlog", tmp_path / "twice.binlog"
    with once.open("wb") as output:
        report = reverse(path, output, row_changes)
    assert report.undone
    with twice.open("wb") as output:
        reverse(once, output, row_changes)
    undoing, again = changes_of(once, path), changes_of(twice, path)
    assert undoing
    assert [
        (OPPOSITE[change["type"]], change.get("after"), change.get("before")) for change in reversed(undoing)
    ] == [(change["type"], change.get("before"), change.get("after")) for change in again]
    forwards = [
        (change["db"], change["table"], change["type"], change.get("before"), change.get("after"))
        for change in changes_of(path, path)
    ]
    found = [
        (change["db"], change["table"], change["type"], change.get("before"), change.get("after"))
        for change in again
    ]
    assert [change for change in forwards if change in found] == found


def test_the_definition_tells_the_bytes_of_times_that_the_log_does_not(tmp_path: Path) -> None:
    log = TESTDATA / "mariadb-10.11" / "small" / "times_with_fractions.binlog"
    # The log's only UPDATE, before an ALTER TABLE gives these columns other sizes.
    undoing = tmp_path / "undo.binlog"
    with open_chain([str(log)]) as chain:
        extract(chain, Selection(gtids=GtidSet.parse("0-10-5")), str(undoing), ExtractOptions(reverse=True))
    definition = tmp_path / "definition.binlog"
    with open_chain([str(log)]) as chain:
        extract(chain, Selection(gtids=GtidSet.parse("0-10-1..2")), str(definition))
    (change,) = changes_of(undoing, definition)
    assert change["before"]["c"] == "00:00:00.01"
    assert change["after"]["c"] == "-12:34:56.78"
    assert change["after"]["b"] == "2021-02-03 04:05:06.789012"


def test_images_that_lack_columns_and_statements_are_refused() -> None:
    path = TESTDATA / "mysql-9.7" / "small" / "row_image_minimal.binlog"
    output = io.BytesIO()
    with pytest.raises(RefusedError) as caught:
        reverse(path, output, lambda table, index: True)
    assert "transactions of kind ddl: " in str(caught.value)
    assert "whose images lack columns (binlog_row_image was not FULL)" in str(caught.value)
    assert output.getvalue() == b""


def test_nothing_to_undo_is_no_log() -> None:
    path = TESTDATA / "mysql-9.7" / "small" / "all_types.binlog"
    with pytest.raises(AbsentError, match="none of the requested transactions has row changes"):
        reverse(path, io.BytesIO(), lambda table, index: False)
