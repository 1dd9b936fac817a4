"""The state of all known tables at one point of a log, moved on by each schema statement.

A table is known from the statement that created it, or from a dump loaded before.
What a statement leaves unclear makes its table unknown, with the reason, so that the
rows are read without names rather than with wrong ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from binx.rows.columns.schema import (
    DEFAULT_CONTEXT,
    Change,
    ChangeKind,
    Provenance,
    StatementContext,
    TableDefinition,
)
from binx.rows.ddl.catalog_statements import StatementAtWork
from binx.rows.ddl.parse import is_schema_statement, parse
from binx.rows.ddl.statements import (
    AlterTable,
    Charset,
    CreateTable,
    DropTables,
    NotUnderstood,
    RenameTables,
    Statement,
    TableName,
    TruncateTable,
)

IsTemporary = Callable[[TableName], bool]
"""Whether the connection has a temporary table of that name."""


class Parts(NamedTuple):
    """A statement in two: for the connection's temporary tables, and for those that stay.

    For the connection that made it, a temporary table stands in the place of another of its name. Servers log
    what is done to one only with ``binlog_format`` STATEMENT or MIXED, and mark these statements as belonging
    to their connection, but for MariaDB's RENAME TABLE. MySQL's is never about temporary tables.

    Attributes:
        temporary: what it does to temporary tables of its connection, None for nothing.
        lasting: what it does to other tables, None for nothing.
    """

    temporary: Statement | None
    lasting: Statement | None


def parts_of(parsed: Statement, context: StatementContext, is_temporary: IsTemporary) -> Parts:
    """Tell what a statement does to temporary tables from what it does to others."""
    match parsed:
        case CreateTable():
            is_about_one = parsed.temporary
        case AlterTable():
            # Of a table made before the first log nothing more is known than that.
            is_about_one = context.uses_temporary
        case RenameTables():
            return _renames(parsed, context, is_temporary)
        case DropTables() if not parsed.temporary:
            named = [context.uses_temporary and is_temporary(table) for table in parsed.tables]
            dropped = [
                DropTables(tuple(t for t, own in zip(parsed.tables, named, strict=True) if own is wanted))
                for wanted in (True, False)
            ]
            return Parts(*(one if one.tables else None for one in dropped))
        case DropTables() | NotUnderstood():
            is_about_one = parsed.temporary
        case TruncateTable():
            is_about_one = context.uses_temporary and is_temporary(parsed.table)
        case _:
            is_about_one = False
    return Parts(parsed, None) if is_about_one else Parts(None, parsed)


def _renames(parsed: RenameTables, context: StatementContext, is_temporary: IsTemporary) -> Parts:
    """Each name is what those to the left have made of it."""
    renamed: dict[TableName, bool] = {}
    pairs: tuple[list[tuple[TableName, TableName]], ...] = ([], [])
    for old, new in parsed.pairs:
        own = context.mariadb and renamed.pop(old, is_temporary(old))
        if own:
            renamed[old], renamed[new] = False, True
        pairs[0 if own else 1].append((old, new))
    return Parts(*(RenameTables(tuple(some)) if some else None for some in pairs))


_Key = tuple[str, str]


def _key(db: str, name: str) -> _Key:
    return db.casefold(), name.casefold()


class Followed(NamedTuple):
    """A statement that a catalog has followed: what it asked of lasting tables, and what it changed.

    Attributes:
        parsed: what it asked for, None for nothing.
    """

    parsed: Statement | None
    changes: list[Change]


class Catalog:
    """All tables known at one point of a log.

    Names are kept as logged. They are found exactly, or, as servers with
    lower_case_table_names write them in more than one way, without regard to case where only
    one table fits.

    Attributes:
        databases: character sets of databases, by their names without regard to case.
    """

    def __init__(self) -> None:
        self._tables: dict[_Key, tuple[TableDefinition, ...]] = {}
        self._temporary: dict[tuple[int, int], Catalog] = {}
        self._expected: dict[tuple[str, int], tuple[TableDefinition, ...]] = {}
        self.databases: dict[str, Charset] = {}
        self._shared = False

    def copy(self) -> Catalog:
        """The same state, to move on by itself; takes the same short time however many tables there are."""
        other = Catalog()
        other.become(self)
        return other

    def become(self, other: Catalog) -> None:
        """Take over what another one knows; both move on by themselves."""
        self._tables, self.databases = other._tables, other.databases
        self._temporary, self._expected = other._temporary, other._expected
        self._shared = other._shared = True

    def is_as(self, before: Catalog) -> bool:
        """Whether no schema statement was met since a copy was made."""
        return self._tables is before._tables

    def clear(self) -> None:
        """Forget everything: statements may have been missed, and what was known may be true no more."""
        self._tables, self.databases, self._temporary, self._expected = {}, {}, {}, {}
        self._shared = False

    def __iter__(self) -> Iterator[TableDefinition]:
        for same_name in self._tables.values():
            yield from same_name

    def __len__(self) -> int:
        return sum(map(len, self._tables.values()))

    def fingerprint(self) -> str:
        """Hex digits that are the same for catalogs that name the same columns in the same tables."""
        digest = hashlib.sha256()
        for table in sorted(self, key=lambda table: (table.db, table.name)):
            digest.update(
                repr((table.db, table.name, table.columns, table.row_key, table.unknown)).encode(
                    "utf-8", "replace"
                )
            )
        return digest.hexdigest()[:16]

    def lookup(self, db: str, table: str) -> TableDefinition | None:
        """The table's definition, None where it is not known.

        Tables of a dump that names no database are found in every database.
        The definition may say, by ``unknown``, that only the table's existence is known.
        """
        found = self.find(db, table)
        return found if found is not None or not db else self.find("", table)

    def find(self, db: str, table: str) -> TableDefinition | None:
        """The same without the tables of a dump that names no database."""
        candidates = self._tables.get(_key(db, table), ())
        for candidate in candidates:
            if candidate.db == db and candidate.name == table:
                return candidate
        return candidates[0] if len(candidates) == 1 else None

    def apply(
        self,
        statement: str,
        default_db: str,
        context: StatementContext = DEFAULT_CONTEXT,
        provenance: Provenance = Provenance.DDL,
    ) -> list[Change]:
        """Move on over one statement. Never raises: what is not understood is a change of kind UNPARSED.

        Args:
            statement: the text of a QUERY event, any statement; what is no schema statement costs little.
        """
        return self.follow(statement, default_db, context, provenance).changes

    def follow(
        self,
        statement: str,
        default_db: str,
        context: StatementContext = DEFAULT_CONTEXT,
        provenance: Provenance = Provenance.DDL,
    ) -> Followed:
        """As :meth:`apply`, with what the statement asked for beside what it changed."""
        parsed = parse(statement, context) if is_schema_statement(statement) else None
        if parsed is None:
            return Followed(None, [])
        self._unshare()
        own = self.temporary(context.connection)

        def is_temporary(table: TableName) -> bool:
            return own.find(default_db if table.db is None else table.db, table.name) is not None

        parts = parts_of(parsed, context, is_temporary)
        models = (own, self) if context.uses_temporary else (self,)
        if parts.temporary is not None:
            StatementAtWork(own, statement, default_db, context, provenance, models).do(parts.temporary)
            self.keep_temporary(context.connection, own)
        if parts.lasting is None:
            return Followed(None, [])
        changes = StatementAtWork(self, statement, default_db, context, provenance, models).do(parts.lasting)
        for table in self._expected.get(context.place or ("", 0), ()):
            changes.append(
                Change(ChangeKind.ALTERED, table.db, table.name, table, self.find(table.db, table.name))
            )
            self.put(table)
        return Followed(parts.lasting, changes)

    def expect(self, place: tuple[str, int], table: TableDefinition) -> None:
        """Have a table's definition known behind a statement, by the statement's place in the logs."""
        self._expected = {**self._expected, place: (*self._expected.get(place, ()), table)}

    @property
    def expected(self) -> dict[tuple[str, int], tuple[TableDefinition, ...]]:
        """The definitions that will be known, by the place of the statement that they are known behind."""
        return self._expected

    def _unshare(self) -> None:
        """Have tables of its own, to be changed."""
        if self._shared:
            self._tables, self.databases = dict(self._tables), dict(self.databases)
            self._temporary = {connection: own.copy() for connection, own in self._temporary.items()}
            for own in self._temporary.values():
                own._unshare()
            self._shared = False

    def temporary(self, connection: tuple[int, int] | None) -> Catalog:
        """The temporary tables of a connection, to be changed and kept."""
        known = None if connection is None else self._temporary.get(connection)
        own = Catalog() if known is None else known
        own.databases = self.databases
        return own

    def keep_temporary(self, connection: tuple[int, int] | None, own: Catalog) -> None:
        """Take in the temporary tables that a connection has now."""
        if connection is not None and len(own):
            self._temporary[connection] = own
        elif connection is not None:
            self._temporary.pop(connection, None)

    @property
    def connections(self) -> tuple[tuple[int, int], ...]:
        """The connections, by the server's number and theirs, that have temporary tables."""
        return tuple(self._temporary)

    def load_dump(self, text: str) -> list[Change]:
        """Take in a dump of SQL, as ``mysqldump --no-data`` writes it; before any USE for every database."""
        changes: list[Change] = []
        default_db = ""
        # Here and not above: most runs are given no dump.
        from binx.rows.ddl.dump import statements, used_database

        for statement in statements(text):
            used = used_database(statement)
            if used is not None:
                default_db = used
            else:
                changes += self.apply(statement, default_db, provenance=Provenance.SCHEMA)
        return changes

    def put(self, table: TableDefinition) -> None:
        """Take in a table, in place of the one of its very name."""
        key = _key(table.db, table.name)
        others = tuple(
            other for other in self._tables.get(key, ()) if (other.db, other.name) != (table.db, table.name)
        )
        self._tables[key] = (*others, table)

    def remove(self, table: TableDefinition) -> None:
        """Forget a table; nothing is done where it is not known."""
        key = _key(table.db, table.name)
        others = tuple(other for other in self._tables.get(key, ()) if other is not table)
        if others:
            self._tables[key] = others
        else:
            self._tables.pop(key, None)
