"""One transaction as listings and figures describe it, and the few that have most of something.

Names and meanings are those of the data set's ``transactions``. What the scan's level does not tell is None:
without a look at the rows there are no ``rows`` and ``tables``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from binx.errors import DamagedError, UnsupportedError
from binx.kernels.transactions.selection import Measure, rank
from binx.kernels.transactions.table import (
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
from binx.log.events import first_statement
from binx.log.file import BinlogFile
from binx.log.identifiers import transaction_id
from binx.log.scanning import COMMIT_TIME_SOURCES, HOW_NAMES, KIND_NAMES, TransactionScan
from binx.log.selection.moments import MICROSECONDS, format_time
from binx.source.names import printable

Item = TypeVar("Item")

_LATEST = 253_402_300_799_999_999
_UNSIGNED = 1 << 64
_STATEMENT = 500
"""Characters of a schema statement that are shown, at most."""


class TableChanges(NamedTuple):
    """What a transaction did to one table, in rows."""

    db: str
    table: str
    inserts: int
    updates: int
    deletes: int


class ListedTransaction(NamedTuple):
    """One transaction; a tuple, because there may be a million of them.

    The names are those of the data set's ``transactions`` (``docs/dataset.md``); times are in µs since 1970.

    Attributes:
        commit_version: the SCN; None behind 4 GiB, where there is none.
        seqno: None where files before it were not read.
        statement: of a schema statement the text on one line, where rows were looked at; not in JSON.
    """

    commit_version: int | None
    transaction: str
    gtid: str | None
    xid: int | None
    server_id: int
    epoch: int
    seqno: int | None
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
    statement: str | None = None

    @property
    def duration(self) -> tuple[int, int] | None:
        """µs from the start of the first statement to the commit on its first server, at least and at most.

        The start is logged in whole seconds, and in many logs the commit too. None where the clock went back
        between them.
        """
        committed = self.original_commit_timestamp or self.commit_timestamp
        if self.duration_seconds is None:
            return None
        most = committed - self.begin_timestamp
        if self.commit_time_source != "gtid_event":
            most += MICROSECONDS - 1
        return max(committed - self.begin_timestamp - MICROSECONDS + 1, 0), most

    @property
    def duration_seconds(self) -> int | None:
        """The same by the clock, in whole seconds: what passed may be up to a second more or less."""
        committed = self.original_commit_timestamp or self.commit_timestamp
        seconds = (committed - self.begin_timestamp) // MICROSECONDS
        return seconds if seconds >= 0 else None

    def as_dict(self) -> dict[str, object]:
        """What JSON says of it: times in RFC 3339, everything else as it is."""
        document: dict[str, object] = dict(zip(self._fields, self, strict=True))
        del document["statement"]
        original = self.original_commit_timestamp
        document["commit_timestamp"] = moment_json(self.commit_timestamp)
        document["original_commit_timestamp"] = None if original is None else moment_json(original)
        document["begin_timestamp"] = moment_json(self.begin_timestamp)
        document["file"] = printable(self.file)
        if self.tables is not None:
            document["tables"] = [change._asdict() for change in self.tables]
        return document


def duration_json(one: ListedTransaction) -> list[float] | None:
    """What a transaction's time was at least and at most, in seconds; None where that is not known."""
    return None if one.duration is None else [size / MICROSECONDS for size in one.duration]


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


