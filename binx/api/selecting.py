"""Convert Python values to what selections consist of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.moments import Position, parse_position, parse_zoned_time
from binx.log.selection.selection import wanted_gtids

Texts = str | Sequence[str]
Numbers = int | Sequence[int]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = (1 << 64) - 1


def gtids_of(texts: Texts | None) -> GtidSet | None:
    """Parse GTID sets."""
    return None if texts is None else GtidSet().union(*map(wanted_gtids, texts_of(texts)))


def moment_of(moment: str | datetime | None) -> int | None:
    """Convert a time to µs since 1970; times without a zone are in UTC."""
    if moment is None:
        return None
    if isinstance(moment, str):
        return parse_zoned_time(moment)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def position_of(position: int | str | None) -> Position | None:
    """Parse a position."""
    return None if position is None else parse_position(str(position))


def texts_of(texts: Texts) -> tuple[str, ...]:
    """Return one or more texts as a tuple."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def numbers_of(numbers: Numbers) -> tuple[int, ...]:
    """Return one or more numbers as a tuple.

    Raises:
        UsageError: one is none, or negative, or too large.
    """
    listed = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    for number in listed:
        if not isinstance(number, int) or not 0 <= number <= _LARGEST:
            raise UsageError(f"expected a whole number of at most 64 bits, found {number!r}")
    return listed
