"""Parse the DDL statements of QUERY events.

A tokenizer and a recursive-descent parser for CREATE, ALTER, DROP,
RENAME and TRUNCATE of tables and databases only. sqlglot, tried first, failed on 20 of 49 common forms
of these statements (LONG VARCHAR, COLUMN_FORMAT, INET6, ADD (a, b), CONVERT TO, RENAME
TABLE, EXCHANGE PARTITION, system versioning …), and takes 110 ms to import.

A statement that cannot be parsed is never ignored, but reported with the tables it affects:
see :class:`~binx.rows.ddl.parsed_statements.NotUnderstood`.
"""

from __future__ import annotations

import re
from itertools import pairwise

from binx.rows.columns.schema import DEFAULT_CONTEXT, READ_BY, SEQUENCE_COLUMNS, Check, StatementContext
from binx.rows.columns.types import INTEGER_BITS
from binx.rows.ddl.alter import alter_table, column_keys, dropped_key, table_checks
from binx.rows.ddl.clauses import (
    accept_wait,
    charset_option,
    is_key_or_constraint,
    key_after_name,
    key_or_constraint,
    merged,
    partitioning,
    period,
    table_name,
    table_option,
)
from binx.rows.ddl.column_definitions import column_spec, data_type
from binx.rows.ddl.parsed_statements import (
    AddKey,
    AlterDatabase,
    AlterTable,
    ChangeColumn,
    ColumnSpec,
    CreateDatabase,
    CreateTable,
    DeclaredCharset,
    DropDatabase,
    DropKey,
    DropTables,
    Key,
    NamedTable,
    NotUnderstood,
    RenameTables,
    SetOption,
    Statement,
    TruncateTable,
)
from binx.rows.ddl.tokens import NotUnderstoodError, TokenKind, TokenReader, tokens

_LEAD = re.compile(r"[\s\0(]+|--(?=\s|$)[^\n]*|#[^\n]*|/\*(?!M?!).*?\*/", re.DOTALL)
_FIRST_WORD = re.compile(r"(?:create|alter|drop|rename|truncate|set\s+statement)\b|(/\*)", re.IGNORECASE)
_SETS_MODE = re.compile(r"set\s+statement\b(?:(?!\bfor\b).)*\bsql_mode\s*=", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"\w+")
_ANY_WORD = re.compile(r"\b(?:create|alter|drop|rename|truncate)\b", re.IGNORECASE)
_SEQUENCE_VALUES = 4
"""The first columns of a sequence, which have the type of its values."""


def is_schema_statement(sql: str) -> bool:
    """Whether a statement may change a table's columns or empty it: a quick look at its first word.

    True for some that change none (CREATE VIEW); never False for one that does.
    """
    match = _FIRST_WORD.match(sql, lead_end(sql))
    if match is None:
        return False
    # What an executable comment holds depends on the server, so every word counts.
    return match.group(1) is None or _ANY_WORD.search(sql) is not None


def first_word(sql: str, context: StatementContext = DEFAULT_CONTEXT) -> str:
    """Return a statement's keyword after comments and MariaDB's ``SET STATEMENT … FOR``, in lower case.

    It may stand in an executable comment. Empty where the statement begins with no word.
    """
    match = _WORD.match(sql, lead_end(sql))
    word = "" if match is None else match[0].lower()
    if word not in ("", "set"):
        return word
    try:
        return _reader(sql, context).current.upper.lower()
    except NotUnderstoodError:
        return word


def lead_end(sql: str) -> int:
    """Return where a statement begins, after white space, parentheses and comments that no server executes.

    One expression for all of them would need possessive quantifiers, to be linear where nothing follows, and
    those of Python before 3.11.5 miss some comments.
    """
    position = 0
    while match := _LEAD.match(sql, position):
        position = match.end()
    return position


def parse(sql: str, context: StatementContext = DEFAULT_CONTEXT) -> Statement | None:
    """Parse a statement; None if it does not change tables as a whole. Never raises.

    Args:
        sql: one statement; text after a ``;`` is not read.
    """
    try:
        reader = _reader(sql, context)
    except NotUnderstoodError as error:
        return NotUnderstood((), str(error)) if _ANY_WORD.search(sql) else None
    start = reader.index
    try:
        return _statement(reader)
    except NotUnderstoodError as error:
        reader.index = start
        temporary = reader.at("CREATE", "TEMPORARY") or reader.at("CREATE", "OR", "REPLACE", "TEMPORARY")
        return NotUnderstood(_tables_touched(reader), str(error), temporary)


