"""Random statements that change tables, and keep the generator's picture of them true."""

from __future__ import annotations

import copy
from random import Random

from tests.live.workload.numbers import integer_kind
from tests.live.workload.tables import Column, Table, declare, random_column
from tests.live.workload.texts import Spelling, random_name


class Alters:
    """Makes statements for tables.

    Args:
        random: decides.
        mariadb: for MariaDB.
        taken: names of tables that are in use, folded.
    """

    def __init__(self, random: Random, taken: set[str], *, mariadb: bool) -> None:
        self._random = random
        self._mariadb = mariadb
        self._taken = taken

    def statements(self, table: Table, tables: list[Table], spelling: Spelling) -> list[str]:
        """One change of one table; what a strict server could refuse for the rows' sake empties it first."""
        makers = [self._add, self._add, self._drop, self._rename_column, self._reorder, self._modify]
        makers += [self._rename_table, self._truncate, self._index]
        if self._random.random() < 0.15:
            return [self._create_like(table, tables, spelling)]
        if self._random.random() < 0.1 and len(tables) > 3:
            return [self._drop_table(table, tables, spelling)]
        return self._random.choice(makers)(table, spelling)

    def _alter(self, table: Table, spelling: Spelling, *parts: str) -> str:
        return f"ALTER TABLE {table.place(spelling)} {', '.join(parts)}"

    def _add(self, table: Table, spelling: Spelling) -> list[str]:
        parts = []
        emptied = []
        for _ in range(self._random.choice((1, 1, 2))):
            column = random_column(self._random, table.names, mariadb=self._mariadb)
            if not column.nullable:
                emptied = [f"DELETE FROM {table.place(spelling)}"]
            where = self._random.choice(("", " FIRST", self._after(table, spelling)))
            parts.append(f"ADD COLUMN {declare(column, spelling)}{where}")
            table.columns.append(column)
        return [*emptied, self._alter(table, spelling, *parts)]

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
        fresh = random_column(self._random, set(), mariadb=self._mariadb)
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

    def _drop_table(self, table: Table, tables: list[Table], spelling: Spelling) -> str:
        tables.remove(table)
        return f"DROP TABLE {table.place(spelling)}"
