"""Output of ``archive``: logs, runs and checks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC

from binx.archive.check import CheckReport
from binx.archive.manifest import ArchivedLog
from binx.archive.report import ArchiveLogReport, ArchiveLogState, RunReport
from binx.cli.layout import screen_lines
from binx.cli.terminal import TextOutput, say_error, say_losses, say_note, say_warning, screen
from binx.log.selection.times import format_time
from binx.report.document import json_line
from binx.source.wording import counted
from binx.stats.sections import TEXTS, TIMES, Form, SectionColumn
from binx.stats.text import bytes_text, safe_text, time_text


class ArchiveText:
    """Writes reports on logs, as JSON or as lines."""

    def __init__(self, output: TextOutput, *, as_json: bool, quiet: bool) -> None:
        self.quiet = quiet
        self._output = output
        self._json = as_json

    def log(self, log: ArchiveLogReport) -> None:
        """Write a log's report."""
        if log.error is not None:
            say_error(str(log.error))
        if log.archived is not None:
            say_losses(f"{log.path}: {problem}" for problem in log.archived.problems)
            if damage := log.archived.damage:
                more = f" (and {len(damage) - 1:,} more)" if len(damage) > 1 else ""
                say_warning(f"{log.path}: damaged, archived as it is: {damage[0]}{more}")
        if log.tables is not None:
            say_losses(f"{log.path}: {loss}" for loss in log.tables.losses)
        if self._json:
            self._output.line(json_line("archived_log", log.facts()))
        elif log.error is None and log.state is not ArchiveLogState.PURGEABLE and not self.quiet:
            self._output.line(_log_line(log))
        self._output.flush()

    def run(self, run: RunReport) -> None:
        """Write a run's summary, as far as the logs' reports do not cover it."""
        if self._json:
            self._output.line(json_line("archive_run", run))
            return
        if run.is_idle and not self.quiet:
            left = "nothing to do"
            if run.remaining:
                left = f"{counted(run.remaining, 'closed log')} left for the next run"
            self._output.line(f"{left}: {run.held} archived, {len(run.open)} may still be written")
        if run.purge is not None:
            self._output.line(f"archived and verified, safe to purge: {safe_text(run.purge)}")

    def check(self, check: CheckReport) -> None:
        """Write the results of a check."""
        if self._json:
            self._output.line(json_line("archive_check", check))
            return
        for problem in check.problems:
            gtid = "" if problem.gtid is None else f": {problem.gtid}"
            kind = problem.kind.replace("_", " ")
            self._output.line(safe_text(f"{kind}: {problem.path}: {problem.message}{gtid}"))
        if self.quiet:
            return
        for note in check.notes:
            say_note(note)
        for title, gtids in (("GTIDs", check.gtid_set), ("missing", check.missing_gtids)):
            if gtids:
                self._output.line(f"{title}: {gtids}")
        for log in check.tail or []:
            state = "closed, left for the next run" if log.closed else "being written"
            gtids_text = f", {log.gtid_set}" if log.gtid_set else ""
            text = f"not archived yet: {log.path}, {bytes_text(log.bytes)}, {state}{gtids_text}"
            self._output.line(safe_text(text))
        verdict = "ok" if check.ok else counted(len(check.problems), "problem")
        self._output.line(
            f"{verdict}: {counted(check.logs, 'log')}, {bytes_text(check.bytes)} in"
            f" {bytes_text(check.stored_bytes)}, {counted(check.transactions, 'transaction')}"
        )

    def listed(self, logs: Iterable[ArchivedLog]) -> None:
        """Write archived logs: names, servers, commit times, sizes, transactions and states."""
        if self._json:
            for log in logs:
                more = {
                    "server_id": log.server_id,
                    "server_version": log.server_version,
                    "first_commit_timestamp": log.first_commit,
                    "last_commit_timestamp": log.last_commit,
                    "previous_gtids": log.previous_gtids,
                }
                report = ArchiveLogReport(ArchiveLogState.ARCHIVED, log.log.path, log)
                self._output.line(json_line("listed_log", report.facts() | more))
            return
        width, colour = screen()
        rows = [
            (
                log.stem,
                log.server_id,
                log.first_commit,
                log.last_commit,
                log.bytes,
                log.stored_bytes,
                log.transactions,
                "damaged" if log.damage else "encrypted" if log.recipients else "whole",
            )
            for log in logs
        ]
        if width is None:
            lines: Iterable[str] = (
                "\t".join(
                    "-" if value is None else column.form.programs(value)
                    for value, column in zip(row, _LISTED, strict=True)
                )
                for row in rows
            )
        else:
            lines = screen_lines(_LISTED, rows, width, colour=colour)
        for line in lines:
            self._output.line(line)


_TIME = Form(lambda time: time_text(time, UTC), format_time, TIMES, lambda time: time_text(time, UTC)[:19])
_SIZE, _COUNT, _WORD = Form(bytes_text, str), Form("{:,}".format, str), Form(safe_text, safe_text, TEXTS)
_LISTED = (
    SectionColumn("ARCHIVED AS", _WORD),
    SectionColumn("SERVER", Form(str, str), spare=4),
    SectionColumn("FIRST (UTC)", _TIME),
    SectionColumn("LAST (UTC)", _TIME, spare=2),
    SectionColumn("SIZE", _SIZE),
    SectionColumn("STORED", _SIZE, spare=3),
    SectionColumn("TRANSACTIONS", _COUNT, spare=1),
    SectionColumn("STATE", _WORD),
)
"""Columns of a list of archived logs."""


def _log_line(log: ArchiveLogReport) -> str:
    text = f"{safe_text(log.path)}: {log.state.value}"
    if (archived := log.archived) is not None:
        sizes = f"{bytes_text(archived.bytes)} in {bytes_text(archived.stored_bytes)}"
        text += f", {counted(archived.transactions, 'transaction')}, {sizes}, as {safe_text(archived.stem)}"
    if log.tables is not None:
        text += f", {counted(log.tables.rows, 'row')}, as {safe_text(log.tables.source)}"
    return text
