"""Random schema statements, whatever they do, of which a server takes about half."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from tests.live.workload.declarations import Declarations
from tests.live.workload.texts import Spelling

DATABASES = ("ddl_a", "ddl_b")
TABLES = ("t1", "t2", "t3", "T4")

Columns = Mapping[str, list[str]]
"""The names of each table's columns, by ``database.table``."""


class Definitions:
    """Makes statements."""

    def __init__(self, random: Random, *, mariadb: bool) -> None:
        self._random = random
        self._mariadb = mariadb
        self.spelling = Spelling()
        self._declare = Declarations(random, mariadb=mariadb)

    def statement(self, tables: Columns) -> str:
        """One statement."""
        chance = self._random.random()
        if chance < 0.08:
            return self._settings()
        self._declare.spelling = self.spelling
        if len(tables) < 4 or chance < 0.18:
            return self._create(tables)
        table = self._random.choice(list(tables))
        if chance < 0.3:
            return self._random.choice((self._drop, self._rename, self._rename, self._index, self._other))(
                table, tables
            )
        return self._alter(table, tables)

    def _settings(self) -> str:
        pick = self._random.choice
        mode = pick(("", "", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "REAL_AS_FLOAT"))
        charset = pick(("utf8mb4", "utf8mb4", "latin1"))
        self.spelling = Spelling(charset, mode != "NO_BACKSLASH_ESCAPES", mode == "ANSI_QUOTES")
        values = [f"sql_mode = '{mode}'", f"explicit_defaults_for_timestamp = {pick('1110')}"]
        values += [f"collation_server = {pick(self._declare.collations)}", f"NAMES {charset}"]
        if self._random.random() < 0.3:
            values.append(f"collation_connection = {pick(self._declare.collations[:-1])}")
        if self._mariadb:
            values.append(f"binlog_alter_two_phase = {pick('01')}")
        else:
            values.append(f"sql_generate_invisible_primary_key = {pick('00001')}")
        return f"SET {', '.join(values)}"

    def _place(self, table: str) -> str:
        """How a statement names a table; the default database is the first."""
        db, name = table.split(".", 1)
        quoted = self.spelling.name(name, ansi=self._random.random() < 0.5)
        return f"{db}.{quoted}" if db != DATABASES[0] or self._random.random() < 0.3 else quoted

    def _any_table(self) -> str:
        db = self._random.choice((DATABASES[0], DATABASES[0], DATABASES[1]))
        return f"{db}.{self._random.choice(TABLES)}"

    def _if(self, words: str) -> str:
        return f" IF {words}" if self._mariadb and self._random.random() < 0.35 else ""

    def _create(self, tables: Columns) -> str:
        pick = self._random.choice
        place = self._place(self._any_table())
        known = pick(list(tables)) if tables else ""
        head = pick(("CREATE TABLE", "CREATE TABLE", "CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
        chance = self._random.random()
        if self._mariadb and chance < 0.35:
            head = "CREATE OR REPLACE TABLE"
        if not self._mariadb and chance < 0.03:
            return f"CREATE TEMPORARY TABLE {place} ({self._declare.column([])})"
        if self._mariadb and chance < 0.06:
            return f"CREATE SEQUENCE {place} {pick(('', 'START WITH 5', 'AS INT UNSIGNED'))}"
        if known and chance < 0.15:
            return f"{head} {place} LIKE {self._place(known)}"
        if known and chance < 0.18:
            return f"CREATE OR REPLACE VIEW v1 AS SELECT * FROM {self._place(known)}"
        names = self._declare.names(self._random.randint(2, 6))
        parts = [self._declare.column(names[:place], name) for place, name in enumerate(names)]
        parts += [f"PRIMARY KEY {self._declare.key_columns(names)}"] if self._random.random() < 0.3 else []
        parts += [f"UNIQUE u1 {self._declare.key_columns(names)}"] if self._random.random() < 0.3 else []
        if self._random.random() < 0.2:
            self._random.shuffle(parts)
        options = pick(("", "", *self._declare.charset_options(), " COMMENT=';'", self._partitions(names)))
        if self._mariadb and self._random.random() < 0.1:
            options += " WITH SYSTEM VERSIONING"
        query = f" AS SELECT * FROM {self._place(known)}" if known and self._random.random() < 0.08 else ""
        query = pick(("", "", "", "", "", "", " AS SELECT 1 AS z", query))
        if query and self._random.random() < 0.5:
            return f"{head} {place}{options}{query}"
        return f"{head} {place} ({', '.join(parts)}){options}{query}"

    def _partitions(self, names: list[str]) -> str:
        column = self._declare.name(self._random.choice(names))
        return self._random.choice(
            (f" PARTITION BY KEY ({column}) PARTITIONS 3", f" PARTITION BY HASH ({column})")
        )

    def _drop(self, table: str, tables: Columns) -> str:
        more = f", {self._place(self._random.choice(list(tables)))}" if self._random.random() < 0.3 else ""
        kind = self._random.choice(("TABLE", "TABLE", "TABLE IF EXISTS", "VIEW IF EXISTS", "TEMPORARY TABLE"))
        return f"DROP {kind} {self._place(table)}{more}"

    def _rename(self, table: str, tables: Columns) -> str:
        first, second = self._place(table), self._place(self._random.choice(list(tables)))
        if self._random.random() < 0.6:
            return f"RENAME TABLE {first} TO tmp, {second} TO {first}, tmp TO {second}"
        return f"RENAME TABLE {first} TO {self._place(self._any_table())}"

    def _index(self, table: str, tables: Columns) -> str:
        columns, kind = self._declare.key_columns(tables[table]), self._random.choice(("", "UNIQUE "))
        name = self._random.choice(("u1", "i1", "`PRIMARY`"))
        if self._random.random() < 0.4:
            return f"DROP INDEX{self._if('EXISTS')} {name} ON {self._place(table)}"
        return f"CREATE {kind}INDEX{self._if('NOT EXISTS')} {name} ON {self._place(table)} {columns}"

    def _other(self, table: str, tables: Columns) -> str:
        pick, declare = self._random.choice, self._declare
        charset = pick((f"CHARACTER SET {pick(declare.charsets)}", f"COLLATE {pick(declare.collations)}"))
        return pick((f"ALTER DATABASE {pick(DATABASES)} {charset}", f"TRUNCATE TABLE {self._place(table)}"))

    def _alter(self, table: str, tables: Columns) -> str:
        pick = self._random.choice
        count = pick((1, 1, 1, 2, 2, 3, 4))
        clauses = [self._commented(self._clause(tables[table])) for _ in range(count)]
        clauses.sort(key=lambda clause: clause.startswith(("ORDER", "PARTITION", "REMOVE")))
        head = f"ALTER{pick(('', ' IGNORE')) if self._mariadb else ''} TABLE{self._if('EXISTS')}"
        return f"{head} {self._place(table)} " + pick((",", " , ", ", /* ; */ ", ", -- c;\n")).join(clauses)

    def _commented(self, clause: str) -> str:
        """The clause within a comment that some or all versions of some or all servers execute, seldom."""
        if self._random.random() > 0.06:
            return clause
        start = self._random.choice(("!", "!50000 ", "!80000 ", "!100100 ", "M! ", "M!100100 "))
        return f"FORCE /*{start}, {clause} */"

    def _clause(self, columns: list[str]) -> str:
        kinds: list[Callable[[list[str], str], str]] = [self._add] * 5 + [self._change] * 6
        kinds += [self._drop_column, self._renamed] * 2 + [self._charset] * 3 + [self._key] * 6
        kinds += [self._altered, self._harmless, self._harmless, self._partitioning, self._rename_to]
        return self._random.choice(kinds)(columns, self._declare.some_column(columns))

    def _add(self, columns: list[str], _: str) -> str:
        column, word = self._declare.column(columns), self._random.choice((" COLUMN", ""))
        if self._random.random() < 0.2:
            return f"ADD ({column}, {self._declare.column(columns)})"
        return f"ADD{word}{self._if('NOT EXISTS')} {column}{self._where(columns)}"

    def _change(self, columns: list[str], column: str) -> str:
        where = self._where(columns)
        if self._random.random() < 0.5:
            return f"MODIFY{self._if('EXISTS')} {self._declare.column(columns, column)}{where}"
        changed = self._declare.column(columns, self._declare.some_column(columns))
        return f"CHANGE COLUMN{self._if('EXISTS')} {self._declare.name(column)} {changed}{where}"

    def _drop_column(self, _: list[str], column: str) -> str:
        return f"DROP{self._random.choice((' COLUMN', ''))}{self._if('EXISTS')} {self._declare.name(column)}"

    def _charset(self, *_: object) -> str:
        pick, declare = self._random.choice, self._declare
        converted = f"CONVERT TO {pick(('CHARACTER SET', 'CHARSET'))} {pick((*declare.charsets, 'DEFAULT'))}"
        return pick((converted, converted, pick(("DEFAULT", "")) + pick(declare.charset_options())))

    def _key(self, columns: list[str], column: str) -> str:
        parts, kind = (
            self._declare.key_columns(columns),
            ("UNIQUE", "UNIQUE KEY u1", "INDEX i1", "PRIMARY KEY"),
        )
        dropped = ("DROP PRIMARY KEY", f"DROP INDEX {self._declare.name(column)}", "DROP KEY u1")
        renamed = "RENAME INDEX u1 TO u3"
        return self._random.choice((*(f"ADD {one} {parts}" for one in kind), *dropped, renamed))

    def _partitioning(self, columns: list[str], _: str) -> str:
        return self._random.choice(("REMOVE PARTITIONING", self._partitions(columns or ["a"])))

    def _rename_to(self, *_: object) -> str:
        return f"RENAME {self._random.choice(('TO', 'AS', ''))} {self._place(self._any_table())}"

    def _where(self, columns: list[str]) -> str:
        chance = self._random.random()
        if chance < 0.5:
            return "" if chance < 0.3 else " FIRST"
        return f" AFTER {self._declare.name(self._declare.some_column(columns))}"

    def _renamed(self, columns: list[str], column: str) -> str:
        other = self._declare.name(self._declare.some_column(columns))
        first = self._declare.name(column)
        if self._random.random() < 0.3:
            return f"RENAME COLUMN {first} TO {other}, RENAME COLUMN {other} TO {first}"
        return f"RENAME COLUMN{self._if('EXISTS')} {first} TO {other}"

    def _altered(self, _: list[str], column: str) -> str:
        changes = ["SET DEFAULT 3", "DROP DEFAULT"]
        changes += [] if self._mariadb else ["SET INVISIBLE", "SET VISIBLE", "SET DEFAULT (1)"]
        return f"ALTER COLUMN {self._declare.name(column)} {self._random.choice(changes)}"

    def _harmless(self, *_: object) -> str:
        clauses = ["COMMENT 'x; DROP COLUMN a'", "ENGINE=InnoDB", "FORCE", "ORDER BY a", "ALGORITHM=COPY"]
        clauses += [f"{word} SYSTEM VERSIONING" for word in ("ADD", "DROP")] if self._mariadb else []
        return self._random.choice(clauses)
