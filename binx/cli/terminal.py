"""Terminal handling: messages on standard error, data on standard output, pager, colours and width."""

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
"""Key in the click context for the output's layout: ``screen`` or ``text``."""

NO_PAGER = "binx.no-pager"
"""Key in the click context for disabling the pager; commands without a pager do not have it."""

_RED, _YELLOW = "1;31", "1;33"
_CONTINUED = ("  ", "Try: ")
"""Beginnings of a message's continuation lines."""

_WIDTH = 80
_NARROWEST = 40
_BUFFER_BYTES = 64 * 1024


def is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal."""
    # With a progress bar, rich before 15 replaces the stream by one without this information.
    return stream is not None and not stream.closed and getattr(stream, "buffer", stream).isatty()


def screen() -> tuple[int | None, bool]:
    """Return the width and whether to use colours if standard output is laid out for a terminal.

    The width is None if not, because of ``--layout`` or because it is not a terminal.
    """
    chosen = click.get_current_context().meta.get(LAYOUT)
    is_screen = is_terminal(sys.stdout) if chosen is None else chosen == "screen"
    return (terminal_width(sys.stdout), has_colour(sys.stdout)) if is_screen else (None, False)


def has_colour(stream: TextIO | None) -> bool:
    """Whether to use colours: on a terminal that supports them, without NO_COLOR in the environment."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width(stream: TextIO) -> int:
    """Return the line width of the terminal, or of the one for messages; COLUMNS takes precedence."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(int(columns), _NARROWEST)
    for terminal in (stream, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            return max(os.get_terminal_size(terminal.fileno()).columns, _NARROWEST)
    return _WIDTH


def say_error(message: str, label: str = "error") -> None:
    """Print on standard error why the process ends."""
    _say(message, label, _RED)


def say_warning(message: str) -> None:
    """Print on standard error what the result lacks."""
    _say(message, "warning", _YELLOW)


def say_note(message: str) -> None:
    """Print on standard error how something was interpreted, or what was done."""
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
        text = f"binx: {head}{_shown(message)}"
        if is_terminal(sys.stderr):
            from binx.cli.layout import folded

            width = terminal_width(sys.stderr)
            text = "\n".join(part for line in text.split("\n") for part in folded(line, width))
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def _shown(message: str) -> str:
    """Return a message in which names from files can neither control the terminal nor begin a line."""
    if message.isprintable():
        return message
    from binx.stats.text import safe_text

    first, *others = message.split("\n")
    ends = ["\n" if line.startswith(_CONTINUED) else r"\x0a" for line in others]
    return safe_text(first) + "".join(end + safe_text(line) for end, line in zip(ends, others, strict=True))


class TextOutput:
    """Text for standard output or a file, collected and written in large pieces.

    Args:
        hold: whether to collect; not on a terminal, where output should appear at once.
    """

    def __init__(self, stream: Sink, *, hold: bool) -> None:
        self._stream = stream
        self._limit = _BUFFER_BYTES if hold else 0
        self._chunks: list[bytes] = []
        self._size = 0

    def write(self, text: str) -> None:
        """Add text."""
        self.write_bytes(encoded(text))

    def line(self, text: str) -> None:
        """Add a line."""
        self.write(f"{text}\n")

    def write_bytes(self, data: bytes) -> None:
        """Add text already encoded as UTF-8."""
        self._chunks.append(data)
        self._size += len(data)
        if self._size > self._limit:
            self.flush()

    def write_chunks(self, chunks: Iterable[bytes]) -> None:
        """Add chunks of text encoded as UTF-8."""
        for chunk in chunks:
            self.write_bytes(chunk)

    def flush(self) -> None:
        """Write what was collected."""
        text = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._size = 0
        if text:
            self._stream.write(text)


@contextmanager
def text_output(path: str = "-", *, plain: bool = False, notes: bool = False) -> Iterator[TextOutput]:
    """Open standard output, or a file that appears when the block ends without an error.

    Long output of commands for people goes through a pager. What was written to standard output before an
    error stays.

    Args:
        path: the file, or ``-``.
        plain: whether the text has no colours, so that all control characters are escaped on a terminal.
        notes: whether to mention characters that were escaped for a terminal.
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
            # A pager shows what was written before the error.
            failed = error
        if not isinstance(failed, OutputError | BrokenPipeError):
            output.flush()
    for note in opened.notes if opened is not None and notes else ():
        say_note(note)
    if failed is not None:
        raise failed


class _Pager:
    """The pager, started by the first output, so that progress is visible until then."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._file: TextIO | None = None

    def write(self, data: Buffer, /) -> int:
        """Write text to the pager."""
        if self._file is None:
            # Quit if all fits on the screen, pass colours on, and leave the text on the screen, as git does.
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
    """Print each loss; return whether there was any."""
    losses = list(sentences)
    for loss in losses:
        say_warning(loss)
    return bool(losses)


def ending(missing: GtidSet | str, *, losses: bool = False) -> ExitCode:
    """Print the requested GTIDs that were not found, and return the exit code."""
    if missing:
        say_error(f"not in these files: {missing}")
        return ExitCode.ABSENT
    return ExitCode.LOSSES if losses else ExitCode.DONE
