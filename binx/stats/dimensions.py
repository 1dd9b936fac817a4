"""What figures can be broken down by, and the shape of the result."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from binx.errors import UsageError
from binx.log.selection.moments import ZoneOffset
from binx.source.names import printable

NONE = -1
"""The key of what a transaction does not have, such as a connection."""

SMALLEST_CLASS_BITS = 10
CLASS_BITS = 2

MINUTE, QUARTER = 60, 900
"""Their seconds."""

_CSV_LINES = 1_024
_HOUR, _DAY = 3_600, 86_400
_QUARTERS_REMEMBERED = 4_096


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
        """Whether its groups have an order of their own."""
        return self in (Dimension.MINUTE, Dimension.HOUR, Dimension.DAY)

    @property
    def of_rows(self) -> bool:
        """Whether it divides a transaction's row changes, and not the transactions."""
        return self in (Dimension.TABLE, Dimension.DB, Dimension.STATEMENT)


_COLUMNS = {
    Dimension.TABLE: ("db", "table"),
    Dimension.STATEMENT: ("statement", "digest"),
    Dimension.SERVER: ("server_id",),
    Dimension.THREAD: ("server_id", "thread_id"),
    Dimension.SIZE: ("from_bytes", "below_bytes"),
}


MEASURES = ("transactions", "bytes", "rows", "inserts", "updates", "deletes")
"""What is told of each group, in this order."""

STATEMENT_MEASURES = (*MEASURES, "statements", "seconds")
"""What is told of groups of statements: also how many there were, and from when to when they ran."""


@dataclass(frozen=True, slots=True)
class Group:
    """The sums of one group.

    Attributes:
        keys: one a column, in the order of the breakdown's columns; None for what transactions do not have,
            such as a connection.
        transactions: those that belong to it; by table, those that changed the table.
        bytes: theirs in the files; by table, those of the rows events, before compression where they were.
        rows: row changes; None where only the index was read, as the next three.
        inserts: of these.
        updates: of these.
        deletes: of these.
        statements: by statement, how many there are; else None.
        seconds: by statement, how long these took: up to the next one of the transaction or its commit, in
            whole seconds each; else None.
    """

    keys: tuple[str | int | None, ...]
    transactions: int
    bytes: int
    rows: int | None
    inserts: int | None
    updates: int | None
    deletes: int | None
    statements: int | None = None
    seconds: int | None = None

    @property
    def measures(self) -> tuple[int | None, ...]:
        """The sums, in the order of MEASURES, or of STATEMENT_MEASURES."""
        sums = (self.transactions, self.bytes, self.rows, self.inserts, self.updates, self.deletes)
        return sums if self.statements is None else (*sums, self.statements, self.seconds)


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Figures by some dimensions.

    Attributes:
        by: the dimensions.
        columns: the names of the groups' keys.
        groups: in the order of time where the first dimension is one, else those with most bytes first.
        complete: False where there were more groups than could be kept, so that small ones are not there.
    """

    by: tuple[str, ...]
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    complete: bool

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the groups' sums."""
        return STATEMENT_MEASURES if Dimension.STATEMENT.value in self.by else MEASURES

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """As JSON has it: a group is an object of its keys and sums; of all, or of those with most bytes."""
        groups = [
            dict(zip((*self.columns, *self.measures), (*group.keys, *group.measures), strict=True))
            for group in self.largest(top)
        ]
        return {"by": list(self.by), "groups": groups, "complete": self.complete}

    def largest(self, top: int | None) -> tuple[Group, ...]:
        """The groups with most bytes, in the order in which they stand here; None for all."""
        if top is None or top >= len(self.groups):
            return self.groups
        order = sorted(range(len(self.groups)), key=lambda place: (-self.groups[place].bytes, place))
        return tuple(self.groups[place] for place in sorted(order[:top]))


def parse_dimensions(text: str) -> tuple[Dimension, ...]:
    """Read dimensions with commas between, such as ``hour,table``.

    Raises:
        UsageError: one is not known.
    """
    found = []
    for name in text.split(","):
        try:
            found.append(Dimension(name.strip().lower()))
        except ValueError:
            known = ", ".join(one.value for one in Dimension)
            raise UsageError(
                f"expected some of {known}, with commas between, found {name.strip()!r}"
            ) from None
    return tuple(dict.fromkeys(found))


def size_step(bits: int) -> int:
    """The class of a size that takes so many bits: 0 below 1 KiB, then in steps of four."""
    return max(bits - SMALLEST_CLASS_BITS + CLASS_BITS - 1, 0) // CLASS_BITS


def size_bound(step: int) -> int:
    """Where a class of sizes begins: 0, 1 KiB, 4 KiB, 16 KiB, and so on."""
    return 1 << SMALLEST_CLASS_BITS + CLASS_BITS * (step - 1) if step else 0


def time_floor(dimension: Dimension, offset: ZoneOffset) -> Callable[[int], int]:
    """When an hour or a day begins by a zone's clock, in seconds since 1970, for a quarter of an hour.

    Zones change their offset at quarters of an hour, so that one answer serves for a whole quarter.
    """
    width = _HOUR if dimension is Dimension.HOUR else _DAY

    @lru_cache(maxsize=_QUARTERS_REMEMBERED)
    def of_quarter(quarter: int) -> int:
        second = quarter * QUARTER
        ahead = offset(second)[0]
        begin = second - (second + ahead) % width
        # The clock may have been changed since the day began.
        return begin + ahead - offset(begin)[0] if dimension is Dimension.DAY else begin

    return of_quarter


def distinct_columns(by: Sequence[Dimension]) -> tuple[str, ...]:
    """The columns of several dimensions, each once."""
    return tuple(dict.fromkeys(column for one in by for column in one.columns))


def csv_texts(breakdown: Breakdown, top: int | None = None) -> Iterator[str]:
    """A breakdown as CSV, many lines at a time: RFC 4180 with line feeds, the columns' names on top.

    What is not known is empty.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*breakdown.columns, *breakdown.measures])
    for place, group in enumerate(breakdown.largest(top)):
        keys = [printable(key) if isinstance(key, str) else key for key in group.keys]
        writer.writerow([*keys, *group.measures])
        if place % _CSV_LINES == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()
