"""Find, select, number and count a log's transactions for the decoder, and leave out damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.dataset.manifest import LogReport
from binx.errors import BinxError
from binx.event.gtid.sets import GtidSet
from binx.event.payload import PayloadCache
from binx.kernels.transactions.table import TransactionTable, join
from binx.log.arrow import marked_rows
from binx.log.identifiers import marked_gtids, transaction_ids
from binx.log.index.transactions import TransactionRows
from binx.log.scan import Scan
from binx.log.selection.selection import Selector
from binx.rows.decoder import LOST, STATEMENTS_ONLY
from binx.rows.reading import DecodingCheck
from binx.source.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from binx.dataset.continuation import ChainState
    from binx.where.matching_transactions import RowFilter

STEP_BYTES = 4 * 1024 * 1024
"""Bytes scanned before decoding what was found, while it is still in the CPU cache."""

_GROUP_ROWS = 65_536
"""Minimum number of transactions that become rows at once, except the last ones."""


class Group(NamedTuple):
    """Selected transactions that become rows, once, in any thread; their own memory is free then."""

    transactions: list[TransactionRows]
    marks: bytes
    size: int

    def batch(self) -> pa.RecordBatch:
        """Return the rows."""
        return marked_rows(self.transactions.pop().batch(), self.marks)


_LEFT_OUT = bytes(mark == 0 for mark in range(256))
"""Translates marks into a mask of the transactions that are not exported."""


class Finder:
    """Yields the transactions of a log, and reports the selected ones. Iterate it once.

    Args:
        state: the log's position in the chain; advanced.
        row_filter: deselects transactions by their rows, or None.
    """

    def __init__(
        self,
        scan: Scan,
        selector: Selector,
        state: ChainState,
        salvaging: Salvaging,
        payloads: PayloadCache,
        report: LogReport,
        row_filter: RowFilter | None = None,
    ) -> None:
        self.gtids = GtidSet()
        self.left_out = GtidSet()
        self._scan = scan
        self._selector = selector
        self._state = state
        self._salvaging = salvaging
        self._report = report
        self._row_filter = row_filter
        self._gathered: list[tuple[TransactionTable, bytes]] = []
        self._first_seqno = 0
        """Number of the first gathered transaction."""
        self._payloads = payloads
        scan.step, scan.payloads = STEP_BYTES, payloads

    def __iter__(self) -> Iterator[tuple[TransactionTable, bytearray, tuple[bytes, bytes]]]:
        """Yield the transactions in file order, with their marks and ids, as the decoder expects them."""
        for table in self._scan:
            if len(table):
                yield table, self._marks(table), transaction_ids(self._scan.file, table)
                self._payloads.clear()

    def take_group(self, *, is_last: bool = False) -> Group | None:
        """Return the gathered transactions if they are enough, or at the end the rest; None without rows."""
        if sum(len(table) for table, _ in self._gathered) < (1 if is_last else _GROUP_ROWS):
            return None
        # Tables are joined first, as small ones are slow.
        (joined, _), *others = self._gathered
        for table, _ in others:
            join(joined, table)
        marks = b"".join(mask for _, mask in self._gathered)
        self._gathered.clear()
        if 1 not in marks:
            return None
        rows = TransactionRows(self._scan.file, self._scan, joined, self._state.epoch, self._first_seqno)
        rows.detach()
        return Group([rows], marks, joined.bytes_held)

    def _marks(self, table: TransactionTable) -> bytearray:
        """Number, select and count transactions; return the decoder's mark for each."""
        scan, file, state, report = self._scan, self._scan.file, self._state, self._report
        marks = self._selector.mask(file, scan, table)
        lost = self._salvaging.unmark_lost(table, marks)
        if self._row_filter is not None:
            self._row_filter.keep(file, table, marks, lost)
        self.gtids |= GtidSet(marked_gtids(table, marks))
        if 0 in marks:
            self.left_out |= GtidSet(marked_gtids(table, marks.translate(_LEFT_OUT)))
        # The last transaction has the highest offset.
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
    """Finds the transactions that cannot be decoded.

    Args:
        check: decodes transactions on trial; None if damage is not salvaged, and then nothing is left out.
        forget: called if statements that define tables may have been lost, so that no table definition can be
            trusted from there on.
    """

    def __init__(self, scan: Scan, check: DecodingCheck | None, forget: Callable[[], None]) -> None:
        self._scan = scan
        self._check = check
        self._forget = forget
        self._damages = 0
        self._damage: list[dict[str, Any]] = []

    def undecodable(self, table: TransactionTable, marks: bytearray) -> dict[int, BinxError]:
        """Return the errors of marked transactions that cannot be decoded, by index."""
        if self._check is None:
            return {}
        self.forget_after_damage()
        errors = self._check.undecodable(table, marks)
        if any(table.value("statements", index) for index in errors):
            self._forget_tables()
        return errors

    def unmark_lost(self, table: TransactionTable, mask: bytearray) -> dict[int, int]:
        """Deselect transactions that cannot be decoded; return, by index, the mark to count them under."""
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

    def forget_after_damage(self) -> None:
        """Forget tables if the scan has skipped damage since the last call."""
        if len(self._scan.damage) > self._damages:
            self._forget_tables()

    def damage(self) -> list[dict[str, Any]]:
        """Return everything skipped or left out, in log order, for the manifest."""
        scanned = [
            _record(
                damage.start, damage.end, damage.offset, damage.cause.value,
                str(damage.lost) if damage.lost else damage.gtid, damage.transactions, damage.message,
            )
            for damage in self._scan.damage
        ]  # fmt: skip
        return sorted(self._damage + scanned, key=lambda entry: entry["start"])

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
    """Return the manifest's entry for a damaged range."""
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
    """Return the manifest's sentences about damage, for its losses."""
    sentences = []
    for entry in damage:
        gtid = "" if entry["gtid"] is None else f" (transaction {entry['gtid']})"
        sentences.append(
            f"bytes {entry['start']:,} to {entry['end']:,}{gtid} could not be read and are left out, at"
            f" least {counted(entry['transactions'], 'transaction')}: {entry['message']}"
        )
    return sentences
