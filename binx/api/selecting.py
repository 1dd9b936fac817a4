"""Build selections from Python values, named like the commands' options."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.moments import Position, parse_position, parse_size, parse_zoned_time
from binx.log.selection.selection import Selection, wanted_gtids

Texts = str | Sequence[str]
Numbers = int | Sequence[int]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = (1 << 64) - 1


def selection_of(
    *,
    gtid: Texts | None,
    exclude_gtid: Texts | None,
    since: str | datetime | None,
    until: str | datetime | None,
    start_position: int | str | None,
    stop_position: int | str | None,
    db: Texts,
    table: Texts,
    server_id: Numbers,
    thread_id: Numbers,
    xid: Numbers,
    min_bytes: int | str | None,
    limit: int | None,
) -> Selection:
    """Return the selection for the arguments of :meth:`binx.api.logs.Binlogs.select`.

    Raises:
        UsageError: a value is invalid, or the conditions contradict each other.
    """
    selection = Selection(
        gtids=_gtids(gtid),
        exclude_gtids=_gtids(exclude_gtid),
        since=_moment(since),
        until=_moment(until),
        start=_position(start_position),
        stop=_position(stop_position),
        databases=_texts(db),
        tables=_texts(table),
        server_ids=_numbers(server_id),
        thread_ids=_numbers(thread_id),
        xids=_numbers(xid),
        min_bytes=None if min_bytes is None else parse_size(str(min_bytes)),
        limit=limit,
    )
    selection.check()
    return selection


def _gtids(texts: Texts | None) -> GtidSet | None:
    return None if texts is None else GtidSet().union(*map(wanted_gtids, _texts(texts)))


def _moment(moment: str | datetime | None) -> int | None:
    """Convert a time to µs since 1970; times without a zone are in UTC."""
    if moment is None:
        return None
    if isinstance(moment, str):
        return parse_zoned_time(moment)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def _position(position: int | str | None) -> Position | None:
    return None if position is None else parse_position(str(position))


def _texts(texts: Texts) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _numbers(numbers: Numbers) -> tuple[int, ...]:
    listed = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    for number in listed:
        if not isinstance(number, int) or not 0 <= number <= _LARGEST:
            raise UsageError(f"expected a whole number of at most 64 bits, found {number!r}")
    return listed
