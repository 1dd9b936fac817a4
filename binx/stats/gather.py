"""Gather figures in one pass over binary logs.

Each file is read once, and memory does not grow with the number of transactions: running sums
(:mod:`binx.kernels.transactions.summaries`), the few largest, one entry per table, the GTID set as intervals.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any

from binx.errors import BinxError, DamagedError, UnsupportedError, UsageError
from binx.event.format import ChecksumAlgorithm
from binx.event.gtid.sets import GtidSet
from binx.event.header import event_name
from binx.kernels.transactions.summaries import Measure, Tally, measures, rank
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.chain.chain import ChainLog, epochs, in_order
from binx.log.chain.ends import known_facts
from binx.log.identifiers import marked_gtids, transaction_id
from binx.log.scan import Scan, find_transactions
from binx.log.scanning import OnDamage
from binx.log.selection.options import as_options
from binx.log.selection.selection import Selection, Selector, required_level
from binx.log.selection.times import MICROSECONDS, moment_json
from binx.log.succession import ChainProblem, missing_gtids
from binx.report.document import document
from binx.report.records import names_of
from binx.slices.search import Selected
from binx.source.json_text import json_text
from binx.source.log_names import printable
from binx.stats.dimensions import Dimension, largest_groups
from binx.stats.findings import HUGE_BYTES, LONG_SECONDS, Evidence, findings
from binx.stats.lines import COLUMNS, LineWriter
from binx.stats.listing import Ranking
from binx.stats.sums import (
    Record,
    StatementTotals,
    TableTotals,
    bursts,
    by_kind,
    by_server,
    by_size,
    by_thread,
    compression,
    over_time,
    records,
)

if TYPE_CHECKING:
    from binx.stats.breakdown import GroupSums

INTERVALS_MAXIMUM = 65_536
"""Maximum number of intervals kept of the selected transactions' GTIDs."""

_RANKED_LEAST = 4
_DAMAGES_SHOWN = 3


def gather(
    files: Sequence[BinlogFile],
    *,
    problems: Sequence[ChainProblem] = (),
    selection: Selection | None = None,
    by: Sequence[Dimension] = (),
    zone: tzinfo = UTC,
    quick: bool = False,
    verify: bool = True,
    on_damage: OnDamage = OnDamage.STOP,
    top: int = 10,
    on_progress: Callable[[int], None] | None = None,
    also: Sequence[Callable[[Selected], None]] = (),
) -> Record:
    """Return the figures of logs, which are put into chain order, as in the JSON of ``stats``.

    ``docs/statistics.md`` explains each. A damaged file counts up to the damage, and its rest as
    ``damaged_bytes``; when salvaging, these are only the damaged bytes, and what is whole after them counts.
    If each file has its index attached, a quick pass reads only that and knows what a full pass does. Files
    that cannot contain selected transactions are skipped.

    Args:
        problems: what is wrong between the logs.
        selection: which transactions; None for all. Those that touch a selected table count as a whole.
        by: the dimensions of the breakdown, combined.
        zone: the time zone for hours and days in the breakdown.
        quick: read the index only, so that what rows and events provide is null; ignored if the selection
            needs a full pass.
        on_damage: whether to continue after damage.
        top: how many of the largest and longest transactions and of the connections are kept.
        on_progress: called from time to time with the bytes read, of all files.
        also: called with the selected transactions, for sums of other kinds.
    """
    selection = selection or Selection()
    ends = in_order(files, known_facts)
    quick = quick and required_level(selection) == Level.LEVEL_INDEX
    stored = quick and bool(files) and all(file.index is not None for file in files)
    _check_dimensions(by, quick=quick, stored=stored)
    selector = Selector(selection, [log.file.name for log in ends])
    gathering = _Gathering(selector, by, zone, quick=quick and not stored, top=top, also=also)
    level = Level.LEVEL_INDEX if quick and not stored else Level.LEVEL_TABLES
    done = 0
    for log, epoch in zip(ends, epochs(ends), strict=True):
        if selection.is_everything or not (
            selector.complete or selector.rules_out(log.file, log.facts.previous_gtids)
        ):
            texts = selection.texts
            if on_damage is OnDamage.STOP and stored:
                scan: TransactionScan = find_transactions(log.file, level, verify=verify, texts=texts)
            else:
                scan = Scan(log.file, level, verify=verify, on_damage=on_damage, texts=texts)
            gathering.begin(log, scan, epoch)
            error: BinxError | None = None
            try:
                for table in scan:
                    gathering.take(table)
                    if on_progress is not None:
                        on_progress(done + scan.position)
            except (DamagedError, UnsupportedError) as failure:
                error = failure
            gathering.end(error)
        else:
            gathering.pass_over()
        done += log.file.size
        if on_progress is not None:
            on_progress(done)
    return gathering.figures(ends, problems)


