"""Tokenize MySQL and MariaDB statements: words, names, strings and operators.

Executable comments (``/*!50100 …*/``, ``/*M!100301 …*/``) are expanded if the
server would execute them, else skipped (MySQL manual, "Comments";
MariaDB knowledge base, "Comment Syntax").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, unique
from functools import cache
from itertools import pairwise
from typing import NamedTuple, TypeVar

from binx.event.charset import charset, charset_or_default
from binx.rows.columns.schema import DEFAULT_CONTEXT, StatementContext, folded_name
from binx.rows.columns.types import bytes_literal, quote_text


def identifier(name: str) -> str:
    """Quote a name with backticks."""
    return "`" + name.replace("`", "``") + "`"


@unique
class TokenKind(Enum):
    """What a token is; a quoted name is never a keyword."""

    WORD = "word"
    NAME = "name"
    STRING = "string"
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


class Token(NamedTuple):
    """One token.

    Attributes:
        text: a word, sign or number as written, a name or string without quotes and escapes.
        upper: a word in upper case, a sign as it is, empty for all else: what keywords are compared with.
        start: offset of its first character in the statement.
        end: offset after its last character.
    """

    kind: TokenKind
    text: str
    upper: str
    start: int
    end: int


class NotUnderstoodError(Exception):
    """The statement is not what this parser knows; caught within the package."""


_EXECUTABLE = re.compile(r"/\*(M?)!(\d{5,6})?")
_SKIPPED = re.compile(r"(?:[\s\0]+|--(?=[\s\0]|$)[^\n]*|#[^\n]*)+")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_NUMBER = re.compile(
    r"0x[0-9a-fA-F]+(?![\w$])|0b[01]+(?![\w$])|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w$])"
)
# Letters, digits, _ and $, and whatever is not ASCII.
_WORD = re.compile(r"@{0,2}[^\0-#%-/:-@\[-^`{-\x7f]+")
_NAMES = frozenset({TokenKind.WORD, TokenKind.NAME})
_OF_SEQUENCES = frozenset({"NEXTVAL", "LASTVAL", "SETVAL"})
_ORACLE_SEQUENCES = {"NEXTVAL": "nextval", "CURRVAL": "lastval"}
_SENT_BYTE = re.compile(r"\\x([0-9a-f]{2})")
_PREFIXED_STRING = re.compile(r"(?:_\w+\s*|[nNxXbB])(?=')")
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}

# MariaDB skips MySQL's executable comments of these versions, MySQL skips all of MariaDB's own.
_MARIADB_SKIPS = range(50700, 100000)


def _executes(match: re.Match[str], context: StatementContext) -> bool:
    mariadb_only, digits = match.groups()
    if mariadb_only and not context.mariadb:
        return False
    version = int(digits or 0)
    if context.mariadb and not mariadb_only and version in _MARIADB_SKIPS:
        return False
    return context.version is None or version <= context.version


@cache
def _quoted(quote: str, backslashes: bool) -> re.Pattern[str]:
    plain = rf"[^{quote}\\]*" if backslashes else f"[^{quote}]*"
    escaped = rf"\\.|{quote}{quote}" if backslashes else quote * 2
    return re.compile(rf"{quote}({plain}(?:(?:{escaped}){plain})*){quote}(?!{quote})", re.DOTALL)


def _read_string(sql: str, start: int, backslashes: bool) -> tuple[str, int]:
    """Return the string or quoted name whose quote is at ``start``, and its end."""
    quote = sql[start]
    match = _quoted(quote, backslashes).match(sql, start)
    if match is None:
        raise NotUnderstoodError(f"the quote at character {start} is not closed")
    text = match[1]
    if backslashes and "\\" in text:
        escaped = rf"\\(.)|{quote}{quote}"
        text = re.sub(escaped, lambda pair: _ESCAPES.get(pair[1], pair[1] or quote), text, flags=re.DOTALL)
    else:
        text = text.replace(quote * 2, quote)
    return text, match.end()


def _prefixed(prefix: str, text: str) -> str:
    """Return the text of a string with a prefix: hexadecimal and bit strings become their characters."""
    try:
        if prefix in {"x", "X"}:
            return bytes.fromhex(text).decode("latin-1")
        if prefix in {"b", "B"}:
            number = int(text or "0", 2)
            return number.to_bytes((len(text) + 7) // 8, "big").decode("latin-1")
    except ValueError as error:
        raise NotUnderstoodError(f"{prefix}'{text}' is no literal") from error
    return text


def sent_bytes(written: str, context: StatementContext) -> bytes | None:
    """Return the bytes that the client sent of a string if some are no text; None for all others.

    Args:
        written: the string with its quotes, as in the statement.
    """
    marked = (
        written if context.is_text else _SENT_BYTE.sub(lambda byte: chr(0xDC00 + int(byte[1], 16)), written)
    )
    if marked == written:
        return None
    client = charset_or_default(context.client)
    text = _token(marked, 0, context).text
    return b"".join(
        bytes((ord(character) & 0xFF,)) if "\udc00" <= character <= "\udcff" else client.encode(character)
        for character in text
    )


def tokens(sql: str, context: StatementContext) -> Iterator[Token]:
    """Yield a statement's tokens; the last one is an END, and a ``;`` is a sign like any other.

    Raises:
        NotUnderstoodError: a quote or comment that does not end.
    """
    position = 0
    length = len(sql)
    open_comments = 0
    while position < length:
        if match := _SKIPPED.match(sql, position):
            position = match.end()
        elif match := _EXECUTABLE.match(sql, position):
            executes = _executes(match, context)
            open_comments += executes
            position = match.end() if executes else _comment_end(sql, match.end(), nests=True)
        elif sql.startswith("/*", position):
            position = _comment_end(sql, position + 2, nests=False)
        elif open_comments and sql.startswith("*/", position):
            open_comments -= 1
            position += 2
        else:
            token = _token(sql, position, context)
            yield token
            position = token.end
    yield Token(TokenKind.END, "", "", length, length)


def _token(sql: str, begin: int, context: StatementContext) -> Token:
    match = _PREFIXED_STRING.match(sql, begin)
    prefix, position = (match.group(), match.end()) if match else ("", begin)
    character = sql[position]
    if character == "'" or (character == '"' and not context.ansi_quotes):
        text, end = _read_string(sql, position, backslashes=not context.no_backslash_escapes)
        return Token(TokenKind.STRING, _prefixed(prefix, text), "", begin, end)
    if character in {"`", '"'}:
        text, end = _read_string(sql, position, backslashes=False)
        return Token(TokenKind.NAME, text, "", begin, end)
    if match := _NUMBER.match(sql, begin):
        return Token(TokenKind.NUMBER, match.group(), "", begin, match.end())
    if match := _WORD.match(sql, begin):
        return Token(TokenKind.WORD, match.group(), match.group().upper(), begin, match.end())
    return Token(TokenKind.SIGN, character, character, begin, begin + 1)


def _comment_end(sql: str, position: int, nests: bool) -> int:
    """Return the offset after the comment around ``position``; unexecuted ones may hold plain comments."""
    depth = 1
    for match in _COMMENT_EDGE.finditer(sql, position):
        if match.group() == "*/":
            depth -= 1
        elif nests:
            depth += 1
        if depth == 0:
            return match.end()
    raise NotUnderstoodError(f"the comment at character {position} is not closed")


def names_in(sql: str) -> Iterator[str]:
    """Yield the words and names of an expression in normal text, but no functions, as names compare."""
    for token in _columns_in(sql):
        yield folded_name(token.text)


def with_names(sql: str, new_names: Mapping[str, str]) -> str:
    """Return an expression in normal text with columns renamed.

    Args:
        new_names: by the former name, as names compare.
    """
    for token in reversed(list(_columns_in(sql) if sql and new_names else ())):
        new = new_names.get(folded_name(token.text))
        if new is not None:
            sql = sql[: token.start] + identifier(new) + sql[token.end :]
    return sql


def _columns_in(sql: str) -> Iterator[Token]:
    """Yield the tokens that may be columns, which normal text does not qualify."""
    before = ""
    for token, following in pairwise(tokens(sql, DEFAULT_CONTEXT)):
        if token.kind in _NAMES and following.upper not in {"(", "."} and before != ".":
            yield token
        before = token.upper


def sequences_in(sql: str) -> Iterator[tuple[str, Token]]:
    """Yield the sequences in an expression in normal text: the database, or an empty text, and the name."""
    listed = list(tokens(sql, DEFAULT_CONTEXT))
    for place, token in enumerate(listed):
        if _before_sequence(listed, place) and token.kind in _NAMES:
            is_qualified = listed[place + 1].upper == "."
            yield (token.text, listed[place + 2]) if is_qualified else ("", token)


def with_sequences_of(sql: str, db: str) -> str:
    """Return an expression in normal text with the database of the sequences that have none."""
    unqualified = [token for named, token in sequences_in(sql) if not named]
    for token in reversed(unqualified):
        sql = f"{sql[: token.start]}{identifier(db)}.{sql[token.start :]}"
    return sql


def _before_sequence(listed: Sequence[Token], place: int) -> bool:
    """Whether the tokens before this place name a function of sequences."""
    before = [token.upper for token in listed[max(place - 2, 0) : place]]
    return before == ["VALUE", "FOR"] or (before[1:] == ["("] and before[0] in _OF_SEQUENCES)


_Item = TypeVar("_Item")


class TokenReader:
    """A statement's tokens, with the index of the next one.

    Raises NotUnderstoodError if an expected token is missing.
    """

    def __init__(self, sql: str, context: StatementContext) -> None:
        self.sql = sql
        self.context = context
        self._tokens = list(tokens(sql, context))
        self.index = 0

    @property
    def current(self) -> Token:
        """The next token."""
        return self._tokens[self.index]

    def ahead(self, count: int = 1) -> Token:
        """Return the token ``count`` after the current one, or the END."""
        return self._tokens[min(self.index + count, len(self._tokens) - 1)]

    def text_from(self, start: int) -> str:
        """Return the statement's text from an offset to the end of the last token read."""
        return self.sql[start : self._tokens[max(self.index - 1, 0)].end]

    def normal_from(self, index: int, *, expression: bool = False) -> str:
        """Return the tokens from an index to the last one read as text that any session reads alike.

        Names are in backticks, strings in single quotes with backslashes as escapes, and ``||`` is written OR
        unless it concatenates: the text is read with sql_mode=PIPES_AS_CONCAT.

        Args:
            expression: columns lose what qualifies them, as servers write them, and strings name the
                session's character set if that is not utf8mb4.
        """
        rewritten = self._rewritten(index) if expression else {}
        parts: list[str] = []
        end = self._tokens[index].start
        for place, token in enumerate(self._tokens[index : self.index], index):
            is_spaced = token.start > end
            if token.upper == "(" and self.context.ignore_space and place > index:
                is_spaced = is_spaced and self._tokens[place - 1].kind is not TokenKind.WORD
            parts.append(" " if is_spaced else "")
            text = rewritten.get(place)
            parts.append(self._normal(token, expression) if text is None else text)
            end = token.end
        text = "".join(parts)
        return text if self.context.pipes_as_concat else text.replace("\0\0", " OR ").replace("\0", "|")

    def _rewritten(self, first: int) -> dict[int, str]:
        """Return what an expression's normal text has in place of tokens from an index on."""
        texts: dict[int, str] = {}
        place = first
        while place < self.index:
            end = place
            while (
                self._tokens[end].kind in _NAMES
                and self._tokens[end + 1].upper == "."
                and end + 2 < self.index
            ):
                end += 2
            is_called = self._tokens[end + 1].upper == "(" or _before_sequence(self._tokens, place)
            sequence = _ORACLE_SEQUENCES.get(self._tokens[end].upper) if self.context.oracle else None
            if end > place and sequence and not is_called:
                texts[place] = f"{sequence}({self._normal(self._tokens[place], expression=True)}"
                texts |= {end - 1: "", end: ")"}
            elif end > place and not is_called:
                texts |= dict.fromkeys(range(place, end), "")
            elif self._tokens[place].upper == "." and self._tokens[place + 1].kind in _NAMES:
                texts[place] = ""
            place = end + 1
        return texts

    def _normal(self, token: Token, expression: bool) -> str:
        if token.kind is TokenKind.NAME:
            return identifier(token.text)
        if token.kind is not TokenKind.STRING:
            # Marked, as a pair of them means OR.
            is_pipe = token.upper == "|" and not self.context.pipes_as_concat
            return "\0" if is_pipe else self.sql[token.start : token.end]
        written = self.sql[token.start : token.end]
        if written[0] in "xXbB":
            return written
        prefix = written.partition("'")[0].strip() if written[0] in "_nN" else ""
        literals = self.context.literals
        sent = sent_bytes(written, self.context)
        if sent is not None:
            named = "" if literals in {None, "binary"} else f"_{self.context.client}"
            return f"{prefix or named} {bytes_literal(sent.hex())}".lstrip()
        if expression and not prefix and literals not in (None, "utf8mb4", "binary"):
            prefix = f"_{literals}"
        if token.text.isascii() or not prefix.startswith("_"):
            return prefix + quote_text(token.text)
        # The bytes as the client sent them, or of the text in the session's character set.
        known = charset((self.context.client if written[0] == "_" else literals) or "utf8mb4")
        encoded = token.text.encode() if known is None else known.encode(token.text)
        return f"{prefix} {bytes_literal(encoded.hex())}"

    def next(self) -> Token:
        """Read a token; the END is read again and again."""
        token = self.current
        if token.kind is not TokenKind.END:
            self.index += 1
        return token

    @property
    def at_end(self) -> bool:
        """Whether the statement is over: at the END, or at a ``;``."""
        return self.current.kind is TokenKind.END or self.current.upper == ";"

    def at(self, *words: str) -> bool:
        """Whether these keywords or signs follow, in this order."""
        return all(self.ahead(count).upper == word for count, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        """Whether any of these keywords or operators follows."""
        return self.current.upper in words

    def accept(self, *words: str) -> bool:
        """Read these keywords if they follow, all of them or none."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Read any of these keywords if it follows."""
        return self.next().upper if self.at_any(*words) else None

    def expect(self, *words: str) -> None:
        """Read these keywords."""
        if not self.accept(*words):
            raise self.not_understood(" ".join(words))

    def not_understood(self, expected: str) -> NotUnderstoodError:
        """Return the error that says what was expected at the current token."""
        token = self.current
        found = "the end" if token.kind is TokenKind.END else repr(self.sql[token.start : token.end][:64])
        return NotUnderstoodError(f"expected {expected}, found {found} at character {token.start}")

    def name(self, what: str = "a name") -> str:
        """Read a name, quoted or not."""
        token = self.current
        if token.kind in {TokenKind.WORD, TokenKind.NAME} and token.text:
            self.index += 1
            return token.text
        raise self.not_understood(what)

    def number(self) -> int:
        """Read a whole number."""
        token = self.current
        if token.kind is TokenKind.NUMBER and token.text.isdecimal() and len(token.text) <= 20:
            self.index += 1
            return int(token.text)
        raise self.not_understood("a whole number")

    def literal(self) -> str | bytes:
        """Read a string; of one that is no text, and of a hexadecimal or bit literal, the bytes."""
        token = self.current
        if token.kind is TokenKind.STRING:
            text = self.next().text
            sent = sent_bytes(self.sql[token.start : token.end], self.context)
            if sent is not None:
                return sent
        elif token.kind is TokenKind.NUMBER and token.text[:2] in {"0x", "0b"}:
            digits = self.next().text[2:]
            text = _prefixed(token.text[1], digits.zfill(len(digits) + len(digits) % 2))
        else:
            raise self.not_understood("a string")
        return text.encode("latin-1") if self.sql[token.start] in "0xXbB" else text

    def separated(self, read: Callable[[TokenReader], _Item]) -> list[_Item]:
        """Read ``item, item …``."""
        items = [read(self)]
        while self.accept(","):
            items.append(read(self))
        return items

    def listed(self, read: Callable[[TokenReader], _Item]) -> list[_Item]:
        """Read ``(item, item …)``."""
        self.expect("(")
        items = self.separated(read)
        self.expect(")")
        return items

    def skip_parentheses(self) -> list[Token]:
        """Read ``( … )`` with all that is nested in it; return its tokens."""
        begin = self.index
        self.expect("(")
        depth = 1
        while depth:
            token = self.next()
            if token.kind is TokenKind.END:
                raise self.not_understood(")")
            depth += (token.upper == "(") - (token.upper == ")")
        return self._tokens[begin : self.index]

    def skip_to_comma(self) -> None:
        """Read up to the ``,`` or ``)`` that ends the current item of a list, or to the end."""
        while not self.at_end and not self.at_any(",", ")"):
            if self.at("("):
                self.skip_parentheses()
            else:
                self.next()
