"""``binx archive``: an archive of closed logs."""

from __future__ import annotations

from functools import partial

from binx.archive.check import check_archive
from binx.archive.restore import find_named, restore_log, restore_span
from binx.archive.run import ArchiveRun
from binx.archive.run_report import ArchiveRequest
from binx.cli.archive_page import DETAILS, EXAMPLES
from binx.cli.archive_text import tell_check, tell_log, tell_run
from binx.cli.declaration import OUTPUT, Choice, FilePath, Parsed, argument, command, option
from binx.cli.options import COUNT, KEYS, NUMBER, QUIET
from binx.cli.progress import ProgressBar, progress_bar
from binx.cli.selecting import understood
from binx.cli.terminal import missing_gtids, say_note, say_warning, text_output
from binx.errors import ExitCode, UsageError
from binx.event.gtid_set import GtidSet
from binx.export.output import STANDARD_OUTPUT
from binx.export.store import open_store
from binx.log.moments import parse_zoned_time
from binx.log.selection import Selection, wanted_gtids
from binx.source.age_keys import Recipient, parse_recipient, read_recipients
from binx.source.json_text import json_text
from binx.source.names import printable
from binx.source.wording import counted
from binx.stats.text import bytes_text

LIMITS = "Limits"
ASK = "Check and restore"

_NAMELESS = "-"
"""``--restore`` without the name of a log."""


@command("archive", examples=EXAMPLES, details=DETAILS)
@option(
    "--to",
    name="archive",
    metavar="DEST",
    value=FilePath(),
    required=True,
    section=OUTPUT,
    help="The archive: a folder or a URI such as s3://bucket/logs.",
)
@option(
    "--parquet",
    metavar="DIR",
    value=FilePath(),
    section=OUTPUT,
    help="Also export row changes to this data set, as to-parquet does; a folder or a URI.",
)
@option(
    "--prune",
    name="prune_days",
    metavar="DAYS",
    value=NUMBER,
    section=OUTPUT,
    help="Delete logs of SOURCE that are older than this and verified to be archived; see the manual page.",
)
@option(
    "--decrypt", is_flag=True, section=OUTPUT, help="Also archive logs encrypted by the server, decrypted."
)
@option(
    "--encrypt-to",
    metavar="RECIPIENT",
    multiple=True,
    section=OUTPUT,
    help="Encrypt with age to this public key (age1…); may be repeated.",
)
@option(
    "--encrypt-to-file",
    metavar="FILE",
    value=FilePath(),
    multiple=True,
    section=OUTPUT,
    help="Encrypt to the recipients in this file, one per line, as with age -R.",
)
@option(
    "--on-damage",
    value=Choice("leave", "keep"),
    default="leave",
    show_default=True,
    section=OUTPUT,
    help="Damaged logs: leave them out, or archive their bytes unchanged.",
)
@option("--dry-run", is_flag=True, section=OUTPUT, help="Write nothing; report what would be done.")
@option(
    "--json",
    name="as_json",
    is_flag=True,
    section=OUTPUT,
    help="Print one JSON object per log, and one for the run.",
)
@option("--max-files", metavar="N", value=COUNT, section=LIMITS, help="Archive at most N logs.")
@option(
    "--max-seconds",
    metavar="N",
    value=NUMBER,
    section=LIMITS,
    help="Do not start another log after N seconds.",
)
@option("--check", is_flag=True, section=ASK, help="Check what the archive covers; hashes every object.")
@option(
    "--restore",
    name="name",
    metavar="[LOG]",
    alone=_NAMELESS,
    section=ASK,
    help="Restore this log, byte for byte; without a name, the selected transactions.",
)
@option(
    "--gtid",
    name="gtids",
    metavar="SET",
    multiple=True,
    value=Parsed("set", wanted_gtids),
    section=ASK,
    help="Restore these transactions.",
)
@option(
    "--since",
    metavar="TIME",
    value=Parsed("time", parse_zoned_time),
    section=ASK,
    help="Restore transactions committed at or after this time.",
)
@option(
    "--until",
    metavar="TIME",
    value=Parsed("time", parse_zoned_time),
    section=ASK,
    help="Restore transactions committed before this time.",
)
@option(
    "--server-id",
    metavar="N",
    value=NUMBER,
    section=ASK,
    help="Restore transactions from logs of this server.",
)
@option(
    "-o",
    "--output",
    metavar="FILE",
    value=FilePath(),
    section=ASK,
    help="Output file for what is restored; - is standard output.",
)
@KEYS
@QUIET
@argument("source", metavar="[SOURCE]", required=False, value=FilePath())
def archive_command(
    source: str | None,
    archive: str,
    parquet: str | None,
    prune_days: int | None,
    decrypt: bool,
    encrypt_to: tuple[str, ...],
    encrypt_to_file: tuple[str, ...],
    on_damage: str,
    dry_run: bool,
    as_json: bool,
    max_files: int | None,
    max_seconds: int | None,
    check: bool,
    name: str | None,
    gtids: tuple[GtidSet, ...],
    since: int | None,
    until: int | None,
    server_id: int | None,
    output: str | None,
    quiet: bool,
) -> int:
    """Archive closed logs: each is verified, compressed, indexed, read back and committed."""
    span = bool(gtids) or since is not None or until is not None
    restores = name is not None or span
    if check and restores:
        raise UsageError("expected --check or something to restore, found both")
    if restores and dry_run:
        raise UsageError("--dry-run does not apply to --restore")
    if check:
        return _check(archive, source, as_json=as_json, quiet=quiet)
    if restores:
        if output is None:
            raise UsageError("expected an output file (-o)")
        if source is not None:
            raise UsageError("--restore reads only the archive; leave SOURCE out")
        if name in (None, _NAMELESS):
            if not span:
                raise UsageError("expected a log name after --restore, or --gtid, --since or --until")
            selection = Selection(gtids=GtidSet().union(*gtids) if gtids else None, since=since, until=until)
            return _restore_span(archive, selection, server_id, output, as_json=as_json, quiet=quiet)
        if span:
            raise UsageError("expected a log name or --gtid, --since, --until, found both")
        return _restore_log(archive, str(name), output, as_json=as_json, quiet=quiet)
    if output is not None:
        raise UsageError("-o applies only to --restore")
    if server_id is not None:
        raise UsageError("--server-id applies only to restoring with --gtid, --since or --until")
    if source is None:
        raise UsageError("expected SOURCE, a folder of logs or an .index file")
    request = ArchiveRequest(
        source,
        archive,
        decrypt=decrypt,
        keep_damaged=on_damage == "keep",
        dry_run=dry_run,
        max_files=max_files,
        max_seconds=max_seconds,
        parquet=parquet,
        prune_days=prune_days,
        recipients=_recipients(encrypt_to, encrypt_to_file),
    )
    return _run(request, as_json=as_json, quiet=quiet)


