"""Order archived logs into chains by their manifests, and open them in place with their indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby

from binx.archive.manifest import ArchivedLog
from binx.errors import BinxError
from binx.event.format import ChecksumAlgorithm, Flavour, FormatDescription
from binx.log.chain.chain import order_ends
from binx.log.chain.ends import FileEnds
from binx.log.file import BinlogFile
from binx.log.index.file import IndexFile
from binx.log.scanning import Ending
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


class ManifestLog(BinlogFile):
    """A log known only by its manifest: name, place in its chain, no events."""

    def __init__(self, path: str, log: ArchivedLog) -> None:
        # Does not read the first event as other logs do: what is needed of it is in the manifest.
        self.log = log
        self.listed = None
        self.followed_by = None
        self._path = path
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
    def path(self) -> str:
        """The compressed log's path."""
        return self._path

    @property
    def name(self) -> str:
        """The name in the manifest."""
        return self.log.name

    @property
    def size(self) -> int:
        """The size in the manifest."""
        return self.log.bytes

    @property
    def identity(self) -> str:
        """The identity in the manifest."""
        return self.log.identity


def manifest_ends(store: Store, log: ArchivedLog) -> FileEnds:
    """Return a log's ends from its manifest."""
    return FileEnds(
        file=ManifestLog(store.path(log.log.path), log),
        previous_gtids=log.gtids_before,
        gtid_list=log.positions_before,
        next_file=log.next_file,
        stopped=log.next_file is None and log.ending == Ending.CLOSED.value,
        ended=log.ended,
    )


def by_chain(ends: Iterable[FileEnds]) -> list[list[FileEnds]]:
    """Group logs by chain, each in order."""
    return [list(chain) for _, chain in groupby(order_ends(ends), key=lambda ends: ends.chain)]


def archived_chains(store: Store, logs: Iterable[ArchivedLog]) -> list[list[ArchivedLog]]:
    """Group archived logs by chain, each in order."""
    chains = by_chain(manifest_ends(store, log) for log in logs)
    return [[ends.file.log for ends in chain if isinstance(ends.file, ManifestLog)] for chain in chains]


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
