"""Transactions one by one, as ``ls`` shows them: in the order of the log, or sorted.

Names and meanings are those of the data set's ``transactions``. What the scan's level does not tell is None:
without a look at the rows there are no ``rows`` and ``tables``.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from binx.errors import BinxError, UsageError
from binx.kernels.scan import Level
from binx.kernels.tally import Measure, rank
from binx.kernels.transactions import (
    FLAG_BY_LENGTH,
    FLAG_COMMIT_TIME_FROM_GTID,
    FLAG_COMPRESSED,
    FLAG_HAS_CLOCK,
    FLAG_HAS_COUNTS,
    FLAG_HAS_THREAD,
    FLAG_HAS_XID,
    Kind,
    TransactionTable,
)
from binx.log.chain import epochs
from binx.log.file import BinlogFile, Scan
from binx.log.identifiers import transaction_id
from binx.log.moments import format_time
from binx.log.selection import Selection, Selector, required_level

MICROSECONDS = 1_000_000
KIND_NAMES = tuple(kind.name.removeprefix("KIND_").lower() for kind in Kind)
"""What a transaction's kind is called, by its number."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_LATEST = 253_402_300_799_999_999
_UNSIGNED = 1 << 64


class TableChanges(NamedTuple):
    """What a transaction did to one table, in rows."""

    db: str
    table: str
    inserts: int
    updates: int
    deletes: int


class ListedTransaction(NamedTuple):
    """One transaction; a tuple, because there may be a million of them.

    Attributes:
        commit_version: the SCN; None behind 4 GiB, where there is none.
        transaction: the GTID, or where there is none the UUID that stands for it.
        gtid: None where there is none.
        xid: the storage engine's number of the commit.
        server_id: of the server that made the change first.
        epoch: how many logs of the chain, up to this one, began with their server's start.
        seqno: the transaction's number in the chain, from 0.
        kind: see KIND_NAMES.
        how: ``length`` or ``boundary``: what told its end.
        file: the log's name.
        start: offset of its first byte.
        end: offset behind its last byte.
        bytes: in the file.
        uncompressed_bytes: of a compressed transaction's payload.
        commit_timestamp: µs since 1970.
        commit_time_source: ``gtid_event`` or ``terminal_event``.
        original_commit_timestamp: on the server that made the change first, µs since 1970, where logged.
        begin_timestamp: when the first statement began, µs since 1970, in whole seconds.
        last_committed: the logical clock's value that it depends on.
        sequence_number: its own value of the logical clock.
        thread_id: the connection.
        events: how many.
        rows: row changes.
        statements: statements as text.
        tables: what it did to which table.
    """

    commit_version: int | None
    transaction: str
    gtid: str | None
    xid: int | None
    server_id: int
    epoch: int
    seqno: int
    kind: str
    how: str
    file: str
    start: int
    end: int
    bytes: int
    uncompressed_bytes: int | None
    commit_timestamp: int
    commit_time_source: str
    original_commit_timestamp: int | None
    begin_timestamp: int
    last_committed: int | None
    sequence_number: int | None
    thread_id: int | None
    events: int | None
    rows: int | None
    statements: int | None
    tables: tuple[TableChanges, ...] | None

    @property
    def duration(self) -> int:
        """µs from the start of the first statement to the commit on its first server; up to a second long."""
        committed = self.original_commit_timestamp or self.commit_timestamp
        return max(committed - self.begin_timestamp, 0)

    def as_dict(self) -> dict[str, object]:
        """What JSON says of it: times in RFC 3339, everything else as it is."""
        document: dict[str, object] = dict(zip(self._fields, self, strict=True))
        original = self.original_commit_timestamp
        document["commit_timestamp"] = moment_json(self.commit_timestamp)
        document["original_commit_timestamp"] = None if original is None else moment_json(original)
        document["begin_timestamp"] = moment_json(self.begin_timestamp)
        if self.tables is not None:
            document["tables"] = [change._asdict() for change in self.tables]
        return document

    def to_json(self) -> str:
        """One JSON object, on one line."""
        return _ENCODER.encode(self.as_dict())


class Order(Enum):
    """What a listing is sorted by."""

    LOG = "log"
    """As the transactions stand in the logs."""
    BYTES = "bytes"
    ROWS = "rows"
    TIME = "time"
    """Commit time, the earliest first; all others begin with the largest."""
    DURATION = "duration"


