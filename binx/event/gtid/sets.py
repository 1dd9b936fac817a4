"""GTID sets of MySQL and MariaDB.

A set maps each source to intervals of transaction numbers.
Intervals are never enumerated: the cost of every operation depends on the
number of intervals, not of transactions.

Sources: MySQL manual, "GTID Sets"; sql/rpl_gtid_set.cc.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Self

from binx.errors import UsageError
from binx.event.gtid.sources import (
    MARIADB_MAX_NUMBER,
    DomainSource,
    GtidSource,
    Interval,
    UuidSource,
    number_range,
)


class GtidSet:
    """An immutable set of GTIDs.

    ``a | b``, ``a & b`` and ``a - b`` are union, intersection and difference; ``a <= b`` is the subset test.
    ``len`` is not defined, as the count can exceed what Python allows; use :attr:`count`. Iteration yields
    ``(source, first, last)``, sorted by source and number.
    """

    __slots__ = ("_intervals",)

    _intervals: dict[GtidSource, tuple[Interval, ...]]

    def __init__(self, intervals: Iterable[tuple[GtidSource, int, int]] = ()) -> None:
        """Build a set from ``(source, first, last)`` in any order; intervals may overlap.

        Raises:
            UsageError: a number is below 1 (0 for MariaDB) or too large, or last is below first.
        """
        grouped: dict[GtidSource, list[Interval]] = {}
        for source, first, last in intervals:
            lowest, largest = number_range(source)
            if not lowest <= first <= last <= largest:
                raise UsageError(
                    f"expected an interval of transaction numbers, found {first}-{last} of {source}"
                )
            grouped.setdefault(source, []).append((first, last))
        self._intervals = {source: _merged(grouped[source]) for source in sorted(grouped, key=_sort_key)}

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a set as written by users or servers; an empty text is the empty set.

        Raises:
            UsageError: the text is not a GTID set; the message shows the position and the syntax.
        """
        return cls(parse_gtids(text))

    @classmethod
    def _of(cls, intervals: Mapping[GtidSource, tuple[Interval, ...]]) -> Self:
        """Build a set from intervals that are already merged and sorted."""
        result = cls()
        sources = (source for source in intervals if intervals[source])
        result._intervals = {source: intervals[source] for source in sorted(sources, key=_sort_key)}
        return result

    @property
    def sources(self) -> tuple[GtidSource, ...]:
        """The sources with transactions in the set, sorted."""
        return tuple(self._intervals)

    @property
    def count(self) -> int:
        """Number of GTIDs in the set."""
        return sum(last - first + 1 for _, first, last in self)

    @property
    def is_empty(self) -> bool:
        """Whether the set has no GTID."""
        return not self._intervals

    def __bool__(self) -> bool:
        return bool(self._intervals)

    def intervals(self, source: GtidSource) -> tuple[Interval, ...]:
        """Return a source's intervals, sorted and without overlap; empty if it has none."""
        return self._intervals.get(source, ())

    def contains(self, source: GtidSource, number: int) -> bool:
        """Whether a GTID is in the set."""
        intervals = self._intervals.get(source, ())
        index = bisect_right(intervals, (number, MARIADB_MAX_NUMBER + 1))
        return index > 0 and number <= intervals[index - 1][1]

    def __iter__(self) -> Iterator[tuple[GtidSource, int, int]]:
        for source, intervals in self._intervals.items():
            for first, last in intervals:
                yield source, first, last

    def texts(self) -> Iterator[str]:
        """Yield each GTID as text."""
        for source, first, last in self:
            separator = "-" if isinstance(source, DomainSource) else ":"
            yield from (f"{source}{separator}{number}" for number in range(first, last + 1))

    def union(self, *others: GtidSet) -> GtidSet:
        """Return the GTIDs that are in any of the sets."""
        return GtidSet(chain(self, *others))

    def intersection(self, other: GtidSet) -> GtidSet:
        """Return the GTIDs that are in both sets."""
        return self._combined(other, _intersection)

    def difference(self, other: GtidSet) -> GtidSet:
        """Return the GTIDs of this set that are not in the other."""
        return self._combined(other, _difference)

    def issubset(self, other: GtidSet) -> bool:
        """Whether every GTID of this set is in the other."""
        return self.difference(other).is_empty

    def isdisjoint(self, other: GtidSet) -> bool:
        """Whether no GTID is in both sets."""
        return self.intersection(other).is_empty

    def _combined(
        self,
        other: GtidSet,
        combine: Callable[[tuple[Interval, ...], tuple[Interval, ...]], Iterable[Interval]],
    ) -> GtidSet:
        return GtidSet._of(
            {
                source: tuple(combine(intervals, other.intervals(source)))
                for source, intervals in self._intervals.items()
            }
        )

    __or__, __and__, __sub__, __le__ = union, intersection, difference, issubset

    def __ge__(self, other: GtidSet) -> bool:
        return other.issubset(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GtidSet):
            return NotImplemented
        return self._intervals == other._intervals

    def __hash__(self) -> int:
        return hash(tuple(self._intervals.items()))

    def __str__(self) -> str:
        """Format the set as its server prints it, on one line: sorted, merged, tags after their UUID."""
        return format_gtids(self._intervals)

    def __repr__(self) -> str:
        return f"GtidSet.parse({str(self)!r})"


