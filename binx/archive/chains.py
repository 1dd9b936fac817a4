"""Order archived logs into chains by their manifests, and open them in place with their indexes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from binx.archive.manifest import ArchivedLog
from binx.errors import BinxError
from binx.event.format import Flavour
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.index.index_file import IndexFile
from binx.log.scanning import Ending
from binx.log.succession import LogFacts, ordered
from binx.source.opening import decrypted
from binx.storage.store import Store


def open_archived(store: Store, log: ArchivedLog, stack: ExitStack) -> BinlogFile:
    """Open an archived log, with its index if that is valid."""
    file = stack.enter_context(BinlogFile.open(store.path(log.log.path)))
    if log.index is not None:
        file.find_index = partial(_index_of, store, log.index.path, file)
    return file


def _index_of(store: Store, path: str, file: BinlogFile) -> IndexFile | None:
    """Return an archived index file; None if unusable: the log has the same data, --check the reason."""
    try:
        index = IndexFile(decrypted(store.open(path)), file)
        index.check()
    except BinxError:
        return None
    return index


def manifest_facts(store: Store, log: ArchivedLog) -> LogFacts:
    """Return what a log's manifest says of its place in a chain."""
    return LogFacts(
        path=store.path(log.log.path),
        name=log.name,
        server_id=log.server_id,
        flavour=Flavour.MARIADB if log.flavour == Flavour.MARIADB.value else Flavour.MYSQL,
        begun=log.header_timestamp,
        created=log.create_timestamp,
        next_log=log.next_file,
        stopped=log.next_file is None and log.ending == Ending.CLOSED.value,
        ended=log.ended,
        gtids_before=log.gtids_before,
    )


def by_chain(logs: Sequence[ChainLog]) -> list[list[ChainLog]]:
    """Group logs by chain, each in order."""
    return [[logs[index] for index in chain] for chain in ordered([log.facts for log in logs])]


def archived_chains(store: Store, logs: Sequence[ArchivedLog]) -> list[list[ArchivedLog]]:
    """Group archived logs by chain, each in order."""
    facts = [manifest_facts(store, log) for log in logs]
    return [[logs[index] for index in chain] for chain in ordered(facts)]


def without_superseded(logs: Sequence[ArchivedLog]) -> tuple[list[ArchivedLog], list[ArchivedLog]]:
    """Separate logs into those to keep and those superseded by a better copy.

    A longer copy is better, and a whole one is better than a damaged one. A log whose source is unknown is
    superseded by a whole one of the same name and size.
    """
    kept: list[ArchivedLog] = []
    superseded: list[ArchivedLog] = []
    for log in logs:
        better = any(
            (copy.name, copy.bytes, copy.damage) == (log.name, log.bytes, ())
            if log.is_unidentified
            else (copy.name, copy.identity) == (log.name, log.identity)
            and (not copy.damage, copy.bytes) > (not log.damage, log.bytes)
            and log.gtids <= copy.gtids
            for copy in logs
        )
        (superseded if better else kept).append(log)
    return kept, superseded
