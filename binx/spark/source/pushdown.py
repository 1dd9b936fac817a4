"""Filters of Spark that say which transactions: they narrow the selection.

Spark asks them again of the rows, so that taking too many is never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.selection import Selection

_TIMES = ("_commit_timestamp", "commit_timestamp")
_IDENTIFIERS = ("_transaction", "transaction", "gtid")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def narrowed(selection: Selection, filters: Iterable[Any]) -> Selection | None:
    """A selection with what filters ask of commit time and GTID; None where nothing can pass."""
    if selection.limit is not None:
        # The first N are counted before rows are filtered.
        return selection
    since, until, gtids = selection.since, selection.until, selection.gtids
    for one in filters:
        kind, column = type(one).__name__, getattr(one, "attribute", None)
        if not isinstance(column, tuple) or len(column) != 1:
            continue
        if column[0] in _TIMES:
            first, behind = _span(kind, one.value if hasattr(one, "value") else None)
            since = first if since is None or (first is not None and first > since) else since
            until = behind if until is None or (behind is not None and behind < until) else until
        elif column[0] in _IDENTIFIERS and (wanted := _gtids(kind, one)) is not None:
            gtids = wanted if gtids is None else gtids & wanted
    if (since is not None and until is not None and since >= until) or (gtids is not None and gtids.is_empty):
        return None
    return selection._replace(since=since, until=until, gtids=gtids)


def _span(kind: str, value: object) -> tuple[int | None, int | None]:
    """The first µs that passes, and the first behind that does not."""
    if not isinstance(value, datetime):
        return None, None
    moment = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
    number = moment // _MICROSECOND
    return {
        "EqualTo": (number, number + 1),
        "EqualNullSafe": (number, number + 1),
        "GreaterThan": (number + 1, None),
        "GreaterThanOrEqual": (number, None),
        "LessThan": (None, number),
        "LessThanOrEqual": (None, number + 1),
    }.get(kind, (None, None))


def _gtids(kind: str, one: Any) -> GtidSet | None:
    """The GTIDs that a filter names; None where it is none of GTIDs alone."""
    if kind not in {"EqualTo", "EqualNullSafe", "In"}:
        return None
    texts = one.value if kind == "In" else (one.value,)
    try:
        wanted = GtidSet()
        for text in texts:
            wanted |= GtidSet.parse(text)
    except (UsageError, TypeError, AttributeError):
        # The id of a transaction without GTID, or null.
        return None
    return wanted


__all__ = ["narrowed"]
