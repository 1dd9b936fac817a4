"""The pass over binary logs that gathers their figures.

Each file is read once, and what is kept does not grow with the number of transactions: running sums
(:mod:`binx.kernels.transactions.sums`), the few largest, one entry a table, the GTID set as intervals.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from binx.errors import BinxError, DamagedError, UnsupportedError, UsageError
from binx.event.format import ChecksumAlgorithm
from binx.event.gtid.sets import GtidSet
from binx.event.header import event_name
from binx.kernels.transactions.selection import Measure, measures, rank
from binx.kernels.transactions.sums import Tally
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import ends_problems, epochs, missing_gtids, order_ends
from binx.log.chain.ends import FileEnds, known_ends
from binx.log.file import BinlogFile
from binx.log.identifiers import marked_gtids, transaction_id
from binx.log.scan import Scan
from binx.log.scanning import OnDamage, TransactionScan
from binx.log.selection.moments import MICROSECONDS
from binx.log.selection.selection import Selection, Selector, required_level
from binx.stats.dimensions import Dimension
from binx.stats.figures import EventFigures, FileFigures, Point, Statistics
from binx.stats.findings import HUGE_BYTES, LONG_SECONDS, Evidence, findings
from binx.stats.sums import (
    StatementReader,
    TableSums,
    bursts,
    compression_figures,
    histogram,
    kind_figures,
    server_figures,
    size_figures,
    thread_figures,
)
from binx.stats.transaction import Page, Ranking, described_without_text

if TYPE_CHECKING:
    from binx.stats.breakdown import GroupSums

INTERVALS_MAXIMUM = 65_536
"""Intervals of selected transactions' GTIDs that are kept, at most."""

_RANKED_LEAST = 4
_DAMAGES_TOLD = 3


def gather(
    files: Sequence[BinlogFile],
    *,
    selection: Selection | None = None,
    by: Sequence[Dimension] = (),
    zone: tzinfo = UTC,
    quick: bool = False,
    verify: bool = True,
    on_damage: OnDamage = OnDamage.STOP,
    top: int = 10,
    on_progress: Callable[[int], None] | None = None,
) -> Statistics:
    """The figures of logs, which are brought into the order of their chain.

    A file that is damaged counts up to the damage, and the rest of it as ``damaged_bytes``; where damage is
    salvaged, these are the damaged bytes alone, and what is whole behind them counts.
    Where each file has its index attached, a quick look takes all from there and knows what a full pass does.
    Files that cannot hold what was asked for are passed over.

    Args:
        files: the logs, open.
        selection: which transactions; None for all. Those that touch a wanted table count as a whole.
        by: what the figures are broken down by, all of these together.
        zone: by whose clock the hours and days of the breakdown begin.
        quick: read the index alone, see :class:`Statistics` for what stays unknown; no quick look is taken
            where the selection needs a full one.
        verify: whether checksums are compared.
        on_damage: whether reading goes on behind damage.
        top: how many of the largest and longest transactions and of the connections are kept.
        on_progress: called now and then with the bytes that were read so far, of all files.

    Raises:
        UsageError: the selection cannot be understood, or rows or statements are to be broken down and not
            read, or by dimensions that do not go together.
        AbsentError: the selection has a position in a file that is not there.
    """
    selection = selection or Selection()
    ends = order_ends([known_ends(file) for file in files])
    quick = quick and required_level(selection) == Level.LEVEL_INDEX
    stored = quick and bool(files) and all(file.index is not None for file in files)
    _check_dimensions(by, quick=quick, stored=stored)
    selector = Selector(selection, [one.file.name for one in ends])
    gathering = _Gathering(selector, by, zone, quick=quick and not stored, top=top)
    level = Level.LEVEL_INDEX if quick and not stored else Level.LEVEL_TABLES
    read = 0
    for one, epoch in zip(ends, epochs(ends), strict=True):
        if not selection.is_everything and (
            selector.complete or selector.rules_out(one.file, one.previous_gtids)
        ):
            read += one.file.size
            if on_progress is not None:
                on_progress(read)
            continue
        if on_damage is OnDamage.SALVAGE:
            scan: TransactionScan = one.file.scan(Level.LEVEL_TABLES, verify=verify, on_damage=on_damage)
        elif stored:
            scan = one.file.transactions(level, verify=verify)
        else:
            scan = one.file.scan(level, verify=verify)
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


def _check_dimensions(by: Sequence[Dimension], *, quick: bool, stored: bool) -> None:
    """Raise UsageError for dimensions that a quick look does not read, or that do not go together."""
    if Dimension.STATEMENT in by:
        if quick:
            raise UsageError("--by statement needs the statements, which --quick does not read")
        if Dimension.TABLE in by or Dimension.DB in by:
            raise UsageError("--by statement cannot be combined with table and db")
    if quick and not stored and any(one.of_rows for one in by):
        raise UsageError("--by table and db need rows, which --quick does not read")


