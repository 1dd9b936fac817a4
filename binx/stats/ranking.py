"""Transactions in the order of a measure: the first few in bounded memory, or all."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from binx.kernels.tally import Measure, rank
from binx.stats.transaction import ListedTransaction, Page


class Best:
    """The few transactions with most (or least) of a measure; of equals, those that come first.

    Args:
        measure: what they are ranked by.
        limit: how many are kept.
        smallest: whether those with least are wanted.
        floor: take only what goes beyond this value.
    """

    def __init__(
        self, measure: Measure, limit: int, *, smallest: bool = False, floor: int | None = None
    ) -> None:
        self._measure = measure
        self._limit = limit
        self._smallest = smallest
        self._floor = floor
        self._kept: list[tuple[int, int, ListedTransaction]] = []

    def take(self, page: Page) -> None:
        """Look at a page's transactions; those that are candidates are described at once."""
        if len(self._kept) == self._limit and self._kept:
            self._floor = _key(self._kept[-1][0], self._smallest)
        for value, index in rank(
            page.table, page.mask, self._measure, self._smallest, self._limit, self._floor
        ):
            key = _key(value, self._smallest)
            self._kept.append((key, page.first_seqno + index, page.describe(index)))
        self._kept.sort(key=lambda item: item[:2])
        del self._kept[self._limit :]

    @property
    def transactions(self) -> tuple[ListedTransaction, ...]:
        """Those found so far, the best first."""
        return tuple(transaction for _, _, transaction in self._kept)


class Sorted:
    """All transactions in the order of a measure; each page is sorted by itself, and then they are merged.

    Args:
        measure: what they are sorted by.
        smallest: whether those with least come first.
    """

    def __init__(self, measure: Measure, *, smallest: bool) -> None:
        self._measure = measure
        self._smallest = smallest
        self._pages: list[tuple[Page, list[tuple[int, int]]]] = []

    def take(self, page: Page) -> None:
        """Sort a page's transactions, and keep the page."""
        found = rank(page.table, page.mask, self._measure, self._smallest, len(page.table))
        self._pages.append((page, found))

    @property
    def transactions(self) -> Iterator[ListedTransaction]:
        """All of them in their order."""
        ranked = [self._keyed(page, found) for page, found in self._pages]
        for _, seqno, page in heapq.merge(*ranked, key=lambda item: item[:2]):
            yield page.describe(seqno - page.first_seqno)

    def _keyed(self, page: Page, found: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, Page]]:
        for value, index in found:
            yield _key(value, self._smallest), page.first_seqno + index, page


def _key(value: int, smallest: bool) -> int:
    """The measure as a key by which the best sorts first, and such a key as the measure."""
    return value if smallest else -value


__all__ = ["Best", "Sorted"]