def _sort_key(source: GtidSource) -> tuple[int, bytes, str, int, int]:
    if isinstance(source, UuidSource):
        return (0, source.uuid, source.tag, 0, 0)
    return (1, b"", "", source.domain, source.server_id)


def _merged(intervals: list[Interval]) -> tuple[Interval, ...]:
    intervals.sort()
    merged: list[Interval] = []
    for first, last in intervals:
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)


def _intersection(ours: tuple[Interval, ...], theirs: tuple[Interval, ...]) -> Iterator[Interval]:
    our = their = 0
    while our < len(ours) and their < len(theirs):
        first = max(ours[our][0], theirs[their][0])
        last = min(ours[our][1], theirs[their][1])
        if first <= last:
            yield first, last
        if ours[our][1] < theirs[their][1]:
            our += 1
        else:
            their += 1


def _difference(ours: tuple[Interval, ...], theirs: tuple[Interval, ...]) -> Iterator[Interval]:
    their = 0
    for first, last in ours:
        start = first
        while their < len(theirs) and theirs[their][1] < start:
            their += 1
        index = their
        while index < len(theirs) and theirs[index][0] <= last:
            if start < theirs[index][0]:
                yield start, theirs[index][0] - 1
            start = theirs[index][1] + 1
            index += 1
        their = max(their, index - 1)
        if start <= last:
            yield start, last


SYNTAX = (
    "MySQL's syntax is UUID:1-5:7, UUID:100- or UUID:tag:1-3, MariaDB's 0-1-100, 0-1-100..200 or 0-1-100.. "
    "(domain-server-number); several are separated by commas"
)

_HEX = "[0-9a-fA-F]"
_UUID = (
    rf"\s*(\{{?)({_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}|{_HEX}{{32}})(\}}?)\s*(?=:|,|$)"
)
_INTERVAL = r"\s*:\s*([0-9]{1,20})\s*(?:-\s*([0-9]{0,20})\s*)?(?=[:,]|$)"
_TAG = r"\s*:\s*([A-Za-z_][A-Za-z0-9_]{0,31})\s*(?=[:,]|$)"
_MARIADB = r"\s*([0-9]{1,10})-([0-9]{1,10})-([0-9]{1,20})\s*(?:\.\.\s*([0-9]{0,20})\s*)?(?=,|$)"
_SPACE_OR_COMMA = r"[\s,]*"
_MAX_ID = 2**32 - 1
_SHOWN = 24


