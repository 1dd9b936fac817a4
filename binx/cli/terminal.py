"""What people see: messages on standard error, data on standard output, and whether a person looks at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

import click

from binx.errors import BinxError, ExitCode, OutputError

if TYPE_CHECKING:
    from binx.event.gtid.sets import GtidSet
    from binx.storage.output import Sink

LAYOUT = "binx.layout"
"""How output is laid out, among what a click context knows: ``screen`` or ``text``."""

_RED, _YELLOW = "1;31", "1;33"
_CONTINUED = ("  ", "Try: ")
"""How lines of a message begin behind its first."""

_WIDTH = 80
_NARROWEST = 40
_BUFFER_CHARACTERS = 64 * 1024


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at the stream."""
    # Beside a progress bar, rich before 15 puts a stream in the place that does not know what it stands for.
    return stream is not None and not stream.closed and getattr(stream, "buffer", stream).isatty()


def is_for_screen() -> bool:
    """Whether standard output is laid out as for a terminal: as ``--layout`` says, or where it is one."""
    chosen = click.get_current_context().meta.get(LAYOUT)
    return is_terminal(sys.stdout) if chosen is None else bool(chosen == "screen")


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
    """Standard output for text, collected and written in large pieces.

    Args:
        stream: takes the bytes.
        hold: whether to collect; a person who looks shall not wait.
    """

    def __init__(self, stream: Sink, *, hold: bool) -> None:
        self._stream = stream
        self._limit = _BUFFER_CHARACTERS if hold else 0
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, text: str) -> int:
        """Add text.

        Raises:
            OutputError: it cannot be written, or its reader is gone.
        """
        self._parts.append(text.encode("utf-8", "backslashreplace"))
        self._size += len(text)
        if self._size > self._limit:
            self.flush()
        return len(text)

    def write_bytes(self, data: bytes | memoryview) -> None:
        """Add text that is UTF-8 already, and many lines at once."""
        self.flush()
        self._stream.write(data)

    def write_chunks(self, chunks: Iterable[bytes]) -> None:
        """Add text in UTF-8 that comes in chunks, of which no more than one is held."""
        for chunk in chunks:
            if len(chunk) < _BUFFER_CHARACTERS:
                self._parts.append(chunk)
                self._size += len(chunk)
                if self._size > self._limit:
                    self.flush()
            else:
                self.write_bytes(chunk)

    def line(self, text: str) -> None:
        """Add a line."""
        self.write(f"{text}\n")

    def flush(self) -> None:
        """Write what is collected."""
        text = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if text:
            self._stream.write(text)


@contextmanager
def text_output(path: str = "-", *, plain: bool = False, told: bool = False) -> Iterator[TextOutput]:
    """Standard output, or a file that is there when the block ends without an error.

    What was written to standard output before an error stands.

    Args:
        path: the file, or ``-``.
        plain: whether the text has no colours, so that a terminal need not be driven by any of it.
        told: whether to tell of characters that a terminal gets otherwise than a file would.

    Raises:
        OutputError: it cannot be written.
    """
    from binx.storage.output import open_output

    with open_output(path, binary=False, plain=plain) as stream:
        output = TextOutput(stream, hold=path != "-" or not is_terminal(sys.stdout))
        try:
            yield output
        except BinxError as error:
            if not isinstance(error, OutputError):
                output.flush()
            raise
        output.flush()
    for note in stream.notes if told else ():
        say_note(note)


def say_damage(damage: Iterable[str]) -> bool:
    """Tell what could not be read, each in a sentence; returns whether there was any."""
    told = False
    for one in damage:
        say_warning(one)
        told = True
    return told


def ending(missing: GtidSet | str, *, losses: bool = False) -> ExitCode:
    """Tell which GTIDs asked for were not found, and how the process ends."""
    if missing:
        say_error(f"not in these files: {missing}")
        return ExitCode.ABSENT
    return ExitCode.LOSSES if losses else ExitCode.DONE
