"""Processes that each do one piece of work after another, for one that hands it out and works itself.

Threads of one process share its memory, and pay for that where they take and give back much of it; processes
do not. Whoever hands out work looks for answers when it has time to: it has no threads for that.
"""

from __future__ import annotations

import fcntl
import os
import select
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

from binx.export.copies import Copy, message, read_message, write_message
from binx.export.descriptors import write_whole
from binx.kernels.memory import keep_freed

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_PIPE_BYTES = 64 * 1024
"""What fits into a pipe, on Linux, before anybody reads it."""

_ANSWERS_BYTES = 1024 * 1024
"""What a pipe for answers is to hold, so that no process waits until somebody looks: what anyone may have."""


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

    Args:
        work: what it does with each request.

    Attributes:
        answers: the file descriptor that answers come from.
        asked: what it is to answer, in this order, and the bytes of each piece of work.
    """

    def __init__(self, work: Callable[..., _Result]) -> None:
        their_requests, self._requests = os.pipe()
        self.answers, their_answers = os.pipe()
        with suppress(OSError):
            fcntl.fcntl(self.answers, fcntl.F_SETPIPE_SZ, _ANSWERS_BYTES)

        def serve() -> None:
            # Else it would never see that nobody asks any more.
            os.close(self._requests)
            _serve(their_requests, their_answers, work)

        self._copy = Copy(serve)
        os.close(their_requests)
        os.close(their_answers)
        self.asked: deque[tuple[Answer[_Result], int]] = deque()
        self._takes_requests = True

    def has_room(self, size: int) -> bool:
        """Whether a piece of work of so many bytes can be given to it without waiting until it reads."""
        # The first one is read by now, or will be at once.
        return size + sum(held for _, held in islice(self.asked, 1, None)) <= _PIPE_BYTES or not self.asked

    def ask(self, request: bytes, answer: Answer[_Result]) -> None:
        """Give it a piece of work."""
        try:
            write_whole(self._requests, request)
        except OSError:
            answer.give(False, self._copy.ended())
            return
        self.asked.append((answer, len(request)))

    def take(self) -> None:
        """Take in its next answer; waits until it is there."""
        try:
            given = read_message(self.answers)
        except EOFError:
            while self.asked:
                self.asked.popleft()[0].give(False, self._copy.ended())
            return
        self.asked.popleft()[0].give(*given)

    def end_requests(self) -> None:
        """Give it no more: it ends when it has answered, and its memory is given back meanwhile."""
        if self._takes_requests:
            self._takes_requests = False
            os.close(self._requests)

    def stop(self) -> None:
        """End it, whatever it does, and wait until it is gone."""
        self._copy.stop()
        self.end_requests()
        os.close(self.answers)


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
        self._is_ending = False
        self._helpers: list[_Helper[_Result]] = []
        try:
            for _ in range(count):
                self._helpers.append(_Helper(work))
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

    def end(self) -> None:
        """Let each process end when it has done what was submitted; nothing more is."""
        self._is_ending = True
        self._hand_out()

    @property
    def has_idle(self) -> bool:
        """Whether a process has nothing to do."""
        self._look(False)
        return any(not helper.asked for helper in self._helpers)

    def submit(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Answer[_Result]:
        """Have a piece of work done as soon as a process has time for it."""
        answer: Answer[_Result] = Answer(self._look)
        self._waiting.append((message((args, kwargs)), answer))
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
            if not helper.has_room(len(request)):
                return
            self._waiting.popleft()
            helper.ask(request, answer)
        if self._is_ending:
            for helper in self._helpers:
                helper.end_requests()


def _serve(requests: int, answers: int, work: Callable[..., object]) -> None:
    """Do what is asked for until nobody asks; runs in a process of its own.

    Raises:
        EOFError: nobody asks any more.
    """
    keep_freed()
    while True:
        args, kwargs = read_message(requests)
        try:
            answer = (True, work(*args, **kwargs))
        except Exception as error:
            answer = (False, error)
        write_message(answers, answer)


__all__ = ["Answer", "Processes"]
