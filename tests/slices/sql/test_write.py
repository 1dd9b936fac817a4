"""SQL out of binary logs: statements, sessions, order, refusals."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from binx.errors import BinxError, RefusedError
from binx.event.format import parse_format
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import Statement
from binx.slices import changes as changes_module
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.search import Selected
from binx.slices.sql.write import check_sql, write_sql
from binx.sql.session_settings import SqlSession
from tests.conftest import SERVERS, SHOPS, TESTDATA
from tests.event import samples
from tests.slices.sql.sql_of import everything, json_of, sql_of

CHANGE = re.compile(rb"^(INSERT INTO|UPDATE|DELETE FROM) `((?:[^`]|``)*)`\.`((?:[^`]|``)*)`", re.MULTILINE)
LISTED = re.compile(rb"^### (INSERT INTO|UPDATE|DELETE FROM) `(.*)`\.`(.*)`$", re.MULTILINE)
NOT_LISTED = {b"shapes"}
"""mysqlbinlog gives up on rows with spatial columns."""
NOT_WRITTEN = {"load_data", "standalone", "if_not_exists", "reordered"}
"""Logs that SQL refuses, or of whose columns it does not know the names."""

SMALL = sorted(TESTDATA.glob("*/small/*.binlog"))
# The server's reader lists no rows whose times have fractions of before 10.1.
LISTINGS = [path for path in SMALL if path.stem not in NOT_WRITTEN | {"statements", "times_with_fractions"}]

INSERT = re.compile(rb"^INSERT INTO .*?;\n", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return f"{path.parts[-3]}/{path.stem}"


@pytest.mark.parametrize("path", LISTINGS, ids=name_of)
def test_rows_of_several_tables_follow_one_another_as_in_the_log(path: Path) -> None:
    found = [change for change in CHANGE.findall(sql_of(path)) if change[2] not in NOT_LISTED]
    assert found == [
        (operation, db.replace(b"`", b"``"), table.replace(b"`", b"``"))
        for operation, db, table in LISTED.findall(path.with_suffix(".txt").read_bytes())
        if table not in NOT_LISTED
    ]


@pytest.mark.parametrize("server", SERVERS)
def test_the_pieces_that_are_decoded_at_a_time_do_not_show(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SHOPS[server][3:4]
    catalog = known_before(SHOPS[server][:3])
    whole, objects = sql_of(*files, catalog=catalog.copy()), json_of(*files)
    monkeypatch.setattr(changes_module, "PIECE_ROWS", 1)
    monkeypatch.setattr(changes_module, "PIECE_BYTES", 1000)
    assert sql_of(*files, catalog=catalog.copy()) == whole
    assert json_of(*files) == objects


def known_before(files: list[Path]) -> Catalog:
    """The tables that some logs lead to."""
    catalog = Catalog()
    write_sql(everything(files), io.BytesIO(), catalog)
    return catalog


def without_first(path: Path, count: int) -> Iterator[Selected]:
    """All transactions of a log but for some at its beginning."""
    for part in everything([path]):
        part.mask[:count] = bytes(count)
        yield part


def test_a_table_without_names_is_refused_and_the_message_says_what_helps() -> None:
    path = TESTDATA / "mariadb-10.11" / "small" / "all_types_no_metadata.binlog"
    with pytest.raises(RefusedError, match=r"with --schema") as refused:
        check_sql(without_first(path, 4), Catalog())
    assert refused.value.exit_code == 1


def test_checking_leaves_the_catalog_as_it_is() -> None:
    catalog = Catalog()
    check_sql(everything(SHOPS["mysql-9.7"][:1]), catalog)
    assert len(catalog) == 0


def replay_of(server: str) -> bytes:
    return sql_of(TESTDATA / server / "small" / "replay.binlog")


def test_a_statement_with_semicolons_is_given_an_end_of_its_own() -> None:
    text = sql_of(TESTDATA / "mysql-9.7" / "small" / "statements.binlog").decode()
    assert (
        "DELIMITER $$\nINSERT INTO t (a) VALUES ('line\nbreak; semicolon -- no comment')\n$$\nDELIMITER ;\n"
        in text
    )


def test_a_document_in_a_row_without_a_key_is_found_by_what_it_prints_too() -> None:
    text = sql_of(TESTDATA / "mysql-9.7" / "small" / "json_without_key.binlog").decode()
    document = "JSON_ARRAY(CAST('2024-02-29' AS DATE), CAST(x'00ff' AS BINARY))"
    assert (
        f"(`j` <=> CAST({document} AS JSON) OR CAST(`j` AS CHAR) <=> {document} COLLATE utf8mb4_0900_bin)"
        in text
    )
    assert "(`other` <=> CAST(NULL AS JSON))" in text


@pytest.mark.parametrize("server", SERVERS)
def test_a_statement_has_the_connection_that_ran_it_and_rows_have_none(server: str) -> None:
    text = replay_of(server).decode(errors="replace")
    connections = re.findall(r"pseudo_thread_id=(1\d{3})", text)
    assert connections == ["1000", "1001", "1000", "1001", "1000"]
    rows = text.index("INSERT INTO `small`.`defaults`")
    assert text[:rows].rindex("pseudo_thread_id=0") > text[:rows].rindex("CREATE TABLE")


def test_modes_that_mysql_removed_are_masked_where_they_are_unknown() -> None:
    session = SqlSession(parse_format(samples.MYSQL_FORMAT, 0))
    modes = "STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER"
    (statement, *_) = (
        item
        for item in ordered_changes(
            everything([TESTDATA / "mysql-9.7" / "small" / "ddl.binlog"]),
            reading_in_pieces(Catalog()),
            lambda *_: [],
        )
        if isinstance(item, Statement)
    )
    text = session.for_statement(statement._replace(options={"sql_mode": modes}))
    assert f"@@session.sql_mode={(1 << 21) + (1 << 28)}/*!80005 &~0x1003ff00*/ /* {modes} */" in text
    (mariadb, *_) = (
        line for line in replay_of("mariadb-10.11").splitlines() if b"NO_AUTO_CREATE_USER" in line
    )
    assert b"80005" not in mariadb


def test_a_savepoint_whose_name_is_no_text_is_called_by_its_escapes(tmp_path: Path) -> None:
    data = (TESTDATA / "mysql-9.7" / "small" / "savepoints_ansi.binlog").read_bytes()
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes(data.replace(b'SAVEPOINT "a b"', b'SAVEPOINT "\xff\\\xfe"'))
    lines = sql_of(log, verify=False).decode().splitlines()
    assert [line for line in lines if "xff" in line] == ['SAVEPOINT "\\xff\\\\xfe";']


@pytest.mark.sweep
@pytest.mark.parametrize(
    "path",
    [path for path in SMALL if path.stem in {"all_types", "statements", "xa", "partial_json"}],
    ids=name_of,
)
def test_a_damaged_log_gives_nothing_but_errors_of_ours(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    damaged = tmp_path / path.name
    for place in range(200, len(data), len(data) // 15):
        damaged.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        for write in (sql_of, json_of):
            with suppress(BinxError):
                write(damaged, verify=False)


@pytest.mark.parametrize("server", SERVERS)
def test_inserts_of_one_table_that_follow_each_other_are_one_statement_up_to_a_size(server: str) -> None:
    path = TESTDATA / server / "small" / "charsets.binlog"

    def inserts(statement_bytes: int) -> list[bytes]:
        output = io.BytesIO()
        write_sql(everything([path]), output, Catalog(), statement_bytes)
        return INSERT.findall(output.getvalue())

    alone, together, all_in_one = inserts(1), inserts(2500), inserts(1024 * 1024)
    assert all(statement.count(b"\n") == 1 for statement in alone)
    assert len(alone) >= len(together) >= len(all_in_one) < len(alone)
    assert all(len(statement) <= 2500 or statement.count(b"\n") == 1 for statement in together)

    def rows(statements: list[bytes]) -> list[tuple[bytes, bytes]]:
        heads_and_rows = (statement.split(b" VALUES ", 1) for statement in statements)
        return [(head, row) for head, listed in heads_and_rows for row in listed[:-2].split(b",\n")]

    assert rows(together) == rows(all_in_one) == rows(alone)


@pytest.mark.parametrize("name", ["all_types", "json_without_key", "partial_json", "charsets"])
def test_documents_whose_values_have_types_that_sql_can_give_are_not_reported(name: str) -> None:
    path = TESTDATA / "mysql-9.7" / "small" / f"{name}.binlog"
    report = write_sql(everything([path]), io.BytesIO(), Catalog())
    assert not [warning for warning in report.warnings if warning.startswith("JSON documents of")]
