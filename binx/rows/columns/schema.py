"""Table definitions: columns and keys as declared in SQL, and their provenance.

The model is immutable, so that states of the catalog (:mod:`binx.rows.ddl.catalog`)
at different points of a log share what did not change between them.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import NamedTuple


@unique
class Provenance(Enum):
    """Where a fact about a column comes from."""

    METADATA = "metadata"
    """The table map's optional metadata, which the server wrote beside the rows."""
    DDL = "ddl"
    """A statement seen in the logs."""
    SCHEMA = "schema"
    """The dump that the user gave."""
    IF_NOT_EXISTS = "if not exists"
    """A CREATE TABLE IF NOT EXISTS seen in the logs, which did nothing if the table was there already."""
    NONE = "none"
    """Nothing: a default was taken."""


@unique
class DefaultKind(Enum):
    """What a DEFAULT clause gives."""

    NULL = "null"
    NUMBER = "number"
    STRING = "string"
    BYTES = "bytes"
    """A hexadecimal or bit literal."""
    EXPRESSION = "expression"
    """What only the server can work out."""
    IMPLICIT = "implicit"
    """No clause: the zero of the column's type."""


class Default(NamedTuple):
    """A DEFAULT clause.

    Attributes:
        constant: NUMBER: the number as written, with its sign if that is a minus; STRING: the text; BYTES:
            hexadecimal digits; of the others empty.
    """

    text: str
    kind: DefaultKind
    constant: str = ""


