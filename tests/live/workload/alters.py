"""Random statements that change tables, and keep the generator's picture of them true."""

from __future__ import annotations

import copy
from random import Random

from tests.live.workload.kinds import integer_kind
from tests.live.workload.tables import Column, Table, declare, has_shapes, random_column, random_table
from tests.live.workload.texts import Spelling, random_name

MOST_CONVERTED = 20
"""Columns of a table whose texts may all grow to four bytes a character."""


class Alters:
    """Makes statements for tables."""

    def __init__(self, random: Random, taken: set[str], *, mariadb: bool) -> None:
        self._random = random
        self._mariadb = mariadb
        self._taken = taken

    def statements(self, table: Table, tables: list[Table], spelling: Spelling) -> list[str]:
        """One change of one table; what a strict server could refuse for the rows' sake empties it first."""
        makers = [self._add, self._add, self._drop, self._rename_column, self._reorder, self._modify]
        makers += [
            self._rename_table,
            self._truncate,
            self._index,
            self._add_list,
            self._convert,
            self._turn_key,
        ]
        chance = self._random.random()
        if chance < 0.1:
            return [self._create_like(table, tables, spelling)]
        if chance < 0.2:
            return [self._create_select(table, tables, spelling)]
        if chance < 0.27 and len(tables) > 3:
            return [self._drop_table(table, tables, spelling)]
        if chance < 0.35:
            return self._make_again(table, tables, spelling)
        if chance < 0.43:
            return [self._swap(table, self._random.choice(tables), spelling)]
        return self._random.choice(makers)(table, spelling)

    def _alter(self, table: Table, spelling: Spelling, *parts: str) -> str:
        remark = self._random.choice(("", "", "/* it's a `remark`, ADD x INT */ "))
        return f"ALTER TABLE {table.place(spelling)} {remark}{', '.join(parts)}"

    def _add(self, table: Table, spelling: Spelling) -> list[str]:
        parts = []
        emptied = []
        for _ in range(self._random.choice((1, 1, 2))):
            column = self._column(table, table.names)
            if not column.nullable:
                emptied = [f"DELETE FROM {table.place(spelling)}"]
            where = self._random.choice(("", " FIRST", self._after(table, spelling)))
            parts.append(f"ADD COLUMN {declare(column, spelling)}{where}")
            table.columns.append(column)
        return [*emptied, self._alter(table, spelling, *parts)]

    def _column(self, table: Table, names: set[str]) -> Column:
        """A column that the table can have."""
        while True:
            column = random_column(self._random, names, mariadb=self._mariadb)
            if "PARTITION" not in table.options or not has_shapes([column]):
                return column

    def _add_list(self, table: Table, spelling: Spelling) -> list[str]:
        columns = [
            Column(random_name(self._random, table.names), integer_kind(), "DEFAULT 7", optional=True)
            for _ in range(2)
        ]
        table.columns += columns
        declared = ", ".join(declare(column, spelling) for column in columns)
        return [self._alter(table, spelling, f"ADD ({declared})")]

    def _convert(self, table: Table, spelling: Spelling) -> list[str]:
        if len(table.columns) > MOST_CONVERTED:
            return self._index(table, spelling)
        charset = self._random.choice(("latin1", "utf8mb4"))
        database = f"ALTER DATABASE {spelling.name(table.db)} CHARACTER SET {charset}"
        emptied = f"DELETE FROM {table.place(spelling)}"
        return [database, emptied, self._alter(table, spelling, "CONVERT TO CHARACTER SET utf8mb4")]

    def _turn_key(self, table: Table, spelling: Spelling) -> list[str]:
        if len(table.key) < 2 or "PARTITION" in table.options:
            return self._index(table, spelling)
        table.key.reverse()
        table.key_values.reverse()
        names = ", ".join(spelling.name(column.name) for column in table.key)
        return [self._alter(table, spelling, "DROP PRIMARY KEY", f"ADD PRIMARY KEY ({names})")]

    def _after(self, table: Table, spelling: Spelling, without: Column | None = None) -> str:
        others = [column for column in table.columns if column is not without]
        return f" AFTER {spelling.name(self._random.choice(others).name)}"

    def _drop(self, table: Table, spelling: Spelling) -> list[str]:
        removable = [
            column
            for column in table.plain_columns()
            if "UNIQUE" not in "".join(table.extra) or column.optional
        ]
        if len(removable) < 3:
            return self._add(table, spelling)
        column = self._random.choice(removable)
        table.columns.remove(column)
        return [self._alter(table, spelling, f"DROP COLUMN {spelling.name(column.name)}")]

    def _rename_column(self, table: Table, spelling: Spelling) -> list[str]:
        candidates = table.plain_columns()
        if not candidates:
            return self._add(table, spelling)
        column = self._random.choice(candidates)
        before = spelling.name(column.name)
        column.name = random_name(self._random, table.names)
        if self._random.random() < 0.5:
            return [self._alter(table, spelling, f"RENAME COLUMN {before} TO {spelling.name(column.name)}")]
        return [self._alter(table, spelling, f"CHANGE COLUMN {before} {declare(column, spelling)}")]

    def _reorder(self, table: Table, spelling: Spelling) -> list[str]:
        candidates = [column for column in table.columns if not column.generated]
        column = self._random.choice(candidates)
        where = self._random.choice((" FIRST", self._after(table, spelling, column)))
        return [self._alter(table, spelling, f"MODIFY COLUMN {declare(column, spelling)}{where}")]

    def _modify(self, table: Table, spelling: Spelling) -> list[str]:
        candidates = [column for column in table.plain_columns() if column.optional]
        if not candidates:
            return self._reorder(table, spelling)
        column = self._random.choice(candidates)
        numeric = column.kind.integer
        fresh = self._column(table, set())
        if numeric and self._random.random() < 0.5:
            fresh = Column(column.name, integer_kind("BIGINT"), "NULL")
        fresh.name = column.name
        table.columns[table.columns.index(column)] = fresh
        emptied = f"DELETE FROM {table.place(spelling)}"
        return [emptied, self._alter(table, spelling, f"MODIFY COLUMN {declare(fresh, spelling)}")]

    def _index(self, table: Table, spelling: Spelling) -> list[str]:
        if self._random.random() < 0.5:
            comment = self._random.choice(("", "it''s", 'new "comment"'))
            return [self._alter(table, spelling, f"COMMENT '{comment}'")]
        return [self._alter(table, spelling, f"ADD KEY ({spelling.name(table.counter.name)})")]

    def _truncate(self, table: Table, spelling: Spelling) -> list[str]:
        return [f"TRUNCATE TABLE {table.place(spelling)}"]

    def _rename_table(self, table: Table, spelling: Spelling) -> list[str]:
        before = table.place(spelling)
        table.name = random_name(self._random, self._taken)
        if self._random.random() < 0.3:
            return [f"ALTER TABLE {before} RENAME TO {table.place(spelling)}"]
        return [f"RENAME TABLE {before} TO {table.place(spelling)}"]

    def _create_like(self, table: Table, tables: list[Table], spelling: Spelling) -> str:
        twin = copy.copy(table)
        twin.columns = [copy.copy(column) for column in table.columns]
        twin.key = [twin.columns[table.columns.index(column)] for column in table.key]
        twin.counter = twin.columns[table.columns.index(table.counter)]
        twin.names = set(table.names)
        twin.name = random_name(self._random, self._taken)
        tables.append(twin)
        return f"CREATE TABLE {twin.place(spelling)} LIKE {table.place(spelling)}"

    def _create_select(self, table: Table, tables: list[Table], spelling: Spelling) -> str:
        """A table made of another's rows, which has no key and no generated columns."""
        columns = [copy.copy(column) for column in table.writable()]
        counter = columns[table.writable().index(table.counter)]
        name = random_name(self._random, self._taken)
        made = Table(table.db, name, columns, [], counter, [], table.statements, names=set(table.names))
        for column in columns:
            column.options = "" if column.nullable else "NOT NULL"
        tables.append(made)
        names = ", ".join(spelling.name(column.name) for column in columns)
        return f"CREATE TABLE {made.place(spelling)} SELECT {names} FROM {table.place(spelling)}"

    def _make_again(self, table: Table, tables: list[Table], spelling: Spelling) -> list[str]:
        """Another table by the same name."""
        made = random_table(self._random, table.db, set(), mariadb=self._mariadb)
        made.name, made.statements = table.name, table.statements and not made.counts
        tables[tables.index(table)] = made
        create = made.create(spelling)
        if self._mariadb and self._random.random() < 0.5:
            return [create.replace("CREATE TABLE", "CREATE OR REPLACE TABLE", 1)]
        return [f"DROP TABLE {table.place(spelling)}", create]

    def _swap(self, table: Table, other: Table, spelling: Spelling) -> str:
        """Two tables change names by way of a third name."""
        if other is table:
            return self._rename_table(table, spelling)[0]
        between = f"{spelling.name(table.db)}.{spelling.name(random_name(self._random, self._taken))}"
        places = table.place(spelling), other.place(spelling)
        table.db, table.name, other.db, other.name = other.db, other.name, table.db, table.name
        parts = (f"{places[0]} TO {between}", f"{places[1]} TO {places[0]}", f"{between} TO {places[1]}")
        return f"RENAME TABLE {', '.join(parts)}"

    def _drop_table(self, table: Table, tables: list[Table], spelling: Spelling) -> str:
        tables.remove(table)
        return f"DROP TABLE {table.place(spelling)}"
