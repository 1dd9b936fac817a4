"""Restore from an archive: a log, byte for byte, or the transactions of a span."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path

from binx.archive.chains import archived_chains, manifest_facts, open_archived, without_superseded
from binx.archive.manifest import ArchivedLog, read_manifests
from binx.archive.objects import check_object
from binx.errors import AbsentError, BinxError, DamagedError, OutputError, SourceError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import in_order
from binx.log.chain.ends import known_facts
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.log.selection.times import MICROSECONDS, format_time
from binx.log.succession import is_counted_on, problems_between
from binx.slices.extraction import ExtractReport, extract
from binx.source import READ_BYTES
from binx.source.log_names import number_of
from binx.source.opening import decompressed, decrypted
from binx.storage.output import open_output
from binx.storage.output_errors import STANDARD_OUTPUT
from binx.storage.store import Store

_LATEST = 2**63 - 1


def find_named(store: Store, name: str) -> ArchivedLog:
    """Return the archived log of a name.

    Raises:
        UsageError: several have that name.
    """
    logs, errors = read_manifests(store)
    matches = [log for log in logs if name in (log.stem, log.log.path)]
    if not matches:
        matches, _ = without_superseded([log for log in logs if log.name == name])
    if not matches and errors:
        raise SourceError(
            f"no log named {name} in the archive, among the manifests that can be read; {len(errors)}"
            " cannot be read, see --check",
            path=store.where,
        ) from errors[0]
    if not matches:
        more = "; to restore transactions, use --gtid" if _is_gtid_set(name) else ""
        raise AbsentError(f"no log named {name} in the archive{more}", path=store.where)
    if len(matches) > 1:
        lines = "".join(f"\n  {log.stem}  {_span(log)}" for log in matches)
        raise UsageError(f"several logs in the archive are named {name}; give one of these names:{lines}")
    return matches[0]


def restore_log(
    store: Store,
    log: ArchivedLog,
    output: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> str:
    """Write an archived log as it was; it appears only if its hash matches.

    Args:
        output: a file, a folder in which it gets its own name, or ``-`` for standard output.
    """
    path = str(Path(output, log.name)) if Path(output).is_dir() else output
    source = decompressed(decrypted(store.open(log.log.path)), of_logs=False)
    try:
        with open_output(path) as stream:
            digest = hashlib.sha256()
            for start in range(0, source.size, READ_BYTES):
                data = source.window(start, min(start + READ_BYTES, source.size))
                digest.update(data)
                stream.write(data)
                progress(start + len(data), source.size)
            if digest.hexdigest() != log.sha256:
                raise DamagedError(
                    "the restored log does not match the hash in its manifest; take the log from"
                    " another copy of the archive",
                    path=store.path(log.log.path),
                )
    finally:
        source.close()
    return path


def restore_span(
    store: Store, selection: Selection, output: str, server_id: int | None = None
) -> ExtractReport:
    """Write the transactions of a span as a binary log; damaged logs contribute none.

    The objects that they come from are verified by hash, and the output is read again. Within a span of time,
    damaged or missing logs are reported as damage; for GTIDs, the missing ones are reported.

    Raises:
        UsageError: logs of several servers match, and no server is named, or several have its id.
    """
    logs, errors = read_manifests(store)
    if errors:
        raise errors[0]
    kept, _ = without_superseded(logs)
    chosen = _of_server(_covering([log for log in kept if not log.damage], selection), server_id)
    unused = [_unused(log) for log in kept if log.damage and _may_have(log, selection, server_id)]
    if not chosen:
        more = "".join(f"; {sentence}" for sentence in unused)
        raise AbsentError(f"none of the requested transactions found{more}", path=store.where)
    chains = [chain for chain in archived_chains(store, kept) if any(log in chosen for log in chain)]
    if selection.gtids is None:
        _refuse_namesakes(chains)
    for log in chosen:
        check_object(store, log.log)
    with ExitStack() as stack:
        chain = in_order([open_archived(store, log, stack) for log in chosen], known_facts)
        report = extract(chain, selection, output)
    if output != STANDARD_OUTPUT and Path(output).is_file():
        _read_again(output, report)
    if selection.gtids is not None:
        repeated = [text for chain in chains for text in _repeated(chain, selection.gtids)]
        return report._replace(warnings=(*report.warnings, *unused), damage=(*report.damage, *repeated))
    return report._replace(
        warnings=(*report.warnings, *(text for chain in chains for text in _edges(chain, selection))),
        damage=(
            *report.damage,
            *unused,
            *(text for chain in chains for text in _holes(store, chain, selection)),
        ),
    )


def _edges(chain: Sequence[ArchivedLog], selection: Selection) -> Iterator[str]:
    """Yield sentences on the parts of a span of time before and after the archived logs of a chain."""
    first, last = chain[0], chain[-1]
    begun, ended = first.header_timestamp * MICROSECONDS, (last.ended or 0) * MICROSECONDS
    ended = max(ended, last.last_commit or 0)
    if selection.since is not None and selection.since < begun:
        yield f"the archive begins with {first.stem}, at {format_time(begun)}; what was before is not in it"
    if selection.until is not None and selection.until > ended:
        yield f"the archive ends with {last.stem}, at {format_time(ended)}; what came later is not in it"


def _holes(store: Store, chain: Sequence[ArchivedLog], selection: Selection) -> Iterator[str]:
    """Yield sentences on missing logs in a chain that may belong to a span of time."""
    for before, after in pairwise(chain):
        earlier, later = manifest_facts(store, before), manifest_facts(store, after)
        if not is_counted_on(earlier, later):
            continue
        is_over = selection.until is not None and (before.last_commit or 0) >= selection.until
        is_to_come = selection.since is not None and (after.first_commit or _LATEST) < selection.since
        if is_over or is_to_come:
            continue
        for problem in problems_between(earlier, later, partial(GtidSet, before.gtids)):
            if problem.lacks_transactions():
                yield f"{after.stem}: {problem.message}; what is missing between is not restored"


def _repeated(chain: Sequence[ArchivedLog], gtids: GtidSet) -> Iterator[str]:
    """Yield sentences on requested GTIDs that a server gave again, as after RESET BINARY LOGS AND GTIDS."""
    seen = GtidSet()
    for log in chain:
        if again := seen & log.gtids & gtids:
            yield f"{log.stem} has other transactions of {again}, which are not restored, but the earlier"
        seen |= log.gtids


def _is_gtid_set(name: str) -> bool:
    try:
        return bool(GtidSet.parse(name))
    except UsageError:
        return False


def _of_server(logs: list[ArchivedLog], server_id: int | None) -> list[ArchivedLog]:
    """Return the logs of one server, which must be named if there are several."""
    servers = sorted({log.server_id for log in logs})
    if server_id is None and len(servers) > 1:
        names = ", ".join(map(str, servers))
        raise UsageError(
            f"the archive has matching logs of several servers ({names}); select one with --server-id N"
        )
    return [log for log in logs if server_id in (None, log.server_id)]


def _refuse_namesakes(chains: Sequence[Sequence[ArchivedLog]]) -> None:
    """Raise UsageError if numbering restarts before the logs before that end, as two servers' logs do."""
    for before, after in (pair for chain in chains for pair in pairwise(chain)):
        is_restart = number_of(after.name) <= number_of(before.name)
        if is_restart and after.header_timestamp < max(
            before.ended or 0, (before.last_commit or 0) // MICROSECONDS
        ):
            raise UsageError(
                f"{after.stem} was begun before {before.stem} ended: several servers have the id"
                f" {after.server_id}; restore by --gtid, or give the logs of one server to binx extract"
            )


