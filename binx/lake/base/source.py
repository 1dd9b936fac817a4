"""Write one backup to a data set, as a separate source whose rows have the backup's position."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from binx.dataset.dataset import DataSet, escape_name
from binx.dataset.manifest import Sums, manifest
from binx.dataset.options import ParquetOptions
from binx.dataset.personal.masked_rows import Masks
from binx.dataset.personal.unmatched_rules import check_rules
from binx.dataset.predecessors import SourceReport
from binx.dataset.source_files import SourceFiles
from binx.dataset.transaction import Staged, StagedFiles, commit_staged, schema_record_of
from binx.errors import AbsentError, BinxError, DamagedError
from binx.event.format import Flavour, split_version
from binx.kernels.text.tuples import Encoding
from binx.lake.base.dump_tables import TableRows, table_of
from binx.log.backup_position import BackupPosition
from binx.log.selection.table_filter import TableFilter
from binx.log.selection.times import format_time
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.columns.schema import Provenance, StatementContext
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.effects import statement_effects
from binx.rows.logged_statements import Statement
from binx.source.log_names import number_of
from binx.source.wording import did_you_mean
from binx.sql.dialect import SqlDialect

_FILE_BITS = 32
_BATCH_BYTES = 16 * 1024 * 1024
_IDENTITY_DIGITS = 8
_NOT_LOGGED = ("mysql", "sys")
"""System databases, whose changes are not logged as rows."""

_SEQUENCE = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?SEQUENCE\b", re.IGNORECASE)

Name = tuple[str, str]
"""Database and table."""


class Backup(NamedTuple):
    """A backup to import as a base.

    Attributes:
        tool: the tool that made it.
        size: bytes of its files.
        written: when the last of its files was written, in µs since 1970.
        head: identifies it: its first bytes, or those of its metadata.
    """

    path: str
    tool: str
    position: BackupPosition
    size: int
    written: int
    head: bytes

    @property
    def version(self) -> int:
        """The commit version of its rows: the last one before its position; 0 if only GTIDs are known."""
        if not self.position.file:
            return 0
        return (number_of(self.position.file) << _FILE_BITS | self.position.offset) - 1

    @property
    def identity(self) -> str:
        """Its identity among sources; never equal to a log's."""
        digested = f"{self.position}\0{self.size}\0".encode() + self.head
        return f"{hashlib.sha256(digested).hexdigest()[:_IDENTITY_DIGITS]}.base"

    @property
    def name(self) -> str:
        """Its name in the data set."""
        return Path(self.path).resolve().name

    @property
    def source(self) -> str:
        """The name of its files in the data set."""
        return f"{escape_name(self.name)}.{self.identity}"


