"""Archived logs that are encrypted to others: what their manifests say, in place of what is in them."""

from __future__ import annotations

from binx.archive.manifest import ArchivedLog
from binx.errors import EncryptedError
from binx.event.format import ChecksumAlgorithm, Flavour, FormatDescription
from binx.event.gtid.sets import GtidSet
from binx.log.chain.ends import FileEnds
from binx.log.file import BinlogFile
from binx.storage.store import Store

_CLOSED = "closed"


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
