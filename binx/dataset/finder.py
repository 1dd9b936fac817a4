"""A log's transactions on their way to be decoded: found, chosen, numbered, counted, and without damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from binx.dataset.manifest import LogReport
from binx.errors import BinxError
from binx.event.gtid.sets import GtidSet
from binx.event.payload import KeptPayloads
from binx.kernels.transactions.index_tables import join
from binx.kernels.transactions.table import TransactionTable
from binx.log.arrow import concatenated, marked_rows
from binx.log.identifiers import marked_gtids, transaction_ids
from binx.log.index.transactions import index_batch
from binx.log.scan import Scan
from binx.log.selection.selection import Selector
from binx.rows.decoder import LOST, STATEMENTS_ONLY
from binx.rows.following import DecodingCheck
from binx.source.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from binx.dataset.continuation import ChainState
    from binx.where.rows import RowFilter

STEP_BYTES = 4 * 1024 * 1024
"""How far the scan walks before what it found is decoded, so that it is still in the processor's cache."""

_GROUP_ROWS = 65_536
"""Transactions of a row group, at least, but for the last one."""


class Finder:
    """Finds the transactions of a log, and reports what is chosen of them. Iterate it once.

    Args:
        state: where in the chain the log stands; it is moved on.
        row_filter: takes out transactions by what their rows hold; None for nothing.
    """

    def __init__(
        self,
        scan: Scan,
        selector: Selector,
        state: ChainState,
        salvaging: Salvaging,
        payloads: KeptPayloads,
        report: LogReport,
        row_filter: RowFilter | None = None,
    ) -> None:
        self.gtids = GtidSet()
        self._scan = scan
        self._selector = selector
        self._state = state
        self._salvaging = salvaging
        self._report = report
        self._row_filter = row_filter
        self._gathered: list[tuple[TransactionTable, bytes]] = []
        self._first_seqno = 0
        """Of the first transaction that is gathered."""
        self._rows: list[pa.RecordBatch] = []
        self._payloads = payloads
        scan.step, scan.payloads = STEP_BYTES, payloads

    def __iter__(self) -> Iterator[tuple[TransactionTable, bytearray, tuple[bytes, bytes]]]:
        """Yield the transactions in the file's order, with their marks and ids, as the decoder takes them."""
        for table in self._scan:
            if len(table):
                yield table, self._chosen(table), transaction_ids(self._scan.file, table)
                self._payloads.clear()

    def take_group(self, *, is_last: bool = False) -> pa.RecordBatch | None:
        """The chosen transactions of a row group; None while there are not enough, or none at the end."""
        if sum(len(table) for table, _ in self._gathered) >= (1 if is_last else _GROUP_ROWS):
            self._rows.append(self._gathered_rows())
        if sum(map(len, self._rows)) < (1 if is_last else _GROUP_ROWS):
            return None
        rows, self._rows = self._rows, []
        return rows[0] if len(rows) == 1 else concatenated(rows)

    def _gathered_rows(self) -> pa.RecordBatch:
        """The transactions that were gathered, as rows; joined before, as few of them are slow."""
        (whole, _), *others = self._gathered
        for table, _ in others:
            join(whole, table)
        marks = b"".join(mask for _, mask in self._gathered)
        self._gathered.clear()
        batch = index_batch(
            self._scan.file, self._scan, whole, epoch=self._state.epoch, first_seqno=self._first_seqno
        )
        return marked_rows(batch, marks)

    def _chosen(self, table: TransactionTable) -> bytearray:
        """Number, choose and count transactions; gives what is to be done with each."""
        scan, file, state, report = self._scan, self._scan.file, self._state, self._report
        marks = self._selector.mask(file, scan, table)
        lost = self._salvaging.unmark_lost(table, marks)
        if self._row_filter is not None:
            self._row_filter.keep(file, table, marks, lost)
        self.gtids |= GtidSet(marked_gtids(table, marks))
        # The last transaction stands behind all others.
        file.commit_version(table.value("start", len(table) - 1))
        span = table.extents(marks)
        if span is not None:
            report.sums.saw(file.commit_version(span[0]), file.commit_version(span[1]), *span[2:])
        if not self._gathered:
            self._first_seqno = state.seqno
        self._gathered.append((table, bytes(marks)))
        state.seqno += len(table)
        table.mark_work(marks)
        report.sums.statements_left_out += marks.count(STATEMENTS_ONLY)
        for index, mark in lost.items():
            marks[index] = mark
        for mark, number, *counts in table.sum_counts(marks):
            report.take_counted(scan.table_name(number), mark, counts)
        for index in lost:
            marks[index] = 0
        return marks


