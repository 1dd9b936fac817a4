"""The CREATE TABLE that binx writes from its model makes the table that the server has.

After random schema statements each table is dropped and made again from what the log says; SHOW CREATE TABLE
must print what it printed before. What is not compared:

- AUTO_INCREMENT=n of the table, which follows from its rows;
- that a column names the character set and collation that its table has as default anyway, or the collation
  that is its character set's (MySQL prints them where the statement named them);
- that a column that takes NULL has no default, not even NULL, which ALTER TABLE … DROP DEFAULT alone can say;
- the character set before a literal in ASCII, which MySQL sets to the column's when it makes a table again;
- the order of foreign keys and of CHECK constraints among themselves, and of unique keys over expressions;
- ENGINE, which the log does not have where a statement leaves it to the server, is the server's here too;
- a BLOB's default in hexadecimal is the text with the same bytes;
- MariaDB gives the first TIMESTAMP NOT NULL the present time as a default with some ALTER TABLE of sessions
  with explicit_defaults_for_timestamp=0, and not with others that are alike. MySQL lets it follow the clock
  with all of these, and logs that setting only of statements that have a TIMESTAMP.

``make test-live ROUNDS=…`` runs ten times as many rounds as asked.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import STATEMENTS_ONLY, ChangeDecoder
from binx.sql.create_table import create_sequence, create_table
from binx.sql.dialect import SqlDialect
from testdata.servers import Server
from tests.live.connection import Connection
from tests.live.logs import empty, export_last
from tests.live.test_differential import ROUNDS, seed_of
from tests.live.workload.whole_tables import DATABASES, Tables

STATEMENTS = 12
BATCHES = 5
IN_BATCH = 2 * (ROUNDS or 1)

LISTED = (
    "SELECT CONCAT(IF(table_type = 'SEQUENCE', table_type, 'TABLE'),"
    " ' `', table_schema, '`.`', table_name, '`')"
    f" FROM information_schema.tables WHERE table_schema IN ({', '.join(map(repr, DATABASES))})"
    " ORDER BY table_type = 'SEQUENCE', 1"
)


def shown(watch: Connection, place: str) -> str:
    """What the server says of a table or sequence."""
    lines = watch.run(f"SHOW CREATE {place}")
    return "\n".join([lines[0].partition("\t")[2] or lines[0], *lines[1:]])


def normal(text: str, collations: dict[str, str]) -> str:
    """SHOW CREATE TABLE without what is not compared; ``collations`` are the defaults of character sets."""
    lines = text.split("\n")
    tail = next((index for index, line in enumerate(lines) if line.startswith(") ")), 0)
    lines[tail] = re.sub(r" AUTO_INCREMENT=\d+", "", lines[tail])
    items = [re.sub(r"\b_\w+(?='[ -~]*')", "", line.rstrip(",")) for line in lines[1:tail]]
    items = [re.sub(r"^(  `[^`]+` .*) DEFAULT NULL", r"\1", item) for item in items]
    items = [re.sub(r"(?<= DEFAULT )0x([0-9a-f]+)\b", as_text, item) for item in items]
    charset = re.search(r"DEFAULT CHARSET=(\w+)(?: COLLATE=(\w+))?", lines[tail])
    if charset is not None:
        collation = f" COLLATE {charset[2] or collations[charset[1]]}"
        items = [item.replace(f" CHARACTER SET {charset[1]}{collation}", "") for item in items]
        items = [item.replace(collation, "") for item in items]
    for name, collation in collations.items():
        short = f" CHARACTER SET {name}"
        items = [item.replace(f"{short} COLLATE {collation} ", f"{short} ") for item in items]
    sorts = [item for item in items if re.match(r"  CONSTRAINT|  UNIQUE KEY `[^`]+` \(.*\(", item)]
    items = [item for item in items if item not in sorts] + sorted(sorts)
    return "\n".join([lines[0], *items, *lines[tail:]])


def as_text(found: re.Match[str]) -> str:
    """A literal of bytes as the text that it is, if it is one."""
    try:
        return f"'{bytes.fromhex(found[1]).decode()}'"
    except ValueError:
        return found[0]


def without_implied(text: str) -> str:
    """SHOW CREATE TABLE without what a first TIMESTAMP NOT NULL may have been given."""
    defaults = r"( timestamp(?:\(\d\))? NOT NULL) DEFAULT (current_timestamp\(\d?\)) ON UPDATE \2"
    clock = r"( timestamp(?:\(\d\))? NOT NULL) ON UPDATE CURRENT_TIMESTAMP(?:\(\d\))?"
    return re.sub(clock, r"\1", re.sub(defaults, r"\1", text, count=1), count=1)


def run(server: Server, seed: str) -> tuple[Path, dict[str, str], list[str]]:
    """Run a round; gives the log, what the server says of each table, and the statements."""
    statements = Tables(random.Random(seed), mariadb=server.daemon == "mariadbd")
    server.sql(
        "SET foreign_key_checks = 0, sql_mode = '';"
        + "".join(f"DROP DATABASE IF EXISTS `{db}`;" for db in DATABASES)
    )
    server.flush_logs()
    taken = []
    with Connection(server) as session, Connection(server) as watch:
        for sql in statements.begin():
            session.run(sql)
            taken.append(sql)
        for _ in range(STATEMENTS):
            sql = statements.statement()
            if not any(line.startswith("ERROR") for line in session.run(sql)):
                taken.append(sql)
        tables = {place: shown(watch, place) for place in watch.run(LISTED)}
    # MySQL cannot show a generated column that compares a TIMESTAMP with a number.
    tables = {place: text for place, text in tables.items() if not text.startswith("ERROR")}
    return server.binlogs()[-1], tables, taken


def known(log: Path) -> tuple[Catalog, SqlDialect]:
    """What binx knows at the end of a log."""
    catalog = Catalog()
    with BinlogFile.open(str(log)) as file:
        decoder = ChangeDecoder(file, catalog, lambda database, table: False)
        for table in Scan(file, Level.LEVEL_EVENTS):
            for _ in decoder.decode(table, bytearray([STATEMENTS_ONLY]) * len(table)):
                pass
        return catalog, SqlDialect.of(file.format)


def default_collations(session: Connection) -> dict[str, str]:
    """The collation that each character set has by itself."""
    defaults = session.run(
        "SELECT character_set_name, default_collate_name FROM information_schema.character_sets"
    )
    return dict(line.split("\t") for line in defaults)


def differences(server: Server, seed: str) -> list[str]:
    """The tables that are not as they were, with all that helps to see why."""
    log, tables, taken = run(server, seed)
    catalog, dialect = known(log)
    found = []
    is_implied = any("explicit_defaults_for_timestamp = 0" in sql for sql in taken)
    with Connection(server) as session, Connection(server) as watch:
        collations = default_collations(session)
        session.run("SET foreign_key_checks = 0, sql_log_bin = 0")
        for place, before in tables.items():
            kind, _, name = place.partition(" ")
            definition = catalog.lookup(*name.strip("`").split("`.`"))
            if definition is None or definition.unknown is not None:
                found.append(f"{place} is not known: {definition and definition.unknown}\n{before}")
                continue
            if kind == "SEQUENCE":
                statements = [create_sequence(definition)]
            else:
                statements = [*create_table(definition, dialect).statements()]
            session.run(f"DROP {place}")
            errors = [line for statement in statements for line in session.run(statement)]
            after = shown(watch, place)
            same = normal(after, collations) == normal(before, collations)
            if not same and is_implied:
                same = normal(after, collations) == normal(without_implied(before), collations)
            if not same or any(line.startswith("ERROR") for line in errors):
                found.append(
                    "\n".join(["", *errors, *statements, "the server had", before, "and has", after])
                )
    return [*found, *taken] if found else []


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_table_made_again_is_what_the_server_shows(server: Server, batch: int) -> None:
    for number in range(batch * IN_BATCH, (batch + 1) * IN_BATCH):
        seed = seed_of(number)
        found = differences(server, seed)
        assert not found, f"SEED={seed} on {server.daemon}:\n" + "\n".join(found)


def test_a_schema_record_makes_the_table_whatever_time_zones_its_defaults_are_of(
    server: Server, tmp_path: Path
) -> None:
    empty(server)
    server.sql(
        "CREATE DATABASE made; SET time_zone = '+02:00';"
        "CREATE TABLE made.t (id INT PRIMARY KEY, a TIMESTAMP DEFAULT '2020-01-01 12:00:00');"
        "SET time_zone = '+05:00'; ALTER TABLE made.t ADD b TIMESTAMP DEFAULT '2020-01-01 12:00:00';"
        "INSERT INTO made.t (id) VALUES (1)"
    )
    export_last(server, tmp_path)
    [record] = (tmp_path / "schemas" / "made" / "t").glob("*.json")
    before = server.sql("SHOW CREATE TABLE made.t")
    server.sql(
        f"DROP TABLE made.t; SET time_zone = '+00:00'; {json.loads(record.read_text())['create_table']}"
    )
    assert server.sql("SHOW CREATE TABLE made.t") == before


RARE = (
    "CREATE TABLE made.t (id INT UNIQUE PRIMARY KEY, v INT)",
    "CREATE TABLE made.t (v INT); ALTER TABLE made.t ADD id SERIAL PRIMARY KEY",
    "CREATE TABLE made.t (v VARCHAR(5)) CHARACTER SET DEFAULT",
    "CREATE TABLE made.t (v VARCHAR(5)) COLLATE DEFAULT",
    "CREATE TABLE made.t (v VARCHAR(5)) CHARACTER SET DEFAULT COLLATE latin1_german1_ci",
    "CREATE TABLE made.t (v VARCHAR(5)) CHARACTER SET greek COLLATE DEFAULT",
    "CREATE TABLE made.t (v VARCHAR(5)) CHARACTER SET greek;"
    " ALTER TABLE made.t CHARACTER SET DEFAULT, ADD w VARCHAR(5)",
    "CREATE TABLE made.t (v VARCHAR(5)) CHARACTER SET greek;"
    " ALTER TABLE made.t CONVERT TO CHARACTER SET DEFAULT",
    "ALTER DATABASE made CHARACTER SET DEFAULT; CREATE TABLE made.t (v VARCHAR(5))",
    "CREATE TABLE made.t (v INT); CREATE INDEX i ON made.t (v) NOWAIT COMMENT 'x' USING BTREE",
    "CREATE TABLE made.t (v INT); CREATE INDEX i ON made.t (v) WAIT 5 COMMENT 'x' LOCK=NONE",
    *(
        "CREATE TABLE made.p (i INT PRIMARY KEY); CREATE TABLE made.t (v INT);"
        f" ALTER TABLE made.t ADD {constraint} (v) REFERENCES made.p (i) ON DELETE CASCADE;"
        f" ALTER TABLE made.t ADD {constraint} (v) REFERENCES made.p (i), ADD w INT"
        for constraint in (
            "CONSTRAINT f FOREIGN KEY IF NOT EXISTS",
            "FOREIGN KEY IF NOT EXISTS f",
            "CONSTRAINT f FOREIGN KEY IF NOT EXISTS g",
            "CONSTRAINT f FOREIGN KEY g",
            "FOREIGN KEY IF NOT EXISTS",
        )
    ),
    "CREATE TABLE made.p (i INT PRIMARY KEY); CREATE TABLE made.t (v INT);"
    " ALTER TABLE made.t ADD COLUMN IF NOT EXISTS v INT REFERENCES made.p (i),"
    " ADD COLUMN IF NOT EXISTS w INT REFERENCES made.p (i)",
    "CREATE TABLE made.t (id INT AUTO_INCREMENT NULL UNIQUE, v INT)",
    "CREATE TABLE made.t (id INT PRIMARY KEY) PARTITION BY KEY () PARTITIONS 3;"
    " ALTER TABLE made.t ADD PARTITION (PARTITION x, PARTITION y)",
    "CREATE TABLE made.t (id INT PRIMARY KEY) PARTITION BY HASH (id);"
    " ALTER TABLE made.t ADD PARTITION (PARTITION x); ALTER TABLE made.t ADD PARTITION PARTITIONS 2",
    f"CREATE TABLE made.p (i INT, {', '.join(f'CHECK (i <> {number})' for number in range(11))},"
    " CONSTRAINT `B` CHECK (i < 99)); CREATE TABLE made.t LIKE made.p",
    "CREATE TABLE made.t (y YEAR(2) DEFAULT 99)",
    "CREATE TABLE made.t (id INT, c INT WITH SYSTEM VERSIONING, d INT WITHOUT SYSTEM VERSIONING, e INT);"
    " SET system_versioning_alter_history = KEEP; ALTER TABLE made.t ADD f INT",
    "CREATE TABLE made.p (i INT) PARTITION BY RANGE (i) (PARTITION a VALUES LESS THAN (9),"
    " PARTITION b VALUES LESS THAN (99)); ALTER TABLE made.p CONVERT PARTITION a TO TABLE made.t",
)
"""Clauses that random statements do not have; MariaDB takes all of them, MySQL few."""


@pytest.mark.parametrize("sql", RARE)
def test_rare_clauses_make_the_table_that_the_server_shows(server: Server, sql: str) -> None:
    server.sql("DROP DATABASE IF EXISTS made")
    server.flush_logs()
    with Connection(server) as session:
        for statement in ("CREATE DATABASE made CHARACTER SET latin1 COLLATE latin1_bin", *sql.split(";")):
            session.run(statement)
        before = shown(session, "TABLE `made`.`t`")
        if before.startswith("ERROR"):
            assert server.daemon == "mysqld"
            return
        catalog, dialect = known(server.binlogs()[-1])
        definition = catalog.lookup("made", "t")
        assert definition is not None
        session.run("SET foreign_key_checks = 0, sql_log_bin = 0; DROP TABLE made.t")
        for statement in create_table(definition, dialect).statements():
            session.run(statement)
        collations = default_collations(session)
        assert normal(shown(session, "TABLE `made`.`t`"), collations) == normal(before, collations)
