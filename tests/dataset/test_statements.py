"""``statements/`` of a data set: what each statement did stands in columns, as the server's log has it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from binx.dataset.options import ParquetOptions, StatementTexts
from binx.dataset.parquet import to_parquet
from binx.dataset.personal.rules import parse_rule, personal_data
from binx.event.statement_digest import digest_text
from binx.log.file import BinlogFile, open_files
from tests.conftest import TESTDATA


def statements(log: Path, folder: Path) -> list[dict[str, Any]]:
    files = open_files([str(log)])
    [_] = to_parquet(files, folder)
    files[0].close()
    [path] = (folder / "statements").iterdir()
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_schema_statements_have_effects_and_others_have_none(server: str, tmp_path: Path) -> None:
    found = statements(TESTDATA / server / "small" / "ddl.binlog", tmp_path)
    for row in found:
        words = row["sql"].upper().split()
        if row["kind"] != "ddl":
            assert row["effects"] == [], row["sql"]
        for effect in row["effects"]:
            expected = {
                "CREATE TABLE": "created",
                "DROP TABLE": "dropped",
                "TRUNCATE TABLE": "truncated",
            }.get(" ".join(words[:2]))
            assert expected in (effect["action"], None), row["sql"]
            assert effect["action"] != "not_understood", row["sql"]
            written = row["sql"].replace("``", "`").casefold()
            assert effect["table"] is None or effect["table"].casefold() in written
    assert {effect["action"] for row in found for effect in row["effects"]} >= {"created", "altered"}


LOG = TESTDATA / "mariadb-10.11" / "shop" / "mysql-bin.000001"
"""A log with the texts that its rows were logged with (ANNOTATE_ROWS)."""


def exported(kept: StatementTexts, folder: Path, **more: Any) -> tuple[pa.Table, pa.Table]:
    """The statements that rows were logged with, and the changes' places and tables."""
    options = ParquetOptions(statements=kept, **more)
    with BinlogFile.open(str(LOG)) as file:
        list(to_parquet([file], folder, options=options))
    [path] = (folder / "statements").iterdir()
    table = pq.read_table(path)
    changes = [
        pq.read_table(found, columns=["_commit_version", "_statement"]).append_column(
            "table", pa.array([found.parent.name] * pq.read_metadata(found).num_rows)
        )
        for found in (folder / "changes").rglob("*.parquet")
    ]
    return table.filter(pc.equal(table["kind"], "rows")), pa.concat_tables(changes)


def test_each_change_has_the_statement_that_it_was_logged_with(tmp_path: Path) -> None:
    texts, changes = exported(StatementTexts.TEXT, tmp_path)
    said = {(row["commit_version"], row["ordinal"]): row for row in texts.to_pylist()}
    assert len(said) == texts.num_rows > 500
    for change in changes.to_pylist():
        statement = said[change["_commit_version"], change["_statement"]]
        assert change["table"] in statement["sql"]
        assert statement["digest_text"] == digest_text(statement["sql"])
        assert statement["digest"] == hashlib.sha256(statement["digest_text"].encode()).hexdigest()


def test_a_digest_has_no_values_and_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    texts, _ = exported(StatementTexts.DIGEST, tmp_path / "digest")
    assert set(texts["sql"].to_pylist()) == {""}
    assert not any("example.org" in text or "'" in text for text in texts["digest_text"].to_pylist())
    assert exported(StatementTexts.NONE, tmp_path / "none")[0].num_rows == 0


def test_with_rules_about_personal_data_neither_text_nor_digest_is_kept(tmp_path: Path) -> None:
    personal = personal_data((parse_rule("shop.customers.email"),), (), None)
    texts, _ = exported(StatementTexts.TEXT, tmp_path, personal=personal)
    found = [texts[name].to_pylist() for name in ("sql", "digest_text", "digest")]
    assert {value for column in found for value in column} == {"", None}
