"""Transactions that are not decoded, of whose statements the tables must be known behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from binx.kernels.transactions.table import TransactionTable
from binx.log.scan import Scan
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder


def follow_statements(
    decoder: ChangeDecoder,
    table: TransactionTable,
    unreadable: Callable[[TransactionTable, bytearray], Iterable[int]] = lambda table, marks: (),
) -> None:
    """Move the catalog of a decoder on over transactions.

    Args:
        decoder: the decoder.
        table: the transactions, with what a scan at ``LEVEL_EVENTS`` finds out, or more.
        unreadable: tells which of those that are marked cannot be decoded; they are passed over.

    Raises:
        DamagedError, UnsupportedError: a transaction with statements cannot be decoded.
    """
    marks = bytearray(len(table))
    table.mark_statements(marks)
    for index in unreadable(table, marks):
        marks[index] = 0
    if any(marks):
        for _ in decoder.decode(table, marks):
            pass


def pass_over(scan: Scan, catalog: Catalog) -> int:
    """Move a catalog on over all transactions of a scan whose rows others decode; gives how many there are.

    Args:
        scan: at ``LEVEL_EVENTS``; only headers of events and statements are looked at.
        catalog: the tables known before.

    Raises:
        DamagedError, UnsupportedError: the log cannot be read; whoever decodes it may tell more.
    """
    scan.pass_rows()
    decoder = ChangeDecoder(scan.file, catalog, lambda database, table: False)
    count = 0
    for found in scan:
        count += len(found)
        follow_statements(decoder, found)
    return count + scan.left_out


__all__ = ["follow_statements", "pass_over"]
