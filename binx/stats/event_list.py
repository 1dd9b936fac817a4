"""Every event of the logs as lines, for ``events``.

This is for looking at what is wrong with a file, so a wrong checksum or an event where none of its sort can
stand is noted and passed over; only a size that no event can have ends the listing of a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from fnmatch import fnmatchcase
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, ChecksumError, DamagedError, TruncatedError, UnsupportedError, UsageError
from binx.event.format import MAGIC_SIZE, FormatDescription, parse_format, verify_format_checksum
from binx.event.header import HEADER_SIZE, EventFlag, EventType, event_name, parse_header
from binx.event.parse import parse_event
from binx.event.payload import told_of, whole_events
from binx.kernels.walk.headers import UNREADABLE, EventChecksum, WindowStop, window_events
from binx.kernels.walk.machine import Action, EventClass
from binx.kernels.walk.scan import Level
from binx.log.boundary import TRANSITIONS, State, Step
from binx.log.event_search import EventSearch
from binx.log.file import BinlogFile
from binx.log.payloads import stored_payload, sums
from binx.log.scanning import OnDamage
from binx.log.selection.zones import zone_offset
from binx.source.names import printable
from binx.source.wording import encoded
from binx.stats.text import safe_text

if TYPE_CHECKING:
    from binx.kernels.walk.headers import HeaderFields

EVENT_COLUMNS = (
    *("file", "position", "inner", "type", "size", "end", "next_position", "server_id", "timestamp"),
    *("flags", "checksum", "transaction", "gtid", "expected"),
)
"""What JSON says of an event, in this order."""

PLAIN_EVENT_COLUMNS = (
    *("file", "position", "type", "size", "end", "server_id", "timestamp", "flags", "checksum"),
    *("transaction", "gtid"),
)
"""The fields of a plain line."""

_CHECKSUMS = tuple(one.name.removeprefix("CHECKSUM_").lower() for one in EventChecksum)
_NAMING = frozenset({EventClass.CLASS_GTID, EventClass.CLASS_GTID_STANDALONE, EventClass.CLASS_GTID_GROUP})
_STEPS: dict[int, dict[int, Step]] = {state: dict(steps.items()) for state, steps in TRANSITIONS.items()}
_STARTS = (Action.ACTION_START, Action.ACTION_START_END)
_ENDS = (Action.ACTION_END, Action.ACTION_START_END)
_EPOCH = datetime(1970, 1, 1)
_LINES = 4096
_TYPES = 256
_NUMBER = re.compile(r"\d{1,3}")


def parse_types(text: str) -> frozenset[int]:
    """Read names of event types, in which ``*`` and ``?`` match, or numbers; commas between several.

    Raises:
        UsageError: no event type is called so.
    """
    found: set[int] = set()
    for name in text.split(","):
        pattern = name.strip().upper()
        if _NUMBER.fullmatch(pattern) and int(pattern) < _TYPES:
            found.add(int(pattern))
            continue
        matching = [one for one in EventType if fnmatchcase(one.name, pattern)]
        if not matching:
            raise UsageError(f"expected an event type such as QUERY, '*_ROWS*' or 30, found {name.strip()!r}")
        found.update(matching)
    return frozenset(found)


class ListedEvent(NamedTuple):
    """What is listed of an event.

    Attributes:
        position: its offset; of an event within a payload that of the payload.
        inner: of an event within a payload its offset there, after decompression.
        type: the number of its type.
        size: bytes.
        next_position: the position in its header.
        server_id: of its header.
        timestamp: of its header, in seconds since 1970.
        flags: of its header.
        checksum: what became of it, an :class:`EventChecksum`.
        transaction: where its transaction begins; None between transactions, or where that is in another log.
        gtid: of its transaction.
        expected: whether it can be read, and is valid where it stands.
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
    transaction: int | None
    gtid: str | None
    expected: bool


