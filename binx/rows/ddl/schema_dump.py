"""Schema dumps, and for which parts of the logs their table definitions are valid.

A dump holds table definitions at one point in time. After it, the DDL statements in the logs change them.
Before it, the definition is valid only for tables that no statement in between has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from binx.errors import DamagedError, SourceError, UnsupportedError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.columns.schema import ChangeKind, TableDefinition, folded_name
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.dump_moment import START, DumpMoment, parse_moment, recorded_moment
from binx.rows.ddl.parsed_statements import redefined_tables
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading, no_table
from binx.source.wording import shortened

_SHOWN = 60


class SchemaDump(NamedTuple):
    """A dump of table definitions.

    Attributes:
        path: the file, as the user named it.
        unclear: a sentence for each statement that was not understood.
    """

    path: str
    tables: Catalog
    moment: DumpMoment
    unclear: tuple[str, ...] = ()

    def known_in(self, files: Sequence[BinlogFile]) -> Catalog:
        """Return the tables that are known before the first of these logs, and those to be known later.

        Args:
            files: all logs, in order; their statements are read where the dump is not as of their start.

        Raises:
            SourceError: a log cannot be read.
        """
        catalog = self.tables.copy()
        if self.moment == START:
            return catalog
        ddl = list(_schema_statements(files))
        names = [file.name for file in files]
        for table in self.tables:
            self._settle(catalog, table, [entry for entry in ddl if entry.is_about(table)], names)
        return catalog

    def _settle(
        self, catalog: Catalog, table: TableDefinition, ddl: Sequence[_SchemaStatement], names: list[str]
    ) -> None:
        """Record from which statement on a table's definition is known."""
        order = [self.moment.is_after(entry.file, entry.statement, names) for entry in ddl]
        earlier = [entry for entry, precedes in zip(ddl, order, strict=True) if precedes is not False]
        if not earlier:
            return
        statement = earlier[-1].statement
        where = f"{earlier[-1].file}, offset {statement.position}"
        what = f"“{shortened(statement.sql, _SHOWN)}” ({where})"
        if None in order:
            reason = (
                f"{self.path} does not say as of when it is, and {what} changes the table: say it with"
                " --schema FILE@start, FILE@end, FILE@GTID or FILE@TIME"
            )
        else:
            reason = f"its definition in {self.path} is as of {self.moment.text}, after {what}"
        catalog.put(table._replace(columns=(), primary_key=(), indexes=(), unknown=reason))
        context = statement.context
        if None not in order and context is not None and context.position is not None:
            catalog.expect(context.position, table)


class _SchemaStatement(NamedTuple):
    """A DDL statement of the logs, and the tables (database, name) that it changes; None for any."""

    file: str
    statement: Statement
    tables: tuple[tuple[str | None, str | None], ...]

    def is_about(self, table: TableDefinition) -> bool:
        """Whether it may change a table; a table without database matches by name."""
        return any(
            (db is None or not table.db or folded_name(db) == folded_name(table.db))
            and (name is None or folded_name(name) == folded_name(table.name))
            for db, name in self.tables
        )


def read_dump(path: str) -> SchemaDump:
    """Read table definitions in the format of ``mysqldump --no-data``.

    Args:
        path: an SQL file in UTF-8, optionally followed by ``@`` and the dump's position: ``start`` or ``end``
            of the logs, a GTID, or a time. Without it, the position is taken from the dump's own comments.

    Raises:
        SourceError: the file cannot be read, or defines no table.
        UsageError: the part after the ``@`` is not a valid position.
    """
    name, sign, moment = path.rpartition("@")
    known_moment = None
    if sign and name and not Path(path).exists():
        path, known_moment = name, parse_moment(moment)
    try:
        text = Path(path).read_text("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=path) from error
    dump = dump_of(text, path, known_moment)
    if not len(dump.tables):
        raise SourceError("expected CREATE TABLE statements, found no table in it", path=path)
    return dump


def dump_of(text: str, path: str = "the schema", moment: DumpMoment | None = None) -> SchemaDump:
    """Return the definitions in a text.

    Args:
        moment: as of when; None: as its own comments say.
    """
    catalog = Catalog()
    changes = catalog.load_dump(text)
    unclear = tuple(
        f"{path}: table {change.table or '?'}: {change.reason}"
        for change in changes
        if change.kind is ChangeKind.UNPARSED
    )
    return SchemaDump(path, catalog, recorded_moment(text) if moment is None else moment, unclear)


def _schema_statements(files: Iterable[BinlogFile]) -> Iterator[_SchemaStatement]:
    """Yield the schema statements of logs that change tables; of a damaged log, those before the damage."""
    followed, reading = Catalog(), Reading(Catalog(), no_table, resolve_only=True)
    for file in files:
        scan = Scan(file, Level.LEVEL_EVENTS, verify=False)
        try:
            for transactions in scan:
                mask = transactions.mask()
                transactions.mark_statements(mask)
                for item in reading.items(file, transactions, mask):
                    if isinstance(item, Statement) and item.context is not None:
                        parsed = followed.follow(item.sql, item.db, item.context).parsed
                        tables = tuple(redefined_tables(parsed, item.db, item.context))
                        if tables:
                            yield _SchemaStatement(file.name, item, tables)
        except (DamagedError, UnsupportedError):
            # Whoever decodes the log reports it, and forgets definitions after damage.
            continue
