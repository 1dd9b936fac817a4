"""A transaction's events with the row changes of each.

Events are read from the file, row changes come from the decoder; both are in log order, so each rows event
takes the next row changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from itertools import chain

from binx.errors import DamagedError
from binx.event.format import Flavour, FormatDescription
from binx.event.header import HEADER_SIZE, EventType
from binx.event.payload import errors_at_event
from binx.event.rows_events import RowsHeader, plain_rows_event
from binx.event.table_map import TableMap
from binx.kernels.rows.layouts import RowCounter
from binx.log.transaction_events import RawEvent, raw_events
from binx.rows.columns.schema import Change
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading
from binx.slices.items import Begin, Item, RowTexts
from binx.slices.rendering import MergedChanges

_TYPE_OFFSET = 4
_ROWS_POST_HEADER = 8
_SHORT_POST_HEADER = 6
_TABLE_ID_BYTES, _SHORT_TABLE_ID_BYTES = 6, 4


class EventRows:
    """The row changes of one event; take them before the next event.

    Args:
        count: number of row changes; None if it is not a rows event.
        source: the transaction's row changes, from the event's first one on.
    """

    def __init__(self, count: int | None, source: _TransactionImages) -> None:
        self.count = count
        self._source = source
        self._ordinal = 0

    def text(self, limit: int | None = None) -> Iterator[bytes]:
        """Return the texts of the remaining row changes, or of at most ``limit``, concatenated, in chunks."""
        return chain.from_iterable(
            piece.text(first, last, ordinal) for piece, first, last, ordinal in self._runs(limit)
        )

    def texts(self) -> Iterator[Iterator[bytes]]:
        """Yield each row change as if it were the event's only one, in chunks to take before the next."""
        for piece, first, last, _ in self._runs(None):
            for index in range(first, last):
                yield piece.text(index, index + 1)

    def reach(self) -> Mapping[int, list[Change]]:
        """Decode up to the transaction's next row change.

        Returns:
            What the statements before it did to tables, by the offset of their events.
        """
        self._source.next_run()
        return self._source.statements

    def skip(self) -> None:
        """Skip the remaining row changes."""
        for _ in self._runs(None):
            pass

    def _runs(self, limit: int | None) -> Iterator[tuple[MergedChanges, int, int, int]]:
        left = (self.count or 0) - self._ordinal
        left = left if limit is None else min(left, limit)
        while left:
            piece, first, last = self._source.take(left)
            ordinal = self._ordinal
            self._ordinal += last - first
            left -= last - first
            yield piece, first, last, ordinal


class _TransactionImages:
    """The row changes of a transaction, taken a few at a time."""

    def __init__(self, begin: Begin, items: Iterator[Item]) -> None:
        self._begin = begin
        self._items = items
        self._texts: RowTexts | None = None
        self._at = 0
        self._ended = False
        self.statements: dict[int, list[Change]] = {}

    def take(self, limit: int) -> tuple[MergedChanges, int, int]:
        """Take at most ``limit`` of the next row changes: their piece, and their range in it."""
        texts = self.next_run()
        if texts is None:
            raise self._damaged(f"expected {limit} more rows in the transaction's events, found none")
        first = self._at
        self._at = min(texts.last, first + limit)
        return texts.piece, first, self._at

    def end(self) -> None:
        """Read to the end of the transaction."""
        if self.next_run() is not None:
            raise self._damaged("expected no more rows in the transaction than its events hold, found some")

    def next_run(self) -> RowTexts | None:
        """Return the run that holds the next row change."""
        while not self._ended:
            if self._texts is not None and self._at < self._texts.last:
                return self._texts
            item = next(self._items, None)
            if isinstance(item, RowTexts):
                self._texts, self._at = item, item.first
            elif not isinstance(item, Statement):
                self._ended = True
            elif item.followed is not None and item.followed.changes:
                self.statements[item.position] = item.followed.changes
        return None

    def _damaged(self, message: str) -> DamagedError:
        return DamagedError(message, path=self._begin.file.path, offset=self._begin.facts["start"])


def events_with_rows(
    begin: Begin, items: Iterator[Item], reading: Reading
) -> Iterator[tuple[RawEvent, EventRows]]:
    """Yield the events of one transaction, each with its row changes.

    Raises:
        DamagedError, UnsupportedError: an event cannot be read, or its rows differ from the decoded ones.
    """
    description, facts = begin.table.format, begin.facts
    source = _TransactionImages(begin, items)

    def widths(body: bytes) -> list[int | None] | None:
        # The decoder must have reached the event whose rows are counted.
        source.next_run()
        return reading.of(begin.file).widths.get(body)

    counter = RowCounter(description.flavour is Flavour.MARIADB, widths)
    for raw in raw_events(begin.file, facts["start"], facts["end"], description):
        rows = EventRows(counted_rows(counter, raw, description), source)
        yield raw, rows
        rows.skip()
    source.end()


def counted_rows(counter: RowCounter, raw: RawEvent, description: FormatDescription) -> int | None:
    """Return the number of row changes in an event, which may be compressed; None for other events.

    The counter learns the lengths of column values from table maps.
    """
    header, event = raw.header, raw.event
    position = header.position + HEADER_SIZE
    compressed = isinstance(event, RowsHeader) and event.compressed
    context = nullcontext() if raw.inner is None else errors_at_event(header.position)
    if compressed and raw.inner is None:
        context = errors_at_event(header.position, header.name)
    with context:
        if isinstance(event, TableMap):
            wide = (
                description.post_header_length(EventType.TABLE_MAP, _ROWS_POST_HEADER) != _SHORT_POST_HEADER
            )
            counter.see(raw.body, _TABLE_ID_BYTES if wide else _SHORT_TABLE_ID_BYTES, position)
        if not isinstance(event, RowsHeader):
            return None
        body, number = raw.body, header.type
        if compressed:
            plain = plain_rows_event(raw.body, header, description)
            body, number = memoryview(plain)[HEADER_SIZE:], plain[_TYPE_OFFSET]
        length = description.post_header_length(EventType(number), _ROWS_POST_HEADER)
        return counter.count(body, number, length, position)
