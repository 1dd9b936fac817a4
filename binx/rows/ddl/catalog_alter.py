"""Apply ALTER TABLE to a table's columns and keys.

The order is the server's (sql/sql_table.cc, prepare_fields_and_keys; MariaDB's
mysql_prepare_alter_table): existing columns are changed in place first, by their old names;
then new and moved columns are placed, by their new names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from binx.rows.columns.schema import (
    ColumnClause,
    ColumnDefinition,
    Default,
    DefaultKind,
    Partitioning,
    StatementContext,
    TableDefinition,
    folded_name,
)
from binx.rows.ddl.clauses import complete_charset
from binx.rows.ddl.evaluated import evaluated
from binx.rows.ddl.parsed_statements import (
    CHARSET_DEFAULT,
    AddCheck,
    AddColumn,
    AddKey,
    AlterAction,
    AlterCheck,
    AlterColumn,
    AlterKey,
    ChangeColumn,
    ColumnPosition,
    ColumnSpec,
    ConvertCharset,
    DeclaredCharset,
    DropCheck,
    DropColumn,
    DropKey,
    DropPrimaryKey,
    Key,
    RenameColumn,
    RenameKey,
    Repartition,
    SetCharset,
    SetOption,
    SetPeriod,
    SystemVersioning,
)
from binx.rows.ddl.partitions import repartitioned
from binx.rows.ddl.resolve import (
    convert_column,
    converted_spec,
    resized_spec,
    resolve_column,
    resolved_default,
    with_clock,
    with_clocks,
)
from binx.rows.ddl.table_keys import (
    index_of,
    not_null,
    on_columns,
    renamed_index,
    same_name,
    settled_indexes,
    with_checks,
    with_foreign_keys,
    with_index,
    with_key_of_references,
    with_visibility,
    without_index,
    without_period,
)
from binx.rows.ddl.tokens import names_in, with_names


class AlterError(Exception):
    """The statement does not fit the table as it is known; caught by the catalog."""


VERSIONING_COLUMNS: tuple[ColumnDefinition, ...] = tuple(
    ColumnDefinition(
        name, "timestamp(6)", "timestamp", length=6, nullable=False, invisible=True, generated=name
    )
    for name in ("row_start", "row_end")
)
"""The columns that MariaDB's WITH SYSTEM VERSIONING keeps after all others if none are declared."""

_KEEPING_DEFAULT = {
    False: ((50600, 50629), (50700, 50711)),
    True: ((100000, 100030), (100100, 100122), (100200, 100205)),
}
"""Versions of MySQL and MariaDB that pass over a CONVERT TO CHARACTER SET that changes no column, so that the
table's default stays (MySQL's bug 77554, MariaDB's MDEV-6390): the first ones, and the first without it."""

_SORTING_KEYS = ((0, 100333), (100400, 100423), (100500, 100514), (100600, 100606), (100700, 100702))
"""Versions of MariaDB that sort a table's keys with any ALTER TABLE (MDEV-25803): the first ones, and the
first without it."""

GENERATED_KEY = "my_row_id"
"""The column that sql_generate_invisible_primary_key makes (sql/sql_gipk.cc)."""


def with_key(
    table: TableDefinition, columns: tuple[ColumnDefinition, ...], key: tuple[str, ...]
) -> TableDefinition:
    """Return the table with these columns and key; MariaDB adds the end of a row's period to the key."""
    ends = [column.name for column in columns if column.generated == "row_end" and column.name not in key]
    key = (*key, *ends) if key else ()
    return table._replace(columns=not_null(columns, key), primary_key=key)


@dataclass(eq=False)
class _AlteredColumn:
    """A column of the table being altered: what it was called before, and what it is now."""

    old_name: str | None
    column: ColumnDefinition


_Moved = list[tuple[_AlteredColumn, ColumnPosition | None]]


