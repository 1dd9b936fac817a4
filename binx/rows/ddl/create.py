"""CREATE TABLE and CREATE SEQUENCE, and the databases' statements."""

from __future__ import annotations

from binx.rows.ddl.clauses import (
    charset_option,
    is_key_or_constraint,
    key_columns,
    key_or_constraint,
    merged,
    table_name,
)
from binx.rows.ddl.columns import column_spec
from binx.rows.ddl.statements import (
    AlterDatabase,
    Charset,
    ColumnSpec,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    Key,
    TableName,
)
from binx.rows.ddl.tokens import TokenReader
from binx.rows.ddl.types import data_type

_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "TABLE")


def create_table(reader: TokenReader, temporary: bool) -> CreateTable:
    """Read CREATE TABLE behind the word TABLE."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    table = table_name(reader)
    if reader.accept("LIKE"):
        return CreateTable(table, like=table_name(reader), temporary=temporary, if_not_exists=if_not_exists)
    if reader.accept("(", "LIKE"):
        like = table_name(reader)
        reader.expect(")")
        return CreateTable(table, like=like, temporary=temporary, if_not_exists=if_not_exists)
    columns: list[ColumnSpec] = []
    keys: list[Key] = []
    if reader.at("(") and reader.ahead().upper not in {*_QUERY_WORDS, "("}:
        columns, keys = _column_list(reader)
    charset, select, versioned = _options(reader)
    if not columns and not select:
        raise reader.not_understood("columns, LIKE or a query")
    return CreateTable(
        table,
        columns=tuple(columns),
        primary_key=next((key.columns for key in keys if key.primary), ()),
        keys=tuple(key for key in keys if not key.primary),
        charset=charset,
        select=select,
        temporary=temporary,
        if_not_exists=if_not_exists,
        versioned=versioned,
    )


def _column_list(reader: TokenReader) -> tuple[list[ColumnSpec], list[Key]]:
    columns: list[ColumnSpec] = []
    keys: list[Key] = []
    periods: dict[str, tuple[str, ...]] = {}
    reader.expect("(")
    while True:
        if reader.accept("PERIOD", "FOR"):
            period = reader.name("a period's name")
            periods[period.casefold()] = key_columns(reader)
        elif is_key_or_constraint(reader):
            key = key_or_constraint(reader)
            keys += [key] if key is not None else []
        else:
            columns.append(column_spec(reader))
            keys += column_keys(columns[-1])
        if not reader.accept(","):
            break
    reader.expect(")")
    # The columns of MariaDB's application-time periods cannot be NULL.
    bounds = {name.casefold() for period in periods.values() for name in period}
    columns = [c._replace(nullable=False) if c.name.casefold() in bounds else c for c in columns]
    return columns, [_without_periods(key, periods) for key in keys]


def column_keys(column: ColumnSpec) -> list[Key]:
    """The keys that stand at a column itself."""
    keys = [Key((column.name,), primary=True)] if column.primary_key else []
    keys += [Key((column.name,), unique=True)] if column.unique else []
    return [*keys, Key((column.name,), references=column.references)] if column.references else keys


def _without_periods(key: Key, periods: dict[str, tuple[str, ...]]) -> Key:
    """MariaDB makes of a period in a key its end and its start, in this order."""
    if not any(name.casefold() in periods for name in key.columns):
        return key
    parts = (reversed(periods.get(name.casefold(), (name,))) for name in key.columns)
    return key._replace(columns=tuple(name for part in parts for name in part), prefixes=())


def _options(reader: TokenReader) -> tuple[Charset, bool, bool]:
    """Read the table's options, partitions and query: charset, whether a query follows, system versioning.

    Only these matter to columns, so that options of engines and versions to come do no harm.
    """
    charset = Charset()
    versioned = False
    while not reader.at_end:
        option = charset_option(reader)
        if option is not None:
            charset = merged(charset, option)
        elif reader.accept("WITH", "SYSTEM", "VERSIONING"):
            versioned = True
        elif reader.at_any("SELECT", "WITH", "AS") or reader.at("VALUES", "ROW") or reader.at("TABLE"):
            return charset, True, versioned
        elif reader.at("("):
            if reader.ahead().upper in {*_QUERY_WORDS, "("}:
                return charset, True, versioned
            reader.skip_parentheses()
        else:
            reader.next()
    return charset, False, versioned


def create_database(reader: TokenReader) -> CreateDatabase:
    """Read CREATE DATABASE behind the word DATABASE or SCHEMA."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    db = reader.name("a database's name")
    return CreateDatabase(db, _database_options(reader), if_not_exists)


def alter_database(reader: TokenReader) -> AlterDatabase:
    """Read ALTER DATABASE behind the word DATABASE or SCHEMA; its name may be left out."""
    if charset_option_follows(reader):
        return AlterDatabase(None, _database_options(reader))
    return AlterDatabase(reader.name("a database's name"), _database_options(reader))


def charset_option_follows(reader: TokenReader) -> bool:
    """Whether an option stands where a database's name may stand."""
    return (
        reader.at_any("DEFAULT", "CHARSET", "COLLATE", "READ", "ENCRYPTION", "COMMENT")
        or reader.at("CHARACTER", "SET")
        or reader.at("CHAR", "SET")
    )


def _database_options(reader: TokenReader) -> Charset:
    charset = Charset()
    while not reader.at_end:
        option = charset_option(reader)
        if option is not None:
            charset = merged(charset, option)
        else:
            reader.next()
    return charset


def drop_database(reader: TokenReader) -> DropDatabase:
    """Read DROP DATABASE behind the word DATABASE or SCHEMA."""
    reader.accept("IF", "EXISTS")
    return DropDatabase(reader.name("a database's name"))


def table_names(reader: TokenReader) -> tuple[TableName, ...]:
    """Read ``a, db.b, …``."""
    names = [table_name(reader)]
    while reader.accept(","):
        names.append(table_name(reader))
    return tuple(names)


_SEQUENCE_VALUE = ColumnSpec("", "bigint", nullable=False)
_SEQUENCE_VALUES = ("next_not_cached_value", "minimum_value", "maximum_value", "start_value")
_SEQUENCE_STATE = (
    ColumnSpec("increment", "bigint", nullable=False),
    ColumnSpec("cache_size", "bigint", unsigned=True, nullable=False),
    ColumnSpec("cycle_option", "tinyint", arguments=(1,), unsigned=True, nullable=False),
    ColumnSpec("cycle_count", "bigint", nullable=False),
)


def create_sequence(reader: TokenReader, temporary: bool) -> CreateTable:
    """Read CREATE SEQUENCE behind the word SEQUENCE; since MariaDB 11.5 it may name the values' type."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    table = table_name(reader)
    value = _SEQUENCE_VALUE
    if reader.accept("AS"):
        written = data_type(reader)
        value = value._replace(base=written.base, unsigned=written.unsigned or reader.accept("UNSIGNED"))
    columns = (*(value._replace(name=name) for name in _SEQUENCE_VALUES), *_SEQUENCE_STATE)
    return CreateTable(table, columns, temporary=temporary, if_not_exists=if_not_exists)
