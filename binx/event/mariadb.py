"""Parse MariaDB's own events: GTID, GTID list and binlog checkpoint.

Source: MariaDB's sql/log_event.h and log_event.cc (``Gtid_log_event``,
``Gtid_list_log_event``, ``Binlog_checkpoint_log_event``).
"""

from __future__ import annotations

from enum import IntFlag
from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.event.header import EventHeader
from binx.event.reader import body_reader
from binx.event.statement import XaXid, read_xa_xid

_LIST_COUNT = (1 << 28) - 1
_LIST_ENTRY_SIZE = 16


class MariadbGtidFlag(IntFlag):
    """Bits of a MariaDB GTID."""

    STANDALONE = 0x01
    """One event follows, with no BEGIN and no end, as for DDL."""
    GROUP_COMMIT_ID = 0x02
    TRANSACTIONAL = 0x04
    ALLOW_PARALLEL = 0x08
    WAITED = 0x10
    DDL = 0x20
    PREPARED_XA = 0x40
    COMPLETED_XA = 0x80


class MariadbGtidExtraFlag(IntFlag):
    """Bits that MariaDB added later."""

    MULTI_ENGINE = 0x01
    START_ALTER = 0x02
    COMMIT_ALTER = 0x04
    ROLLBACK_ALTER = 0x08
    THREAD_ID = 0x10


_NO_EXTRA_FLAGS = MariadbGtidExtraFlag(0)


class MariadbGtid(NamedTuple):
    """The GTID of the transaction that this event begins.

    Attributes:
        server_id: ID of the server that assigned the number, from the event's header.
        commit_id: shared by the transactions of a group commit; None for those committed alone.
        extra_engines: number of engines involved besides the first, else None.
        alter_sequence: sequence number of the START ALTER that this transaction ends, else None.
        thread_id: connection ID (newer servers, as 11.8), else None.
    """

    domain: int
    server_id: int
    sequence: int
    flags: MariadbGtidFlag
    commit_id: int | None = None
    xid: XaXid | None = None
    extra_flags: MariadbGtidExtraFlag = _NO_EXTRA_FLAGS
    extra_engines: int | None = None
    alter_sequence: int | None = None
    thread_id: int | None = None

    @property
    def number(self) -> int:
        """The sequence number, by the name that GTID sets use."""
        return self.sequence

    @property
    def source(self) -> DomainSource:
        """Domain and server, as in GTID sets."""
        return DomainSource(self.domain, self.server_id)

    def __str__(self) -> str:
        return f"{self.domain}-{self.server_id}-{self.sequence}"


class MariadbGtidPosition(NamedTuple):
    """One entry of a GTID list."""

    domain: int
    server_id: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.domain}-{self.server_id}-{self.sequence}"


class MariadbGtidList(NamedTuple):
    """The replication state before this file: the last GTID of each domain and server.

    Attributes:
        positions: the entries; a domain's last entry is its latest GTID.
    """

    positions: tuple[MariadbGtidPosition, ...]
    flags: int

    @property
    def gtids(self) -> GtidSet:
        """The entries as a set; a number of 0 stands for no transaction."""
        return GtidSet(
            (DomainSource(one.domain, one.server_id), one.sequence, one.sequence)
            for one in self.positions
            if one.sequence
        )


class BinlogCheckpoint(NamedTuple):
    """The file at which crash recovery begins."""

    file: str


def parse_mariadb_gtid(body: memoryview, header: EventHeader, description: FormatDescription) -> MariadbGtid:
    """Read MariaDB's GTID; its fields are padded with zeros to 19 bytes."""
    reader = body_reader(body, header)
    sequence, domain, flags = reader.u64(), reader.u32(), MariadbGtidFlag(reader.u8())
    commit_id = reader.u64() if MariadbGtidFlag.GROUP_COMMIT_ID in flags else None
    xid = None
    if flags & (MariadbGtidFlag.PREPARED_XA | MariadbGtidFlag.COMPLETED_XA):
        xid = read_xa_xid(reader, reader.i32(), reader.u8(), reader.u8())
    extra = MariadbGtidExtraFlag(reader.u8() if reader.remaining else 0)
    engines = reader.u8() if MariadbGtidExtraFlag.MULTI_ENGINE in extra else None
    ends_alter = extra & (MariadbGtidExtraFlag.COMMIT_ALTER | MariadbGtidExtraFlag.ROLLBACK_ALTER)
    alter_sequence = reader.u64() if ends_alter else None
    thread_id = reader.u32() if MariadbGtidExtraFlag.THREAD_ID in extra else None
    return MariadbGtid(
        domain=domain,
        server_id=header.server_id,
        sequence=sequence,
        flags=flags,
        commit_id=commit_id,
        xid=xid,
        extra_flags=extra,
        extra_engines=engines,
        alter_sequence=alter_sequence,
        thread_id=thread_id,
    )


def parse_mariadb_gtid_list(
    body: memoryview, header: EventHeader, description: FormatDescription
) -> MariadbGtidList:
    """Read GTID_LIST."""
    reader = body_reader(body, header)
    word = reader.u32()
    count = reader.count(word & _LIST_COUNT, _LIST_ENTRY_SIZE, "GTIDs")
    positions = tuple(MariadbGtidPosition(reader.u32(), reader.u32(), reader.u64()) for _ in range(count))
    return MariadbGtidList(positions, word >> 28)


def parse_binlog_checkpoint(
    body: memoryview, header: EventHeader, description: FormatDescription
) -> BinlogCheckpoint:
    """Read BINLOG_CHECKPOINT."""
    reader = body_reader(body, header)
    return BinlogCheckpoint(reader.text(reader.u32()))