class _Alteration:
    """One ALTER TABLE at work."""

    def __init__(
        self,
        table: TableDefinition,
        actions: tuple[AlterAction, ...],
        database: DeclaredCharset,
        context: StatementContext,
    ) -> None:
        self.table = table
        self.actions = actions
        self.context = context
        self.database = database
        self.charset = DeclaredCharset(table.charset, table.collation)
        self.converted: DeclaredCharset | None = None
        self.versioned = table.columns[-2:] == VERSIONING_COLUMNS
        columns = table.columns[:-2] if self.versioned else table.columns
        self.names_before = [column.name for column in columns]
        self.entries = [_AlteredColumn(column.name, column) for column in columns]
        ends = {column.name for column in table.columns if column.generated == "row_end"}
        self.key = [name for name in table.primary_key if name not in ends]
        self.indexes = table.indexes
        self.foreign_keys = table.foreign_keys
        self.period = table.period
        self.primary = table.primary
        self.checks = table.checks
        self.named: dict[_AlteredColumn, bool] = {}
        self.clocked: dict[str, ColumnDefinition] = {}
        self.zero: set[str] = set()

    def result(self) -> TableDefinition:
        """Apply all clauses in the server's order."""
        self._set_charset()
        self._set_clocks()
        if any(isinstance(action, DropPrimaryKey) for action in self.actions):
            self.key, self.primary = [], None
        moved = self._change_in_place()
        self._follow_columns(moved)
        self._arrange(moved)
        self._set_first_clock()
        self._set_period()
        existing = (self.indexes, self.foreign_keys, self.primary)
        for action in self.actions:
            if isinstance(action, AddKey):
                self._add_key(without_period(action.key, self.period))
            elif isinstance(action, SystemVersioning):
                is_declared = any(entry.column.generated == "row_end" for entry in self.entries)
                self.versioned = action.add and not is_declared
        adds_key = existing != (self.indexes, self.foreign_keys, self.primary)
        columns = tuple(entry.column for entry in self.entries)
        if not columns:
            raise AlterError("drops all known columns of the table")
        if self.versioned:
            columns += VERSIONING_COLUMNS
        table = self.table._replace(
            indexes=settled_indexes(
                self.indexes,
                columns,
                tuple(self.key),
                mariadb=self.context.mariadb,
                sort=self._sorts_keys(adds_key),
            ),
            foreign_keys=self.foreign_keys,
            period=self.period,
            charset=self.charset.charset,
            collation=self.charset.collation,
            primary=self.primary,
            checks=self.checks,
            options=self._options(),
            partitioning=self._partitioning(),
            versioned=self._is_versioned(),
        )
        added = (action.check for action in self.actions if isinstance(action, AddCheck))
        table = with_checks(table, added, mariadb=self.context.mariadb)
        return with_key(table, columns, tuple(self.key))

    def _sorts_keys(self, adds_key: bool) -> bool:
        """Whether the server sorts the keys, by which the first one may come to identify rows.

        MariaDB does if a key is added, or if the UNIQUE key that identified rows loses a column or its
        NOT NULL (sql/sql_table.cc, mysql_prepare_create_table); MySQL always does.
        """
        if adds_key or not self.context.mariadb or self._is_of(_SORTING_KEYS):
            return True
        if self.table.primary_key or not self.table.row_key:
            return False
        identifying = self.table.indexes[0]
        if any(isinstance(one, DropKey) and same_name(one.name, identifying.name) for one in self.actions):
            return False
        required = {
            folded_name(entry.old_name)
            for entry in self.entries
            if entry.old_name is not None and not entry.column.nullable
        }
        return not required.issuperset(map(folded_name, identifying.columns))

    def _options(self) -> tuple[tuple[str, str], ...]:
        options = dict(self.table.options)
        options |= {action.name: action.value for action in self.actions if isinstance(action, SetOption)}
        return tuple(options.items())

    def _is_versioned(self) -> bool:
        stated = (action.add for action in self.actions if isinstance(action, SystemVersioning))
        return next(stated, self.table.versioned)

    def _partitioning(self) -> Partitioning | None:
        parts = self.table.partitioning
        for action in self.actions:
            if isinstance(action, Repartition):
                parts = action.partitioning
            elif parts is not None:
                parts = repartitioned(parts, action)
        return parts

    def _set_clocks(self) -> None:
        """Resolve the statement's columns where a TIMESTAMP may get a clock, for which all are looked at."""
        if not self.context.explicit_defaults_for_timestamp:
            specs = [one.column for one in self.actions if isinstance(one, AddColumn | ChangeColumn)]
            columns = tuple(map(self._resolve, specs))
            clocked = with_clocks(columns, self.context, has_first=self.context.mariadb)
            self.clocked = {folded_name(column.name): column for column in clocked}
            pairs = zip(columns, clocked, strict=True)
            self.zero = {folded_name(column.name) for column, other in pairs if column != other}

    def _set_first_clock(self) -> None:
        """Let the first TIMESTAMP of all follow the clock, as MySQL does with any ALTER TABLE.

        One that has no default, as it was made with explicit_defaults_for_timestamp, gets none.
        """
        if self.context.explicit_defaults_for_timestamp or self.context.mariadb:
            return
        first = next((entry for entry in self.entries if entry.column.base == "timestamp"), None)
        if first is None or first.column.nullable or first.column.generated or first.column.on_update:
            return
        column = with_clock(first.column)
        if folded_name(column.name) not in self.zero:
            first.column = first.column if first.column.default else column._replace(default=None)
        elif first.old_name is None and column.default is not None:
            first.column = column._replace(added=evaluated(column.default, column, self.context))
        else:
            first.column = column

    def _set_period(self) -> None:
        for action in self.actions:
            if isinstance(action, SetPeriod) and not (action.if_not_exists and self.period):
                self.period = action.period
        columns = not_null((entry.column for entry in self.entries), self.period[1:])
        for entry, column in zip(self.entries, columns, strict=True):
            entry.column = column

    def _set_charset(self) -> None:
        declared: DeclaredCharset | None = None
        for action in self.actions:
            if isinstance(action, SetCharset):
                is_default = action.charset.charset == CHARSET_DEFAULT.charset
                default = self.database if is_default else self.charset
                self.charset = declared = complete_charset(action.charset, default, self.context)
            elif isinstance(action, ConvertCharset):
                self.converted = complete_charset(action.charset, self.database, self.context)
                before = [entry.column for entry in self.entries]
                for entry in self.entries:
                    entry.column = convert_column(entry.column, self.converted)
                is_changed = before != [entry.column for entry in self.entries]
                if is_changed or not action.alone or not self._keeps_default():
                    self.charset = self.converted
        if declared is not None and self.context.mariadb:
            # It is the default even beside CONVERT; MySQL refuses two that differ.
            self.charset = declared

    def _keeps_default(self) -> bool:
        """Whether the server passes over a CONVERT alone that changes no column."""
        return self._is_of(_KEEPING_DEFAULT[self.context.mariadb])

    def _is_of(self, versions: Iterable[tuple[int, int]]) -> bool:
        """Whether the server's version is known, and in one of these ranges."""
        version = self.context.version
        return version is not None and any(first <= version < end for first, end in versions)

    def _existed(self, name: str) -> bool:
        return any(same_name(old_name, name) for old_name in self.names_before)

    def _find_old(self, name: str, if_exists: bool) -> list[_AlteredColumn]:
        """Return the column with this old name; an empty list if it is missing and ``if_exists``."""
        matches = [entry for entry in self.entries if same_name(entry.old_name, name)]
        if not matches and not if_exists:
            raise AlterError(f"refers to the column {name!r}, which is not in the known definition")
        return matches[:1]

    def _change_in_place(self) -> _Moved:
        """Drop, rename and redefine columns by their old names; return those to move."""
        moved: _Moved = []
        dropped: list[_AlteredColumn] = []
        renames: list[tuple[_AlteredColumn, str]] = []
        declared: list[str] = []
        for action in self.actions:
            match action:
                case DropColumn():
                    dropped += self._find_old(action.name, action.if_exists)
                    self._name(dropped)
                case RenameColumn():
                    found = self._find_old(action.old, action.if_exists)
                    renames += [(entry, action.new) for entry in found]
                    self._name(found)
                case ChangeColumn():
                    if not self._changes_added(action, moved):
                        for entry in self._find_old(action.old, action.if_exists):
                            renames.append((entry, action.column.name))
                            self._name([entry], is_defined=True)
                            column = self._resolve(action.column, self.table.column(action.old))
                            entry.column = column._replace(added=entry.column.added)
                            moved += [(entry, action.position)] if action.position is not None else []
                    declared.append(action.column.name)
                case AddColumn():
                    # IF NOT EXISTS leaves out a column that was there, or is declared before it.
                    name = action.column.name
                    is_there = self._existed(name) or any(same_name(other, name) for other in declared)
                    if not (action.if_not_exists and is_there):
                        entry = _AlteredColumn(None, self._added(action.column))
                        moved.append((entry, action.position))
                        self._name([entry], is_defined=True)
                    declared.append(name)
                case AlterColumn():
                    may_be_missing = action.if_exists or self._adds(action.name)
                    for entry in self._find_old(action.name, may_be_missing):
                        entry.column = _altered(entry.column, action, self.context)
        self.entries = [entry for entry in self.entries if entry not in dropped]
        for entry, new in renames:
            entry.column = entry.column._replace(name=new)
        return moved

    def _name(self, columns: Iterable[_AlteredColumn], *, is_defined: bool = False) -> None:
        """Record that a clause names columns, and whether it defines them."""
        for column in columns:
            self.named[column] = is_defined or self.named.get(column, False)

    def clauses(self, table: TableDefinition) -> Iterator[ColumnClause]:
        """Yield what the clauses did to columns, in their order; the table is the result."""
        for entry, is_defined in self.named.items():
            if entry not in self.entries:
                yield ColumnClause(entry.old_name, None)
            else:
                name = entry.column.name
                yield ColumnClause(entry.old_name, name, table.column(name) if is_defined else None)

    def _added(self, spec: ColumnSpec) -> ColumnDefinition:
        """Return an added column, with the value that existing rows get in it."""
        column = self._resolve(spec)
        for action in self.actions if self._adds(spec.name) else ():
            if isinstance(action, AlterColumn) and same_name(action.name, spec.name):
                column = _altered(column, action, self.context)
        return column._replace(added=_added_default(spec, column, self.context))

    def _adds(self, name: str) -> bool:
        """Whether the statement adds a column, to which MariaDB's ALTER COLUMN in it then applies."""
        columns = (action.column.name for action in self.actions if isinstance(action, AddColumn))
        return self.context.mariadb and any(same_name(column, name) for column in columns)

    def _changes_added(self, action: ChangeColumn, moved: _Moved) -> bool:
        """Redefine a column that the same statement adds, as MariaDB allows; return whether it does.

        It may have the name of one that the statement drops (sql/sql_table.cc, mysql_prepare_alter_table).
        """
        drops = (other.name for other in self.actions if isinstance(other, DropColumn))
        is_there = self._existed(action.old) and not any(same_name(name, action.old) for name in drops)
        if not self.context.mariadb or action.if_exists or is_there:
            return False
        for index, (entry, _) in enumerate(moved):
            if entry.old_name is None and same_name(entry.column.name, action.old):
                del moved[index]
                entry.column = self._added(action.column)
                moved.append((entry, action.position))
                return True
        return False

    def _resolve(self, spec: ColumnSpec, old: ColumnDefinition | None = None) -> ColumnDefinition:
        # A column with BINARY has the _bin collation of the table's default, which MariaDB converts no more.
        keeps = self.context.mariadb and spec.binary and spec.charset is None
        if self.converted is not None and not keeps:
            if old is not None and not self.context.mariadb:
                spec = resized_spec(spec, old, self.converted)
            spec = converted_spec(spec, self.charset, self.converted)
        column = resolve_column(spec, self.charset, self.context)
        clocked = self.clocked.get(folded_name(spec.name))
        return (
            column
            if clocked is None
            else column._replace(default=clocked.default, on_update=clocked.on_update)
        )

    def _follow_columns(self, moved: _Moved) -> None:
        """Drop and rename keys by their old names, and rename the columns in all keys.

        A column that is added in the place of one that is dropped takes its place in keys too.
        """
        renames = [(entry.old_name, entry.column.name) for entry in self.entries]
        renames += [(entry.column.name, entry.column.name) for entry, _ in moved if entry.old_name is None]

        def new_name(old: str) -> str | None:
            return next((new for old_name, new in renames if same_name(old_name, old)), None)

        self.key = [name for name in map(new_name, self.key) if name is not None]
        if self.primary is not None:
            self.primary = next(iter(on_columns((self.primary,), new_name)), None)
        self._follow_names(renames)
        for action in self.actions:
            if isinstance(action, RenameKey):
                self.indexes = renamed_index(self.indexes, action.old, action.new)
            elif isinstance(action, DropKey):
                if action.what not in {"KEY", "INDEX"}:
                    self.foreign_keys = tuple(
                        key for key in self.foreign_keys if not same_name(key.name, action.name)
                    )
                if action.what != "FOREIGN KEY":
                    self.indexes = without_index(self.indexes, action.name, action.if_exists)
            elif isinstance(action, DropCheck):
                self.checks = tuple(check for check in self.checks if not same_name(check.name, action.name))
            elif isinstance(action, AlterCheck):
                self.checks = tuple(
                    check._replace(enforced=action.enforced) if same_name(check.name, action.name) else check
                    for check in self.checks
                )
            elif isinstance(action, AlterKey):
                self.indexes = with_visibility(self.indexes, action.name, action.option)
        self.indexes = on_columns(self.indexes, new_name)
        self.period = (*self.period[:1], *(new_name(name) or name for name in self.period[1:]))
        self.foreign_keys = tuple(
            key._replace(columns=tuple(new_name(name) or name for name in key.columns))
            for key in self.foreign_keys
        )

    def _follow_names(self, renames: Sequence[tuple[str | None, str]]) -> None:
        """Rename the columns in expressions, and drop the CHECKs that read only columns that are dropped."""
        changed = {folded_name(old): new for old, new in renames if old is not None and old != new}
        kept = {folded_name(old) for old, _ in renames if old is not None}
        before = {folded_name(name) for name in self.names_before}
        checks = []
        for check in self.checks:
            read = set(names_in(check.expression)) & before
            if not read or read & kept:
                checks.append(check._replace(expression=with_names(check.expression, changed)))
        self.checks = tuple(checks)
        for entry in self.entries if changed else ():
            column, default = entry.column, entry.column.default
            if default is not None and default.sql:
                default = default._replace(sql=with_names(default.sql, changed))
            entry.column = column._replace(
                formula=with_names(column.formula, changed),
                check=with_names(column.check, changed),
                default=default,
            )
        for place, index in enumerate(self.indexes):
            parts = tuple((part, with_names(text, changed)) for part, text in index.expressions)
            self.indexes = (
                *self.indexes[:place],
                index._replace(expressions=parts),
                *self.indexes[place + 1 :],
            )

    def _arrange(self, moved: _Moved) -> None:
        first = self._generated_key()
        for entry, position in moved:
            first = None if entry is first else first
            self.entries = [other for other in self.entries if other is not entry]
            if position is None:
                self.entries.append(entry)
            elif position.after is None:
                self.entries.insert(0, entry)
            else:
                self.entries.insert(self._index_after(position.after), entry)
        if first is not None:
            self.entries = [first, *(other for other in self.entries if other is not first)]
        names = [folded_name(entry.column.name) for entry in self.entries]
        if len(set(names)) != len(names):
            raise AlterError("adds a column that already exists in the known definition")

    def _generated_key(self) -> _AlteredColumn | None:
        """Return the first column if it is the key that MySQL generated, which stays first.

        It does so also when the same statement makes it visible.
        """
        if not self.entries or self.key != [GENERATED_KEY] or self.context.mariadb:
            return None
        first = self.table.columns[0]
        return self.entries[0] if first.name == GENERATED_KEY and first.invisible else None

    def _index_after(self, name: str) -> int:
        for index, entry in enumerate(self.entries):
            if same_name(entry.column.name, name):
                return index + 1
        raise AlterError(f"puts a column after {name!r}, which is not in the known definition")

    def _has_foreign(self, key: Key) -> bool:
        """Whether a foreign key has the name for which IF NOT EXISTS looks."""
        name = key.index_name or key.name or key.columns[0]
        return any(same_name(existing.name, name) for existing in self.foreign_keys if existing.name)

    def _add_key(self, key: Key) -> None:
        """Add a key, which goes by the new names."""
        if key.references is not None:
            if not (key.if_not_exists and self._has_foreign(key)):
                table = self.table._replace(foreign_keys=self.foreign_keys)
                self.foreign_keys = with_foreign_keys(table, [key], self.context).foreign_keys
                self.indexes = with_key_of_references(self.indexes, key)
        elif not key.primary:
            self.indexes = with_index(self.indexes, key)
        elif not (key.if_not_exists and self.table.primary_key):
            names = {folded_name(entry.column.name): entry.column.name for entry in self.entries}
            missing = next((name for name in key.columns if folded_name(name) not in names), None)
            if missing is not None:
                raise AlterError(f"makes a key of {missing!r}, which is not in the known definition")
            self.key = [names[folded_name(name)] for name in key.columns]
            self.primary = index_of(key, "PRIMARY")


