"""The manifest of a source: its files, the row counts that verify them, and losses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import add
from typing import Any

from binx.errors import DamagedError
from binx.event.header import EventType
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.log.scanning import Ending
from binx.rows.decoder import LOST, TAKE, WITHOUT_ROWS, DecoderReport
from binx.rows.logged_statements import Statement
from binx.source.wording import counted
from binx.storage.contracts import Contract
from binx.version import __version__

CONTRACT = Contract(1, again="export that binary log again")
"""The contract of a data set's manifests, and of the files that they list."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CHANGES = ("inserts", "updates", "deletes")
_ROLLED_BACK_ALONE_SINCE = (5, 5, 2)
"""From this version on (WL#2687; MariaDB 5.5), changes of non-transactional tables are logged separately."""

TableName = tuple[str, str]
"""Database and table."""

TableVersion = tuple[str, str, str]
"""Database, table, and schema version."""


@dataclass(slots=True)
class TableSums:
    """The row counts of one table, which must add up: images = written + filtered + undecodable.

    Attributes:
        images: row images in the binary log, counted by the scan.
        written: rows in Parquet, counted by the writer.
        filtered: row images outside the selection, counted by the decoder and the mask.
        undecodable: row images that could not be decoded.
        uncounted: rows events whose images cannot be counted, because the size of a column is not known; not
            included in ``images``.
        changes: inserts, updates and deletes of the exported transactions; None if there are none.
        cascades_unlogged: whether foreign keys may have changed further rows without logging them.
        typed_documents: the number of JSON documents with values of SQL types that their text does not tell.
    """

    images: int = 0
    written: int = 0
    filtered: int = 0
    undecodable: int = 0
    uncounted: int = 0
    changes: list[int] | None = None
    cascades_unlogged: bool = False
    typed_documents: int = 0

    def take_changes(self, counts: Iterable[int]) -> None:
        """Add counts of exported inserts, updates and deletes."""
        self.changes = list(map(add, self.changes or (0, 0, 0), counts))


class Sums:
    """The counts of a source.

    Attributes:
        tables: by database and table.
        first: first commit version and earliest commit time exported, or None.
        last: last commit version and latest commit time exported, or None.
        statements_left_out: number of transactions with statements outside the selection.
    """

    def __init__(self) -> None:
        self.tables: defaultdict[TableName, TableSums] = defaultdict(TableSums)
        self.first: tuple[int, int] | None = None
        self.last: tuple[int, int] | None = None
        self.statements_left_out = 0

    def saw(self, first: int, last: int, earliest: int, latest: int) -> None:
        """Extend the commit versions and times by those of a batch of transactions."""
        self.first = (
            (first, earliest) if self.first is None else (self.first[0], min(self.first[1], earliest))
        )
        self.last = (last, latest if self.last is None else max(self.last[1], latest))

    def check(self, path: str) -> None:
        """Check that the counts of scan and decoder agree.

        Raises:
            DamagedError: they disagree for a table; nothing must be committed.
        """
        for (db, table), sums in self.tables.items():
            if sums.images != sums.written + sums.filtered + sums.undecodable:
                raise DamagedError(
                    f"expected {sums.images} row images of {db}.{table}, found {sums.written} written,"
                    f" {sums.filtered} filtered and {sums.undecodable} undecodable;"
                    " nothing is committed, please report this as a bug",
                    path=path,
                )


def source_record(file: BinlogFile, sha256: str, ending: Ending | None) -> dict[str, Any]:
    """Return the manifest's entry for the binary log."""
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
        "ending": "" if ending is None else ending.value,
    }


