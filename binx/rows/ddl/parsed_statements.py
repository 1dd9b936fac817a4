"""Parsed DDL statements: the results of :mod:`binx.rows.ddl.parse`, independent of the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple, TypeAlias

from binx.rows.columns.schema import Check, Default, Partitioning, StatementContext


class NamedTable(NamedTuple):
    """A table as named in a statement; ``db`` is None for the default database."""

    db: str | None
    name: str

    def qualified(self, default_db: str) -> tuple[str, str]:
        """Return the table's database and name."""
        return default_db if self.db is None else self.db, self.name


class DeclaredCharset(NamedTuple):
    """A declared character set and collation of a column, table or database; None if not given."""

    charset: str | None = None
    collation: str | None = None


CHARSET_DEFAULT = DeclaredCharset("DEFAULT")
"""CHARACTER SET DEFAULT: the database, of a database the server, has the character set."""


VERSIONED, UNVERSIONED = "WITH SYSTEM VERSIONING", "WITHOUT SYSTEM VERSIONING"
"""Attributes of MariaDB's columns."""


class References(NamedTuple):
    """What a foreign key refers to, and what it does to the rows that refer.

    Attributes:
        columns: its columns, in the order of the key's; empty where they are not named.
        on_delete: ``CASCADE``, ``SET NULL``, ``SET DEFAULT``, or ``RESTRICT`` for all that changes no row.
        written: both actions as the statement has them; empty where it has none.
    """

    table: NamedTable
    columns: tuple[str, ...]
    on_delete: str
    on_update: str
    written: tuple[str, ...] = ("", "")


class ColumnSpec(NamedTuple):
    """A column definition in a statement, before the table's defaults are applied.

    Attributes:
        base: the type's canonical name.
        members: of ENUM and SET; hexadecimal and bit literals are bytes.
        unsigned: UNSIGNED, ZEROFILL or SERIAL.
        charset: CHARACTER SET, or implied by a type or attribute; None for the table's default.
        binary: the BINARY attribute, which means the charset's ``_bin`` collation.
        nullable: NULL or NOT NULL; None if not specified.
        generated: ``virtual``, ``stored``, or None.
        expression: of a generated column, as in :class:`~binx.rows.columns.schema.ColumnDefinition`.
        period: ``start`` or ``end`` of GENERATED ALWAYS AS ROW START / END.
        numbered: AUTO_INCREMENT, or SERIAL, which implies it.
        references: the column has a REFERENCES clause that the server applies.
        checks: its CHECK constraints.
        is_json: it is MariaDB's JSON, which is a LONGTEXT with a CHECK.
        comment, on_update, formula, attributes: as in :class:`~binx.rows.columns.schema.ColumnDefinition`.
    """

    name: str
    base: str
    arguments: tuple[int, ...] = ()
    members: tuple[str | bytes, ...] | None = None
    unsigned: bool = False
    zerofill: bool = False
    charset: str | None = None
    collation: str | None = None
    binary: bool = False
    nullable: bool | None = None
    default: Default | None = None
    generated: str | None = None
    expression: tuple[str, ...] = ()
    invisible: bool = False
    primary_key: bool = False
    unique: bool = False
    srid: int | None = None
    period: str | None = None
    numbered: bool = False
    references: References | None = None
    checks: tuple[Check, ...] = ()
    comment: str = ""
    on_update: str = ""
    formula: str = ""
    attributes: tuple[str, ...] = ()
    is_json: bool = False


