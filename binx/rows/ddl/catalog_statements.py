"""Apply DDL statements to the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from binx.rows.columns.charsets import charset_of_collation
from binx.rows.columns.schema import (
    Change,
    ChangeKind,
    ColumnDefinition,
    ForeignKey,
    Provenance,
    StatementContext,
    TableDefinition,
    folded_name,
)
from binx.rows.ddl.catalog_alter import VERSIONING_COLUMNS, AlterError, alter, with_key
from binx.rows.ddl.clauses import complete_charset
from binx.rows.ddl.known_tables import KnownTables
from binx.rows.ddl.parsed_statements import (
    CHARSET_DEFAULT,
    UNVERSIONED,
    VERSIONED,
    AlterDatabase,
    AlterTable,
    ChangeColumn,
    CreateDatabase,
    CreateTable,
    DeclaredCharset,
    DropDatabase,
    DropTables,
    MoveRows,
    NamedTable,
    NotUnderstood,
    PartitionMove,
    RenameColumn,
    RenameTables,
    Statement,
)
from binx.rows.ddl.resolve import resolve_column, with_clocks
from binx.rows.ddl.table_keys import (
    Indexes,
    index_of,
    not_null,
    renamed_table,
    same_name,
    settled_indexes,
    with_checks,
    with_foreign_keys,
    with_index,
    with_key_of_references,
    without_period,
)
from binx.rows.ddl.tokens import with_sequences_of

_NOT_COPIED = frozenset({"AUTO_INCREMENT", "DATA DIRECTORY", "INDEX DIRECTORY"})
"""Options of a table that CREATE TABLE … LIKE does not copy."""


class Applier:
    """Applies one statement to a catalog.

    Args:
        models: the catalogs in which the table of LIKE is looked up, in this order.
    """

    def __init__(
        self,
        catalog: KnownTables,
        statement: str,
        default_db: str,
        context: StatementContext,
        provenance: Provenance,
        models: tuple[KnownTables, ...],
    ) -> None:
        self.catalog = catalog
        self.statement = statement
        self.default_db = default_db
        self.context = context
        self.provenance = provenance
        self.models = models

    def apply(self, parsed: Statement) -> list[Change]:
        """Apply the parsed statement, and return the changes."""
        match parsed:
            case CreateTable():
                return self._create(parsed)
            case AlterTable():
                return self._alter(parsed)
            case RenameTables():
                return [change for old, new in parsed.pairs for change in self._rename(old, new)]
            case DropTables():
                return [self._drop(table) for table in parsed.tables]
            case NotUnderstood():
                return self._not_understood(parsed)
            case DropDatabase():
                return self._drop_database(parsed.db)
            case CreateDatabase(replaces=True):
                changes = self._drop_database(parsed.db)
                self._set_database(parsed)
                return changes
            case CreateDatabase() | AlterDatabase():
                self._set_database(parsed)
        return []

    def _find(self, table: NamedTable) -> TableDefinition | None:
        return self.catalog.find(*table.qualified(self.default_db))

    def _server_charset(self) -> DeclaredCharset:
        collation = self.context.server_collation
        return DeclaredCharset(charset_of_collation(collation), collation)

    def _database_charset(self, db: str) -> DeclaredCharset:
        return self.catalog.databases.get(self.catalog.database(db), DeclaredCharset())

    def _stub(self, table: NamedTable) -> TableDefinition:
        return TableDefinition(
            *table.qualified(self.default_db),
            provenance=self.provenance,
            ddl=self.statement,
            server_id=self.context.server_id,
        )

    def _unknown(self, table: NamedTable, reason: str) -> TableDefinition:
        definition = self._stub(table)._replace(unknown=reason)
        self.catalog.put(definition)
        return definition

    def _create(self, parsed: CreateTable) -> list[Change]:
        previous = self._find(parsed.table)
        may_exist = parsed.if_not_exists and not self.context.committed
        if may_exist and self.catalog.lookup(*parsed.table.qualified(self.default_db)) is not None:
            return []
        if parsed.like is not None:
            definition = self._like(parsed.table, parsed.like)
        elif parsed.select:
            definition = self._stub(parsed.table)._replace(unknown="some of its columns come from a query")
        else:
            definition = self._from_columns(parsed)
        if may_exist and self.provenance is Provenance.DDL and not parsed.temporary:
            definition = definition._replace(provenance=Provenance.IF_NOT_EXISTS)
        if previous is not None and (previous.db, previous.name) != (definition.db, definition.name):
            previous = None
        self.catalog.put(definition)
        return [Change(ChangeKind.CREATED, definition.db, definition.name, definition, previous)]

    def _from_columns(self, parsed: CreateTable) -> TableDefinition:
        definition = self._stub(parsed.table)
        parsed = _with_versioned_columns(parsed)
        charset = complete_charset(parsed.charset, self._database_charset(definition.db), self.context)
        definition = definition._replace(charset=charset.charset, collation=charset.collation)
        columns = with_clocks(
            tuple(resolve_column(spec, charset, self.context) for spec in parsed.columns), self.context
        )
        if parsed.versioned and not any(column.generated == "row_end" for column in columns):
            columns += VERSIONING_COLUMNS
        known = {folded_name(column.name): column.name for column in columns}
        if len(known) != len(columns):
            return definition._replace(unknown="its statement names a column twice")
        keys = [without_period(key, parsed.period) for key in parsed.keys]
        columns = not_null(columns, parsed.period[1:])
        primary = next((key.columns for key in keys if key.primary), ())
        indexes: Indexes = ()
        for key in keys:
            if key.references is not None:
                indexes = with_key_of_references(indexes, key)
            elif not key.primary:
                indexes = with_index(indexes, key)
        definition = definition._replace(
            indexes=settled_indexes(indexes, columns, primary, mariadb=self.context.mariadb),
            period=parsed.period,
            primary=next((index_of(key, "PRIMARY") for key in keys if key.primary), None),
            options=parsed.options,
            partitioning=parsed.partitioning,
            versioned=parsed.versioned,
        )
        definition = with_foreign_keys(definition, keys, self.context)
        definition = with_checks(definition, parsed.checks, mariadb=self.context.mariadb)
        definition = with_key(
            definition, columns, tuple(known.get(folded_name(name), name) for name in primary)
        )
        return self._with_sequences(definition)

    def _with_sequences(self, table: TableDefinition) -> TableDefinition:
        """Return a table whose defaults name the databases of MariaDB's sequences."""

        def named(column: ColumnDefinition) -> ColumnDefinition:
            default = column.default
            if default is None or not default.sql:
                return column
            return column._replace(
                default=default._replace(sql=with_sequences_of(default.sql, self.default_db))
            )

        return table._replace(columns=tuple(map(named, table.columns))) if self.context.mariadb else table

    def _like(self, table: NamedTable, model: NamedTable) -> TableDefinition:
        definition = self._stub(table)
        candidates = (catalog.lookup(*model.qualified(self.default_db)) for catalog in self.models)
        source = next((candidate for candidate in candidates if candidate is not None), None)
        if source is None:
            return definition._replace(unknown=f"it was created LIKE {model.name!r}, which is not known")
        checks = source.checks
        if not self.context.mariadb:
            # It numbers them in the order of their names.
            ordered = sorted(checks, key=lambda check: folded_name(check.name or ""))
            unnamed = (check._replace(name=None) for check in ordered)
            checks = with_checks(definition, unnamed, mariadb=False).checks
        return source._replace(
            db=definition.db,
            name=definition.name,
            checks=checks,
            options=tuple(option for option in source.options if option[0] not in _NOT_COPIED),
            columns=tuple(column._replace(added=None) for column in source.columns),
            indexes=settled_indexes(
                source.indexes, source.columns, source.primary_key, mariadb=self.context.mariadb
            ),
            foreign_keys=(),
            provenance=self._provenance_after(source.provenance),
            ddl=self.statement,
        )

    def _provenance_after(self, provenance: Provenance) -> Provenance:
        """Return the provenance of a definition that the statement makes of another one."""
        return provenance if provenance is Provenance.IF_NOT_EXISTS else self.provenance

    def _alter(self, parsed: AlterTable) -> list[Change]:
        db = parsed.table.qualified(self.default_db)[0]
        previous = self.catalog.lookup(db, parsed.table.name)
        changes: list[Change] = []
        if previous is None:
            if not parsed.if_exists:
                changes.append(Change(ChangeKind.ALTERED, db, parsed.table.name))
        elif parsed.actions and previous.unknown is None:
            changes.append(self._altered(previous, parsed))
        else:
            # Made again, as by FORCE, a table may store the same columns otherwise.
            changes.append(Change(ChangeKind.ALTERED, db, previous.name, previous, previous))
        if changes and changes[0].kind is ChangeKind.ALTERED:
            changes += self._following_columns((db, changes[0].table or ""), parsed)
        for move in parsed.moves:
            changes += self._exchange_table(previous, move)
        new = parsed.new_name
        if new is not None and new.qualified(self.default_db) != (db, parsed.table.name):
            changes += self._rename(parsed.table, new)
        return changes

    def _altered(self, previous: TableDefinition, parsed: AlterTable) -> Change:
        # A dump without database names describes the table in each; from here on, this one differs.
        db = previous.db or parsed.table.qualified(self.default_db)[0]
        # What CONVERT TO CHARACTER SET DEFAULT means: to MySQL the charset of the session's default database;
        # to MariaDB the table's database's, with the collation that is that charset's default.
        charset = (
            self._database_charset(db)._replace(collation=None)
            if self.context.mariadb
            else self._database_charset(self.default_db)
            if self.default_db
            else self._server_charset()
        )
        try:
            altered, clauses = alter(previous, parsed.actions, charset, self.context)
        except AlterError as error:
            reason = f"ALTER TABLE {error}"
            definition = self._unknown(NamedTable(db, previous.name), reason)
            return Change(ChangeKind.UNPARSED, db, previous.name, definition, previous, reason)
        provenance = self._provenance_after(previous.provenance)
        definition = self._with_sequences(altered)._replace(db=db, provenance=provenance, ddl=self.statement)
        self.catalog.put(definition)
        return Change(ChangeKind.ALTERED, db, definition.name, definition, previous, clauses=clauses)

    def _following_columns(self, name: tuple[str, str], parsed: AlterTable) -> Iterator[Change]:
        """Have the foreign keys that refer to a table follow the new names of its columns."""
        names: dict[str, str] = {}
        for action in parsed.actions:
            if isinstance(action, RenameColumn):
                names[folded_name(action.old)] = action.new
            elif isinstance(action, ChangeColumn) and not same_name(action.old, action.column.name):
                names[folded_name(action.old)] = action.column.name

        def follow(key: ForeignKey) -> ForeignKey:
            referenced = (names.get(folded_name(name), name) for name in key.referenced)
            return key._replace(referenced=tuple(referenced))

        return self._referring(name, follow) if names else iter(())

    def _referring(
        self, name: tuple[str, str], follow: Callable[[ForeignKey], ForeignKey]
    ) -> Iterator[Change]:
        """Have the foreign keys that refer to a table follow what became of it."""
        for table in [*self.catalog]:
            if any((key.db, key.table) == name for key in table.foreign_keys):
                keys = (follow(key) if (key.db, key.table) == name else key for key in table.foreign_keys)
                followed = table._replace(foreign_keys=tuple(keys))
                self.catalog.put(followed)
                yield Change(ChangeKind.ALTERED, table.db, table.name, followed, table)

    def _exchange_table(self, table: TableDefinition | None, action: MoveRows) -> list[Change]:
        """Create the table that a partition becomes, or drop the one that becomes a partition (MariaDB)."""
        if action.table is None or action.kind is PartitionMove.ROWS:
            return []
        if action.kind is PartitionMove.TABLE_TAKEN:
            return [self._drop(action.table)]
        db, name = action.table.qualified(self.default_db)
        if table is None:
            return [Change(ChangeKind.CREATED, db, name)]
        own = table._replace(foreign_keys=(), partitioning=None)
        definition = own._replace(db=db, name=name, ddl=self.statement)
        self.catalog.put(definition)
        return [Change(ChangeKind.CREATED, db, name, definition)]

    def _rename(self, old: NamedTable, new: NamedTable) -> list[Change]:
        previous = self.catalog.lookup(*old.qualified(self.default_db))
        db, _ = new.qualified(self.default_db)
        stale = self.catalog.find(db, new.name)
        if stale is not None and (stale is not previous) and (stale.db, stale.name) == (db, new.name):
            self.catalog.remove(stale)
        definition = None
        if previous is not None:
            self.catalog.remove(previous)
            definition = renamed_table(previous, new.name)._replace(db=db)
            self.catalog.put(definition)
        change = Change(ChangeKind.RENAMED, db, new.name, definition, previous)
        former = old.qualified(self.default_db)
        return [change, *self._referring(former, lambda key: key._replace(db=db, table=new.name))]

    def _drop(self, table: NamedTable) -> Change:
        previous = self._find(table)
        if previous is not None:
            self.catalog.remove(previous)
        return Change(ChangeKind.DROPPED, *table.qualified(self.default_db), None, previous)

    def _drop_database(self, db: str) -> list[Change]:
        changes = [Change(ChangeKind.DROPPED, db, None)]
        known = self.catalog.database(db)
        candidates = [table for table in self.catalog if folded_name(table.db) == folded_name(db)]
        exact = [table for table in candidates if self.catalog.database(table.db) == known]
        for table in exact if exact or known in self.catalog.databases else candidates:
            self.catalog.remove(table)
            changes.append(Change(ChangeKind.DROPPED, table.db, table.name, None, table))
        self.catalog.databases.pop(known, None)
        return changes

    def _set_database(self, parsed: CreateDatabase | AlterDatabase) -> None:
        db = self.default_db if parsed.db is None else parsed.db
        known = self.catalog.database(db)
        if isinstance(parsed, AlterDatabase):
            db = known
        elif parsed.if_not_exists and known in self.catalog.databases:
            return
        if parsed.charset is None:
            return
        default = self._database_charset(db)
        if isinstance(parsed, CreateDatabase) or parsed.charset.charset == CHARSET_DEFAULT.charset:
            default = self._server_charset()
        self.catalog.databases[db] = complete_charset(parsed.charset, default, self.context)

    def _not_understood(self, parsed: NotUnderstood) -> list[Change]:
        if not parsed.tables:
            return [Change(ChangeKind.UNPARSED, self.default_db, None, reason=parsed.reason)]
        changes: list[Change] = []
        for table in parsed.tables:
            previous = self._find(table)
            new = self._unknown(table, f"its statement was not understood: {parsed.reason}")
            changes.append(Change(ChangeKind.UNPARSED, new.db, new.name, new, previous, parsed.reason))
        return changes


def _with_versioned_columns(parsed: CreateTable) -> CreateTable:
    """Return a statement whose columns WITH SYSTEM VERSIONING make the table so, without its others."""
    named = [spec for spec in parsed.columns if VERSIONED in spec.attributes]
    if parsed.versioned or not named:
        return parsed
    kept = (
        spec
        if spec in named or spec.period or UNVERSIONED in spec.attributes
        else spec._replace(attributes=(*spec.attributes, UNVERSIONED))
        for spec in parsed.columns
    )
    return parsed._replace(columns=tuple(kept), versioned=True)
