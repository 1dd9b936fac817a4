"""Per-log output and exit code of ``to-parquet``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from binx.cli.terminal import TextOutput, is_terminal, say_note, say_warning
from binx.source.json_text import json_text
from binx.source.names import printable
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
        document = _document(report)
        if self._as_json:
            output.line(json_text(document))
        elif not self._quiet:
            output.line(_line(document) if is_terminal(sys.stdout) else _plain_line(document))
        output.flush()
        for loss in document["losses"]:
            self.has_losses = True
            say_warning(f"{report.path}: {loss}")
        if not self._quiet and not report.kept:
            for warning in document["warnings"]:
                say_note(f"{report.path}: {warning}")


def _document(report: SourceReport) -> dict[str, Any]:
    """Return a log's report for programs."""
    entries = report.manifest["files"]
    return {
        "source": report.source,
        "path": printable(report.path),
        "state": "kept" if report.kept else "written",
        "transactions": report.transactions,
        "rows": report.rows,
        "files": len(entries),
        "bytes": sum(entry.get("bytes", 0) for entry in entries),
        "gtid_set": report.manifest["gtid_set"],
        "losses": report.manifest["losses"],
        "warnings": report.manifest["warnings"],
    }


def _line(document: dict[str, Any]) -> str:
    return (
        f"{safe_text(document['source'])}  {document['state']}"
        f"  {counted(document['transactions'], 'transaction')}  {counted(document['rows'], 'row')}"
        f"  {counted(document['files'], 'file')}  {bytes_text(document['bytes'])}"
    )


def _plain_line(document: dict[str, Any]) -> str:
    names = ("source", "state", "transactions", "rows", "files", "bytes")
    return "\t".join(safe_text(str(document[name])) for name in names)
