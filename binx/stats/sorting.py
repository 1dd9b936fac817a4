"""Texts in the order of a key, in bounded memory: SQLite sorts them in a temporary file of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

from binx.errors import OutputError

_AT_ONCE = 4096


class TextSorter:
    """Sorts texts by a key, the least first; of equals, those with the lesser ordinal.

    Raises:
        OutputError: there is no room for temporary files; so do all methods.
    """

    def __init__(self) -> None:
        with _told():
            # A database without a name is a file that goes with the connection.
            self._database = sqlite3.connect("", isolation_level=None)
            self._database.execute("PRAGMA journal_mode = OFF")
            self._database.execute("CREATE TABLE texts (key INTEGER, ordinal INTEGER, text BLOB)")
            self._database.execute("BEGIN")

    def add(self, keys: Iterable[int], ordinals: Iterable[int], texts: Iterable[bytes]) -> None:
        """Take in some texts; no two have the same ordinal."""
        with _told():
            rows = zip(keys, ordinals, texts, strict=True)
            self._database.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)

    def texts(self, limit: int | None = None) -> Iterator[list[bytes]]:
        """All texts in their order, or the first, some thousands at a time; once."""
        query = "SELECT text FROM texts ORDER BY key, ordinal LIMIT ?"
        with _told(), closing(self._database):
            found = self._database.execute(query, (-1 if limit is None else limit,))
            while rows := found.fetchmany(_AT_ONCE):
                yield [text for (text,) in rows]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OutputError(
            f"sorting needs room for temporary files, and SQLite says: {error}; TMPDIR names their folder"
        ) from error
