"""Per-log output and exit code of ``to-parquet``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from binx.cli.terminal import TextOutput, is_terminal, say_note, say_warning
from binx.report.document import json_line
from binx.source.wording import counted
from binx.stats.text import bytes_text, safe_text

if TYPE_CHECKING:
    from binx.dataset.predecessors import SourceReport


class Summary:
    """Prints each log when it is done.

    Attributes:
        has_losses: whether any log had losses.
    """

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._as_json = as_json
        self._quiet = quiet
        self.has_losses = False

    def take(self, report: SourceReport, output: TextOutput) -> None:
        """Print a log's report."""
        if self._as_json:
            output.line(json_line("exported_log", report))
        elif not self._quiet:
            output.line(_line(report) if is_terminal(sys.stdout) else _plain_line(report))
        output.flush()
        for loss in report.losses:
            self.has_losses = True
            say_warning(f"{report.path}: {loss}")
        if not self._quiet and not report.kept:
            for note in report.notes:
                say_note(f"{report.path}: {note}")


def _line(report: SourceReport) -> str:
    return (
        f"{safe_text(report.source)}  {report.state}"
        f"  {counted(report.transactions, 'transaction')}  {counted(report.rows, 'row')}"
        f"  {counted(report.parquet_files, 'file')}  {bytes_text(report.parquet_bytes)}"
    )


def _plain_line(report: SourceReport) -> str:
    numbers = (report.transactions, report.rows, report.parquet_files, report.parquet_bytes)
    return "\t".join([safe_text(report.source), report.state, *map(str, numbers)])
