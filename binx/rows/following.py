"""Transactions that are not decoded, of whose statements the tables must be known behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from binx.kernels.transactions import TransactionTable
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


__all__ = ["follow_statements"]
