"""Random tables: their columns, keys and options, and the statement that makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.live.workload.kinds import SHAPES, Kind, integer_kind, key_kind, random_kind
from tests.live.workload.texts import NEUTRAL, Spelling, random_name

MANY_COLUMNS = 70


@dataclass(slots=True)
class Column:
    """One column."""

    name: str
    kind: Kind
    options: str = ""
    nullable: bool = True
    optional: bool = True
    generated: bool = False


@dataclass(slots=True)
class Table:
    """One table."""

    db: str
    name: str
    columns: list[Column]
    key: list[Column]
    counter: Column
    key_values: list[list[str]]
    statements: bool = False
    options: str = ""
    counts: bool = False
    extra: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def place(self, spelling: Spelling) -> str:
        """Database and name, quoted."""
        return f"{spelling.name(self.db)}.{spelling.name(self.name)}"

    def writable(self) -> list[Column]:
        """The columns that statements may set."""
        return [column for column in self.columns if not column.generated]

    def plain_columns(self) -> list[Column]:
        """The writable columns outside the key, but for the counter."""
        return [column for column in self.writable() if column not in self.key and column is not self.counter]

    def create(self, spelling: Spelling) -> str:
        """The statement that makes it."""
        lines = [declare(column, spelling) for column in self.columns]
        if self.key:
            names = ", ".join(spelling.name(column.name, ansi=True) for column in self.key)
            lines.append(f"PRIMARY KEY ({names})")
        lines += self.extra
        return f"CREATE TABLE {self.place(spelling)} (\n  " + ",\n  ".join(lines) + f"\n) {self.options}"


def declare(column: Column, spelling: Spelling) -> str:
    """A column as CREATE and ALTER write it."""
    return f"{spelling.name(column.name, ansi=True)} {column.kind.sql} {column.options}".rstrip()


def random_table(random: Random, db: str, taken: set[str], *, mariadb: bool) -> Table:
    """A table with a key more often than without."""
    names: set[str] = set()
    key = [
        Column(random_name(random, names), key_kind(random, mariadb=mariadb), "NOT NULL", False, False)
        for _ in range(random.choice((0, 1, 1, 1, 2, 3)))
    ]
    counter = Column(random_name(random, names), integer_kind(), "NOT NULL DEFAULT 0", False)
    count = random.choice((MANY_COLUMNS, *[None] * 15)) or random.randint(2, 12)
    columns = [*key, counter]
    for _ in range(count):
        column = random_column(random, names, mariadb=mariadb)
        columns.insert(random.randint(0, len(columns)), column)
    if count != MANY_COLUMNS and random.random() < 0.3:
        columns.append(_generated(random, names, counter))
    spelling = Spelling()
    values = [[column.kind.literal(random, NEUTRAL) for _ in range(12)] for column in key]
    table = Table(db, random_name(random, taken), columns, key, counter, values, names=names)
    if not key and random.random() < 0.4:
        unique = Column(random_name(random, names), integer_kind("BIGINT"), "NOT NULL", False, False)
        columns.append(unique)
        table.extra.append(f"UNIQUE KEY ({spelling.name(unique.name)})")
        if random.random() < 0.5:
            unique.options, unique.optional, table.counts = "NOT NULL AUTO_INCREMENT", True, True
    elif random.random() < 0.3:
        table.extra.append(f"KEY ({spelling.name(counter.name)})")
    table.options = random.choice(("", "CHARSET utf8mb4", "CHARSET latin1", "COMMENT 'it''s a \"table\"'"))
    if key and not table.extra and not has_shapes(columns) and random.random() < 0.2:
        table.options += " PARTITION BY KEY () PARTITIONS 3"
    return table


def has_shapes(columns: list[Column]) -> bool:
    """Whether there are spatial columns, which tables with partitions cannot have."""
    return any(column.kind.sql in SHAPES for column in columns)


def random_column(random: Random, names: set[str], *, mariadb: bool) -> Column:
    """A column outside the key."""
    kind = random_kind(random, mariadb=mariadb)
    column = Column(random_name(random, names), kind)
    if random.random() < 0.25:
        column.nullable = False
        column.optional = False
        column.options = "NOT NULL"
    elif kind.sql.startswith("TIMESTAMP"):
        column.options = "NULL"
    if kind.sql.startswith(("TIMESTAMP", "DATETIME")) and random.random() < 0.3:
        now = "CURRENT_TIMESTAMP" + kind.sql.removeprefix("TIMESTAMP").removeprefix("DATETIME")
        column.options, column.optional = f"NULL DEFAULT {now} ON UPDATE {now}", True
        column.nullable = True
        return column
    if kind.simple_default and random.random() < 0.25:
        literal = kind.literal(random, Spelling())
        # Zero dates and values that do not fit are no defaults in strict sessions.
        if kind.integer or kind.sql in ("DOUBLE", "BIT(64)") or kind.sql.startswith("VARCHAR(2"):
            column.options += f" DEFAULT {literal}"
            column.optional = True
    if random.random() < 0.1:
        column.options += " COMMENT 'it''s, a \"comment\" (with) `signs`'"
    if random.random() < 0.1 and (column.nullable or column.optional):
        column.options += " INVISIBLE"
    return column


def _generated(random: Random, names: set[str], counter: Column) -> Column:
    place = Spelling().name(counter.name)
    expression = random.choice((f"{place} * 2", f"CONCAT('n', {place})", f"{place} IS NULL"))
    kind = Kind("VARCHAR(30)", lambda *_: "DEFAULT")
    options = f"GENERATED ALWAYS AS ({expression}) {random.choice(('VIRTUAL', 'STORED'))}"
    return Column(random_name(random, names), kind, options, generated=True)
