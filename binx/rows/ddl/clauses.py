"""Parse the clauses that DDL statements share: names, charset options, keys, constraints and defaults."""

from __future__ import annotations

from typing import NamedTuple

from binx.event.charset import charset
from binx.rows.columns.charsets import (
    charset_name,
    charset_of_collation,
    collation_name,
    full_collation_name,
)
from binx.rows.columns.schema import Check, Default, DefaultKind, Partitioning, StatementContext
from binx.rows.ddl.parsed_statements import CHARSET_DEFAULT, DeclaredCharset, Key, NamedTable, References
from binx.rows.ddl.tokens import Token, TokenKind, TokenReader, identifier, sent_bytes


def table_name(reader: TokenReader) -> NamedTable:
    """Read ``[db.]table``; a leading dot, as ODBC writes it, means the default database."""
    reader.accept(".")
    first = reader.name("a table's name")
    if reader.accept("."):
        return NamedTable(first, reader.name("a table's name"))
    return NamedTable(None, first)


def column_name(reader: TokenReader) -> str:
    """Read ``[[db.]table.]column``, of which servers heed the column; ODBC writes a leading dot."""
    reader.accept(".")
    name = reader.name("a column's name")
    while reader.accept("."):
        name = reader.name("a column's name")
    return name


def accept_wait(reader: TokenReader) -> None:
    """Read how long MariaDB waits for locks, if a statement says it."""
    if reader.accept("WAIT"):
        reader.number()
    else:
        reader.accept("NOWAIT")


_CHARSET_WORDS = (("CHARSET",), ("CHARACTER", "SET"), ("CHAR", "SET"))


def charset_option(reader: TokenReader) -> DeclaredCharset | None:
    """Read one of a table's or database's ``[DEFAULT] CHARACTER SET [=] c`` and ``COLLATE [=] c``."""
    start = reader.index
    reader.accept("DEFAULT")
    collates = reader.accept("COLLATE")
    if not collates and not any(reader.accept(*words) for words in _CHARSET_WORDS):
        reader.index = start
        return None
    reader.accept("=")
    name = charset_word(reader)
    if collates:
        return DeclaredCharset(None, collation_name(name))
    return CHARSET_DEFAULT if name.upper() == CHARSET_DEFAULT.charset else DeclaredCharset(charset_name(name))


def charset_word(reader: TokenReader) -> str:
    """Parse the name of a charset or collation, which may be quoted."""
    if reader.current.kind is TokenKind.STRING:
        return reader.next().text
    return reader.name("a character set")


def merged(first: DeclaredCharset, second: DeclaredCharset | None) -> DeclaredCharset:
    """Merge two charset options of one statement."""
    if second is None:
        return first
    return DeclaredCharset(second.charset or first.charset, second.collation or first.collation)


def complete_charset(
    option: DeclaredCharset, default: DeclaredCharset, context: StatementContext
) -> DeclaredCharset:
    """Return what a charset option means.

    Args:
        default: what no option means; a collation that fits several charsets is one of its charset.
        context: of the statement; its session may have a default collation of its own for the charset.
    """
    if option == DeclaredCharset():
        return default
    if option.charset == CHARSET_DEFAULT.charset:
        if not context.mariadb and option.collation is None:
            return default
        # MariaDB takes the character set's own collation then, whatever the default has.
        option = option._replace(charset=charset_of_collation(option.collation) or default.charset)
        return option._replace(collation=full_collation_name(option.collation, option.charset))
    charset = option.charset or charset_of_collation(option.collation) or default.charset
    collation = full_collation_name(option.collation, charset)
    return DeclaredCharset(charset, collation or dict(context.collations).get(charset or ""))


_KEY_WORDS = ("KEY", "INDEX")
_CONSTRAINT_WORDS = ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")
_OTHER_KINDS = ("FULLTEXT", "SPATIAL", "VECTOR")
NO_CHANGE = "RESTRICT"


