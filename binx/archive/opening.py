"""Archived logs, opened where they are, with their indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

from binx.archive.manifest import ArchivedLog
from binx.errors import BinxError, EncryptedError, UsageError
from binx.event.format import ChecksumAlgorithm, Flavour, FormatDescription
from binx.event.gtid.sets import GtidSet
from binx.log.chain.chain import order_ends
from binx.log.chain.ends import FileEnds, known_ends
from binx.log.file import BinlogFile
from binx.log.index.file import IndexFile
from binx.source.opening import decrypted
from binx.storage.store import Store

_CLOSED = "closed"

Item = TypeVar("Item")


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
    """Open archived logs, in the order of their chains."""
    opened = [(known_ends(open_archived(store, log, stack)), log) for log in logs]
    return [pair for chain in by_chain(opened) for pair in chain]


def by_chain(pairs: Iterable[tuple[FileEnds, Item]]) -> list[list[tuple[FileEnds, Item]]]:
    """Logs, each with something of it, by chain and in the order of each."""
    by_file = {id(pair[0].file): pair for pair in pairs}
    chains: dict[int, list[tuple[FileEnds, Item]]] = {}
    for ends in order_ends(ends for ends, _ in by_file.values()):
        chains.setdefault(ends.chain, []).append((ends, by_file[id(ends.file)][1]))
    return list(chains.values())


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


class UnopenedSource:
    """The bytes of a log that cannot be looked at: a :class:`~binx.source.base.Source` without windows."""

    def __init__(self, path: str, name: str, size: int) -> None:
        self.path = path
        self.name = name
        self.size = size

    def window(self, start: int, stop: int) -> memoryview:
        """There is none.

        Raises:
            EncryptedError: always.
        """
        del stop
        raise EncryptedError("the log is encrypted and was not opened", path=self.path, offset=start)

    def release(self, start: int, stop: int) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is open."""


class UnopenedLog(BinlogFile):
    """A log of which only its manifest is known: name, place in its chain, and no event."""

    def __init__(self, path: str, log: ArchivedLog) -> None:
        # Without the first event that the others read: what of it matters here stands in the manifest.
        self.source = UnopenedSource(path, log.name, log.bytes)
        self.find_index = None
        self.listed = None
        self._identity = log.identity
        self.format = FormatDescription(
            binlog_version=4,
            server_version=log.server_version,
            create_timestamp=log.create_timestamp,
            header_timestamp=log.header_timestamp,
            server_id=log.server_id,
            header_length=19,
            post_header_lengths=b"",
            checksum=ChecksumAlgorithm.OFF,
            has_checksum_field=False,
            in_use=log.in_use,
            flavour=Flavour.MARIADB if log.flavour == Flavour.MARIADB.value else Flavour.MYSQL,
            version=(0, 0, 0),
            position=4,
        )

    @property
    def identity(self) -> str:
        """As the manifest has it."""
        return self._identity


def unopened_ends(store: Store, log: ArchivedLog) -> FileEnds:
    """What a manifest says of a log's place among others.

    MariaDB's list of GTIDs is not in it: what it would tell of logs of that server is not found.
    """
    return FileEnds(
        file=UnopenedLog(store.path(log.log.path), log),
        previous_gtids=None if log.previous_gtids is None else GtidSet.parse(log.previous_gtids),
        gtid_list=None,
        next_file=log.next_file,
        stopped=log.next_file is None and log.ending == _CLOSED,
    )