def _recipients(texts: tuple[str, ...], paths: tuple[str, ...]) -> tuple[Recipient, ...]:
    """Whom to encrypt to, each once."""
    if not texts and not paths:
        return ()
    given = [parse_recipient(text) for text in texts]
    given += [recipient for path in paths for recipient in read_recipients(path)]
    return tuple(dict.fromkeys(given))


def _run(request: ArchiveRequest, *, as_json: bool, quiet: bool) -> int:
    with text_output(plain=as_json) as text, progress_bar("archive", quiet=quiet) as bar:
        run = ArchiveRun(request, partial(_advance, bar))
        for log in run:
            tell_log(log, text, as_json=as_json, quiet=quiet)
        tell_run(run.report, text, as_json=as_json, quiet=quiet)
    if run.report.failed:
        return ExitCode.FAILED
    return ExitCode.LOSSES if run.report.has_problems else ExitCode.DONE


def _check(archive: str, source: str | None, *, as_json: bool, quiet: bool) -> int:
    with text_output(plain=as_json) as text:
        with progress_bar("check", quiet=quiet) as bar:
            report = check_archive(open_store(archive), source, partial(_advance, bar))
        tell_check(report, text, as_json=as_json, quiet=quiet)
    if report.lacks:
        return ExitCode.ABSENT
    return ExitCode.DONE if report.ok else ExitCode.LOSSES


def _restore_log(archive: str, name: str, output: str, *, as_json: bool, quiet: bool) -> int:
    store = open_store(archive)
    log = find_named(store, name)
    with progress_bar("restore", quiet=quiet) as bar:
        path = restore_log(store, log, output, partial(_advance, bar))
    _tell_restored(
        path,
        log.bytes,
        log.transactions,
        as_json=as_json,
        quiet=quiet,
        facts={"name": log.stem, "sha256": log.sha256},
    )
    return ExitCode.DONE


def _restore_span(
    archive: str, selection: Selection, server_id: int | None, output: str, *, as_json: bool, quiet: bool
) -> int:
    if not quiet:
        for line in understood(selection):
            say_note(line)
    report = restore_span(open_store(archive), selection, output, server_id)
    for warning in report.warnings:
        say_warning(warning)
    _tell_restored(
        output,
        report.bytes,
        report.transactions,
        as_json=as_json,
        quiet=quiet,
        facts={"missing": str(report.missing)},
    )
    return missing_gtids(report.missing)


def _tell_restored(
    path: str, size: int, transactions: int, *, as_json: bool, quiet: bool, facts: dict[str, str]
) -> None:
    """Tell of a restored file on standard error, where standard output is it; else as of all files."""
    if as_json and path != STANDARD_OUTPUT:
        with text_output(plain=as_json) as text:
            document = {"output": printable(path), "bytes": size, "transactions": transactions, **facts}
            text.line(json_text(document))
    elif not quiet:
        say_note(f"{path}: {counted(transactions, 'transaction')}, {bytes_text(size)}, verified")


def _advance(bar: ProgressBar, done: int, total: int) -> None:
    bar.expect(total)
    bar.reach(done)
