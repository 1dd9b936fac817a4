"""Processes that each do one piece of work after another, for one that hands it out and works itself.

Threads of one process share its memory, and pay for that where they take and give back much of it; processes
do not. Whoever hands out work looks for answers when it has time to: it has no threads for that.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pickle
import select
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NoReturn, ParamSpec, Self, TypeVar

from binx.errors import BinxError
from binx.export.descriptors import write_whole
from binx.kernels.memory import keep_freed

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_PIPE_BYTES = 64 * 1024
"""What fits into a pipe, on Linux, before anybody reads it."""

_ANSWERS_BYTES = 1024 * 1024
"""What a pipe for answers is to hold, so that no process waits until somebody looks: what anyone may have."""

_LENGTH_BYTES = 8

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


class Answer(Generic[_Result]):
    """What comes of a piece of work.

    Args:
        look: takes in what processes have answered; waits for one where it is told to.
    """

    def __init__(self, look: Callable[[bool], None]) -> None:
        self._look = look
        self._given: tuple[bool, Any] | None = None

    def give(self, is_done: bool, answer: _Result | BaseException) -> None:
        """Tell the result, or the error."""
        self._given = is_done, answer

    def done(self) -> bool:
        """Whether it is there."""
        if self._given is None:
            self._look(False)
        return self._given is not None

    def result(self) -> _Result:
        """Wait for it.

        Raises:
            BaseException: what the work has raised.
        """
        while self._given is None:
            self._look(True)
        is_done, answer = self._given
        if is_done:
            result: _Result = answer
            return result
        raise answer


class _Helper(Generic[_Result]):
    """A process that works.

    Attributes:
        asked: what it is to answer, in this order, and the bytes of each piece of work.
    """

    def __init__(self, number: int, requests: int, answers: int) -> None:
        self._number = number
        self._requests = requests
        self._answers = answers
        self._code: int | None = None
        self.asked: deque[tuple[Answer[_Result], int]] = deque()

    @property
    def answers(self) -> int:
        """The file descriptor that answers come from."""
        return self._answers

    def has_room(self, size: int) -> bool:
        """Whether a piece of work of so many bytes can be given to it without waiting until it reads."""
        # The first one is read by now, or will be at once.
        return size + sum(held for _, held in islice(self.asked, 1, None)) <= _PIPE_BYTES or not self.asked

    def ask(self, request: bytes, answer: Answer[_Result]) -> None:
        """Give it a piece of work."""
        try:
            _write(self._requests, request)
        except OSError:
            answer.give(False, self._ended())
            return
        self.asked.append((answer, _LENGTH_BYTES + len(request)))

    def take(self) -> None:
        """Take in its next answer; waits until it is there."""
        try:
            given = _read(self._answers)
        except EOFError:
            while self.asked:
                self.asked.popleft()[0].give(False, self._ended())
            return
        self.asked.popleft()[0].give(*given)

    def stop(self) -> None:
        """End it, whatever it does, and wait until it is gone."""
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)
            self._wait()
        for end in (self._requests, self._answers):
            os.close(end)

    def _wait(self) -> int:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._number, 0)[1])
        return self._code

    def _ended(self) -> BinxError:
        return BinxError(
            f"a process of this program was ended from outside ({_how(self._wait())}); if the memory"
            " ran out, give --memory or --jobs a smaller number"
        )


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
        self._waiting: deque[tuple[bytes, Answer[_Result]]] = deque()
        self._helpers: list[_Helper[_Result]] = []
        try:
            for _ in range(count):
                self._helpers.append(_begin(work))
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes, whatever they do, and wait until they are gone."""
        self._waiting.clear()
        helpers, self._helpers = self._helpers, []
        for helper in helpers:
            helper.stop()

    @property
    def has_idle(self) -> bool:
        """Whether a process has nothing to do."""
        self._look(False)
        return any(not helper.asked for helper in self._helpers)

    def submit(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Answer[_Result]:
        """Have a piece of work done as soon as a process has time for it."""
        answer: Answer[_Result] = Answer(self._look)
        self._waiting.append((pickle.dumps((args, kwargs), pickle.HIGHEST_PROTOCOL), answer))
        self._hand_out()
        return answer

    def _look(self, wait: bool) -> None:
        """Take in what was answered, and hand out what waits for that; may wait for an answer."""
        poll = select.poll()
        asked = {helper.answers: helper for helper in self._helpers if helper.asked}
        for descriptor in asked:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(None if wait else 0) if asked else ():
            asked[descriptor].take()
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting:
            request, answer = self._waiting[0]
            helper = min(self._helpers, key=lambda one: len(one.asked))
            if not helper.has_room(_LENGTH_BYTES + len(request)):
                return
            self._waiting.popleft()
            helper.ask(request, answer)


def _begin(work: Callable[..., object]) -> _Helper[Any]:
    """Make a copy of this process that works."""
    parent = os.getpid()
    their_requests, requests = os.pipe()
    answers, their_answers = os.pipe()
    with suppress(OSError):
        fcntl.fcntl(answers, fcntl.F_SETPIPE_SZ, _ANSWERS_BYTES)
    number = os.fork()
    if number == 0:
        _serve(their_requests, their_answers, work, parent)
    os.close(their_requests)
    os.close(their_answers)
    return _Helper(number, requests, answers)


def _serve(requests: int, answers: int, work: Callable[..., object], parent: int) -> NoReturn:
    """Do what is asked for until nobody asks; runs in a process of its own."""
    try:
        _end_with(parent)
        # What the copy has from before is never let go of: to look through it would copy its memory.
        gc.freeze()
        keep_freed()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            args, kwargs = _read(requests)
            try:
                answer = (True, work(*args, **kwargs))
            except Exception as error:
                answer = (False, error)
            _write(answers, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
    except BaseException:
        # Whoever asks is told by the pipe's end.
        os._exit(1)


def _write(descriptor: int, message: bytes) -> None:
    write_whole(descriptor, len(message).to_bytes(_LENGTH_BYTES, "little") + message)


def _read(descriptor: int) -> Any:
    """The next message.

    Raises:
        EOFError: nobody sends one.
    """
    return pickle.loads(
        _read_bytes(descriptor, int.from_bytes(_read_bytes(descriptor, _LENGTH_BYTES), "little"))
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


__all__ = ["Answer", "Processes", "can_fork"]