class EventListing:
    """The events of logs as lines; iterate over :meth:`lines` once.

    Args:
        first: the place of the first that is listed.
        last: the place of the last one; None for the last of all.
        types: the numbers of the event types that are listed; None for all.
        start: of the first one, list no event that ends at or before this offset.
        stop: of the last one, list no event that begins at or behind this offset.
        on_damage: whether the listing goes on behind what cannot be followed.
        as_json: JSON objects; else fields with tabs between.

    Attributes:
        problems: what was found wrong so far, in sentences.
    """

    def __init__(
        self,
        files: Sequence[BinlogFile],
        *,
        first: int = 0,
        last: int | None = None,
        types: frozenset[int] | None = None,
        inner: bool = False,
        start: int = 0,
        stop: int | None = None,
        limit: int | None = None,
        verify: bool = True,
        on_damage: OnDamage = OnDamage.STOP,
        as_json: bool = False,
        zone: tzinfo = UTC,
    ) -> None:
        self.problems: list[str] = []
        self._files = files
        self._first = first
        self._last = len(files) - 1 if last is None else last
        self._wanted = bytes(types is None or number in types for number in range(_TYPES))
        self._inner = inner
        self._start = start
        self._stop = stop
        self._left = limit
        self._verify = verify
        self._on_damage = on_damage
        self._json = as_json
        self._second_text = lru_cache(64)(partial(_second_text, zone))

    def lines(self) -> Iterator[bytes]:
        """The lines, many at a time.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a log's events cannot be followed any further; all
                before were yielded.
        """
        place = self._first
        # The transaction inside which the first log begins.
        while place and self._files[place].resumption is not None:
            place -= 1
        walk = _Walk()
        for number in range(place, self._last + 1):
            # Of a log before the first one only the transaction matters that goes on.
            size = self._files[number].own_size
            start = size if number < self._first else self._start if number == self._first else 0
            stop = size if number != self._last or self._stop is None else min(self._stop, size)
            if self._files[number].resumption is None:
                walk = _Walk()
            yield from self._file_lines(number, walk, start, stop)
            if self._left == 0:
                return

    def _file_lines(self, place: int, walk: _Walk, start: int, stop: int) -> Iterator[bytes]:
        file = self._files[place]
        name = printable(file.name) if self._json else safe_text(file.name)
        line = self._json_line if self._json else self._plain_line
        held: list[str] = []
        begin, description = _before(file, start) if 0 < start < file.own_size else (MAGIC_SIZE, file.format)
        walk.begin(begin)
        while True:
            try:
                for event in self._events(place, walk, stop, description):
                    end = walk.position if event.inner is not None else event.position + event.size
                    if not self._wanted[event.type] or end <= start:
                        continue
                    held.append(line(name, event))
                    if self._left is not None:
                        self._left -= 1
                        if self._left == 0:
                            break
                    if len(held) == _LINES:
                        yield encoded("".join(held))
                        held = []
                yield encoded("".join(held))
                self._note_problems(file, walk)
                return
            except BinxError as error:
                yield encoded("".join(held))
                held = []
                self._note_problems(file, walk)
                found = self._behind_damage(file, walk.position, error.at(path=file.path))
                if found is None:
                    raise
                walk.reset()
                walk.begin(found)
                description = file.format

    def _behind_damage(self, file: BinlogFile, damaged: int, error: BinxError) -> int | None:
        """Where the next event is, which is told; None where damage ends the listing."""
        if self._on_damage is OnDamage.STOP:
            return None
        found = _next_event(file, damaged + 1)
        end = file.own_size if found is None else found
        passed_over = f"; bytes {damaged:,} to {end:,} are passed over" if damaged < end else ""
        self.problems.append(f"{error}{passed_over}")
        return end

    def _events(
        self, place: int, walk: _Walk, limit: int, description: FormatDescription
    ) -> Iterator[ListedEvent]:
        """The events of a file from the walk's position on, up to ``limit``.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: they cannot be followed any further.
        """
        file = self._files[place]
        size = file.own_size
        stop: int = WindowStop.WINDOW_CUTS
        while walk.position < limit and stop not in (WindowStop.WINDOW_TRUNCATED, WindowStop.WINDOW_END):
            origin = walk.position
            window = file.events_window(origin, size)
            found, stop = window_events(
                *(window, origin, origin, size, description.checksum_size, self._verify),
                description.post_header_lengths,
            )
            if stop == WindowStop.WINDOW_AT_FORMAT and not found:
                # A relay log holds the source's format description behind its own.
                event, description = self._format(window, origin)
                walk.position += event.size
                yield event
            elif stop == WindowStop.WINDOW_CUTS and not found:
                found = [self._large_payload(file, window, origin, description)]
            for fields in found:
                if walk.position >= limit:
                    break
                listed = walk.take(fields, window, origin, description)
                yield listed
                if listed.type == EventType.MARIADB_START_ENCRYPTION:
                    raise _encrypted_rest(listed.position)
                if self._inner and listed.type == EventType.TRANSACTION_PAYLOAD:
                    yield from _inner_events(file, listed, window, origin, description)
            file.source.release(origin, walk.position)
        following = self._files[place + 1 : place + 2]
        goes_on = bool(following) and following[0].resumption is not None
        _check_end(file, walk, truncated=stop == WindowStop.WINDOW_TRUNCATED, goes_on=goes_on)

    def _format(self, window: memoryview, position: int) -> tuple[ListedEvent, FormatDescription]:
        """A format description, which belongs to no transaction."""
        description = parse_format(window, position, origin=position)
        header = parse_header(window, position, origin=position)
        checksum = EventChecksum.CHECKSUM_NONE
        if description.has_checksum_field:
            checksum = EventChecksum.CHECKSUM_UNVERIFIED
        if checksum and self._verify:
            try:
                verify_format_checksum(window[: header.size], description)
                checksum = EventChecksum.CHECKSUM_OK
            except ChecksumError:
                checksum = EventChecksum.CHECKSUM_BAD
        numbers = (header.type, header.size, header.next_position, header.server_id, header.timestamp)
        listed = ListedEvent(position, None, *numbers, int(header.flags), checksum, None, None, expected=True)
        return listed, description

    def _large_payload(
        self, file: BinlogFile, window: memoryview, position: int, description: FormatDescription
    ) -> HeaderFields:
        """A payload that is larger than what is read at once; all of it is read for its checksum."""
        header = parse_header(window, position, origin=position)
        checksum = EventChecksum.CHECKSUM_UNVERIFIED
        if not description.checksum_size:
            checksum = EventChecksum.CHECKSUM_NONE
        elif self._verify:
            stored, found = sums(file.source, header)
            checksum = EventChecksum.CHECKSUM_OK if stored == found else EventChecksum.CHECKSUM_BAD
        numbers = (header.size, header.next_position, header.server_id, header.timestamp, int(header.flags))
        return position, header.type, *numbers, checksum, EventClass.CLASS_PAYLOAD

    def _note_problems(self, file: BinlogFile, walk: _Walk) -> None:
        for what, places in (
            ("events with wrong checksums", walk.bad_checksums),
            ("events that cannot be read or are not valid at their place", walk.unexpected),
        ):
            if places.count:
                self.problems.append(f"{file.path}: {what}: {places.count:,}, the first at {places.first}")

    def _plain_line(self, name: str, event: ListedEvent) -> str:
        position, inner, kind, size, _, server, second, flags, checksum, transaction, gtid, _ = event
        place, end = (position, position + size) if inner is None else (f"{position}+{inner}", "-")
        return (
            f"{name}\t{place}\t{_type_name(kind).replace(' ', '_')}\t{size}\t{end}\t{server}"
            f"\t{self._second_text(second)}\t{','.join(flag_names(flags)) or '-'}\t{_CHECKSUMS[checksum]}"
            f"\t{'-' if transaction is None else transaction}\t{gtid or '-'}\n"
        )

    def _json_line(self, name: str, event: ListedEvent) -> str:
        position, inner, kind, size, written, server, second, flags, checksum, *rest = event
        end = position + size if inner is None else None
        place = (position, inner, _type_name(kind), size, end, written, server, self._second_text(second))
        values = (name, *place, flag_names(flags), _CHECKSUMS[checksum], *rest)
        return json.dumps(dict(zip(EVENT_COLUMNS, values, strict=True)), ensure_ascii=False) + "\n"


