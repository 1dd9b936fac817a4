"""One round of random undo: a mistake, perhaps changes since, and what the script makes of both."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from binx.rows.ddl.catalog import Catalog
from binx.slices.changes import Selected
from binx.slices.sql.on_conflict import OnConflict
from binx.slices.sql.undo import write_undo
from testdata.servers import MariaDBServer, Server, ServerError
from testdata.small import drop_databases
from tests.slices.sql.sql_of import everything

KEYS = {"wide": "id", "named": "name", "parent": "id", "child": "id", "grandchild": "id", "pair": "a, b"}
WIDE = "v, HEX(s), j, d, f, g, w, e, m, HEX(b), n, HEX(l), at, u"
ACTIONS = ("CASCADE", "SET NULL", "RESTRICT", "NO ACTION")
TEXTS = ("a", "A", "a ", "é", "日本", "o''clock", "back\\\\slash", "line\\nbreak", "", "ß", "ss")
LATIN = ("a", "A", "é", "ß", "a ", "")
DOCUMENTS = (
    '{"a": 1}', '{"a": 1.0}', "[1, 2.5, null, true]", '{"n": {"deep": ["é", "日本"]}}', '"text"', "1e300",
    "-0.1", '{"b": 12345678901234567890}', "{}", "[]",
)  # fmt: skip

Rows = dict[str, dict[str, tuple[str | None, ...]]]


@dataclass
class UndoRound:
    """A round on one server.

    Args:
        server: running; all that it has is dropped.
        seed: decides what is done.
    """

    server: Server
    seed: str
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pick = random.Random(self.seed)
        self.mariadb = isinstance(self.server, MariaDBServer)

    def play(self) -> str:
        """Play the round; gives what the undo came to.

        Raises:
            AssertionError: a row is neither as it was nor listed.
        """
        pick, server = self.pick, self.server
        drop_databases(server)
        server.reset()
        self._run(self._tables())
        self._run(["USE r", *self._statements(40, inserts=True)])
        before = self._rows()
        server.flush_logs()
        self._run(["USE r", *self._transactions(pick.randint(1, 6))])
        changed = self._rows()
        server.flush_logs()
        if pick.random() < 0.6:
            self._run(["USE r", *self._transactions(pick.randint(1, 3))])
        since = self._rows()
        made, mistake = server.binlogs()[:2]
        return self._undo(made, mistake, before, changed, since)

    def _undo(self, made: Path, mistake: Path, before: Rows, changed: Rows, since: Rows) -> str:
        script = undo_script(made, mistake, OnConflict.STOP)
        try:
            self.server.sql(script)
        except ServerError as error:
            assert self._rows() == since, "something was undone in spite of an error"
            if "NOTHING WAS UNDONE" not in str(error):
                return f"error: {re.sub(r'[0-9]+', 'N', str(error))[:60]}"
        else:
            self._compare(before, changed, since, "")
            return "undone"
        script = undo_script(made, mistake, OnConflict.SKIP)
        try:
            told = self.server.sql(script)
        except ServerError as error:
            assert self._rows() == since, "something was undone in spite of an error"
            return f"skip error: {re.sub(r'[0-9]+', 'N', str(error))[:60]}"
        self._compare(before, changed, since, told)
        return "skipped"

    def _compare(self, before: Rows, changed: Rows, since: Rows, told: str) -> None:
        """Rows of the mistake are as before, or listed; all others as they were left since."""
        found = self._rows()
        for table in before:
            states = (before[table], changed[table], since[table], found[table])
            missing: list[str] = []
            listed = set(re.findall(rf"r\.{table} (.*?); ", told))
            for key in set().union(*states):
                is_now, was, left = found[table].get(key), before[table].get(key), since[table].get(key)
                if was == changed[table].get(key):
                    assert is_now == left, (table, key, was, left, is_now, told)
                elif is_now != was and _listed(table, key) not in listed:
                    missing.append(f"{table} {key}: was {was}, left {left}, is {is_now}")
                elif is_now != was:
                    listed.discard(_listed(table, key))
            # A row that got another key is listed by that one.
            assert len(missing) <= len(listed), (missing, told)

    def _rows(self) -> Rows:
        found: Rows = {}
        for table, key in KEYS.items():
            shown = WIDE if table == "wide" else "x.*"
            rows = self.server.query(f"SELECT CONCAT_WS(',', {key}), {shown} FROM r.{table} x")
            found[table] = {str(row[0]): row[1:] for row in rows}
        return found

    def _run(self, statements: list[str]) -> None:
        """Run statements in one session; those that fail, as on foreign keys, are left out."""
        self.log += statements
        self.server.attempt((";\n".join(statements) + ";\n").encode())

    def _tables(self) -> list[str]:
        pick = self.pick
        actions = [f"ON DELETE {pick.choice(ACTIONS)} ON UPDATE {pick.choice(ACTIONS)}" for _ in range(2)]
        charset = pick.choice(("latin1", "utf8mb4", "utf8mb4"))
        trigger = (
            "CREATE TRIGGER t AFTER UPDATE ON wide FOR EACH ROW INSERT INTO audit VALUES (NEW.id, NEW.s)"
        )
        return [
            f"CREATE DATABASE r CHARACTER SET {charset}",
            "USE r",
            "CREATE TABLE wide (id INT PRIMARY KEY, v INT, s VARCHAR(20) CHARACTER SET utf8mb4, j JSON,"
            " d DOUBLE, f FLOAT, g INT AS (v + 1) STORED, w INT AS (v * 2) VIRTUAL, e ENUM('x', 'y', 'é'),"
            " m SET('p', 'q', 'r'), b VARBINARY(10), n DECIMAL(12, 3), l VARCHAR(10) CHARACTER SET latin1,"
            " at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),"
            " u INT, UNIQUE (u)) ENGINE=InnoDB",
            "CREATE TABLE named (name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY,"
            " v INT, l TEXT) ENGINE=InnoDB",
            "CREATE TABLE pair (a INT, b VARCHAR(9), v DATETIME(6), PRIMARY KEY (b, a)) ENGINE=InnoDB",
            "CREATE TABLE audit (id INT, s VARCHAR(20) CHARACTER SET utf8mb4) ENGINE=InnoDB",
            "CREATE TABLE parent (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
            "CREATE TABLE child (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES parent (id)"
            f" {actions[0]}) ENGINE=InnoDB",
            "CREATE TABLE grandchild (id INT PRIMARY KEY, cid INT, FOREIGN KEY (cid) REFERENCES child (id)"
            f" {actions[1]}) ENGINE=InnoDB",
            *([trigger] if pick.random() < 0.3 else []),
        ]

    def _transactions(self, count: int) -> Iterator[str]:
        for _ in range(count):
            if self.pick.random() < 0.4:
                yield from self._statements(1)
                continue
            yield "BEGIN"
            yield from self._statements(self.pick.randint(1, 5))
            if self.pick.random() < 0.2:
                yield "SAVEPOINT s"
                yield from self._statements(2)
                yield "ROLLBACK TO s"
            yield "COMMIT"

    def _statements(self, count: int, *, inserts: bool = False) -> Iterator[str]:
        pick = self.pick
        for _ in range(count):
            yield pick.choice((self._insert, self._insert if inserts else self._change))()

    def _value(self, column: str) -> str:
        pick = self.pick
        text = {
            "v": str(pick.randint(-5, 5)),
            "s": f"'{pick.choice(TEXTS)}'",
            "j": f"'{pick.choice(DOCUMENTS)}'",
            "d": pick.choice(("0e0", "-0e0", "0.1", "1e100", "-1.5")),
            "f": pick.choice(("0e0", "-0e0", "0.1", "3.4e38", "-1.5")),
            "e": str(pick.randint(1, 3)),
            "m": str(pick.randint(0, 7)),
            "b": pick.choice(("x'00ff'", "x''", "'abc'")),
            "n": pick.choice(("1.5", "-123456.789", "0")),
            "l": f"'{pick.choice(LATIN)}'",
            "u": str(pick.randint(1, 60)),
        }[column]
        return "NULL" if pick.random() < 0.15 else text

    def _insert(self) -> str:
        pick, number = self.pick, self.pick.randint(1, 30)
        columns = "v", "s", "j", "d", "f", "e", "m", "b", "n", "l", "u"
        return pick.choice(
            (
                f"INSERT INTO wide (id, {', '.join(columns)}) VALUES"
                f" ({number}, {', '.join(map(self._value, columns))})",
                f"INSERT INTO named VALUES ('{pick.choice(TEXTS)}', {self._value('v')}, {self._value('l')})",
                f"INSERT INTO pair VALUES ({pick.randint(1, 4)}, '{pick.choice('abc')}', NOW(6))",
                f"INSERT INTO parent VALUES ({pick.randint(1, 9)}, {self._value('v')})",
                f"INSERT INTO child VALUES ({number}, {pick.randint(1, 9)})",
                f"INSERT INTO grandchild VALUES ({number}, {pick.randint(1, 30)})",
            )
        )

    def _change(self) -> str:
        pick, number = self.pick, self.pick.randint(1, 30)
        column = pick.choice(("v", "s", "j", "d", "f", "e", "m", "b", "n", "l", "u"))
        return pick.choice(
            (
                f"UPDATE wide SET {column} = {self._value(column)} WHERE id % {pick.randint(2, 5)} = 1",
                f"UPDATE wide SET id = id + 100 WHERE id = {number}",
                f"DELETE FROM wide WHERE id % {pick.randint(5, 9)} = 1",
                f"REPLACE INTO wide (id, v, s) VALUES ({number}, {self._value('v')}, {self._value('s')})",
                f"UPDATE named SET name = CONCAT(name, '!') WHERE v < {pick.randint(-5, 5)}",
                f"UPDATE named SET l = {self._value('l')}",
                "UPDATE pair SET a = a + 1 ORDER BY a DESC",
                f"DELETE FROM pair WHERE b = '{pick.choice('abc')}'",
                f"DELETE FROM parent WHERE id = {pick.randint(1, 9)}",
                f"UPDATE parent SET id = id + 20 WHERE id = {pick.randint(1, 9)}",
                f"UPDATE parent SET v = {self._value('v')}",
                f"DELETE FROM child WHERE id % {pick.randint(3, 6)} = 1",
                f"UPDATE child SET pid = {pick.randint(1, 9)} WHERE id = {number}",
                f"UPDATE child SET id = id + 40 WHERE id = {number}",
                f"UPDATE grandchild SET cid = {number} WHERE id % 3 = 1",
            )
        )


def undo_script(made: Path, mistake: Path, on_conflict: OnConflict) -> bytes:
    """What undoes a log; another log made the tables."""
    output = io.BytesIO()
    report = write_undo(
        _of_mistake(made, mistake),
        output,
        Catalog(),
        on_conflict=on_conflict,
        every=lambda: everything([made, mistake]),
    )
    assert not report.unknown, report.unknown
    return output.getvalue()


def _of_mistake(made: Path, mistake: Path) -> Iterator[Selected]:
    """All of the second log, behind the statements of the first."""
    for part in everything([made, mistake]):
        if part.file.path == str(made):
            mask = bytearray(len(part.table))
            part.table.mark_statements(mask)
            yield part._replace(mask=mask)
        else:
            yield part


def _listed(table: str, key: str) -> str:
    """A key as scripts list it."""
    if table != "pair":
        return f"{KEYS[table]}={key}"
    a, b = key.split(",", 1)
    return f"b={b} a={a}"
