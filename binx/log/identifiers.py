"""Transaction ids: the GTID, or where there is none a UUID that reading again gives again."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING

from binx.kernels.transactions.table import TransactionTable

if TYPE_CHECKING:
    from binx.log.file import BinlogFile

NAMESPACE = "6d9a1c52-6d3f-5b1e-8a57-0d5b1e2f9c44"
"""The namespace of the UUIDv5 of transactions without GTID; part of the data's contract."""


def anonymous_id(file: BinlogFile, start: int) -> str:
    """The id of a transaction without GTID: UUIDv5 over server id, binlog name, source identity and start."""
    return _anonymous_ids(file)(start).decode()


def anonymous_name(file: BinlogFile, start: int | str) -> str:
    """The text that the UUIDv5 of a transaction without GTID is made of."""
    return f"{file.format.server_id}/{file.name}/{file.identity}/{start}"


def transaction_id(file: BinlogFile, table: TransactionTable, index: int) -> str:
    """One transaction's id."""
    gtid: str | None = table.gtid(index)
    return gtid if gtid is not None else anonymous_id(file, table.value("start", index))


def id_at(ids: tuple[bytes, bytes], index: int) -> str:
    """One of the ids that :func:`transaction_ids` gives."""
    offsets, text = ids
    first, last = memoryview(offsets).cast("i")[index : index + 2]
    return text[first:last].decode()


def transaction_ids(file: BinlogFile, table: TransactionTable) -> tuple[bytes, bytes]:
    """All ids of a table as an Arrow string column's parts: 32-bit offsets and UTF-8 text."""
    offsets, text = table.gtids()
    if table.all_have_gtids():
        return offsets, text
    gtid_ends = memoryview(offsets).cast("i")
    starts = memoryview(table.column("start")).cast("q")
    anonymous = _anonymous_ids(file)
    parts = [
        text[gtid_ends[index] : gtid_ends[index + 1]] or anonymous(start)
        for index, start in enumerate(starts)
    ]
    ends = array("i", accumulate(map(len, parts), initial=0))
    return ends.tobytes(), b"".join(parts)


def _anonymous_ids(file: BinlogFile) -> Callable[[int], bytes]:
    """What gives the ids of one file's transactions without GTID, by their starts."""
    import hashlib

    namespace = bytes.fromhex(NAMESPACE.replace("-", ""))
    digest = hashlib.sha1(namespace + anonymous_name(file, "").encode(), usedforsecurity=False)

    def identifier(start: int) -> bytes:
        whole = digest.copy()
        whole.update(b"%d" % start)
        text = whole.hexdigest()
        variant = "89ab"[int(text[16], 16) & 3]
        return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}".encode()

    return identifier
