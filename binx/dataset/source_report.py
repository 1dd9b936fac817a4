"""What a log has come to in a data set: its sums, its losses, its warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from binx.dataset.manifest import Sums
from binx.dataset.schema_records import SchemaRecord
from binx.event.gtid.sets import GtidSet
from binx.event.header import EventType
from binx.log.scan import Scan
from binx.rows.decoder_warnings import unnamed_columns
from binx.source.wording import counted

TableName = tuple[str, str]
"""Database and table."""

TableVersion = tuple[str, str, str]
"""Database, table, and schema version."""


class SourceReport:
    """What a log has come to.

    Attributes:
        gtids: of the transactions that were taken.
        sums: for the manifest.
        losses: sentences about single transactions.
        doubtful: changes that were rolled back, though they may be of a table that keeps them.
        undone: changes that their own transaction undid.
        undecodable: values that their character set does not have, by table's version and column.
        warnings: sentences about names and types, each once.
        unnamed: tables with columns whose names nothing tells, each once.
        records: of the tables that were met, each made when it is asked for.
        incidents: how often the server says that changes are missing.
        uncounted: rows events that nobody can count.
        unknown: events of types that binx does not know.
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