def parse_gtids(text: str) -> Iterator[tuple[GtidSource, int, int]]:
    """Parse a GTID set into intervals, in the text's order; it may mix both flavours.

    Takes time linear in the text's length.

    Yields:
        Source, first and last number.

    Raises:
        UsageError: the text is not a GTID set; the message shows the position and the syntax.
    """
    # Compiled at first use, as most command lines have no GTID set.
    mariadb, uuid_start, interval_of, tag_of = map(re.compile, (_MARIADB, _UUID, _INTERVAL, _TAG))
    position = _skip_commas(text, 0)
    while position < len(text):
        match = mariadb.match(text, position)
        if match is not None:
            yield _mariadb_item(text, match)
            position = match.end()
        else:
            match = uuid_start.match(text, position)
            if match is None or (match[1] == "{") != (match[3] == "}"):
                raise _unreadable(text, position, "expected a server UUID or MariaDB's domain-server-number")
            position = match.end()
            uuid = bytes.fromhex(match[2].replace("-", ""))
            tag = ""
            intervals = 0
            while position < len(text) and text[position] == ":":
                interval = interval_of.match(text, position)
                source = UuidSource(uuid, tag)
                if interval is not None:
                    first, last = _numbers(text, interval.start(1), interval[1], interval[2], source)
                    yield source, first, last
                    intervals += 1
                    position = interval.end()
                    continue
                tagged = tag_of.match(text, position)
                if tagged is None or (tag and not intervals):
                    raise _unreadable(text, position + 1, "expected a number, an interval or a tag")
                tag, intervals, position = tagged[1].lower(), 0, tagged.end()
            if not intervals:
                raise _unreadable(text, position, "expected a transaction number or an interval")
        position = _skip_commas(text, position)


def _skip_commas(text: str, position: int) -> int:
    match = re.compile(_SPACE_OR_COMMA).match(text, position)
    return position if match is None else match.end()


def _mariadb_item(text: str, match: re.Match[str]) -> tuple[GtidSource, int, int]:
    domain, server_id = int(match[1]), int(match[2])
    if domain > _MAX_ID or server_id > _MAX_ID:
        raise _unreadable(text, match.start(1), f"expected a domain and a server id of at most {_MAX_ID}")
    source = DomainSource(domain, server_id)
    first, last = _numbers(text, match.start(3), match[3], match[4], source)
    return source, first, last


def _numbers(text: str, position: int, first: str, last: str | None, source: GtidSource) -> Interval:
    lowest, largest = number_range(source)
    start = int(first)
    # A range without an end extends to the largest number.
    stop = start if last is None else int(last or largest)
    if not lowest <= start <= stop <= largest:
        raise _unreadable(
            text, position, f"expected numbers from {lowest} to {largest}, the first no larger than the last"
        )
    return start, stop


def _unreadable(text: str, position: int, expected: str) -> UsageError:
    rest = text[position : position + _SHOWN]
    shown = repr(rest) if rest else "the end"
    return UsageError(f"{expected} at character {position + 1} of the GTID set, found {shown}; {SYNTAX}")


def format_gtids(intervals: Mapping[GtidSource, tuple[Interval, ...]]) -> str:
    """Format a set as its server prints it, on one line, from sorted and merged sources and intervals."""
    return ",".join(_items(intervals))


def _items(intervals: Mapping[GtidSource, tuple[Interval, ...]]) -> Iterator[str]:
    current: bytes | None = None
    text = ""
    for source, ranges in intervals.items():
        if isinstance(source, DomainSource):
            if text:
                yield text
                text = ""
            for first, last in ranges:
                yield f"{source}-{first}" if first == last else f"{source}-{first}..{last}"
            continue
        if source.uuid == current:
            text += f":{source.tag}"
        else:
            if text:
                yield text
            text, current = str(source), source.uuid
        text += "".join(f":{first}" if first == last else f":{first}-{last}" for first, last in ranges)
    if text:
        yield text
