"""Per-log output and exit code of ``to-parquet``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from binx.cli.terminal import TextOutput, is_terminal, say_note, say_warning
from binx.report.document import json_line
from binx.source.wording import counted
from binx.stats.text import bytes_text, safe_text

if TYPE_CHECKING:
    from binx.dataset.chain import SourceReport


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
        facts = _facts(report)
        if self._as_json:
            output.line(json_line("exported_log", facts))
        elif not self._quiet:
            output.line(_line(facts) if is_terminal(sys.stdout) else _plain_line(facts))
        output.flush()
        for loss in facts["losses"]:
            self.has_losses = True
            say_warning(f"{report.path}: {loss}")
        if not self._quiet and not report.kept:
            for note in facts["notes"]:
                say_note(f"{report.path}: {note}")


def _facts(report: SourceReport) -> dict[str, Any]:
    """Return a log's report for programs."""
    entries = report.manifest["files"]
    return {
        "source": report.source,
        "path": report.path,
        "state": "kept" if report.kept else "written",
        "transactions": report.transactions,
        "rows": report.rows,
        "parquet_files": len(entries),
        "parquet_bytes": sum(entry.get("bytes", 0) for entry in entries),
        "gtid_set": report.manifest["gtid_set"],
        "losses": report.manifest["losses"],
        "notes": report.manifest["warnings"],
    }


def _line(facts: dict[str, Any]) -> str:
    return (
        f"{safe_text(facts['source'])}  {facts['state']}"
        f"  {counted(facts['transactions'], 'transaction')}  {counted(facts['rows'], 'row')}"
        f"  {counted(facts['parquet_files'], 'file')}  {bytes_text(facts['parquet_bytes'])}"
    )


def _plain_line(facts: dict[str, Any]) -> str:
    names = ("source", "state", "transactions", "rows", "parquet_files", "parquet_bytes")
    return "\t".join(safe_text(str(facts[name])) for name in names)
