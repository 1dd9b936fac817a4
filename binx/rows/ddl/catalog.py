"""The catalog: the definitions of all known tables at one point of a log, updated by each DDL statement.

A table is known from the statement that created it, or from a dump loaded before.
If a statement's effect is unclear, its table becomes unknown, with the reason, so that
rows are read without names rather than with wrong ones.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from binx.rows.columns.schema import (
    DEFAULT_CONTEXT,
    Change,
    ChangeKind,
    Provenance,
    StatementContext,
    TableDefinition,
)
from binx.rows.ddl.catalog_statements import Applier
from binx.rows.ddl.known_tables import KnownTables, folded
from binx.rows.ddl.parse import is_schema_statement, parse
from binx.rows.ddl.parsed_statements import (
    AlterTable,
    CreateTable,
    DropTables,
    NamedTable,
    NotUnderstood,
    RenameTables,
    Statement,
    TruncateTable,
)

_LogPosition = tuple[str, int]

Names = frozenset[tuple[str, str]]
"""(database, name) of a connection's temporary tables, in lower case."""


class Split(NamedTuple):
    """A statement split by whether it applies to its connection's temporary tables or to other tables.

    A part is None if the statement has no such tables. For the connection that created it, a temporary
    table hides another table of the same name. Servers log statements on temporary tables only with
    ``binlog_format`` STATEMENT or MIXED, and mark them as using temporary tables, except MariaDB's RENAME
    TABLE. MySQL's RENAME TABLE never applies to temporary tables.
    """

    temporary: Statement | None
    lasting: Statement | None


def split_statement(parsed: Statement, own: Names, default_db: str, context: StatementContext) -> Split:
    """Split a statement into its parts for temporary and for other tables.

    Args:
        own: the temporary tables of its connection.
    """

    def key(table: NamedTable) -> tuple[str, str]:
        return folded(*table.qualified(default_db))

    match parsed:
        case CreateTable(temporary=True) | DropTables(temporary=True) | NotUnderstood(temporary=True):
            return Split(parsed, None)
        case AlterTable() if context.uses_temporary:
            # If a temporary table was created before the first log, only this flag shows that it is one.
            return Split(parsed, None)
        case TruncateTable() if context.uses_temporary and key(parsed.table) in own:
            return Split(parsed, None)
        case DropTables() if context.uses_temporary:
            temporary = tuple(table for table in parsed.tables if key(table) in own)
            lasting = tuple(table for table in parsed.tables if key(table) not in own)
            return Split(*(DropTables(tables) if tables else None for tables in (temporary, lasting)))
        case RenameTables() if context.mariadb:
            pairs: dict[bool, list[tuple[NamedTable, NamedTable]]] = {True: [], False: []}
            for old, new in parsed.pairs:
                # Renames apply from left to right: each one sees the names that earlier ones produced.
                is_own = key(old) in own
                own = own - {key(old)} | {key(new)} if is_own else own
                pairs[is_own].append((old, new))
            return Split(*(RenameTables(tuple(pairs[own])) if pairs[own] else None for own in (True, False)))
    return Split(None, parsed)


def _done_before_error(parsed: Statement | None) -> Statement | None:
    """Return what a statement that failed did: of CREATE, OR REPLACE alone is logged, which had dropped."""
    return DropTables((parsed.table,), parsed.temporary) if isinstance(parsed, CreateTable) else parsed


class Followed(NamedTuple):
    """A statement applied to a catalog, and its changes to non-temporary tables.

    Attributes:
        parsed: what it did, as a parsed statement; None if it does not affect such tables.
        is_temporary: whether it is about temporary tables alone.
    """

    parsed: Statement | None
    changes: list[Change]
    is_temporary: bool = False