def sets_mode(sql: str) -> bool:
    """Whether MariaDB's SET STATEMENT sets the sql_mode of a statement.

    The log has that mode alone. The text was read in the session's, which is taken for one without modes that
    matter to that.
    """
    return _SETS_MODE.match(sql, lead_end(sql)) is not None


def without_start_transaction(sql: str, context: StatementContext = DEFAULT_CONTEXT) -> str:
    """Remove START TRANSACTION, which MySQL accepts only from logs, from a CREATE TABLE … SELECT."""
    try:
        words = [token for token in tokens(sql, context) if token.kind is not TokenKind.NAME]
    except NotUnderstoodError:
        return sql
    for first, second in pairwise(words):
        if (first.upper, second.upper) == ("START", "TRANSACTION"):
            return sql[: first.start].rstrip() + sql[second.end :]
    return sql


def _reader(sql: str, context: StatementContext) -> TokenReader:
    """Return a reader at a statement, after MariaDB's ``SET STATEMENT variable=value, … FOR``."""
    if context.sql_mode & READ_BY and sets_mode(sql):
        context = context._replace(sql_mode=context.sql_mode & ~READ_BY)
    reader = TokenReader(sql, context)
    if reader.accept("SET", "STATEMENT"):
        while not reader.at_end and not reader.accept("FOR"):
            reader.next()
    return reader


def _statement(reader: TokenReader) -> Statement | None:
    match reader.accept_any("CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"):
        case "CREATE":
            return _create(reader)
        case "ALTER":
            reader.accept_any("ONLINE", "OFFLINE")
            ignore = reader.accept("IGNORE")
            if reader.accept("TABLE"):
                return alter_table(reader, ignore=ignore)
            if reader.accept("SEQUENCE"):
                return _alter_sequence(reader)
            return _alter_database(reader) if reader.accept_any("DATABASE", "SCHEMA") else None
        case "DROP":
            return _drop(reader)
        case "RENAME" if reader.accept_any("TABLE", "TABLES"):
            reader.accept("IF", "EXISTS")
            return RenameTables(tuple(reader.separated(_renamed)))
        case "TRUNCATE":
            reader.accept("TABLE")
            return TruncateTable(table_name(reader))
    return None


def _create(reader: TokenReader) -> Statement | None:
    replaces = reader.accept("OR", "REPLACE")
    temporary = reader.accept("TEMPORARY")
    if reader.accept("TABLE"):
        return _create_table(reader, temporary)._replace(replaces=replaces)
    if reader.accept("SEQUENCE"):
        return _create_sequence(reader, temporary)._replace(replaces=replaces)
    if reader.accept_any("DATABASE", "SCHEMA"):
        if_not_exists = reader.accept("IF", "NOT", "EXISTS")
        db = reader.name("a database's name")
        return CreateDatabase(db, _database_options(reader) or DeclaredCharset(), if_not_exists, replaces)
    reader.accept_any("ONLINE", "OFFLINE")
    unique = reader.accept("UNIQUE")
    kind = reader.accept_any("FULLTEXT", "SPATIAL", "VECTOR") or ""
    return _create_index(reader, unique, kind, replaces) if reader.accept("INDEX") else None


def _create_index(reader: TokenReader, unique: bool, kind: str, replaces: bool) -> AlterTable:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    name = reader.name("an index's name")
    using: tuple[tuple[str, str], ...] = ()
    if reader.accept_any("USING", "TYPE"):
        using = (("USING", reader.name("BTREE or HASH")),)
    while not reader.accept("ON"):
        if reader.at_end:
            raise reader.not_understood("ON")
        reader.next()
    table = table_name(reader)
    made = key_after_name(reader, name, unique, if_not_exists)
    key = AddKey(made._replace(kind=kind, options=tuple((dict(using) | dict(made.options)).items())))
    return AlterTable(table, (DropKey(name, if_exists=True), key) if replaces else (key,))


def _drop(reader: TokenReader) -> Statement | None:
    temporary = reader.accept("TEMPORARY")
    if reader.accept_any("TABLE", "TABLES", "SEQUENCE"):
        reader.accept("IF", "EXISTS")
        return DropTables(tuple(reader.separated(table_name)), temporary)
    if reader.accept_any("DATABASE", "SCHEMA"):
        reader.accept("IF", "EXISTS")
        return DropDatabase(reader.name("a database's name"))
    reader.accept_any("ONLINE", "OFFLINE")
    if reader.accept("INDEX"):
        if_exists = reader.accept("IF", "EXISTS")
        index = reader.name("an index's name")
        reader.expect("ON")
        return AlterTable(table_name(reader), (dropped_key(index, if_exists),))
    return None