def _group_sums(by: Sequence[Dimension], zone: tzinfo, *, quick: bool) -> GroupSums | None:
    if not by:
        return None
    from binx.stats.breakdown import GroupSums

    return GroupSums(by, quick=quick, zone=zone)


def _commit_time(point: Point) -> int:
    return point.commit_timestamp


def _count_above(page: Page, measure: Measure, bound: int) -> int:
    """How many of a page's transactions have more than that of a measure."""
    return len(rank(page.table, page.mask, measure, False, len(page.table), bound))


class _Gathering:
    """What is known so far; for each file ``begin``, ``take`` for its tables and ``end``."""

    def __init__(
        self, selector: Selector, by: Sequence[Dimension], zone: tzinfo, *, quick: bool, top: int
    ) -> None:
        self._selector = selector
        self._everything = selector.selection.is_everything
        self._quick = quick
        self._top = top
        self._tally = Tally()
        self._groups = _group_sums(by, zone, quick=quick)
        most = max(top, _RANKED_LEAST)
        self._largest = Ranking(Measure.MEASURE_BYTES, most, described_without_text)
        self._longest = Ranking(Measure.MEASURE_DURATION, top, described_without_text, floor=0)
        self._huge_count = 0
        self._long_count = 0
        self._tables = TableSums()
        self._statements = StatementReader()
        self._events: dict[int, list[int]] = {}
        self._unknown_events: Counter[int] = Counter()
        self._gtids: GtidSet | None = GtidSet()
        self._files: list[FileFigures] = []
        self._seqno = 1

    def begin(self, ends: FileEnds, scan: TransactionScan, epoch: int) -> None:
        """Begin a file."""
        self._ends = ends
        self._scan = scan
        self._epoch = epoch
        self._first: Point | None = None
        self._last: Point | None = None
        self._file_gtids: GtidSet | None = GtidSet()
        self._count = 0
        self._bytes = 0

    def take(self, table: TransactionTable) -> None:
        """Add those of a table of the file's transactions that were asked for."""
        self._bytes += sum(array("q", table.column("bytes")))
        mask = table.mask()
        if not self._everything:
            mask = self._selector.mask(self._ends.file, self._scan, table)
        seqno, self._seqno = self._seqno, self._seqno + len(table)
        count = mask.count(1)
        if not count:
            return
        marks = None if self._everything else mask
        page = Page(self._ends.file, self._scan, table, self._epoch, seqno, mask=marks)
        self._tally.add(table, marks)
        self._largest.take(page)
        self._longest.take(page)
        self._huge_count += _count_above(page, Measure.MEASURE_BYTES, HUGE_BYTES)
        self._long_count += _count_above(page, Measure.MEASURE_DURATION, LONG_SECONDS)
        if self._groups is not None:
            self._groups.take(page)
        self._take_gtids(table, mask)
        earliest, latest = self._extremes(page)
        # Of equals the first is the one that stands first, the last the one that stands last.
        self._first = min(self._first or earliest, earliest, key=_commit_time)
        self._last = max(latest, self._last or latest, key=_commit_time)
        self._count += count
        # A statement that cannot be read ends the account here, where all sums have the same transactions.
        if not self._quick:
            self._statements.take(self._ends.file, table, mask)

    def end(self, error: BinxError | None) -> None:
        """Close the file's account."""
        file, scan, description = self._ends.file, self._scan, self._ends.file.format
        unread = file.size - scan.accounted
        damage = scan.damage if isinstance(scan, Scan) else ()
        damaged = sum(one.bytes for one in damage) + (unread if error is not None else 0)
        behind = f"; the {unread:,} bytes from there on were not read" if unread else ""
        problem = None if error is None else f"{error}{behind}"
        if damage:
            problem = f"{file.path}: {'; '.join(map(str, damage[:_DAMAGES_TOLD]))}"
            if len(damage) > _DAMAGES_TOLD:
                problem += f"; and {len(damage) - _DAMAGES_TOLD:,} more"
        events = None
        if not self._quick:
            counted = self._take_events(scan)
            events = counted if self._everything else None
            self._tables.take(scan, self._tally.take_tables())
        gtids = self._file_gtids
        self._gtids = None if gtids is None or self._gtids is None else self._gtids | gtids
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
                gtid_set=None if gtids is None else str(gtids),
                previous_gtids=None if previous is None else str(previous),
                header_bytes=file.size - self._bytes - damaged - scan.unfinished,
                transaction_bytes=self._bytes,
                unfinished_bytes=scan.unfinished,
                damaged_bytes=damaged,
                problem=problem,
            )
        )

    def statistics(self, ends: Sequence[FileEnds]) -> Statistics:
        """All figures."""
        tally = self._tally
        transactions, transaction_bytes, rows = tally.totals
        known = not self._quick
        known_events = known and self._everything
        selector = self._selector
        missing = GtidSet()
        if self._everything and self._gtids is not None:
            missing = missing_gtids(self._gtids, [one.previous_gtids for one in ends])
        over_time = histogram(tally, quick=self._quick)
        kinds = kind_figures(tally, quick=self._quick)
        evidence = Evidence(
            files=self._files,
            unknown_events=self._unknown_events,
            problems=ends_problems(ends),
            kinds=kinds,
            largest=self._largest.items,
            huge_count=self._huge_count,
            longest=self._longest.items,
            long_count=self._long_count,
            transaction_bytes=transaction_bytes,
            tables=self._tables.facts,
            with_text=tally.with_text[0] - self._statements.only_tables_made if known else 0,
            backward_steps=tally.backward_steps[0],
            largest_step=tally.backward_steps[1],
            backward_event_steps=tally.backward_event_steps[0],
            largest_event_step=tally.backward_event_steps[1],
            missing_gtids=str(missing),
            missing_count=missing.count,
            cascades=self._statements.cascades,
            versions=frozenset((one.file.format.flavour, one.file.format.version) for one in ends),
        )
        return Statistics(
            files=tuple(self._files),
            transactions=transactions,
            events=sum(file.events or 0 for file in self._files) if known_events else None,
            bytes=sum(file.bytes for file in self._files),
            first=min(filter(None, (file.first for file in self._files)), key=_commit_time, default=None),
            last=max(
                filter(None, (file.last for file in reversed(self._files))), key=_commit_time, default=None
            ),
            tables=self._tables.tables() if known else None,
            kinds=kinds,
            largest=self._largest.items[: self._top],
            longest=self._longest.items,
            histogram=over_time,
            warnings=findings(evidence),
            quick=self._quick,
            complete=all(file.problem is None for file in self._files),
            rows=rows if known else None,
            statements=tally.statements if known else None,
            ddl=sum(kind.transactions for kind in kinds if kind.kind == "ddl"),
            ddl_statements=tuple(self._statements.ddl) if known else None,
            servers=server_figures(tally, quick=self._quick),
            threads=thread_figures(tally, self._top, quick=self._quick),
            threads_complete=not tally.threads_forgotten,
            sizes=size_figures(tally),
            event_types=self._event_types() if known_events else None,
            compression=compression_figures(tally),
            checksummed_bytes=sum(file.bytes for file in self._files if file.checksum != "OFF"),
            gtid_set=None if self._gtids is None else str(self._gtids),
            missing_gtids=str(missing),
            servers_complete=not tally.servers_forgotten,
            tables_complete=self._tables.complete,
            databases=self._tables.databases() if known else None,
            bursts=bursts(over_time),
            selection=selector.selection.facts(),
            selected_bytes=transaction_bytes,
            absent_gtids=str(selector.missing()),
            notes=tuple(selector.notes),
            breakdown=None if self._groups is None else self._groups.breakdown(),
        )

    def _take_gtids(self, table: TransactionTable, mask: bytearray) -> None:
        if self._file_gtids is None:
            return
        self._file_gtids |= GtidSet(marked_gtids(table, mask))
        if not self._everything and sum(1 for _ in self._file_gtids) > INTERVALS_MAXIMUM:
            self._file_gtids = None

    def _extremes(self, page: Page) -> tuple[Point, Point]:
        """The earliest and the latest of a page's transactions, of which there is one at least."""
        times = array("q", measures(page.table, page.mask, Measure.MEASURE_COMMIT_TIME))
        latest = len(times) - 1 - times[::-1].index(max(times))
        indexes = page.indexes()
        return (
            self._point(page.table, indexes[times.index(min(times))]),
            self._point(page.table, indexes[latest]),
        )

    def _point(self, table: TransactionTable, index: int) -> Point:
        return Point(
            transaction=transaction_id(self._ends.file, table, index),
            commit_timestamp=table.value("commit_timestamp", index),
            file=self._ends.file.name,
            start=table.value("start", index),
        )

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

    def _event_types(self) -> tuple[EventFigures, ...]:
        figures = [EventFigures(event_name(number), *sums) for number, sums in self._events.items()]
        return tuple(sorted(figures, key=lambda one: (-one.bytes, one.type)))
