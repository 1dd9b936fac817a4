"""Figures broken down by one or several dimensions: by hour and table, by server and kind, and so on.

Groups are summed by Arrow, page by page. What is kept does not grow with the number of transactions: where
there are too many groups, those with fewest bytes are given up, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.transactions.table import FLAG_HAS_THREAD
from binx.log.arrow import arrow_array, arrow_scalar
from binx.log.identifiers import source_of
from binx.log.index.transactions import TransactionRows
from binx.log.scanning import KIND_NAMES, TransactionScan
from binx.log.selection.moments import MICROSECONDS, format_in_zone, zone_offset
from binx.stats.dimensions import (
    MEASURES,
    MINUTE,
    NONE,
    QUARTER,
    STATEMENT_MEASURES,
    Breakdown,
    Dimension,
    Group,
    distinct_columns,
    size_bound,
    size_step,
    time_floor,
)
from binx.stats.statements import StatementSums
from binx.stats.transaction import Page

GROUPS_MAXIMUM = 65_536
"""Groups that are kept, at least; behind twice as many, those with fewest bytes are given up."""

_INT64 = pa.int64()
_PARTS_MAXIMUM = 256
_PART_ROWS_MAXIMUM = 262_144
_CONVERTED_AT_ONCE = 8192
_STATEMENTS_SHARE = 8
_TABLE, _INSERTS, _UPDATES, _DELETES, _BYTES = range(5)


class GroupSums:
    """The sums while the logs are read."""

    def __init__(self, by: Sequence[Dimension], *, quick: bool = False, zone: tzinfo = UTC) -> None:
        self._by = tuple(dict.fromkeys(by))
        self._quick = quick
        self._zone = zone
        self._columns = distinct_columns(self._by)
        # A table's name has two columns and one number; so do a class of sizes and its bounds.
        self._keys = [
            key
            for key in self._columns
            if key not in ("below_bytes", "digest") and not (key == "db" and Dimension.TABLE in self._by)
        ]
        self._statements = StatementSums() if Dimension.STATEMENT in self._by else None
        self._measures = STATEMENT_MEASURES if self._statements else MEASURES
        # The texts of statements take more memory than other keys.
        self._share = _STATEMENTS_SHARE if self._statements else 1
        self._of_rows = any(one.of_rows for one in self._by)
        self._of_databases = Dimension.DB in self._by and Dimension.TABLE not in self._by
        self._floors: dict[str, Callable[[int], int]] = {
            one.value: time_floor(one, zone_offset(zone)) for one in (Dimension.HOUR, Dimension.DAY)
        }
        self._numbers: dict[object, int] = {}
        self._scan: TransactionScan | None = None
        self._table_numbers: list[int] = []
        self._source_numbers: dict[int, int] = {}
        self._parts: list[pa.Table] = []
        self._part_rows = 0
        self._complete = True

    def take(self, page: Page) -> None:
        """Add a page's marked transactions."""
        if self._scan is not page.scan:
            self._scan, self._table_numbers, self._source_numbers = page.scan, [], {}
        part = self._summed(self._page_table(page))
        self._parts.append(part)
        self._part_rows += part.num_rows
        if self._part_rows > _PART_ROWS_MAXIMUM // self._share or len(self._parts) >= _PARTS_MAXIMUM:
            self._put_together()

    def breakdown(self) -> Breakdown:
        """All groups."""
        self._put_together()
        groups: list[Group] = []
        if self._parts:
            sums = self._parts.pop()
            order = [(name, "ascending") for name in self._keys]
            order.insert(1 if self._by[0].is_time else 0, ("bytes", "descending"))
            names = list(self._numbers)
            for batch in sums.sort_by(order).to_batches(max_chunksize=_CONVERTED_AT_ONCE):
                columns = batch.to_pydict()
                keys = zip(*(columns[name] for name in self._keys), strict=True)
                measures = zip(*(columns[name] for name in self._measures), strict=True)
                for key, (transactions, size, *rows) in zip(keys, measures, strict=True):
                    told = (None,) * len(rows) if self._quick else rows
                    groups.append(Group(self._texts(key, names), transactions, size, *told))
        complete = self._complete and (self._statements is None or self._statements.complete)
        return Breakdown(tuple(one.value for one in self._by), self._columns, tuple(groups), complete)

    def _page_table(self, page: Page) -> pa.Table:
        """One row a transaction, or one a transaction and table, or one a transaction and statement."""
        rows = TransactionRows(page.file, page.scan, page.table, page.epoch, page.first_seqno)
        count = len(rows)
        if self._statements is not None:
            places, numbers, sums = self._statements.of(page)
            parents = arrow_array(places, _INT64)
            ones = pa.repeat(_integer(1), len(places))
            columns = dict(
                zip(self._measures, [ones, *(arrow_array(one, _INT64) for one in sums)], strict=True)
            )
            for name in self._keys:
                told = name == Dimension.STATEMENT.value
                columns[name] = (
                    arrow_array(numbers, _INT64) if told else self._key(name, page, rows).take(parents)
                )
            return pa.table(columns)
        offsets = rows.count_offsets
        inserts, updates, deletes = (rows.counts(which) for which in (_INSERTS, _UPDATES, _DELETES))
        changes = len(inserts)
        parents = pc.list_parent_indices(pa.ListArray.from_arrays(offsets, pa.nulls(changes, pa.null())))
        marks = pa.Array.from_buffers(pa.uint8(), count, [None, pa.py_buffer(page.mask or page.table.mask())])
        wanted = pc.equal(marks, arrow_scalar(1, pa.uint8()))

        def take(values: pa.Array) -> pa.Array:
            return values.take(parents) if self._of_rows else values

        if self._of_rows:
            measures = [inserts, updates, deletes]
            sizes, changed = rows.counts(_BYTES), pc.add(pc.add(inserts, updates), deletes)
        else:
            measures = [_sums_between(values, offsets) for values in (inserts, updates, deletes)]
            sizes, changed = rows.numbers("bytes"), rows.numbers("rows")
        ones = pa.repeat(_integer(1), len(sizes))
        columns = dict(zip(MEASURES, [ones, sizes, changed, *measures], strict=True))
        for name in self._keys:
            if name in ("table", "db"):
                columns[name] = self._table_keys(page.scan, name).take(rows.counts(_TABLE))
            else:
                columns[name] = take(self._key(name, page, rows))
        if self._of_databases:
            columns["place"] = parents
        return pa.table(columns).filter(take(wanted))

    def _summed(self, rows: pa.Table) -> pa.Table:
        if self._of_databases:
            # A transaction that changed several tables of a database counts once.
            rows = self._grouped(rows, [*self._keys, "place"])
            ones = pa.repeat(_integer(1), rows.num_rows)
            rows = rows.set_column(rows.column_names.index("transactions"), "transactions", ones)
        return self._grouped(rows, self._keys)

    def _grouped(self, rows: pa.Table, keys: list[str]) -> pa.Table:
        names = self._measures
        sums = rows.group_by(keys, use_threads=False).aggregate([(name, "sum") for name in names])
        return sums.select([*keys, *(f"{name}_sum" for name in names)]).rename_columns([*keys, *names])

    def _put_together(self) -> None:
        """Sum the parts up, and give up the smallest groups where there are too many."""
        if not self._parts:
            return
        sums = self._grouped(pa.concat_tables(self._parts), self._keys)
        most = GROUPS_MAXIMUM // self._share
        if sums.num_rows > 2 * most:
            self._complete = False
            order = [("bytes", "descending"), *((name, "ascending") for name in self._keys)]
            sums = sums.sort_by(order).slice(0, most)
            if self._statements is not None:
                self._statements.keep(set(sums[Dimension.STATEMENT.value].to_pylist()))
        self._parts, self._part_rows = [sums], sums.num_rows

    def _key(self, name: str, page: Page, rows: TransactionRows) -> pa.Array:
        """A dimension's number of each transaction."""
        if name in ("server_id", "kind"):
            return rows.numbers(name)
        if name == "thread_id":
            return pc.if_else(rows.flagged(FLAG_HAS_THREAD), rows.numbers(name), _integer(NONE))
        if name == "from_bytes":
            return _size_steps(rows.numbers("bytes"))
        if name == "file":
            return pa.repeat(_integer(self._number(page.file.name)), len(rows))
        if name == "source":
            return _mapped(rows.numbers("source"), lambda slot: self._source(rows, slot))
        seconds = pc.divide(rows.numbers("commit_timestamp"), _integer(MICROSECONDS))
        if name == Dimension.MINUTE.value:
            return pc.multiply(pc.divide(seconds, _integer(MINUTE)), _integer(MINUTE))
        return _mapped(pc.divide(seconds, _integer(QUARTER)), self._floors[name])

    def _number(self, name: object) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def _source(self, rows: TransactionRows, slot: int) -> int:
        if slot not in self._source_numbers:
            places = rows.numbers("source")
            key = rows.table.source_key(pc.index(places, _integer(slot)).as_py())
            self._source_numbers[slot] = NONE if key is None else self._number(str(source_of(key)))
        return self._source_numbers[slot]

    def _table_keys(self, scan: TransactionScan, name: str) -> pa.Array:
        """The number of the name of each of a scan's tables."""
        for number in range(len(self._table_numbers), scan.table_count):
            db, table = scan.table_name(number)
            self._table_numbers.append(self._number((db, table) if name == "table" else db))
        return arrow_array(self._table_numbers, _INT64)

    def _texts(self, key: Sequence[int], names: Sequence[object]) -> tuple[str | int | None, ...]:
        """A group's keys as they are shown, one a column."""
        shown: dict[str, str | int | None] = {}
        for name, number in zip(self._keys, key, strict=True):
            if name == "table":
                shown["db"], shown["table"] = names[number]  # type: ignore[misc]
            elif name in ("db", "file", "source"):
                shown[name] = None if number == NONE else str(names[number])
            elif name == "from_bytes":
                shown[name], shown["below_bytes"] = size_bound(number), size_bound(number + 1)
            elif name == Dimension.STATEMENT.value and self._statements is not None:
                told = self._statements.told(number)
                shown[name], shown["digest"] = (None, None) if told is None else told
            elif name == "kind":
                shown[name] = KIND_NAMES[number]
            elif name in ("minute", "hour", "day"):
                shown[name] = self._time(name, number)
            else:
                shown[name] = None if number == NONE else number
        return tuple(shown[column] for column in self._columns)

    def _time(self, name: str, second: int) -> str:
        """When a minute, an hour or a day begins; a damaged file's that no calendar has stays a number."""
        try:
            text = format_in_zone(second * MICROSECONDS, self._zone)
        except (OverflowError, ValueError, OSError):
            return f"@{second}"
        return text[:10] if name == "day" else text


def _integer(value: int) -> pa.Scalar:
    return arrow_scalar(value, _INT64)


def _sums_between(values: pa.Array, offsets: pa.Array) -> pa.Array:
    """The sums of the values from each offset up to the next."""
    sums = pa.concat_arrays([arrow_array([0], _INT64), pc.cumulative_sum(values)])
    bounds = sums.take(offsets)
    return pc.subtract(bounds.slice(1), bounds.slice(0, len(offsets) - 1))


def _mapped(keys: pa.Array, value_of: Callable[[int], int]) -> pa.Array:
    """The keys' values; each distinct key is asked for once."""
    encoded = keys.dictionary_encode()
    values = arrow_array([value_of(key) for key in encoded.dictionary.to_pylist()], _INT64)
    return values.take(encoded.indices)


def _size_steps(sizes: pa.Array) -> pa.Array:
    """The class of each size."""
    largest = pc.max(sizes).as_py() or 0
    steps = pa.repeat(_integer(0), len(sizes))
    for step in range(1, size_step(largest.bit_length()) + 1):
        steps = pc.add(steps, pc.greater_equal(sizes, _integer(size_bound(step))).cast(_INT64))
    return steps