def _renamed(reader: TokenReader) -> tuple[NamedTable, NamedTable]:
    old = table_name(reader)
    accept_wait(reader)
    reader.expect("TO")
    return old, table_name(reader)


def _tables_touched(reader: TokenReader) -> tuple[NamedTable, ...]:
    """Return the tables named in a statement that cannot be parsed, as far as they can be found."""
    while not reader.at_end and not reader.accept_any("TABLE", "TABLES"):
        reader.next()
    reader.accept("IF", "NOT", "EXISTS")
    reader.accept("IF", "EXISTS")
    names: list[NamedTable] = []
    try:
        names.append(table_name(reader))
        while reader.accept_any(",", "TO"):
            names.append(table_name(reader))
    except NotUnderstoodError:
        return tuple(names)
    return tuple(names)


_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "TABLE")


def _at_query(reader: TokenReader) -> bool:
    """Whether the parentheses that follow enclose a query, not columns or an expression."""
    depth = 1
    while reader.ahead(depth).upper == "(":
        depth += 1
    return reader.ahead(depth).upper in _QUERY_WORDS


def _create_table(reader: TokenReader, temporary: bool) -> CreateTable:
    """Parse CREATE TABLE after the word TABLE."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    create = CreateTable(table_name(reader), temporary=temporary, if_not_exists=if_not_exists)
    in_parentheses = reader.accept("(", "LIKE")
    if in_parentheses or reader.accept("LIKE"):
        create = create._replace(like=table_name(reader))
        if in_parentheses:
            reader.expect(")")
        return create
    if reader.at("(") and not _at_query(reader):
        create = _with_columns_and_keys(reader, create)
    create = _with_options(reader, create)
    if not create.columns and not create.select:
        raise reader.not_understood("columns, LIKE or a query")
    return create


def _with_columns_and_keys(reader: TokenReader, create: CreateTable) -> CreateTable:
    columns: list[ColumnSpec] = []
    keys: list[Key] = []
    periods: list[tuple[str, ...]] = []
    checks: list[Check] = []

    def item(reader: TokenReader) -> None:
        if reader.at("PERIOD", "FOR"):
            reader.next()
            periods.append(period(reader))
        elif is_key_or_constraint(reader):
            key = key_or_constraint(reader)
            if isinstance(key, Check):
                checks.append(key)
            else:
                keys.append(key)
        else:
            columns.append(column_spec(reader))
            keys.extend(column_keys(columns[-1], reader.context))
            checks.extend(table_checks(columns[-1], reader.context))

    reader.listed(item)
    return create._replace(
        columns=tuple(columns),
        keys=tuple(keys),
        checks=tuple(checks),
        period=next(filter(None, periods), ()),
    )


def _with_options(reader: TokenReader, create: CreateTable) -> CreateTable:
    """Read the table's options and partitions, up to its query or its end.

    What is no option is passed over, so that words of versions to come do no harm.
    """
    options: dict[str, str] = {}
    while not reader.at_end:
        option = charset_option(reader)
        if option is not None:
            create = create._replace(charset=merged(create.charset, option))
        elif reader.accept("WITH", "SYSTEM", "VERSIONING"):
            create = create._replace(versioned=True)
        elif reader.accept("PARTITION", "BY"):
            create = create._replace(partitioning=partitioning(reader))
        elif reader.at_any("SELECT", "WITH", "AS") or reader.at("VALUES", "ROW") or reader.at("TABLE"):
            return create._replace(select=True, options=tuple(options.items()))
        elif reader.at("("):
            if _at_query(reader):
                return create._replace(select=True, options=tuple(options.items()))
            reader.skip_parentheses()
        elif (named := table_option(reader)) is not None:
            options[named[0]] = named[1]
        else:
            reader.next()
    return create._replace(options=tuple(options.items()))


def _alter_database(reader: TokenReader) -> AlterDatabase:
    """Parse ALTER DATABASE after the word DATABASE or SCHEMA; the name is optional."""
    is_unnamed = (
        reader.at_any("DEFAULT", "CHARSET", "COLLATE", "READ", "ENCRYPTION", "COMMENT")
        or reader.at("CHARACTER", "SET")
        or reader.at("CHAR", "SET")
    )
    db = None if is_unnamed else reader.name("a database's name")
    return AlterDatabase(db, _database_options(reader))


def _database_options(reader: TokenReader) -> DeclaredCharset | None:
    """Read a database's options; None if none is of its charset."""
    charset = None
    while not reader.at_end:
        option = charset_option(reader)
        if option is None:
            reader.next()
        else:
            charset = merged(charset or DeclaredCharset(), option)
    return charset


