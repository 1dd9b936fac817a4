"""Walk a file's events one by one; wrong checksums and positions are recorded, and the walk continues.

Only an impossible event size ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, ChecksumError, DamagedError, TruncatedError, UnsupportedError
from binx.event.format import MAGIC_SIZE, FormatDescription, parse_format, verify_format_checksum
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.event.parsers import parse_event
from binx.event.payload import errors_at_event, whole_events
from binx.kernels.walk.framing import UNREADABLE, EventChecksum, WindowStop, window_events
from binx.kernels.walk.scan import Action, EventClass, Level
from binx.log.binlog_file import BinlogFile
from binx.log.boundary import TRANSITIONS, BoundaryState, Step
from binx.log.damage import EventSearch
from binx.log.scan import Scan
from binx.log.stored_events import stored_payload, sums

if TYPE_CHECKING:
    from binx.kernels.walk.framing import HeaderFields

_NAMING = frozenset({EventClass.CLASS_GTID, EventClass.CLASS_GTID_STANDALONE, EventClass.CLASS_GTID_GROUP})
_STEPS: dict[int, dict[int, Step]] = {state: dict(steps.items()) for state, steps in TRANSITIONS.items()}
_STARTS = (Action.ACTION_START, Action.ACTION_START_END)
_ENDS = (Action.ACTION_END, Action.ACTION_START_END)


class ListedEvent(NamedTuple):
    """An event in a listing.

    Attributes:
        position: its offset; for an event within a payload, the payload's.
        inner: for an event within a payload, its offset there after decompression.
        checksum: the result of its check, an :class:`EventChecksum`.
        start: where its transaction begins; None between transactions, or if that is in another log.
        expected: whether it can be parsed and is valid in its place.
    """

    position: int
    inner: int | None
    type: int
    size: int
    next_position: int
    server_id: int
    timestamp: int
    flags: int
    checksum: int
    start: int | None = None
    gtid: str | None = None
    expected: bool = True


class EventWalk:
    """Assign events to transactions with the boundary state machine, which here continues after faults.

    Attributes:
        position: offset of the next event.
        format: the format description in force there.
        transaction: where the open transaction begins; None if in another log.
        faults: number of faulty events since :meth:`begin`, and the offset of the first.
    """

    format: FormatDescription

    def __init__(self, *, verify: bool, inner: bool) -> None:
        self._verify = verify
        self._inner = inner
        self.reset()

    def begin(self, position: int, description: FormatDescription) -> None:
        """Continue in a file, which may begin inside the transaction in which the previous one ends."""
        self.position = position
        self.format = description
        self.transaction: int | None = None
        self.faults: dict[str, tuple[int, int]] = {}

    def reset(self) -> None:
        """Treat the transaction as ended."""
        self._state = BoundaryState.OUTSIDE
        self.transaction = None
        self._gtid: str | None = None

    @property
    def is_inside(self) -> bool:
        """Whether a transaction is open."""
        return self._state is not BoundaryState.OUTSIDE

    def _note_fault(self, fault: str, position: int) -> None:
        count, first = self.faults.get(fault, (0, position))
        self.faults[fault] = count + 1, first

    def events(self, file: BinlogFile, limit: int, *, goes_on: bool) -> Iterator[ListedEvent]:
        """Yield the events of a file from ``position`` up to ``limit``.

        Args:
            goes_on: whether its last transaction may continue in the next log.
        """
        size = file.own_size
        stop: int = WindowStop.WINDOW_CUTS
        while self.position < limit and stop not in (WindowStop.WINDOW_TRUNCATED, WindowStop.WINDOW_END):
            origin = self.position
            window = file.events_window(origin, size)
            events, stop = window_events(
                *(window, origin, origin, size, self.format.checksum_size, self._verify),
                self.format.post_header_lengths,
            )
            if stop == WindowStop.WINDOW_AT_FORMAT and not events:
                events = [self._format(window, origin)]
            elif stop == WindowStop.WINDOW_CUTS and not events:
                events = [self._large_payload(file, window, origin)]
            for fields in events:
                if self.position >= limit:
                    break
                event = self._take(fields, window, origin)
                yield event
                if event.type == EventType.MARIADB_START_ENCRYPTION:
                    raise UnsupportedError(
                        "the rest of the file is encrypted by MariaDB, headers too; let the server decrypt it"
                        " (mariadb-binlog --read-from-remote-server)",
                        offset=event.position,
                        event="START_ENCRYPTION",
                    )
                if self._inner and event.type == EventType.TRANSACTION_PAYLOAD:
                    yield from self._inner_events(file, event, window, origin)
            file.source.release(origin, self.position)
        _check_end(file, self, truncated=stop == WindowStop.WINDOW_TRUNCATED, goes_on=goes_on)

    def _format(self, window: memoryview, position: int) -> HeaderFields:
        """Process a format description; a relay log has the source's after its own."""
        self.format = parse_format(window, position, origin=position)
        header = parse_header(window, position, origin=position)
        checksum = EventChecksum.CHECKSUM_NONE
        if self.format.has_checksum_field:
            checksum = EventChecksum.CHECKSUM_UNVERIFIED
        if checksum and self._verify:
            try:
                verify_format_checksum(window[: header.size], self.format)
                checksum = EventChecksum.CHECKSUM_OK
            except ChecksumError:
                checksum = EventChecksum.CHECKSUM_BAD
        return _fields(header, checksum, EventClass.CLASS_CONTROL)

    def _large_payload(self, file: BinlogFile, window: memoryview, position: int) -> HeaderFields:
        """Check a payload larger than the read buffer; all of it is read for its checksum."""
        header = parse_header(window, position, origin=position)
        checksum = EventChecksum.CHECKSUM_UNVERIFIED
        if not self.format.checksum_size:
            checksum = EventChecksum.CHECKSUM_NONE
        elif self._verify:
            stored, computed = sums(file.source, header)
            checksum = EventChecksum.CHECKSUM_OK if stored == computed else EventChecksum.CHECKSUM_BAD
        return _fields(header, checksum, EventClass.CLASS_PAYLOAD)

    def _take(self, fields: HeaderFields, window: memoryview, origin: int) -> ListedEvent:
        """Advance over the next event, which is in the window, or over the beginning of a large payload."""
        position, kind, size, written, server, second, flags, checksum, event_class = fields
        if checksum == EventChecksum.CHECKSUM_BAD:
            self._note_fault("events with wrong checksums", position)
        step = _STEPS[self._state].get(event_class)
        expected = step is not None
        if step is None and event_class != UNREADABLE:
            self.reset()
            step = _STEPS[BoundaryState.OUTSIDE].get(event_class)
        if step is not None and step.action in _STARTS:
            self.transaction = position
            if event_class in _NAMING:
                try:
                    self._gtid = _gtid(window, position, origin, self.format)
                except BinxError:
                    self.reset()
                    expected, step = False, None
        transaction, gtid = self.transaction, self._gtid
        if kind == EventType.FORMAT_DESCRIPTION:
            # It belongs to the log, even if the log begins inside a transaction.
            transaction = gtid = None
        if step is not None:
            self._state = step.to
            if step.action in _ENDS:
                self.reset()
        if not expected:
            self._note_fault("events that cannot be read or are not valid at their place", position)
        self.position = position + size
        named = (transaction, gtid, expected)
        return ListedEvent(position, None, kind, size, written, server, second, flags, checksum, *named)

    def _inner_events(
        self, file: BinlogFile, payload: ListedEvent, window: memoryview, origin: int
    ) -> Iterator[ListedEvent]:
        """Yield the events within a payload, whose beginning is in the window."""
        header = parse_header(window, payload.position, origin=origin)
        inner = 0
        for events in whole_events(stored_payload(file.source, header, window, origin, self.format)):
            at = 0
            while at < len(events):
                with errors_at_event(payload.position):
                    header = parse_header(events, at)
                yield ListedEvent(
                    payload.position,
                    inner,
                    header.type,
                    header.size,
                    header.next_position,
                    header.server_id,
                    header.timestamp,
                    int(header.flags),
                    EventChecksum.CHECKSUM_NONE,
                    payload.start,
                    payload.gtid,
                )
                at += header.size
                inner += header.size