def _added_default(spec: ColumnSpec, column: ColumnDefinition, context: StatementContext) -> Default:
    """Return the value that existing rows get in an added column."""
    if spec.numbered or column.generated is not None:
        return Default("", DefaultKind.EXPRESSION)
    if column.default is not None:
        return evaluated(column.default, column, context)
    required = not column.nullable or spec.primary_key
    return Default("", DefaultKind.IMPLICIT if required else DefaultKind.NULL)


def _altered(column: ColumnDefinition, action: AlterColumn, context: StatementContext) -> ColumnDefinition:
    # MariaDB passes over a generated column.
    if action.sets_default and column.generated is None:
        default = action.default
        if default is not None:
            default = resolved_default(default, column.base, column.charset, context)
        column = column._replace(default=default)
    return column if action.invisible is None else column._replace(invisible=action.invisible)


def alter(
    table: TableDefinition,
    actions: tuple[AlterAction, ...],
    database: DeclaredCharset,
    context: StatementContext,
) -> tuple[TableDefinition, tuple[ColumnClause, ...]]:
    """Return the table after an ALTER TABLE, and the columns that its clauses name.

    The table is not renamed: that is the catalog's part.

    Args:
        database: what CONVERT TO CHARACTER SET DEFAULT means.

    Raises:
        AlterError: the clauses name what the table is not known to have.
    """
    alteration = _Alteration(table, actions, database, context)
    altered = alteration.result()
    return altered, tuple(alteration.clauses(altered))


def clauses_of(actions: Iterable[AlterAction], context: StatementContext) -> Iterator[ColumnClause]:
    """Yield what clauses say of columns of a table that is not known: IF [NOT] EXISTS is passed over."""
    for action in actions:
        match action:
            case DropColumn():
                yield ColumnClause(action.name, None)
            case RenameColumn():
                yield ColumnClause(action.old, action.new)
            case AddColumn() | ChangeColumn():
                column = resolve_column(action.column, DeclaredCharset(), context)
                column = column._replace(added=_added_default(action.column, column, context))
                former = None if isinstance(action, AddColumn) else action.old
                yield ColumnClause(former, column.name, column)
