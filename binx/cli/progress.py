"""A progress bar on standard error, for people who wait more than a second."""

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


class ProgressBar:
    """Counts bytes; shows them after a second. How many there are in all may be unknown."""

    def __init__(self, label: str, *, shown: bool) -> None:
        self._label = label
        self._shown = shown
        self._begun = monotonic()
        self._total = 0
        self._done = 0
        self._bar: Progress | None = None

    @property
    def reached(self) -> str:
        """How far it got, in words; empty where nothing is known."""
        total = f" of {bytes_text(self._total)}" if self._total else ""
        return f"{bytes_text(self._done)}{total} done" if self._done else ""

    def expect(self, total: int) -> None:
        """Set how many bytes there are in all; what was counted before was of another whole."""
        if total != self._total:
            self._total, self._done = total, 0
            if self._bar is not None:
                self._bar.reset(self._bar.task_ids[0], total=total or None)

    def advance(self, count: int) -> None:
        """Count bytes that are done; a negative count goes back."""
        self.reach(self._done + count)

    def reach(self, done: int, total: int | None = None) -> None:
        """Set how many bytes are done, and of how many where that is told with each step."""
        if total is not None:
            self.expect(total)
        before, self._done = self._done, max(min(done, self._total) if self._total else done, 0)
        if self._shown and self._bar is None and monotonic() - self._begun > _PATIENCE:
            self._bar = _started(self._label, self._total)
        if self._bar is not None:
            if self._done < before:
                # The rate is that of the pass that begins.
                self._bar.reset(self._bar.task_ids[0])
            self._bar.update(self._bar.task_ids[0], completed=self._done)

    def hide(self) -> None:
        """Make room for what a person reads; it comes back where nothing was shown for a second."""
        self._begun = monotonic()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def progress_bar(label: str, *, quiet: bool) -> Iterator[ProgressBar]:
    """A progress bar that is gone at the end; what ends the work early has a note of how far it got."""
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
    console = Console(stderr=True, width=terminal_width(sys.stderr), no_color=not colour, highlight=False)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    bar.add_task(label, total=total or None)
    bar.start()
    return bar
