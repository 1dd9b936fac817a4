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
from binx.log.file import BinlogFile
from binx.rows.columns.schema import ChangeKind, StatementContext, TableDefinition
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.dump_moment import START, Moment, given_moment, own_moment
from binx.rows.ddl.statements import (
    AlterTable,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropTables,
    MovePartition,
    NotUnderstood,
    RenameTables,
    TableName,
)
from binx.rows.ddl.statements import Statement as Parsed
from binx.rows.decoder import ChangeDecoder
from binx.rows.statements import Statement
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
    moment: Moment
    unclear: tuple[str, ...] = ()

    def known_in(self, files: Sequence[BinlogFile]) -> Catalog:
        """The tables that are known before the first of these logs, and those that will be known later.

        Args:
            files: all logs, in order; their statements are read where the dump is not as of their start.

        Raises:
            SourceError: a log cannot be read.
        """
        catalog = self.tables.copy()
        if self.moment == START:
            return catalog
        found = list(_schema_statements(files))
        names = [file.name for file in files]
        for table in self.tables:
            self._settle(catalog, table, [one for one in found if one.is_about(table)], names)
        return catalog

    def _settle(
        self, catalog: Catalog, table: TableDefinition, found: Sequence[_SchemaStatement], names: list[str]
    ) -> None:
        """Say of one table from where on its definition is known."""
        sides = [self.moment.is_behind(one.file, one.statement, names) for one in found]
        if not any(side is not False for side in sides):
            return
        last = max(place for place, side in enumerate(sides) if side is not False)
        statement = found[last].statement
        where = f"{found[last].file}, offset {statement.position}"
        what = f"“{shortened(statement.sql, _SHOWN)}” ({where})"
        if None in sides:
            reason = (
                f"{self.path} does not say as of when it is, and {what} changes the table: say it with"
                " --schema FILE@start, FILE@end, FILE@GTID or FILE@TIME"
            )
        else:
            reason = f"its definition in {self.path} is as of {self.moment.text}, behind {what}"
        catalog.put(table._replace(columns=(), primary_key=(), indexes=(), unknown=reason))
        context = statement.context
        if None not in sides and context is not None and context.place is not None:
            catalog.expect(context.place, table)


class _SchemaStatement(NamedTuple):
    """A DDL statement of the logs, and the tables (database, name) that it changes; None for any."""

    file: str
    statement: Statement
    tables: tuple[tuple[str | None, str | None], ...]

    def is_about(self, table: TableDefinition) -> bool:
        """Whether it may change a table; a table without database matches by name."""
        return any(
            (db is None or not table.db or db.casefold() == table.db.casefold())
            and (name is None or name.casefold() == table.name.casefold())
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
    given = None
    if sign and name and not Path(path).exists():
        path, given = name, given_moment(moment)
    try:
        text = Path(path).read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=path) from error
    dump = dump_of(text, path, given)
    if not len(dump.tables):
        raise SourceError("expected CREATE TABLE statements, found no table in it", path=path)
    return dump


def dump_of(text: str, path: str = "the schema", moment: Moment | None = None) -> SchemaDump:
    """The definitions in a text.

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
    return SchemaDump(path, catalog, own_moment(text) if moment is None else moment, unclear)


def _schema_statements(files: Iterable[BinlogFile]) -> Iterator[_SchemaStatement]:
    """The schema statements of logs that change tables; where a log is damaged, those before."""
    followed, decoders = Catalog(), Catalog()
    for file in files:
        scan = file.scan(Level.LEVEL_EVENTS, verify=False)
        decoder = ChangeDecoder(file, decoders, lambda db, table: False)
        decoder.resolve_only = True
        try:
            for found in scan:
                marks = found.mask()
                found.mark_statements(marks)
                for item in decoder.decode(found, marks):
                    if isinstance(item, Statement) and item.context is not None:
                        parsed = followed.follow(item.sql, item.db, item.context).parsed
                        tables = tuple(_changed(parsed, item.db, item.context))
                        if tables:
                            yield _SchemaStatement(file.name, item, tables)
        except (DamagedError, UnsupportedError):
            # Whoever decodes the log tells of it, and forgets definitions behind damage.
            continue


def _changed(
    parsed: Parsed | None, default_db: str, context: StatementContext
) -> Iterator[tuple[str | None, str | None]]:
    """The tables whose columns a statement may change."""

    def full(table: TableName) -> tuple[str, str]:
        return default_db if table.db is None else table.db, table.name

    match parsed:
        case CreateTable():
            if context.committed or not parsed.if_not_exists:
                yield full(parsed.table)
        case AlterTable() if not all(isinstance(one, MovePartition) for one in parsed.actions):
            yield full(parsed.table)
            yield from (full(table) for table in (parsed.new_name,) if table is not None)
        case RenameTables():
            yield from (full(table) for pair in parsed.pairs for table in pair)
        case DropTables():
            yield from map(full, parsed.tables)
        case NotUnderstood():
            yield from map(full, parsed.tables)
            if not parsed.tables:
                yield None, None
        case DropDatabase() | CreateDatabase(replaces=True):
            yield parsed.db, None