def _fields(header: EventHeader, checksum: EventChecksum, event_class: int) -> HeaderFields:
    """Return an event in the form that the kernel gives for those of a window."""
    numbers = (header.size, header.next_position, header.server_id, header.timestamp, int(header.flags))
    return header.position, header.type, *numbers, checksum, event_class


def _gtid(window: memoryview, position: int, origin: int, description: FormatDescription) -> str | None:
    """Return the GTID that an event assigns to its transaction; None for ANONYMOUS_GTID."""
    header = parse_header(window, position, origin=origin)
    at = position - origin
    body = window[at + HEADER_SIZE : at + header.size - description.checksum_size]
    event = parse_event(body, header, description)
    return None if header.type == EventType.ANONYMOUS_GTID else str(event)


def last_transaction(file: BinlogFile, offset: int) -> tuple[int, FormatDescription]:
    """Return where the last transaction before an offset begins, and its format description.

    Without one it is the first event; after damage, the last transaction before that.
    """
    begin, description = MAGIC_SIZE, file.format
    scan = Scan(file, Level.LEVEL_INDEX, verify=False)
    try:
        for table in scan:
            mask = table.mask()
            table.keep_range(mask, "start", 0, offset)
            before = table.marked(mask)
            if before:
                begin, description = table.value("start", before[-1]), table.format
            if len(before) < len(table):
                break
    except BinxError:
        pass  # The listing reaches it.
    return begin, description


def next_event(file: BinlogFile, position: int, checksum_size: int) -> int | None:
    """Return the offset of the file's next event at or after a position."""
    offset = EventSearch(file.source).find(position, 0, checksum_size)
    return None if offset is None or offset >= file.own_size else offset


def _check_end(file: BinlogFile, walk: EventWalk, *, truncated: bool, goes_on: bool) -> None:
    """Check that a fully walked log that no server is writing ends after a transaction.

    The last transaction of a relay log may continue in the next one.
    """
    if truncated and (follows := next_event(file, walk.position + 1, walk.format.checksum_size)) is not None:
        raise DamagedError(
            f"expected an event that ends within the file, found another one at {follows:,}: its size was"
            " changed",
            path=file.path,
            offset=walk.position,
        )
    if file.format.in_use:
        return
    if truncated:
        raise TruncatedError(
            f"the file ends inside an event: its last {file.own_size - walk.position} bytes are incomplete;"
            " the file was truncated, or copied while it was written",
            path=file.path,
            offset=walk.position,
        )
    if walk.position == file.own_size and walk.is_inside and not goes_on:
        begun = "of the log before it" if walk.transaction is None else f"at {walk.transaction}"
        raise TruncatedError(
            f"the file ends inside the transaction {begun}; the file was truncated,"
            " or copied while it was written, or it is a relay log and the next one has the rest: give"
            " both",
            path=file.path,
            offset=walk.position,
        )
