"""Random schema statements beside random changes of rows, all logged as rows.

The generator keeps no picture of the tables: it asks the server for their columns, and a statement that the
server refuses is no matter.
"""

from __future__ import annotations

from random import Random

from testdata.servers import Server

TYPES = (
    "TINYINT", "SMALLINT UNSIGNED", "INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(10,2)",
    "DECIMAL(24,6)", "DECIMAL(45,5)", "FLOAT", "DOUBLE", "BIT(1)", "BIT(12)", "YEAR", "DATE", "DATETIME",
    "DATETIME(3)", "DATETIME(6)", "TIMESTAMP NULL", "TIMESTAMP(6) NULL", "TIME", "TIME(4)", "CHAR(12)",
    "VARCHAR(6)", "VARCHAR(40)", "VARCHAR(40) CHARACTER SET latin1", "TEXT", "BINARY(8)", "VARBINARY(60)",
    "BLOB", "JSON", "ENUM('a','b','1')", "ENUM('1','c','a')", "SET('a','b','c')", "SET('c','a')",
)  # fmt: skip
KEYS = (
    "INT", "BIGINT", "SMALLINT", "VARCHAR(20)", "CHAR(20)", "VARBINARY(40)", "DECIMAL(12,2)", "DATE",
    "DATETIME",
)  # fmt: skip
VALUES = (
    "NULL", "NULL", "0", "1", "-1", "'12'", "127", "70000", "4000000000", "3.14159", "-2.5", "'1e3'", "'a'",
    "'b'", "'a,b'", "''", "'Zoë'", "'☃ snow'", "'2024-02-29'", "'0000-00-00'", "'2024-00-00'", "'1999-12-31"
    " 23:59:59.999999'", "'2024-05-06 07:08:09.5'", "20240506", "'-12:34:56.78'", "'10:11'", "1999",
    "'{\"k\": [1, 2.50, \"x\"]}'", "'[]'", "x'00ff41'", "b'1'", "REPEAT('long ', 4)",
)  # fmt: skip
DATABASES = ("rounds", "rounds two")
ENDS = ("COMMIT", "COMMIT", "ROLLBACK")
MODES = ("''", "''", "'STRICT_TRANS_TABLES'", "'ALLOW_INVALID_DATES'")


