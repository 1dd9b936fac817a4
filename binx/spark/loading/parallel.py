"""Tables side by side: while one is planned or ends with few tasks, others keep the cores busy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from uuid import uuid4

from pyspark import SparkContext
from pyspark.sql import SparkSession

_MOST = 8
_GLANCE = 0.5

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
        self._told = 0
        self._running: dict[str, int] = {}
        self._guard = Lock()

    def begin(self, what: str, count: int) -> None:
        """Tell what is being done now, and how many bytes it counts for."""
        with self._guard:
            self._running[what] = count
            self._say(self._done, what)

    def end(self, what: str) -> None:
        """Count what was begun as done."""
        with self._guard:
            self._done += self._running.pop(what)
            self._say(self._done, what)

    def glance(self, share: float) -> None:
        """Tell how much of what is running is done, about."""
        with self._guard:
            if self._running:
                done = self._done + int(share * sum(self._running.values()))
                self._say(done, next(reversed(self._running)))

    def _say(self, done: int, what: str) -> None:
        self._told = max(self._told, done)
        self._tell(self._told, self._total, what)


def _share_of_stages(context: SparkContext) -> float:
    """How much of the stages that run now is done, by their tasks."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    tasks = sum(stage.numTasks for stage in stages if stage is not None)
    return sum(stage.numCompletedTasks for stage in stages if stage is not None) / tasks if tasks else 0.0


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
            steps.begin(task.what, task.bytes)
            task.call()
            steps.end(task.what)
        finally:
            context.removeJobTag(tag)

    workers = max(2, min(_MOST, 2 * context.defaultParallelism))
    with ThreadPoolExecutor(workers, "load") as pool:
        largest_first = sorted(tasks, key=lambda task: -task.bytes)
        waiting: set[Future[None]] = {pool.submit(run, task) for task in largest_first}
        try:
            while waiting:
                ended, waiting = wait(waiting, _GLANCE, FIRST_COMPLETED)
                for one in ended:
                    one.result()
                steps.glance(_share_of_stages(context))
        except BaseException:
            for one in waiting:
                one.cancel()
            context.cancelJobsWithTag(tag)
            raise
