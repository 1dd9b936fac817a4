"""``binx archive``: closed logs, kept for good."""

from __future__ import annotations

from functools import partial

from binx.archive.check import check_archive
from binx.archive.restore import find_named, restore_log, restore_span
from binx.archive.run import ArchiveRequest, ArchiveRun
from binx.cli.archive_text import tell_check, tell_log, tell_run
from binx.cli.declaration import OUTPUT, Choice, Example, FilePath, Parsed, argument, command, option
from binx.cli.options import COUNT, KEYS, NUMBER, QUIET
from binx.cli.progress import ProgressBar, progress_bar
from binx.cli.selecting import gtid_set, understood, union
from binx.cli.terminal import missing_gtids, say_note, say_warning, text_output
from binx.errors import ExitCode, UsageError
from binx.event.gtid_set import GtidSet
from binx.export.output import STANDARD_OUTPUT
from binx.export.store import open_store
from binx.log.moments import parse_time
from binx.log.selection import Selection
from binx.source.age_keys import Recipient, parse_recipient, read_recipients
from binx.source.json_text import json_text
from binx.source.names import printable
from binx.stats.text import bytes_text, number_text

EXAMPLES = (
    Example("from cron: what was closed since the last run", "binx archive mysql-bin.index --to archive"),
    Example("what it would do", "binx archive --dry-run mysql-bin.index --to elsewhere"),
    Example(
        "with tables, and what the server may purge when it is proved",
        "binx archive mysql-bin.index --to archive --parquet lake --prune 7 --json",
    ),
    Example(
        "encrypted, on a machine that has the public key alone",
        "binx archive mysql-bin.index --to sealed --encrypt-to"
        " age1dkzd62lh6n2t6aj9jh3v099ded0gv9nvnavvpa3q2e6vgt89lv2s5jd6jj",
    ),
    Example(
        "a transaction out of the archive",
        "binx extract --gtid UUID:1006 archive -o one.binlog",
    ),
    Example(
        "whether it is whole, and all there",
        "binx archive --check mysql-bin.index --to archive",
    ),
    Example(
        "a log as it was",
        "binx archive --restore mysql-bin.000003 --to archive -o restored.000003",
    ),
    Example(
        "what was committed within some minutes",
        "binx archive --since '2026-11-21 09:30' --until '2026-11-21 09:45' --to archive -o span.binlog",
    ),
)