class ColumnDefinition(NamedTuple):
    """One column as a CREATE TABLE or ALTER TABLE declares it.

    Attributes:
        mysql_type: normalised as INFORMATION_SCHEMA.COLUMNS.COLUMN_TYPE of MySQL 8.0.19+ has it:
            ``decimal(10,2) unsigned``.
        base: the type's canonical name: ``int`` for INTEGER, ``double`` for REAL, ``longtext`` for
            MariaDB's JSON.
        length: CHAR and VARCHAR: characters; BINARY and VARBINARY: bytes; BIT: bits; VECTOR:
            dimensions; DECIMAL: digits; DATETIME, TIMESTAMP and TIME: digits of the second's fraction.
        scale: DECIMAL: digits after the point.
        nullable: False for a primary key's columns too.
        charset: of text, ENUM and SET; None where the statement and its session do not say;
            ``binary`` for BINARY, VARBINARY and BLOBs.
        collation: None where it is the charset's default.
        generated: ``virtual``, ``stored``, for MariaDB's system versioning ``row_start`` and ``row_end``,
            or None.
        srid: the spatial reference system that a geometry column is bound to.
        added: what the ALTER TABLE that added it gave the rows that were there, None where it came with its
            table. The DEFAULT clause may have become another one since.
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


class IndexDefinition(NamedTuple):
    """A key other than PRIMARY.

    Attributes:
        columns: their names, in the key's order; parts that are expressions are left out.
        unique: no two rows have the same values, unless some are NULL.
        whole: no part is an expression.
        prefixes: how many characters of each column the key has, 0 for all; empty where it has all of each.
    """

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    whole: bool = True
    prefixes: tuple[int, ...] = ()


class ForeignKey(NamedTuple):
    """Columns that refer to rows of a table.

    Attributes:
        name: the constraint's name, None where the server made one.
        referenced: its columns, in the order of ``columns``.
        on_delete: what becomes of a row when the row that it refers to is deleted: ``CASCADE``, ``SET NULL``,
            ``SET DEFAULT``, or ``RESTRICT`` where nothing does.
        on_update: the same for when the columns referred to change.
    """

    name: str | None
    columns: tuple[str, ...]
    db: str
    table: str
    referenced: tuple[str, ...]
    on_delete: str
    on_update: str


_HASHED = ("text", "blob", "geometry", "point", "linestring", "polygon", "geometrycollection")
"""Ends of the names of types whose values have any length."""


class TableDefinition(NamedTuple):
    """A table at one point of the log.

    Attributes:
        columns: in the order of the row image.
        primary_key: the names of the primary key's columns, in the key's order.
        charset: the table's default, None where unknown.
        collation: the table's default, None where it is the charset's default or unknown.
        provenance: DDL, SCHEMA or IF_NOT_EXISTS.
        ddl: the text of the statement that made or last changed it.
        unknown: why the columns cannot be told, None where they can. Such a definition tells
            that the table exists, and names fall back to ``cN``.
        server_id: the server in whose log the statement that made it stands; None where that is not known.
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

    def column(self, name: str) -> ColumnDefinition | None:
        """The column of that name; MySQL compares column names without regard to case."""
        folded = name.casefold()
        return next((column for column in self.columns if column.name.casefold() == folded), None)

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify rows, as servers choose them and table maps record them.

        The primary key; else the first UNIQUE key over whole columns that are all NOT NULL; else none.
        Of whole TEXT, BLOB and spatial columns MariaDB makes an index of hashes, which it does not take for
        one; nor does MySQL take one over virtual columns.
        """
        if self.primary_key:
            return self.primary_key
        required = {
            column.name.casefold(): column.name
            for column in self.columns
            if not (column.nullable or column.base.endswith(_HASHED) or column.generated == "virtual")
        }
        for index in self.indexes:
            names = tuple(required.get(name.casefold(), "") for name in index.columns)
            if index.unique and index.whole and not any(index.prefixes) and all(names):
                # MariaDB makes the end of a row's period a part of each unique key.
                ends = (column.name for column in self.columns if column.generated == "row_end")
                return (*names, *ends)
        return ()


@unique
class ChangeKind(Enum):
    """What a statement did to the catalog."""

    CREATED = "created"
    ALTERED = "altered"
    RENAMED = "renamed"
    DROPPED = "dropped"
    UNPARSED = "unparsed"


class Change(NamedTuple):
    """One table that a statement touched.

    Attributes:
        db: the database that the table is in after the change.
        table: the table's name after the change; None where an unparsed statement's table cannot be
            told, or where a whole database was dropped.
        definition: the table's new definition, None where it is gone.
        previous: what was known before, None where nothing was.
        reason: of UNPARSED, why the statement was not understood.
    """

    kind: ChangeKind
    db: str
    table: str | None
    definition: TableDefinition | None = None
    previous: TableDefinition | None = None
    reason: str | None = None


NO_BACKSLASH_ESCAPES = 0x100000
"""The bit of sql_mode."""


class StatementContext(NamedTuple):
    """The session that a statement ran in, as far as it decides what the statement means.

    A QUERY event's status variables hold all of it.

    Attributes:
        sql_mode: the session's sql_mode as the bits of Q_SQL_MODE_CODE.
        server_collation: the server's collation (third number of Q_CHARSET_CODE).
        version: major * 10000 + minor * 100 + patch, as executable comments write it; None where
            unknown, which executes them all.
        explicit_defaults_for_timestamp: False as MySQL before 8.0 and MariaDB before 10.10 have it:
            a TIMESTAMP without NULL is NOT NULL.
        server_id: the server in whose log it stands; None where that is not known.
        literals: the charset of texts in the statement, as the session's collation_connection has it; None
            where that is not known.
        client: the charset that the client sent the statement in; None where that is not known.
        failed: it ended with an error on its server, and was logged for what it did before.
        committed: an engine committed what it did, which MySQL logs since 8.0, and MariaDB since 10.6; False
            where that is not known.
        connection: the server's and the connection's number, None where they are not known.
        place: the log's name with its identity, and the offset of the statement's event; None where it is in
            no log.
        uses_temporary: it uses a temporary table, or something else that only its connection has.
    """

    sql_mode: int = 0
    server_collation: str | None = None
    mariadb: bool = False
    version: int | None = None
    explicit_defaults_for_timestamp: bool = True
    server_id: int | None = None
    literals: str | None = None
    client: str | None = None
    failed: bool = False
    committed: bool = False
    connection: tuple[int, int] | None = None
    place: tuple[str, int] | None = None
    uses_temporary: bool = False

    # Bits of sql_mode: MySQL's sql/sql_const.h and MariaDB's sql/sql_class.h agree on these.
    @property
    def real_as_float(self) -> bool:
        """REAL means FLOAT."""
        return bool(self.sql_mode & 0x1)

    @property
    def ansi_quotes(self) -> bool:
        """Double quotes hold identifiers, not strings."""
        return bool(self.sql_mode & 0x4)

    @property
    def oracle(self) -> bool:
        """MariaDB's sql_mode=ORACLE, with Oracle's names of types."""
        return self.mariadb and bool(self.sql_mode & 0x200)

    @property
    def no_backslash_escapes(self) -> bool:
        """A backslash in a string is a character like any other."""
        return bool(self.sql_mode & NO_BACKSLASH_ESCAPES)


DEFAULT_CONTEXT = StatementContext()
