"""A progress bar on standard error, shown after a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from binx.cli.terminal import has_colour, is_terminal, terminal_width
from binx.stats.text import bytes_text

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE = 1.0
_WIDE = 60
"""Width from which the bar also has the rate and the time that is left."""


class ProgressBar:
    """Counts bytes and shows them after a second. The total may be unknown."""

    def __init__(self, label: str, *, shown: bool) -> None:
        self._label = label
        self._is_shown = shown
        self._begun = monotonic()
        self._total = 0
        self._done = 0
        self._bar: Progress | None = None
        self._stage = ""

    @property
    def reached(self) -> str:
        """The progress in words; empty if unknown."""
        total = f" of {bytes_text(self._total)}" if self._total else ""
        return f"{bytes_text(self._done)}{total} done" if self._done else ""

    def stage(self, text: str) -> None:
        """Name what is done while there is nothing to count."""
        self.hide()
        if self._is_shown:
            self._stage = text
            sys.stderr.write(f"binx: {self._label}: {text} …")
            sys.stderr.flush()

    def expect(self, total: int) -> None:
        """Set the total; counting starts over."""
        if total != self._total:
            self._total, self._done = total, 0
            if self._bar is not None:
                self._bar.reset(self._bar.task_ids[0], total=total or None)

    def advance(self, count: int) -> None:
        """Add bytes done; a negative count goes back."""
        self.reach(self._done + count)

    def reach(self, done: int, total: int | None = None) -> None:
        """Set the bytes done, and the total if it comes with each step."""
        if total is not None:
            self.expect(total)
        before, self._done = self._done, max(min(done, self._total) if self._total else done, 0)
        if self._is_shown and self._bar is None and monotonic() - self._begun > _PATIENCE:
            self.hide()
            self._bar = _started(self._label, self._total)
        if self._bar is not None:
            if self._done < before:
                # The rate is that of the new pass.
                self._bar.reset(self._bar.task_ids[0])
            self._bar.update(self._bar.task_ids[0], completed=self._done)

    def hide(self) -> None:
        """Hide the bar for other output; it returns after a second without any."""
        if self._stage:
            self._stage = ""
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._begun = monotonic()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def progress_bar(label: str, *, quiet: bool) -> Iterator[ProgressBar]:
    """Show a progress bar for the block; errors that end it early get a note of the progress."""
    bar = ProgressBar(label, shown=is_terminal(sys.stderr) and not quiet)
    try:
        yield bar
    except BaseException as error:
        if bar.reached:
            error.add_note(bar.reached)
        raise
    finally:
        bar.hide()


def _started(label: str, total: int) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    colour = has_colour(sys.stderr)
    width = terminal_width(sys.stderr)
    console = Console(stderr=True, width=width, no_color=not colour, highlight=False)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(binary_units=True),
        *([TransferSpeedColumn(), TimeRemainingColumn()] if width >= _WIDE else []),
        console=console,
        transient=True,
    )
    bar.add_task(label, total=total or None)
    bar.start()
    return bar
