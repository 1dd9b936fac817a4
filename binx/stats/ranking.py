"""The few transactions that have most of a measure, in bounded memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Generic, TypeVar

from binx.errors import OutputError
from binx.kernels.transactions.selection import Measure, rank
from binx.stats.transaction import ListedTransaction, Page

Item = TypeVar("Item")
_AT_ONCE = 4096


class Ranking(Generic[Item]):
    """The few transactions with most (or least) of a measure; of equals, those that come first.

    Args:
        measure: what they are ranked by.
        limit: how many are kept.
        describe: gives for places in a page, which ascend, what is kept of each.
        smallest: whether those with least are wanted.
        floor: take only what goes beyond this value.
    """

    def __init__(
        self,
        measure: Measure,
        limit: int,
        describe: Callable[[Page, Sequence[int]], Sequence[Item]],
        *,
        smallest: bool = False,
        floor: int | None = None,
    ) -> None:
        self._measure = measure
        self._limit = limit
        self._describe = describe
        self._smallest = smallest
        self._floor = floor
        self._kept: list[tuple[int, int, Item]] = []

    def take(self, page: Page) -> None:
        """Look at a page's transactions; those that are candidates are described at once."""
        if len(self._kept) == self._limit and self._kept:
            self._floor = _key(self._kept[-1][0], self._smallest)
        ranked = rank(page.table, page.mask, self._measure, self._smallest, self._limit, self._floor)
        ranked.sort(key=lambda pair: pair[1])
        items = self._describe(page, [index for _, index in ranked])
        for (value, index), item in zip(ranked, items, strict=True):
            self._kept.append((_key(value, self._smallest), page.first_seqno + index, item))
        self._kept.sort(key=lambda kept: kept[:2])
        del self._kept[self._limit :]

    @property
    def items(self) -> tuple[Item, ...]:
        """What is kept of those found so far, the best first."""
        return tuple(item for _, _, item in self._kept)


def described(page: Page, indexes: Sequence[int]) -> list[ListedTransaction]:
    """Some of a page's transactions."""
    return [page.describe(index) for index in indexes]


def described_without_text(page: Page, indexes: Sequence[int]) -> list[ListedTransaction]:
    """The same from the table alone: no event is read, so none can be found damaged."""
    return [page.describe(index, with_text=False) for index in indexes]


def _key(value: int, smallest: bool) -> int:
    """The measure as a key by which the best sorts first, and such a key as the measure."""
    return value if smallest else -value


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
