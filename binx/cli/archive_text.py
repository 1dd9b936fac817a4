"""What ``archive`` tells of its logs, its runs and its checks."""

from __future__ import annotations

from collections.abc import Sequence

from binx.archive.check import CheckReport
from binx.archive.manifest import ArchivedLog
from binx.archive.report import LogReport, RunReport, State
from binx.cli.terminal import TextOutput, say_error, say_note, say_warning
from binx.log.selection.moments import format_time
from binx.source.json_text import json_text
from binx.source.wording import counted
from binx.stats.text import bytes_text, safe_text


def tell_log(log: LogReport, output: TextOutput, *, as_json: bool, quiet: bool) -> None:
    """Tell what became of a log."""
    if log.error is not None:
        say_error(str(log.error))
    if log.archived is not None:
        for problem in log.archived.problems:
            say_warning(f"{log.log}: {problem}")
        if damage := log.archived.damage:
            more = f" (and {len(damage) - 1:,} more)" if len(damage) > 1 else ""
            say_warning(f"{log.log}: damaged, archived as it is: {damage[0]}{more}")
    if log.tables is not None:
        for loss in log.tables.manifest["losses"]:
            say_warning(f"{log.log}: {loss}")
    if as_json:
        output.line(json_text(log.as_dict()))
    elif log.error is None and log.state is not State.PURGEABLE and not quiet:
        output.line(_log_line(log))
    output.flush()


def tell_run(run: RunReport, output: TextOutput, *, as_json: bool, quiet: bool) -> None:
    """Tell what a run has done, where its logs have not told it."""
    if as_json:
        output.line(json_text(run.as_dict()))
    elif not quiet and run.is_idle:
        left = (
            f"{counted(run.remaining, 'closed log')} left for the next run"
            if run.remaining
            else "nothing to do"
        )
        output.line(f"{left}: {run.held} archived, {len(run.open)} may still be written")
    if run.purge is not None and not as_json:
        output.line(f"archived and verified, safe to purge: {safe_text(run.purge)}")


def tell_check(check: CheckReport, output: TextOutput, *, as_json: bool, quiet: bool) -> None:
    """Tell what a check has found."""
    if as_json:
        output.line(json_text(check.as_dict()))
        return
    for problem in check.problems:
        gtid = "" if problem.gtid is None else f": {problem.gtid}"
        output.line(safe_text(f"{problem.kind.replace('_', ' ')}: {problem.path}: {problem.message}{gtid}"))
    if quiet:
        return
    for note in check.notes:
        say_note(note)
    if check.gtids:
        output.line(f"GTIDs: {check.gtids}")
    if check.missing:
        output.line(f"missing: {check.missing}")
    for log in check.tail or []:
        state = "closed, left for the next run" if log.closed else "being written"
        gtids = f", {log.gtids}" if log.gtids else ""
        output.line(safe_text(f"not archived yet: {log.log}, {bytes_text(log.bytes)}, {state}{gtids}"))
    verdict = "ok" if check.ok else counted(len(check.problems), "problem")
    output.line(
        f"{verdict}: {counted(check.logs, 'log')}, {bytes_text(check.bytes)} in"
        f" {bytes_text(check.stored_bytes)}, {counted(check.transactions, 'transaction')}"
    )


def tell_logs(logs: Sequence[ArchivedLog], output: TextOutput, *, as_json: bool) -> None:
    """List the logs that an archive holds: name, server, commit times, sizes, transactions and state."""
    for log in logs:
        if as_json:
            output.line(json_text(LogReport(State.ARCHIVED, log.log.path, log).as_dict() | _more(log))[:-1])
            continue
        first, last = (
            "-" if time is None else format_time(time) for time in (log.first_commit, log.last_commit)
        )
        state = "damaged" if log.damage else "encrypted" if log.recipients else "whole"
        fields = (
            safe_text(log.stem),
            log.server_id,
            first,
            last,
            log.bytes,
            log.stored_bytes,
            log.transactions,
            state,
        )
        output.line("\t".join(map(str, fields)))


def _more(log: ArchivedLog) -> dict[str, object]:
    return {
        "server_id": log.server_id,
        "server_version": log.server_version,
        "first_commit": None if log.first_commit is None else format_time(log.first_commit),
        "last_commit": None if log.last_commit is None else format_time(log.last_commit),
        "previous_gtids": log.previous_gtids,
    }


def _log_line(log: LogReport) -> str:
    text = f"{safe_text(log.log)}: {log.state.value}"
    if log.archived is not None:
        one = log.archived
        text += (
            f", {counted(one.transactions, 'transaction')},"
            f" {bytes_text(one.bytes)} in {bytes_text(one.stored_bytes)}, as {safe_text(one.stem)}"
        )
    if log.tables is not None:
        text += f", {counted(log.tables.rows, 'row')}, as {safe_text(log.tables.source)}"
    return text
