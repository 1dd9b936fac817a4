"""The words of a statement, as the loader's own look at DDL reads them: one after another, from the start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .manifests import TableName

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?![!M]).*?\*/)
    | (?P<hint>/\*M?!\d*|\*/)
    | `(?P<back>(?:[^`]|``)*)`
    | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<word>[\w$]+)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Token:
    """A word or mark of a statement; ``quoted`` names are never keywords."""

    text: str
    quoted: bool = False

    @property
    def keyword(self) -> str:
        return "" if self.quoted else self.text.upper()


@lru_cache(maxsize=1)
def _tokens(sql: str) -> tuple[_Token, ...]:
    """The words and marks of a statement, kept as each is asked several questions one after another."""
    return tuple(_scan(sql))


def _scan(sql: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(sql):
        kind = found.lastgroup
        if kind == "back":
            yield _Token(found["back"].replace("``", "`"), quoted=True)
        elif kind == "text":
            text = found["text"]
            yield _Token(text[1:-1].replace(text[0] * 2, text[0]), quoted=True)
        elif kind in ("word", "mark"):
            yield _Token(found[0])


class Reader:
    """A statement that is read from its start, word by word."""

    def __init__(self, sql: str, db: str) -> None:
        self._tokens = _tokens(sql)
        self._db = db
        self._next = 0

    def accept(self, *words: str) -> bool:
        """Step over these words if they stand here."""
        here = self._tokens[self._next : self._next + len(words)]
        if [token.keyword for token in here] != list(words):
            return False
        self._next += len(words)
        return True

    def name(self) -> str:
        """Step over an identifier."""
        token = self._tokens[self._next] if self._next < len(self._tokens) else _Token("")
        self._next += 1
        return token.text

    def table(self) -> TableName:
        """Step over a table's name, with its database or in the statement's own."""
        first = self.name()
        return TableName(first, self.name()) if self.accept(".") else TableName(self._db, first)

    def tables(self) -> list[TableName]:
        """Step over names of tables, separated by commas."""
        found = [self.table()]
        while self.accept(","):
            found.append(self.table())
        return found

    def altered(self) -> TableName | None:
        """Step over ``ALTER TABLE`` and the table's name; None where the statement is another."""
        if not self.accept("ALTER"):
            return None
        self.accept("ONLINE")
        self.accept("IGNORE")
        if not self.accept("TABLE"):
            return None
        self.accept("IF", "EXISTS")
        table = self.table()
        self.skip_waiting()
        return table

    def created(self) -> TableName | None:
        """Step over ``CREATE TABLE`` and the table's name; None where the statement is another."""
        if not self.accept("CREATE"):
            return None
        self.accept("OR", "REPLACE")
        if not self.accept("TABLE"):
            return None
        self.accept("IF", "NOT", "EXISTS")
        return self.table()

    def skip_waiting(self) -> None:
        """Step over how long MariaDB is to wait for a lock."""
        if self.accept("WAIT"):
            self.name()
        else:
            self.accept("NOWAIT")

    def type(self) -> str:
        """Step over a column's type: its words up to the first that can be no part of it."""
        words: list[str] = [self.name()]
        if self.accept("("):
            words.append("(")
            while self._next < len(self._tokens) and not self.accept(")"):
                words.append(self.name())
            words.append(")")
        while any(self.accept(word) for word in ("SIGNED", "UNSIGNED", "ZEROFILL")):
            words.append(f" {self._tokens[self._next - 1].text}")
        return "".join(words)

    def skip_behind(self, word: str) -> bool:
        """Step behind the next such word; False at the end."""
        while self._next < len(self._tokens):
            self._next += 1
            if self._tokens[self._next - 1].keyword == word:
                return True
        return False

    def skip_to_clause(self) -> bool:
        """Step behind the next comma outside parentheses; False at the end."""
        depth = 0
        while self._next < len(self._tokens):
            mark = self._tokens[self._next].keyword
            self._next += 1
            depth += (mark == "(") - (mark == ")")
            if mark == "," and depth == 0:
                return True
        return False
