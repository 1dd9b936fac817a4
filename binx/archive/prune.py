"""Which logs of the source are no longer needed there, as the archive proves to hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import time

from binx.archive.manifest import (
    ArchivedLog,
    decode_manifest,
    find_log,
    manifest_name,
    read_object,
)
from binx.archive.opening import by_chain
from binx.archive.restore import check_object
from binx.archive.sources import SourceLogs
from binx.errors import DamagedError, OutputError
from binx.log.chain.ends import FileEnds
from binx.source.names import number_of
from binx.source.remote import is_uri
from binx.storage.durable import synchronize
from binx.storage.hashing import digest_of
from binx.storage.store import Store

_DAY = 24 * 60 * 60


def prunable(
    logs: SourceLogs, held: Sequence[ArchivedLog], days: int, also: Callable[[ArchivedLog], bool]
) -> list[tuple[FileEnds, ArchivedLog]]:
    """The oldest logs of each server that may go once they are proved.

    None goes behind a log that must stay, so that the source keeps no holes; and never the newest one. A
    damaged log must stay, whatever is kept of it, and one that cannot be opened.

    Raises:
        SourceError: a log cannot be read.
    """
    newest_time = time() - days * _DAY
    chosen: list[tuple[FileEnds, ArchivedLog]] = []
    for chain in _chains(logs):
        for ends in chain[:-1]:
            if any(one.is_within(chain[0].file.name, ends.file.name) for one in logs.unreadable):
                break
            log = find_log(held, ends.file) if ends in logs.closed else None
            if log is None or log.damage or is_uri(ends.file.path) or not also(log):
                break
            if Path(ends.file.path).stat().st_mtime > newest_time:
                break
            chosen.append((ends, log))
    return chosen


def _chains(logs: SourceLogs) -> list[list[FileEnds]]:
    """The source's logs by chain, each in its order."""
    chains = by_chain((ends, None) for ends in (*logs.closed, *logs.open))
    return [[ends for ends, _ in chain] for chain in chains]


def prove(store: Store, ends: FileEnds, log: ArchivedLog) -> None:
    """See that the archive holds a log: its manifest, every object's hash, and the log's own.

    Raises:
        SourceError, DamagedError, NotABinlogError: it does not.
    """
    name = manifest_name(log.stem)
    if decode_manifest(read_object(store, name), store.path(name)) != log:
        raise DamagedError("the manifest has changed during the run", path=store.path(name))
    for stored in log.objects:
        check_object(store, stored)
    if digest_of(ends.file.source) != log.sha256:
        raise DamagedError(
            f"expected the bytes archived as {log.stem}, found others; the log is not deleted",
            path=ends.file.path,
        )


def remove(ends: FileEnds) -> None:
    """Remove a log that is proved.

    Raises:
        OutputError: it cannot be removed.
    """
    path = Path(ends.file.path)
    try:
        path.unlink()
    except OSError as error:
        raise OutputError(f"cannot be deleted: {error.strerror}", path=str(path)) from error
    # The log is gone; that this is on the disk too is more than any promise needs.
    with suppress(OutputError):
        synchronize([path.parent])


def purge_statement(logs: SourceLogs, last: FileEnds) -> str:
    """What removes a server's logs up to one of them, that one included, on that server."""
    chain = next(chain for chain in _chains(logs) if last in chain)
    following = chain[chain.index(last) + 1].file.name
    between = [log.name for log in logs.unreadable if log.is_within(last.file.name, following)]
    quoted = min([following, *between], key=number_of).replace("\\", "\\\\").replace("'", "''")
    return f"PURGE BINARY LOGS TO '{quoted}'"