def is_key_or_constraint(reader: TokenReader) -> bool:
    """Whether the next item of a table's list is a key or constraint, not a column."""
    if reader.at("VECTOR"):
        return reader.ahead().upper in {*_KEY_WORDS, "("}
    return reader.at_any("CONSTRAINT", *_CONSTRAINT_WORDS, *_KEY_WORDS, *_OTHER_KINDS)


def key_or_constraint(reader: TokenReader) -> Key | Check:
    """Read a key or constraint up to its comma."""
    name = None
    if_not_exists = False
    if reader.accept("CONSTRAINT"):
        if_not_exists = reader.accept("IF", "NOT", "EXISTS")
        if not reader.at_any(*_CONSTRAINT_WORDS):
            name = reader.name("a constraint's name")
    if reader.accept("CHECK"):
        return check(reader, name)._replace(if_not_exists=if_not_exists)
    if reader.accept("FOREIGN", "KEY"):
        return _foreign_key(reader, name)
    primary = reader.accept("PRIMARY")
    unique = not primary and reader.accept("UNIQUE")
    kind = "" if primary or unique else reader.accept_any(*_OTHER_KINDS) or ""
    reader.accept_any(*_KEY_WORDS)
    if_not_exists = reader.accept("IF", "NOT", "EXISTS") or if_not_exists
    if not reader.at_any("(", "USING", "TYPE"):
        name = reader.name("a key's name")
    key = key_after_name(reader, None if primary else name, unique, if_not_exists)
    reader.skip_to_comma()
    return key._replace(kind=kind, primary=primary)


def check(reader: TokenReader, name: str | None) -> Check:
    """Read what follows CHECK."""
    start = reader.index
    reader.skip_parentheses()
    expression = reader.normal_from(start, expression=True)
    enforced = not reader.accept("NOT", "ENFORCED")
    if enforced:
        reader.accept("ENFORCED")
    return Check(name, expression, enforced)


