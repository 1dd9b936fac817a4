"""One round of random undo: a mistake, perhaps changes since, and what the script makes of both."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from binx.errors import AbsentError
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.log.selection.times import Position
from binx.slices.options import ExtractOptions, SliceFormat
from binx.undo.extract_undo import extract_undo
from binx.undo.options import OnConflict
from testdata.servers import Server, ServerError
from tests.live.connection import Connection
from tests.live.logs import empty

TABLES = {
    "wide": (("id",), "id HEX(s) v HEX(j) d f g w HEX(e) m HEX(b) n HEX(l) at u"),
    "named": (("name",), "HEX(name) v HEX(l)"),
    "pair": (("b", "a"), "a HEX(b) v"),
    "parent": (("id",), "id v"),
    "child": (("id",), "id pid"),
    "grandchild": (("id",), "id cid"),
    "keyless": (("no", "v", "s"), "v HEX(s)"),
}
"""The columns by which scripts list a row, and those that make up its image."""

TIED = ("parent", "child", "grandchild")
PARENTS = {"child": "parent", "grandchild": "child"}
ACTIONS = ("CASCADE", "SET NULL", "RESTRICT", "NO ACTION")
TEXTS = ("a", "A", "a ", "é", "日本", "o''clock", "back\\\\slash", "line\\nbreak", "", "ß", "ss")
LATIN = ("a", "A", "é", "ß", "a ", "")
DOCUMENTS = (
    '{"a": 1}', '{"a": 1.0}', "[1, 2.5, null, true]", '{"n": {"deep": ["é", "日本"]}}', '"text"', "1e300",
    "-0.1", '{"b": 12345678901234567890}', "{}", "[]",
)  # fmt: skip


class Row(NamedTuple):
    """A row at one moment."""

    shown: str
    image: str


Rows = dict[tuple[str, str], Row]
"""Rows by table and by the number that a row keeps from its INSERT on, whatever becomes of its key."""


@dataclass
class UndoRound:
    """A round on one server."""

    server: Server
    seed: str
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pick = random.Random(self.seed)
        self._inserted = 0
        self._only_tied = self.pick.random() < 0.4

    def play(self) -> str:
        """Play the round; gives what the undo came to."""
        pick, server = self.pick, self.server
        empty(server)
        self._run(self._tables())
        self._run(["USE r", *self._statements(90, inserts=True)])
        before = self._rows()
        server.flush_logs()
        history = self._make_mistake()
        server.flush_logs()
        if pick.random() < 0.6:
            self._run(["USE r", *self._transactions(pick.randint(1, 3))])
        since = self._rows()
        made, mistake = server.binlogs()[:2]
        return self._undo(made, mistake, before, history, since)

    def _make_mistake(self) -> list[Rows]:
        """Change rows; gives what they were after each statement that was not rolled back."""
        history: list[Rows] = []
        savepoint = 0
        with Connection(self.server) as session:
            session.run("USE r")
            for statement in self._transactions(self.pick.randint(1, 6)):
                self.log.append(statement)
                session.run(statement)
                if statement == "SAVEPOINT s":
                    savepoint = len(history)
                elif statement == "ROLLBACK TO s":
                    del history[savepoint:]
                history.append(_rows_of(session.run(ALL_ROWS)))
        return history

    def _undo(self, made: Path, mistake: Path, before: Rows, history: list[Rows], since: Rows) -> str:
        for on_conflict, outcome in ((OnConflict.STOP, "undone"), (OnConflict.SKIP, "skipped")):
            script, unknown = undo_script([made, mistake], on_conflict)
            # Tables with rows that foreign keys changed, and that the logs do not tell for certain.
            unsure = {line.split()[2].partition(".")[2] for line in unknown}
            try:
                told = self.server.script(script)
            except ServerError as error:
                assert self._rows() == since, "something was undone in spite of an error"
                # What a row that was deleted referred to may be gone since, which the server tells.
                reasons = "NOTHING WAS UNDONE", "a child row: a foreign key"
                if on_conflict is OnConflict.SKIP or not any(reason in str(error) for reason in reasons):
                    raise
            else:
                self._compare(before, history, since, told, unsure)
                return f"{outcome}, not all of {', '.join(unsure)}" if unsure else outcome
        raise AssertionError("the script undid nothing, though rows may be skipped")

    def _compare(self, before: Rows, history: list[Rows], since: Rows, told: str, unsure: set[str]) -> None:
        """Rows of the mistake are as before, or listed; all others are as they were left since."""
        found = self._rows()
        listed = set(re.findall(r"(\w+ \w+=.*?); ", _unescaped(told), re.DOTALL))
        for number in {*before, *since, *found}.union(*history):
            states = [rows.get(number) for rows in (before, *history)]
            was, left, now = before.get(number), since.get(number), found.get(number)
            facts = (number, was, states[-1], left, now, told)
            if len({*states}) == 1:
                assert now == left, ("a row that the mistake left alone", facts)
            elif now != was and number[0] not in unsure and not _follows(number, before, found):
                shown = {f"{number[0]} {row.shown}" for row in states if row is not None}
                assert not listed.isdisjoint(shown), ("neither as it was nor listed", facts)

    def _rows(self) -> Rows:
        return _rows_of(self.server.sql(ALL_ROWS).splitlines())

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
            "CREATE TABLE wide (id INT PRIMARY KEY, no INT, v INT, s VARCHAR(20) CHARACTER SET utf8mb4,"
            " j JSON, d DOUBLE, f FLOAT, g INT AS (v + 1) STORED, w INT AS (v * 2) VIRTUAL,"
            " e ENUM('x', 'y', 'é'), m SET('p', 'q', 'r'), b VARBINARY(10), n DECIMAL(12, 3),"
            " l VARCHAR(10) CHARACTER SET latin1, at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)"
            " ON UPDATE CURRENT_TIMESTAMP(3),"
            " u INT, UNIQUE (u)) ENGINE=InnoDB",
            "CREATE TABLE named (name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY,"
            " v INT, l TEXT, no INT) ENGINE=InnoDB",
            "CREATE TABLE pair (a INT, b VARCHAR(9), v DATETIME(6), no INT,"
            " PRIMARY KEY (b, a)) ENGINE=InnoDB",
            "CREATE TABLE keyless (no INT, v INT, s VARCHAR(20) CHARACTER SET utf8mb4) ENGINE=InnoDB",
            "CREATE TABLE audit (id INT, s VARCHAR(20) CHARACTER SET utf8mb4) ENGINE=InnoDB",
            "CREATE TABLE parent (id INT PRIMARY KEY, v INT, no INT) ENGINE=InnoDB",
            "CREATE TABLE child (id INT PRIMARY KEY, pid INT, no INT,"
            " FOREIGN KEY (pid) REFERENCES parent (id)"
            f" {actions[0]}) ENGINE=InnoDB",
            "CREATE TABLE grandchild (id INT PRIMARY KEY, cid INT, no INT,"
            " FOREIGN KEY (cid) REFERENCES child (id)"
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
            statement = pick.choice((self._insert, self._insert if inserts else self._change))
            sql = statement()
            while self._only_tied and not any(name in sql for name in TIED):
                sql = statement()
            yield sql

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
        self._inserted += 1
        no = self._inserted
        columns = "v", "s", "j", "d", "f", "e", "m", "b", "n", "l", "u"
        return pick.choice(
            (
                f"INSERT INTO wide (id, no, {', '.join(columns)}) VALUES"
                f" ({number}, {no}, {', '.join(map(self._value, columns))})",
                f"REPLACE INTO wide (id, no, v, s)"
                f" VALUES ({number}, {no}, {self._value('v')}, {self._value('s')})",
                "INSERT INTO named VALUES"
                f" ('{pick.choice(TEXTS)}', {self._value('v')}, {self._value('l')}, {no})",
                f"INSERT INTO pair VALUES ({pick.randint(1, 4)}, '{pick.choice('abc')}', NOW(6), {no})",
                f"INSERT INTO parent VALUES ({pick.randint(1, 9)}, {self._value('v')}, {no})",
                f"INSERT INTO child VALUES ({number}, {pick.randint(1, 9)}, {no})",
                f"INSERT INTO grandchild VALUES ({number}, {pick.randint(1, 30)}, {no})",
                f"INSERT INTO keyless VALUES ({no}, {self._value('v')}, {self._value('s')})",
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
                f"UPDATE keyless SET s = {self._value('s')} WHERE v < {pick.randint(-5, 5)}",
                f"DELETE FROM keyless WHERE v = {pick.randint(-5, 5)}",
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


def undo_script(logs: list[Path], on_conflict: OnConflict) -> tuple[bytes, tuple[str, ...]]:
    """What undoes the last of some logs, and what is said of rows that are not restored."""
    with open_chain([str(log) for log in logs]) as chain, TemporaryDirectory() as folder:
        undo, selection = Path(folder) / "undo.sql", Selection(start=Position(logs[-1].name, 4))
        options = ExtractOptions(SliceFormat.SQL)
        try:
            report = extract_undo(chain, selection, str(undo), options, on_conflict=on_conflict)
        except AbsentError:
            return b"", ()
        return undo.read_bytes(), report.damage


def _follows(number: tuple[str, str], before: Rows, found: Rows) -> bool:
    """Whether a row differs only in that it refers to the same row as before, which has another key now."""
    table, was, now = number[0], before.get(number), found.get(number)
    if table not in PARENTS or was is None or now is None:
        return False
    (own_key, referred), (own_key_now, referred_now) = was.image.split("|"), now.image.split("|")
    of_same = (
        row.image.split("|")[0] == referred and found[other].image.split("|")[0] == referred_now
        for other, row in before.items()
        if other[0] == PARENTS[table] and other in found
    )
    return own_key == own_key_now and any(of_same)


def _all_rows() -> str:
    """The query for all rows: table, number, and in hexadecimal how the row is listed, and its image."""
    queries = []
    for table, (key, columns) in TABLES.items():
        shown = ", ' ', ".join(f"'{name}=', IFNULL({name}, 'NULL')" for name in key)
        image = ", ".join(f"IFNULL({name}, '-')" for name in columns.split())
        queries.append(
            f"SELECT '{table}', no, HEX(CONCAT({shown})), HEX(CONCAT_WS('|', {image})) FROM r.{table}"
        )
    return " UNION ALL ".join(queries)


ALL_ROWS = _all_rows()


def _rows_of(lines: list[str]) -> Rows:
    rows: Rows = {}
    for line in lines:
        table, number, shown, image = line.split("\t")
        assert (table, number) not in rows, f"there are two of row {number} of {table}"
        rows[table, number] = Row(bytes.fromhex(shown).decode(), bytes.fromhex(image).decode())
    return rows


def _unescaped(text: str) -> str:
    """What the client printed as a line, with line breaks and the like as they are."""
    escaped = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}
    return re.sub(r"\\([nt0\\])", lambda found: escaped[found[1]], text)
