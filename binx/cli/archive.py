"""``binx archive``: closed logs, kept for good."""

from __future__ import annotations

import json

import click

from binx.archive.run import ArchiveRequest, ArchiveRun, LogReport, RunReport
from binx.cli.options import COUNT, KEYS, NUMBER, OUTPUT, QUIET, Example, command, option
from binx.cli.progress import progress_bar
from binx.cli.terminal import TextOutput, say_error, say_warning, text_output
from binx.errors import ExitCode
from binx.stats.text import bytes_text, number_text, safe_text

EXAMPLES = (
    Example("from cron: what was closed since the last run", "binx archive mysql-bin.index --to archive"),
    Example("what it would do", "binx archive --dry-run mysql-bin.index --to elsewhere"),
    Example(
        "a transaction out of the archive",
        "binx archive --quiet mysql-bin.index --to archive &&"
        " binx extract --gtid UUID:1006 archive -o one.binlog",
    ),
)

DETAILS = (
    "SOURCE is a folder of logs or a server's index of them, and is never changed. Closed is a log that is"
    " not marked as in use and ends with ROTATE or STOP, or one that a later log of its server follows. Each"
    " closed log that DEST does not hold yet is hashed and verified in full; compressed as zstd in frames of"
    " some 4 MiB that end where transactions do, so that zstd -d restores the identical log and every command"
    " of binx reads it in place; read back, and the restored bytes held against the hash of the log; indexed,"
    " as binx index does it; and committed by its manifest in DEST/_manifest, which is written last.",
    "Objects are named LOG.IDENTITY-HASH.zst and .binx: identity is that of the server and the log's"
    " beginning, as in the data set, and hash is of the log's content. So logs of one name, as after the"
    " numbering began anew or from another server, live side by side.",
    "Whenever a run is ended, also by kill -9 or a full disk, the next one goes on, and what then stands in"
    " DEST is the same. A lock that goes with its process keeps a second run away: in a local DEST from all"
    " processes, in others from those of this machine.",
    "A log that is damaged is not taken; the others are. An encrypted log is taken only with --decrypt, and"
    " is then not encrypted in the archive. What is written has the permissions that umask gives.",
    "One line is printed for each log that was taken, or one where there was nothing to do. With --json each"
    " line is an object: one for each log with log, state (archived, would archive, damaged, failed), name,"
    " bytes, stored_bytes, transactions, gtid_set, sha256, problems and error; and one for the run with run"
    " (ok, problems, failed), held, archived, remaining, open, damaged, failed, problems and seconds.",
    "The exit status is 0 where all closed logs are archived or left to the next run by a limit, 3 where logs"
    " are damaged or have problems that their server wrote, and 1 where something failed.",
)

LIMITS = "Limits"


@command("archive", examples=EXAMPLES, details=DETAILS)
@option(
    "--to",
    "archive",
    metavar="DEST",
    required=True,
    section=OUTPUT,
    help="The archive: a folder, or a URI such as s3://bucket/logs.",
)
@option("--decrypt", is_flag=True, section=OUTPUT, help="Take encrypted logs too, decrypted.")
@option("--dry-run", is_flag=True, section=OUTPUT, help="Write nothing; tell what would be done.")
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="One JSON object a log, and one for the run.")
@option("--max-files", metavar="N", type=COUNT, section=LIMITS, help="Take at most N logs.")
@option("--max-seconds", metavar="N", type=NUMBER, section=LIMITS, help="Begin no log after N seconds.")
@KEYS
@QUIET
@click.argument("source", metavar="SOURCE", required=True, type=click.Path(readable=False))
def archive_command(
    source: str,
    archive: str,
    decrypt: bool,
    dry_run: bool,
    as_json: bool,
    max_files: int | None,
    max_seconds: int | None,
    quiet: bool,
) -> int:
    """Take closed logs into an archive: verified, compressed, indexed, read back, committed one by one."""
    request = ArchiveRequest(source, archive, decrypt, dry_run, max_files, max_seconds)
    with text_output() as output, progress_bar("archive", quiet=quiet) as bar:

        def progress(done: int, total: int) -> None:
            bar.expect(total)
            bar.reach(done)

        run = ArchiveRun(request, progress)
        for log in run:
            _tell(log, output, as_json=as_json, quiet=quiet)
            output.flush()
        _tell_run(run.report, output, as_json=as_json, quiet=quiet)
    if run.report.failed:
        return ExitCode.FAILED
    return ExitCode.LOSSES if run.report.damaged or run.report.problems else ExitCode.DONE


def _tell(log: LogReport, output: TextOutput, *, as_json: bool, quiet: bool) -> None:
    if log.error is not None:
        say_error(str(log.error))
    if log.archived is not None:
        for problem in log.archived.problems:
            say_warning(f"{log.log}: {problem}")
    if as_json:
        output.line(json.dumps(log.as_dict(), ensure_ascii=False))
    elif log.error is None and not quiet:
        output.line(_line(log))


def _line(log: LogReport) -> str:
    text = f"{safe_text(log.log)}: {log.state.value}"
    if log.archived is not None:
        one = log.archived
        text += (
            f", {number_text(one.transactions)} transactions,"
            f" {bytes_text(one.bytes)} in {bytes_text(one.stored_bytes)}, as {safe_text(one.stem)}"
        )
    return text


def _tell_run(run: RunReport, output: TextOutput, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        output.line(json.dumps(run.as_dict(), ensure_ascii=False))
    elif not quiet and not (run.archived or run.damaged or run.failed):
        left = f"{run.remaining} closed logs left to the next run" if run.remaining else "nothing to do"
        output.line(f"{left}: {run.held} archived, {len(run.open)} being written")