def _foreign_key(reader: TokenReader, name: str | None) -> Key:
    """Read ``[IF NOT EXISTS] [name] (column, …) REFERENCES …``."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    index_name = None if reader.at("(") else reader.name("a foreign key's name")
    columns = key_columns(reader)
    reader.expect("REFERENCES")
    target = references(reader)
    reader.skip_to_comma()
    return Key(columns, name, if_not_exists=if_not_exists, references=target, index_name=index_name)


def references(reader: TokenReader) -> References:
    """Parse the clause after REFERENCES."""
    table = table_name(reader)
    columns = key_columns(reader) if reader.at("(") else ()
    actions = {"DELETE": "", "UPDATE": ""}
    while True:
        if reader.accept("MATCH"):
            reader.name("FULL, PARTIAL or SIMPLE")
        elif reader.at("ON") and reader.ahead().upper in actions:
            reader.next()
            event = reader.next().upper
            actions[event] = _key_action(reader)
        else:
            written = (actions["DELETE"], actions["UPDATE"])
            return References(table, columns, _effective(written[0]), _effective(written[1]), written)


def _effective(action: str) -> str:
    return NO_CHANGE if action in ("", "NO ACTION") else action


def _key_action(reader: TokenReader) -> str:
    for words in (("SET", "NULL"), ("SET", "DEFAULT"), ("CASCADE",), ("NO", "ACTION")):
        if reader.accept(*words):
            return " ".join(words)
    reader.expect("RESTRICT")
    return NO_CHANGE


def key_after_name(reader: TokenReader, name: str | None, unique: bool, if_not_exists: bool) -> Key:
    """Read ``[USING kind] (part, …) [option …]``."""
    options = dict(_key_options(reader))
    if not reader.at("("):
        raise reader.not_understood("a key's columns")
    key_parts = reader.listed(_key_part)
    accept_wait(reader)
    options |= _key_options(reader)
    return Key(
        columns=tuple(part.column for part in key_parts if part.column),
        name=name,
        unique=unique,
        whole=not any(part.expression for part in key_parts),
        if_not_exists=if_not_exists,
        prefixes=tuple(part.prefix for part in key_parts if part.column),
        descending=tuple(part.column for part in key_parts if part.column and part.descending),
        expressions=tuple(
            (place, part.expression + " DESC" * part.descending)
            for place, part in enumerate(key_parts)
            if part.expression
        ),
        options=tuple(options.items()),
        without_overlaps=any(part.without_overlaps for part in key_parts),
    )


def _key_options(reader: TokenReader) -> dict[str, str]:
    """Read the options of a key; those of CREATE INDEX that say how it is made are left to the caller."""
    options: dict[str, str] = {}
    while reader.current.kind in {TokenKind.WORD, TokenKind.NAME} and not reader.at_any("ALGORITHM", "LOCK"):
        words = next((words for words in _KEY_FLAGS if reader.accept(*words)), None)
        if words is not None:
            options = {name: value for name, value in options.items() if name not in VISIBILITY}
            options[" ".join(words)] = ""
            continue
        name = (
            "WITH PARSER" if reader.accept("WITH", "PARSER") else reader.next().upper or reader.current.text
        )
        is_known = name in {"USING", "TYPE", "WITH PARSER", "COMMENT", "KEY_BLOCK_SIZE"}
        if not reader.accept("=") and not (is_known or name.endswith("ENGINE_ATTRIBUTE")):
            break
        start = reader.index
        if reader.next().kind in {TokenKind.SIGN, TokenKind.END}:
            raise reader.not_understood(f"the value of {name}")
        options["USING" if name == "TYPE" else name] = reader.normal_from(start)
    return options


_KEY_FLAGS = (("VISIBLE",), ("INVISIBLE",), ("IGNORED",), ("NOT", "IGNORED"))
VISIBILITY = frozenset(" ".join(words) for words in _KEY_FLAGS)
"""The options of keys of which each takes the place of the others."""


def table_option(reader: TokenReader) -> tuple[str, str] | None:
    """Read a table's option, ``name [=] value``; None where none follows.

    An option that is not known must have its ``=``, as engines' own do.
    """
    start = reader.index
    if reader.current.kind not in {TokenKind.WORD, TokenKind.NAME}:
        return None
    token = reader.next()
    name = token.upper or identifier(token.text)
    if name == "DEFAULT":
        name = reader.next().upper
    if name in {"DATA", "INDEX"} and reader.accept("DIRECTORY"):
        name += " DIRECTORY"
    if not reader.accept("=") and name not in _OPTIONS:
        reader.index = start
        return None
    first = reader.index
    if reader.at("("):
        reader.skip_parentheses()
    elif reader.next().kind in {TokenKind.SIGN, TokenKind.END}:
        raise reader.not_understood(f"the value of {name}")
    return "ENGINE" if name == "TYPE" else name, reader.normal_from(first)


_OPTIONS = frozenset(
    {
        "AUTO_INCREMENT", "AUTOEXTEND_SIZE", "AVG_ROW_LENGTH", "CHECKSUM", "COMMENT", "COMPRESSION",
        "CONNECTION", "DATA DIRECTORY", "DELAY_KEY_WRITE", "ENCRYPTION", "ENGINE", "ENGINE_ATTRIBUTE",
        "INDEX DIRECTORY", "INSERT_METHOD", "KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "NODEGROUP",
        "PACK_KEYS", "PAGE_CHECKSUM", "PASSWORD", "ROW_FORMAT", "SECONDARY_ENGINE",
        "SECONDARY_ENGINE_ATTRIBUTE", "SEQUENCE", "STATS_AUTO_RECALC", "STATS_PERSISTENT",
        "STATS_SAMPLE_PAGES", "STORAGE", "TABLE_CHECKSUM", "TABLESPACE", "TRANSACTIONAL", "TYPE", "UNION",
    }
)  # fmt: skip
"""The options of tables, whose ``=`` may be left out."""


def partitioning(reader: TokenReader) -> Partitioning:
    """Read what follows PARTITION BY, up to its end or a query."""

    def text() -> str:
        start = reader.index
        while not reader.at_end and not reader.at_any("PARTITIONS", "SUBPARTITION", *_QUERY_WORDS):
            if reader.at("(") and reader.ahead().upper in {"PARTITION", *_QUERY_WORDS}:
                break
            if reader.at("("):
                reader.skip_parentheses()
            else:
                reader.next()
        return reader.normal_from(start, expression=True) if reader.index > start else ""

    by, number, sub = text(), None, ""
    if reader.accept("PARTITIONS"):
        number = reader.number()
    if reader.at("SUBPARTITION"):
        start = reader.index
        reader.next()
        text()
        if reader.accept("PARTITIONS") or reader.accept("SUBPARTITIONS"):
            reader.number()
        sub = reader.normal_from(start)
    listed = reader.at("(") and reader.ahead().upper == "PARTITION"
    return Partitioning(by, number, sub, partition_list(reader) if listed else ())


_QUERY_WORDS = ("AS", "SELECT", "WITH", "REPLACE", "IGNORE")


def partition_list(reader: TokenReader) -> tuple[tuple[str, str], ...]:
    """Read ``(PARTITION name …, …)``: the name and the text of each."""

    def one(reader: TokenReader) -> tuple[str, str]:
        reader.expect("PARTITION")
        return partition_definition(reader)

    return tuple(reader.listed(one))


def partition_definition(reader: TokenReader) -> tuple[str, str]:
    """Read ``name …`` up to the comma or parenthesis after it."""
    start = reader.index
    name = reader.name("a partition's name")
    reader.skip_to_comma()
    return name, reader.normal_from(start)


def key_columns(reader: TokenReader) -> tuple[str, ...]:
    """Read ``(column, …)``."""
    return tuple(part.column for part in reader.listed(_key_part) if part.column)


def period(reader: TokenReader) -> tuple[str, ...]:
    """Read ``FOR name [(start, end)]``: the name and the columns; empty for SYSTEM_TIME."""
    reader.expect("FOR")
    name = reader.name("a period's name")
    columns = key_columns(reader) if reader.at("(") else ()
    return () if name.upper() == "SYSTEM_TIME" else (name, *columns)


class _KeyPart(NamedTuple):
    """A part of a key: a column, or an expression in normal text."""

    column: str = ""
    prefix: int = 0
    expression: str = ""
    descending: bool = False
    without_overlaps: bool = False


def _key_part(reader: TokenReader) -> _KeyPart:
    """Read ``column [(length)]`` or ``(expression)``; a period is a column, WITHOUT OVERLAPS."""
    column, prefix, expression = "", 0, ""
    if reader.current.kind in {TokenKind.WORD, TokenKind.NAME}:
        column = reader.name("a key's column")
        if reader.accept("("):
            prefix = reader.number()
            reader.expect(")")
    elif reader.at("("):
        start = reader.index
        reader.skip_parentheses()
        expression = reader.normal_from(start, expression=True)
    descending = reader.accept_any("ASC", "DESC") == "DESC"
    return _KeyPart(column, prefix, expression, descending, reader.accept("WITHOUT", "OVERLAPS"))


_TRUTH = {"TRUE": "1", "FALSE": "0"}
_MOMENTS = frozenset({"DATE", "TIME", "TIMESTAMP"})
_Constant = tuple[DefaultKind, str]
_UNKNOWN: _Constant = (DefaultKind.EXPRESSION, "")


def default_clause(reader: TokenReader) -> Default:
    """Read the value of DEFAULT or ON UPDATE.

    A value is a literal with its sign, an expression in parentheses, or a function's call, with or without
    parentheses; CASE, NEXT and PREVIOUS VALUE FOR, and literals in braces as ODBC writes them, are MariaDB's.
    """
    first, start = reader.index, reader.current.start
    kind, constant = _UNKNOWN
    if reader.at("("):
        reader.skip_parentheses()
    elif reader.accept("NEXT", "VALUE", "FOR") or reader.accept("PREVIOUS", "VALUE", "FOR"):
        table_name(reader)
    elif reader.at("CASE"):
        _skip_case(reader)
    elif reader.accept("{"):
        reader.name("d, t or ts")
        kind, constant = _value(reader)
        reader.expect("}")
    else:
        sign = reader.accept_any("-", "+") or ""
        kind, constant = _value(reader)
        if kind is DefaultKind.NUMBER:
            constant = f"-{constant}" if sign == "-" else constant
        elif sign:
            kind, constant = _UNKNOWN
    sql = reader.normal_from(first, expression=True) if kind is DefaultKind.EXPRESSION else ""
    return Default(reader.text_from(start), kind, constant, sql)


def _skip_case(reader: TokenReader) -> None:
    depth = 0
    while depth or reader.at("CASE"):
        depth += reader.at("CASE") - reader.at("END")
        if reader.next().kind is TokenKind.END:
            raise reader.not_understood("END")


def _value(reader: TokenReader) -> _Constant:
    """Read a literal, or the call of a function: its name with what qualifies it, and its arguments."""
    token = reader.next()
    if token.kind in {TokenKind.SIGN, TokenKind.END}:
        raise reader.not_understood("a value")
    if token.upper in _MOMENTS and reader.current.kind is TokenKind.STRING:
        return DefaultKind.STRING, reader.next().text
    if introduced := _introducer(reader, token):
        return _introduced(introduced, reader.literal())
    is_called = False
    if token.kind in {TokenKind.WORD, TokenKind.NAME}:
        while reader.accept("."):
            reader.name()
            is_called = True
        if reader.at("("):
            reader.skip_parentheses()
            is_called = True
    return _UNKNOWN if is_called else _constant(token, reader.text_from(token.start), reader.context)


def _introducer(reader: TokenReader, token: Token) -> str | None:
    """Return the character set named by an introducer before a hexadecimal or bit literal."""
    following = reader.current
    is_literal = following.kind is TokenKind.STRING or following.text[:2] in {"0x", "0b"}
    if not (is_literal and token.kind is TokenKind.WORD and token.text.startswith("_")):
        return None
    name = token.text[1:].lower()
    return None if charset(name) is None else name


def _introduced(name: str, literal: str | bytes) -> _Constant:
    """Return a literal in a character set; only the server knows what invalid bytes become."""
    known = charset(name)
    if known is None or isinstance(literal, str):
        return _UNKNOWN
    if known.is_binary:
        return DefaultKind.BYTES, literal.hex()
    text = known.decode_strictly(literal)
    return _UNKNOWN if text is None else (DefaultKind.STRING, text)


def _constant(token: Token, written: str, context: StatementContext) -> _Constant:
    """Return a literal's kind, and its value as in :class:`~binx.rows.columns.schema.Default`."""
    if token.kind is TokenKind.WORD and token.upper == "NULL":
        return DefaultKind.NULL, ""
    if token.kind is TokenKind.WORD and token.upper in _TRUTH:
        return DefaultKind.NUMBER, _TRUTH[token.upper]
    if token.kind is TokenKind.NUMBER:
        return _number(token.text)
    if token.kind is not TokenKind.STRING:
        return _UNKNOWN
    if written[0] in "xXbB":
        return DefaultKind.BYTES, token.text.encode("latin-1").hex()
    sent = sent_bytes(written, context)
    if written[0] == "_" and (sent is not None or not token.text.isascii()):
        # Its bytes, as the client sent them, are of the set that is named.
        client = charset(context.client or "")
        name = written[1:].partition("'")[0].strip().lower()
        encoded = token.text if client is None else client.encode(token.text)
        return _introduced(name, encoded if sent is None else sent)
    if sent is not None:
        return (DefaultKind.BYTES, sent.hex()) if context.literals == "binary" else _UNKNOWN
    return DefaultKind.STRING, token.text


def _number(text: str) -> _Constant:
    digits = text[2:]
    if text.startswith("0x"):
        return DefaultKind.BYTES, digits.zfill(len(digits) + len(digits) % 2).lower()
    if text.startswith("0b"):
        return DefaultKind.BYTES, int(digits, 2).to_bytes((len(digits) + 7) // 8, "big").hex()
    return DefaultKind.NUMBER, text
