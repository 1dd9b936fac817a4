"""The normal form of statements is what MySQL's STATEMENT_DIGEST_TEXT() gives of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.event.statement import RowsQuery
from binx.event.statement_digest import digest_text
from binx.log.events import transaction_events
from binx.log.file import BinlogFile
from testdata.servers import MySQLServer, ServerError

STATEMENTS = Path(__file__).resolve().parent / "statements.txt"
LOGS = sorted((Path(__file__).resolve().parents[2] / "testdata/mariadb-10.11/shop").glob("mysql-bin.0*"))


def said_by(server: MySQLServer, sql: str) -> str:
    """MySQL's own normal form.

    Raises:
        ServerError: its grammar does not know the statement.
    """
    text = f"CONVERT(x'{sql.encode().hex()}' USING utf8mb4)"
    return str(server.query(f"SELECT STATEMENT_DIGEST_TEXT({text})", "digests")[0][0])


@pytest.fixture(scope="module")
def server(mysql: MySQLServer) -> MySQLServer:
    mysql.sql("CREATE DATABASE IF NOT EXISTS digests")
    return mysql


def logged() -> list[str]:
    """A statement of each normal form that the shop's rows were logged with."""
    forms: dict[str, str] = {}
    for path in LOGS:
        with BinlogFile.open(str(path)) as file:
            for table in file.scan():
                for index in range(len(table)):
                    start, end = table.value("start", index), table.value("end", index)
                    for _, event in transaction_events(file, start, end, table.format):
                        if isinstance(event, RowsQuery):
                            forms.setdefault(digest_text(event.text), event.text)
    return list(forms.values())


@pytest.mark.parametrize("sql", STATEMENTS.read_text("utf-8").splitlines())
def test_statements_of_all_sorts(server: MySQLServer, sql: str) -> None:
    assert digest_text(sql) == said_by(server, sql)


def test_statements_that_rows_were_logged_with(server: MySQLServer) -> None:
    asked = 0
    for sql in logged():
        try:
            expected = said_by(server, sql)
        except ServerError:
            # A statement of MariaDB's grammar alone.
            continue
        assert digest_text(sql) == expected
        asked += 1
    assert asked > 30
