"""Which ends of XA transactions belong to what a filter takes.

The rows of an XA transaction are logged with its XA PREPARE; the XA COMMIT or XA ROLLBACK that decides about
them is a transaction of its own, which names no table. Without it the rows stay prepared, and locked, where
they are replayed.
"""

from __future__ import annotations

import re

from binx.event.mariadb import MariadbGtid
from binx.event.query import Query
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.log.events import transaction_events
from binx.log.file import BinlogFile

_STATEMENT = re.compile(r"\s*XA\s+(?:START|BEGIN|COMMIT|ROLLBACK)\s+(.+?)\s*\Z", re.IGNORECASE | re.DOTALL)


class XaEnds:
    """Has the ends of XA transactions go the way of what they end.

    Args:
        all_pass: whether every end passes, so that logs and parts of logs can be looked at by themselves.
    """

    def __init__(self, *, all_pass: bool) -> None:
        self._all_pass = all_pass
        self._passed: dict[str, bool] = {}

    @staticmethod
    def steps(table: TransactionTable, mask: bytearray) -> list[int]:
        """The indexes of the marked transactions that prepare or end an XA transaction."""
        steps = bytearray(mask)
        table.keep_range(steps, "kind", Kind.KIND_XA_PREPARE, Kind.KIND_XA_ROLLBACK)
        return table.marked(steps)

    def passes(self, file: BinlogFile, table: TransactionTable, index: int, taken: bool) -> bool:
        """Whether a step passes a filter; steps must come in the order of the chain.

        The end of what was prepared in no transaction that was looked at passes: it may be wanted.

        Args:
            file: the log.
            table: the transactions.
            index: which of them.
            taken: whether the filter takes the transaction for what it holds.

        Raises:
            DamagedError, UnsupportedError: an event of the transaction cannot be read.
        """
        is_end = table.value("kind", index) != Kind.KIND_XA_PREPARE
        if self._all_pass:
            return taken or is_end
        xid = xid_of(file, table, index)
        if is_end:
            return self._passed.pop(xid, True) or taken
        self._passed[xid] = taken
        return taken


def xid_of(file: BinlogFile, table: TransactionTable, index: int) -> str:
    """The name of an XA transaction, as the step's GTID event (MariaDB's) or its first statement has it."""
    start, end = table.value("start", index), table.value("end", index)
    for _, event in transaction_events(file, start, end, table.format):
        if isinstance(event, MariadbGtid) and event.xid is not None:
            return str(event.xid)
        if isinstance(event, Query) and (found := _STATEMENT.match(event.text)):
            return found[1]
    return ""


__all__ = ["XaEnds", "xid_of"]
