"""What the statements of a log do to tables as a whole and to the names of columns, read from their text.

Row images do not tell that a table was emptied, dropped or renamed; statements do. Understood are
``TRUNCATE [TABLE]``, ``DROP TABLE``, ``DROP DATABASE``, ``CREATE TABLE`` (without ``IF NOT EXISTS`` it
proves that no such table was there), ``RENAME TABLE a TO b, …`` and ``ALTER TABLE … RENAME [TO] b``;
temporary tables are left out. Operations on partitions that remove rows cannot be followed and are
reported. This relies on names being written as the row events have them, and on the statement's default
database for those without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .ddl_reader import Reader
from .manifests import TableName

#: Statements without one of these words change no table as a whole and no column's name or type (``rlike``).
RELEVANT = r"(?i)\b(TRUNCATE|DROP|RENAME|CREATE|EXCHANGE|CONVERT|CHANGE|MODIFY)\b"

#: What an ``ALTER TABLE`` may drop besides columns.
_NO_COLUMNS = (
    ("PRIMARY",),
    ("INDEX",),
    ("KEY",),
    ("FOREIGN",),
    ("CONSTRAINT",),
    ("CHECK",),
    ("PARTITION",),
    ("SYSTEM", "VERSIONING"),
    ("PERIOD", "FOR"),
)


@dataclass(frozen=True, slots=True)
class Emptied:
    """From here on the table holds none of its earlier rows."""

    table: TableName


@dataclass(frozen=True, slots=True)
class Renamed:
    """From here on the rows of ``old`` are those of ``new``, and ``old`` is not there."""

    old: TableName
    new: TableName


@dataclass(frozen=True, slots=True)
class DatabaseDropped:
    """All tables of the database are gone."""

    db: str


@dataclass(frozen=True, slots=True)
class PartitionChanged:
    """Rows went out of the table or into it with a partition; which ones, the log does not say."""

    table: TableName


Effect = Emptied | Renamed | DatabaseDropped | PartitionChanged


def effects(sql: str, db: str) -> list[Effect]:
    """What a statement does to tables as a whole.

    Args:
        sql: the statement as it was logged.
        db: its default database.
    """
    statement = Reader(sql, db)
    if statement.accept("TRUNCATE"):
        statement.accept("TABLE")
        return [Emptied(statement.table())]
    if statement.accept("DROP"):
        return _dropped(statement)
    if statement.accept("CREATE"):
        return _created(statement)
    if statement.accept("RENAME", "TABLE") or statement.accept("RENAME", "TABLES"):
        return _renamed(statement)
    return _altered(statement)


def _dropped(statement: Reader) -> list[Effect]:
    if statement.accept("DATABASE") or statement.accept("SCHEMA"):
        statement.accept("IF", "EXISTS")
        return [DatabaseDropped(statement.name())]
    if not (statement.accept("TABLE") or statement.accept("TABLES")):
        return []
    statement.accept("IF", "EXISTS")
    return [Emptied(table) for table in statement.tables()]


def _created(statement: Reader) -> list[Effect]:
    statement.accept("OR", "REPLACE")
    if not statement.accept("TABLE") or statement.accept("IF", "NOT", "EXISTS"):
        return []
    return [Emptied(statement.table())]


def _renamed(statement: Reader) -> list[Effect]:
    statement.accept("IF", "EXISTS")
    found: list[Effect] = []
    while True:
        old = statement.table()
        statement.skip_waiting()
        if not statement.accept("TO"):
            return found
        found.append(Renamed(old, statement.table()))
        if not statement.accept(","):
            return found


def _altered(statement: Reader) -> list[Effect]:
    table = statement.altered()
    if table is None:
        return []
    found: list[Effect] = []
    more = True
    while more:
        if statement.accept("RENAME"):
            if not any(statement.accept(word) for word in ("COLUMN", "INDEX", "KEY")):
                any(statement.accept(word) for word in ("TO", "AS", "="))
                found.append(Renamed(table, statement.table()))
        else:
            found += _partitions(statement, table)
        more = statement.skip_to_clause()
    return found


def _partitions(statement: Reader, table: TableName) -> list[Effect]:
    """What a clause does to rows by whole partitions; those that change hands are of two tables."""
    if statement.accept("DROP", "PARTITION") or statement.accept("TRUNCATE", "PARTITION"):
        return [PartitionChanged(table)]
    if statement.accept("CONVERT", "TABLE"):
        return [PartitionChanged(table), PartitionChanged(statement.table())]
    if statement.accept("EXCHANGE", "PARTITION") or statement.accept("CONVERT", "PARTITION"):
        statement.name()
        if statement.accept("WITH", "TABLE") or statement.accept("TO", "TABLE"):
            return [PartitionChanged(table), PartitionChanged(statement.table())]
        return [PartitionChanged(table)]
    return []


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """What an ``ALTER TABLE`` does to columns' names, all in lower case: new by old, and those dropped."""

    table: TableName
    renamed: Mapping[str, str]
    dropped: frozenset[str]


def column_changes(sql: str, db: str) -> ColumnChanges | None:
    """The columns that a statement renames or drops; None where it does neither."""
    statement = Reader(sql, db)
    table = statement.altered()
    if table is None:
        return None
    renamed: dict[str, str] = {}
    dropped: set[str] = set()
    more = True
    while more:
        if statement.accept("RENAME", "COLUMN"):
            statement.accept("IF", "EXISTS")
            old = statement.name()
            if statement.accept("TO"):
                renamed[old.lower()] = statement.name().lower()
        elif statement.accept("CHANGE"):
            statement.accept("COLUMN")
            statement.accept("IF", "EXISTS")
            old = statement.name()
            renamed[old.lower()] = statement.name().lower()
        elif statement.accept("DROP") and not any(statement.accept(*words) for words in _NO_COLUMNS):
            statement.accept("COLUMN")
            statement.accept("IF", "EXISTS")
            dropped.add(statement.name().lower())
        more = statement.skip_to_clause()
    renamed = {old: new for old, new in renamed.items() if old != new}
    return ColumnChanges(table, renamed, frozenset(dropped)) if renamed or dropped else None


def new_types(sql: str, db: str) -> tuple[TableName, dict[str, str]] | None:
    """The types that a statement gives to columns which are there, by their former names in lower case.

    Args:
        sql: the statement as it was logged.
        db: its default database.
    """
    statement = Reader(sql, db)
    table = statement.altered()
    if table is None:
        return None
    types: dict[str, str] = {}
    more = True
    while more:
        renames = statement.accept("CHANGE")
        if renames or statement.accept("MODIFY"):
            statement.accept("COLUMN")
            statement.accept("IF", "EXISTS")
            old = statement.name().lower()
            if renames:
                statement.name()
            types[old] = statement.type()
        more = statement.skip_to_clause()
    return (table, types) if types else None
