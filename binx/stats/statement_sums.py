"""Sums by statement, for statements logged as text and for those whose rows are logged."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator
from contextlib import suppress

from binx.errors import UnsupportedError
from binx.event.format import Flavour, FormatDescription
from binx.event.header import HEADER_SIZE, EventHeader, EventType
from binx.event.parsers import Event, UnknownEvent, parse_event
from binx.event.query_event import ExecuteLoadQuery, Query
from binx.event.rows_events import PLAIN_TYPES, ROWS_KINDS, RowsFlag, RowsKind, plain_rows_event
from binx.event.statement import RowsQuery
from binx.event.statement_digest import digest_of, digest_text
from binx.kernels.rows.layouts import RowCounter
from binx.log.selection.times import MICROSECONDS
from binx.log.transaction_events import RawEvent, raw_events
from binx.rows.ddl.parse import first_word
from binx.slices.search import Selected
from binx.source.log_names import printable
from binx.stats.dimensions import STATEMENT_MEASURES

_TEXTS = frozenset(
    {
        EventType.QUERY,
        EventType.EXECUTE_LOAD_QUERY,
        EventType.ROWS_QUERY,
        EventType.MARIADB_ANNOTATE_ROWS,
        EventType.MARIADB_QUERY_COMPRESSED,
    }
)
_PRECEDING = frozenset(
    {
        EventType.INTVAR,
        EventType.RAND,
        EventType.USER_VAR,
        EventType.BEGIN_LOAD_QUERY,
        EventType.APPEND_BLOCK,
    }
)
"""Events that precede a statement and belong to it."""

_MARKERS = frozenset({"begin", "commit", "rollback", "savepoint", "release", "xa", "start"})
_SHOWN_CHARACTERS = 2_000
_KNOWN_TEXTS = 10_000
_KNOWN_CHARACTERS = 2_000
_DIGESTS_AT_ONCE = 65_536
"""Maximum number of digests kept for one transaction."""

_SIX_BYTE_IDS = 8
_SHORT_POST_HEADER = 6
_CHANGES = {RowsKind.INSERT: 2, RowsKind.UPDATE: 3, RowsKind.DELETE: 4}
_BYTES, _ROWS, _STATEMENTS, _SECONDS = 0, 1, 5, 6
_NO_TEXT = -1


class StatementSums:
    """Sums of statements, by transaction and digest.

    Attributes:
        complete: False if a transaction had more digests than are kept, and is counted several times.
    """

    def __init__(self) -> None:
        self.complete = True
        self._numbers: dict[str, int] = {}
        self._digests: dict[int, tuple[str, str]] = {}
        self._known: dict[str, int] = {}
        self._next = 0

    def digest(self, number: int) -> tuple[str | None, str | None]:
        """Return a statement's normalized text, truncated if long, and its hash; None without a text."""
        return self._digests.get(number, (None, None))

    def keep(self, numbers: Container[int]) -> None:
        """Forget all other digests."""
        self._digests = {number: digest for number, digest in self._digests.items() if number in numbers}
        self._numbers = {digest: number for number, (_, digest) in self._digests.items()}
        self._known.clear()

    def of(self, part: Selected) -> tuple[array[int], array[int], list[array[int]]]:
        """Return the sums of the marked transactions.

        Returns:
            The indexes of the transactions, the numbers of digests, and a sum for each of STATEMENT_MEASURES
            after the number of transactions.
        """
        indexes, numbers = array("q"), array("q")
        sums = [array("q") for _ in STATEMENT_MEASURES[1:]]
        for index in part.table.marked(part.mask):
            transaction = _OpenTransaction(self, part, index)
            for by_number in transaction.read():
                for number, figures in by_number.items():
                    indexes.append(index)
                    numbers.append(number)
                    for column, figure in zip(sums, figures, strict=True):
                        column.append(figure)
        return indexes, numbers, sums

    def number(self, text: str) -> int:
        """Return the number of a text's digest."""
        number = self._known.get(text)
        if number is None:
            form = digest_text(text)
            digest = digest_of(form)
            number = self._numbers.get(digest)
            if number is None:
                number = self._numbers[digest] = self._next
                self._digests[number] = printable(form[:_SHOWN_CHARACTERS]), digest
                self._next += 1
            if len(text) <= _KNOWN_CHARACTERS:
                if len(self._known) >= _KNOWN_TEXTS:
                    self._known.clear()
                self._known[text] = number
        return number


