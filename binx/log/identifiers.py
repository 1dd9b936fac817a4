"""Transaction ids (a GTID, or a reproducible UUID), and GTID sets in the kernels' form."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import UUID_SIZE, DomainSource, GtidSource, UuidSource
from binx.kernels.transactions.summaries import gtid_runs
from binx.kernels.transactions.table import TransactionTable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.log.binlog_file import BinlogFile, TransactionScan

NAMESPACE = "6d9a1c52-6d3f-5b1e-8a57-0d5b1e2f9c44"
"""The namespace of the UUIDv5 of transactions without GTID; part of the data's contract."""


def anonymous_id(file: BinlogFile, start: int) -> str:
    """The id of a transaction without GTID: UUIDv5 over server id, binlog name, source identity and start."""
    return _anonymous_ids(file)(start).decode()


def anonymous_name(file: BinlogFile, start: int | str) -> str:
    """The name from which the UUIDv5 of a transaction without GTID is computed."""
    return f"{file.format.server_id}/{file.name}/{file.identity}/{start}"


def transaction_id(file: BinlogFile, table: TransactionTable, index: int) -> str:
    """Return one transaction's id."""
    gtid: str | None = table.gtid(index)
    return gtid if gtid is not None else anonymous_id(file, table.value("start", index))


def id_at(ids: tuple[bytes, bytes], index: int) -> str:
    """Return one of the ids from :func:`transaction_ids`."""
    offsets, text = ids
    first, last = memoryview(offsets).cast("i")[index : index + 2]
    return text[first:last].decode()


def transaction_ids(file: BinlogFile, table: TransactionTable) -> tuple[bytes, bytes]:
    """Return all ids of a table as the buffers of an Arrow string column: 32-bit offsets and UTF-8 text."""
    offsets, text = table.gtids()
    if table.all_have_gtids():
        return offsets, text
    gtid_ends = memoryview(offsets).cast("i")
    starts = memoryview(table.column("start")).cast("q")
    anonymous = _anonymous_ids(file)
    ids = [
        text[gtid_ends[index] : gtid_ends[index + 1]] or anonymous(start)
        for index, start in enumerate(starts)
    ]
    ends = array("i", accumulate(map(len, ids), initial=0))
    return ends.tobytes(), b"".join(ids)


def _anonymous_ids(file: BinlogFile) -> Callable[[int], bytes]:
    """Return a function from start offsets to ids, for one file's transactions without GTID."""
    from uuid import UUID, uuid5

    namespace, name = UUID(NAMESPACE), anonymous_name(file, "")
    return lambda start: str(uuid5(namespace, f"{name}{start}")).encode()


_DOMAIN_SOURCE = struct.Struct("<II")


def kernel_intervals(gtids: GtidSet) -> dict[bytes, bytes]:
    """Return a set as :meth:`TransactionTable.keep_gtids` takes it: intervals by the source's key."""
    packed: dict[bytes, bytes] = {}
    for source, group in groupby(gtids, key=lambda item: item[0]):
        numbers = [number for _, first, last in group for number in (first, last)]
        packed[key_of(source)] = struct.pack(f"={len(numbers)}Q", *numbers)
    return packed


def source_of(key: bytes) -> GtidSource:
    """Return the GTID source for a key of a :class:`TransactionTable`."""
    if len(key) == _DOMAIN_SOURCE.size:
        domain, server_id = _DOMAIN_SOURCE.unpack(key)
        return DomainSource(domain, server_id)
    return UuidSource(key[:UUID_SIZE], key[UUID_SIZE:].decode("ascii"))


def marked_gtids(table: TransactionTable, mask: Buffer) -> list[tuple[GtidSource, int, int]]:
    """Return the GTIDs of the masked transactions as intervals (source, first, last), unsorted."""
    return [(source_of(key), first, last) for key, first, last in gtid_runs(table, mask)]


def key_of(source: GtidSource) -> bytes:
    """Return the key of a :class:`TransactionTable` for a GTID source."""
    if isinstance(source, DomainSource):
        return _DOMAIN_SOURCE.pack(source.domain, source.server_id)
    return source.uuid + source.tag.encode("ascii")


def gtids_of(scan: TransactionScan) -> GtidSet:
    """Return the GTIDs of a scan's transactions."""
    return GtidSet(run for table in scan for run in marked_gtids(table, table.mask()))