class BaseSource:
    """Writes the rows of one backup.

    Args:
        tables: patterns of tables, see :class:`TableFilter`; empty for all tables.
        further: more options that determine the output, for the manifest.
    """

    def __init__(
        self,
        backup: Backup,
        dataset: DataSet,
        options: ParquetOptions,
        tables: Sequence[str] = (),
        further: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.backup = backup
        self.context = StatementContext()
        self.sha256 = ""
        self.gtids = backup.position.gtids
        self.written = backup.written
        self.server_version = ""
        self.needs_all = True
        self.filled: set[Name] = set()
        self._dataset = dataset
        self._options = options
        self._tables = {text: TableFilter((), [text]) for text in tables}
        self._further = dict(further)
        self._catalog = Catalog()
        self._statements: dict[Name, list[Statement]] = {}
        self._ordinal = 0
        self._sums = Sums()
        self._masks = Masks(options.personal)
        self._records: dict[tuple[str, str, str], TableChanges] = {}
        self._counts: dict[Name, int] = {}
        self._losses: list[str] = []
        self._left_out: set[Name] = set()
        self._rows: TableRows | None = None
        self._batch: ChangeBatch | None = None
        self._files: SourceFiles | None = None

    def find_committed(self) -> SourceReport | None:
        """Return the report of an earlier commit by the same request, or None."""
        known = None if self._options.force else self._dataset.manifest(self.backup.source)
        if known is None or known.get("request") != self._request():
            return None
        return SourceReport(self.backup.source, self.backup.path, True, known)

    def _request(self) -> dict[str, Any]:
        return {**self._options.facts(), "selection": {}, "tables": list(self._tables), **self._further}

    def write(self, fill: Callable[[BaseSource], None]) -> SourceReport:
        """Write and commit the rows and statements that ``fill`` adds.

        Raises:
            BinxError: something cannot be written; nothing was committed.
        """
        transaction = StagedFiles(self._dataset, self.backup.source)
        files = self._files = SourceFiles(transaction, self._options, has_thread=True)
        try:
            fill(self)
            self.end_table()
            self._check_request()
            by_ordinal = {ddl.ordinal: ddl for ddls in self._statements.values() for ddl in ddls}
            for _, statement in sorted(by_ordinal.items()):
                files.write_statement(statement)
            files.close()
            staged = self._staged(files)
            check_rules(self._dataset, self._options, staged.manifest, self.backup.path)
            commit_staged(transaction, staged)
        finally:
            files.abandon()
            if not transaction.committed:
                transaction.abandon()
        return SourceReport(self.backup.source, self.backup.path, False, staged.manifest)

    def _check_request(self) -> None:
        names = {*self._statements, *self._left_out}
        if not names:
            raise AbsentError("has no tables", path=self.backup.path)
        for pattern, table_filter in self._tables.items() if self.needs_all else ():
            if not any(table_filter.takes(*name) for name in names):
                near = did_you_mean(pattern, [".".join(name) for name in names])
                raise AbsentError(f"has no table {pattern}{near}", path=self.backup.path)

    def _staged(self, files: SourceFiles) -> Staged:
        backup, position = self.backup, self.backup.position
        entries, written = files.finish(self._records)
        self._sums.check(backup.path)
        self._sums.saw(backup.version, backup.version, 0, 0)
        source = {
            "name": backup.name,
            "identity": backup.identity,
            "file_number": 0,
            "bytes": backup.size,
            "sha256": self.sha256,
            "server_id": 0,
            "server_version": self.server_version,
            "flavour": (Flavour.MARIADB if self.context.mariadb else Flavour.MYSQL).value,
            "create_timestamp": 0,
            "header_timestamp": 0,
            "in_use": False,
            "ending": "",
        }
        self._masks.take_definitions(self._catalog)
        document = manifest(
            source,
            self._request(),
            self._sums,
            entries,
            losses=self._losses + self._masks.losses(),
            warnings=[*self._masks.warnings],
            rules=self._masks.facts(),
        )
        # The commit times of its rows are unknown.
        document["first_commit_timestamp"] = document["last_commit_timestamp"] = None
        document["base"] = {
            "tool": backup.tool,
            "file": position.file,
            "position": position.offset,
            "gtids": str(self.gtids),
            "written": format_time(self.written),
        }
        dialect = SqlDialect(Flavour(source["flavour"]), split_version(self.server_version))
        records = tuple(schema_record_of(table, dialect) for table in self._records.values())
        return Staged(document, written, records)

    def statement(self, sql: str, db: str, offset: int) -> None:
        """Apply a statement of the dump to the catalog, and keep it if it defines an imported table."""
        followed = self._catalog.follow(sql, db, self.context, Provenance.SCHEMA)
        if followed.parsed is None or _SEQUENCE.match(sql):
            return
        arrow = self._options.decoder.arrow
        self._ordinal += 1
        statement = self._new_statement(sql, db, offset)._replace(followed=followed)
        for effect in statement_effects(followed, sql, db, self.context, arrow):
            if effect.table is None:
                continue
            name = (effect.db, effect.table)
            if effect.action == "dropped":
                self._statements.pop(name, None)
                continue
            if effect.action == "renamed" and name in self._statements:
                former = self._statements.pop(name)
                name = (effect.new_db or effect.db, effect.new_table or "")
                self._statements[name] = former
            if self.wants(name) and (effect.action == "created" or name in self._statements):
                self._statements.setdefault(name, []).append(statement)

    def _new_statement(self, sql: str, db: str, offset: int) -> Statement:
        return Statement(
            commit_version=self.backup.version,
            commit_timestamp=0,
            transaction="",
            ordinal=self._ordinal,
            position=offset,
            timestamp=0,
            kind="ddl",
            db=db,
            sql=sql,
            options={"sql_mode": ""},
            user_vars={},
            context=self.context,
        )

    def wants(self, name: Name) -> bool:
        """Whether a table is imported."""
        if self._tables:
            return any(table_filter.takes(*name) for table_filter in self._tables.values())
        return name[0] not in _NOT_LOGGED

    def rows_of(
        self,
        db: str,
        table: str,
        names: Sequence[str] | None,
        *,
        charset: str = "utf8mb4",
        encodings: Mapping[str, Encoding] = MappingProxyType({}),
    ) -> TableRows:
        """Return the parser for a table's rows that come next.

        Args:
            names: their columns; None for all visible ones.
            charset: of their text; ``binary`` for that of their columns.
            encodings: encodings of columns whose values are not plain, by name.

        Raises:
            DamagedError: the dump has no CREATE TABLE before the rows.
        """
        rows = self._rows
        wanted = (db, table, names, charset)
        if rows is not None and (rows.table.db, rows.table.name, rows.names, rows.charset) == wanted:
            return rows
        self.end_table()
        changes = self.begin_table(db, table)
        arrow, version = self._options.decoder.arrow, self.backup.version
        number = self.rows_taken((changes.db, changes.name))
        rows = TableRows(changes, arrow, names, version, number, charset=charset, encodings=encodings)
        if not rows.has_key:
            self.leave_out((changes.db, changes.name), "the backup lacks columns of its key")
        self._rows = rows
        return rows

    def begin_table(self, db: str, table: str) -> TableChanges:
        """Return the table whose rows come next.

        Raises:
            DamagedError: the dump has no CREATE TABLE before the rows.
        """
        definition = self._catalog.find(db, table)
        if definition is None:
            raise DamagedError(
                f"expected a CREATE TABLE of {db}.{table} before its rows, found none: make the dump without"
                " --no-create-info",
                path=self.backup.path,
            )
        return table_of(definition, self._options.decoder.arrow, self.backup.version)

    def leave_out(self, name: Name, reason: str) -> None:
        """Leave out a table that the backup does not have completely."""
        self._left_out.add(name)
        if self._statements.pop(name, None) is not None:
            self._losses.append(f"{'.'.join(name)}: its rows are left out, because {reason}")

    def leave_out_unfilled(self) -> None:
        """Leave out the tables that have no rows, and for which no comment announced any."""
        for name in list(self._statements):
            if name not in self.filled:
                self.leave_out(name, "the dump has only its CREATE TABLE")

    def keep_only(self, names: Collection[Name]) -> None:
        """Forget the statements of all other tables."""
        self._statements = {name: ddls for name, ddls in self._statements.items() if name in names}

    def rows_taken(self, name: Name) -> int:
        """Return the number of rows of a table added."""
        return self._counts.get(name, 0)

    def take(self, rows: TableRows) -> None:
        """Add the parsed rows."""
        name = (rows.table.db, rows.table.name)
        if name in self._left_out:
            rows.tuples.finish()
            return
        if not rows.tuples.rows:
            return
        try:
            batch = rows.batch()
        except BinxError as error:
            raise error.at(path=self.backup.path) from error.__cause__
        self.take_batch(batch)

    def take_batch(self, batch: ChangeBatch) -> None:
        """Add a batch of rows."""
        try:
            batch = self._masks.batch(batch)
        except BinxError as error:
            raise error.at(path=self.backup.path) from None
        name = (batch.table.db, batch.table.name)
        self._counts[name] = self.rows_taken(name) + batch.rows
        sums = self._sums.tables[name]
        sums.images += batch.rows
        sums.written += batch.rows
        sums.take_changes((batch.rows, 0, 0))
        self._records.setdefault((*name, batch.table.version), batch.table)
        self._write_batch()
        self._batch = batch

    @property
    def batch_limits(self) -> tuple[int, int]:
        """Maximum number of rows and bytes to parse before adding them."""
        return self._options.decoder.row_group_rows, _BATCH_BYTES

    def _write_batch(self) -> None:
        if self._batch is not None and self._files is not None:
            self._files.write_changes(self._batch)
        self._batch = None

    def end_table(self) -> None:
        """Write the rest of a table, and close its file, as a dump may have many tables."""
        if self._rows is not None:
            self.take(self._rows)
            self._losses += self._rows.losses()
            self._rows = None
        if self._batch is not None and self._files is not None:
            self._files.end_files([self._batch.table])
            self._write_batch()
            self._files.end_files([])