class Key(NamedTuple):
    """A key definition in a statement.

    Attributes:
        columns: names of its parts that are columns, in order.
        name: the index's or constraint's name; None if the server generates one.
        whole: no part is an expression.
        prefixes: prefix length of each column in characters, 0 for the whole column.
        references: for a foreign key, what it refers to.
        index_name: for a foreign key, the name between FOREIGN KEY and its columns.
        kind, descending, expressions, options: as in :class:`~binx.rows.columns.schema.IndexDefinition`.
        without_overlaps: its last column is a period, WITHOUT OVERLAPS.
    """

    columns: tuple[str, ...]
    name: str | None = None
    primary: bool = False
    unique: bool = False
    whole: bool = True
    if_not_exists: bool = False
    prefixes: tuple[int, ...] = ()
    references: References | None = None
    kind: str = ""
    descending: tuple[str, ...] = ()
    expressions: tuple[tuple[int, str], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    without_overlaps: bool = False
    index_name: str | None = None


class CreateTable(NamedTuple):
    """CREATE TABLE; ``like`` is the table of LIKE, ``select`` whether a query adds columns too."""

    table: NamedTable
    columns: tuple[ColumnSpec, ...] = ()
    keys: tuple[Key, ...] = ()
    charset: DeclaredCharset = DeclaredCharset()
    like: NamedTable | None = None
    select: bool = False
    temporary: bool = False
    if_not_exists: bool = False
    versioned: bool = False
    replaces: bool = False
    period: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    partitioning: Partitioning | None = None


class ColumnPosition(NamedTuple):
    """Where ALTER TABLE places a column: after ``after``, or first if that is None."""

    after: str | None


class AddColumn(NamedTuple):
    """ADD COLUMN."""

    column: ColumnSpec
    position: ColumnPosition | None = None
    if_not_exists: bool = False


class ChangeColumn(NamedTuple):
    """CHANGE COLUMN, and MODIFY COLUMN, which keeps the name."""

    old: str
    column: ColumnSpec
    position: ColumnPosition | None = None
    if_exists: bool = False


class RenameColumn(NamedTuple):
    """RENAME COLUMN."""

    old: str
    new: str
    if_exists: bool = False


class DropColumn(NamedTuple):
    """DROP COLUMN."""

    name: str
    if_exists: bool = False


class AlterColumn(NamedTuple):
    """ALTER COLUMN: SET or DROP DEFAULT, SET VISIBLE or INVISIBLE."""

    name: str
    sets_default: bool = False
    default: Default | None = None
    invisible: bool | None = None
    if_exists: bool = False


class AddKey(NamedTuple):
    """ADD KEY, UNIQUE or PRIMARY KEY, and CREATE INDEX."""

    key: Key


class DropPrimaryKey(NamedTuple):
    """DROP PRIMARY KEY, and dropping the index or constraint named PRIMARY."""


class DropKey(NamedTuple):
    """DROP KEY, INDEX, FOREIGN KEY or CONSTRAINT of any name but PRIMARY; ``what`` is the keyword."""

    name: str
    if_exists: bool = False
    what: str = "KEY"


class RenameKey(NamedTuple):
    """RENAME KEY or INDEX."""

    old: str
    new: str


class AddCheck(NamedTuple):
    """ADD CONSTRAINT … CHECK, and the CHECK of a column that a clause declares."""

    check: Check


class DropCheck(NamedTuple):
    """DROP CHECK, and DROP CONSTRAINT, whose name may be that of another constraint."""

    name: str


class AlterCheck(NamedTuple):
    """ALTER CHECK and ALTER CONSTRAINT: ENFORCED or not."""

    name: str
    enforced: bool


class AlterKey(NamedTuple):
    """ALTER INDEX: ``option`` is VISIBLE or INVISIBLE, IGNORED or NOT IGNORED."""

    name: str
    option: str


class SetOption(NamedTuple):
    """An option of the table."""

    name: str
    value: str


class Repartition(NamedTuple):
    """PARTITION BY, or REMOVE PARTITIONING with None."""

    partitioning: Partitioning | None


class AddPartitions(NamedTuple):
    """ADD PARTITION: definitions, or only a number of partitions."""

    partitions: tuple[tuple[str, str], ...] = ()
    number: int = 0


class ReplacePartitions(NamedTuple):
    """DROP, REORGANIZE and CONVERT PARTITION: those of ``names`` become others, or none."""

    names: tuple[str, ...]
    partitions: tuple[tuple[str, str], ...] = ()


class CoalescePartitions(NamedTuple):
    """COALESCE PARTITION: so many partitions less."""

    number: int


class ConvertCharset(NamedTuple):
    """CONVERT TO CHARACTER SET; a charset of None is DEFAULT, the database's.

    Attributes:
        alone: whether the statement has no other clause.
    """

    charset: DeclaredCharset
    alone: bool = False


class SetCharset(NamedTuple):
    """The table's default charset, for columns to come."""

    charset: DeclaredCharset


class RenameTo(NamedTuple):
    """RENAME [TO | AS | =]."""

    table: NamedTable


class PartitionMove(Enum):
    """What becomes of the table that rows go to or come from."""

    ROWS = "it gets other rows, or there is none"
    TABLE_MADE = "a partition becomes that table"
    TABLE_TAKEN = "it becomes a partition"


class MoveRows(NamedTuple):
    """A clause by which rows go or come without row events: with partitions, unless it has a reason.

    Attributes:
        table: the table that rows move to or from; None if there is none.
        reason: what the statement did to rows if partitions have no part in it.
    """

    table: NamedTable | None = None
    kind: PartitionMove = PartitionMove.ROWS
    reason: str | None = None


_WITHOUT_ROWS = ("BLACKHOLE", "MERGE", "MRG_MYISAM")


def no_rows_of(options: Iterable[tuple[str, str]]) -> str | None:
    """Return that a table's engine keeps no rows of its own; None if it does."""
    engines = (value.strip("`'\"").upper() for name, value in options if name == "ENGINE")
    return next((f"ENGINE={one} keeps no rows of its own" for one in engines if one in _WITHOUT_ROWS), None)


class SetPeriod(NamedTuple):
    """MariaDB's ADD PERIOD, with its name and columns, or DROP PERIOD, with neither."""

    period: tuple[str, ...]
    if_not_exists: bool = False


class SystemVersioning(NamedTuple):
    """MariaDB's ADD or DROP SYSTEM VERSIONING."""

    add: bool


AlterAction: TypeAlias = (
    AddColumn
    | ChangeColumn
    | RenameColumn
    | DropColumn
    | AlterColumn
    | AddKey
    | DropPrimaryKey
    | DropKey
    | RenameKey
    | ConvertCharset
    | SetCharset
    | RenameTo
    | SetPeriod
    | SystemVersioning
    | MoveRows
    | AddCheck
    | DropCheck
    | AlterCheck
    | AlterKey
    | SetOption
    | Repartition
    | AddPartitions
    | ReplacePartitions
    | CoalescePartitions
)


class AlterTable(NamedTuple):
    """ALTER TABLE, and CREATE and DROP INDEX."""

    table: NamedTable
    actions: tuple[AlterAction, ...] = ()
    if_exists: bool = False

    @property
    def new_name(self) -> NamedTable | None:
        """What it renames the table to: of several names the last one counts."""
        return next((action.table for action in reversed(self.actions) if isinstance(action, RenameTo)), None)

    def sets(self, option: str) -> bool:
        """Whether a clause sets this option of the table."""
        return any(isinstance(action, SetOption) and action.name == option for action in self.actions)

    @property
    def moves(self) -> tuple[MoveRows, ...]:
        """Its clauses by which rows come or go without row events."""
        return tuple(action for action in self.actions if isinstance(action, MoveRows))


class RenameTables(NamedTuple):
    """RENAME TABLE: pairs of old and new name, done from left to right."""

    pairs: tuple[tuple[NamedTable, NamedTable], ...]


class DropTables(NamedTuple):
    """DROP TABLE; ``temporary`` where it says that it is about temporary ones alone."""

    tables: tuple[NamedTable, ...]
    temporary: bool = False


class TruncateTable(NamedTuple):
    """TRUNCATE TABLE."""

    table: NamedTable


class CreateDatabase(NamedTuple):
    """CREATE DATABASE; one that replaces drops the database of that name with its tables first."""

    db: str
    charset: DeclaredCharset
    if_not_exists: bool = False
    replaces: bool = False


class AlterDatabase(NamedTuple):
    """ALTER DATABASE; a ``db`` of None is the default database, a ``charset`` of None leaves its own."""

    db: str | None
    charset: DeclaredCharset | None


class DropDatabase(NamedTuple):
    """DROP DATABASE."""

    db: str


class NotUnderstood(NamedTuple):
    """A statement that changes tables in a way that was not understood: nothing is known of them now."""

    tables: tuple[NamedTable, ...]
    reason: str
    temporary: bool = False


Statement: TypeAlias = (
    CreateTable
    | AlterTable
    | RenameTables
    | DropTables
    | TruncateTable
    | CreateDatabase
    | AlterDatabase
    | DropDatabase
    | NotUnderstood
)


def changed_tables(parsed: Statement | None, default_db: str) -> tuple[tuple[str, str], ...]:
    """Return the tables that a statement names to make, change or drop them, by database and name.

    A table that is renamed has both names. Statements about databases name none.
    """
    named: tuple[NamedTable, ...] = ()
    match parsed:
        case CreateTable(table=table) | TruncateTable(table=table):
            named = (table,)
        case AlterTable():
            others = (parsed.new_name, *(move.table for move in parsed.moves))
            named = (parsed.table, *(table for table in others if table is not None))
        case RenameTables():
            named = tuple(table for pair in parsed.pairs for table in pair)
        case DropTables(tables=tables) | NotUnderstood(tables=tables):
            named = tables
    return tuple(table.qualified(default_db) for table in named)


def renamed_tables(parsed: Statement | None) -> tuple[tuple[NamedTable, NamedTable], ...]:
    """Return the tables that a statement renames, each with its new name."""
    match parsed:
        case RenameTables(pairs=pairs):
            return pairs
        case AlterTable(table=table, new_name=NamedTable() as new):
            return ((table, new),)
    return ()


def modelled_tables(parsed: Statement | None) -> tuple[tuple[NamedTable, NamedTable], ...]:
    """Return the tables that a statement may make like others, of these or of their partitions.

    Each stands before the one that it is made like.
    """
    match parsed:
        case CreateTable(table=table, like=NamedTable() as model):
            return ((table, model),)
        case AlterTable(table=model, moves=moves):
            return tuple((move.table, model) for move in moves if move.table is not None)
    return ()


def redefined_tables(
    parsed: Statement | None, default_db: str, context: StatementContext
) -> Iterator[tuple[str | None, str | None]]:
    """Yield database and name of the tables whose columns a statement may change; None for any."""
    match parsed:
        case DropDatabase() | CreateDatabase(replaces=True):
            yield parsed.db, None
        case NotUnderstood(tables=()):
            yield None, None
        case CreateTable(if_not_exists=True) if not context.committed:
            return
        case TruncateTable():
            return
        case AlterTable() if all(isinstance(action, MoveRows) for action in parsed.actions):
            return
        case _:
            yield from changed_tables(parsed, default_db)


def may_remove_rows(action: AlterAction) -> bool:
    """Return whether a clause may remove rows of ALTER IGNORE TABLE, in MariaDB: those that break it.

    Of converted columns, these are rows whose keys have the values of others now.
    """
    if isinstance(action, AddKey):
        return action.key.unique or action.key.primary
    return isinstance(action, (ChangeColumn, ConvertCharset, AddCheck, Repartition))
