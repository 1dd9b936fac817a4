"""SQL that undoes, what is checked before, and rows that refer to others."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from binx.errors import OutputError, RefusedError
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log import scan as scan_module
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.log.scanning import KIND_NAMES
from binx.rows.ddl.catalog import Catalog
from binx.slices import changes as changes_module
from binx.slices.changes import ordered_changes
from binx.slices.items import Begin
from binx.slices.search import Selected
from binx.slices.sql.write import check_sql
from binx.undo import script as undo_module
from binx.undo import spool
from binx.undo.options import OnConflict
from binx.undo.script import UndoReport, write_undo
from tests.conftest import TESTDATA
from tests.slices.sql.sql_of import everything

MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
ROW_CHANGES = ("dml", "xa_prepare", "xa_commit", "xa_rollback")


def picked(path: Path, wanted: Callable[[TransactionTable, int], bool]) -> Iterator[Selected]:
    """Some transactions of a log; the statements of the others are read."""
    for part in everything([path]):
        mask = part.table.mask()
        for index in range(len(part.table)):
            mask[index] = wanted(part.table, index)
        part.table.mark_statements(mask)
        yield part._replace(mask=mask)


def changes_only(table: TransactionTable, index: int) -> bool:
    return KIND_NAMES[Kind(table.value("kind", index))] in ROW_CHANGES


def undone(path: Path, *, on_conflict: OnConflict = OnConflict.STOP) -> tuple[str, UndoReport]:
    """What undoes all changes of a log."""
    output = io.BytesIO()
    report = write_undo(picked(path, changes_only), output, Catalog(), on_conflict=on_conflict)
    return output.getvalue().decode(), report


@pytest.mark.parametrize("size", [7, 300, 3000])
def test_the_pieces_in_which_rows_come_make_no_difference(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    path = MYSQL / "small" / "all_types.binlog"
    whole = undone(path)
    monkeypatch.setattr(changes_module, "PIECE_ROWS", 1)
    monkeypatch.setattr(spool, "PIECE_BYTES", size)
    monkeypatch.setattr(spool, "_RECORDS_AT_ONCE", 3)
    assert undone(path) == whole


def test_rows_that_a_savepoint_undid_are_not_undone_again() -> None:
    with pytest.raises(RefusedError, match="a change logged as a statement"):
        undone(MYSQL / "small" / "savepoints.binlog")
    output = io.BytesIO()
    selected = picked(
        MYSQL / "small" / "savepoints.binlog",
        lambda table, index: changes_only(table, index) and bool(table.value("rows", index)),
    )
    report = write_undo(selected, output, Catalog())
    assert re.findall(r"`id`=(\d+)", output.getvalue().decode()) == ["5", "4", "3", "1"]
    assert report.undone == 2


def test_an_xa_transaction_counts_as_it_ended() -> None:
    text, report = undone(MYSQL / "small" / "xa.binlog")
    assert re.findall(r"^DELETE FROM `small`.`t` WHERE `id`=(\d)", text, re.MULTILINE) == ["4", "2", "1"]
    assert report.undone == 3
    assert report.nothing == 3


def test_an_xa_transaction_whose_end_is_not_there_is_refused() -> None:
    path = MYSQL / "small" / "xa.binlog"

    def without(kind: str) -> Iterator[Selected]:
        return picked(
            path,
            lambda table, index: (
                changes_only(table, index) and KIND_NAMES[Kind(table.value("kind", index))] != kind
            ),
        )

    with pytest.raises(RefusedError, match="X'636f6d6d6974746564',X'',1: whether it was committed"):
        write_undo(without("xa_commit"), io.BytesIO(), Catalog())
    with pytest.raises(RefusedError, match="its changes are in the transaction that prepared it"):
        write_undo(without("xa_prepare"), io.BytesIO(), Catalog())


@pytest.mark.parametrize("folder", [MYSQL, MARIADB], ids=lambda folder: folder.name)
def test_images_that_lack_what_was_there_are_refused_together(folder: Path) -> None:
    output = io.BytesIO()
    with pytest.raises(RefusedError) as caught:
        write_undo(everything([folder / "small" / "row_image_minimal.binlog"]), output, Catalog())
    message = str(caught.value)
    assert "nothing was written" in message
    assert "a statement, “CREATE DATABASE small”: 1, in " in message
    assert "whose images before lack what was changed (binlog_row_image was not FULL)" in message
    assert "deletes in `small`." in message
    assert output.getvalue() == b""


def test_many_reasons_are_not_all_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from binx.undo import obstacles

    monkeypatch.setattr(obstacles, "LISTED", 2)
    with pytest.raises(RefusedError, match=r"\n  and \d+ more reasons\Z"):
        write_undo(everything([MYSQL / "small" / "ddl.binlog"]), io.BytesIO(), Catalog())


def test_a_transaction_that_ended_in_rollback_with_changes_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Servers write such only of tables without transactions, whose changes the ROLLBACK did not undo."""

    def rolled_back(*arguments: Any, **options: Any) -> Iterator[object]:
        for item in ordered_changes(*arguments, **options):
            yield replace(item, facts=item.facts | {"kind": "rollback"}) if isinstance(item, Begin) else item

    monkeypatch.setattr(undo_module, "ordered_changes", rolled_back)
    with pytest.raises(RefusedError, match="ended in ROLLBACK: which of their changes persist"):
        undone(MYSQL / "small" / "partitions.binlog")


