"""What people see: messages on standard error, data on standard output, and whether a person looks at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

import click

from binx.errors import BinxError, ExitCode, OutputError
from binx.source.wording import encoded

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.event.gtid.sets import GtidSet
    from binx.storage.output import Sink

LAYOUT = "binx.layout"
"""How output is laid out, among what a click context knows: ``screen`` or ``text``."""

NO_PAGER = "binx.no-pager"
"""Whether long output goes to the terminal without a pager; commands that never have one do not know it."""

_RED, _YELLOW = "1;31", "1;33"
_CONTINUED = ("  ", "Try: ")
"""How lines of a message begin behind its first."""

_WIDTH = 80
_NARROWEST = 40
_BUFFER_BYTES = 64 * 1024


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at the stream."""
    # Beside a progress bar, rich before 15 puts a stream in the place that does not know what it stands for.
    return stream is not None and not stream.closed and getattr(stream, "buffer", stream).isatty()


def screen() -> tuple[int | None, bool]:
    """The width and whether there are colours where standard output is laid out as for a terminal.

    The width is None where it is not: ``--layout`` says so, or it is no terminal.
    """
    chosen = click.get_current_context().meta.get(LAYOUT)
    wanted = is_terminal(sys.stdout) if chosen is None else chosen == "screen"
    return (terminal_width(sys.stdout), has_colour(sys.stdout)) if wanted else (None, False)


def has_colour(stream: TextIO | None) -> bool:
    """Whether colours may be used: a terminal that knows them, and no NO_COLOR in the environment."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width(stream: TextIO) -> int:
    """Characters that fit on a line of the terminal, or of that of messages: COLUMNS where that is set."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(int(given), _NARROWEST)
    for one in (stream, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            return max(os.get_terminal_size(one.fileno()).columns, _NARROWEST)
    return _WIDTH


def say_error(message: str, label: str = "error") -> None:
    """Tell on standard error why the process ends."""
    _say(message, label, _RED)


def say_warning(message: str) -> None:
    """Tell on standard error what the result lacks."""
    _say(message, "warning", _YELLOW)


def say_note(message: str) -> None:
    """Tell on standard error how something was understood, or what was done."""
    _say(message, "", "")


def _say(message: str, label: str, colour: str) -> None:
    if sys.stderr is None:
        return
    head = f"{label}: " if label else ""
    if head and has_colour(sys.stderr):
        head = f"\x1b[{colour}m{head.rstrip()}\x1b[0m "
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.stderr.write(f"binx: {head}{_shown(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def _shown(message: str) -> str:
    """A message whose names, which come from files, cannot drive the terminal, nor begin a line."""
    if message.isprintable():
        return message
    from binx.stats.text import safe_text

    first, *others = message.split("\n")
    ends = ["\n" if line.startswith(_CONTINUED) else r"\x0a" for line in others]
    return safe_text(first) + "".join(end + safe_text(line) for end, line in zip(ends, others, strict=True))


class TextOutput:
    """Standard output or a file for text, collected and written in large pieces.

    Args:
        hold: whether to collect; a person who looks shall not wait.
    """

    def __init__(self, stream: Sink, *, hold: bool) -> None:
        self._stream = stream
        self._limit = _BUFFER_BYTES if hold else 0
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, text: str) -> None:
        """Add text."""
        self.write_bytes(encoded(text))

    def line(self, text: str) -> None:
        """Add a line."""
        self.write(f"{text}\n")

    def write_bytes(self, data: bytes) -> None:
        """Add text that is UTF-8 already."""
        self._parts.append(data)
        self._size += len(data)
        if self._size > self._limit:
            self.flush()

    def write_chunks(self, chunks: Iterable[bytes]) -> None:
        """Add text in UTF-8 that comes in chunks."""
        for chunk in chunks:
            self.write_bytes(chunk)

    def flush(self) -> None:
        """Write what is collected."""
        text = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if text:
            self._stream.write(text)


@contextmanager
def text_output(path: str = "-", *, plain: bool = False, notes: bool = False) -> Iterator[TextOutput]:
    """Standard output, or a file that is there when the block ends without an error.

    Long output of commands for people goes through a pager. What was written to standard output before an
    error stands.

    Args:
        path: the file, or ``-``.
        plain: whether the text has no colours, so that a terminal need not be driven by any of it.
        notes: whether to tell of characters that a terminal gets otherwise than a file would.
    """
    from binx.storage.output import open_output

    failed: BaseException | None = None
    with ExitStack() as stack:
        is_paged = path == "-" and not plain and _wants_pager()
        opened = None if is_paged else stack.enter_context(open_output(path, binary=False, plain=plain))
        stream: Sink = _Pager(stack) if opened is None else opened
        output = TextOutput(stream, hold=path != "-" or not is_terminal(sys.stdout))
        try:
            yield output
        except (BinxError, BrokenPipeError) as error:
            if path != "-":
                raise
            # A pager shows what came before the error.
            failed = error
        if not isinstance(failed, OutputError | BrokenPipeError):
            output.flush()
    for note in opened.notes if opened is not None and notes else ():
        say_note(note)
    if failed is not None:
        raise failed


class _Pager:
    """The pager, which is started by the first output, so that progress is seen until then."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._file: TextIO | None = None

    def write(self, data: Buffer, /) -> int:
        """Hand text to the pager."""
        if self._file is None:
            # End where all fits on the screen, pass colours on, and leave the text there, as git does.
            os.environ.setdefault("LESS", "FRX")
            self._file = self._stack.enter_context(click.get_pager_file(color=True))
        self._file.write(bytes(data).decode())
        self._file.flush()
        return len(bytes(data))


def _wants_pager() -> bool:
    """Whether ``BINX_PAGER``, ``PAGER`` or ``less`` shows the output of this command."""
    pager = os.environ.get("BINX_PAGER", os.environ.get("PAGER", "less"))
    if (
        click.get_current_context().meta.get(NO_PAGER, True)
        or not is_terminal(sys.stdout)
        or not pager.strip()
    ):
        return False
    os.environ["PAGER"] = pager
    return os.environ.get("TERM", "dumb") != "dumb"


def say_losses(sentences: Iterable[str]) -> bool:
    """Tell of each loss; returns whether there was any."""
    found = list(sentences)
    for one in found:
        say_warning(one)
    return bool(found)


def ending(missing: GtidSet | str, *, losses: bool = False) -> ExitCode:
    """Tell which GTIDs asked for were not found, and how the process ends."""
    if missing:
        say_error(f"not in these files: {missing}")
        return ExitCode.ABSENT
    return ExitCode.LOSSES if losses else ExitCode.DONE