class Page:
    """A table of a scan's transactions, with what is needed to describe them.

    Args:
        first_seqno: the number in the chain of the table's first transaction.
        mask: the transactions that are wanted, one byte each; None for all.
        numbered: whether the number is that in the chain; not so where files before were passed over, and
            the number serves for the order alone.
        unread: takes in what was found damaged by those who read texts, in sentences.
    """

    def __init__(
        self,
        file: BinlogFile,
        scan: TransactionScan,
        table: TransactionTable,
        epoch: int,
        first_seqno: int,
        *,
        mask: bytearray | None = None,
        numbered: bool = True,
        unread: list[str] | None = None,
    ) -> None:
        self.file = file
        self.scan = scan
        self.table = table
        self.epoch = epoch
        self.first_seqno = first_seqno
        self.mask = mask
        self.numbered = numbered
        self.unread = [] if unread is None else unread
        self._base = file.commit_version(0)
        self._names: dict[int, tuple[str, str]] = {}

    def indexes(self) -> Sequence[int]:
        """The wanted transactions' places in the table."""
        return range(len(self.table)) if self.mask is None else self.table.marked(self.mask)

    def describe(self, index: int, *, with_text: bool = True) -> ListedTransaction:
        """One transaction.

        Raises:
            SourceError: the text is to be read, and the file cannot be.
        """
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
            seqno=self.first_seqno + index if self.numbered else None,
            kind=KIND_NAMES[value("kind", index)],
            how=HOW_NAMES[bool(flags & FLAG_BY_LENGTH)],
            file=self.file.name,
            start=start,
            end=value("end", index),
            bytes=value("bytes", index),
            uncompressed_bytes=value("uncompressed_bytes", index) if flags & FLAG_COMPRESSED else None,
            commit_timestamp=value("commit_timestamp", index),
            commit_time_source=COMMIT_TIME_SOURCES[bool(flags & FLAG_COMMIT_TIME_FROM_GTID)],
            original_commit_timestamp=value("original_commit_timestamp", index) or None,
            begin_timestamp=value("begin_timestamp", index) * MICROSECONDS,
            last_committed=value("last_committed", index) if clocked else None,
            sequence_number=value("sequence_number", index) if clocked else None,
            thread_id=value("thread_id", index) if flags & FLAG_HAS_THREAD else None,
            events=events if walked else None,
            rows=value("rows", index) if counted else None,
            statements=value("statements", index) if walked else None,
            tables=self._tables(index) if counted else None,
            statement=self.statement_text(start, value("end", index))
            if with_text and counted and value("kind", index) == Kind.KIND_DDL
            else None,
        )

    def statement_text(self, start: int, end: int) -> str:
        """The text of the schema statement at ``[start, end)`` on one line, cut after some characters.

        Empty where an event of it cannot be read, which is noted.

        Raises:
            SourceError: the file cannot be read.
        """
        try:
            text = first_statement(self.file, start, end, self.table.format)
        except (DamagedError, UnsupportedError) as error:
            self.unread.append(f"{error}; the statement is listed without its text")
            return ""
        return " ".join(text.split())[:_STATEMENT]

    def _tables(self, index: int) -> tuple[TableChanges, ...]:
        changes = []
        for number, inserts, updates, deletes, _ in self.table.counts_of(index):
            if number not in self._names:
                self._names[number] = self.scan.table_name(number)
            changes.append(TableChanges(*self._names[number], inserts, updates, deletes))
        return tuple(changes)


class Ranking(Generic[Item]):
    """The few transactions with most (or least) of a measure; of equals, those that come first.

    Args:
        measure: what they are ranked by.
        limit: how many are kept.
        describe: gives for places in a page, which ascend, what is kept of each.
        smallest: whether those with least are wanted.
        floor: take only what goes beyond this value.
    """

    def __init__(
        self,
        measure: Measure,
        limit: int,
        describe: Callable[[Page, Sequence[int]], Sequence[Item]],
        *,
        smallest: bool = False,
        floor: int | None = None,
    ) -> None:
        self._measure = measure
        self._limit = limit
        self._describe = describe
        self._smallest = smallest
        self._floor = floor
        self._kept: list[tuple[int, int, Item]] = []

    def take(self, page: Page) -> None:
        """Look at a page's transactions; those that are candidates are described at once."""
        if len(self._kept) == self._limit and self._kept:
            self._floor = _key(self._kept[-1][0], self._smallest)
        ranked = rank(page.table, page.mask, self._measure, self._smallest, self._limit, self._floor)
        ranked.sort(key=lambda pair: pair[1])
        items = self._describe(page, [index for _, index in ranked])
        for (value, index), item in zip(ranked, items, strict=True):
            self._kept.append((_key(value, self._smallest), page.first_seqno + index, item))
        self._kept.sort(key=lambda kept: kept[:2])
        del self._kept[self._limit :]

    @property
    def items(self) -> tuple[Item, ...]:
        """What is kept of those found so far, the best first."""
        return tuple(item for _, _, item in self._kept)


def described(page: Page, indexes: Sequence[int]) -> list[ListedTransaction]:
    """Some of a page's transactions."""
    return [page.describe(index) for index in indexes]


def described_without_text(page: Page, indexes: Sequence[int]) -> list[ListedTransaction]:
    """The same from the table alone: no event is read, so none can be found damaged."""
    return [page.describe(index, with_text=False) for index in indexes]


def _key(value: int, smallest: bool) -> int:
    """The measure as a key by which the best sorts first, and such a key as the measure."""
    return value if smallest else -value
