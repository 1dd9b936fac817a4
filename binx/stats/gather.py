"""The pass over binary logs that gathers their figures.

Each file is read once, and what is kept does not grow with the number of transactions: running sums
(:mod:`binx.kernels.tally`), the few largest, one entry a table, the GTID set as intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.event import Query
from binx.event.format import ChecksumAlgorithm
from binx.event.gtid_set import GtidSet
from binx.event.header import EventFlag, EventHeader, EventType, event_name
from binx.event.table_map import parse_table_map
from binx.kernels.scan import Level
from binx.kernels.tally import Measure, Tally
from binx.kernels.transactions import Kind, TransactionTable
from binx.log.chain import FileEnds, ends_problems, epochs, known_ends, order_ends
from binx.log.events import transaction_events
from binx.log.file import BinlogFile, TransactionScan
from binx.log.gtid_gaps import missing_gtids
from binx.log.identifiers import transaction_id
from binx.log.selection import source_of
from binx.stats.figures import (
    DdlStatement,
    EventFigures,
    FileFigures,
    Point,
    Statistics,
    TableFigures,
)
from binx.stats.findings import Evidence, TableFacts, findings
from binx.stats.ranking import Best
from binx.stats.sums import (
    compression_figures,
    histogram,
    kind_figures,
    server_figures,
    size_figures,
    thread_figures,
)
from binx.stats.transaction import MICROSECONDS, Page

DDL_LISTED = 200
"""Statements of DDL that are kept, at most."""

MIXTURES_LOOKED_AT = 200
"""Transactions of both statements and rows that are looked at, at most; later ones count as statements."""

_LARGEST = 2**63 - 1
_DDL_CHARACTERS = 2_000
_LONG = MICROSECONDS - 1
_TABLE_ID_AND_FLAGS = bytes(8)


def gather(
    files: Sequence[BinlogFile],
    *,
    quick: bool = False,
    verify: bool = True,
    top: int = 10,
    on_progress: Callable[[int], None] | None = None,
) -> Statistics:
    """The figures of logs, which are brought into the order of their chain.

    A file that is damaged counts up to the damage; the rest of it is accounted for as ``damaged_bytes``.
    Where each file has its index attached, a quick look takes all from there and knows what a full pass does.

    Args:
        files: the logs, open.
        quick: read the index alone, see :class:`Statistics` for what stays unknown.
        verify: whether checksums are compared.
        top: how many of the largest and longest transactions and of the connections are kept.
        on_progress: called now and then with the bytes that were read so far, of all files.
    """
    ends = order_ends([known_ends(file) for file in files])
    stored = quick and bool(files) and all(file.sidecar is not None for file in files)
    gathering = _Gathering(quick=quick and not stored, top=top)
    level = Level.LEVEL_INDEX if quick and not stored else Level.LEVEL_TABLES
    read = 0
    for one, epoch in zip(ends, epochs([one.file for one in ends]), strict=True):
        scan = (one.file.transactions if stored else one.file.scan)(level, verify=verify)
        gathering.begin(one, scan, epoch)
        try:
            for table in scan:
                gathering.take(table)
                if on_progress is not None:
                    on_progress(read + scan.position)
        except (DamagedError, UnsupportedError) as error:
            gathering.end(error)
        else:
            gathering.end(None)
        read += one.file.size
        if on_progress is not None:
            on_progress(read)
    return gathering.statistics(ends)


class _Gathering:
    """What is known so far; for each file ``begin``, ``take`` for its tables and ``end``."""

    def __init__(self, *, quick: bool, top: int) -> None:
        self._quick = quick
        self._top = top
        self._tally = Tally()
        self._largest = Best(Measure.MEASURE_BYTES, top)
        self._longest = Best(Measure.MEASURE_DURATION, top, floor=_LONG)
        self._tables: dict[tuple[str, str], list[int]] = {}
        self._facts = TableFacts()
        self._ddl: list[DdlStatement] = []
        self._looked_at = 0
        self._only_tables_made = 0
        self._events: dict[int, list[int]] = {}
        self._unknown_events: Counter[int] = Counter()
        self._gtids = GtidSet()
        self._files: list[FileFigures] = []
        self._seqno = 1

    def begin(self, ends: FileEnds, scan: TransactionScan, epoch: int) -> None:
        """Begin a file."""
        self._ends = ends
        self._scan = scan
        self._epoch = epoch
        self._first: Point | None = None
        self._last: Point | None = None
        self._file_gtids = GtidSet()
        self._count = 0
        self._bytes = self._tally.totals[1]

    def take(self, table: TransactionTable) -> None:
        """Add a table of the file's transactions."""
        page = Page(self._ends.file, self._scan, table, self._epoch, self._seqno)
        self._tally.add(table)
        self._largest.take(page)
        self._longest.take(page)
        runs = table.gtid_runs(table.mask())
        if runs:
            self._file_gtids |= GtidSet((source_of(key), first, last) for key, first, last in runs)
        if not self._quick:
            self._take_ddl(table)
            self._look_at_mixtures(table)
        self._first = self._first or self._point(table, 0)
        self._last = self._point(table, len(table) - 1)
        self._seqno += len(table)
        self._count += len(table)

    def end(self, error: BinxError | None) -> None:
        """Close the file's account."""
        file, scan, description = self._ends.file, self._scan, self._ends.file.format
        transaction_bytes = self._tally.totals[1] - self._bytes
        unread = file.size - scan.accounted
        damaged = unread if error is not None else 0
        events = None
        if not self._quick:
            events = self._take_events(scan)
            self._take_tables(scan)
        self._gtids |= self._file_gtids
        previous = self._ends.previous_gtids
        self._files.append(
            FileFigures(
                path=file.path,
                name=file.name,
                bytes=file.size,
                server_version=description.server_version,
                flavour=description.flavour.value,
                server_id=description.server_id,
                create_timestamp=description.header_timestamp * MICROSECONDS,
                at_startup=description.at_startup,
                epoch=self._epoch,
                checksum=ChecksumAlgorithm(description.checksum).name,
                in_use=description.in_use,
                ending="damaged" if scan.ending is None else scan.ending.value,
                next_file=self._ends.next_file,
                transactions=self._count,
                events=events,
                first=self._first,
                last=self._last,
                gtid_set=str(self._file_gtids),
                previous_gtids=None if previous is None else str(previous),
                header_bytes=scan.accounted - transaction_bytes,
                transaction_bytes=transaction_bytes,
                unfinished_bytes=unread - damaged,
                damaged_bytes=damaged,
                problem=None if error is None else str(error),
            )
        )

    def statistics(self, ends: Sequence[FileEnds]) -> Statistics:
        """All figures."""
        tally = self._tally
        transactions, transaction_bytes, rows = tally.totals
        known = not self._quick
        missing = missing_gtids(self._gtids, [one.previous_gtids for one in ends])
        kinds = kind_figures(tally, quick=self._quick)
        evidence = Evidence(
            files=self._files,
            unknown_events=self._unknown_events,
            problems=ends_problems(ends),
            kinds=kinds,
            largest=self._largest.transactions,
            transaction_bytes=transaction_bytes,
            tables=self._facts,
            with_text=tally.with_text[0] - self._only_tables_made if known else 0,
            backward_steps=tally.backward_steps[0],
            largest_step=tally.backward_steps[1],
            missing_gtids=str(missing),
            missing_count=missing.count,
            ddl=self._ddl,
            versions=frozenset((one.file.format.flavour, one.file.format.version) for one in ends),
        )
        return Statistics(
            files=tuple(self._files),
            transactions=transactions,
            events=sum(file.events or 0 for file in self._files) if known else None,
            bytes=sum(file.bytes for file in self._files),
            first=next((file.first for file in self._files if file.first), None),
            last=next((file.last for file in reversed(self._files) if file.last), None),
            tables=self._table_figures() if known else None,
            kinds=kinds,
            largest=self._largest.transactions,
            longest=self._longest.transactions,
            histogram=histogram(tally, quick=self._quick),
            warnings=findings(evidence),
            quick=self._quick,
            complete=not any(file.damaged_bytes for file in self._files),
            rows=rows if known else None,
            statements=tally.statements if known else None,
            ddl=sum(kind.transactions for kind in kinds if kind.kind == "ddl"),
            ddl_statements=tuple(self._ddl) if known else None,
            servers=server_figures(tally, quick=self._quick),
            threads=thread_figures(tally, self._top, quick=self._quick),
            threads_complete=not tally.threads_forgotten,
            sizes=size_figures(tally),
            event_types=self._event_types() if known else None,
            compression=compression_figures(tally),
            checksummed_bytes=sum(file.bytes for file in self._files if file.checksum != "OFF"),
            gtid_set=str(self._gtids),
            missing_gtids=str(missing),
        )

    def _point(self, table: TransactionTable, index: int) -> Point:
        return Point(
            transaction=transaction_id(self._ends.file, table, index),
            commit_timestamp=table.value("commit_timestamp", index),
            file=self._ends.file.name,
            start=table.value("start", index),
        )

    def _take_ddl(self, table: TransactionTable) -> None:
        """Read the statements of the first transactions that are DDL."""
        if len(self._ddl) >= DDL_LISTED:
            return
        mask = table.mask()
        table.keep_values(mask, "kind", [Kind.KIND_DDL])
        for index in table.marked(mask)[: DDL_LISTED - len(self._ddl)]:
            point = self._point(table, index)
            events = transaction_events(self._ends.file, point.start, table.value("end", index), table.format)
            query = next((event for _, event in events if isinstance(event, Query)), None)
            if query is not None:
                self._ddl.append(
                    DdlStatement(
                        transaction=point.transaction,
                        commit_timestamp=point.commit_timestamp,
                        file=point.file,
                        start=point.start,
                        db=query.database,
                        sql=query.text[:_DDL_CHARACTERS],
                    )
                )

    def _look_at_mixtures(self, table: TransactionTable) -> None:
        """Count transactions whose only statement makes the table of their rows (CREATE TABLE … SELECT)."""
        mask = table.mask()
        table.keep_range(mask, "statements", 1, _LARGEST)
        table.keep_range(mask, "rows", 1, _LARGEST)
        if self._looked_at >= MIXTURES_LOOKED_AT or not any(mask):
            return
        from binx.rows.ddl import is_schema_statement

        for index in table.marked(mask)[: MIXTURES_LOOKED_AT - self._looked_at]:
            self._looked_at += 1
            start, end = table.value("start", index), table.value("end", index)
            texts = [
                event.text
                for _, event in transaction_events(self._ends.file, start, end, table.format)
                if isinstance(event, Query)
            ]
            made = sum(map(is_schema_statement, texts))
            self._only_tables_made += made == table.value("statements", index)

    def _take_events(self, scan: TransactionScan) -> int:
        """Add the scan's events by type; returns how many there are."""
        totals = scan.totals()
        self._unknown_events.update(totals.unknown)
        for number in totals.events.keys() | totals.inner.keys():
            sums = self._events.setdefault(number, [0, 0, 0])
            sums[0] += totals.events.get(number, 0)
            sums[1] += totals.bytes.get(number, 0)
            sums[2] += totals.inner.get(number, 0)
        return sum(totals.events.values())

    def _take_tables(self, scan: TransactionScan) -> None:
        """Add the scan's sums by table, and what its table maps say of the tables that were changed."""
        changed = set()
        for number, (transactions, *sums) in enumerate(self._tally.take_tables()):
            if transactions:
                changed.add(number)
                known = self._tables.setdefault(scan.table_name(number), [0, 0, 0, 0])
                known[:] = [before + more for before, more in zip(known, sums, strict=True)]
        header = EventHeader(0, EventType.TABLE_MAP, 0, 0, 0, EventFlag(0), 0)
        for number, body in scan.table_maps():
            if number not in changed:
                continue
            width = 6 if scan.file.format.post_header_length(EventType.TABLE_MAP, 8) == 6 else 8
            try:
                table_map = parse_table_map(
                    memoryview(_TABLE_ID_AND_FLAGS[:width] + body), header, scan.file.format
                )
            except (DamagedError, UnsupportedError):
                continue  # Its rows could be counted, and nothing more is known of it.
            if not all(column.name for column in table_map.columns):
                self._facts.without_names.add(table_map.name)
            elif not table_map.has_primary_key:
                self._facts.without_key.add(table_map.name)

    def _table_figures(self) -> tuple[TableFigures, ...]:
        figures = [TableFigures(db, table, *sums) for (db, table), sums in self._tables.items()]
        return tuple(sorted(figures, key=lambda one: (-one.bytes, one.db, one.table)))

    def _event_types(self) -> tuple[EventFigures, ...]:
        figures = [EventFigures(event_name(number), *sums) for number, sums in self._events.items()]
        return tuple(sorted(figures, key=lambda one: (-one.bytes, one.type)))


__all__ = ["DDL_LISTED", "gather"]
