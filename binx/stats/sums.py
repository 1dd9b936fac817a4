"""Sums gathered while logs are read: kinds, servers, sizes, times, tables, statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from statistics import median
from typing import Any

from binx.errors import DamagedError, UnsupportedError
from binx.event.format import FormatDescription
from binx.event.query_event import Query
from binx.event.rows_events import RowsFlag, RowsHeader
from binx.event.table_map import parse_map_body
from binx.kernels.transactions.summaries import Tally
from binx.kernels.transactions.table import Kind
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.identifiers import transaction_id
from binx.log.scanning import KIND_NAMES
from binx.log.selection.times import MICROSECONDS, moment_json
from binx.log.transaction_events import transaction_events
from binx.rows.ddl.parse import is_schema_statement
from binx.slices.search import Selected
from binx.source.log_names import printable
from binx.stats.dimensions import size_bound, size_step
from binx.stats.text import moment_of

Record = dict[str, Any]
"""A record of the figures, as in JSON."""

_SUMS = ("transactions", "bytes", "rows")
_CHANGES = ("inserts", "updates", "deletes", "bytes")
_BURST_TIMES = 4
_BURST_SPANS = 8
_BURST_SHARE = 100


def records(names: Sequence[str], rows: Iterable[Sequence[Any]], *, quick: bool = False) -> list[Record]:
    """Convert rows to records; in a quick pass the row changes are unknown."""
    result = [dict(zip(names, row, strict=True)) for row in rows]
    return [record | {"rows": None} for record in result] if quick else result


def by_kind(tally: Tally, *, quick: bool) -> list[Record]:
    """Return the sums by kind, the most frequent first."""
    rows = [(KIND_NAMES[kind], *sums) for kind, sums in tally.kinds.items()]
    rows.sort(key=lambda row: (-row[1], row[0]))
    return records(("kind", *_SUMS), rows, quick=quick)


def by_server(tally: Tally, *, quick: bool) -> list[Record]:
    """Return the sums by originating server, the one with most bytes first."""
    rows = sorted(tally.servers, key=lambda row: (-row[2], row[0]))
    return records(("server_id", *_SUMS), rows, quick=quick)


def by_thread(tally: Tally, top: int, *, quick: bool) -> list[Record]:
    """Return the connections with most bytes."""
    most = sorted(tally.threads, key=lambda row: (-row[2], row[0]))[:top]
    rows = [(key >> 32, key & 0xFFFFFFFF, *sums) for key, *sums in most]
    return records(("server_id", "thread_id", *_SUMS), rows, quick=quick)


def by_size(tally: Tally) -> list[Record]:
    """Return the sums by size class: below 1 KiB, then in steps of four; the tally counts by bit length."""
    classes: dict[int, list[int]] = {}
    for bits, (transactions, size, _) in tally.sizes.items():
        sums = classes.setdefault(size_step(bits), [0, 0])
        sums[0] += transactions
        sums[1] += size
    rows = [(size_bound(step), size_bound(step + 1), *classes[step]) for step in sorted(classes)]
    return records(("from_bytes", "below_bytes", "transactions", "bytes"), rows)


def over_time(tally: Tally, *, quick: bool) -> Record | None:
    """Return transactions over commit time, in at most 240 intervals aligned to their length."""
    seconds, first, sums = tally.histogram
    if not sums:
        return None
    rows = [
        (moment_json((first + index * seconds) * MICROSECONDS), *sums[index]) for index in range(len(sums))
    ]
    return {"bucket_seconds": seconds, "buckets": records(("since", *_SUMS), rows, quick=quick)}


def compression(tally: Tally) -> Record:
    """Return the sums of transactions that MySQL compressed as a whole (TRANSACTION_PAYLOAD)."""
    transactions, size, _, uncompressed = tally.compressed
    ratio = round(uncompressed / size, 2) if size else None
    return {"transactions": transactions, "bytes": size, "uncompressed_bytes": uncompressed, "ratio": ratio}


def bursts(histogram: Record | None) -> list[Record]:
    """Return the runs of neighbouring spans with over four times the usual bytes each, the largest first.

    Usual is the median of the spans with any commits. A run counts if it has at least a hundredth of all
    bytes; with fewer than eight such spans nothing counts as unusual.
    """
    buckets = [] if histogram is None else histogram["buckets"]
    sizes = [bucket["bytes"] for bucket in buckets if bucket["transactions"]]
    if len(sizes) < _BURST_SPANS:
        return []
    usual = median(sizes)
    runs = []
    for above, grouped in groupby(buckets, key=lambda bucket: bucket["bytes"] > _BURST_TIMES * usual):
        run = list(grouped)
        size = sum(bucket["bytes"] for bucket in run)
        if above and histogram is not None and size * _BURST_SHARE >= sum(sizes):
            end = moment_of(run[-1]["since"]) + histogram["bucket_seconds"] * MICROSECONDS
            runs.append(
                {
                    "since": run[0]["since"],
                    "until": moment_json(end),
                    "transactions": sum(bucket["transactions"] for bucket in run),
                    "bytes": size,
                    "times_usual": round(size / len(run) / usual, 1),
                }
            )
    return sorted(runs, key=lambda burst: -burst["bytes"])


TABLES_MAXIMUM = 65_536
"""Minimum number of tables kept; beyond twice as many, those with fewest bytes are dropped."""


class TableTotals:
    """Sums by table over all scans, and information from table maps.

    Attributes:
        without_key: names of changed tables that have no primary key.
        without_names: names of changed tables without column names in at least one map.
        unknown_metadata: names of changed tables by the types of metadata fields that binx does not know.
        uncounted: names of tables whose rows are not counted.
    """

    def __init__(self) -> None:
        self.complete = True
        self.without_key: set[str] = set()
        self.without_names: set[str] = set()
        self.unknown_metadata: dict[int, set[str]] = {}
        self.uncounted: set[str] = set()
        self._tables: dict[tuple[str, str], list[int]] = {}

    def take(self, scan: TransactionScan, sums: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Add a scan's sums.

        Args:
            sums: by its table numbers: transactions, inserts, updates, deletes, bytes.
        """
        changed = set()
        for number, (transactions, *figures) in enumerate(sums):
            if transactions:
                changed.add(number)
                totals = self._tables.setdefault(scan.table_name(number), [0, 0, 0, 0])
                totals[:] = map(sum, zip(totals, figures, strict=True))
        self._take_maps(scan, changed)
        if len(self._tables) > 2 * TABLES_MAXIMUM:
            self._forget()

    def by_table(self) -> list[Record]:
        """Return the sums by table, those with most bytes first."""
        rows = [(printable(db), printable(table), *sums) for (db, table), sums in self._tables.items()]
        return records(("db", "table", *_CHANGES), sorted(rows, key=lambda row: (-row[-1], row[:2])))

    def by_database(self) -> list[Record]:
        """Return the sums by database, those with most bytes first."""
        databases: dict[str, list[int]] = {}
        for (db, _), sums in self._tables.items():
            totals = databases.setdefault(db, [0] * 5)
            totals[:] = map(sum, zip(totals, (1, *sums), strict=True))
        rows = [(printable(db), *sums) for db, sums in databases.items()]
        return records(("db", "table_count", *_CHANGES), sorted(rows, key=lambda row: (-row[-1], row[0])))

    def _take_maps(self, scan: TransactionScan, changed: set[int]) -> None:
        self.uncounted.update(f"{db}.{table}" for db, table in scan.uncounted_tables())
        for number, body in scan.table_maps():
            if number not in changed:
                continue
            try:
                table_map = parse_map_body(body, scan.file.format)
            except (DamagedError, UnsupportedError):
                continue  # Nothing more is known about it.
            for field_type, _ in table_map.unknown_metadata:
                self.unknown_metadata.setdefault(field_type, set()).add(table_map.name)
            if not all(column.name for column in table_map.columns):
                self.without_names.add(table_map.name)
            elif not table_map.has_primary_key:
                self.without_key.add(table_map.name)

    def _forget(self) -> None:
        """Keep only the tables with most bytes."""
        self.complete = False
        most = sorted(self._tables.items(), key=lambda item: (-item[1][-1], item[0]))[:TABLES_MAXIMUM]
        self._tables = dict(most)
        kept_names = {f"{db}.{table}" for db, table in self._tables}
        for names in (self.without_names, self.without_key, self.uncounted, *self.unknown_metadata.values()):
            names.intersection_update(kept_names)


