"""What binx knows of schema statements, and of the normal form of SQL, is what the servers say.

``make test-live SEED=… ROUNDS=…`` runs as many series as asked, each of its own seed.
"""

from __future__ import annotations

import json
import random
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from binx.event.statement import RowsQuery
from binx.event.statement_digest import digest_text
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.log.transaction_events import transaction_events
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import STATEMENTS_ONLY, ChangeDecoder
from testdata.servers import MySQLServer, Server, ServerError
from tests.live.connection import Connection
from tests.live.test_differential import ROUNDS, seed_of
from tests.live.workload.definitions import DATABASES, Definitions
from tests.rows.ddl.make_expected import COLUMNS
from tests.rows.described import binx_says, server_says

STATEMENTS = 100
SERIES = 10 if ROUNDS else 1
LOG_STATUS = {"mysqld": "SHOW BINARY LOG STATUS", "mariadbd": "SHOW BINLOG STATUS"}

Tables = dict[str, list[list[Any]]]


class Step(NamedTuple):
    """A statement that the server logged, and the tables after it."""

    sql: str
    tables: Tables


def tables_of(watch: Connection) -> Tables:
    """What the server has, with the facts of each column."""
    tables: Tables = {}
    for line in watch.run(COLUMNS.rstrip("; \n")):
        if not line.startswith("["):
            raise ServerError(line)
        db, table, *facts = json.loads(line)
        facts[2], facts[7] = bool(facts[2]), bool(facts[7])
        tables.setdefault(f"{db}.{table}", []).append(facts)
    return tables


def run(server: Server, seed: str) -> tuple[Path, dict[int, Step]]:
    """Run a series; gives the log, and each step by where in the log it ends."""
    steps: dict[int, Step] = {}
    statements = Definitions(random.Random(seed), mariadb=server.daemon == "mariadbd")
    server.sql("".join(f"DROP DATABASE IF EXISTS {db};" for db in DATABASES))
    server.flush_logs()
    with Connection(server) as session, Connection(server) as watch:
        for database in DATABASES:
            session.run(f"CREATE DATABASE {database} CHARACTER SET latin1")
        session.run(f"USE {DATABASES[0]}")
        tables: Tables = {}
        for _ in range(STATEMENTS):
            columns = {name: [str(facts[0]) for facts in found] for name, found in tables.items()}
            spelling = statements.spelling
            sql = statements.statement(columns)
            session.run(spelling.encoded(sql))
            end = int(watch.run(LOG_STATUS[server.daemon])[0].split("\t")[1])
            if end not in steps:
                tables = tables_of(watch)
                steps[end] = Step(sql, tables)
    return server.binlogs()[-1], steps


def differences(catalog: Catalog, step: Step) -> list[str]:
    """What the catalog does not know as the server does."""
    ours, theirs = {f"{table.db}.{table.name}" for table in catalog}, step.tables.keys()
    found = [f"only binx has {sorted(ours - theirs)}, only the server {sorted(theirs - ours)}"]
    found = found if ours != theirs else []
    for name in sorted(ours & theirs):
        definition = catalog.find(*name.split(".", 1))
        assert definition is not None
        if definition.unknown is not None:
            found.append(f"{name}: {definition.unknown}")
            continue
        columns = step.tables[name]
        pairs = zip_longest(server_says(columns), binx_says(definition, columns))
        found += [f"{name}: the server has {one},\nbinx {other}" for one, other in pairs if one != other]
    return found


def follow(log: Path, steps: dict[int, Step]) -> str:
    """The first step after which the catalog differs, and how; empty where there is none."""
    catalog = Catalog()
    with BinlogFile.open(str(log)) as file:
        decoder = ChangeDecoder(file, catalog, lambda database, table: False)
        for table in Scan(file, Level.LEVEL_EVENTS):
            for index in range(len(table)):
                marks = bytearray(len(table))
                marks[index] = STATEMENTS_ONLY
                for _ in decoder.decode(table, marks):
                    pass
                step = steps.get(table.value("end", index))
                if step is not None and (found := differences(catalog, step)):
                    return "\n".join([step.sql, *found])
    return ""


@pytest.mark.parametrize("number", range(SERIES * (ROUNDS or 1)))
def test_the_catalog_follows_random_schema_statements(server: Server, number: int) -> None:
    seed = seed_of(number)
    log, steps = run(server, seed)
    difference = follow(log, steps)
    assert not difference, f"SEED={seed} on {server.daemon}: {difference}"
    assert len(steps) > STATEMENTS / 10, "the server takes hardly a statement"


DIGESTED = Path(__file__).resolve().parent / "statements.txt"
LOGS = sorted((Path(__file__).resolve().parents[2] / "testdata/mariadb-10.11/shop").glob("mysql-bin.0*"))


def said_by(server: MySQLServer, sql: str) -> str:
    """MySQL's own normal form."""
    text = f"CONVERT(x'{sql.encode().hex()}' USING utf8mb4)"
    return str(server.query(f"SELECT STATEMENT_DIGEST_TEXT({text})", "digests")[0][0])


@pytest.fixture(scope="module")
def digests(mysql: MySQLServer) -> MySQLServer:
    mysql.sql("CREATE DATABASE IF NOT EXISTS digests")
    return mysql


def logged() -> list[str]:
    """A statement of each normal form that the shop's rows were logged with."""
    forms: dict[str, str] = {}
    for path in LOGS:
        with BinlogFile.open(str(path)) as file:
            for table in Scan(file):
                for index in range(len(table)):
                    start, end = table.value("start", index), table.value("end", index)
                    for _, event in transaction_events(file, start, end, table.format):
                        if isinstance(event, RowsQuery):
                            forms.setdefault(digest_text(event.text), event.text)
    return list(forms.values())


@pytest.mark.parametrize("sql", DIGESTED.read_text("utf-8").splitlines())
def test_statements_of_all_sorts(digests: MySQLServer, sql: str) -> None:
    assert digest_text(sql) == said_by(digests, sql)


def test_statements_that_rows_were_logged_with(digests: MySQLServer) -> None:
    asked = 0
    for sql in logged():
        try:
            expected = said_by(digests, sql)
        except ServerError:
            # A statement of MariaDB's grammar alone.
            continue
        assert digest_text(sql) == expected
        asked += 1
    assert asked > 30