_MEASURES = {
    Order.BYTES: Measure.MEASURE_BYTES,
    Order.ROWS: Measure.MEASURE_ROWS,
    Order.TIME: Measure.MEASURE_COMMIT_TIME,
    Order.DURATION: Measure.MEASURE_DURATION,
}


def moment_json(moment: int) -> str | int:
    """A moment in RFC 3339; a damaged file's that no calendar has stays a number, in µs since 1970."""
    if not 0 <= moment <= _LATEST:
        return moment
    seconds, microseconds = divmod(moment, MICROSECONDS)
    fraction = f".{microseconds:06d}" if microseconds else ""
    return f"{_second_json(seconds)}{fraction}Z"


@lru_cache(maxsize=1024)
def _second_json(seconds: int) -> str:
    """A whole second without its zone; transactions come in the order of time, so that most ask again."""
    return format_time(seconds * MICROSECONDS).removesuffix("Z")


def list_transactions(
    files: Sequence[BinlogFile],
    *,
    selection: Selection | None = None,
    order: Order = Order.LOG,
    reverse: bool = False,
    limit: int | None = None,
    quick: bool = False,
    verify: bool = True,
) -> Iterator[ListedTransaction]:
    """The transactions of a chain of logs.

    With an order and a limit the memory is bounded; with an order alone it grows by some 200 bytes a
    transaction. Of equals, those that stand earlier in the logs come first.

    Args:
        files: the logs in their order, as :func:`binx.log.chain.order_files` gives it.
        selection: which transactions; its limit counts before the order does.
        order: what they are sorted by.
        reverse: begin with the smallest, or with the latest; cannot go with ``Order.LOG``.
        limit: how many at most.
        quick: read the index alone, so that rows and tables stay unknown.
        verify: whether checksums are compared.

    Raises:
        UsageError: the request contradicts itself.
        DamagedError, UnsupportedError: after all that could be read.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"expected a limit of at least 1 transaction, found {limit}")
    if order is Order.LOG and reverse:
        raise UsageError("expected an order to reverse, such as time or bytes, found none")
    if order is Order.ROWS and quick:
        raise UsageError("expected a full scan to sort by rows, found a quick one, which does not know them")
    level = Level.LEVEL_INDEX if quick else Level.LEVEL_TABLES
    pages = _pages(files, selection or Selection(), level, verify=verify)
    if order is Order.LOG:
        return _in_log_order(pages, limit)
    ranking = _Ranking(_MEASURES[order], smallest=(order is Order.TIME) != reverse)
    return ranking.best(pages, limit) if limit is not None else ranking.all(pages)


class Page:
    """A table of a scan's transactions, with what is needed to describe them.

    Args:
        file: the log.
        scan: its scan.
        table: the transactions.
        epoch: the log's epoch.
        first_seqno: the number in the chain of the table's first transaction.
        mask: the transactions that are wanted, one byte each; None for all.
    """

    def __init__(
        self,
        file: BinlogFile,
        scan: Scan,
        table: TransactionTable,
        epoch: int,
        first_seqno: int,
        *,
        mask: bytearray | None = None,
    ) -> None:
        self.file = file
        self.scan = scan
        self.table = table
        self.epoch = epoch
        self.first_seqno = first_seqno
        self.mask = mask
        self._base = file.commit_version(0)

    def indexes(self) -> Iterable[int]:
        """The wanted transactions' places in the table."""
        return range(len(self.table)) if self.mask is None else self.table.marked(self.mask)

    def describe(self, index: int) -> ListedTransaction:
        """One transaction."""
        table = self.table
        value = table.value
        flags = value("flags", index)
        counted = flags & FLAG_HAS_COUNTS
        events = value("events", index)
        # A compressed transaction's own events are seen only by a scan that looks inside.
        walked = events > 0 and (counted or not flags & FLAG_COMPRESSED)
        clocked = flags & FLAG_HAS_CLOCK
        start = value("start", index)
        gtid = table.gtid(index)
        return ListedTransaction(
            commit_version=self._base | start if start >> 32 == 0 else None,
            transaction=transaction_id(self.file, table, index) if gtid is None else gtid,
            gtid=gtid,
            xid=value("xid", index) % _UNSIGNED if flags & FLAG_HAS_XID else None,
            server_id=value("server_id", index),
            epoch=self.epoch,
            seqno=self.first_seqno + index,
            kind=KIND_NAMES[value("kind", index)],
            how="length" if flags & FLAG_BY_LENGTH else "boundary",
            file=self.file.name,
            start=start,
            end=value("end", index),
            bytes=value("bytes", index),
            uncompressed_bytes=value("uncompressed_bytes", index) if flags & FLAG_COMPRESSED else None,
            commit_timestamp=value("commit_timestamp", index),
            commit_time_source="gtid_event" if flags & FLAG_COMMIT_TIME_FROM_GTID else "terminal_event",
            original_commit_timestamp=value("original_commit_timestamp", index) or None,
            begin_timestamp=value("begin_timestamp", index) * MICROSECONDS,
            last_committed=value("last_committed", index) if clocked else None,
            sequence_number=value("sequence_number", index) if clocked else None,
            thread_id=value("thread_id", index) if flags & FLAG_HAS_THREAD else None,
            events=events if walked else None,
            rows=value("rows", index) if counted else None,
            statements=value("statements", index) if walked else None,
            tables=self._tables(index) if counted else None,
        )

    def _tables(self, index: int) -> tuple[TableChanges, ...]:
        return tuple(
            TableChanges(*self.scan.table_name(number), inserts, updates, deletes)
            for number, inserts, updates, deletes, _ in self.table.counts_of(index)
        )


