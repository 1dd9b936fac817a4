"""What a user may ask for beside transactions: names of databases, and what an undo does with conflicts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binx.rows.statements import Statement


class DatabaseNames:
    """The names that databases get: those of tables' rows, and statements' default database.

    Names within the text of statements stay, as with mysqlbinlog's ``--rewrite-db``.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)
        self._spoken: dict[str, int] = {}
        self._mention = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names)) if names else None

    def __bool__(self) -> bool:
        return bool(self._names)

    def __getitem__(self, name: str) -> str:
        """The name that a database gets."""
        return self._names.get(name, name)

    def in_statement(self, statement: Statement) -> Statement:
        """A statement in the database as it is called now; one whose text names the old one is noted."""
        if self._mention is None:
            return statement
        self.note_text(statement.sql)
        return statement._replace(db=self[statement.db])

    def note_text(self, sql: str) -> None:
        """Note a statement whose text names a database by its old name."""
        for name in set(self._mention.findall(sql)) if self._mention is not None else ():
            self._spoken[name] = self._spoken.get(name, 0) + 1

    @property
    def warnings(self) -> list[str]:
        """What whoever uses the output must know, in sentences."""
        return [
            f"statements whose text names {name}, which --rewrite-db leaves as it is: {count:,}"
            for name, count in self._spoken.items()
        ]


class OnConflict(Enum):
    """What is done with rows that are not as the log left them."""

    STOP = "stop"
    """They are listed, and nothing is undone."""
    SKIP = "skip"
    """They are listed and left alone; all others are undone."""
    FORCE = "force"
    """They are found by their key alone, and set back whatever was done to them since."""