def figures_json(figures: Record, top: int | None = None) -> str:
    """Serialize the figures as one JSON object; the same logs give the same text.

    Args:
        top: number of groups in the breakdown, those with most bytes; None for all.
    """
    breakdown = figures["breakdown"]
    if breakdown is not None:
        figures = figures | {"breakdown": breakdown | {"groups": largest_groups(breakdown["groups"], top)}}
    return json_text(document("statistics", figures), indent=2)


def incomplete(figures: Mapping[str, Any]) -> list[str]:
    """Return notes on figures that were limited to the entries with most bytes."""
    names = {"tables": "tables", "servers": "servers", "threads": "connections"}
    limited = [shown for name, shown in names.items() if not figures[f"{name}_complete"]]
    breakdown = figures["breakdown"]
    return limited if breakdown is None or breakdown["complete"] else [*limited, "groups"]


def _check_dimensions(by: Sequence[Dimension], *, quick: bool, stored: bool) -> None:
    """Raise UsageError for dimensions that a quick pass does not read, or that cannot be combined."""
    if Dimension.STATEMENT in by:
        if quick:
            raise UsageError("--by statement needs the statements, which --quick does not read")
        if Dimension.TABLE in by or Dimension.DB in by:
            raise UsageError("--by statement cannot be combined with table and db")
    if quick and not stored and any(dimension.of_rows for dimension in by):
        raise UsageError("--by table and db need rows, which --quick does not read")


def _group_sums(by: Sequence[Dimension], zone: tzinfo, *, quick: bool) -> GroupSums | None:
    if not by:
        return None
    from binx.stats.breakdown import GroupSums

    return GroupSums(by, quick=quick, zone=zone)