DDL_LISTED = 200
"""Maximum number of DDL statements kept."""

DDL_READ = 10_000
"""Maximum number of DDL statements searched for foreign keys."""

MIXTURES_READ = 1_000
"""Maximum number of transactions whose statements are examined; later ones count as changing rows."""

_LARGEST = 2**63 - 1
_CHARACTERS = 2_000
_CASCADE = re.compile(r"\bON\s+(?:DELETE|UPDATE)\s+(?:CASCADE|SET\s+NULL|SET\s+DEFAULT)\b", re.IGNORECASE)


class StatementTotals:
    """Reads statements that are logged as text.

    Attributes:
        ddl: the first statements that are transactions of their own.
        only_tables_made: transactions whose only statements define tables (CREATE TABLE … SELECT, CREATE
            TABLE … START TRANSACTION).
    """

    def __init__(self) -> None:
        self.ddl: list[Record] = []
        self._cascades = 0
        self._first_rows: dict[BinlogFile, tuple[int, int, FormatDescription]] = {}
        self.only_tables_made = 0
        self._ddl_left = DDL_READ
        self._mixtures_left = MIXTURES_READ

    def take(self, part: Selected) -> None:
        """Examine the marked transactions."""
        table, mask = part.table, bytearray(part.mask)
        if part.scan.file not in self._first_rows:
            table.keep_range(mask, "rows", 1, _LARGEST)
            for index in table.marked(mask)[:1]:
                span = table.value("start", index), table.value("end", index)
                self._first_rows[part.scan.file] = *span, table.format
            mask = bytearray(part.mask)
        if self._ddl_left:
            table.keep_values(mask, "kind", [Kind.KIND_DDL])
            indexes = table.marked(mask)[: self._ddl_left]
            self._ddl_left -= len(indexes)
            for index in indexes:
                query = next(_queries(part, index), None)
                if query is not None:
                    self._take_ddl(part, index, query)
        if self._mixtures_left:
            mask = bytearray(part.mask)
            table.keep_values(mask, "kind", set(Kind) - {Kind.KIND_DDL})
            table.keep_range(mask, "statements", 1, _LARGEST)
            indexes = table.marked(mask)[: self._mixtures_left]
            self._mixtures_left -= len(indexes)
            for index in indexes:
                made = sum(is_schema_statement(query.text) for query in _queries(part, index))
                self.only_tables_made += made == table.value("statements", index)

    @property
    def unlogged_cascades(self) -> int:
        """Statements that define foreign keys with actions that change rows, if these are not logged."""
        places = self._first_rows.items() if self._cascades else ()
        return self._cascades if any(not _logs_cascades(file, *place) for file, place in places) else 0

    def _take_ddl(self, part: Selected, index: int, query: Query) -> None:
        self._cascades += _CASCADE.search(query.text) is not None
        if len(self.ddl) < DDL_LISTED:
            file, value = part.scan.file, part.table.value
            self.ddl.append(
                {
                    "transaction": transaction_id(file, part.table, index),
                    "commit_timestamp": moment_json(value("commit_timestamp", index)),
                    "file": printable(file.name),
                    "start": value("start", index),
                    "db": printable(query.database),
                    "sql": printable(query.text[:_CHARACTERS]),
                }
            )


def _logs_cascades(file: BinlogFile, start: int, end: int, description: FormatDescription) -> bool:
    """Return whether a log has what foreign keys change, by the first rows of one of its transactions."""
    try:
        for _, event in transaction_events(file, start, end, description):
            if isinstance(event, RowsHeader):
                return bool(event.flags & RowsFlag.USE_SQL_FOREIGN_KEY)
    except (DamagedError, UnsupportedError):
        pass  # The log's own problem.
    return True


def _queries(part: Selected, index: int) -> Iterator[Query]:
    """Yield the statements of a transaction."""
    start, end = part.table.value("start", index), part.table.value("end", index)
    events = transaction_events(part.scan.file, start, end, part.table.format)
    return (event for _, event in events if isinstance(event, Query))
