"""Random statements that change rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.live.workload.kinds import json_literal
from tests.live.workload.tables import Column, Table
from tests.live.workload.texts import Spelling

LOAD_FILE = "rows.txt"
"""The file that LOAD DATA reads, in the client's working folder."""


class Changes:
    """Makes statements for tables."""

    def __init__(self, random: Random, *, mariadb: bool) -> None:
        self._random = random
        self._mariadb = mariadb

    def statement(
        self, table: Table, others: Sequence[Table], spelling: Spelling, *, safe: bool, whole: bool
    ) -> str:
        """One statement."""
        makers: list[Callable[[Table, Spelling], str]] = [self.insert] * 6 + [self.update] * 5
        makers += [self.delete, self.delete, self.upsert]
        # MariaDB logs a REPLACE as an update that leaves out, in partial images, what became its default.
        if whole or not self._mariadb:
            makers.append(self.replace)
        if not safe:
            makers += [self.load, self.update_many]
        if table.key:
            makers += [self.update_key]
        if not safe and others:
            makers.append(
                lambda into, session: self.insert_select(into, self._random.choice(others), session)
            )
        return self._random.choice(makers)(table, spelling)

    def insert(self, table: Table, spelling: Spelling, verb: str = "INSERT INTO") -> str:
        """INSERT of one to many rows."""
        columns = self._some_columns(table)
        rows = self._random.choice((1, 1, 1, 2, 3, 10, 40))
        values = ",\n".join(self._row(table, columns, spelling) for _ in range(rows))
        ignore = " IGNORE" if verb == "INSERT INTO" and self._random.random() < 0.5 else ""
        into = f"{verb.replace(' INTO', ignore + ' INTO')} {table.place(spelling)}"
        return f"{into} ({self._names(columns, spelling)}) VALUES {values}"

    def replace(self, table: Table, spelling: Spelling) -> str:
        """REPLACE of existing and new rows."""
        return self.insert(table, spelling, "REPLACE INTO")

    def upsert(self, table: Table, spelling: Spelling) -> str:
        """INSERT … ON DUPLICATE KEY UPDATE."""
        counter = spelling.name(table.counter.name)
        columns = self._random.sample(table.plain_columns(), min(2, len(table.plain_columns())))
        settings = [f"{counter} = {counter} + 1", *self._settings(columns, spelling)]
        insert = self.insert(table, spelling).replace(" IGNORE", "", 1)
        return f"{insert} ON DUPLICATE KEY UPDATE {', '.join(settings)}"

    def update(self, table: Table, spelling: Spelling) -> str:
        """UPDATE of the rows that some key values name."""
        plain = table.plain_columns()
        columns = self._random.sample(plain, self._random.randint(min(1, len(plain)), min(len(plain), 4)))
        counter = spelling.name(table.counter.name)
        settings = [f"{counter} = {counter} + 1", *self._settings(columns, spelling)]
        return (
            f"UPDATE {table.place(spelling)} SET {', '.join(settings)} WHERE {self._where(table, spelling)}"
        )

    def update_many(self, table: Table, spelling: Spelling) -> str:
        """UPDATE of every row."""
        plain = table.plain_columns()
        settings = [f"{spelling.name(table.counter.name)} = {self._random.randint(-1000, 1000)}"]
        settings += self._settings(self._random.sample(plain, min(len(plain), 1)), spelling)
        return f"UPDATE {table.place(spelling)} SET {', '.join(settings)}"

    def update_key(self, table: Table, spelling: Spelling) -> str:
        """UPDATE that moves a row to another key."""
        settings = [
            f"{spelling.name(column.name)} = {self._random.choice(values)}"
            for column, values in zip(table.key, table.key_values, strict=True)
        ]
        where = self._where(table, spelling, 1)
        return f"UPDATE IGNORE {table.place(spelling)} SET {', '.join(settings)} WHERE {where}"

    def delete(self, table: Table, spelling: Spelling) -> str:
        """DELETE of the rows that some key values name."""
        return f"DELETE FROM {table.place(spelling)} WHERE {self._where(table, spelling, 1)}"

    def touch(self, table: Table, spelling: Spelling) -> str:
        """UPDATE that changes every row."""
        counter = spelling.name(table.counter.name)
        # Whatever the counter was, it is another number afterwards.
        other = f"IF({counter} > 0, {counter} - 2000000, {counter} + 7)"
        return f"UPDATE {table.place(spelling)} SET {counter} = {other}"

    def insert_select(self, table: Table, other: Table, spelling: Spelling) -> str:
        """INSERT … SELECT, the key from one table, constants for the rest."""
        columns = [*table.key, *[c for c in table.writable() if not c.optional and c not in table.key]]
        columns.append(table.counter)
        values = [
            self._random.choice(table.key_values[table.key.index(column)])
            if column in table.key
            else column.kind.literal(self._random, spelling)
            for column in columns[:-1]
        ]
        values.append(f"{spelling.name(other.counter.name)}")
        return (
            f"INSERT IGNORE INTO {table.place(spelling)} ({self._names(columns, spelling)})"
            f" SELECT {', '.join(values)} FROM {other.place(spelling)} LIMIT {self._random.randint(1, 5)}"
        )

    def load(self, table: Table, spelling: Spelling) -> str:
        """LOAD DATA, whose file has a number and a text a line."""
        columns = [*table.key, *[c for c in table.writable() if not c.optional and c not in table.key]]
        settings = ", ".join(
            f"{spelling.name(column.name)} = {value}"
            for column, value in zip(columns, self._values(table, columns, spelling), strict=True)
        )
        settings = f" SET {settings}" if settings else ""
        return (
            f"LOAD DATA LOCAL INFILE '{LOAD_FILE}' IGNORE INTO TABLE {table.place(spelling)}"
            f" CHARACTER SET utf8mb4 ({spelling.name(table.counter.name)}, @ignored){settings}"
        )

    def _names(self, columns: Sequence[Column], spelling: Spelling) -> str:
        return ", ".join(spelling.name(column.name) for column in columns)

    def _some_columns(self, table: Table) -> list[Column]:
        """A random part of the columns, in random order, with all those that must be there."""
        if self._random.random() < 0.5:
            return table.writable()
        chosen = [
            c for c in table.writable() if not c.optional or c in table.key or self._random.random() < 0.6
        ]
        self._random.shuffle(chosen)
        return chosen or table.writable()

    def _row(self, table: Table, columns: Sequence[Column], spelling: Spelling) -> str:
        return f"({', '.join(self._values(table, columns, spelling))})"

    def _values(self, table: Table, columns: Sequence[Column], spelling: Spelling) -> list[str]:
        return [
            self._random.choice(table.key_values[table.key.index(column)])
            if column in table.key
            else self._value(column, spelling)
            for column in columns
        ]

    def _value(self, column: Column, spelling: Spelling) -> str:
        chance = self._random.random()
        if column.nullable and chance < 0.15:
            return "NULL"
        if column.optional and not column.kind.json and chance < 0.2:
            return "DEFAULT"
        if chance > 0.97 and column.kind.integer:
            return "@number"
        return column.kind.literal(self._random, spelling)

    def _settings(self, columns: Sequence[Column], spelling: Spelling) -> list[str]:
        return [f"{spelling.name(column.name)} = {self._new_value(column, spelling)}" for column in columns]

    def _new_value(self, column: Column, spelling: Spelling) -> str:
        name = spelling.name(column.name)
        if column.kind.json and self._random.random() < 0.6:
            value = json_literal(self._random, spelling, 2)
            return self._random.choice(
                (
                    f"JSON_SET({name}, '$.a', {value})",
                    f"JSON_SET({name}, '$.a', 1, '$[0]', {value})",
                    f"JSON_REMOVE({name}, '$.b')",
                    f"JSON_REPLACE({name}, '$[1]', {value})",
                    f"JSON_ARRAY_APPEND({name}, '$', {value})",
                )
            )
        return self._value(column, spelling)

    def _where(self, table: Table, spelling: Spelling, most: int = 3) -> str:
        if not table.key:
            low = self._random.randint(-5, 60)
            return f"{spelling.name(table.counter.name)} BETWEEN {low} AND {low + 3 * most}"
        first, values = table.key[0], table.key_values[0]
        chosen = ", ".join(self._random.sample(values, most))
        return f"{spelling.name(first.name)} IN ({chosen})"
