"""Names of tables, and patterns of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from binx.dataset.dataset import escape_name
from binx.errors import AbsentError
from binx.log.selection.table_filter import TableFilter, table_name
from binx.rows.ddl.tokens import identifier
from binx.source.wording import did_you_mean, listed

filter_of = lru_cache(TableFilter)
"""The filter of patterns of databases and of tables, both tuples."""

_SHOWN = 10
_QUOTED = re.compile(r"[`.*?[]|^$")
"""What a name or a pattern has only within backticks."""


class TableName(NamedTuple):
    """A table's database and name, spelled as on the server; its text is what :meth:`parse` reads."""

    db: str
    table: str

    def __str__(self) -> str:
        return ".".join(identifier(name) if _QUOTED.search(name) else name for name in self)

    @property
    def folder(self) -> str:
        """The folder of its files, relative to the output."""
        return f"{escape_name(self.db)}/{escape_name(self.table)}"

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Parse ``db.table``; names with dots are quoted with backticks.

        Raises:
            UsageError: the text is not a table name.
        """
        return cls(*table_name(text))


class UnknownTableError(AbsentError):
    """There is no such table at a moment.

    Attributes:
        table: its name.
    """

    def __init__(self, message: str, table: str) -> None:
        super().__init__(message)
        self.table = table


def listed_tables(names: Iterable[TableName], unknown: str | None = None) -> str:
    """Return the first of these tables in words, for messages; with the one that an unknown one may mean."""
    texts = list(map(str, sorted(names)))
    near = "" if unknown is None else did_you_mean(unknown, texts)
    return (listed(texts, _SHOWN) or "none") + near
