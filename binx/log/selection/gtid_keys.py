"""Sets of GTIDs as the kernels take and give them: by the key of each source."""

from __future__ import annotations

import struct
from itertools import groupby
from typing import TYPE_CHECKING

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import UUID_SIZE, DomainSource, GtidSource, UuidSource
from binx.kernels.transactions.table import TransactionTable

if TYPE_CHECKING:
    from typing_extensions import Buffer

_DOMAIN_SOURCE = struct.Struct("<II")


def kernel_intervals(gtids: GtidSet) -> dict[bytes, bytes]:
    """A set as :meth:`TransactionTable.keep_gtids` takes it: by source's key, its intervals."""
    packed: dict[bytes, bytes] = {}
    for source, group in groupby(gtids, key=lambda item: item[0]):
        numbers = [number for _, first, last in group for number in (first, last)]
        packed[key_of(source)] = struct.pack(f"={len(numbers)}Q", *numbers)
    return packed


def source_of(key: bytes) -> GtidSource:
    """The source of GTIDs that a :class:`TransactionTable` names by its key."""
    if len(key) == _DOMAIN_SOURCE.size:
        domain, server_id = _DOMAIN_SOURCE.unpack(key)
        return DomainSource(domain, server_id)
    return UuidSource(key[:UUID_SIZE], key[UUID_SIZE:].decode("ascii"))


def marked_gtids(table: TransactionTable, mask: Buffer) -> list[tuple[GtidSource, int, int]]:
    """The GTIDs of the transactions that a mask marks, as intervals: source, first and last, not sorted."""
    return [(source_of(key), first, last) for key, first, last in table.gtid_runs(mask)]


def key_of(source: GtidSource) -> bytes:
    """The key by which a :class:`TransactionTable` names a source of GTIDs."""
    if isinstance(source, DomainSource):
        return _DOMAIN_SOURCE.pack(source.domain, source.server_id)
    return source.uuid + source.tag.encode("ascii")


__all__ = ["kernel_intervals", "key_of", "marked_gtids", "source_of"]