def _covering(logs: Sequence[ArchivedLog], selection: Selection) -> list[ArchivedLog]:
    """Return the logs that may have transactions of a selection; of several copies of a GTID the first."""
    chosen: list[ArchivedLog] = []
    covered = GtidSet()
    for log in sorted(logs, key=lambda log: (log.header_timestamp, log.name, log.stem)):
        if log.first_commit is None or log.last_commit is None:
            continue
        if selection.since is not None and log.last_commit < selection.since:
            continue
        if selection.until is not None and log.first_commit >= selection.until:
            continue
        if selection.gtids is not None:
            new = (log.gtids & selection.gtids) - covered
            if not new:
                continue
            covered |= new
        chosen.append(log)
    return chosen


def _may_have(log: ArchivedLog, selection: Selection, server_id: int | None) -> bool:
    """Return whether a damaged log may have transactions of a selection; its times are unknown."""
    if log.is_unidentified:
        return True
    if server_id not in (None, log.server_id):
        return False
    return selection.gtids is None or bool(log.gtids & selection.gtids)


def _unused(log: ArchivedLog) -> str:
    if log.is_unidentified:
        return (
            f"the first event of {log.stem} was damaged when it was archived: whether it contains what"
            " was requested is unknown"
        )
    return (
        f"{log.stem} was damaged when it was archived and is skipped: restore it with --restore"
        f" {log.stem}, and extract its intact transactions with binx extract --on-damage salvage"
    )


def _read_again(output: str, report: ExtractReport) -> None:
    """Read the output again, and remove it if it differs from the selected transactions."""
    try:
        with BinlogFile.open(output) as file:
            count = sum(len(table) for table in Scan(file))
        if count != report.transactions:
            raise DamagedError(f"expected {report.transactions:,} transactions, found {count:,}", path=output)
    except BinxError as error:
        Path(output).unlink(missing_ok=True)
        raise OutputError(
            f"the output cannot be read back: {error.message}; check the disk and run again",
            path=output,
        ) from error


def _span(log: ArchivedLog) -> str:
    if log.first_commit is None or log.last_commit is None:
        return f"server {log.server_id}, no transactions"
    return f"server {log.server_id}, {format_time(log.first_commit)} to {format_time(log.last_commit)}"