class _OpenTransaction:
    """One transaction: a statement is open from its text or its first table map up to its last rows."""

    def __init__(self, sums: StatementSums, part: Selected, index: int) -> None:
        self._sums = sums
        value = part.table.value
        committed = value("original_commit_timestamp", index) or value("commit_timestamp", index)
        self._committed = committed // MICROSECONDS
        self._events = raw_events(
            part.scan.file, value("start", index), value("end", index), part.table.format, _with_text
        )
        self._counter: RowCounter | None = None
        self._format = part.table.format
        self._by_number: dict[int, list[int]] = {}
        self._open: list[int] | None = None
        self._timed: list[int] | None = None
        self._started = 0
        self._preceding_bytes = 0

    def read(self) -> Iterator[dict[int, list[int]]]:
        """Yield the sums by digest, mostly all at once."""
        for raw in self._events:
            self._take(raw)
            if len(self._by_number) >= _DIGESTS_AT_ONCE and self._open is None:
                self._sums.complete = False
                self._end_time(raw.header.timestamp)
                yield self._by_number
                self._by_number = {}
        self._end_time(self._committed)
        yield self._by_number

    def _take(self, raw: RawEvent) -> None:
        kind, size = raw.header.type, raw.header.size
        if isinstance(raw.event, FormatDescription):
            self._format = raw.event
        elif isinstance(raw.event, RowsQuery):
            self._begin(self._sums.number(raw.event.text), raw)
        elif isinstance(raw.event, Query | ExecuteLoadQuery):
            query = raw.event.query if isinstance(raw.event, ExecuteLoadQuery) else raw.event
            if first_word(query.text) not in _MARKERS:
                sums = self._begin(self._sums.number(query.text), raw)
                sums[_BYTES] += self._preceding_bytes
                sums[_SECONDS] += query.execution_time
                self._open = self._timed = None
            self._preceding_bytes = 0
        elif kind in _PRECEDING:
            self._preceding_bytes += size
        elif kind == EventType.TABLE_MAP:
            (self._open or self._begin(_NO_TEXT, raw, 0))[_BYTES] += size
            self._see(raw)
        elif kind in ROWS_KINDS:
            self._take_rows(raw, self._open or self._begin(_NO_TEXT, raw, 0))

    def _begin(self, number: int, raw: RawEvent, size: int | None = None) -> list[int]:
        """Open a statement; the previous one has ended."""
        self._end_time(raw.header.timestamp)
        sums = self._by_number.setdefault(number, [0] * (len(STATEMENT_MEASURES) - 1))
        sums[_STATEMENTS] += 1
        sums[_BYTES] += raw.header.size if size is None else size
        self._open = self._timed = sums
        self._started = raw.header.timestamp
        return sums

    def _end_time(self, second: int) -> None:
        if self._timed is not None:
            self._timed[_SECONDS] += max(second - self._started, 0)
            self._timed = None

    def _see(self, raw: RawEvent) -> None:
        if self._counter is None:
            self._counter = RowCounter(self._format.flavour is Flavour.MARIADB, lambda _: None)
        self._counter.see(raw.body, self._id_bytes(EventType.TABLE_MAP), raw.header.position + HEADER_SIZE)

    def _id_bytes(self, kind: int) -> int:
        return 4 if self._format.post_header_length(kind, _SIX_BYTE_IDS) == _SHORT_POST_HEADER else 6

    def _take_rows(self, raw: RawEvent, sums: list[int]) -> None:
        sums[_BYTES] += raw.header.size
        kind, body = raw.header.type, raw.body
        is_last = body[self._id_bytes(kind)] & RowsFlag.STATEMENT_END
        if kind in PLAIN_TYPES:
            body = memoryview(plain_rows_event(raw.body, raw.header, self._format))[HEADER_SIZE:]
        rows = 0
        if self._counter is not None:
            # Rows with columns of unknown types cannot be counted; a warning names their tables.
            with suppress(UnsupportedError):
                plain = int(PLAIN_TYPES.get(EventType(kind), kind))
                length = self._format.post_header_length(plain, _SIX_BYTE_IDS)
                rows = self._counter.count(body, plain, length, raw.header.position + HEADER_SIZE)
        sums[_ROWS] += rows
        sums[_CHANGES[ROWS_KINDS[kind]]] += rows
        if is_last:
            self._open = None


def _with_text(body: memoryview, header: EventHeader, description: FormatDescription) -> Event:
    """Parse events with a statement's text; of others only the header is read."""
    return parse_event(body, header, description) if header.type in _TEXTS else UnknownEvent(header.type, b"")
