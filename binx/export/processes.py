"""Processes that each do one piece of work after another, for one that hands it out.

Threads of one process share its memory, and pay for that where they take and give back much of it; processes
do not.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, ParamSpec, Self, TypeVar

from binx.errors import BinxError
from binx.kernels.memory import keep_freed

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_PR_SET_PDEATHSIG = 1
"""Linux, prctl(2): the signal that a process gets when the one that began it ends."""

_ALLOCATOR = "jemalloc"
"""What the threads are called that Arrow's allocator has; it brings itself in order in a copy."""


def can_fork() -> bool:
    """Whether copies of this process can be made, and are whole.

    They are on Linux, where it has no other thread of any consequence; a daemon of :mod:`multiprocessing` may
    have no children.
    """
    if sys.platform != "linux" or current_process().daemon:
        return False
    try:
        names = [(task / "comm").read_text("utf-8", "replace") for task in Path("/proc/self/task").iterdir()]
    except OSError:
        return False
    return sum(not name.startswith(_ALLOCATOR) for name in names) == 1


class Processes(Generic[_Arguments, _Result]):
    """Copies of this process, made at once, that end with the context or with this process.

    Args:
        count: how many.
        work: what they do; arguments and results are pickled.

    Attributes:
        count: how many there are.
    """

    def __init__(self, count: int, work: Callable[_Arguments, _Result]) -> None:
        self.count = count
        context = get_context("fork")
        self._idle: SimpleQueue[tuple[BaseProcess, Connection]] = SimpleQueue()
        self._processes: list[BaseProcess] = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, work, os.getpid()), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._idle.put((process, ours))
        # Threads come after the copies are made.
        self._threads = ThreadPoolExecutor(count, "binx")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes, whatever they do, and wait until they are gone."""
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.join()

    def submit(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Future[_Result]:
        """Have a piece of work done as soon as a process has time for it."""
        return self._threads.submit(self._ask, args, kwargs)

    def _ask(self, args: tuple[object, ...], kwargs: dict[str, object]) -> _Result:
        process, connection = self._idle.get()
        try:
            connection.send((args, kwargs))
            is_done, answer = connection.recv()
        except (EOFError, OSError) as error:
            process.join()
            raise BinxError(
                f"a process of this program was ended from outside ({_how(process.exitcode)}); if the memory"
                " ran out, give --memory or --jobs a smaller number"
            ) from error
        finally:
            self._idle.put((process, connection))
        if is_done:
            result: _Result = answer
            return result
        raise answer


def _serve(connection: Connection, work: Callable[..., object], parent: int) -> None:
    """Do what is asked for until nobody asks; runs in a process of its own."""
    _end_with(parent)
    keep_freed()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        try:
            args, kwargs = connection.recv()
        except EOFError:
            return
        try:
            answer = (True, work(*args, **kwargs))
        except Exception as error:
            answer = (False, error)
        connection.send(answer)


def _end_with(parent: int) -> None:
    """Have this process killed when the one that began it ends, however it does."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _how(code: int | None) -> str:
    """What a process's exit code says."""
    if code is not None and code < 0:
        return f"signal {-code}"
    return f"exit code {code}"


__all__ = ["Processes", "can_fork"]
