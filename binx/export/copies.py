"""Copies of this process that work beside it and end with it, and the messages that go between them."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from binx.errors import BinxError, ResourceError
from binx.export.descriptors import write_whole

LENGTH_BYTES = 8
"""What stands before each message."""

_PR_SET_PDEATHSIG = 1
"""Linux, prctl(2): the signal that a process gets when the one that began it ends."""

_ALLOCATOR = "jemalloc"
"""What the threads are called that Arrow's allocator has; it brings itself in order in a copy."""


def can_fork() -> bool:
    """Whether copies of this process can be made, and are whole: on Linux, where it has no other thread."""
    if sys.platform != "linux":
        return False
    try:
        names = [(task / "comm").read_text("utf-8", "replace") for task in Path("/proc/self/task").iterdir()]
    except OSError:
        return False
    return sum(not name.startswith(_ALLOCATOR) for name in names) == 1


def _fork() -> int:
    """As ``os.fork``, without the warning of Python 3.12 and later that locks of other threads may stay held.

    It counts the threads of Arrow's allocator too, which are there in every copy that is made of a program;
    where there are others, :func:`can_fork` has said so, and threads do the work.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return os.fork()
    except OSError as error:
        raise ResourceError.of("processes", error.strerror or error) from error


class Copy:
    """A copy of this process, made at once, that works until it is done, stopped, or this process ends.

    Args:
        work: what it does.

    Raises:
        ResourceError: the system makes no copy.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        parent = os.getpid()
        self._code: int | None = None
        self._number = _fork()
        if self._number == 0:
            try:
                _settle(parent)
                work()
                os._exit(0)
            except BaseException:
                # Whoever waits for it is told by the pipe's end.
                os._exit(1)

    def stop(self) -> None:
        """End it, whatever it does, and wait until it is gone."""
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)
            self._wait()

    def ended(self) -> BinxError:
        """What to say where it has ended though nobody stopped it."""
        return BinxError(
            f"a worker process was killed ({_how(self._wait())}); if memory ran out, use a smaller"
            " --memory or --jobs"
        )

    def _wait(self) -> int:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._number, 0)[1])
        return self._code


def message(content: object) -> bytes:
    """Something as a message: pickled, behind its length."""
    data = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return len(data).to_bytes(LENGTH_BYTES, "little") + data


def write_message(descriptor: int, content: object) -> None:
    """Send a message.

    Raises:
        OSError: nobody reads it.
    """
    write_whole(descriptor, message(content))


def read_message(descriptor: int) -> Any:
    """The next message.

    Raises:
        EOFError: nobody sends one.
    """
    return pickle.loads(
        _read_bytes(descriptor, int.from_bytes(_read_bytes(descriptor, LENGTH_BYTES), "little"))
    )


def _read_bytes(descriptor: int, size: int) -> bytearray:
    data = bytearray(size)
    left = memoryview(data)
    while left:
        count = os.readv(descriptor, [left])
        if not count:
            raise EOFError
        left = left[count:]
    return data


def _settle(parent: int) -> None:
    """Prepare a copy for its work."""
    _end_with(parent)
    # What the copy has from before is never let go of: to look through it would copy its memory.
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_with(parent: int) -> None:
    """Have this process killed when the one that began it ends, however it does."""
    # Here and not above: only copies need it.
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _how(code: int) -> str:
    """What a process's exit code says."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"


__all__ = ["LENGTH_BYTES", "Copy", "can_fork", "message", "read_message", "write_message"]