def test_logs_of_two_kinds_of_servers_are_refused() -> None:
    both = (
        part
        for folder in (MYSQL, MARIADB)
        for part in picked(folder / "small" / "all_types.binlog", changes_only)
    )
    with pytest.raises(RefusedError, match="of MySQL and of MariaDB"):
        write_undo(both, io.BytesIO(), Catalog())


def test_a_full_temporary_folder_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda prefix: Full())
    with pytest.raises(OutputError, match="No space left on device; set TMPDIR"):
        undone(MYSQL / "small" / "xa.binlog")


def test_tables_are_named_of_which_nothing_says_whether_columns_are_generated() -> None:
    """A server refuses values for generated columns, which table maps do not tell; here DDL is left out."""
    _, report = undone(sorted((MYSQL / "shop").glob("mysql-bin.0*"))[-1])
    (warning,) = [line for line in report.warnings if "generated" in line]
    assert "shop." in warning
    assert "--schema" in warning


def test_rows_that_transactions_changed_again_which_are_not_undone_are_listed(tmp_path: Path) -> None:
    """The log moves parents twice; the first move is undone alone."""
    path = MYSQL / "small" / "foreign_key_cascade.binlog"
    wanted: list[int] = []

    def first_with_rows(table: TransactionTable, index: int) -> bool:
        if changes_only(table, index) and table.value("rows", index) and not wanted:
            wanted.append(index)
            return True
        return False

    output = io.BytesIO()
    report = write_undo(picked(path, first_with_rows), output, Catalog(), every=lambda: everything([path]))
    again = [warning for warning in report.warnings if "later transactions changed rows again" in warning]
    assert again
    for warning in again:
        assert f"-- {warning}.\n" in output.getvalue().decode()
    report = write_undo(picked(path, changes_only), io.BytesIO(), Catalog(), every=lambda: everything([path]))
    assert not [warning for warning in report.warnings if "changed rows again" in warning]


def test_a_row_that_a_transaction_updated_again_is_listed_once_for_it() -> None:
    """Both images of its update have the key."""

    def one_order() -> Iterator[Selected]:
        for path in SHOP:
            yield from picked(path, lambda table, index: str(table.gtid(index)).endswith(":1500"))

    report = write_undo(one_order(), io.BytesIO(), Catalog(), every=lambda: everything(SHOP))
    (sentence,) = [line for line in report.warnings if line.startswith("shop.orders: later")]
    transactions = re.findall(r"id=9007199254741757 in \S+:(\d+)", sentence)
    assert transactions == ["1523", "1524"]


def test_documents_whose_values_have_types_keep_them() -> None:
    text, report = undone(MYSQL / "small" / "all_types.binlog")
    assert "JSON_OBJECT(" in text
    assert not [warning for warning in report.warnings if "JSON documents" in warning]


SHOP = sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.0*"))
NAMELESS = TESTDATA / "mariadb-10.11" / "small" / "all_types_no_metadata.binlog"
REFUSED = [
    (TESTDATA / "mysql-9.7" / "small" / "load_data.binlog", "LOAD DATA"),
    (TESTDATA / "mariadb-10.11" / "small" / "standalone.binlog", "WITH SYSTEM VERSIONING"),
]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a scan hand over its transactions one by one."""
    monkeypatch.setattr(scan_module, "WINDOW_BYTES", 1)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("path", "said"), REFUSED)
def test_what_is_refused_is_found_wherever_it_stands(path: Path, said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        check_sql(everything([path]), Catalog())


@pytest.mark.usefixtures("small_parts")
def test_a_table_that_only_another_selection_would_take_is_looked_at_when_it_is_taken() -> None:
    """Its map is no longer new where it is taken at last."""
    parts = list(everything([NAMELESS]))
    rows = [number for number, part in enumerate(parts) if part.table.value("rows", 0)]
    for part in parts[: rows[1]]:
        part.mask[:] = bytes(len(part.mask))
    with BinlogFile.open(str(NAMELESS)) as file:
        scan = Scan(file, Level.LEVEL_TABLES)
        selected = [Selected(scan, table, part.mask) for table, part in zip(scan, parts, strict=True)]
        with pytest.raises(RefusedError, match="schema dump with --schema"):
            check_sql(selected, Catalog())


def test_the_check_names_tables_of_which_nothing_says_whether_columns_are_generated() -> None:
    """Servers refuse values for generated columns, and table maps do not tell which these are."""
    last = SHOP[-1]
    (warning,) = [line for line in check_sql(everything([last]), Catalog()) if "generated" in line]
    assert "shop." in warning
    assert "--schema" in warning
    whole = check_sql(everything(SHOP), Catalog())
    assert not [line for line in whole if "generated" in line]


@pytest.mark.parametrize("left_out", [{3}, {5}, {3, 4, 5}])
def test_a_transaction_before_the_end_of_mariadbs_prepared_one_is_refused(left_out: set[int]) -> None:
    (part,) = everything([TESTDATA / "mariadb-10.11" / "small" / "xa.binlog"])
    for index in left_out:
        part.mask[index] = 0
    with pytest.raises(RefusedError, match="ran while an XA transaction was prepared"):
        check_sql([part], Catalog())
