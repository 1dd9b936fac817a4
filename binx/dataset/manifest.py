"""The manifest: what one source's part of a data set holds, the sums that prove it, and what is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from binx import __version__
from binx.dataset.dataset import WrittenFile
from binx.dataset.schema_records import SchemaRecord
from binx.errors import DamagedError
from binx.event.gtid.sets import GtidSet
from binx.event.header import EventType
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from binx.rows.decoder import LOST, TAKE, WITHOUT_ROWS
from binx.rows.following import unnamed_columns
from binx.rows.statements import Statement
from binx.source.wording import counted

CONTRACT = 1
"""The version of a data set: readers refuse one that they do not know."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class TableSums:
    """The conservation sum of one table.

    Attributes:
        images: row images in the binary log, counted by the scan.
        written: rows in Parquet, counted by their writer.
        filtered: row images that the selection left out, counted by the decoder and by the mask.
        undecodable: row images that could not be decoded.
        uncounted: rows events whose images nobody can count, as the size of a column is not known; none of
            them is among the images.
    """

    images: int = 0
    written: int = 0
    filtered: int = 0
    undecodable: int = 0
    uncounted: int = 0


class Sums:
    """Counts of a source, by (db, table).

    Attributes:
        conservation: row images and what became of them.
        changes: inserts, updates and deletes of the transactions taken.
        first: first commit version and earliest commit time taken, None where there is none.
        last: last commit version taken and latest commit time.
        statements_left_out: transactions with statements that the selection left out.
    """

    def __init__(self) -> None:
        self.conservation: dict[tuple[str, str], TableSums] = {}
        self.changes: dict[tuple[str, str], list[int]] = {}
        self.first: tuple[int, int] | None = None
        self.last: tuple[int, int] | None = None
        self.statements_left_out = 0

    def of(self, table: tuple[str, str]) -> TableSums:
        """One table's conservation sum."""
        sums = self.conservation.get(table)
        if sums is None:
            sums = self.conservation[table] = TableSums()
        return sums

    def saw(self, first: int, last: int, earliest: int, latest: int) -> None:
        """Take in the commit versions and times that a batch of transactions spans."""
        self.first = (
            (first, earliest) if self.first is None else (self.first[0], min(self.first[1], earliest))
        )
        self.last = (last, latest if self.last is None else max(self.last[1], latest))

    def check(self, path: str) -> None:
        """Compare what went in with what came out.

        Raises:
            DamagedError: the counts of scan and decoder disagree for a table; nothing must be committed.
        """
        for (db, table), sums in self.conservation.items():
            accounted = sums.written + sums.filtered + sums.undecodable
            if sums.images != accounted:
                raise DamagedError(
                    f"expected {sums.images} row images of {db}.{table}, found {sums.written} written,"
                    f" {sums.filtered} filtered and {sums.undecodable} undecodable;"
                    " nothing is committed, please report this as a bug",
                    path=path,
                )


def source_record(file: BinlogFile, sha256: str, ending: str) -> dict[str, Any]:
    """What the manifest says of the binary log itself."""
    description = file.format
    return {
        "name": file.name,
        "identity": file.identity,
        "file_number": file.file_number,
        "bytes": file.size,
        "sha256": sha256,
        "server_id": description.server_id,
        "server_version": description.server_version,
        "flavour": description.flavour.value,
        "create_timestamp": description.create_timestamp,
        "header_timestamp": description.header_timestamp,
        "in_use": description.in_use,
        "ending": ending,
    }


def manifest(
    source: Mapping[str, Any],
    request: Mapping[str, Any],
    gtid_set: str,
    sums: Sums,
    files: list[dict[str, Any]],
    losses: list[str],
    warnings: list[str],
    damage: list[dict[str, Any]],
    behind: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The whole document."""
    first, last = sums.first, sums.last
    return {
        "contract": CONTRACT,
        "binx": __version__,
        "source": dict(source),
        "request": dict(request),
        "gtid_set": gtid_set,
        "first_commit_version": None if first is None else first[0],
        "last_commit_version": None if last is None else last[0],
        "first_commit_timestamp": None if first is None else _time(first[1]),
        "last_commit_timestamp": None if last is None else _time(last[1]),
        "files": files,
        "tables": [
            {"db": db, "table": table, "inserts": counts[0], "updates": counts[1], "deletes": counts[2]}
            for (db, table), counts in sorted(sums.changes.items())
        ],
        "conservation": [
            {
                "db": db,
                "table": table,
                "images": counted.images,
                "written": counted.written,
                "filtered": counted.filtered,
                "undecodable": counted.undecodable,
                **({"uncounted": counted.uncounted} if counted.uncounted else {}),
            }
            for (db, table), counted in sorted(sums.conservation.items())
        ],
        "statements_left_out": sums.statements_left_out,
        "damage": damage,
        "losses": losses,
        "warnings": warnings,
        **({} if behind is None else {"behind": dict(behind)}),
    }


def file_entry(written: WrittenFile, kind: str, **facts: object) -> dict[str, Any]:
    """One line of the manifest's list of files."""
    return {"path": written.path, "kind": kind, "bytes": written.bytes, "sha256": written.sha256, **facts}


def _time(microseconds: int) -> str:
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


TableName = tuple[str, str]
"""Database and table."""

TableVersion = tuple[str, str, str]
"""Database, table, and schema version."""

_INSERT, _UPDATE, _DELETE = range(3)
_ROLLED_BACK_ALONE_SINCE = (5, 5, 2)
"""Since then (WL#2687; MariaDB 5.5) changes of tables without transactions are logged by themselves."""


def undecodable_values(table: str, column: str, count: int) -> str:
    """The loss that values with bytes are which their character set does not have."""
    return (
        f"{table}: {counted(count, 'value')} of column {column} with bytes that are not valid"
        " in their character set; they appear as \\xNN in the text"
    )


class LogReport:
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

    def __init__(self, file: BinlogFile, takes_table: Callable[[str, str], bool]) -> None:
        self._takes_table = takes_table
        self._logs_undone_changes = file.format.version < _ROLLED_BACK_ALONE_SINCE
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

    def take_counted(self, counts: Iterable[Counted]) -> None:
        """Take in what the scan counted."""
        for name, mark, inserts, updates, deletes in counts:
            sums = self.sums.of(name)
            images = inserts + 2 * updates + deletes
            sums.images += images
            if mark == LOST and self._takes_table(*name):
                sums.undecodable += images
            elif mark != TAKE:
                sums.filtered += images
                if mark == WITHOUT_ROWS and self._logs_undone_changes:
                    self.doubtful[name] += inserts + updates + deletes
            elif self._takes_table(*name):
                changes = self.sums.changes.setdefault(name, [0, 0, 0])
                changes[_INSERT] += inserts
                changes[_UPDATE] += updates
                changes[_DELETE] += deletes

    def filter_out(self, name: tuple[str, str], counts: tuple[int, int, int]) -> None:
        """Count inserts, updates and deletes of a table as filtered that counted as taken before."""
        inserts, updates, deletes = counts
        self.sums.of(name).filtered += inserts + 2 * updates + deletes
        taken = self.sums.changes[name]
        for place, count in enumerate(counts):
            taken[place] -= count

    def take_statement(self, statement: Statement) -> None:
        """Tell of what a statement read that is not in the data set."""
        if statement.file_bytes:
            self.losses.append(
                f"{statement.transaction}: the {statement.file_bytes} bytes read by LOAD DATA are in"
                " the binary log, but not in this data set"
            )

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
            undecodable_values(f"{db}.{table}", column, count)
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
