"""What is summed up while logs are read: kinds, servers, sizes, times, tables, statements, sets of GTIDs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median

from binx.errors import DamagedError, UnsupportedError
from binx.event.query import Query
from binx.event.table_map import parse_kept_map
from binx.kernels.transactions.sums import Tally
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.log.events import transaction_events
from binx.log.file import BinlogFile
from binx.log.identifiers import transaction_id
from binx.log.scanning import KIND_NAMES, TransactionScan
from binx.log.selection.moments import MICROSECONDS
from binx.rows.ddl.parse import is_schema_statement
from binx.stats.dimensions import size_bound, size_step
from binx.stats.figures import (
    Bucket,
    Burst,
    Compression,
    DatabaseFigures,
    DdlStatement,
    Histogram,
    KindFigures,
    ServerFigures,
    SizeFigures,
    TableFigures,
    ThreadFigures,
)
from binx.stats.findings import TableFacts

_BURST_TIMES = 4
_BURST_SPANS = 8
_BURST_SHARE = 100
_THREAD_BITS = 32
_THREAD_MASK = (1 << _THREAD_BITS) - 1


def kind_figures(tally: Tally, *, quick: bool) -> tuple[KindFigures, ...]:
    """By kind, the most frequent first."""
    figures = [
        KindFigures(KIND_NAMES[kind], transactions, size, None if quick else rows)
        for kind, (transactions, size, rows) in tally.kinds.items()
    ]
    return tuple(sorted(figures, key=lambda one: (-one.transactions, one.kind)))


def server_figures(tally: Tally, *, quick: bool) -> tuple[ServerFigures, ...]:
    """By the server that made the change first, the one with most bytes first."""
    figures = [
        ServerFigures(server, transactions, size, None if quick else rows)
        for server, transactions, size, rows in tally.servers
    ]
    return tuple(sorted(figures, key=lambda one: (-one.bytes, one.server_id)))


def thread_figures(tally: Tally, top: int, *, quick: bool) -> tuple[ThreadFigures, ...]:
    """The connections with most bytes."""
    most = sorted(tally.threads, key=lambda one: (-one[2], one[0]))[:top]
    return tuple(
        ThreadFigures(key >> _THREAD_BITS, key & _THREAD_MASK, transactions, size, None if quick else rows)
        for key, transactions, size, rows in most
    )


def size_figures(tally: Tally) -> tuple[SizeFigures, ...]:
    """By size: below 1 KiB, then in steps of four; the tally knows the bits that each size takes."""
    classes: dict[int, list[int]] = {}
    for bits, (transactions, size, _) in tally.sizes.items():
        sums = classes.setdefault(size_step(bits), [0, 0])
        sums[0] += transactions
        sums[1] += size
    return tuple(
        SizeFigures(size_bound(step), size_bound(step + 1), *classes[step]) for step in sorted(classes)
    )


def histogram(tally: Tally, *, quick: bool) -> Histogram | None:
    """Transactions over commit time; None where there are none."""
    seconds, first, sums = tally.histogram
    if not sums:
        return None
    return Histogram(
        seconds,
        tuple(
            Bucket((first + place * seconds) * MICROSECONDS, transactions, size, None if quick else rows)
            for place, (transactions, size, rows) in enumerate(sums)
        ),
    )


def compression_figures(tally: Tally) -> Compression:
    """What was compressed as a whole."""
    transactions, size, _, uncompressed = tally.compressed
    return Compression(transactions, size, uncompressed, round(uncompressed / size, 2) if size else None)


def bursts(histogram: Histogram | None) -> tuple[Burst, ...]:
    """The runs of neighbouring spans that each have over four times the usual bytes, the largest first.

    What is usual is the median of the spans in which anything was committed. A run counts where it has at
    least a hundredth of all bytes; of fewer than eight spans with transactions none is unusual.
    """
    if histogram is None:
        return ()
    sizes = [bucket.bytes for bucket in histogram.buckets if bucket.transactions]
    if len(sizes) < _BURST_SPANS:
        return ()
    usual = median(sizes)
    found = []
    for above, run in groupby(histogram.buckets, key=lambda bucket: bucket.bytes > _BURST_TIMES * usual):
        spans = list(run)
        size = sum(span.bytes for span in spans)
        if above and size * _BURST_SHARE >= sum(sizes):
            found.append(
                Burst(
                    start=spans[0].start,
                    end=spans[-1].start + histogram.bucket_seconds * MICROSECONDS,
                    transactions=sum(span.transactions for span in spans),
                    bytes=size,
                    times_usual=round(size / len(spans) / usual, 1),
                )
            )
    return tuple(sorted(found, key=lambda burst: (-burst.bytes, burst.start)))


TABLES_MAXIMUM = 65_536
"""Tables that are kept, at least; behind twice as many, those with fewest bytes are given up."""

_NOTHING = (0, 0, 0, 0)


class TableSums:
    """The sums of all scans so far."""

    def __init__(self) -> None:
        self.facts = TableFacts()
        self.complete = True
        self._tables: dict[tuple[str, str], Sequence[int]] = {}

    def take(self, scan: TransactionScan, taken: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Add a scan's sums.

        Args:
            scan: a scan that is over.
            taken: by its table numbers: transactions, inserts, updates, deletes, bytes.
        """
        changed = set()
        for number, (transactions, *sums) in enumerate(taken):
            if transactions:
                changed.add(number)
                name = scan.table_name(number)
                known = self._tables.get(name, _NOTHING)
                self._tables[name] = [before + more for before, more in zip(known, sums, strict=True)]
        self._take_maps(scan, changed)
        if len(self._tables) > 2 * TABLES_MAXIMUM:
            self._forget()

    def tables(self) -> tuple[TableFigures, ...]:
        """By table, those with most bytes first."""
        figures = [TableFigures(db, table, *sums) for (db, table), sums in self._tables.items()]
        return tuple(sorted(figures, key=lambda one: (-one.bytes, one.db, one.table)))

    def databases(self) -> tuple[DatabaseFigures, ...]:
        """By database, those with most bytes first."""
        databases: dict[str, list[int]] = {}
        for (db, _), sums in self._tables.items():
            known = databases.setdefault(db, [0, *_NOTHING])
            known[:] = [before + more for before, more in zip(known, (1, *sums), strict=True)]
        figures = [DatabaseFigures(db, *sums) for db, sums in databases.items()]
        return tuple(sorted(figures, key=lambda one: (-one.bytes, one.db)))

    def _take_maps(self, scan: TransactionScan, changed: set[int]) -> None:
        self.facts.uncounted.update(f"{db}.{table}" for db, table in scan.uncounted_tables())
        for number, body in scan.table_maps():
            if number not in changed:
                continue
            try:
                table_map = parse_kept_map(body, scan.file.format)
            except (DamagedError, UnsupportedError):
                continue  # Nothing more is known of it.
            for field_type, _ in table_map.unknown_metadata:
                self.facts.unknown_metadata.setdefault(field_type, set()).add(table_map.name)
            if not all(column.name for column in table_map.columns):
                self.facts.without_names.add(table_map.name)
            elif not table_map.has_primary_key:
                self.facts.without_key.add(table_map.name)

    def _forget(self) -> None:
        """Keep the tables with most bytes."""
        self.complete = False
        most = sorted(self._tables.items(), key=lambda item: (-item[1][-1], item[0]))[:TABLES_MAXIMUM]
        self._tables = dict(most)
        kept = {f"{db}.{table}" for db, table in self._tables}
        self.facts.without_names &= kept
        self.facts.without_key &= kept
        self.facts.uncounted &= kept
        for tables in self.facts.unknown_metadata.values():
            tables.intersection_update(kept)


