"""``binx archive``: an archive of closed logs."""

from __future__ import annotations

import click

from binx.archive.check import check_archive
from binx.archive.manifest import read_manifests
from binx.archive.prune import expire
from binx.archive.report import ArchiveRequest
from binx.archive.restore import find_named, restore_log, restore_span
from binx.archive.run import ArchiveRun
from binx.cli.archive_text import tell_check, tell_log, tell_logs, tell_run
from binx.cli.command import COUNT, NUMBER, PATH, Example, command, flag, option, parsed
from binx.cli.options import KEYS, QUIET, as_json_option
from binx.cli.progress import progress_bar
from binx.cli.terminal import ending, say_losses, say_note, say_warning, text_output
from binx.errors import AbsentError, ExitCode, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.moments import parse_zoned_time
from binx.log.selection.selection import Selection, wanted_gtids
from binx.source.age import parse_recipient, read_recipients
from binx.source.json_text import json_text
from binx.source.names import printable
from binx.source.wording import counted
from binx.stats.text import bytes_text
from binx.storage.output import STANDARD_OUTPUT
from binx.storage.store import open_store

EXAMPLES = (
    Example(
        "from cron: archive what was closed since the last run", "binx archive mysql-bin.index --to archive"
    ),
    Example("show what would be done", "binx archive --dry-run mysql-bin.index --to elsewhere"),
    Example(
        "also export tables, and print what the server may purge",
        "binx archive mysql-bin.index --to archive --parquet lake --prune 7 --json",
    ),
    Example(
        "encrypt, on a machine that has only the public key",
        "binx archive mysql-bin.index --to sealed --encrypt-to"
        " age1dkzd62lh6n2t6aj9jh3v099ded0gv9nvnavvpa3q2e6vgt89lv2s5jd6jj",
    ),
    Example("extract a transaction from the archive", "binx extract --gtid UUID:1006 archive -o one.binlog"),
    Example(
        "check that the archive is intact and complete", "binx archive --check mysql-bin.index --to archive"
    ),
    Example("list what is archived", "binx archive --list --to archive"),
    Example(
        "which logs of the archive are older than a year", "binx archive --expire 365 --dry-run --to archive"
    ),
    Example("restore a log", "binx archive --restore mysql-bin.000003 --to archive -o restored.000003"),
    Example(
        "restore the transactions of some minutes",
        "binx archive --since '2026-11-21 09:30' --until '2026-11-21 09:45' --to archive -o span.binlog",
    ),
)

LIMITS = "Limits"
ASK = "Check and restore"

_NAMELESS = "-"
"""``--restore`` without the name of a log."""


@command("archive", examples=EXAMPLES)
@option(
    "--to",
    "archive",
    metavar="DEST",
    type=PATH,
    required=True,
    help="The archive: a folder or a URI such as s3://bucket/logs.",
)
@option(
    "--parquet",
    metavar="DIR",
    type=PATH,
    help="Also export row changes to this data set, as to-parquet does; a folder or a URI.",
)
@option(
    "--prune",
    "prune_days",
    metavar="DAYS",
    type=NUMBER,
    help="Delete logs of SOURCE that are older than this and verified to be archived; see the manual page.",
)
@flag("--decrypt", "Also archive logs encrypted by the server, decrypted.")
@option(
    "--encrypt-to",
    metavar="RECIPIENT",
    multiple=True,
    help="Encrypt with age to this public key (age1…); may be repeated.",
)
@option(
    "--encrypt-to-file",
    type=PATH,
    multiple=True,
    help="Encrypt to the recipients in this file, one per line, as with age -R.",
)
@option(
    "--on-damage",
    type=click.Choice(["leave", "keep"]),
    default="leave",
    show_default=True,
    help="Damaged logs: leave them out, or archive their bytes unchanged.",
)
@flag("--dry-run", "Write nothing; report what would be done.")
@as_json_option("Print one JSON object per log, and one for the run.")
@option("--max-files", type=COUNT, section=LIMITS, help="Archive at most N logs.")
@option("--max-seconds", type=NUMBER, section=LIMITS, help="Do not start another log after N seconds.")
@flag("--list", "List the archived logs.", "lists", ASK)
@option(
    "--expire",
    "expire_days",
    metavar="DAYS",
    type=NUMBER,
    help="Delete from the archive the logs whose last transaction is older; often their only copy.",
)
@flag("--check", "Check what the archive covers; hashes every object.", section=ASK)
@option(
    "--restore",
    "name",
    metavar="[LOG]",
    is_flag=False,
    flag_value=_NAMELESS,
    section=ASK,
    help="Restore this log, byte for byte; without a name, the selected transactions.",
)
@option(
    "--gtid",
    "gtids",
    metavar="SET",
    multiple=True,
    type=parsed(wanted_gtids),
    section=ASK,
    help="Restore these transactions.",
)
@option(
    "--since",
    metavar="TIME",
    type=parsed(parse_zoned_time),
    section=ASK,
    help="Restore transactions committed at or after this time.",
)
@option(
    "--until",
    metavar="TIME",
    type=parsed(parse_zoned_time),
    section=ASK,
    help="Restore transactions committed before this time.",
)
@option("--server-id", type=NUMBER, section=ASK, help="Restore transactions from logs of this server.")
@option(
    "-o", "--output", type=PATH, section=ASK, help="Output file for what is restored; - is standard output."
)
@KEYS
@QUIET
@click.argument("source", metavar="[SOURCE]", required=False, type=PATH)
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
    lists: bool,
    expire_days: int | None,
    check: bool,
    name: str | None,
    gtids: tuple[GtidSet, ...],
    since: int | None,
    until: int | None,
    server_id: int | None,
    output: str | None,
    quiet: bool,
) -> ExitCode:
    """Archive closed logs: each is verified, compressed, indexed, read back and committed."""
    span = bool(gtids) or since is not None or until is not None
    restores = name is not None or span
    if sum((check, restores, lists, expire_days is not None)) > 1:
        raise UsageError("expected one of --check, --list, --expire and something to restore, found several")
    if restores and dry_run:
        raise UsageError("--dry-run does not apply to --restore")
    if source is not None and (lists or expire_days is not None):
        raise UsageError("--list and --expire look only at the archive; leave SOURCE out")
    if lists:
        return _list(archive, as_json=as_json)
    if expire_days is not None:
        return _expire(archive, expire_days, dry_run=dry_run, as_json=as_json, quiet=quiet)
    if check:
        return _check(archive, source, as_json=as_json, quiet=quiet)
    if restores:
        selection = Selection(gtids=GtidSet().union(*gtids) if gtids else None, since=since, until=until)
        return _restore(archive, source, name, selection, server_id, output, as_json=as_json, quiet=quiet)
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


