"""Every event of the logs as lines, for ``events``.

This is for examining damaged files, so a wrong checksum or an illegal event is noted and skipped; only an
impossible event size ends a file's listing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from fnmatch import fnmatchcase
from functools import cache, lru_cache

from binx.errors import BinxError, UsageError
from binx.event.format import MAGIC_SIZE
from binx.event.header import EventFlag, EventType, event_name
from binx.kernels.walk.framing import EventChecksum
from binx.log.binlog_file import BinlogFile
from binx.log.event_walk import EventWalk, ListedEvent, last_transaction, next_event
from binx.log.identifiers import anonymous_id
from binx.log.scanning import OnDamage
from binx.log.selection.times import MICROSECONDS, format_in_zone
from binx.report.records import names_of
from binx.source.log_names import printable
from binx.source.wording import encoded
from binx.stats.text import safe_text

_JSON_COLUMNS = names_of("event")

PLAIN_EVENT_COLUMNS = (
    *("file", "position", "event_type", "bytes", "end", "server_id", "event_timestamp", "flags", "checksum"),
    *("start", "gtid"),
)
"""The fields of a plain line; ``end`` is that of the event."""

_CHECKSUMS = tuple(checksum.name.removeprefix("CHECKSUM_").lower() for checksum in EventChecksum)
_LINES = 4096
_TYPES = 256
_NUMBER = re.compile(r"\d{1,3}")


def parse_types(text: str) -> frozenset[int]:
    """Parse comma-separated names of event types, with wildcards ``*`` and ``?``, or numbers.

    Raises:
        UsageError: no event type matches.
    """
    types: set[int] = set()
    for name in text.split(","):
        pattern = name.strip().upper()
        if _NUMBER.fullmatch(pattern) and int(pattern) < _TYPES:
            types.add(int(pattern))
            continue
        matching = [kind for kind in EventType if fnmatchcase(kind.name, pattern)]
        if not matching:
            raise UsageError(f"expected an event type such as QUERY, '*_ROWS*' or 30, found {name.strip()!r}")
        types.update(matching)
    return frozenset(types)


class EventListing:
    """The events of logs as lines; iterate over :meth:`lines` once.

    Args:
        start: skip events of the first log that end at or before this offset.
        stop: skip events of the last log that begin at or after this offset.

    Attributes:
        problems: what was found wrong, in sentences.
        notes: normal conditions that are not listed.
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
        self.notes: list[str] = []
        self._files = files
        self._first = first
        self._last = len(files) - 1 if last is None else last
        self._wanted = bytes(types is None or number in types for number in range(_TYPES))
        self._inner = inner
        self._start = start
        self._stop = stop
        self._remaining = limit
        self._verify = verify
        self._on_damage = on_damage
        self._json = as_json
        self._second_text = lru_cache(64)(lambda second: format_in_zone(second * MICROSECONDS, zone))

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, many at a time."""
        first = self._first
        # Start with the log in which the first log's open transaction begins.
        while first and self._files[first].resumption is not None:
            first -= 1
        walk = EventWalk(verify=self._verify, inner=self._inner)
        for index in range(first, self._last + 1):
            # Of a log before the first one only the continued transaction matters.
            size = self._files[index].own_size
            start = size if index < self._first else self._start if index == self._first else 0
            stop = size if index != self._last or self._stop is None else min(self._stop, size)
            if self._files[index].resumption is None:
                walk = EventWalk(verify=self._verify, inner=self._inner)
            yield from self._file_lines(index, walk, start, stop)
            if self._remaining == 0:
                return

    def _file_lines(self, index: int, walk: EventWalk, start: int, stop: int) -> Iterator[bytes]:
        file = self._files[index]
        name = printable(file.name) if self._json else safe_text(file.name)
        line = self._json_line if self._json else self._plain_line
        self._anonymous_id = lru_cache(64)(lambda start: anonymous_id(file, start))
        pending: list[str] = []
        next_files = self._files[index + 1 : index + 2]
        goes_on = bool(next_files) and next_files[0].resumption is not None
        begin = MAGIC_SIZE, file.format
        if 0 < start < file.own_size:
            begin = last_transaction(file, start)
        if begin[0] > MAGIC_SIZE:
            walk.reset()
        walk.begin(*begin)
        while True:
            try:
                for event in walk.events(file, stop, goes_on=goes_on):
                    end = walk.position if event.inner is not None else event.position + event.size
                    if not self._wanted[event.type] or end <= start:
                        continue
                    pending.append(line(name, event))
                    if self._remaining is not None:
                        self._remaining -= 1
                        if self._remaining == 0:
                            break
                    if len(pending) == _LINES:
                        yield encoded("".join(pending))
                        pending = []
                yield encoded("".join(pending))
                self._note_problems(file, walk)
                if walk.position < stop == file.own_size and self._remaining != 0:
                    self.notes.append(
                        f"{file.path}: its last {stop - walk.position:,} bytes are an incomplete event: the"
                        " server is writing it, or was when it crashed"
                    )
                return
            except BinxError as error:
                yield encoded("".join(pending))
                pending = []
                self._note_problems(file, walk)
                next_position = self._after_damage(file, walk, error.at(path=file.path))
                if next_position is None:
                    raise
                walk.reset()
                walk.begin(next_position, walk.format)

    def _after_damage(self, file: BinlogFile, walk: EventWalk, error: BinxError) -> int | None:
        """Report damage and return the next event's offset; None if damage ends the listing."""
        if self._on_damage is OnDamage.STOP:
            return None
        damaged = walk.position
        position = next_event(file, damaged + 1, walk.format.checksum_size)
        end = file.own_size if position is None else position
        passed_over = f"; bytes {damaged:,} to {end:,} are passed over" if damaged < end else ""
        self.problems.append(f"{error}{passed_over}")
        return end

    def _note_problems(self, file: BinlogFile, walk: EventWalk) -> None:
        for fault, (count, first) in sorted(walk.faults.items(), reverse=True):
            self.problems.append(f"{file.path}: {fault}: {count:,}, the first at {first}")

    def _plain_line(self, name: str, event: ListedEvent) -> str:
        position, inner, kind, size, _, server, second, flags, checksum, start, gtid, _ = event
        location, end = (position, position + size) if inner is None else (f"{position}+{inner}", "-")
        return (
            f"{name}\t{location}\t{_type_name(kind).replace(' ', '_')}\t{size}\t{end}\t{server}"
            f"\t{self._second_text(second)}\t{','.join(flag_names(flags)) or '-'}\t{_CHECKSUMS[checksum]}"
            f"\t{'-' if start is None else start}\t{gtid or '-'}\n"
        )

    def _json_line(self, name: str, event: ListedEvent) -> str:
        position, inner, kind, size, next_position, server, second, flags, checksum, *named = event
        header = (position, inner, _type_name(kind), size, next_position, server)
        start, gtid, expected = named
        transaction = gtid if gtid is not None or start is None else self._anonymous_id(start)
        values = (
            *(name, *header, self._second_text(second), flag_names(flags), _CHECKSUMS[checksum]),
            *(start, transaction, gtid, expected),
        )
        return json.dumps(dict(zip(_JSON_COLUMNS, values, strict=True)), ensure_ascii=False) + "\n"


_type_name = cache(event_name)


@cache
def flag_names(number: int) -> list[str]:
    """Return the names of a header's flags; those without a name in hexadecimal."""
    names = [str(flag.name) for flag in EventFlag if number & flag]
    rest = number & ~sum(EventFlag)
    return [*names, f"{rest:#06x}"] if rest else names
