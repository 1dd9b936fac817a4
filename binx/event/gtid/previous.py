"""Parse PREVIOUS_GTIDS events, which MySQL writes at the start of each log file.

Sources: MySQL's sql/rpl_gtid_set.cc (``Gtid_set::encode``, ``add_gtid_encoding``), WL#15294 (tags).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from struct import Struct
from typing import NamedTuple

from binx.errors import UnsupportedError
from binx.event.format import FormatDescription
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import TAG, UUID_SIZE, UuidSource
from binx.event.header import EventHeader
from binx.event.reader import Reader, body_reader, read_string

_TAGGED_FORMAT = 1
_COUNT_MASK = (1 << 56) - 1
_TAGGED_COUNT_MASK = (1 << 48) - 1
_INTERVAL = Struct("<QQ")
_U64 = Struct("<Q")


class PreviousGtids(NamedTuple):
    """The GTIDs of all earlier log files, as far as the server knew them."""

    gtids: GtidSet


def parse_previous_gtids(
    body: memoryview, header: EventHeader, description: FormatDescription
) -> PreviousGtids:
    """Read PREVIOUS_GTIDS.

    Raises:
        DamagedError: the body is truncated, or its intervals overlap or are not in order.
        UnsupportedError: an unknown encoding.
    """
    reader = body_reader(body, header)
    return PreviousGtids(GtidSet(_encoded_intervals(reader)))


def decode_gtids(data: bytes) -> GtidSet:
    """Read a set in the encoding of PREVIOUS_GTIDS, in which replicas send theirs too.

    Raises:
        DamagedError, UnsupportedError: as for :func:`parse_previous_gtids`.
    """
    return GtidSet(_encoded_intervals(Reader(data)))


def _encoded_intervals(reader: Reader) -> Iterator[tuple[UuidSource, int, int]]:
    first = reader.u64()
    encoding = first >> 56
    if encoding not in {0, _TAGGED_FORMAT}:
        raise UnsupportedError(
            f"expected the GTID set encoding 0 or {_TAGGED_FORMAT}, found {encoding}; "
            "a newer server wrote this event",
            offset=reader.position - 8,
        )
    tagged = encoding == _TAGGED_FORMAT
    sources = first >> 8 & _TAGGED_COUNT_MASK if tagged else first & _COUNT_MASK
    reader.count(sources, UUID_SIZE + 8, "sources")
    for _ in range(sources):
        uuid = reader.raw(UUID_SIZE)
        tag = read_tag(reader) if tagged else ""
        source = UuidSource(uuid, tag)
        intervals = reader.count(reader.u64(), _INTERVAL.size, "intervals")
        last_end = 0
        for _ in range(intervals):
            start, end = reader.i64(), reader.i64()
            if start <= last_end or end <= start:
                raise reader.damaged(
                    f"expected an interval after {last_end}, found {start} up to {end} excluded"
                )
            last_end = end
            yield source, start, end - 1


def encode_previous_gtids(gtids: GtidSet) -> bytes:
    """Encode the body of PREVIOUS_GTIDS for a set of MySQL GTIDs, as servers do.

    The encoding of MySQL 8.3 and later is used only if the set has tags; older servers can read the other.

    Raises:
        ValueError: the set has MariaDB GTIDs, a programming error.
    """
    sources = [source for source in gtids.sources if isinstance(source, UuidSource)]
    with_tags = any(source.tag for source in sources)
    if len(sources) != len(gtids.sources):
        raise ValueError("PREVIOUS_GTIDS holds MySQL's GTIDs only")
    count = _TAGGED_FORMAT << 56 | len(sources) << 8 | _TAGGED_FORMAT if with_tags else len(sources)
    encoded = [_U64.pack(count)]
    for source, group in groupby(gtids, key=lambda item: item[0]):
        if isinstance(source, UuidSource):
            intervals = [_INTERVAL.pack(first, last + 1) for _, first, last in group]
            tag = bytes([len(source.tag) << 1]) + source.tag.encode() if with_tags else b""
            encoded += [source.uuid, tag, _U64.pack(len(intervals)), *intervals]
    return b"".join(encoded)


def read_tag(reader: Reader) -> str:
    """Read a GTID's tag; empty if it has none."""
    tag = read_string(reader)
    if tag and not re.fullmatch(TAG, tag):
        raise reader.damaged(f"expected a GTID's tag, found {tag!r}")
    return tag
