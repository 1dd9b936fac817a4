"""What is looked at before SQL is written: all that can be refused, and each thing once."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import RefusedError
from binx.kernels.walk.scan import Level
from binx.log import scan as scan_module
from binx.log.file import BinlogFile
from binx.rows.ddl.catalog import Catalog
from binx.slices.search import Selected
from binx.slices.sql.write import check_sql
from tests.slices.sql.sql_of import everything

TESTDATA = Path(__file__).resolve().parents[3] / "testdata"
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
        scan = file.scan(Level.LEVEL_TABLES)
        selected = [Selected(scan, table, part.mask) for table, part in zip(scan, parts, strict=True)]
        with pytest.raises(RefusedError, match="schema dump with --schema"):
            check_sql(selected, Catalog())


def test_tables_are_told_of_which_nothing_says_whether_columns_are_generated() -> None:
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


def test_a_prepared_transaction_of_mariadb_that_ends_at_once_is_written() -> None:
    check_sql(everything([TESTDATA / "mariadb-10.11" / "small" / "xa.binlog"]), Catalog())
