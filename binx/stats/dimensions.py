"""The dimensions of a breakdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from binx.errors import UsageError
from binx.log.selection.times import ZoneOffset
from binx.source.wording import did_you_mean

MEASURES = ("transactions", "bytes", "rows", "inserts", "updates", "deletes")
"""Sums per group."""

STATEMENT_MEASURES = (*MEASURES, "statements", "seconds")
"""Sums per group of statements: also their number, and their run time."""

MINUTE, QUARTER = 60, 900
"""Their length in seconds."""

_SMALLEST_CLASS_BITS = 10
_CLASS_BITS = 2
_CSV_LINES = 1_024
_HOUR, _DAY = 3_600, 86_400
_QUARTERS_CACHED = 4_096


class Dimension(Enum):
    """What transactions and row changes are grouped by; the value is the name in options."""

    TABLE = "table"
    DB = "db"
    SERVER = "server"
    THREAD = "thread"
    SOURCE = "source"
    STATEMENT = "statement"
    KIND = "kind"
    SIZE = "size"
    FILE = "file"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return _COLUMNS.get(self, (self.value,))

    @property
    def is_time(self) -> bool:
        """Whether its groups have a natural order."""
        return self in (Dimension.MINUTE, Dimension.HOUR, Dimension.DAY)

    @property
    def of_rows(self) -> bool:
        """Whether it divides row changes rather than whole transactions."""
        return self in (Dimension.TABLE, Dimension.DB, Dimension.STATEMENT)


_COLUMNS = {
    Dimension.TABLE: ("db", "table"),
    Dimension.SOURCE: ("gtid_source",),
    Dimension.STATEMENT: ("digest_text", "digest"),
    Dimension.SERVER: ("server_id",),
    Dimension.THREAD: ("server_id", "thread_id"),
    Dimension.SIZE: ("from_bytes", "below_bytes"),
}


def key_columns(by: Sequence[Dimension]) -> tuple[str, ...]:
    """Return the columns of several dimensions, each once."""
    return tuple(dict.fromkeys(column for dimension in by for column in dimension.columns))


def measures_of(by: Sequence[Dimension]) -> tuple[str, ...]:
    """Return the sums for groups of several dimensions."""
    return STATEMENT_MEASURES if Dimension.STATEMENT in by else MEASURES


def parse_dimensions(text: str) -> tuple[Dimension, ...]:
    """Parse comma-separated dimensions, such as ``hour,table``."""
    dimensions = []
    for name in text.split(","):
        try:
            dimensions.append(Dimension(name.strip().lower()))
        except ValueError:
            names = [dimension.value for dimension in Dimension]
            raise UsageError(
                f"expected some of {', '.join(names)}, with commas between, found {name.strip()!r}"
                f"{did_you_mean(name.strip(), names)}"
            ) from None
    return tuple(dict.fromkeys(dimensions))


def size_step(bits: int) -> int:
    """Return the class of a size with that many bits: 0 below 1 KiB, then in steps of four."""
    return max(bits - _SMALLEST_CLASS_BITS + _CLASS_BITS - 1, 0) // _CLASS_BITS


def size_bound(step: int) -> int:
    """Return the lower bound of a size class: 0, 1 KiB, 4 KiB, 16 KiB, and so on."""
    return 1 << _SMALLEST_CLASS_BITS + _CLASS_BITS * (step - 1) if step else 0


def time_floor(dimension: Dimension, offset: ZoneOffset) -> Callable[[int], int]:
    """Return a function from a quarter of an hour to the start of its hour or day in a zone.

    Times are in seconds since 1970. Zones change their offset at quarters of an hour, so that one result is
    valid for a whole quarter.
    """
    width = _HOUR if dimension is Dimension.HOUR else _DAY

    @lru_cache(maxsize=_QUARTERS_CACHED)
    def of_quarter(quarter: int) -> int:
        second = quarter * QUARTER
        ahead = offset(second)[0]
        begin = second - (second + ahead) % width
        # The offset may have changed since the day began.
        return begin + ahead - offset(begin)[0] if dimension is Dimension.DAY else begin

    return of_quarter


def largest_groups(groups: list[dict[str, Any]], top: int | None) -> list[dict[str, Any]]:
    """Return the groups with most bytes, in their present order; None for all."""
    if top is None or top >= len(groups):
        return groups
    order = sorted(range(len(groups)), key=lambda index: (-groups[index]["bytes"], index))
    return [groups[index] for index in sorted(order[:top])]


def csv_texts(breakdown: dict[str, Any], top: int | None = None) -> Iterator[str]:
    """Yield a breakdown as CSV, many lines at a time: RFC 4180 with line feeds and a header.

    Unknown values are empty.
    """
    by = list(map(Dimension, breakdown["by"]))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*key_columns(by), *measures_of(by)], lineterminator="\n")
    writer.writeheader()
    for index, group in enumerate(largest_groups(breakdown["groups"], top)):
        writer.writerow(group)
        if index % _CSV_LINES == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()
