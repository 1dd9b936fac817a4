"""Figures grouped by one or several dimensions: by hour and table, by server and kind, and so on.

Groups are summed with Arrow, page by page. Memory does not grow with the number of transactions: if there are
too many groups, those with fewest bytes are dropped, and the result notes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.transactions.table import FLAG_HAS_THREAD
from binx.log.binlog_file import TransactionScan
from binx.log.identifiers import source_of
from binx.log.index.transactions import TransactionRows
from binx.log.scanning import KIND_NAMES
from binx.log.selection.times import MICROSECONDS, format_in_zone, zone_offset
from binx.slices.search import Selected
from binx.source.log_names import printable
from binx.stats.dimensions import (
    MEASURES,
    MINUTE,
    QUARTER,
    Dimension,
    key_columns,
    measures_of,
    size_bound,
    size_step,
    time_floor,
)
from binx.stats.statement_sums import StatementSums

GROUPS_MAXIMUM = 65_536
"""Minimum number of groups kept; beyond twice as many, those with fewest bytes are dropped."""

NONE = -1
"""Key for a missing value, such as a connection."""

_INT64 = pa.int64()
_STATEMENT = Dimension.STATEMENT.columns[0]
_PARTS_MAXIMUM = 256
_PART_ROWS_MAXIMUM = 262_144
_CONVERTED_AT_ONCE = 8192
_STATEMENTS_SHARE = 8
_TABLE, _INSERTS, _UPDATES, _DELETES, _BYTES = range(5)


class GroupSums:
    """Sums by group while the logs are read; keys are numbers."""

    def __init__(self, by: Sequence[Dimension], *, quick: bool = False, zone: tzinfo = UTC) -> None:
        self._by = tuple(dict.fromkeys(by))
        self._quick = quick
        self._zone = zone
        self._columns = key_columns(self._by)
        # A table's name has two columns and one number, as does a size class and its bounds.
        left_out = {"below_bytes", "digest"} | ({"db"} if Dimension.TABLE in self._by else set())
        self._keys = [key for key in self._columns if key not in left_out]
        self._statements = StatementSums() if Dimension.STATEMENT in self._by else None
        self._measures = measures_of(self._by)
        # Statement texts take more memory than other keys.
        self._share = _STATEMENTS_SHARE if self._statements else 1
        self._of_rows = any(dimension.of_rows for dimension in self._by)
        self._of_databases = Dimension.DB in self._by and Dimension.TABLE not in self._by
        self._floors = {
            unit.value: time_floor(unit, zone_offset(zone)) for unit in (Dimension.HOUR, Dimension.DAY)
        }
        self._numbers: dict[object, int] = {}
        self._scan: TransactionScan | None = None
        self._table_numbers: list[int] = []
        self._source_numbers: dict[int, int] = {}
        self._parts: list[pa.Table] = []
        self._part_rows = 0
        self._complete = True

    def take(self, part: Selected) -> None:
        """Add the marked transactions."""
        if self._scan is not part.scan:
            self._scan, self._table_numbers, self._source_numbers = part.scan, [], {}
        sums = self._summed(self._rows(part))
        self._parts.append(sums)
        self._part_rows += sums.num_rows
        if self._part_rows > _PART_ROWS_MAXIMUM // self._share or len(self._parts) >= _PARTS_MAXIMUM:
            self._combine()

    def breakdown(self) -> dict[str, Any]:
        """Return all groups: in time order if the first dimension is a time, else the largest first."""
        self._combine()
        groups: list[dict[str, Any]] = []
        if self._parts:
            sums = self._parts.pop()
            order = [(name, "ascending") for name in self._keys]
            order.insert(1 if self._by[0].is_time else 0, ("bytes", "descending"))
            names = list(self._numbers)
            unknown = dict.fromkeys(self._measures[2:]) if self._quick else {}
            batches = sums.sort_by(order).to_batches(max_chunksize=_CONVERTED_AT_ONCE)
            for row in chain.from_iterable(batch.to_pylist() for batch in batches):
                keys = self._shown(row, names)
                measures = {name: row[name] for name in self._measures} | unknown
                groups.append({name: keys[name] for name in self._columns} | measures)
        complete = self._complete and (self._statements is None or self._statements.complete)
        return {"by": [dimension.value for dimension in self._by], "groups": groups, "complete": complete}

    def _rows(self, part: Selected) -> pa.Table:
        """Return one row per transaction, or per transaction and table, or per transaction and statement."""
        rows = TransactionRows(part.scan.file, part.scan, part.table, part.epoch, part.first_seqno)
        if self._statements is not None:
            indexes, numbers, sums = self._statements.of(part)
            parents = pa.array(indexes, _INT64)
            ones = pa.repeat(_integer(1), len(indexes))
            measures = [ones, *(pa.array(values, _INT64) for values in sums)]
            keys = {
                name: pa.array(numbers, _INT64) if name == _STATEMENT else self._key(name, rows).take(parents)
                for name in self._keys
            }
            return pa.table(dict(zip(self._measures, measures, strict=True)) | keys)
        offsets = rows.count_offsets
        inserts, updates, deletes = (rows.counts(field) for field in (_INSERTS, _UPDATES, _DELETES))
        changes = len(inserts)
        parents = pc.list_parent_indices(pa.ListArray.from_arrays(offsets, pa.nulls(changes, pa.null())))
        marks = pa.Array.from_buffers(pa.uint8(), len(rows), [None, pa.py_buffer(part.mask)])
        wanted = pc.equal(marks, pa.scalar(1, pa.uint8()))
        keys = {name: self._key(name, rows) for name in self._keys if name not in ("table", "db")}
        if self._of_rows:
            wanted = wanted.take(parents)
            keys = {name: values.take(parents) for name, values in keys.items()}
            of_tables = rows.counts(_TABLE)
            for name in {"table", "db"}.intersection(self._keys):
                keys[name] = self._table_keys(part.scan, name).take(of_tables)
            changed = pc.add(pc.add(inserts, updates), deletes)
            sums = [rows.counts(_BYTES), changed, inserts, updates, deletes]
        else:
            sums = [rows.array("bytes", _INT64), rows.array("rows", _INT64)]
            sums += [_sums_between(values, offsets) for values in (inserts, updates, deletes)]
        ones = pa.repeat(_integer(1), len(wanted))
        columns = dict(zip(MEASURES, [ones, *sums], strict=True)) | keys
        if self._of_databases:
            columns["parent"] = parents
        return pa.table(columns).filter(wanted)

    def _summed(self, rows: pa.Table) -> pa.Table:
        if self._of_databases:
            # A transaction that changes several tables of a database counts once.
            rows = self._grouped(rows, [*self._keys, "parent"])
            ones = pa.repeat(_integer(1), rows.num_rows)
            rows = rows.set_column(rows.column_names.index("transactions"), "transactions", ones)
        return self._grouped(rows, self._keys)

    def _grouped(self, rows: pa.Table, keys: list[str]) -> pa.Table:
        names = self._measures
        sums = rows.group_by(keys, use_threads=False).aggregate([(name, "sum") for name in names])
        return sums.select([*keys, *(f"{name}_sum" for name in names)]).rename_columns([*keys, *names])

    def _combine(self) -> None:
        """Combine the partial sums, and drop the smallest groups if there are too many."""
        if not self._parts:
            return
        sums = self._grouped(pa.concat_tables(self._parts), self._keys)
        most = GROUPS_MAXIMUM // self._share
        if sums.num_rows > 2 * most:
            self._complete = False
            order = [("bytes", "descending"), *((name, "ascending") for name in self._keys)]
            sums = sums.sort_by(order).slice(0, most)
            if self._statements is not None:
                self._statements.keep(set(sums[_STATEMENT].to_pylist()))
        self._parts, self._part_rows = [sums], sums.num_rows

    def _key(self, name: str, rows: TransactionRows) -> pa.Array:
        """Return each transaction's number in a dimension."""
        if name in ("server_id", "kind"):
            return rows.array(name, _INT64)
        if name == "thread_id":
            return rows.array(name, _INT64, rows.flagged(FLAG_HAS_THREAD)).fill_null(_integer(NONE))
        if name == "from_bytes":
            return _mapped(rows.array("bytes", _INT64), lambda size: size_step(size.bit_length()))
        if name == "file":
            return pa.repeat(_integer(self._number(rows.file.name)), len(rows))
        if name == "gtid_source":
            return _mapped(rows.array("source", _INT64), lambda slot: self._source(rows, slot))
        seconds = pc.divide(rows.array("commit_timestamp", _INT64), _integer(MICROSECONDS))
        if name == Dimension.MINUTE.value:
            return pc.multiply(pc.divide(seconds, _integer(MINUTE)), _integer(MINUTE))
        return _mapped(pc.divide(seconds, _integer(QUARTER)), self._floors[name])

    def _number(self, name: object) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def _source(self, rows: TransactionRows, slot: int) -> int:
        if slot not in self._source_numbers:
            key = rows.table.source_key(pc.index(rows.array("source", _INT64), _integer(slot)).as_py())
            self._source_numbers[slot] = NONE if key is None else self._number(str(source_of(key)))
        return self._source_numbers[slot]

    def _table_keys(self, scan: TransactionScan, name: str) -> pa.Array:
        """Return the name number of each table of a scan."""
        for number in range(len(self._table_numbers), scan.table_count):
            db, table = scan.table_name(number)
            self._table_numbers.append(self._number((db, table) if name == "table" else db))
        return pa.array(self._table_numbers, _INT64)

    def _shown(self, keys: dict[str, int], names: Sequence[Any]) -> dict[str, str | int | None]:
        """Return a group's keys for output."""
        shown: dict[str, str | int | None] = {}
        for name in self._keys:
            number = keys[name]
            if name == "from_bytes":
                shown[name], shown["below_bytes"] = size_bound(number), size_bound(number + 1)
            elif name in ("minute", "hour", "day"):
                shown[name] = self._time(name, number)
            elif name == "kind":
                shown[name] = KIND_NAMES[number]
            elif name == _STATEMENT and self._statements is not None:
                shown[name], shown["digest"] = self._statements.digest(number)
            elif number == NONE:
                shown[name] = None
            elif name == "table":
                shown["db"], shown["table"] = map(printable, names[number])
            else:
                shown[name] = printable(names[number]) if name in ("db", "file", "gtid_source") else number
        return shown

    def _time(self, name: str, second: int) -> str:
        """Format the start of a minute, an hour or a day; times outside the calendar stay numbers."""
        try:
            text = format_in_zone(second * MICROSECONDS, self._zone)
        except (OverflowError, ValueError, OSError):
            return f"@{second}"
        return text[:10] if name == "day" else text


def _integer(value: int) -> pa.Scalar:
    return pa.scalar(value, _INT64)


def _sums_between(values: pa.Array, offsets: pa.Array) -> pa.Array:
    """Sum the values from each offset up to the next."""
    sums = pa.concat_arrays([pa.array([0], _INT64), pc.cumulative_sum(values)])
    bounds = sums.take(offsets)
    return pc.subtract(bounds.slice(1), bounds.slice(0, len(offsets) - 1))


def _mapped(keys: pa.Array, value_of: Callable[[int], int]) -> pa.Array:
    """Map keys to values; each distinct key is looked up once."""
    encoded = keys.dictionary_encode()
    values = pa.array([value_of(key) for key in encoded.dictionary.to_pylist()], _INT64)
    return values.take(encoded.indices)
