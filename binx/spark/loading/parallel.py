"""Tables side by side: while one is planned or ends with few tasks, others keep the cores busy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from uuid import uuid4

from pyspark.sql import SparkSession

_MOST = 8

#: Called with the bytes done, all bytes, and what is being done.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """Something to do; ``bytes`` is what it counts for in the progress."""

    what: str
    bytes: int
    call: Callable[[], None]


class Steps:
    """Progress through tasks, told from any thread."""

    def __init__(self, total: int, tell: Progress) -> None:
        self._total = total
        self._tell = tell
        self._done = 0
        self._guard = Lock()

    def begin(self, what: str) -> None:
        """Tell what is being done now."""
        with self._guard:
            self._tell(self._done, self._total, what)

    def end(self, what: str, count: int) -> None:
        """Count bytes that are done."""
        with self._guard:
            self._done += count
            self._tell(self._done, self._total, what)


def run_all(spark: SparkSession, tasks: Sequence[Task], steps: Steps) -> None:
    """Do all tasks, the largest first; after an error none is begun, and those that run are cancelled.

    Raises:
        Exception: what the first task that failed raised.
    """
    context = spark.sparkContext
    tag = f"binx-load-{uuid4()}"

    def run(task: Task) -> None:
        context.addJobTag(tag)
        context.setJobDescription(task.what)
        try:
            steps.begin(task.what)
            task.call()
            steps.end(task.what, task.bytes)
        finally:
            context.removeJobTag(tag)

    workers = max(2, min(_MOST, 2 * context.defaultParallelism))
    with ThreadPoolExecutor(workers, "load") as pool:
        largest_first = sorted(tasks, key=lambda task: -task.bytes)
        waiting: set[Future[None]] = {pool.submit(run, task) for task in largest_first}
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for one in ended:
                    one.result()
        except BaseException:
            for one in waiting:
                one.cancel()
            context.cancelJobsWithTag(tag)
            raise