class SchemaRound:
    """Random traffic, a rotation at a time."""

    def __init__(self, server: Server, seed: str) -> None:
        self._server = server
        self._random = Random(seed)
        self._mariadb = server.daemon == "mariadbd"
        self._numbers = 0
        self._prepared: list[str] = []
        self.refused: list[str] = []
        for name in DATABASES:
            server.sql(f"DROP DATABASE IF EXISTS `{name}`; CREATE DATABASE `{name}`")
        image = self._random.choice(("FULL", "FULL", "MINIMAL", "NOBLOB"))
        self._is_whole = image == "FULL"
        metadata = self._random.choice(("FULL", "MINIMAL"))
        server.sql(f"SET GLOBAL binlog_row_image = {image}; SET GLOBAL binlog_row_metadata = {metadata}")
        for _ in range(self._random.randint(3, 5)):
            self._run([self._create(self._place(DATABASES[0]))])

    def rotate(self, *, last: bool = False) -> None:
        """Some sessions, and the next log; after the last no transaction is left prepared."""
        random = self._random
        for _ in range(random.randint(8, 16)):
            tables = self._tables()
            if not tables:
                self._run([self._create(self._place(DATABASES[0]))])
            elif random.random() < 0.4:
                self._run([self._schema(random.choice(tables), tables)])
            else:
                self._run(self._transaction(tables))
            if self._prepared and random.random() < 0.2:
                self._run([f"XA {random.choice(ENDS)} {self._prepared.pop(0)}"])
        if last:
            while self._prepared:
                self._run([f"XA {random.choice(ENDS)} {self._prepared.pop(0)}"])
        self._server.flush_logs()

    def _run(self, statements: list[str]) -> None:
        zone = self._random.choice(("+00:00", "+02:00", "-05:30"))
        settings = [f"SET time_zone = '{zone}'", f"SET sql_mode = {self._random.choice(MODES)}"]
        text = ";\n".join(
            [*settings, "SET lock_wait_timeout = 1", "SET innodb_lock_wait_timeout = 1", *statements]
        )
        self.refused += self._server.attempt(f"{text};\n".encode())

    def _tables(self) -> list[str]:
        """The tables that there are, spelled for statements."""
        listed = ", ".join(f"'{name}'" for name in DATABASES)
        rows = self._server.query(
            "SELECT table_schema, table_name FROM information_schema.tables"
            f" WHERE table_schema IN ({listed}) ORDER BY 1, 2"
        )
        return [f"`{db}`.`{table}`" for db, table in rows]

    def _columns(self, place: str) -> list[tuple[str, bool]]:
        """Names of a table's columns, and whether they are of its key."""
        db, table = (part.strip("`") for part in place.split("."))
        rows = self._server.query(
            "SELECT column_name, column_key FROM information_schema.columns"
            f" WHERE table_schema = '{db}' AND table_name = '{table}' ORDER BY ordinal_position"
        )
        return [(str(name), key == "PRI") for name, key in rows]

    def _place(self, db: str) -> str:
        return f"`{db}`.`t{self._random.randint(1, 7)}`"

    def _name(self) -> str:
        return self._random.choice(("a", "b", "c", "d", "E", "_line", "_unknown", "p1", "é"))

    def _column(self, name: str) -> str:
        kind = self._random.choice(TYPES)
        default = ""
        if not kind.startswith(("TEXT", "BLOB", "JSON")) and self._random.random() < 0.4:
            default = f" DEFAULT {self._random.choice(VALUES[:10])}"
        nullable = " NOT NULL" if "NULL" not in kind + default and self._random.random() < 0.2 else ""
        return f"`{name}` {kind}{nullable}{default}"

    def _create(self, place: str) -> str:
        random = self._random
        names = random.sample(("a", "b", "c", "d", "E", "_line"), random.randint(1, 4))
        columns = [f"`id` {random.choice(KEYS)} NOT NULL", *map(self._column, names)]
        key = "id"
        if random.random() < 0.3:
            columns.insert(0, "`part` INT NOT NULL DEFAULT 3")
            key = "part`, `id"
        again = random.choice(("", "", "IF NOT EXISTS "))
        return f"CREATE TABLE {again}{place} ({', '.join(columns)}, PRIMARY KEY (`{key}`))"

    def _schema(self, place: str, tables: list[str]) -> str:
        random = self._random
        columns = self._columns(place)
        names = [name for name, is_key in columns if not is_key] or ["nothing"]
        key = [name for name, is_key in columns if is_key] or ["nothing"]
        one, other = random.choice(names), random.choice(names)
        where = random.choice(("", "", " FIRST", f" AFTER `{one}`"))
        new = self._place(random.choice((DATABASES[0], DATABASES[0], DATABASES[1])))
        clauses = (
            f"ADD COLUMN {self._column(self._name())}{where}",
            f"ADD COLUMN {self._column(self._name())}{where}",
            f"DROP COLUMN `{one}`",
            f"DROP COLUMN `{one}`, ADD COLUMN {self._column(one)}",
            f"RENAME COLUMN `{one}` TO `{self._name()}`",
            f"RENAME COLUMN `{one}` TO `{other}`, RENAME COLUMN `{other}` TO `{one}`",
            f"CHANGE `{one}` {self._column(self._name())}",
            f"CHANGE `{one}` {self._column(other)}, CHANGE `{other}` {self._column(one)}",
            f"MODIFY {self._column(one)}{where}",
            f"MODIFY {self._column(one)}, MODIFY {self._column(other)}",
            f"MODIFY {self._column(one)}",
            f"MODIFY `{random.choice(key)}` {random.choice(KEYS)} NOT NULL",
            f"RENAME COLUMN `{random.choice(key)}` TO `{self._name()}`",
            f"DROP PRIMARY KEY, ADD PRIMARY KEY (`{'`, `'.join(random.sample(key, len(key)))}`)",
            f"DROP PRIMARY KEY, ADD PRIMARY KEY (`{random.choice(key)}`, `{one}`)",
            "CONVERT TO CHARACTER SET utf8mb4",
            f"RENAME TO {new}",
            f"ALTER COLUMN `{one}` SET DEFAULT 1",
        )
        if random.random() < 0.7:
            return f"ALTER TABLE {place} {random.choice(clauses)}"
        another, between = random.choice(tables), "`rounds`.`between`"
        statements = (
            f"RENAME TABLE {place} TO {new}",
            f"RENAME TABLE {place} TO {between}, {another} TO {place}, {between} TO {another}",
            f"RENAME TABLE {place} TO {new}; {self._create(place)}",
            f"DROP TABLE {place}",
            f"DROP TABLE {place}; {self._create(place)}",
            f"TRUNCATE TABLE {place}",
            f"CREATE TABLE {new} LIKE {place}",
            f"CREATE TABLE {new} (PRIMARY KEY (`{key[0]}`)) AS SELECT * FROM {place}",
            self._create(new),
            self._create(new),
        )
        return random.choice(statements)

    def _transaction(self, tables: list[str]) -> list[str]:
        random = self._random
        changes = [self._change(random.choice(tables)) for _ in range(random.choice((1, 2, 4, 8)))]
        chance = random.random()
        if chance < 0.4:
            return changes
        if chance < 0.85:
            return ["BEGIN", *changes, random.choice(ENDS)]
        self._numbers += 1
        name = f"'{self._numbers}'"
        prepared = [f"XA START {name}", *changes, f"XA END {name}", f"XA PREPARE {name}"]
        if random.random() < 0.4:
            # The session that ends leaves it to others.
            self._prepared.append(name)
            return prepared
        return [*prepared, f"XA {random.choice(ENDS)} {name}"]

    def _change(self, place: str) -> str:
        random = self._random
        columns = self._columns(place)
        names = [name for name, is_key in columns if not is_key]
        key = [name for name, is_key in columns if is_key] or [columns[0][0]]
        chance = random.random()
        if chance < 0.45 or not names:
            chosen = [*key, *random.sample(names, random.randint(0, len(names)))]
            rows = ", ".join(
                "(" + ", ".join(self._value(name in key) for name in chosen) + ")"
                for _ in range(random.randint(1, 5))
            )
            verb = random.choice(("INSERT IGNORE INTO", "INSERT IGNORE INTO", "REPLACE INTO"))
            if verb == "REPLACE INTO" and self._mariadb and not self._is_whole:
                # It does not log the columns that a REPLACE leaves out, which get their defaults.
                verb = "INSERT IGNORE INTO"
            return f"{verb} {place} (`{'`, `'.join(chosen)}`) VALUES {rows}"
        limit = f"ORDER BY {random.choice((1, 2))} LIMIT {random.randint(1, 4)}".replace("ORDER BY 1 ", "")
        if chance < 0.6:
            return f"DELETE FROM {place} {limit.replace('ORDER BY 2 ', '')}"
        if chance < 0.75:
            return f"UPDATE IGNORE {place} SET `{random.choice(key)}` = {self._value(True)} LIMIT 1"
        one, count = random.choice(names), random.randint(1, 9)
        return f"UPDATE IGNORE {place} SET `{one}` = {self._value(False)} LIMIT {count}"

    def _value(self, of_key: bool) -> str:
        if not of_key:
            return self._random.choice(VALUES)
        number = self._random.randint(1, 20)
        return self._random.choice((f"'{number}'", f"{number}", f"'200{number % 10}-01-0{number % 9 + 1}'"))
