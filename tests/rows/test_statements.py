"""Statements as a log has them: what each is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.statements import Statement
from tests.log import building


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("INSERT INTO t VALUES (1)", "dml"),
        ("(SELECT f())", "dml"),
        ("INSERT`t` VALUES (1)", "dml"),
        ("/* ApplicationName=DBeaver */ UPDATE t SET a = 1", "dml"),
        ("/*Metabase*/ DELETE FROM t", "dml"),
        ("-- a line\n# another\nREPLACE INTO t VALUES (1)", "dml"),
        ("INSERT/**/INTO t VALUES (1)", "dml"),
        ("SET STATEMENT max_statement_time=5, sql_mode=' FOR ' FOR INSERT INTO t VALUES (1)", "dml"),
        ("SET STATEMENT max_statement_time=5 FOR ALTER TABLE t ADD b INT", "ddl"),
        ("SET STATEMENT max_statement_time=5", "ddl"),
        ("SET PASSWORD = 'it''s", "ddl"),
        ("/*!40000 ALTER TABLE t DISABLE KEYS */", "ddl"),
        ("/* from the application */ CREATE TABLE t (a INT)", "ddl"),
        ("updates", "ddl"),
        ("", "ddl"),
        ("XA COMMIT 'x'", "other"),
    ],
)
def test_what_a_statement_is_about_is_told_behind_comments(sql: str, kind: str, tmp_path: Path) -> None:
    log = tmp_path / "log.000001"
    log.write_bytes(building.whole_log(building.gtid(), building.query(sql)))
    with BinlogFile.open(str(log)) as file:
        decoder = ChangeDecoder(file, Catalog())
        (statement,) = (
            item for table in file.scan(Level.LEVEL_EVENTS) for item in decoder.decode(table, table.mask())
        )
    assert isinstance(statement, Statement)
    assert statement.kind == kind
