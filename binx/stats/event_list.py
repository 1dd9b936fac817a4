"""Every event of the logs as lines, a piece of a log at a time: for ``events``.

This is for looking at what is wrong with a file, so a wrong checksum or an event where none of its sort can
stand is noted and passed over; only a size that no event can have ends the listing of a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from fnmatch import fnmatchcase
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from binx.errors import BinxError, ChecksumError, DamagedError, TruncatedError, UsageError
from binx.event.format import MAGIC_SIZE, parse_format, verify_format_checksum
from binx.event.header import EventFlag, EventType, event_name, parse_header
from binx.event.payload import told_of, whole_events
from binx.kernels.walk.inspection import EventChecksum, EventStop, EventWalk
from binx.log.boundary import compiled
from binx.log.damage.event_search import EventSearch
from binx.log.damage.on_damage import OnDamage
from binx.log.file import BinlogFile
from binx.log.payloads import stored_payload, sums
from binx.log.selection.zones import zone_offset
from binx.source import READ_BYTES
from binx.source.names import printable
from binx.source.wording import encoded
from binx.stats.text import safe_text

if TYPE_CHECKING:
    from binx.kernels.walk.inspection import EventFields

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
_COMPILED = compiled()
_EPOCH = datetime(1970, 1, 1)
_LINES = 65_536
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
        walk: EventWalk | None = None
        for place in range(self._begin(), self._last + 1):
            # Of a log before the first one only the transaction matters that goes on.
            size = self._files[place].own_size
            start = size if place < self._first else self._start if place == self._first else 0
            stop = size if place != self._last or self._stop is None else min(self._stop, size)
            walk = yield from self._of_file(place, walk, start, stop)
            if self._left == 0:
                return

    def _begin(self) -> int:
        """The place of the log in which the transaction begins inside which the first one does."""
        place = self._first
        while place and self._files[place].resumption is not None:
            place -= 1
        return place

    def _of_file(
        self, place: int, before: EventWalk | None, start: int, stop: int
    ) -> Generator[bytes, None, EventWalk | None]:
        """List a file; gives the walk that goes on in the next one, None where the next begins anew."""
        file = self._files[place]
        following = self._files[place + 1 : place + 2]
        goes_on = bool(following) and following[0].resumption is not None
        position: int | None = MAGIC_SIZE
        while position is not None:
            size = file.own_size
            if before is None:
                walk = EventWalk(size, position, _COMPILED, self._wanted, self._verify, self._inner, start)
            else:
                walk, before = before, None
                walk.go_on(size, position, start)
            walk.set_format(file.format.checksum_size, file.format.post_header_lengths)
            try:
                yield from self._followed(file, walk, stop, goes_on=goes_on)
                self._note_problems(file, walk)
                return walk if goes_on else None
            except BinxError as error:
                if len(walk):
                    yield self._take(file, walk)
                self._note_problems(file, walk)
                position = self._behind_damage(file, walk.position, error.at(path=file.path))
                if position is None:
                    raise
        return None

    def _behind_damage(self, file: BinlogFile, damaged: int, error: BinxError) -> int | None:
        """Where the next event is, which is told; None where damage ends the listing."""
        if self._on_damage is OnDamage.STOP:
            return None
        found = _next_event(file, damaged + 1)
        end = file.own_size if found is None else found
        passed_over = f"; bytes {damaged:,} to {end:,} are passed over" if damaged < end else ""
        self.problems.append(f"{error}{passed_over}")
        return end

    def _followed(self, file: BinlogFile, walk: EventWalk, stop: int, *, goes_on: bool) -> Iterator[bytes]:
        follower = _Follower(file, walk, verify=self._verify)
        for _ in follower.pieces(stop):
            if len(walk) >= _LINES or (self._left is not None and len(walk) >= self._left):
                yield self._take(file, walk)
            if self._left == 0:
                break
        yield self._take(file, walk)
        if self._left != 0:
            _check_end(file, walk, truncated=follower.truncated, goes_on=goes_on)

    def _take(self, file: BinlogFile, walk: EventWalk) -> bytes:
        count = len(walk) if self._left is None else min(self._left, len(walk))
        name = printable(file.name) if self._json else safe_text(file.name)
        line = self._json_line if self._json else self._plain_line
        text = "".join([line(name, fields) for fields in walk.taken(count)])
        if self._left is not None:
            self._left -= count
        return encoded(text)

    def _note_problems(self, file: BinlogFile, walk: EventWalk) -> None:
        if walk.bad_checksums:
            self.problems.append(
                f"{file.path}: events with wrong checksums: {walk.bad_checksums:,}, the first at"
                f" {walk.first_bad}"
            )
        if walk.unexpected:
            self.problems.append(
                f"{file.path}: events that cannot be read or are not valid at their place:"
                f" {walk.unexpected:,}, the first at {walk.first_unexpected}"
            )

    def _plain_line(self, name: str, fields: EventFields) -> str:
        position, inner, kind, size, _, server, second, flags, checksum, transaction, gtid, _ = fields
        place, end = (position, position + size) if inner is None else (f"{position}+{inner}", "-")
        return (
            f"{name}\t{place}\t{_type_name(kind).replace(' ', '_')}\t{size}\t{end}\t{server}"
            f"\t{self._second_text(second)}\t{','.join(flag_names(flags)) or '-'}\t{_CHECKSUMS[checksum]}"
            f"\t{'-' if transaction is None else transaction}\t{gtid or '-'}\n"
        )

    def _json_line(self, name: str, fields: EventFields) -> str:
        position, inner, kind, size, written, server, second, flags, checksum, *rest = fields
        end = position + size if inner is None else None
        place = (position, inner, _type_name(kind), size, end, written, server, self._second_text(second))
        values = (name, *place, flag_names(flags), _CHECKSUMS[checksum], *rest)
        return json.dumps(dict(zip(EVENT_COLUMNS, values, strict=True)), ensure_ascii=False) + "\n"


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


def _check_end(file: BinlogFile, walk: EventWalk, *, truncated: bool, goes_on: bool) -> None:
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
        begun = f"at {walk.open_transaction}" if walk.open_transaction >= 0 else "of the log before it"
        raise TruncatedError(
            f"the file ends inside the transaction {begun}; the file was truncated,"
            " or copied while it was written, or it is a relay log and the next one has the rest: give"
            " both",
            path=file.path,
            offset=walk.position,
        )


class _Follower:
    """Feeds a walk with windows of its file, and does what needs Python on the way."""

    def __init__(self, file: BinlogFile, walk: EventWalk, *, verify: bool) -> None:
        self.truncated = False
        self._file = file
        self._walk = walk
        self._verify = verify
        self._format = file.format

    def pieces(self, limit: int) -> Iterator[None]:
        """Walk up to ``limit``; yields whenever some records may have been kept."""
        walk, file = self._walk, self._file
        while walk.position < limit:
            origin = walk.position
            window = file.source.window(origin, min(origin + READ_BYTES, file.own_size))
            stop: int = walk.feed(window, origin, limit)
            if stop == EventStop.EVENTS_LIMIT and walk.position == origin:
                # An event that is larger than what is read at once; a payload is taken by its beginning.
                del window
                window = file.events_window(origin, file.own_size)
                header = parse_header(window, origin, origin=origin)
                if header.type == EventType.TRANSACTION_PAYLOAD:
                    checked = self._verify and self._format.checksum_size
                    walk.vouch(*(sums(file.source, header) if checked else (0, 0)))
                stop = walk.feed(window, origin, limit)
            while stop in (EventStop.EVENTS_FORMAT, EventStop.EVENTS_PAYLOAD):
                if stop == EventStop.EVENTS_FORMAT:
                    self._take_format()
                else:
                    yield from self._take_payload(window, origin)
                if walk.position >= origin + len(window):
                    break
                stop = walk.feed(window, origin, limit)
            yield
            file.source.release(origin, walk.position)
            if stop in (EventStop.EVENTS_END, EventStop.EVENTS_TRUNCATED):
                self.truncated = stop == EventStop.EVENTS_TRUNCATED
                return

    def _take_format(self) -> None:
        """A relay log holds the source's format description behind its own."""
        walk, file = self._walk, self._file
        position = walk.position
        window = file.events_window(position, file.own_size)
        self._format = parse_format(window, position, origin=position)
        event = window[: parse_header(window, position, origin=position).size]
        checksum = EventChecksum.CHECKSUM_NONE
        if self._format.has_checksum_field:
            checksum = EventChecksum.CHECKSUM_UNVERIFIED
        if checksum and self._verify:
            try:
                verify_format_checksum(event, self._format)
                checksum = EventChecksum.CHECKSUM_OK
            except ChecksumError:
                checksum = EventChecksum.CHECKSUM_BAD
        walk.set_format(self._format.checksum_size, self._format.post_header_lengths)
        walk.take_format(event, checksum)

    def _take_payload(self, window: memoryview, origin: int) -> Iterator[None]:
        """The events within the payload that the walk has passed, which a window holds."""
        position = self._walk.payload_position
        header = parse_header(window, position, origin=origin)
        payload = stored_payload(self._file.source, header, window, origin, self._format)
        for events in whole_events(payload):
            with told_of(payload.position):
                self._walk.feed_inner(events)
            yield