DDL_LISTED = 200
"""Statements of DDL that are kept, at most."""

DDL_LOOKED_AT = 10_000
"""Statements of DDL that are looked at for foreign keys, at most."""

MIXTURES_LOOKED_AT = 200
"""Transactions of both statements and rows that are looked at, at most; later ones count as statements."""

_LARGEST = 2**63 - 1
_CHARACTERS = 2_000
_CASCADE = re.compile(r"\bON\s+(?:DELETE|UPDATE)\s+(?:CASCADE|SET\s+NULL|SET\s+DEFAULT)\b", re.IGNORECASE)


class StatementReader:
    """Reads the statements of transactions page by page.

    Attributes:
        ddl: the first statements that are transactions of their own.
        cascades: how many of those that were looked at define foreign keys that change rows by themselves.
        only_tables_made: transactions whose only statements make the tables of their rows
            (CREATE TABLE … SELECT).
    """

    def __init__(self) -> None:
        self.ddl: list[DdlStatement] = []
        self.cascades = 0
        self.only_tables_made = 0
        self._ddl_looked_at = 0
        self._mixtures_looked_at = 0

    def take(self, file: BinlogFile, table: TransactionTable, mask: bytearray) -> None:
        """Look at the marked transactions.

        Raises:
            DamagedError, UnsupportedError: a statement cannot be read.
        """
        self._take_ddl(file, table, bytearray(mask))
        self._take_mixtures(file, table, bytearray(mask))

    def _take_ddl(self, file: BinlogFile, table: TransactionTable, mask: bytearray) -> None:
        if self._ddl_looked_at >= DDL_LOOKED_AT:
            return
        table.keep_values(mask, "kind", [Kind.KIND_DDL])
        for index in table.marked(mask)[: DDL_LOOKED_AT - self._ddl_looked_at]:
            self._ddl_looked_at += 1
            start, end = table.value("start", index), table.value("end", index)
            events = transaction_events(file, start, end, table.format)
            query = next((event for _, event in events if isinstance(event, Query)), None)
            if query is None:
                continue
            self.cascades += _CASCADE.search(query.text) is not None
            if len(self.ddl) < DDL_LISTED:
                self.ddl.append(
                    DdlStatement(
                        transaction=transaction_id(file, table, index),
                        commit_timestamp=table.value("commit_timestamp", index),
                        file=file.name,
                        start=start,
                        db=query.database,
                        sql=query.text[:_CHARACTERS],
                    )
                )

    def _take_mixtures(self, file: BinlogFile, table: TransactionTable, mask: bytearray) -> None:
        table.keep_range(mask, "statements", 1, _LARGEST)
        table.keep_range(mask, "rows", 1, _LARGEST)
        if self._mixtures_looked_at >= MIXTURES_LOOKED_AT or not any(mask):
            return
        for index in table.marked(mask)[: MIXTURES_LOOKED_AT - self._mixtures_looked_at]:
            self._mixtures_looked_at += 1
            start, end = table.value("start", index), table.value("end", index)
            texts = [
                event.text
                for _, event in transaction_events(file, start, end, table.format)
                if isinstance(event, Query)
            ]
            made = sum(map(is_schema_statement, texts))
            self.only_tables_made += made == table.value("statements", index)