class _Places:
    """How many events have something wrong, and where the first stands."""

    def __init__(self) -> None:
        self.count = 0
        self.first = -1

    def add(self, position: int) -> None:
        if self.count == 0:
            self.first = position
        self.count += 1


class _Walk:
    """Which transaction each event is of: the state machine of boundaries, which here goes on behind faults.

    Attributes:
        position: offset of the next event.
        transaction: where the transaction begins that is not at its end yet; None where in another log.
    """

    def __init__(self) -> None:
        self.begin(MAGIC_SIZE)
        self.reset()

    def begin(self, position: int) -> None:
        """Go on in a file, which may begin inside the transaction in which the one before ends."""
        self.position = position
        self.transaction: int | None = None
        self.bad_checksums, self.unexpected = _Places(), _Places()

    def reset(self) -> None:
        """Take the transaction to be over."""
        self._state = State.OUTSIDE
        self.transaction = None
        self._gtid: str | None = None

    @property
    def is_inside(self) -> bool:
        """Whether a transaction is not at its end yet."""
        return self._state is not State.OUTSIDE

    def take(
        self, fields: HeaderFields, window: memoryview, origin: int, description: FormatDescription
    ) -> ListedEvent:
        """Go on to the next event, which a window holds, or the beginning of a large payload."""
        position, kind, size, written, server, second, flags, checksum, event_class = fields
        if checksum == EventChecksum.CHECKSUM_BAD:
            self.bad_checksums.add(position)
        step = _STEPS[self._state].get(event_class)
        expected = step is not None
        if step is None and event_class != UNREADABLE:
            self.reset()
            step = _STEPS[State.OUTSIDE].get(event_class)
        if step is not None and step.action in _STARTS:
            self.transaction = position
            if event_class in _NAMING:
                try:
                    self._gtid = _gtid(window, position, origin, description)
                except BinxError:
                    self.reset()
                    expected, step = False, None
        transaction, gtid = self.transaction, self._gtid
        if step is not None:
            self._state = step.to
            if step.action in _ENDS:
                self.reset()
        if not expected:
            self.unexpected.add(position)
        self.position = position + size
        named = (transaction, gtid, expected)
        return ListedEvent(position, None, kind, size, written, server, second, flags, checksum, *named)


