"""A progress bar on standard error, for people who wait more than a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from binx.cli.terminal import has_colour, is_terminal, terminal_width

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE = 1.0


class ProgressBar:
    """Counts bytes; shows them after a second.

    Args:
        shown: whether anybody looks.
        label: what is being done.

    Attributes:
        latest: the one that was made last, by which the process tells how far it got.
    """

    latest: ClassVar[ProgressBar | None] = None

    def __init__(self, *, shown: bool, label: str) -> None:
        self._shown = shown
        self._label = label
        self._begun = monotonic()
        self._total = 0
        self._done = 0
        self._bar: Progress | None = None
        ProgressBar.latest = self

    @property
    def reached(self) -> str | None:
        """How far it got, in words; None where nothing is known."""
        if not self._total or not self._done:
            return None
        from binx.stats.text import bytes_text

        return f"{bytes_text(self._done)} of {bytes_text(self._total)} done"

    def expect(self, total: int) -> None:
        """Set how many bytes there are in all."""
        self._total = total

    def advance(self, count: int) -> None:
        """Count bytes that are done."""
        self.reach(self._done + count)

    def reach(self, done: int) -> None:
        """Set how many bytes are done."""
        self._done = min(done, self._total)
        if not self._shown:
            return
        if self._bar is None and monotonic() - self._begun > _PATIENCE:
            self._bar = _start(self._label, self._total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)

    def close(self) -> None:
        """Take the bar away for good."""
        self._shown = False
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def progress_bar(label: str, *, quiet: bool) -> Iterator[ProgressBar]:
    """A progress bar that is gone at the end.

    Args:
        label: what is being done.
        quiet: never show it.
    """
    shown = is_terminal(sys.stderr) and not quiet
    bar = ProgressBar(shown=shown, label=label)
    try:
        yield bar
    finally:
        bar.close()


def _start(label: str, total: int) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(
        stderr=True, width=terminal_width(sys.stderr), no_color=not has_colour(sys.stderr), highlight=False
    )
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    bar.add_task(label, total=total)
    bar.start()
    return bar
