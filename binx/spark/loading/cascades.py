"""Foreign keys that delete or change rows by themselves, which most servers do not log.

MariaDB's and, before 9.6, MySQL's storage engine follows ``ON DELETE CASCADE`` and ``SET NULL`` below the
binary log: it has the deletion of the row that was referred to, and nothing of those that went with it.
"""

from __future__ import annotations

from collections.abc import Collection

from .ddl import DatabaseDropped, Effect, Emptied, Renamed, effects
from .ddl_reader import Reader
from .manifests import TableName

#: Statements without this word define no foreign key (``rlike``).
REFERENCES = r"(?i)\bREFERENCES\b"

_ACTIONS = (("CASCADE",), ("SET", "NULL"), ("SET", "DEFAULT"))
_OTHERS = (("RESTRICT",), ("NO", "ACTION"))


class Cascades:
    """Follows the foreign keys of tables through statements."""

    def __init__(self) -> None:
        self._parents: dict[TableName, set[TableName]] = {}

    def take(self, sql: str, db: str) -> None:
        """Take in a statement; those behind it come later."""
        gone = Reader(sql, db).accept("DROP")
        for effect in effects(sql, db):
            self._follow(effect, gone=gone)
        table, parents, created = _defined(sql, db)
        if table is not None and created:
            self._parents[table] = parents
        elif table is not None and parents:
            self._parents.setdefault(table, set()).update(parents)

    def _follow(self, effect: Effect, *, gone: bool) -> None:
        match effect:
            case Emptied(table) if gone:
                self._parents.pop(table, None)
            case DatabaseDropped(db):
                self._parents = {table: found for table, found in self._parents.items() if table.db != db}
            case Renamed(old, new):
                self._parents = {
                    new if table == old else table: {new if parent == old else parent for parent in found}
                    for table, found in self._parents.items()
                }

    def reached_from(self, deleted: Collection[TableName]) -> dict[TableName, TableName]:
        """The tables whose rows may have gone or changed with rows of others, and which others these are.

        Args:
            deleted: tables of which rows were deleted.
        """
        reached: dict[TableName, TableName] = {}
        found = set(deleted)
        while True:
            more = {
                table: min(parents & found)
                for table, parents in self._parents.items()
                if table not in reached and parents & found
            }
            if not more:
                return reached
            reached |= more
            found |= more.keys()


def defines_cascade(sql: str, db: str) -> bool:
    """Whether a statement defines a foreign key that deletes or changes rows by itself."""
    return bool(_defined(sql, db)[1])


def _defined(sql: str, db: str) -> tuple[TableName | None, set[TableName], bool]:
    """The table that a statement makes or alters, whose deletions reach its rows, and whether it is new."""
    statement = Reader(sql, db)
    table, created = statement.altered(), False
    if table is None:
        table = statement.created()
        created = table is not None
    parents: set[TableName] = set()
    while table is not None and statement.skip_behind("REFERENCES"):
        parent = statement.table()
        if statement.accept("("):
            statement.skip_behind(")")
        if statement.accept("MATCH"):
            statement.name()
        if _deletes(statement):
            parents.add(parent)
    return table, parents, created


def _deletes(statement: Reader) -> bool:
    """Step over what a foreign key does; whether a deletion goes on to the rows that refer."""
    found = False
    while statement.accept("ON"):
        deletes = statement.accept("DELETE")
        if not deletes:
            statement.accept("UPDATE")
        acts = any(statement.accept(*words) for words in _ACTIONS)
        if not acts:
            any(statement.accept(*words) for words in _OTHERS)
        found |= deletes and acts
    return found
