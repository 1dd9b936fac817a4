"""Parse the clauses that DDL statements share: names, charset options, keys, constraints and defaults."""

from __future__ import annotations

from binx.event.charset import charset
from binx.rows.columns.charsets import (
    charset_name,
    charset_of_collation,
    collation_name,
    full_collation_name,
)
from binx.rows.columns.schema import Default, DefaultKind, StatementContext
from binx.rows.ddl.statements import Charset, Key, References, TableName
from binx.rows.ddl.tokens import Token, TokenKind, TokenReader


def table_name(reader: TokenReader) -> TableName:
    """Read ``[db.]table``; a leading dot, as ODBC writes it, means the default database."""
    reader.accept(".")
    first = reader.name("a table's name")
    if reader.accept("."):
        return TableName(first, reader.name("a table's name"))
    return TableName(None, first)


_CHARSET_WORDS = (("CHARSET",), ("CHARACTER", "SET"), ("CHAR", "SET"))


def charset_option(reader: TokenReader) -> Charset | None:
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
        return Charset(None, collation_name(name))
    return Charset() if name.upper() == "DEFAULT" else Charset(charset_name(name), None)


def charset_word(reader: TokenReader) -> str:
    """Parse the name of a charset or collation, which may be quoted."""
    if reader.current.kind is TokenKind.STRING:
        return reader.next().text
    return reader.name("a character set")


def merged(first: Charset, second: Charset | None) -> Charset:
    """Merge two charset options of one statement."""
    if second is None:
        return first
    return Charset(second.charset or first.charset, second.collation or first.collation)


def complete_charset(option: Charset, default: Charset) -> Charset:
    """Return what a charset option means.

    Args:
        default: what no option means; a collation that fits several charsets is one of its charset.
    """
    if option == Charset():
        return default
    charset = option.charset or charset_of_collation(option.collation) or default.charset
    return Charset(charset, full_collation_name(option.collation, charset))


_KEY_WORDS = ("KEY", "INDEX")
_CONSTRAINT_WORDS = ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")
_OTHER_KINDS = ("FULLTEXT", "SPATIAL", "VECTOR")
NO_CHANGE = "RESTRICT"


def is_key_or_constraint(reader: TokenReader) -> bool:
    """Whether the next item of a table's list is a key or constraint, not a column."""
    if reader.at("VECTOR"):
        return reader.ahead().upper in {*_KEY_WORDS, "("}
    return reader.at_any("CONSTRAINT", *_CONSTRAINT_WORDS, *_KEY_WORDS, *_OTHER_KINDS)


def key_or_constraint(reader: TokenReader) -> list[Key]:
    """Read a key or constraint up to its comma; nothing is left of a CHECK."""
    name = None
    if_not_exists = False
    if reader.accept("CONSTRAINT"):
        if_not_exists = reader.accept("IF", "NOT", "EXISTS")
        if not reader.at_any(*_CONSTRAINT_WORDS):
            name = reader.name("a constraint's name")
    if reader.at("CHECK"):
        reader.skip_to_comma()
        return []
    if reader.accept("FOREIGN", "KEY"):
        return [_foreign_key(reader, name)]
    primary = reader.accept("PRIMARY")
    unique = not primary and reader.accept("UNIQUE")
    if not primary and not unique:
        reader.accept_any(*_OTHER_KINDS)
    reader.accept_any(*_KEY_WORDS)
    if_not_exists = reader.accept("IF", "NOT", "EXISTS") or if_not_exists
    if not reader.at_any("(", "USING", "TYPE"):
        name = reader.name("a key's name")
    key = key_after_name(reader, None if primary else name, unique, if_not_exists)
    reader.skip_to_comma()
    return [Key(key.columns, primary=True, if_not_exists=if_not_exists) if primary else key]


