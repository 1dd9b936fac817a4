"""Table definitions: columns and keys as declared in SQL, and their provenance.

The model is immutable, so that states of the catalog (:mod:`binx.rows.ddl.catalog`)
at different points of a log share what did not change between them.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import NamedTuple


def folded_name(name: str) -> str:
    """Return a name as servers compare it, which are those of columns and keys in any case.

    They fold character by character, so that ß is not ss, and Σ is σ at the end of a word too. Those that
    Unicode got after version 3 stay as they are until MariaDB 11.5, and ſ or ς is s or σ since then.
    """
    return name.lower() if name.isascii() else "".join(character.lower()[0] for character in name)


@unique
class Provenance(Enum):
    """Where a fact about a column comes from."""

    METADATA = "metadata"
    """The table map's optional metadata, which the server logged with the rows."""
    DDL = "ddl"
    """A statement seen in the logs."""
    SCHEMA = "schema"
    """A dump given by the user."""
    IF_NOT_EXISTS = "if not exists"
    """A CREATE TABLE IF NOT EXISTS seen in the logs, which did nothing if the table existed."""
    NONE = "none"
    """No source: a default was used."""


@unique
class DefaultKind(Enum):
    """The kind of value in a DEFAULT clause."""

    NULL = "null"
    NUMBER = "number"
    STRING = "string"
    BYTES = "bytes"
    """A hexadecimal or bit literal."""
    EXPRESSION = "expression"
    """An expression that only the server can evaluate."""
    IMPLICIT = "implicit"
    """No clause: the implicit default of the column's type."""


class Default(NamedTuple):
    """A DEFAULT clause.

    Attributes:
        constant: NUMBER: the number as written, with its sign if that is a minus; STRING: the text; BYTES:
            hexadecimal digits; other kinds: empty.
        sql: EXPRESSION: its normal text, see :meth:`~binx.rows.ddl.tokens.TokenReader.normal_from`.
        time_zone: the session's zone in which a TIMESTAMP's constant was read; empty for other types, or if
            it is not known.
    """

    text: str
    kind: DefaultKind
    constant: str = ""
    sql: str = ""
    time_zone: str = ""


class ColumnDefinition(NamedTuple):
    """One column as a CREATE TABLE or ALTER TABLE declares it.

    Attributes:
        mysql_type: normalised as in INFORMATION_SCHEMA.COLUMNS.COLUMN_TYPE of MySQL 8.0.19+:
            ``decimal(10,2) unsigned``.
        base: the type's canonical name: ``int`` for INTEGER, ``double`` for REAL, ``longtext`` for
            MariaDB's JSON.
        length: CHAR and VARCHAR: characters; BINARY and VARBINARY: bytes; BIT: bits; VECTOR:
            dimensions; DECIMAL: digits; DATETIME, TIMESTAMP and TIME: digits of the second's fraction.
        scale: DECIMAL: digits after the point.
        nullable: False for a primary key's columns too.
        charset: of text, ENUM and SET; None if neither the statement nor its session gives it;
            ``binary`` for BINARY, VARBINARY and BLOBs.
        collation: None if it is the charset's default.
        generated: ``virtual``, ``stored``, for MariaDB's system versioning ``row_start`` and ``row_end``,
            or None.
        expression: of a generated column: a digest of its expression, and the words in it in lower case,
            which include the names of the columns that it reads; empty if not known.
        srid: the spatial reference system that a geometry column is bound to.
        added: the value that ALTER TABLE gave existing rows when it added the column; None if the column was
            created with its table. The DEFAULT clause may have changed since.
        numbered: whether it is AUTO_INCREMENT.
        width: the display width of an integer, which MariaDB and MySQL before 8.0.19 show; None for the
            type's.
        on_update: the normal text of the ON UPDATE clause; empty if there is none.
        formula: the normal text of a generated column's expression; empty if not known.
        check: the normal text of the CHECK that MariaDB keeps at the column.
        attributes: further attributes, as a statement writes them, such as ``COLUMN_FORMAT DYNAMIC``.
    """

    name: str
    mysql_type: str
    base: str
    length: int | None = None
    scale: int | None = None
    unsigned: bool = False
    nullable: bool = True
    charset: str | None = None
    collation: str | None = None
    members: tuple[str, ...] | None = None
    invisible: bool = False
    generated: str | None = None
    default: Default | None = None
    srid: int | None = None
    added: Default | None = None
    expression: tuple[str, ...] = ()
    numbered: bool = False
    comment: str = ""
    width: int | None = None
    on_update: str = ""
    formula: str = ""
    check: str = ""
    attributes: tuple[str, ...] = ()