class _Gathering:
    """The accumulated figures; for each file call ``begin``, ``take`` for its tables, and ``end``."""

    def __init__(
        self,
        selector: Selector,
        by: Sequence[Dimension],
        zone: tzinfo,
        *,
        quick: bool,
        top: int,
        also: Sequence[Callable[[Selected], None]],
    ) -> None:
        self._selector = selector
        self._everything = selector.selection.is_everything
        self._quick = quick
        self._top = top
        self._also = also
        self._tally = Tally()
        self._groups = _group_sums(by, zone, quick=quick)
        writer = LineWriter(COLUMNS, as_json=True)
        self._largest = Ranking(Measure.MEASURE_BYTES, max(top, _RANKED_LEAST), writer)
        self._longest = Ranking(Measure.MEASURE_DURATION, top, writer, floor=0)
        self._huge_count = 0
        self._long_count = 0
        self._tables = TableTotals()
        self._statements = StatementTotals()
        self._events: dict[int, list[int]] = {}
        self._unknown_events: Counter[int] = Counter()
        self._gtids: GtidSet | None = GtidSet()
        self._first: list[tuple[int, Record]] = []
        self._last: list[tuple[int, Record]] = []
        self._files: list[Record] = []
        self._seqno = 1
        self._is_numbered = True
        self._unmapped = 0

    def pass_over(self) -> None:
        """Leave out a file: the transactions after it cannot be numbered."""
        self._is_numbered = False

    def begin(self, ends: ChainLog, scan: TransactionScan, epoch: int) -> None:
        """Begin a file."""
        self._ends = ends
        self._scan = scan
        self._epoch = epoch
        self._file_first: tuple[int, Record] | None = None
        self._file_last: tuple[int, Record] | None = None
        self._file_gtids: GtidSet | None = GtidSet()
        self._count = 0
        self._bytes = 0

    def take(self, table: TransactionTable) -> None:
        """Add the selected transactions of a table."""
        self._bytes += sum(array("q", table.column("bytes")))
        mask = table.mask()
        if not self._everything:
            mask = self._selector.mask(self._ends.file, self._scan, table)
        part = Selected(self._scan, table, mask, self._epoch, self._seqno, self._is_numbered)
        self._seqno += len(table)
        count = mask.count(1)
        if not count:
            return
        self._tally.add(table, None if self._everything else mask)
        self._largest.take(part)
        self._longest.take(part)
        self._huge_count += len(rank(table, mask, Measure.MEASURE_BYTES, False, len(table), HUGE_BYTES))
        self._long_count += len(
            rank(table, mask, Measure.MEASURE_DURATION, False, len(table), LONG_SECONDS - 1)
        )
        if self._groups is not None:
            self._groups.take(part)
        for take in self._also:
            take(part)
        self._take_gtids(table, mask)
        self._take_extremes(part)
        self._count += count
        # An unreadable statement raises here, when all sums cover the same transactions.
        if not self._quick:
            self._statements.take(part)

    def end(self, error: BinxError | None) -> None:
        """Finish a file; header, transaction, unfinished and damaged bytes add up to its size."""
        file, scan, description = self._ends.file, self._scan, self._ends.file.format
        unread = file.size - scan.accounted
        damage = scan.damage if isinstance(scan, Scan) else ()
        damaged = sum(gap.bytes for gap in damage) + (unread if error is not None else 0)
        note = f"; the {unread:,} bytes from there on were not read" if unread else ""
        problem = None if error is None else f"{error}{note}"
        if damage:
            problem = f"{file.path}: {'; '.join(map(str, damage[:_DAMAGES_SHOWN]))}"
            if len(damage) > _DAMAGES_SHOWN:
                problem += f"; and {len(damage) - _DAMAGES_SHOWN:,} more"
        events = None
        if not self._quick:
            counted = self._take_events(scan)
            events = counted if self._everything else None
            self._tables.take(scan, self._tally.take_tables())
            self._unmapped += scan.unmapped_events
        gtids = self._file_gtids
        self._gtids = None if gtids is None or self._gtids is None else self._gtids | gtids
        previous = self._ends.facts.previous_gtids
        self._first += [self._file_first] if self._file_first else []
        self._last += [self._file_last] if self._file_last else []
        self._files.append(
            {
                "path": printable(file.path),
                "file": printable(file.name),
                "bytes": file.size,
                "server_version": printable(description.server_version),
                "flavour": description.flavour.value,
                "server_id": description.server_id,
                "create_timestamp": moment_json(description.header_timestamp * MICROSECONDS),
                "at_startup": description.at_startup,
                "epoch": self._epoch,
                "checksum_algorithm": ChecksumAlgorithm(description.checksum).name,
                "in_use": description.in_use,
                "ending": "damaged" if scan.ending is None else scan.ending.value,
                "next_file": None
                if self._ends.facts.next_log is None
                else printable(self._ends.facts.next_log),
                "transactions": self._count,
                "events": events,
                "first": None if self._file_first is None else self._file_first[1],
                "last": None if self._file_last is None else self._file_last[1],
                "gtid_set": None if gtids is None else str(gtids),
                "previous_gtids": None if previous is None else str(previous),
                "header_bytes": file.size - self._bytes - damaged - scan.unfinished,
                "transaction_bytes": self._bytes,
                "unfinished_bytes": scan.unfinished,
                "damaged_bytes": damaged,
                "error": None if problem is None else printable(problem),
            }
        )

    def figures(self, ends: Sequence[ChainLog], problems: Sequence[ChainProblem]) -> Record:
        """Return all figures."""
        tally, quick, selector = self._tally, self._quick, self._selector
        transactions, transaction_bytes, rows = tally.totals
        known_events = self._everything and not quick
        missing = GtidSet()
        if self._everything and self._gtids is not None:
            missing = missing_gtids(self._gtids, [log.facts.previous_gtids for log in ends])
        histogram = over_time(tally, quick=quick)
        kinds = by_kind(tally, quick=quick)
        largest, longest = (
            [json.loads(line) for line in ranking.lines] for ranking in (self._largest, self._longest)
        )
        compressed = compression(tally)
        steps, event_steps = tally.backward_steps, tally.backward_event_steps
        evidence = Evidence(
            files=self._files,
            unknown_events=self._unknown_events,
            problems=problems,
            kinds={record["kind"]: record["transactions"] for record in kinds},
            largest=largest,
            huge_count=self._huge_count,
            longest=longest,
            long_count=self._long_count,
            transaction_bytes=transaction_bytes,
            tables=self._tables,
            with_text=0 if quick else tally.with_text[0] - self._statements.only_tables_made,
            unread=compressed["transactions"] if quick else 0,
            backward_steps=steps[0] + event_steps[0],
            largest_step=max(steps[1], event_steps[1]),
            missing_gtids=missing,
            cascades=self._statements.unlogged_cascades,
            unmapped=self._unmapped,
        )
        return {
            "files": self._files,
            "transactions": transactions,
            "events": sum(file["events"] or 0 for file in self._files) if known_events else None,
            "bytes": sum(file["bytes"] for file in self._files),
            "first": min(self._first, key=_moment, default=_NO_POINT)[1],
            "last": max(reversed(self._last), key=_moment, default=_NO_POINT)[1],
            "tables": None if quick else self._tables.by_table(),
            "kinds": kinds,
            "largest": largest[: self._top],
            "longest": longest,
            "histogram": histogram,
            "warnings": findings(evidence),
            "quick": quick,
            "complete": all(file["error"] is None for file in self._files),
            "rows": None if quick else rows,
            "statements": None if quick else tally.statements,
            "ddl": evidence.kinds.get("ddl", 0),
            "ddl_statements": None if quick else self._statements.ddl,
            "servers": by_server(tally, quick=quick),
            "threads": by_thread(tally, self._top, quick=quick),
            "threads_complete": not tally.threads_forgotten,
            "sizes": by_size(tally),
            "event_types": self._event_types() if known_events else None,
            "compression": compressed,
            "checksummed_bytes": sum(
                file["bytes"] for file in self._files if file["checksum_algorithm"] != "OFF"
            ),
            "gtid_set": None if self._gtids is None else str(self._gtids),
            "missing_gtids": str(missing),
            "servers_complete": not tally.servers_forgotten,
            "tables_complete": self._tables.complete,
            "databases": None if quick else self._tables.by_database(),
            "bursts": bursts(histogram),
            "selection": as_options(selector.selection),
            "selected_bytes": transaction_bytes,
            "absent_gtids": str(selector.missing()),
            "notes": list(map(printable, selector.notes)),
            "breakdown": None if self._groups is None else self._groups.breakdown(),
        }

    def _take_gtids(self, table: TransactionTable, mask: bytearray) -> None:
        if self._file_gtids is None:
            return
        self._file_gtids |= GtidSet(marked_gtids(table, mask))
        if not self._everything and sum(1 for _ in self._file_gtids) > INTERVALS_MAXIMUM:
            self._file_gtids = None

    def _take_extremes(self, part: Selected) -> None:
        """Update the first transaction with the earliest commit time, and the last with the latest."""
        times = array("q", measures(part.table, part.mask, Measure.MEASURE_COMMIT_TIME))
        earliest, latest = min(times), max(times)
        indexes = None if self._everything else part.table.marked(part.mask)
        if self._file_first is None or earliest < self._file_first[0]:
            position = times.index(earliest)
            self._file_first = earliest, self._point(part, indexes[position] if indexes else position)
        if self._file_last is None or latest >= self._file_last[0]:
            position = len(times) - 1 - times[::-1].index(latest)
            self._file_last = latest, self._point(part, indexes[position] if indexes else position)

    def _point(self, part: Selected, index: int) -> Record:
        """Return a transaction's position in the logs."""
        file, value = part.scan.file, part.table.value
        return {
            "transaction": transaction_id(file, part.table, index),
            "commit_timestamp": moment_json(value("commit_timestamp", index)),
            "file": printable(file.name),
            "start": value("start", index),
        }

    def _take_events(self, scan: TransactionScan) -> int:
        """Add the scan's events by type; return their number."""
        totals = scan.totals()
        self._unknown_events.update(totals.unknown)
        for number in totals.events.keys() | totals.inner.keys():
            sums = self._events.setdefault(number, [0, 0, 0])
            sums[0] += totals.events.get(number, 0)
            sums[1] += totals.bytes.get(number, 0)
            sums[2] += totals.inner.get(number, 0)
        return sum(totals.events.values())

    def _event_types(self) -> list[Record]:
        rows = sorted((-sums[1], event_name(number), sums) for number, sums in self._events.items())
        return records(names_of("event_figures"), [(name, *sums) for _, name, sums in rows])


_NO_POINT: tuple[int, Record | None] = (0, None)


def _moment(point: tuple[int, Record | None]) -> int:
    return point[0]