def _pages(
    files: Sequence[BinlogFile], selection: Selection, level: Level, *, verify: bool
) -> Iterator[Page]:
    selector = Selector(selection, [file.name for file in files])
    everything = selection.is_everything
    seqno = 0
    for file, epoch in zip(files, epochs(files), strict=True):
        scan = file.scan(max(level, required_level(selection)), verify=verify)
        for table in scan:
            mask = None if everything else selector.mask(file, scan, table)
            yield Page(file, scan, table, epoch, seqno, mask=mask)
            seqno += len(table)
            if not everything and selector.complete:
                return


def _in_log_order(pages: Iterator[Page], limit: int | None) -> Iterator[ListedTransaction]:
    left = limit
    for page in pages:
        for index in page.indexes():
            yield page.describe(index)
            if left is not None:
                left -= 1
                if left == 0:
                    return


class _Ranking:
    """Puts transactions in order by a measure.

    Args:
        measure: what they are sorted by.
        smallest: whether those with least come first.
    """

    def __init__(self, measure: Measure, *, smallest: bool) -> None:
        self._measure = measure
        self._smallest = smallest

    def best(self, pages: Iterator[Page], limit: int) -> Iterator[ListedTransaction]:
        """The first few, described as soon as they are known to be candidates."""
        kept: list[tuple[int, int, ListedTransaction]] = []
        damage: BinxError | None = None
        try:
            for page in pages:
                floor = self._value(kept[-1][0]) if len(kept) == limit else None
                for value, index in rank(page.table, page.mask, self._measure, self._smallest, limit, floor):
                    kept.append((self._value(value), page.first_seqno + index, page.describe(index)))
                kept.sort(key=lambda item: item[:2])
                del kept[limit:]
        except BinxError as error:
            damage = error
        yield from (transaction for _, _, transaction in kept)
        if damage is not None:
            raise damage

    def all(self, pages: Iterator[Page]) -> Iterator[ListedTransaction]:
        """All of them: each page is sorted by itself, then they are merged."""
        ranked: list[Iterable[tuple[int, int, Page]]] = []
        damage: BinxError | None = None
        try:
            for page in pages:
                found = rank(page.table, page.mask, self._measure, self._smallest, len(page.table))
                ranked.append(self._keyed(page, found))
        except BinxError as error:
            damage = error
        for _, seqno, page in heapq.merge(*ranked, key=lambda item: item[:2]):
            yield page.describe(seqno - page.first_seqno)
        if damage is not None:
            raise damage

    def _keyed(self, page: Page, found: list[tuple[int, int]]) -> Iterator[tuple[int, int, Page]]:
        for value, index in found:
            yield self._value(value), page.first_seqno + index, page

    def _value(self, value: int) -> int:
        """The measure as a key that sorts the first one first, and back."""
        return value if self._smallest else -value


__all__ = [
    "KIND_NAMES",
    "ListedTransaction",
    "Order",
    "Page",
    "TableChanges",
    "list_transactions",
    "moment_json",
]