class IndexDefinition(NamedTuple):
    """A key.

    Attributes:
        columns: column names in key order, without parts that are expressions.
        unique: whether it is UNIQUE: no two rows have the same values, unless some are NULL.
        whole: whether no part is an expression.
        prefixes: prefix length of each column, 0 for the whole column; empty if there are no prefixes.
        kind: ``FULLTEXT``, ``SPATIAL``, ``VECTOR``, or empty.
        descending: the columns that are sorted in descending order.
        expressions: the parts that are expressions: each one's place among all parts, and its normal text
            with its order.
        options: names and values, as a statement writes them: ``("USING", "BTREE")``.
        without_overlaps: the columns of the table's period, which are the last ones, are WITHOUT OVERLAPS.
        generated: whether the server made it for a foreign key, until another key serves that.
    """

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    whole: bool = True
    prefixes: tuple[int, ...] = ()
    kind: str = ""
    descending: tuple[str, ...] = ()
    expressions: tuple[tuple[int, str], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    without_overlaps: bool = False
    generated: bool = False


class Check(NamedTuple):
    """A CHECK constraint of a table.

    Attributes:
        name: None in a statement that leaves it to the server.
        expression: its normal text, in parentheses.
        enforced: False for MySQL's NOT ENFORCED.
    """

    name: str | None
    expression: str
    enforced: bool = True
    if_not_exists: bool = False


class Partitioning(NamedTuple):
    """How a table is partitioned, in normal text.

    Attributes:
        by: what follows PARTITION BY, up to the number of partitions: ``HASH(id)``.
        number: the number of PARTITIONS; None if the statement leaves it out.
        subpartitions: SUBPARTITION BY and what follows, up to the list of partitions.
        partitions: name and definition of each, in order; empty if they are only counted.
    """

    by: str
    number: int | None = None
    subpartitions: str = ""
    partitions: tuple[tuple[str, str], ...] = ()


class ForeignKey(NamedTuple):
    """A foreign key.

    Attributes:
        name: the constraint's name; None if the server generated one.
        referenced: the referenced columns, in the order of ``columns``.
        on_delete: the action when the referenced row is deleted: ``CASCADE``, ``SET NULL``, ``SET DEFAULT``,
            or ``RESTRICT`` for none.
        on_update: the action when the referenced columns change.
        written: both actions as the statement has them; empty where it has none.
    """

    name: str | None
    columns: tuple[str, ...]
    db: str
    table: str
    referenced: tuple[str, ...]
    on_delete: str
    on_update: str
    written: tuple[str, ...] = ("", "")


LONG_BASES = ("text", "blob", "geometry", "point", "linestring", "polygon", "geometrycollection")
"""Suffixes of the names of types with values of any length."""


SEQUENCE_COLUMNS = (
    *("next_not_cached_value", "minimum_value", "maximum_value", "start_value"),
    *("increment", "cache_size", "cycle_option", "cycle_count"),
)
"""The columns of MariaDB's sequences, whose one row is logged as an insert when a session takes values."""


class TableDefinition(NamedTuple):
    """A table at one point of the log.

    Attributes:
        columns: in row image order.
        primary_key: the names of the primary key's columns, in key order.
        charset: the table's default; None if unknown.
        collation: the table's default; None if it is the charset's default or unknown.
        provenance: DDL, SCHEMA or IF_NOT_EXISTS.
        ddl: the text of the statement that created or last changed it.
        unknown: why the columns are unknown; None if they are known. An unknown definition records only that
            the table exists, and names fall back to ``cN``.
        server_id: the server whose log has the statement that created it; None if unknown.
        period: the name of MariaDB's application-time period and the columns of its start and end; or empty.
        primary: the primary key's prefixes, order and options; None if there are none.
        checks: CHECK constraints of the table, and in MySQL those of its columns.
        options: names and values as statements write them: ``("ENGINE", "InnoDB")``.
        partitioning: None if it is not partitioned.
        versioned: whether it is MariaDB's WITH SYSTEM VERSIONING.
    """

    db: str
    name: str
    columns: tuple[ColumnDefinition, ...] = ()
    primary_key: tuple[str, ...] = ()
    indexes: tuple[IndexDefinition, ...] = ()
    charset: str | None = None
    collation: str | None = None
    provenance: Provenance = Provenance.DDL
    ddl: str = ""
    unknown: str | None = None
    server_id: int | None = None
    foreign_keys: tuple[ForeignKey, ...] = ()
    period: tuple[str, ...] = ()
    primary: IndexDefinition | None = None
    checks: tuple[Check, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    partitioning: Partitioning | None = None
    versioned: bool = False

    def column(self, name: str) -> ColumnDefinition | None:
        """Return the column of that name, ignoring case as MySQL does."""
        folded = folded_name(name)
        return next((column for column in self.columns if folded_name(column.name) == folded), None)

    @property
    def is_sequence(self) -> bool:
        """Whether it is a sequence of MariaDB."""
        return tuple(column.name for column in self.columns) == SEQUENCE_COLUMNS

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify rows, as servers choose them and table maps record them.

        The primary key; else the first key if it is UNIQUE over whole columns that are all NOT NULL; else
        none. Keys over whole TEXT, BLOB and spatial columns do not count, as MariaDB makes them hash
        indexes; nor do keys over virtual columns, which MySQL does not use.
        """
        if self.primary_key:
            return self.primary_key
        required = {
            folded_name(column.name): column.name
            for column in self.columns
            if not (column.nullable or column.base.endswith(LONG_BASES) or column.generated == "virtual")
        }
        for index in self.indexes[:1]:
            names = tuple(required.get(folded_name(name), "") for name in index.columns)
            if index.unique and index.whole and not any(index.prefixes) and all(names):
                # MariaDB adds the end of a row's period to each unique key.
                ends = (column.name for column in self.columns if column.generated == "row_end")
                return (*names, *ends)
        return ()


@unique
class ChangeKind(Enum):
    """How a statement changed the catalog."""

    CREATED = "created"
    ALTERED = "altered"
    RENAMED = "renamed"
    DROPPED = "dropped"
    UNPARSED = "unparsed"


class ColumnClause(NamedTuple):
    """What the clauses of an ALTER TABLE that name a column did to it.

    Attributes:
        former: its name before; None if it was added.
        name: its name after; None if it was dropped.
        column: the column after; None if no clause defines it.
    """

    former: str | None
    name: str | None
    column: ColumnDefinition | None = None


class Change(NamedTuple):
    """A table changed by a statement.

    Attributes:
        db: the table's database after the change.
        table: the table's name after the change; None if an unparsed statement's table is unknown, or if a
            whole database was dropped.
        definition: the table's new definition; None if it was dropped.
        previous: the definition before; None if there was none.
        reason: for UNPARSED, why the statement was not understood.
        clauses: what the clauses of an ALTER TABLE did to columns that they name; None if the columns before
            are not known.
    """

    kind: ChangeKind
    db: str
    table: str | None
    definition: TableDefinition | None = None
    previous: TableDefinition | None = None
    reason: str | None = None
    clauses: tuple[ColumnClause, ...] | None = None


NO_AUTO_VALUE_ON_ZERO = 0x80000
NO_BACKSLASH_ESCAPES = 0x100000
"""Bits in sql_mode."""
READ_BY = 0x1 | 0x4 | 0x200 | 0x1000 | NO_BACKSLASH_ESCAPES
"""The bits by which a statement's text is read; all else matters when it is executed."""


class StatementContext(NamedTuple):
    """The parts of a statement's session that determine the statement's meaning.

    A QUERY event's status variables hold all of them.

    Attributes:
        sql_mode: the session's sql_mode as the bits of Q_SQL_MODE_CODE.
        server_collation: the server's collation (third number of Q_CHARSET_CODE).
        version: major * 10000 + minor * 100 + patch, as in executable comments; None if unknown, which
            executes them all.
        explicit_defaults_for_timestamp: False is the default of MySQL before 8.0 and MariaDB before 10.10:
            a TIMESTAMP without NULL is NOT NULL.
        server_id: the server whose log has the statement; None if unknown.
        literals: the charset of the statement's literals, from the session's collation_connection; None if
            unknown.
        client: the charset in which the client sent the statement; None if unknown.
        is_text: whether all its bytes are characters of that charset; else those are in it as digits.
        failed: whether it ended with an error on its server, and was logged for what it did before.
        committed: whether an engine committed its changes, which MySQL logs since 8.0 and MariaDB since 10.6;
            False if unknown.
        connection: server ID and connection ID; None if unknown.
        position: the log's name with its identity, and the offset of the statement's event; None if it is not
            from a log.
        uses_temporary: whether it uses a temporary table, or something else that only its connection has.
        time_zone: the session's time zone; empty if the event does not say.
        seconds: when the statement began, since 1970; None if unknown.
        microseconds: of that time; None if the statement did not need them.
        collations: the default collations of character sets that the session sets, by character set.
    """

    sql_mode: int = 0
    server_collation: str | None = None
    mariadb: bool = False
    version: int | None = None
    explicit_defaults_for_timestamp: bool = True
    server_id: int | None = None
    literals: str | None = None
    client: str | None = None
    is_text: bool = True
    failed: bool = False
    committed: bool = False
    connection: tuple[int, int] | None = None
    position: tuple[str, int] | None = None
    uses_temporary: bool = False
    time_zone: str = ""
    seconds: int | None = None
    microseconds: int | None = None
    collations: tuple[tuple[str, str], ...] = ()

    # Bits of sql_mode: MySQL's sql/sql_const.h and MariaDB's sql/sql_class.h agree on these.
    @property
    def real_as_float(self) -> bool:
        """Whether REAL means FLOAT."""
        return bool(self.sql_mode & 0x1)

    @property
    def pipes_as_concat(self) -> bool:
        """Whether ``||`` concatenates; else it means OR."""
        return bool(self.sql_mode & 0x2)

    @property
    def ignore_space(self) -> bool:
        """Whether a function's name may be followed by spaces."""
        return bool(self.sql_mode & 0x8)

    @property
    def ansi_quotes(self) -> bool:
        """Whether double quotes enclose identifiers, not strings."""
        return bool(self.sql_mode & 0x4)

    @property
    def oracle(self) -> bool:
        """Whether it is MariaDB's sql_mode=ORACLE, with Oracle's type names."""
        return self.mariadb and bool(self.sql_mode & 0x200)

    @property
    def maxdb(self) -> bool:
        """Whether it is sql_mode=MAXDB, in which TIMESTAMP means DATETIME."""
        return bool(self.sql_mode & 0x1000)

    @property
    def no_backslash_escapes(self) -> bool:
        """Whether a backslash in a string is an ordinary character."""
        return bool(self.sql_mode & NO_BACKSLASH_ESCAPES)


DEFAULT_CONTEXT = StatementContext()
