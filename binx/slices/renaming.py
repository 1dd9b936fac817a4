"""New names of databases: ``--rewrite-db``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from binx.source.wording import did_you_mean

if TYPE_CHECKING:
    from binx.rows.logged_statements import Statement


class DatabaseNames:
    """New names of databases, for rows' tables and for the default database of statements.

    Names within the text of statements stay, as with mysqlbinlog's ``--rewrite-db``.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)
        self._met: dict[str, None] = {}
        self._spoken: dict[str, int] = {}
        self._mention = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names)) if names else None

    def __bool__(self) -> bool:
        return bool(self._names)

    def __getitem__(self, name: str) -> str:
        """Return a database's new name."""
        self._met[name] = None
        return self._names.get(name, name)

    def in_statement(self, statement: Statement) -> Statement:
        """Rename a statement's default database; record statements whose text names the old one."""
        if self._mention is None:
            return statement
        self.note_text(statement.sql)
        return statement._replace(db=self[statement.db])

    def note_text(self, sql: str) -> None:
        """Record a statement whose text names a database by its old name."""
        for name in set(self._mention.findall(sql)) if self._mention is not None else ():
            self._spoken[name] = self._spoken.get(name, 0) + 1

    @property
    def warnings(self) -> list[str]:
        """Warnings for the users of the output."""
        return [
            *(
                f"--rewrite-db has nothing to rename: no database {name} in what was written"
                f"{did_you_mean(name, self._met)}"
                for name in self._names
                if name not in self._met and name not in self._spoken
            ),
            *(
                f"statements whose text names {name}, which --rewrite-db leaves as it is: {count:,}"
                for name, count in self._spoken.items()
            ),
        ]


SAME_NAMES = DatabaseNames({})
"""No database gets another name."""