def _recipients(texts: tuple[str, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
    """Whom to encrypt to, each once."""
    given = [parse_recipient(text) for text in texts]
    given += [recipient for path in paths for recipient in read_recipients(path)]
    return tuple(dict.fromkeys(given))


def _run(request: ArchiveRequest, *, as_json: bool, quiet: bool) -> ExitCode:
    with text_output(plain=as_json) as text, progress_bar("archive", quiet=quiet) as bar:
        run = ArchiveRun(request, bar.reach)
        for log in run:
            tell_log(log, text, as_json=as_json, quiet=quiet)
        tell_run(run.report, text, as_json=as_json, quiet=quiet)
    if run.report.failed:
        return ExitCode.FAILED
    return ExitCode.LOSSES if run.report.has_problems else ExitCode.DONE


def _list(archive: str, *, as_json: bool) -> ExitCode:
    logs, errors = read_manifests(open_store(archive))
    with text_output(plain=as_json) as text:
        tell_logs(
            sorted(logs, key=lambda log: (log.server_id, log.header_timestamp, log.name)),
            text,
            as_json=as_json,
        )
    for error in errors:
        say_warning(str(error))
    if not logs and not errors:
        raise AbsentError("expected an archive, found no logs in it; check the path", path=archive)
    return ExitCode.LOSSES if errors else ExitCode.DONE


def _expire(archive: str, days: int, *, dry_run: bool, as_json: bool, quiet: bool) -> ExitCode:
    failed = expired = 0
    with text_output(plain=as_json) as text:
        for log in expire(open_store(archive), days, dry_run=dry_run):
            failed += log.error is not None
            expired += log.error is None
            tell_log(log, text, as_json=as_json, quiet=quiet)
    if expired:
        what = "would go" if dry_run else "are gone"
        say_warning(f"{counted(expired, 'log')} {what} from the archive, which may have been their only copy")
    elif not failed and not quiet:
        say_note("no log of the archive is that old, or only the newest of a chain")
    return ExitCode.FAILED if failed else ExitCode.DONE


def _check(archive: str, source: str | None, *, as_json: bool, quiet: bool) -> ExitCode:
    with text_output(plain=as_json) as text:
        with progress_bar("check", quiet=quiet) as bar:
            report = check_archive(open_store(archive), source, bar.reach)
        tell_check(report, text, as_json=as_json, quiet=quiet)
    if report.lacks:
        return ExitCode.ABSENT
    return ExitCode.DONE if report.ok else ExitCode.LOSSES


def _restore(
    archive: str,
    source: str | None,
    name: str | None,
    selection: Selection,
    server_id: int | None,
    output: str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> ExitCode:
    if output is None:
        raise UsageError("expected an output file (-o)")
    if source is not None:
        raise UsageError("--restore reads only the archive; leave SOURCE out")
    if name in (None, _NAMELESS):
        if selection.is_everything:
            raise UsageError("expected a log name after --restore, or --gtid, --since or --until")
        return _restore_span(archive, selection, server_id, output, as_json=as_json, quiet=quiet)
    if not selection.is_everything:
        raise UsageError("expected a log name or --gtid, --since, --until, found both")
    return _restore_log(archive, str(name), output, as_json=as_json, quiet=quiet)


def _restore_log(archive: str, name: str, output: str, *, as_json: bool, quiet: bool) -> ExitCode:
    store = open_store(archive)
    log = find_named(store, name)
    with progress_bar("restore", quiet=quiet) as bar:
        path = restore_log(store, log, output, bar.reach)
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
) -> ExitCode:
    report = restore_span(open_store(archive), selection, output, server_id)
    say_losses(report.warnings)
    _tell_restored(
        output,
        report.bytes,
        report.transactions,
        as_json=as_json,
        quiet=quiet,
        facts={"missing": str(report.missing)},
    )
    return ending(report.missing)


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
