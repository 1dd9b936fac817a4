"""``binx archive``: maintain an archive of closed logs."""

from __future__ import annotations

from typing import Any

import click

from binx.archive.archiving import ArchiveRun
from binx.archive.check import check_archive
from binx.archive.manifest import read_manifests
from binx.archive.prune import expire
from binx.archive.report import ArchiveRequest
from binx.archive.restore import find_named, restore_log, restore_span
from binx.archive.shell_dumps import check_dumps
from binx.cli.archive_text import ArchiveText
from binx.cli.command import COUNT, NUMBER, PATH, Example, command, flag, offered, option, parsed
from binx.cli.options import KEYS, QUIET, as_json_option
from binx.cli.progress import progress_bar
from binx.cli.terminal import ending, say_losses, say_note, say_warning, text_output
from binx.errors import AbsentError, ExitCode, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.selection import Selection, wanted_gtids
from binx.log.selection.times import parse_zone, parse_zoned_time, zone_names
from binx.report.document import json_line
from binx.source.age import parse_recipient, read_recipients
from binx.source.log_names import are_dumps
from binx.source.wording import counted
from binx.stats.text import bytes_text
from binx.storage.output_errors import STANDARD_OUTPUT
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
"""Value of ``--restore`` without a log's name."""


@command(
    "archive",
    examples=EXAMPLES,
    brief="to parquet prune encrypt-to list check restore"
    " expire since until gtid output dry-run json identity",
)
@option(
    "--to DEST",
    "archive",
    type=PATH,
    required=True,
    help="The archive: a folder or a URI such as s3://bucket/logs.",
)
@option(
    "--parquet DIR",
    type=PATH,
    help="Also export row changes to this data set, as to-parquet does; a folder or a URI.",
)
@option(
    "--prune DAYS",
    "prune_days",
    type=NUMBER,
    help="Delete logs of SOURCE that are older than this and verified to be archived; see the manual page.",
)
@flag("--decrypt", "Also archive logs encrypted by the server, decrypted.")
@option(
    "--encrypt-to RECIPIENT",
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
    help="Damaged logs: leave them out, or archive their bytes unchanged.",
)
@flag("--dry-run", "Write nothing; report what would be done.")
@as_json_option("Print one JSON object per log, and one for the run.")
@option("--max-files", type=COUNT, section=LIMITS, help="Archive at most N logs.")
@option("--max-seconds", type=NUMBER, section=LIMITS, help="Do not start another log after N seconds.")
@flag("--list", "List the archived logs.", "lists", ASK)
@option(
    "--expire DAYS",
    "expire_days",
    type=NUMBER,
    help="Delete from the archive the logs whose last transaction is older; often their only copy.",
)
@flag("--check", "Check what the archive covers; hashes every object.", section=ASK)
@option(
    "--restore [LOG]",
    "name",
    is_flag=False,
    flag_value=_NAMELESS,
    section=ASK,
    help="Restore this log, byte for byte; without a name, the selected transactions.",
)
@option(
    "--gtid SET",
    "gtids",
    multiple=True,
    type=parsed(wanted_gtids),
    section=ASK,
    help="Restore these transactions.",
)
@option(
    "--since TIME",
    section=ASK,
    help="Restore transactions committed at or after this time.",
)
@option(
    "--until TIME",
    section=ASK,
    help="Restore transactions committed before this time.",
)
@option(
    "--tz ZONE",
    "zone",
    type=parsed(parse_zone),
    shell_complete=offered(zone_names),
    default="UTC",
    section=ASK,
    help="Time zone of the times of --since and --until: Europe/Berlin, +02:00, local.",
)
@option("--server-id", type=NUMBER, section=ASK, help="Restore transactions from logs of this server.")
@option(
    "-o", "--output", type=PATH, section=ASK, help="Output file for what is restored; - is standard output."
)
@KEYS
@QUIET
@click.argument("source", metavar="[SOURCE]", required=False, type=PATH)
def archive_command(source: str | None, archive: str, as_json: bool, quiet: bool, **options: Any) -> ExitCode:
    """Archive closed logs: each is verified, compressed, indexed, read back and committed."""
    name, output, expire_days = options["name"], options["output"], options["expire_days"]
    gtids = GtidSet().union(*options["gtids"]) if options["gtids"] else None
    since, until = (
        None if options[name] is None else parse_zoned_time(options[name], options["zone"])
        for name in ("since", "until")
    )
    selection = Selection(gtids=gtids, since=since, until=until)
    restores = name is not None or not selection.is_everything
    looks = options["lists"] or expire_days is not None
    if sum((options["check"], restores, options["lists"], expire_days is not None)) > 1:
        raise UsageError("expected one of --check, --list, --expire and something to restore, found several")
    if restores and options["dry_run"]:
        raise UsageError("--dry-run does not apply to --restore")
    if source is not None and looks:
        raise UsageError("--list and --expire look only at the archive; leave SOURCE out")
    if source is not None and restores:
        raise UsageError("--restore reads only the archive; leave SOURCE out")
    if output is not None and not restores:
        raise UsageError("-o applies only to --restore")
    if options["server_id"] is not None and (not restores or name not in (None, _NAMELESS)):
        raise UsageError("--server-id applies only to restoring with --gtid, --since or --until")
    if restores:
        return _restore(archive, name, selection, options["server_id"], output, as_json=as_json, quiet=quiet)
    if source is None and not looks and not options["check"]:
        raise UsageError("expected SOURCE, a folder of logs or an .index file")
    with text_output(plain=as_json) as text:
        report = ArchiveText(text, as_json=as_json, quiet=quiet)
        if options["lists"]:
            return _list(archive, report)
        if expire_days is not None:
            return _expire(archive, expire_days, report, dry_run=options["dry_run"])
        if options["check"]:
            return _check(archive, source, report)
        recipients = [parse_recipient(recipient) for recipient in options["encrypt_to"]]
        for path in options["encrypt_to_file"]:
            recipients += read_recipients(path)
        request = ArchiveRequest(
            source or "",
            archive,
            decrypt=options["decrypt"],
            keep_damaged=options["on_damage"] == "keep",
            dry_run=options["dry_run"],
            max_files=options["max_files"],
            max_seconds=options["max_seconds"],
            parquet=options["parquet"],
            prune_days=options["prune_days"],
            recipients=tuple(dict.fromkeys(recipients)),
        )
        return _run(request, report)