DETAILS = (
    "SOURCE is a folder of logs or a server's index of them. Closed is a log that is not marked as in use"
    " and ends with ROTATE or STOP, or one that a later log of its server follows. Each closed log that"
    " DEST does not hold yet is hashed and verified in full; compressed as zstd in frames of some 4 MiB"
    " that end where transactions do, so that zstd -d restores the identical log and every command of binx"
    " reads it in place; read back, and the restored bytes held against the hash of the log; indexed, as"
    " binx index does it; and committed by its manifest in DEST/_manifest, which is written last.",
    "Objects are named LOG.IDENTITY-HASH.zst and .binx: identity is that of the server and the log's"
    " beginning, as in the data set, and hash is of the log's content. So logs of one name, as after the"
    " numbering began anew or from another server, live side by side.",
    "Whenever a run is ended, also by kill -9 or a full disk, the next one goes on, and what then stands"
    " in DEST is the same. A lock that goes with its process keeps a second run away: in a local DEST from"
    " all processes, in others from those of this machine.",
    "A log that is damaged is not taken; the others are. With --on-damage keep it is taken too, byte for"
    " byte as it is, before its server purges it: its manifest lists the damage, it has no index, --check"
    " goes on to report it, --prune lets it and all logs behind it be, spans are not restored from it, and"
    " --parquet writes what is whole. A whole copy that takes its place in SOURCE is archived beside it,"
    " and stands for it from then on. A log whose first event is damaged is kept so too, when a"
    " later one is there; nothing can be read of it.",
    "A log that its server encrypted is taken with --encrypt-to, or with --decrypt, and is then not"
    " encrypted in the archive. What is written has the permissions that umask gives.",
    "With --encrypt-to all that this run archives is encrypted with age (https://age-encryption.org/v1) to"
    " the recipients, compressed logs and index files: their names end in .zst.age and .binx.age, commands"
    " read them in place with --identity, and age -d -i FILE X.zst.age | zstd -d restores the identical log."
    " No secret key is needed to archive, to --check by hashes, or to --prune. Manifests are not encrypted:"
    " names, sizes, times, GTIDs and recipients can be read in them. Recipients are X25519 keys, as"
    " age-keygen makes them; those of plugins, SSH, passphrases and the post-quantum hybrid are refused. A"
    " log that DEST holds already stays as it is there, encrypted or not. --parquet writes rows in the clear,"
    " and wants --decrypt and --identity beside --encrypt-to. To encrypt an archive to others, give it as"
    " SOURCE, with the --identity that reads it.",
    "One line is printed for each log that was taken, or one where there was nothing to do. With --json"
    " each line is an object: one for each log with log, state (archived, would archive, damaged, kept"
    " damaged, failed, tables written, pruned, would prune, purgeable), name, bytes, stored_bytes,"
    " transactions, gtid_set, sha256, problems, damage, recipients, rows, losses and error; and one for the"
    " run with run (ok, problems, failed), held, archived, remaining, open, damaged, failed, problems,"
    " tables, losses, pruned, purge and seconds.",
    "With --parquet the data set of to-parquet is written too, out of the archive: of each archived log"
    " that DIR does not hold yet, with the tables' columns as the statements in the logs before it name"
    " them.",
    "With --prune, logs of SOURCE that were not written to for DAYS days are removed: oldest first, never"
    " the newest, none behind one that must stay, and only after the manifest was read again, every object"
    " of the archive was hashed, and the log's own bytes were compared with that hash; with --parquet only"
    " what DIR holds too. Where SOURCE has a server's index, nothing is removed, as the server would look"
    " for what its index lists: the statement that lets the server remove what is proved, PURGE BINARY"
    " LOGS TO, is printed (purge in the JSON). Without --prune, SOURCE is never changed.",
    "--check hashes every object, opens every log, and holds the logs against each other and against"
    " those of SOURCE, where that is given: the GTIDs that are covered, logs and GTIDs that are missing"
    " between them, GTIDs that two logs of a server hold, and the tail that is not archived yet. With"
    " --json it prints one object with check (ok, problems, missing), logs, bytes, stored_bytes,"
    " transactions, encrypted, unopened (encrypted logs that no identity opens), gtid_set, missing_gtids,"
    " problems, notes and tail.",
    "--restore LOG writes a log as it was; its bytes must have the hash that they had, or nothing is"
    " written. Several logs of that name are listed, with the longer names to tell them apart. With"
    " --gtid, --since or --until a binary log with these transactions is written, as binx extract does it;"
    " the objects that they come from are hashed before, and what is written is read again.",
    "The exit status of a run is 0 where all closed logs are archived or left to the next run by a limit,"
    " 3 where logs are damaged or have problems that their server wrote, and 1 where something failed; of"
    " a check 0 where nothing is wrong, 3 where problems are listed, and 4 where an object or a log is"
    " missing; of --restore 4 where the log or a GTID is not in the archive.",
)

LIMITS = "Limits"
ASK = "Ask and restore"

_NAMELESS = "-"
"""``--restore`` without the name of a log."""


