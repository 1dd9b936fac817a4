"""DEFAULT and ON UPDATE clauses: their text, and the constant that they are if they are one."""

from __future__ import annotations

from binx.event.charset import charset
from binx.rows.columns.schema import Default, DefaultKind, StatementContext
from binx.rows.ddl.parts import table_name
from binx.rows.ddl.tokens import Token, TokenKind, TokenReader

_TRUTH = {"TRUE": "1", "FALSE": "0"}
_MOMENTS = frozenset({"DATE", "TIME", "TIMESTAMP"})


def default_clause(reader: TokenReader) -> Default:
    """Read the value of DEFAULT or ON UPDATE.

    A value is a literal with its sign, an expression in parentheses, or a function's call, with or
    without parentheses; NEXT VALUE FOR is MariaDB's.

    Raises:
        NotUnderstoodError: no value stands there.
    """
    start = reader.current.start
    kind, constant = DefaultKind.EXPRESSION, ""
    if reader.at("("):
        reader.skip_parentheses()
    elif reader.accept("NEXT", "VALUE", "FOR"):
        table_name(reader)
    else:
        sign = reader.accept_any("-", "+") or ""
        token = reader.next()
        if token.kind in {TokenKind.SIGN, TokenKind.END}:
            raise reader.not_understood("a value")
        if token.upper in _MOMENTS and reader.current.kind is TokenKind.STRING:
            kind, constant = DefaultKind.STRING, reader.next().text
        elif introduced := _introducer(reader, token):
            kind, constant = _introduced(introduced, reader.literal())
        elif not _is_called(reader, token):
            kind, constant = _constant(token, reader.text_from(token.start), reader.context)
        if kind is DefaultKind.NUMBER:
            constant = f"-{constant}" if sign == "-" else constant
        elif sign:
            kind, constant = DefaultKind.EXPRESSION, ""
    return Default(reader.text_from(start), kind, constant)


def _is_called(reader: TokenReader, token: Token) -> bool:
    """Read what belongs to the name of a function: its qualification and its arguments."""
    if token.kind not in {TokenKind.WORD, TokenKind.NAME}:
        return False
    called = False
    while reader.accept("."):
        reader.name()
        called = True
    if reader.at("("):
        reader.skip_parentheses()
        called = True
    return called


def _introducer(reader: TokenReader, token: Token) -> str | None:
    """The character set that a word names which stands before a hexadecimal or bit literal."""
    following = reader.current
    is_literal = following.kind is TokenKind.STRING or following.text[:2] in {"0x", "0b"}
    named = token.kind is TokenKind.WORD and token.text.startswith("_") and is_literal
    return token.text[1:].lower() if named and charset(token.text[1:].lower()) is not None else None


def _introduced(name: str, literal: str | bytes) -> tuple[DefaultKind, str]:
    """A literal in a character set; what becomes of bytes that are no text there only the server knows."""
    found = charset(name)
    if found is None or isinstance(literal, str):
        return DefaultKind.EXPRESSION, ""
    if found.is_binary:
        return DefaultKind.BYTES, literal.hex()
    text = found.decode_strictly(literal)
    return (DefaultKind.EXPRESSION, "") if text is None else (DefaultKind.STRING, text)


def _constant(token: Token, written: str, context: StatementContext) -> tuple[DefaultKind, str]:
    """What a literal is: its kind, and its value as :class:`~binx.rows.columns.schema.Default` has it."""
    if token.kind is TokenKind.WORD and token.upper == "NULL":
        return DefaultKind.NULL, ""
    if token.kind is TokenKind.WORD and token.upper in _TRUTH:
        return DefaultKind.NUMBER, _TRUTH[token.upper]
    if token.kind is TokenKind.NUMBER:
        return _number(token.text)
    if token.kind is not TokenKind.STRING:
        return DefaultKind.EXPRESSION, ""
    if written[0] in "xXbB":
        return DefaultKind.BYTES, token.text.encode("latin-1").hex()
    if written[0] == "_" and not token.text.isascii():
        # Its bytes, as the client sent them, are of the set that is named.
        client = charset(context.client or "")
        name = written[1:].partition("'")[0].strip().lower()
        return _introduced(name, token.text if client is None else client.encode(token.text))
    return DefaultKind.STRING, token.text


def _number(text: str) -> tuple[DefaultKind, str]:
    digits = text[2:]
    if text.startswith("0x"):
        return DefaultKind.BYTES, digits.zfill(len(digits) + len(digits) % 2).lower()
    if text.startswith("0b"):
        return DefaultKind.BYTES, int(digits, 2).to_bytes((len(digits) + 7) // 8, "big").hex()
    return DefaultKind.NUMBER, text
