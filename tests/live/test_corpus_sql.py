"""The SQL of old logs, run on today's servers, leads to the tables that their own reader's text leads to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from binx.errors import BinxError
from binx.event.format import Flavour
from binx.log.file import BinlogFile
from binx.rows.ddl.catalog import Catalog
from binx.rows.statements import EXPLICIT_DEFAULTS_SINCE, Statement
from binx.slices.changes import ordered_changes
from testdata.expected import tables_of
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from tests.conftest import CORPUS
from tests.live.logs import empty, needed
from tests.slices.sql.sql_of import everything, sql_of

OPTIONS = ("--gtid-mode=OFF_PERMISSIVE", "--log-bin-trust-function-creators=1")
"""Transactions with GTIDs and without are taken; functions need no DETERMINISTIC."""

OF_SURROUNDINGS = {"1790", "1837", "1813"}
"""What a client is told that goes on behind an error, with the GTID of the transaction that failed; and of a
tablespace that is there from the run before."""

UTF8MB4_SINCE = (8, 0, 1)
NOT_COUNTED = re.compile(r"AUTO_INCREMENT=\d+ ?")
EXPLICIT = b"SET @@session.explicit_defaults_for_timestamp=0;\n"
COMPILED_COLLATIONS = b"/*M!110201 SET @@session.character_set_collations='' */;\n"
"""As the servers had it that did not log it; their own readers leave this to whoever runs their text."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Flavour, Server]]:
    """A server of each kind."""
    mysql = needed(MySQLServer)(tmp_path_factory.mktemp("mysql"), OPTIONS)
    with mysql, needed(MariaDBServer)(tmp_path_factory.mktemp("mariadb")) as mariadb:
        yield {Flavour.MYSQL: mysql, Flavour.MARIADB: mariadb}


NO_SUCH_TABLE_TO_DROP = "1051"


def readers_text(path: Path, flavour: Flavour, servers: dict[Flavour, Server]) -> bytes:
    """What mysqlbinlog prints, or mariadb-binlog of what that cannot read."""
    try:
        return servers[flavour].mysqlbinlog(path)
    except ServerError:
        return servers[Flavour.MARIADB].mysqlbinlog(path)


def tables_after(server: Server, made: list[str], text: bytes) -> tuple[set[str], dict[str, object]]:
    """The numbers of the errors, and the tables as they are then."""
    empty(server)
    server.sql(";".join(["SET sql_log_bin=0", *made]))
    errors = {error.split()[1] for error in server.attempt(text)} - OF_SURROUNDINGS
    names = [f"`{database}`.`{table}`" for database, table in tables_of(server)]
    sums = server.query(f"CHECKSUM TABLE {', '.join(names)}") if names else []
    shown = server.sql(";".join(f"SHOW CREATE TABLE {name}" for name in names)) if names else ""
    return errors, {"sums": sums, "tables": NOT_COUNTED.sub("", shown)}


@pytest.mark.parametrize("path", sorted((CORPUS / "files").glob("*.binlog")), ids=lambda path: path.stem)
def test_the_sql_of_an_old_log_does_what_its_readers_text_does(
    path: Path, servers: dict[Flavour, Server]
) -> None:
    try:
        text = sql_of(path)
        with BinlogFile.open(str(path)) as file:
            flavour, version = file.format.flavour, file.format.version
        statements = [
            item
            for item in ordered_changes(everything([path]), Catalog(), lambda *_: [], resolve_only=True)
            if isinstance(item, Statement)
        ]
    except BinxError as error:
        pytest.skip(f"has no SQL: {error}")
    if not statements:
        pytest.skip("has no statements")
    explicit = version >= EXPLICIT_DEFAULTS_SINCE[flavour]
    before = (b"" if explicit else EXPLICIT) + COMPILED_COLLATIONS
    expected = before + readers_text(path, flavour, servers)
    databases = {"test", *(statement.db for statement in statements)} - {"", "mysql"}
    # Tables take the character set of their database, which was then the server's default.
    charset = "utf8mb4" if flavour is Flavour.MYSQL and version >= UTF8MB4_SINCE else "latin1"
    made = [f"CREATE DATABASE `{name}` CHARACTER SET {charset}" for name in sorted(databases)]
    server = servers[flavour]
    errors, tables = tables_after(server, made, text)
    wanted, wanted_tables = tables_after(server, made, expected)
    # A DROP that found only some of its tables is made to run.
    assert errors in (wanted, wanted - {NO_SUCH_TABLE_TO_DROP})
    assert tables == wanted_tables