def _foreign_key(reader: TokenReader, name: str | None) -> Key:
    """Read ``[IF NOT EXISTS] [name] (column, …) REFERENCES …``."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if not reader.at("("):
        own_name = reader.name("a foreign key's name")
        name = own_name if name is None else name
    columns = key_columns(reader)
    reader.expect("REFERENCES")
    target = references(reader)
    reader.skip_to_comma()
    return Key(columns, name, if_not_exists=if_not_exists, references=target)


def references(reader: TokenReader) -> References:
    """Parse the clause after REFERENCES."""
    table = table_name(reader)
    columns = key_columns(reader) if reader.at("(") else ()
    actions = {"DELETE": NO_CHANGE, "UPDATE": NO_CHANGE}
    while True:
        if reader.accept("MATCH"):
            reader.name("FULL, PARTIAL or SIMPLE")
        elif reader.at("ON") and reader.ahead().upper in actions:
            reader.next()
            event = reader.next().upper
            actions[event] = _key_action(reader)
        else:
            return References(table, columns, actions["DELETE"], actions["UPDATE"])


def _key_action(reader: TokenReader) -> str:
    for words in (("SET", "NULL"), ("SET", "DEFAULT"), ("CASCADE",)):
        if reader.accept(*words):
            return " ".join(words)
    if not reader.accept("NO", "ACTION"):
        reader.expect("RESTRICT")
    return NO_CHANGE


def key_after_name(reader: TokenReader, name: str | None, unique: bool, if_not_exists: bool) -> Key:
    """Read ``[USING kind] (part, …)``."""
    while not reader.at("("):
        if reader.at_end or reader.at_any(",", ")"):
            raise reader.not_understood("a key's columns")
        reader.next()
    key_parts = reader.listed(_key_part)
    return Key(
        columns=tuple(column for column, _, _ in key_parts if column is not None),
        name=name,
        unique=unique,
        whole=not any(is_expression for _, _, is_expression in key_parts),
        if_not_exists=if_not_exists,
        prefixes=tuple(prefix for column, prefix, _ in key_parts if column is not None),
    )


def key_columns(reader: TokenReader) -> tuple[str, ...]:
    """Read ``(column, …)``."""
    return tuple(column for column, _, _ in reader.listed(_key_part) if column is not None)


def period(reader: TokenReader) -> tuple[str, ...]:
    """Read ``FOR name [(start, end)]``: the name and the columns; empty for SYSTEM_TIME."""
    reader.expect("FOR")
    name = reader.name("a period's name")
    columns = key_columns(reader) if reader.at("(") else ()
    return () if name.upper() == "SYSTEM_TIME" else (name, *columns)


def _key_part(reader: TokenReader) -> tuple[str | None, int, bool]:
    """Read ``column [(length)]`` or ``(expression)``: the column, the length or 0, whether it is the latter.

    Of MariaDB's ``period WITHOUT OVERLAPS`` the period is the column.
    """
    column, prefix = None, 0
    if reader.current.kind in {TokenKind.WORD, TokenKind.NAME}:
        column = reader.name("a key's column")
        if reader.accept("("):
            prefix = reader.number()
            reader.expect(")")
    is_expression = reader.at("(")
    if is_expression:
        reader.skip_parentheses()
    reader.accept_any("ASC", "DESC")
    reader.accept("WITHOUT", "OVERLAPS")
    return column, prefix, is_expression


_TRUTH = {"TRUE": "1", "FALSE": "0"}
_MOMENTS = frozenset({"DATE", "TIME", "TIMESTAMP"})
_Constant = tuple[DefaultKind, str]
_UNKNOWN: _Constant = (DefaultKind.EXPRESSION, "")


def default_clause(reader: TokenReader) -> Default:
    """Read the value of DEFAULT or ON UPDATE.

    A value is a literal with its sign, an expression in parentheses, or a function's call, with or without
    parentheses; CASE, NEXT and PREVIOUS VALUE FOR, and literals in braces as ODBC writes them, are MariaDB's.
    """
    start = reader.current.start
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
    return Default(reader.text_from(start), kind, constant)


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
    if written[0] == "_" and not token.text.isascii():
        # Its bytes, as the client sent them, are of the set that is named.
        client = charset(context.client or "")
        name = written[1:].partition("'")[0].strip().lower()
        return _introduced(name, token.text if client is None else client.encode(token.text))
    return DefaultKind.STRING, token.text


def _number(text: str) -> _Constant:
    digits = text[2:]
    if text.startswith("0x"):
        return DefaultKind.BYTES, digits.zfill(len(digits) + len(digits) % 2).lower()
    if text.startswith("0b"):
        return DefaultKind.BYTES, int(digits, 2).to_bytes((len(digits) + 7) // 8, "big").hex()
    return DefaultKind.NUMBER, text
