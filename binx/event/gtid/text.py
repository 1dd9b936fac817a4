"""GTID sets as text: reading what users and servers write, writing what servers print.

Sources: MySQL manual, "GTID Sets" (white space, case and tags);
sql/rpl_gtid_set.cc (``Gtid_set::add_gtid_text``); MariaDB knowledge base,
"Global Transaction ID". Ranges of MariaDB's GTIDs are binx's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from binx.errors import UsageError
from binx.event.gtid.sources import DomainSource, GtidSource, Interval, UuidSource, number_range

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
    """The intervals of a GTID set in the order of the text, both flavours in one text allowed.

    The time is linear in the text's length.

    Yields:
        source, first and last number.

    Raises:
        UsageError: the text is no GTID set; the message shows the place and the syntax.
    """
    # Compiled when a set is first read: most command lines have none.
    mariadb, uuid_start, interval_of, tag_of = map(re.compile, (_MARIADB, _UUID, _INTERVAL, _TAG))
    place = _skip_commas(text, 0)
    while place < len(text):
        found = mariadb.match(text, place)
        if found is not None:
            yield _mariadb_item(text, found)
            place = found.end()
        else:
            found = uuid_start.match(text, place)
            if found is None or (found[1] == "{") != (found[3] == "}"):
                raise _unreadable(text, place, "expected a server UUID or MariaDB's domain-server-number")
            place = found.end()
            uuid = bytes.fromhex(found[2].replace("-", ""))
            tag = ""
            intervals = 0
            while place < len(text) and text[place] == ":":
                interval = interval_of.match(text, place)
                source = UuidSource(uuid, tag)
                if interval is not None:
                    first, last = _numbers(text, interval.start(1), interval[1], interval[2], source)
                    yield source, first, last
                    intervals += 1
                    place = interval.end()
                    continue
                tagged = tag_of.match(text, place)
                if tagged is None or (tag and not intervals):
                    raise _unreadable(text, place + 1, "expected a number, an interval or a tag")
                tag, intervals, place = tagged[1].lower(), 0, tagged.end()
            if not intervals:
                raise _unreadable(text, place, "expected a transaction number or an interval")
        place = _skip_commas(text, place)


def _skip_commas(text: str, place: int) -> int:
    found = re.compile(_SPACE_OR_COMMA).match(text, place)
    return place if found is None else found.end()


def _mariadb_item(text: str, found: re.Match[str]) -> tuple[GtidSource, int, int]:
    domain, server_id = int(found[1]), int(found[2])
    if domain > _MAX_ID or server_id > _MAX_ID:
        raise _unreadable(text, found.start(1), f"expected a domain and a server id of at most {_MAX_ID}")
    source = DomainSource(domain, server_id)
    first, last = _numbers(text, found.start(3), found[3], found[4], source)
    return source, first, last


def _numbers(text: str, place: int, first: str, last: str | None, source: GtidSource) -> Interval:
    lowest, largest = number_range(source)
    start = int(first)
    # A range without an end has all that follow.
    stop = start if last is None else int(last or largest)
    if not lowest <= start <= stop <= largest:
        raise _unreadable(
            text, place, f"expected numbers from {lowest} to {largest}, the first no larger than the last"
        )
    return start, stop


def _unreadable(text: str, place: int, expected: str) -> UsageError:
    found = text[place : place + _SHOWN]
    shown = repr(found) if found else "the end"
    return UsageError(f"{expected} at character {place + 1} of the GTID set, found {shown}; {SYNTAX}")


def format_gtids(intervals: Mapping[GtidSource, tuple[Interval, ...]]) -> str:
    """A set as its server prints it, on one line; sources and intervals are sorted and merged already."""
    return ",".join(_parts(intervals))


def _parts(intervals: Mapping[GtidSource, tuple[Interval, ...]]) -> Iterator[str]:
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