class Catalog(KnownTables):
    """All tables known at one point of a log.

    Attributes:
        temporary: temporary tables, by (server ID, connection ID).
        statements: number of statements that may have changed the catalog.
        expected: definitions to add later, by the position of the statement after which they are valid.
    """

    def __init__(self) -> None:
        super().__init__()
        self.statements = 0
        self.temporary: dict[tuple[int, int], Catalog] = {}
        self.expected: dict[_LogPosition, tuple[TableDefinition, ...]] = {}

    def copy(self) -> Catalog:
        """Return an independent copy."""
        copied = Catalog()
        copied.become(self)
        return copied

    def become(self, catalog: Catalog) -> None:
        """Replace the contents with a copy of another catalog's."""
        self._tables, self.statements = dict(catalog._tables), catalog.statements
        self.databases = dict(catalog.databases)
        self.temporary, self.expected = dict(catalog.temporary), dict(catalog.expected)

    def clear(self) -> None:
        """Forget everything, as statements may have been missed."""
        statements = self.statements
        self.become(Catalog())
        self.statements = statements + 1

    def fingerprint(self) -> str:
        """Return hex digits that are equal for catalogs with the same columns in the same tables."""
        digest = hashlib.sha256()
        for table in sorted(self, key=lambda table: (table.db, table.name)):
            facts = (table.db, table.name, table.columns, table.row_key, table.unknown)
            digest.update(repr(facts).encode("utf-8", "replace"))
        return digest.hexdigest()[:16]

    def apply(
        self,
        statement: str,
        default_db: str,
        context: StatementContext = DEFAULT_CONTEXT,
        provenance: Provenance = Provenance.DDL,
    ) -> list[Change]:
        """Apply one statement. Never raises: a statement that cannot be parsed is a change of kind UNPARSED.

        Args:
            statement: the text of any QUERY event; statements other than DDL cost little.
        """
        return self.follow(statement, default_db, context, provenance).changes

    def follow(
        self,
        statement: str,
        default_db: str,
        context: StatementContext = DEFAULT_CONTEXT,
        provenance: Provenance = Provenance.DDL,
    ) -> Followed:
        """Like :meth:`apply`, but return the parsed statement as well as its changes."""
        parsed = parse(statement, context) if is_schema_statement(statement) else None
        if parsed is None:
            return Followed(None, [])
        self.statements += 1
        connection = context.connection
        temporary = Catalog() if connection is None else self.temporary.get(connection, Catalog()).copy()
        temporary.databases = self.databases
        names = frozenset(folded(table.db, table.name) for table in temporary)
        split = split_statement(parsed, names, default_db, context)
        if context.failed:
            split = Split(*map(_done_before_error, split))
        models = (temporary, self) if context.uses_temporary else (self,)
        if split.temporary is not None:
            Applier(temporary, statement, default_db, context, provenance, models).apply(split.temporary)
            if connection is not None:
                self.temporary[connection] = temporary
                if not len(temporary):
                    del self.temporary[connection]
        if split.lasting is None:
            return Followed(None, [], is_temporary=True)
        changes = Applier(self, statement, default_db, context, provenance, models).apply(split.lasting)
        for table in self.expected.get(context.position or ("", 0), ()):
            before = self.find(table.db, table.name)
            changes.append(Change(ChangeKind.ALTERED, table.db, table.name, table, before))
            self.put(table)
        return Followed(split.lasting, changes)

    def expect(self, position: _LogPosition, table: TableDefinition) -> None:
        """Add a table's definition once the statement at this position of the logs is applied."""
        self.expected[position] = (*self.expected.get(position, ()), table)

    def load_dump(self, text: str) -> list[Change]:
        """Apply a dump of ``mysqldump --no-data``; tables before any USE are valid for every database."""
        changes: list[Change] = []
        default_db = ""
        # Imported here, as most runs have no dump.
        from binx.rows.ddl.dump_statements import statements, used_database

        for statement in statements(text):
            used = used_database(statement)
            if used is not None:
                default_db = used
            else:
                changes += self.apply(statement, default_db, provenance=Provenance.SCHEMA)
        return changes
