"""Archived logs, opened where they are, with their indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial

from binx.archive.manifest import ArchivedLog
from binx.errors import BinxError, UsageError
from binx.log.chain.chain import order_ends
from binx.log.chain.ends import FileEnds, known_ends
from binx.log.file import BinlogFile
from binx.log.index.file import IndexFile
from binx.source.opening import decrypted
from binx.storage.store import Store


def open_archived(store: Store, log: ArchivedLog, stack: ExitStack) -> BinlogFile:
    """Open an archived log, with its index where it has one that is true.

    Raises:
        SourceError: it is not there, or cannot be read.
        EncryptedError: it is encrypted, and no identity that the environment names is one of its recipients.
        DamagedError: it is damaged.
    """
    file = stack.enter_context(BinlogFile.open(store.path(log.log.path)))
    if log.index is None:
        return file
    file.find_index = partial(_index_of, store, log.index.path, file)
    return file


def _index_of(store: Store, path: str, file: BinlogFile) -> IndexFile | None:
    """An archived index file; None where it cannot be used: the log tells the same, and --check why."""
    try:
        index = IndexFile(decrypted(store.open(path)), file)
        index.check()
    except BinxError:
        return None
    return index


def open_in_order(
    store: Store, logs: Iterable[ArchivedLog], stack: ExitStack
) -> list[tuple[FileEnds, ArchivedLog]]:
    """Open archived logs, in the order of their chains.

    Raises:
        SourceError, EncryptedError, DamagedError: as :func:`open_archived`.
    """
    opened = {}
    for log in logs:
        ends = known_ends(open_archived(store, log, stack))
        opened[id(ends.file)] = ends, log
    return [opened[id(ends.file)] for ends in order_ends(ends for ends, _ in opened.values())]


def without_superseded(logs: Sequence[ArchivedLog]) -> tuple[list[ArchivedLog], list[ArchivedLog]]:
    """Tell the logs from those of which a better copy is there too: kept ones, superseded ones.

    Better is a longer one, and a whole one than a damaged one. Of a log whose source nobody can tell, it is
    a whole one of the same name and size.
    """
    kept: list[ArchivedLog] = []
    superseded: list[ArchivedLog] = []
    for log in logs:
        better = any(
            (other.name, other.bytes, other.damage) == (log.name, log.bytes, ())
            if log.is_unidentified
            else (other.name, other.identity) == (log.name, log.identity)
            and (not other.damage, other.bytes) > (not log.damage, log.bytes)
            and log.gtids <= other.gtids
            for other in logs
        )
        (superseded if better else kept).append(log)
    return kept, superseded


def of_server(logs: Sequence[ArchivedLog], server_id: int | None) -> list[ArchivedLog]:
    """The logs of one server.

    Raises:
        UsageError: there are several, and none is named.
    """
    if server_id is not None:
        return [log for log in logs if log.server_id == server_id]
    servers = sorted({log.server_id for log in logs})
    if len(servers) > 1:
        names = ", ".join(map(str, servers))
        raise UsageError(
            f"the archive has matching logs of several servers ({names}); select one with --server-id N"
        )
    return list(logs)