class Salvaging:
    """Sorts out transactions that cannot be decoded.

    Args:
        check: decodes transactions to see whether they can be; None where damage is not salvaged, and then
            nothing is left out.
        forget: called where statements that define tables may have been lost, as no table's definition is
            known any more behind.
    """

    def __init__(self, scan: Scan, check: DecodingCheck | None, forget: Callable[[], None]) -> None:
        self._scan = scan
        self._check = check
        self._forget = forget
        self._damages = 0
        self._damage: list[dict[str, Any]] = []

    def undecodable(self, table: TransactionTable, marks: bytearray) -> dict[int, BinxError]:
        """The marked transactions that cannot be decoded, by their index."""
        if self._check is None:
            return {}
        self.forget_behind_damage()
        errors = self._check.undecodable(table, marks)
        if any(table.value("statements", index) for index in errors):
            self._forget_tables()
        return errors

    def unmark_lost(self, table: TransactionTable, mask: bytearray) -> dict[int, int]:
        """Take out of a selection what cannot be decoded: by index, what it is to be counted as."""
        if self._check is None:
            return {}
        marks = bytearray(mask)
        table.mark_work(marks)
        lost = {}
        for index, error in self.undecodable(table, marks).items():
            lost[index] = LOST if mask[index] else 0
            mask[index] = 0
            if lost[index]:
                start, end = table.value("start", index), table.value("end", index)
                gtid, why = table.gtid(index), error.message
                self._damage.append(_record(start, end, error.offset, "undecodable", gtid, 1, why))
        return lost

    def forget_behind_damage(self) -> None:
        """Forget tables where the scan has passed over damage since the last call."""
        if len(self._scan.damage) > self._damages:
            self._forget_tables()

    def damage(self) -> list[dict[str, Any]]:
        """All that was passed over and left out, in the log's order, for the manifest."""
        scanned = [
            _record(
                one.start, one.end, one.offset, one.cause.value, str(one.lost) if one.lost else one.gtid,
                one.transactions, one.message,
            )
            for one in self._scan.damage
        ]  # fmt: skip
        return sorted(self._damage + scanned, key=lambda one: one["start"])

    def _forget_tables(self) -> None:
        self._damages = len(self._scan.damage)
        if self._check is not None:
            self._check.forget_tables()
        self._forget()


def _record(
    start: int,
    end: int,
    offset: int | None,
    cause: str,
    gtid: str | None,
    transactions: int,
    message: str,
) -> dict[str, Any]:
    """What the manifest says of a stretch of damage."""
    return {
        "start": start,
        "end": end,
        "offset": offset,
        "cause": cause,
        "gtid": gtid,
        "transactions": transactions,
        "message": message,
    }


def damage_sentences(damage: Sequence[dict[str, Any]]) -> list[str]:
    """What the manifest says of damage among the losses."""
    told = []
    for one in damage:
        gtid = "" if one["gtid"] is None else f" (transaction {one['gtid']})"
        told.append(
            f"bytes {one['start']:,} to {one['end']:,}{gtid} could not be read and are left out, at"
            f" least {counted(one['transactions'], 'transaction')}: {one['message']}"
        )
    return told
