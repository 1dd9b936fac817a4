"""What a log has come to in a data set: its sums, its losses, its warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from binx.dataset.manifest import Sums
from binx.dataset.schema_records import SchemaRecord
from binx.event.gtid.sets import GtidSet
from binx.event.header import EventType
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from binx.rows.decoder_warnings import unnamed_columns
from binx.rows.marks import LOST, TAKE, WITHOUT_ROWS
from binx.rows.statements import Statement
from binx.source.wording import counted

TableName = tuple[str, str]
"""Database and table."""

TableVersion = tuple[str, str, str]
"""Database, table, and schema version."""

_INSERT, _UPDATE, _DELETE = range(3)
_ROLLED_BACK_ALONE_SINCE = (5, 5, 2)
"""Since then (WL#2687; MariaDB 5.5) changes of tables without transactions are logged by themselves."""


class SourceReport:
    """What a log has come to.

    Attributes:
        losses: sentences about single transactions.
        doubtful: changes that were rolled back, though they may be of a table that keeps them.
        undone: changes that their own transaction undid.
        undecodable: values that their character set does not have, by table's version and column.
        warnings: sentences about names and types, each once.
        unnamed: tables with columns whose names nothing tells, each once.
        records: of the tables that were met, each made when it is asked for.
        incidents: how often the server says that changes are missing.
    """

    def __init__(self) -> None:
        self.gtids = GtidSet()
        self.sums = Sums()
        self.losses: list[str] = []
        self.doubtful: Counter[TableName] = Counter()
        self.undone: Counter[TableName] = Counter()
        self.undecodable: Counter[tuple[TableVersion, str]] = Counter()
        self.warnings: dict[str, None] = {}
        self.unnamed: dict[TableName, None] = {}
        self.records: dict[TableVersion, Callable[[], SchemaRecord]] = {}
        self.incidents = 0
        self.uncounted: Counter[TableName] = Counter()
        self.unknown: Counter[int] = Counter()

    def take_scan(self, scan: Scan) -> None:
        """Tell of what a scan has met and nobody can decode."""
        totals = scan.totals()
        self.incidents += totals.events.get(EventType.INCIDENT, 0)
        self.uncounted.update(scan.uncounted())
        self.unknown.update(totals.unknown)

    def all_losses(self) -> list[str]:
        """Sentences about what may be missing, and about text that could not be read as its character set."""
        doubtful = [
            f"{db}.{table}: {counted(count, 'row change')} left out, undone by a ROLLBACK at the end;"
            " servers before 5.5 also log changes of non-transactional tables (MyISAM) this way: if it"
            " is one, these changes are missing"
            for (db, table), count in self.doubtful.items()
        ]
        undecodable = [
            f"{db}.{table}: {counted(count, 'value')} of column {column} with bytes that are not valid"
            " in their character set; they appear as \\xNN in the text"
            for ((db, table, _), column), count in self.undecodable.items()
        ]
        return self.losses + doubtful + undecodable

    def all_warnings(self) -> list[str]:
        """Sentences about names and types, and about what nobody can decode, each once."""
        warnings = [*self.warnings]
        if self.unnamed:
            warnings.append(unnamed_columns([f"{db}.{table}" for db, table in self.unnamed]))
        warnings += [
            f"{db}.{table}: {counted(count, 'row change')} left out, undone by ROLLBACK TO SAVEPOINT"
            for (db, table), count in self.undone.items()
        ]
        if self.incidents:
            warnings.append(
                f"the server recorded in {counted(self.incidents, 'place')} that changes are missing"
                " from its log (INCIDENT)"
            )
        warnings += [
            f"{'.'.join(name)}: {counted(events, 'rows event')} skipped and not counted, because the size"
            " of a column is not known"
            for name, events in self.uncounted.items()
            if events
        ]
        warnings += [
            f"{counted(count, 'event')} of the unknown type {number}, marked as ignorable, skipped"
            for number, count in sorted(self.unknown.items())
        ]
        return warnings

    def count_uncounted(self) -> None:
        """Have the sums tell of the rows events that nobody can count."""
        for name, events in self.uncounted.items():
            if events:
                self.sums.of(name).uncounted = events


class Counted(NamedTuple):
    """Row changes of a table that the scan counted in transactions with the same mark."""

    name: tuple[str, str]
    mark: int
    inserts: int
    updates: int
    deletes: int


class SourceSums:
    """Counts what becomes of a log's row changes."""

    def __init__(
        self, file: BinlogFile, takes_table: Callable[[str, str], bool], report: SourceReport
    ) -> None:
        self._report = report
        self._takes_table = takes_table
        self._logs_undone_changes = file.format.version < _ROLLED_BACK_ALONE_SINCE

    def take_counted(self, counts: Iterable[Counted]) -> None:
        """Take in what the scan counted."""
        report = self._report
        for name, mark, inserts, updates, deletes in counts:
            sums = report.sums.of(name)
            images = inserts + 2 * updates + deletes
            sums.images += images
            if mark == LOST and self._takes_table(*name):
                sums.undecodable += images
            elif mark != TAKE:
                sums.filtered += images
                if mark == WITHOUT_ROWS and self._logs_undone_changes:
                    report.doubtful[name] += inserts + updates + deletes
            elif self._takes_table(*name):
                changes = report.sums.changes.setdefault(name, [0, 0, 0])
                changes[_INSERT] += inserts
                changes[_UPDATE] += updates
                changes[_DELETE] += deletes

    def filter_out(self, name: tuple[str, str], counts: tuple[int, int, int]) -> None:
        """Count inserts, updates and deletes of a table as filtered that counted as taken before."""
        inserts, updates, deletes = counts
        self._report.sums.of(name).filtered += inserts + 2 * updates + deletes
        taken = self._report.sums.changes[name]
        for place, count in enumerate(counts):
            taken[place] -= count

    def take_statement(self, statement: Statement) -> None:
        """Tell of what a statement read that is not in the data set."""
        if statement.file_bytes:
            self._report.losses.append(
                f"{statement.transaction}: the {statement.file_bytes} bytes read by LOAD DATA are in"
                " the binary log, but not in this data set"
            )
