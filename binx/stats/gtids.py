"""The GTIDs of transactions, gathered page by page."""

from __future__ import annotations

from collections.abc import Iterable

from binx.event.gtid.sets import GtidSet
from binx.log.identifiers import source_of

INTERVALS_MAXIMUM = 65_536
"""Intervals of selected transactions' GTIDs that are kept, at most."""

_PENDING_LEAST = 1_024


class GtidCollector:
    """A set that grows by runs of GTIDs, which are put together now and then, each time for twice as many.

    Args:
        limit: give up where there are more intervals; None for never.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._set = GtidSet()
        self._pending: list[tuple[bytes, int, int]] = []
        self._intervals = 0
        self._given_up = False

    def add(self, runs: Iterable[tuple[bytes, int, int]]) -> None:
        """Add runs: the key of the source as a scan's table has it, first and last number."""
        if self._given_up:
            return
        self._pending += runs
        if len(self._pending) > max(_PENDING_LEAST, self._intervals):
            self._put_together()

    def gtids(self) -> GtidSet | None:
        """The set; None where it was given up."""
        self._put_together()
        return None if self._given_up else self._set

    def _put_together(self) -> None:
        if self._pending:
            self._set |= GtidSet((source_of(key), first, last) for key, first, last in self._pending)
            self._pending = []
            self._intervals = sum(1 for _ in self._set)
        if self._limit is not None and self._intervals > self._limit:
            self._given_up, self._set = True, GtidSet()
