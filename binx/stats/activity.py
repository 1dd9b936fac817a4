"""What transactions did over time, table by table: what the charts of the HTML page show.

Memory does not grow with the logs: intervals become longer as the time span grows, and of very many tables
those with fewest bytes are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.transactions.table import FLAG_COMMIT_TIME_FROM_GTID
from binx.log.binlog_file import TransactionScan
from binx.log.index.transactions import TransactionRows
from binx.log.selection.times import zone_offset
from binx.slices.search import Selected

INTERVALS_MAXIMUM = 120
"""Maximum number of intervals; their length is the shortest round one with which they are no more."""

HOURS = 24

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
"""Their length in ms."""

_LENGTHS = (
    *(10, 50, 100, 500, SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE),
    *(HOUR, 3 * HOUR, 6 * HOUR, DAY, 7 * DAY),
)
"""Round lengths, each a multiple of the one before; longer ones are doubled."""

_OTHERS = -1
_TABLES_MAXIMUM = 4_096
_PARTS_MAXIMUM = 64
_SUMS = ("bytes", "inserts", "updates", "deletes")
_MICROSECONDS = 1_000
"""Microseconds in a ms."""
_INT64 = pa.int64()


class Amount(NamedTuple):
    """What was done to a table in an interval; bytes are those of rows events."""

    bytes: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0


@dataclass(frozen=True)
class ActivityFigures:
    """The sums over time.

    Attributes:
        length: of an interval, in ms.
        first: beginning of the first one, in ms since 1970.
        totals: of each interval, the number of transactions and their bytes in the logs.
        tables: database and name of the tables with row changes, most bytes first; None for those that are
            kept together.
        amounts: by interval and table, where there is any.
        hours: bytes by hour of the day in the zone and table.
    """

    length: int
    first: int
    totals: Sequence[tuple[int, int]]
    tables: Sequence[tuple[str, str] | None]
    amounts: dict[tuple[int, int], Amount]
    hours: dict[tuple[int, int], int]

    @property
    def days(self) -> float:
        """How many days they span."""
        return len(self.totals) * self.length / DAY


class Activity:
    """Sums activity while logs are read.

    Args:
        zone: in whose time intervals begin and hours of the day count; of zones whose offset changes, the
            offset at the first transaction holds.
    """

    def __init__(self, zone: tzinfo = UTC) -> None:
        self._offset_at = zone_offset(zone)
        self._offset: int | None = None
        self._names: dict[tuple[str, str], int] = {}
        self._scan: TransactionScan | None = None
        self._numbers: list[int] = []
        self._totals: list[pa.Table] = []
        self._tables: list[pa.Table] = []
        self._hours: list[pa.Table] = []
        self._length = _LENGTHS[0]

    def take(self, part: Selected) -> None:
        """Add the marked transactions."""
        if self._scan is not part.scan:
            self._scan, self._numbers = part.scan, []
        rows = TransactionRows(part.scan.file, part.scan, part.table, part.epoch, part.first_seqno)
        moments = pc.divide(rows.array("commit_timestamp", _INT64), _integer(_MICROSECONDS))
        if self._offset is None:
            self._offset = self._offset_at(moments[0].as_py() // SECOND)[0] * SECOND
        moments = pc.add(moments, _integer(self._offset))
        if self._length < SECOND and not rows.flagged(FLAG_COMMIT_TIME_FROM_GTID).all():
            # Commit times are in whole seconds.
            self._length = SECOND
        marks = pa.Array.from_buffers(pa.uint8(), len(rows), [None, pa.py_buffer(part.mask)])
        wanted = pc.equal(marks, pa.scalar(1, pa.uint8()))
        ones = pa.repeat(_integer(1), len(rows))
        columns = {"time": moments, "transactions": ones, "bytes": rows.array("bytes", _INT64)}
        self._totals.append(_grouped(pa.table(columns).filter(wanted), ["time"]))
        numbers = rows.counts(0)
        parents = pc.list_parent_indices(
            pa.ListArray.from_arrays(rows.count_offsets, pa.nulls(len(numbers), pa.null()))
        )
        times = moments.take(parents)
        columns = {"time": times, "table": self._table_numbers(part.scan).take(numbers)}
        columns |= {name: rows.counts(which) for name, which in zip(_SUMS, (4, 1, 2, 3), strict=True)}
        changes = pa.table(columns).filter(wanted.take(parents))
        self._tables.append(_grouped(changes, ["time", "table"]))
        times = changes["time"]
        hours = pc.divide(pc.subtract(times, _floored(times, DAY)), _integer(HOUR))
        changes = pa.table({"hour": hours, "table": changes["table"], "bytes": changes["bytes"]})
        self._hours.append(_grouped(changes, ["hour", "table"]))
        if len(self._totals) >= _PARTS_MAXIMUM:
            self._combine()

    def figures(self) -> ActivityFigures | None:
        """Return the sums; None without transactions."""
        if not self._totals:
            return None
        self._combine()
        (totals,), (changes,), (hours,) = self._totals, self._tables, self._hours
        by_time = {time: (count, size) for time, count, size in _rows(totals)}
        first, last = min(by_time), max(by_time)
        times = range(first, last + 1, self._length)
        sizes = _grouped(hours.select(["table", "bytes"]), ["table"]).sort_by([("bytes", "descending")])
        numbers = sizes["table"].to_pylist()
        places = {number: place for place, number in enumerate(numbers)}
        names = {number: name for name, number in self._names.items()}
        return ActivityFigures(
            self._length,
            first - (self._offset or 0),
            [by_time.get(time, (0, 0)) for time in times],
            [names.get(number) for number in numbers],
            {
                ((time - first) // self._length, places[number]): Amount(*sums)
                for time, number, *sums in _rows(changes)
            },
            {(hour, places[number]): size for hour, number, size in _rows(hours)},
        )

    def _table_numbers(self, scan: TransactionScan) -> pa.Array:
        for number in range(len(self._numbers), scan.table_count):
            self._numbers.append(self._names.setdefault(scan.table_name(number), len(self._names)))
        return pa.array(self._numbers, _INT64)

    def _combine(self) -> None:
        """Combine the partial sums, in longer intervals where there are too many."""
        totals, changes, hours = map(pa.concat_tables, (self._totals, self._tables, self._hours))
        span = pc.max(totals["time"]).as_py() - pc.min(totals["time"]).as_py()
        while span // self._length + 2 > INTERVALS_MAXIMUM and span:
            self._length = next((one for one in _LENGTHS if one > self._length), self._length * 2)
        totals, changes = (
            table.set_column(0, "time", _floored(table["time"], self._length)) for table in (totals, changes)
        )
        if len(self._names) > _TABLES_MAXIMUM:
            sizes = _grouped(hours.select(["table", "bytes"]), ["table"]).sort_by([("bytes", "descending")])
            kept = sizes["table"].slice(0, _TABLES_MAXIMUM).combine_chunks()
            changes, hours = (
                table.set_column(
                    1,
                    "table",
                    pc.if_else(pc.is_in(table["table"], kept), table["table"], _integer(_OTHERS)),
                )
                for table in (changes, hours)
            )
        self._totals = [_grouped(totals, ["time"])]
        self._tables = [_grouped(changes, ["time", "table"])]
        self._hours = [_grouped(hours, ["hour", "table"])]


def _grouped(table: pa.Table, keys: list[str]) -> pa.Table:
    names = [name for name in table.column_names if name not in keys]
    sums = table.group_by(keys, use_threads=False).aggregate([(name, "sum") for name in names])
    return sums.select([*keys, *(f"{name}_sum" for name in names)]).rename_columns([*keys, *names])


def _rows(table: pa.Table) -> Iterator[tuple[int, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _floored(times: pa.ChunkedArray, length: int) -> pa.ChunkedArray:
    return pc.multiply(pc.divide(times, _integer(length)), _integer(length))


def _integer(value: int) -> pa.Scalar:
    return pa.scalar(value, _INT64)