def _run(request: ArchiveRequest, report: ArchiveText) -> ExitCode:
    with progress_bar("archive", quiet=report.quiet) as bar:
        run = ArchiveRun(request, bar.reach)
        for log in run:
            report.log(log)
        report.run(run.report)
    if run.report.failed:
        return ExitCode.FAILED
    return ExitCode.LOSSES if run.report.has_problems else ExitCode.DONE


def _list(archive: str, report: ArchiveText) -> ExitCode:
    logs, errors = read_manifests(open_store(archive))
    report.listed(sorted(logs, key=lambda log: (log.server_id, log.header_timestamp, log.name)))
    say_losses(map(str, errors))
    if not logs and not errors:
        raise AbsentError("expected an archive, found no logs in it; check the path", path=archive)
    return ExitCode.LOSSES if errors else ExitCode.DONE


def _expire(archive: str, days: int, report: ArchiveText, *, dry_run: bool) -> ExitCode:
    failed = expired = 0
    for log in expire(open_store(archive), days, dry_run=dry_run):
        failed += log.error is not None
        expired += log.error is None
        report.log(log)
    if expired:
        verb = "would go" if dry_run else "are gone"
        say_warning(f"{counted(expired, 'log')} {verb} from the archive, which may have been their only copy")
    elif not failed and not report.quiet:
        say_note("no log of the archive is that old, or only the newest of a chain")
    return ExitCode.FAILED if failed else ExitCode.DONE


def _check(archive: str, source: str | None, report: ArchiveText) -> ExitCode:
    with progress_bar("check", quiet=report.quiet) as bar:
        store = open_store(archive)
        check = check_dumps if are_dumps(store.names()) else check_archive
        result = check(store, source, bar.reach)
    report.check(result)
    if result.has_missing:
        return ExitCode.ABSENT
    return ExitCode.DONE if result.ok else ExitCode.LOSSES


def _restore(
    archive: str,
    name: str | None,
    selection: Selection,
    server_id: int | None,
    output: str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> ExitCode:
    """Restore a log, or a span; messages go to standard error if standard output is the restored file."""
    if output is None:
        raise UsageError("expected an output file (-o)")
    has_name = name not in (None, _NAMELESS)
    if not has_name and selection.is_everything:
        raise UsageError("expected a log name after --restore, or --gtid, --since or --until")
    if has_name and not selection.is_everything:
        raise UsageError("expected a log name or --gtid, --since, --until, found both")
    store, path = open_store(archive), output
    facts: dict[str, Any]
    missing, losses = GtidSet(), False
    if has_name:
        log = find_named(store, str(name))
        with progress_bar("restore", quiet=quiet) as bar:
            path = restore_log(store, log, output, bar.reach)
        size, transactions, facts = (
            log.bytes,
            log.transactions,
            {"archived_as": log.stem, "sha256": log.sha256},
        )
    else:
        if selection.times_text and not quiet:
            say_note(selection.times_text)
        span = restore_span(store, selection, output, server_id)
        say_losses(span.warnings)
        losses = say_losses(span.damage)
        size, transactions, missing = span.bytes, span.transactions, span.absent_gtids
        facts = {"absent_gtids": missing}
    if as_json and path != STANDARD_OUTPUT:
        with text_output(plain=True) as text:
            facts |= {"output": path, "bytes": size, "transactions": transactions}
            text.line(json_line("restored", facts))
    elif not quiet:
        say_note(f"{path}: {counted(transactions, 'transaction')}, {bytes_text(size)}, verified")
    return ending(missing, losses=losses)