def manifest(
    source: Mapping[str, Any],
    request: Mapping[str, Any],
    sums: Sums,
    files: list[dict[str, Any]],
    *,
    gtid_set: str = "",
    gtids_left_out: str = "",
    losses: Sequence[str] = (),
    warnings: Sequence[str] = (),
    damage: Sequence[Mapping[str, Any]] = (),
    before: Mapping[str, Any] | None = None,
    behind: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a source's manifest."""
    first, last = sums.first or (None, None), sums.last or (None, None)
    tables = sorted(sums.tables.items())
    return {
        "contract": CONTRACT.number,
        "binx": __version__,
        "source": dict(source),
        "request": dict(request),
        "gtid_set": gtid_set,
        **({"gtids_left_out": gtids_left_out} if gtids_left_out else {}),
        "first_commit_version": first[0],
        "last_commit_version": last[0],
        "first_commit_timestamp": _time(first[1]),
        "last_commit_timestamp": _time(last[1]),
        "files": files,
        "tables": [
            {
                "db": db,
                "table": table,
                **dict(zip(_CHANGES, counts.changes, strict=True)),
                **({"cascades_unlogged": True} if counts.cascades_unlogged else {}),
                **({"typed_documents": counts.typed_documents} if counts.typed_documents else {}),
            }
            for (db, table), counts in tables
            if counts.changes is not None
        ],
        "conservation": [
            {
                "db": db,
                "table": table,
                "images": counts.images,
                "written": counts.written,
                "filtered": counts.filtered,
                "undecodable": counts.undecodable,
                **({"uncounted": counts.uncounted} if counts.uncounted else {}),
            }
            for (db, table), counts in tables
        ],
        "statements_left_out": sums.statements_left_out,
        "damage": list(damage),
        "losses": list(losses),
        "warnings": list(warnings),
        **(rules or {}),
        **({} if before is None else {"before": dict(before)}),
        **({} if behind is None else {"behind": dict(behind)}),
    }


def _time(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def undecodable_values(table: str, column: str, count: int) -> str:
    """Return the sentence about values with bytes that are invalid in their character set."""
    return (
        f"{table}: {counted(count, 'value')} of column {column} with bytes that are not valid"
        " in their character set; they appear as \\xNN in the text"
    )


class LogReport:
    """The counts, losses and warnings of a log's export.

    Attributes:
        losses: sentences about single transactions, and about documents that are left out.
        warnings: sentences about names and types, each once.
        undecodable: number of values that are invalid in their character set, by table version and column.
        replaced: number of images of updates by REPLACE that lack columns, by table.
    """

    def __init__(self, file: BinlogFile, takes_table: Callable[[str, str], bool]) -> None:
        self.sums = Sums()
        self.losses: list[str] = []
        self.warnings: dict[str, None] = {}
        self.undecodable: Counter[tuple[TableVersion, str]] = Counter()
        self.replaced: Counter[TableName] = Counter()
        self._takes_table = takes_table
        self._logs_undone_changes = file.format.version < _ROLLED_BACK_ALONE_SINCE
        self._doubtful: Counter[TableName] = Counter()
        self._undone: Counter[TableName] = Counter()
        self._uncounted: Counter[TableName] = Counter()
        self._incidents = 0
        self._hidden = 0
        self._unknown: Mapping[int, int] = {}

    def take_counted(self, name: TableName, mark: int, counts: Sequence[int]) -> None:
        """Add the inserts, updates and deletes of a table in transactions with the same mark."""
        sums = self.sums.tables[name]
        images = _images(counts)
        sums.images += images
        if mark == LOST and self._takes_table(*name):
            sums.undecodable += images
        elif mark != TAKE:
            sums.filtered += images
            if mark == WITHOUT_ROWS and self._logs_undone_changes:
                self._doubtful[name] += sum(counts)
        elif self._takes_table(*name):
            sums.take_changes(counts)

    def filter_out(self, name: TableName, counts: Sequence[int]) -> None:
        """Move counts of a table's inserts, updates and deletes from exported to filtered."""
        sums = self.sums.tables[name]
        sums.filtered += _images(counts)
        sums.take_changes(-count for count in counts)

    def take_statement(self, statement: Statement) -> None:
        """Record that rows which a statement changed, or data that it read, are not in the data set."""
        self._hidden += statement.hides_rows
        if statement.loaded is not None and statement.loaded.bytes:
            text = (
                f"{statement.transaction}: the {statement.loaded.bytes} bytes read by LOAD DATA are in"
                " the binary log, but not in this data set"
            )
            self.warnings[text] = None

    def take_ends(self, scan: Scan, decoded: DecoderReport) -> None:
        """Add what scan and decoder report besides rows."""
        totals = scan.totals()
        self._incidents = totals.events.get(EventType.INCIDENT, 0)
        self._unknown = totals.unknown
        self._uncounted.update(scan.uncounted())
        for name, images in decoded.filtered.items():
            self.sums.tables[name].filtered += images
        for name, (events, recounted) in decoded.recounted.items():
            self.take_counted(name, TAKE, recounted)
            self._uncounted[name] -= events
        for name, counts in decoded.undone.items():
            self.filter_out(name, counts)
            self._undone[name] += sum(counts)
        for name, events in self._uncounted.items():
            if events:
                self.sums.tables[name].uncounted = events
        self.warnings |= decoded.warnings

    def all_losses(self) -> list[str]:
        """Return sentences about what may be missing, and about text that is invalid in its character set."""
        doubtful = [
            f"{db}.{table}: {counted(count, 'row change')} left out, undone by a ROLLBACK at the end;"
            " servers before 5.5 also log changes of non-transactional tables (MyISAM) this way: if it"
            " is one, these changes are missing"
            for (db, table), count in self._doubtful.items()
        ]
        replaced = [
            f"{db}.{table}: {counted(count // 2, 'update')} by REPLACE, of which MariaDB with partial row"
            " images (binlog_row_image) does not log the columns that it set to their defaults"
            for (db, table), count in self.replaced.items()
            if count
        ]
        undecodable = [
            undecodable_values(f"{db}.{table}", column, count)
            for ((db, table, _), column), count in self.undecodable.items()
        ]
        return self.losses + doubtful + replaced + undecodable

    def all_warnings(self) -> list[str]:
        """Return sentences about names and types, and about what cannot be decoded, each once."""
        warnings = [*self.warnings]
        warnings += [
            f"{db}.{table}: {counted(count, 'row change')} left out, undone by ROLLBACK TO SAVEPOINT"
            for (db, table), count in self._undone.items()
        ]
        if self._hidden:
            warnings.append(
                f"changes logged as statements: {self._hidden:,}; the rows that they changed are neither in"
                " the log nor in changes/, only the statements in statements/"
            )
        if self._incidents:
            warnings.append(
                f"the server recorded in {counted(self._incidents, 'place')} that changes are missing"
                " from its log (INCIDENT)"
            )
        warnings += [
            f"{'.'.join(name)}: {counted(events, 'rows event')} skipped and not counted, because the size"
            " of a column is not known"
            for name, events in self._uncounted.items()
            if events
        ]
        warnings += [
            f"{counted(count, 'event')} of the unknown type {number}, marked as ignorable, skipped"
            for number, count in sorted(self._unknown.items())
        ]
        return warnings


def _images(counts: Sequence[int]) -> int:
    """Return the number of row images in inserts, updates and deletes."""
    inserts, updates, deletes = counts
    return inserts + 2 * updates + deletes
