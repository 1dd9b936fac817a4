"""Work done in order by one thread beside the thread that hands it over."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from binx.errors import ResourceError


class Background:
    """Does work in the order in which it comes.

    Args:
        limit: bytes that work which waits may hold; whoever hands over more waits for what came before.
        has_thread: whether it is done in a thread; else it is done when it is handed over.
    """

    def __init__(self, limit: int, *, has_thread: bool) -> None:
        self._limit = limit
        self._pool = ThreadPoolExecutor(1, "binx-write") if has_thread else None
        self._waiting: deque[tuple[Future[object], int]] = deque()
        self._held = 0

    def do(self, work: Callable[[], object], size: int = 0) -> None:
        """Hand over work that holds so many bytes.

        Raises:
            ResourceError: the system starts no thread.
            BaseException: what work that was handed over before has raised.
        """
        if self._pool is None:
            work()
            return
        while self._waiting and (self._waiting[0][0].done() or self._held + size > self._limit):
            self._take_oldest()
        try:
            future: Future[object] = self._pool.submit(work)
        except RuntimeError as error:
            raise ResourceError.of("threads", error) from error
        self._waiting.append((future, size))
        self._held += size

    def join(self) -> None:
        """Wait until all work is done.

        Raises:
            BaseException: what some of it has raised.
        """
        while self._waiting:
            self._take_oldest()

    def close(self) -> None:
        """Forget work that is not begun, and wait until nothing is worked on."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._waiting.clear()

    def _take_oldest(self) -> None:
        future, size = self._waiting.popleft()
        self._held -= size
        future.result()
