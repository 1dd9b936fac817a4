"""A whole random workload: databases, tables, transactions and changes of tables, session by session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.live.workload.alters import Alters
from tests.live.workload.changes import Changes
from tests.live.workload.sessions import Session, first_settings, global_change, random_session
from tests.live.workload.tables import Table, random_table
from tests.live.workload.texts import Spelling, quoted, random_name

SPECIAL = 0.25
"""Of the workloads, how many have what SQL cannot repeat."""

TAGS = ("", ":nightly", ":batch_2")


@dataclass(frozen=True, slots=True)
class Step:
    """Statements for one session."""

    sql: bytes
    must: bool = False


class Workload:
    """Random traffic for an empty server.

    The same seed makes the same statements. Iterate :meth:`steps` once; then the attributes say what is left.
    """

    def __init__(
        self,
        seed: str,
        *,
        mariadb: bool,
        sessions: int = 60,
        rows_only: bool = False,
        gtids_only: bool = False,
    ) -> None:
        self._random = Random(seed)
        self._mariadb = mariadb
        self._sessions = sessions
        self._taken: set[str] = set()
        self._changes = Changes(self._random, mariadb=mariadb)
        self._alters = Alters(self._random, self._taken, mariadb=mariadb)
        self._rows_only = rows_only
        self._gtids_only = gtids_only
        self._prepared: list[str] = []
        self._gtids = True
        self._number = 0
        self._tagged = dict.fromkeys(TAGS, 0)
        self._special = self._random.random() < SPECIAL
        self.sql_refused = False
        self.tables: list[Table] = []

    def steps(self) -> Iterator[Step]:
        """All sessions, one after the other."""
        for setting in first_settings(self._random, mariadb=self._mariadb):
            yield _step(setting, must=True)
        yield from self._create()
        for _ in range(self._sessions):
            chance = self._random.random()
            if chance < 0.1:
                yield _step(global_change(self._random, mariadb=self._mariadb), must=True)
            elif chance < 0.13 and not (self._mariadb or self._gtids_only or self._prepared):
                yield from self._switch_gtids()
            elif chance < 0.25 and not self._prepared:
                yield self._alter()
            else:
                yield self._transactions()
            yield from self._resolve(always=False)
        yield from self._resolve(always=True)
        yield Step(self._touches())

    def _create(self) -> Iterator[Step]:
        random = self._random
        databases = [random_name(random, self._taken) for _ in range(random.randint(1, 3))]
        for name in databases:
            charset = random.choice(("utf8mb4", "latin1", "utf8mb4"))
            yield _step(f"CREATE DATABASE {quoted(name)} CHARACTER SET {charset}", must=True)
        yield _step("CREATE DATABASE marked; CREATE TABLE marked.marks (number BIGINT)", must=True)
        if self._mariadb:
            yield _step("CREATE SEQUENCE marked.numbers START WITH 10 INCREMENT BY 5 CACHE 3", must=True)
        if self._mariadb and self._special:
            self.sql_refused = True
            versioned = (
                "CREATE TABLE marked.versioned (id INT PRIMARY KEY, text VARCHAR(20)) WITH SYSTEM VERSIONING"
            )
            yield _step(versioned, must=True)
        for _ in range(random.randint(4, 8)):
            table = random_table(random, random.choice(databases), self._taken, mariadb=self._mariadb)
            table.statements = random.random() < 0.3 and not table.counts
            self.tables.append(table)
            yield _step(table.create(Spelling()), must=True)

    def _transactions(self) -> Step:
        """A session with some transactions."""
        session = random_session(self._random, mariadb=self._mariadb, rows_only=self._rows_only)
        sql = session.settings
        tables = self._tables_for(session)
        if not tables:
            return _step("SELECT 1")
        for _ in range(self._random.randint(1, 4)):
            sql += self._transaction(session, tables)
        return Step(session.spelling.encoded(sql))

    def _tables_for(self, session: Session) -> list[Table]:
        """The tables that a session can name and may write to."""
        spelling = session.spelling
        found = []
        for table in self.tables:
            names = [table.db, table.name, *(column.name for column in table.columns)]
            if all(spelling.can_name(name) for name in names):
                found.append(table)
        return found if session.format == "ROW" else [table for table in found if table.statements]

    def _transaction(self, session: Session, tables: list[Table]) -> str:
        random = self._random
        gtid = self._next_gtid()
        if gtid is not None:
            before, after = f"SET GTID_NEXT = '{gtid}';\n", "SET GTID_NEXT = AUTOMATIC;\n"
        else:
            before, after = "", ""
        statements = [self._change(session, tables) for _ in range(random.choice((1, 2, 3, 8)))]
        chance = random.random()
        if chance < 0.15:
            return before + self._xa(statements, after)
        if chance < 0.3 and gtid is None:
            return "".join(statements)
        end = random.choice(("COMMIT", "COMMIT", "COMMIT", "COMMIT", "ROLLBACK"))
        return f"{before}BEGIN;\n{self._with_savepoints(statements)}{end};\n{after}"

    def _change(self, session: Session, tables: list[Table]) -> str:
        if self._mariadb and session.format == "ROW" and session.whole_images and self._random.random() < 0.1:
            return self._change_of_mariadb()
        table = self._random.choice(tables)
        safe = session.format != "ROW"
        if safe and self._special and self._random.random() < 0.2:
            self.sql_refused = True
            return self._changes.load(table, session.spelling) + ";\n"
        return (
            self._changes.statement(table, tables, session.spelling, safe=safe, whole=session.whole_images)
            + ";\n"
        )

    def _change_of_mariadb(self) -> str:
        """A change that takes numbers from a sequence, or one of a table that keeps its history."""
        number = self._random.randint(1, 5)
        changes = ["INSERT INTO marked.marks VALUES (NEXT VALUE FOR marked.numbers)"]
        if self._special:
            changes += [
                f"REPLACE INTO marked.versioned VALUES ({number}, 'replaced')",
                f"UPDATE marked.versioned SET text = CONCAT(text, '+') WHERE id <= {number}",
                f"DELETE FROM marked.versioned WHERE id = {number}",
            ]
        return self._random.choice(changes) + ";\n"

    def _with_savepoints(self, statements: list[str]) -> str:
        random = self._random
        if random.random() < 0.6:
            return "".join(statements)
        parts = []
        for place, statement in enumerate(statements):
            name = random.choice(("`s p`", "`sp``2`", "sp3"))
            if random.random() < 0.5:
                parts.append(f"SAVEPOINT {name};\n{statement}ROLLBACK TO {name};\n")
            else:
                parts.append(f"SAVEPOINT {name};\n{statement}" if place % 2 else statement)
        return "".join(parts)

    def _xa(self, statements: list[str], after: str) -> str:
        """An XA transaction, which now and then is left prepared for another session."""
        random = self._random
        self._number += 1
        name = f"'binx {self._number}'"
        if random.random() < 0.5:
            name += random.choice((",'branch'", ",x'00ff27'", ",'',7"))
        # MariaDB logs a branch of which nothing is left, and rolls it back where the log is run.
        mark = f"INSERT INTO marked.marks VALUES ({self._number});\n"
        text = f"XA START {name};\n{mark}{''.join(statements)}XA END {name};\n"
        chance = random.random()
        if chance < 0.2:
            return f"{text}XA COMMIT {name} ONE PHASE;\n{after}"
        text += f"XA PREPARE {name};\n{after}"
        if chance < 0.4 and not self._mariadb:
            # The session that ends with it detaches it; the next ones find its locks.
            self._prepared.append(name)
            return text
        return f"{text}XA {random.choice(('COMMIT', 'COMMIT', 'ROLLBACK'))} {name};\n"

    def _resolve(self, *, always: bool) -> Iterator[Step]:
        for name in list(self._prepared):
            if always or self._random.random() < 0.6:
                self._prepared.remove(name)
                yield _step(f"XA {self._random.choice(('COMMIT', 'ROLLBACK'))} {name}")

    def _next_gtid(self) -> str | None:
        """A GTID of another server or with a tag, now and then."""
        if self._mariadb or self._random.random() < 0.75:
            return None
        if not self._gtids:
            return "ANONYMOUS"
        tag = self._random.choice(TAGS)
        self._tagged[tag] += self._random.choice((1, 1, 5))
        return f"11111111-2222-3333-4444-555555555555{tag}:{self._tagged[tag]}"

    def _switch_gtids(self) -> Iterator[Step]:
        """From GTIDs to none or back, by the steps that servers ask for."""
        order = ["ON_PERMISSIVE", "OFF_PERMISSIVE"] if self._gtids else ["ON_PERMISSIVE", "ON"]
        if self._gtids and self._random.random() < 0.5:
            order.append("OFF")
        elif not self._gtids:
            order.insert(0, "OFF_PERMISSIVE")
        self._gtids = not self._gtids
        for mode in order:
            yield _step(f"SET GLOBAL gtid_mode = {mode}", must=True)

    def _alter(self) -> Step:
        session = random_session(self._random, mariadb=self._mariadb)
        spelling = session.spelling
        tables = [table for table in self.tables if table in self._tables_of_any(spelling)]
        if not tables:
            return _step("SELECT 1")
        table = self._random.choice(tables)
        statements = self._alters.statements(table, self.tables, Spelling(ansi_quotes=spelling.ansi_quotes))
        text = "SET SESSION binlog_format = ROW, SESSION lock_wait_timeout = 5;\n"
        if spelling.ansi_quotes:
            text += "SET SESSION sql_mode = 'ANSI_QUOTES';\n"
        else:
            text += "SET SESSION sql_mode = '';\n"
        for statement in statements:
            text += statement + ";\n"
        if table in self.tables and self._random.random() < 0.7:
            text += self._changes.touch(table, spelling) + ";\n"
        return _step(text, must=True)

    def _tables_of_any(self, spelling: Spelling) -> list[Table]:
        return [table for table in self.tables if spelling.can_name(table.name)]

    def _touches(self) -> bytes:
        """Every row of every table once more, with all its columns."""
        statements = [self._changes.touch(table, Spelling()) for table in self.tables if not table.statements]
        return ("SET SESSION binlog_format = ROW;\n" + ";\n".join(statements) + ";\n").encode()


def _step(sql: str, *, must: bool = False) -> Step:
    return Step(f"{sql.rstrip(chr(10) + ';')};\n".encode(), must)