def _before(file: BinlogFile, offset: int) -> tuple[int, FormatDescription]:
    """Where the last transaction before an offset begins, and the format description that rules it.

    Without one it is the first event; behind damage, the last transaction before that.
    """
    begin, description = MAGIC_SIZE, file.format
    scan = file.scan(Level.LEVEL_INDEX, verify=False)
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
        pass  # The listing comes to it.
    return begin, description


def _gtid(window: memoryview, position: int, origin: int, description: FormatDescription) -> str | None:
    """The GTID that an event gives to its transaction; None for ANONYMOUS_GTID."""
    header = parse_header(window, position, origin=origin)
    at = position - origin
    body = window[at + HEADER_SIZE : at + header.size - description.checksum_size]
    event = parse_event(body, header, description)
    return None if header.type == EventType.ANONYMOUS_GTID else str(event)


def _inner_events(
    file: BinlogFile, payload: ListedEvent, window: memoryview, origin: int, description: FormatDescription
) -> Iterator[ListedEvent]:
    """The events within a payload, whose beginning a window holds."""
    header = parse_header(window, payload.position, origin=origin)
    stored = stored_payload(file.source, header, window, origin, description)
    inner = 0
    for events in whole_events(stored):
        at = 0
        while at < len(events):
            with told_of(payload.position):
                header = parse_header(events, at)
            yield ListedEvent(
                *(payload.position, inner, header.type, header.size, header.next_position, header.server_id),
                *(header.timestamp, int(header.flags), EventChecksum.CHECKSUM_NONE),
                *(payload.transaction, payload.gtid, True),
            )
            at += header.size
            inner += header.size


def _encrypted_rest(position: int) -> UnsupportedError:
    return UnsupportedError(
        "the rest of the file is encrypted by MariaDB, headers too; let the server decrypt it"
        " (mariadb-binlog --read-from-remote-server)",
        offset=position,
        event="START_ENCRYPTION",
    )


_type_name = cache(event_name)


def _second_text(zone: tzinfo, second: int) -> str:
    ahead, suffix = zone_offset(zone)(second)
    return f"{(_EPOCH + timedelta(seconds=second + ahead)).isoformat()}{suffix.decode()}"


@cache
def flag_names(number: int) -> list[str]:
    """The names of a header's flags; those without one in hexadecimal."""
    names = [str(flag.name) for flag in EventFlag if number & flag]
    rest = number & ~sum(EventFlag)
    return [*names, f"{rest:#06x}"] if rest else names


def _next_event(file: BinlogFile, position: int) -> int | None:
    """The offset of the file's next event at or behind a position."""
    found = EventSearch(file.source).find(position, 0, file.format.checksum_size)
    return None if found is None or found >= file.own_size else found


def _check_end(file: BinlogFile, walk: _Walk, *, truncated: bool, goes_on: bool) -> None:
    """A log that is walked to its end, and that no server writes any more, ends behind a transaction.

    That of a relay log may go on in the next one.
    """
    if truncated and (follows := _next_event(file, walk.position + 1)) is not None:
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