@command("archive", examples=EXAMPLES, details=DETAILS)
@option(
    "--to",
    name="archive",
    metavar="DEST",
    required=True,
    section=OUTPUT,
    help="The archive: a folder, or a URI such as s3://bucket/logs.",
)
@option(
    "--parquet",
    metavar="DIR",
    value=FilePath(),
    section=OUTPUT,
    help="Also write row changes as a data set, as to-parquet does; a folder, or a URI.",
)
@option(
    "--prune",
    name="prune_days",
    metavar="DAYS",
    value=NUMBER,
    section=OUTPUT,
    help="Remove logs of SOURCE that are older and proved to be archived; see the manual page.",
)
@option("--decrypt", is_flag=True, section=OUTPUT, help="Take encrypted logs too, decrypted.")
@option(
    "--encrypt-to",
    metavar="RECIPIENT",
    multiple=True,
    section=OUTPUT,
    help="Encrypt what is archived with age, to this public key (age1…); may be given several times.",
)
@option(
    "--encrypt-to-file",
    metavar="FILE",
    value=FilePath(),
    multiple=True,
    section=OUTPUT,
    help="The same, to the recipients in a file, one a line, as age -R has it.",
)
@option(
    "--on-damage",
    value=Choice("leave", "keep"),
    default="leave",
    show_default=True,
    section=OUTPUT,
    help="Where a log is damaged: leave it out, or keep its bytes as they are.",
)
@option("--dry-run", is_flag=True, section=OUTPUT, help="Write nothing; tell what would be done.")
@option(
    "--json", name="as_json", is_flag=True, section=OUTPUT, help="One JSON object a log, and one for the run."
)
@option("--max-files", metavar="N", value=COUNT, section=LIMITS, help="Take at most N logs.")
@option("--max-seconds", metavar="N", value=NUMBER, section=LIMITS, help="Begin no log after N seconds.")
@option("--check", is_flag=True, section=ASK, help="Prove what the archive covers; hashes every object.")
@option(
    "--restore",
    name="name",
    metavar="[LOG]",
    alone=_NAMELESS,
    section=ASK,
    help="Bring back this log, byte for byte; without a name, the transactions that are asked for.",
)
@option(
    "--gtid",
    name="gtids",
    metavar="SET",
    multiple=True,
    value=Parsed("set", gtid_set),
    section=ASK,
    help="Bring back these transactions.",
)
@option(
    "--since", metavar="TIME", value=Parsed("time", parse_time), section=ASK, help="Committed then or later."
)
@option(
    "--until", metavar="TIME", value=Parsed("time", parse_time), section=ASK, help="Committed before then."
)
@option("--server-id", metavar="N", value=NUMBER, section=ASK, help="From the logs of this server.")
@option(
    "-o",
    "--output",
    metavar="FILE",
    value=FilePath(),
    section=ASK,
    help="Where what is brought back goes; - is standard output.",
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
    """Take closed logs into an archive: verified, compressed, indexed, read back, committed one by one."""
    span = bool(gtids) or since is not None or until is not None
    restores = name is not None or span
    if check and restores:
        raise UsageError("expected --check, or what is to be restored, found both")
    if check:
        return _check(archive, source, as_json=as_json, quiet=quiet)
    if restores:
        if output is None:
            raise UsageError("expected the file to write with -o")
        if source is not None:
            raise UsageError("what is restored comes from the archive alone; leave SOURCE out")
        if name in (None, _NAMELESS):
            if not span:
                raise UsageError("expected the name of a log behind --restore, or --gtid, --since or --until")
            selection = Selection(gtids=union(gtids) if gtids else None, since=since, until=until)
            return _restore_span(archive, selection, server_id, output, as_json=as_json, quiet=quiet)
        if span:
            raise UsageError("expected the name of a log, or --gtid, --since, --until, found both")
        return _restore_log(archive, str(name), output, as_json=as_json, quiet=quiet)
    if output is not None:
        raise UsageError("-o is about --restore")
    if source is None:
        raise UsageError("expected SOURCE, the folder of the logs or their index")
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
        say_note(
            f"{path}: {number_text(transactions)} transaction{'' if transactions == 1 else 's'},"
            f" {bytes_text(size)}, verified"
        )


def _advance(bar: ProgressBar, done: int, total: int) -> None:
    bar.expect(total)
    bar.reach(done)