def _create_sequence(reader: TokenReader, temporary: bool) -> CreateTable:
    """Parse CREATE SEQUENCE after the word SEQUENCE."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    table = table_name(reader)
    specs = (
        *[_sequence_value(reader) or ColumnSpec("", "bigint", nullable=False)] * _SEQUENCE_VALUES,
        ColumnSpec("", "bigint", nullable=False),
        ColumnSpec("", "bigint", unsigned=True, nullable=False),
        ColumnSpec("", "tinyint", (1,), unsigned=True, nullable=False),
        ColumnSpec("", "bigint", nullable=False),
    )
    columns = tuple(spec._replace(name=name) for spec, name in zip(specs, SEQUENCE_COLUMNS, strict=True))
    options = _sequence_options(reader)
    descends = options.get("INCREMENT BY", "").startswith("-")
    least, most = _bounds(specs[0], descends=descends)
    # They are kept, since ALTER SEQUENCE changes only what it names.
    least, most = options.get("MINVALUE", least), options.get("MAXVALUE", most)
    options = {"START WITH": most if descends else least, "MINVALUE": least, "MAXVALUE": most} | options
    return CreateTable(
        table, columns, temporary=temporary, if_not_exists=if_not_exists, options=tuple(options.items())
    )


def _alter_sequence(reader: TokenReader) -> AlterTable:
    """Parse ALTER SEQUENCE after the word SEQUENCE."""
    if_exists = reader.accept("IF", "EXISTS")
    table, value = table_name(reader), _sequence_value(reader)
    names = () if value is None else SEQUENCE_COLUMNS[:_SEQUENCE_VALUES]
    changed = (ChangeColumn(name, value._replace(name=name)) for name in names if value is not None)
    options = (SetOption(name, text) for name, text in _sequence_options(reader).items())
    return AlterTable(table, (*changed, *options), if_exists)


def _bounds(value: ColumnSpec, *, descends: bool) -> tuple[str, str]:
    """Return a sequence's least and greatest value if its statement has none."""
    bits = INTEGER_BITS[value.base]
    if value.unsigned:
        return "1", str(2**bits - 2)
    most = 2 ** (bits - 1)
    return (str(1 - most), "-1") if descends else ("1", str(most - 2))


def _sequence_options(reader: TokenReader) -> dict[str, str]:
    """Read the options of a sequence, and those of its table; a text of ``NO`` stands for none."""
    options: dict[str, str] = {}
    while not reader.at_end:
        no = reader.accept("NO")
        word = reader.current.upper
        if word.removeprefix("NO") in _SEQUENCE_OPTIONS:
            reader.next()
            name = _SEQUENCE_OPTIONS[word.removeprefix("NO")]
            if not no and not word.startswith("NO"):
                options[name] = _sequence_number(reader, name)
            elif name not in {"MINVALUE", "MAXVALUE"}:
                options[name] = "NO"
        elif (option := table_option(reader)) is not None:
            options[option[0]] = option[1]
        else:
            reader.next()
    return options


_SEQUENCE_OPTIONS = {
    "START": "START WITH",
    "INCREMENT": "INCREMENT BY",
    "MINVALUE": "MINVALUE",
    "MAXVALUE": "MAXVALUE",
    "CACHE": "CACHE",
    "CYCLE": "CYCLE",
    "RESTART": "RESTART",
}


def _sequence_number(reader: TokenReader, option: str) -> str:
    """Read what follows an option's word; RESTART alone, and CYCLE, have no number."""
    reader.accept_any("WITH", "BY", "=")
    sign = reader.accept_any("-", "+") or ""
    is_number = reader.current.kind is TokenKind.NUMBER
    if not is_number and (sign or option not in ("CYCLE", "RESTART")):
        raise reader.not_understood("a number")
    return f"{sign.strip('+')}{reader.number()}" if is_number else ""


def _sequence_value(reader: TokenReader) -> ColumnSpec | None:
    """Return the type of a sequence's values if a statement names it, as since MariaDB 11.5."""
    if not reader.accept("AS"):
        return None
    written = data_type(reader)
    unsigned = written.unsigned or reader.accept("UNSIGNED")
    return ColumnSpec("", written.base, unsigned=unsigned, nullable=False)
