"""Threads that encode, compress and hash while a log is decoded.

Work is handed over in lanes: the pieces of one lane are done in the order in which they came, and lanes go on
side by side. What comes out does not depend on how many threads there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Condition
from types import TracebackType
from typing import TYPE_CHECKING, Self

from binx.errors import ResourceError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


def usable_processors() -> int:
    """How many processors this process may run on."""
    # Only Linux and its like tell what this process may use; elsewhere all of them count.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _threads(jobs: int) -> ThreadPoolExecutor:
    # Here and not above: it loads logging, which one job has no use for.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(jobs, "binx")


class Workers:
    """Threads for lanes; they end with the context.

    Args:
        jobs: how many; with 1 there is none, and each piece is done when it is handed over.
        limit: bytes that pieces may hold that are not done; who hands over more waits. A piece that is larger
            waits until it is the only one.
    """

    def __init__(self, jobs: int, limit: int) -> None:
        self.jobs = jobs
        self._limit = limit
        self._held = 0
        self._changed = Condition()
        self._pool = _threads(jobs) if jobs > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def lane(self) -> Lane:
        """A new lane."""
        return Lane(self, self._pool, self._changed)

    def take(self, size: int) -> None:
        """Wait until there is room for a piece; the condition is held."""
        self._changed.wait_for(lambda: not self._held or self._held + size <= self._limit)
        self._held += size

    def give_back(self, size: int) -> None:
        """A piece is done; the condition is held."""
        self._held -= size
        self._changed.notify_all()


class Lane:
    """Pieces of work that are done one after another.

    An error ends the lane: the pieces behind are dropped, and whoever hands over the next one, or waits for
    the end, gets the error.
    """

    # A log of thousands of tables has as many lanes.
    __slots__ = ("_changed", "_error", "_is_busy", "_pool", "_waiting", "_workers")

    def __init__(self, workers: Workers, pool: ThreadPoolExecutor | None, changed: Condition) -> None:
        self._workers = workers
        self._pool = pool
        self._changed = changed
        # Few wait in one lane, and a deque takes 600 bytes when it is empty.
        self._waiting: list[tuple[Callable[[], object], int]] = []
        self._is_busy = False
        self._error: BaseException | None = None

    @property
    def has_thread(self) -> bool:
        """Whether the pieces are done beside whoever hands them over."""
        return self._pool is not None

    def submit(self, work: Callable[[], object], size: int = 0) -> None:
        """Hand over a piece that holds so many bytes.

        Raises:
            ResourceError: the system starts no thread.
            BaseException: what ended the lane before.
        """
        if self._pool is None:
            work()
            return
        with self._changed:
            self._raise()
            self._workers.take(size)
            self._waiting.append((work, size))
            if not self._is_busy:
                self._begin(self._pool)
                self._raise()

    def join(self) -> None:
        """Wait until all pieces are done.

        Raises:
            BaseException: what ended the lane.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._is_busy)
        self._raise()

    def drop(self) -> None:
        """Forget the pieces that were not begun, and wait until nothing is worked on."""
        with self._changed:
            self._clear()
            self._changed.wait_for(lambda: not self._is_busy)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _clear(self) -> None:
        while self._waiting:
            self._workers.give_back(self._waiting.pop(0)[1])

    def _begin(self, pool: ThreadPoolExecutor) -> None:
        """Have a thread do the next piece; the condition is held."""
        self._is_busy = True
        try:
            pool.submit(self._next)
        except RuntimeError as error:
            self._error = ResourceError.of("threads", error)
            self._error.__cause__ = error
            # Whoever takes it from the pool's queue all the same finds nothing to do.
            self._clear()
            self._is_busy = False
            self._changed.notify_all()

    def _next(self) -> None:
        """Do one piece, and have a thread do the next: lanes take turns."""
        with self._changed:
            if not self._waiting:
                self._is_busy = False
                self._changed.notify_all()
                return
            work, size = self._waiting.pop(0)
        try:
            if self._error is None:
                work()
        except BaseException as error:
            self._error = error
        del work
        with self._changed:
            self._workers.give_back(size)
            if self._error is not None:
                self._clear()
            if self._waiting and self._pool is not None:
                self._begin(self._pool)
            else:
                self._is_busy = False
                self._changed.notify_all()
