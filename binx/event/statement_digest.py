"""The normal form of a statement: what statements that differ in values alone have in common.

For the statements that change rows, the text is what MySQL 9.7 gives as ``STATEMENT_DIGEST_TEXT()``: literals
are ``?``, lists of them one item, names are quoted, keywords in upper case under one of their names. Servers
hash the numbers of their own grammar's tokens, which change with each version; binx hashes the text.

Sources: MySQL manual, "Performance Schema Statement Digests and Sampling"; ``digest_add_token`` in
sql/sql_digest.cc; INFORMATION_SCHEMA.KEYWORDS of MySQL 9.7.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from binx.event.keywords import FUNCTIONS, KEYWORDS, SYNONYMS

_COMMENT = r"--(?=[\s\0]|$)[^\n]* | \#[^\n]* | /\*(?!M?!).*?(?:\*/|$)"
_STRING = r"""[nN]?'(?:[^'\\]|\\.|'')*(?:'|$) | "(?:[^"\\]|\\.|"")*(?:"|$)"""
_NUMBER = r"""[xXbB]'[^']*(?:'|$)
    | (?<![\w$`.])(?:0x[0-9a-fA-F]+ | 0b[01]+ | (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w$])"""
_QUOTED = r"`(?P<name> (?:[^`]|``)* )(?:`|$)"
_TOKEN = re.compile(
    rf"""
    (?P<skipped> [\s\0]+ | {_COMMENT} | /\*M?!\d* | \*/ )
  | (?P<string> {_STRING} )
  | (?P<number> {_NUMBER} )
  | (?P<introducer> _[a-z]\w*(?=\s*(?:'|x'|X')) )
  | {_QUOTED}
  | (?P<word> [\w$\u0080-\U0010ffff]+ )
  | (?P<sign> ->>? | <=> | <> | [!<>:]= | << | >> | \|\| | && | @@ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_VALUE_OR_NAME = re.compile(
    rf"(?P<comment> {_COMMENT} ) | (?P<string> {_STRING} ) | (?P<number> {_NUMBER} ) | {_QUOTED}",
    re.VERBOSE | re.DOTALL,
)
_SAME_VALUES = {"comment": " ", "string": "''", "number": "0"}
_VALUE, _VALUES = "?", "?, ..."
_ROW, _ROWS = "(?)", "(?) /* , ... */"
_LONG_ROW, _LONG_ROWS = "(...)", "(...) /* , ... */"
_LISTS = {_ROW: _ROWS, _LONG_ROW: _LONG_ROWS}
_BEFORE_NAMES = (
    "( , = <=> != < > <= >= + - * / % ^ | & << >> && || AND OR XOR NOT BETWEEN LIKE RLIKE DIV MOD INTERVAL"
    " SELECT CASE WHEN THEN ELSE DEFAULT RETURN IF ELSEIF WHILE UNTIL AT EVERY STARTS ENDS"
)
_BEFORE_EXPRESSIONS = frozenset(_BEFORE_NAMES.split())
"""What a sign of a number stands behind: elsewhere servers take it for an operator."""
_GLUED = ("@", "@@")
"""Signs with no space behind them."""
_CACHED = 10_000
_CACHED_CHARACTERS = 2_000
"""What is remembered is bounded by both."""


def digest_text(sql: str) -> str:
    """A statement in normal form.

    A text in double quotes counts as a string, as it does without the mode ANSI_QUOTES.
    """
    # Most statements differ in values alone: the form of each is made once.
    plain = _VALUE_OR_NAME.sub(_without_value, sql)
    return (_normal if len(plain) <= _CACHED_CHARACTERS else _normal.__wrapped__)(plain)


def _without_value(match: re.Match[str]) -> str:
    return _SAME_VALUES.get(match.lastgroup or "", match[0])


@lru_cache(_CACHED)
def _normal(sql: str) -> str:
    done: list[str] = []
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup
        if kind == "skipped":
            continue
        if kind == "number":
            while len(done) > 1 and done[-1] in ("-", "+") and done[-2] in _BEFORE_EXPRESSIONS:
                done.pop()
        if kind in ("number", "string"):
            _add_value(done)
        elif kind == "name":
            done.append(f"`{match['name'].replace('``', '`')}`")
        elif kind == "introducer":
            done.append("(_charset)")
        elif kind == "word":
            _add_word(done, match[0], sql[match.end() : match.end() + 1])
        elif match[0] == ")":
            _close(done)
        else:
            done.append("!=" if match[0] == "<>" else match[0])
    while done and done[-1] == ";":
        done.pop()
    return "".join(token if token in _GLUED else f"{token} " for token in done).rstrip(" ")


def digest_of(text: str) -> str:
    """SHA-256 of a statement's normal form, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _add_word(done: list[str], word: str, following: str) -> None:
    """A keyword, or a name: what stands beside a dot is one, and so are functions without parenthesis."""
    upper = word.upper()
    before = done[-1] if done else ""
    if before == "@":
        _add_value(done)
    elif before == "." or (following == "." and before != "@@"):
        done.append(f"`{word}`")
    elif upper == "NULL" and before not in ("IS", "NOT"):
        _add_value(done)
    elif upper in KEYWORDS or (upper in FUNCTIONS and following == "("):
        done.append(SYNONYMS.get(upper, upper))
    else:
        done.append(f"`{word}`")


def _add_value(done: list[str]) -> None:
    """A literal, with the list that it goes on."""
    if len(done) > 1 and done[-1] == "," and done[-2] in (_VALUE, _VALUES):
        done[-2:] = [_VALUES]
    else:
        done.append(_VALUE)


def _close(done: list[str]) -> None:
    """A parenthesis: with nothing but values within, it is a row, and rows one behind another are a list."""
    if len(done) < 2 or done[-2] != "(" or done[-1] not in (_VALUE, _VALUES):
        done.append(")")
        return
    row = _ROW if done[-1] == _VALUE else _LONG_ROW
    del done[-2:]
    if len(done) > 1 and done[-1] == "," and done[-2] in (row, _LISTS[row]):
        del done[-2:]
        row = _LISTS[row]
    elif done and done[-1] == "IN":
        row = _LONG_ROW
    done.append(row)
