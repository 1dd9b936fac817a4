"""Transaction ids: the GTID, or where there is none a UUID that reading again gives again."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from binx.kernels.transactions import GtidKind, TransactionTable

if TYPE_CHECKING:
    from binx.log.file import BinlogFile

NAMESPACE = UUID("6d9a1c52-6d3f-5b1e-8a57-0d5b1e2f9c44")
"""The namespace of the UUIDv5 of transactions without GTID; part of the data's contract."""


def anonymous_id(file: BinlogFile, start: int) -> str:
    """The id of a transaction without GTID: UUIDv5 over server id, binlog name, source identity and start."""
    return str(uuid5(NAMESPACE, f"{file.format.server_id}/{file.name}/{file.identity}/{start}"))


def transaction_id(file: BinlogFile, table: TransactionTable, index: int) -> str:
    """One transaction's id."""
    gtid: str | None = table.gtid(index)
    return gtid if gtid is not None else anonymous_id(file, table.value("start", index))


def transaction_ids(file: BinlogFile, table: TransactionTable) -> tuple[bytes, bytes]:
    """All ids of a table as an Arrow string column's parts: 32-bit offsets and UTF-8 text."""
    offsets, text = table.gtids()
    kinds = memoryview(table.column("gtid_kind")).cast("q")
    with_gtid = (GtidKind.GTID_MYSQL, GtidKind.GTID_MARIADB)
    if all(kind in with_gtid for kind in set(kinds)):
        return offsets, text
    ends = array("i", [0])
    parts: list[bytes] = []
    gtid_ends = memoryview(offsets).cast("i")
    starts = memoryview(table.column("start")).cast("q")
    for index, start in enumerate(starts):
        own = text[gtid_ends[index] : gtid_ends[index + 1]] or anonymous_id(file, start).encode()
        parts.append(own)
        ends.append(ends[-1] + len(own))
    return ends.tobytes(), b"".join(parts)
