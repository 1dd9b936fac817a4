"""A dump of definitions is as of one moment, from which the logs' statements go on; others stand between."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from binx.errors import UsageError
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.catalog_record import catalog_record, recorded_catalog
from binx.rows.ddl.dump_moment import END, START, UNKNOWN, Moment, given_moment, own_moment
from binx.rows.ddl.schema_dump import dump_of, read_dump
from binx.rows.decoder import ChangeDecoder
from tests.conftest import TESTDATA

LOG = TESTDATA / "mysql-9.7" / "small" / "reordered.binlog"
"""``w`` (id, b, c) becomes (id, c, b) in transaction 4 and (id, c, d) in 7; ``still`` is never changed."""

_NEXT = re.search(r"GTID_NEXT= '([0-9a-f-]+):1'", LOG.with_suffix(".txt").read_text())
UUID = "" if _NEXT is None else _NEXT[1]

AT_START = (
    "USE small; CREATE TABLE w (id INT PRIMARY KEY, b INT, c INT); CREATE TABLE still (id INT, b INT, c INT)"
)
BETWEEN = AT_START.replace("b INT, c INT)", "c INT, b INT)", 1)
AT_END = AT_START.replace("b INT, c INT)", "c INT, d INT)", 1)

MYSQL_HEAD = f"""-- MySQL dump 10.13  Distrib 9.7.4, for Linux (x86_64)
SET @@SESSION.SQL_LOG_BIN= 0;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '{UUID}:1-5';
-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='mysql-bin.000002', SOURCE_LOG_POS=7625;
"""
MARIADB_HEAD = """-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)
-- CHANGE MASTER TO MASTER_USE_GTID=slave_pos;
-- CHANGE MASTER TO MASTER_LOG_FILE='mysql-bin.000002', MASTER_LOG_POS=385;
-- SET GLOBAL gtid_slave_pos='0-10-10';
"""


def named(
    dump: str, moment: Moment | None, log: Path = LOG, *, recorded: bool = False
) -> dict[str, list[str]]:
    """How the columns of each image of ``w`` are called, as one word, and those of ``still``."""
    with BinlogFile.open(str(log)) as file:
        catalog = dump_of(dump, "dump.sql", moment).known_in([file])
        if recorded:
            catalog = recorded_catalog(catalog_record(catalog))
        decoder = ChangeDecoder(file, catalog)
        batches = [
            item
            for table in file.scan(Level.LEVEL_TABLES)
            for item in (*decoder.decode(table, table.mask()), *decoder.finish())
            if isinstance(item, ChangeBatch)
        ]
    words: dict[str, list[str]] = {}
    for batch in sorted(batches, key=lambda batch: batch.versions):
        columns = "".join(column.name for column in batch.table.resolved.columns).removeprefix("id")
        words.setdefault(batch.table.name, []).append(columns)
    return words


UNNAMED = "c1c2c3"


@pytest.mark.parametrize(
    ("dump", "moment", "expected"),
    [
        (AT_START, START, ["bc", "cb", "cd"]),
        (AT_END, END, [UNNAMED, UNNAMED, "cd"]),
        (AT_END, UNKNOWN, [UNNAMED, UNNAMED, UNNAMED]),
        (AT_END, None, [UNNAMED, UNNAMED, UNNAMED]),
        (BETWEEN, given_moment(f"{UUID}:5"), [UNNAMED, "cb", "cd"]),
        (BETWEEN, given_moment(f"{UUID}:1-6"), [UNNAMED, "cb", "cd"]),
        (AT_START, given_moment(f"{UUID}:3"), ["bc", "cb", "cd"]),
        (AT_END, given_moment("2100-01-01"), [UNNAMED, UNNAMED, "cd"]),
        (AT_START, given_moment("2001-01-01"), ["bc", "cb", "cd"]),
        (AT_END, given_moment("0-1-7"), [UNNAMED, UNNAMED, UNNAMED]),
        (BETWEEN, Moment("", "reordered.binlog", 1239), [UNNAMED, "cb", "cd"]),
        (AT_START, Moment("", "reordered.binlog", 4), ["bc", "cb", "cd"]),
        (MYSQL_HEAD + BETWEEN, None, [UNNAMED, "cb", "cd"]),
    ],
    ids=lambda value: value.text if isinstance(value, Moment) else None,
)
def test_a_definition_is_taken_for_a_row_only_where_no_statement_on_its_table_stands_between(
    dump: str, moment: Moment | None, expected: Sequence[str]
) -> None:
    words = named(dump, moment)
    assert [word for word, _ in groupby(words["w"])] == [word for word, _ in groupby(expected)]
    assert set(words["still"]) == {"bc"}
    assert named(dump, moment, recorded=True) == words


def test_why_a_definition_is_not_taken_is_said() -> None:
    with BinlogFile.open(str(LOG)) as file:
        for moment, said in (
            (END, "as of the end of the logs, behind “ALTER"),
            (UNKNOWN, "does not say as of when"),
        ):
            catalog = dump_of(AT_END, "dump.sql", moment).known_in([file])
            definition = catalog.lookup("small", "w")
            assert definition is not None
            assert said in str(definition.unknown)
            assert "reordered.binlog, offset" in str(definition.unknown)


def test_the_moment_is_behind_the_files_name_or_in_the_dumps_comments(tmp_path: Path) -> None:
    path = tmp_path / "a@b.sql"
    path.write_text(AT_START)
    assert read_dump(str(path)).moment == UNKNOWN
    assert read_dump(f"{path}@start").moment == START
    assert read_dump(f"{path}@END").moment == END
    assert read_dump(f"{path}@start").path == str(path)
    with pytest.raises(UsageError, match="expected start, end, a GTID or a time"):
        read_dump(f"{path}@then")
    mysql, mariadb = own_moment(MYSQL_HEAD), own_moment(MARIADB_HEAD)
    assert (mysql.file, mysql.position, str(mysql.gtids)) == ("mysql-bin.000002", 7625, f"{UUID}:1-5")
    assert (mariadb.file, mariadb.position, str(mariadb.gtids)) == ("mysql-bin.000002", 385, "0-10-1..10")
    assert own_moment(AT_START) == UNKNOWN


def test_without_logs_all_tables_are_known() -> None:
    catalog = dump_of(AT_END).known_in([])
    assert isinstance(catalog, Catalog)
    assert catalog.lookup("small", "w") is not None
