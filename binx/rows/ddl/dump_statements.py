"""Split an SQL dump into statements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from binx.rows.ddl.parse import lead_end

_DELIMITER_LINE = re.compile(r"^[ \t]*DELIMITER[ \t]+(\S+)[^\n]*$", re.IGNORECASE | re.MULTILINE)
_LINE_COMMENT = re.compile(r"(?:--(?=\s|$)|#)[^\n]*")
_QUOTED = {
    "'": re.compile(r"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'(?!')", re.DOTALL),
    '"': re.compile(r'"[^"\\]*(?:(?:\\.|"")[^"\\]*)*"(?!")', re.DOTALL),
    "`": re.compile(r"`[^`]*`"),
}
_USE = re.compile(r"use\s+(?:`((?:[^`]|``)+)`|([^\s;`]+))\s*;?\s*$", re.IGNORECASE)


class StatementEnds:
    """Finds the ends of a dump's statements, in order.

    Handles strings, quoted names, comments, and the client's DELIMITER command.
    """

    def __init__(self) -> None:
        self._delimiter = ";"
        self._edge = _edge(";")

    def find(self, text: str, start: int) -> tuple[int, int] | None:
        """Return the end of the statement at ``start``, and the start of the next one.

        A DELIMITER command is an empty statement. None if the text ends first: an unclosed quote extends to
        the end of the text.
        """
        position = start
        executable = False
        while match := self._edge.search(text, position):
            symbol = match.group()
            position = match.end()
            if symbol in _QUOTED:
                quoted = _QUOTED[symbol].match(text, match.start())
                if quoted is None:
                    return None
                position = quoted.end()
            elif symbol in {"/*!", "/*M!"}:
                executable = True
            elif symbol == "*/":
                executable = False
            elif symbol == "/*":
                closed = text.find("*/", position)
                position = len(text) if closed < 0 else closed + 2
            elif symbol in {"#", "--"}:
                comment = _LINE_COMMENT.match(text, match.start())
                position = comment.end() if comment else position
            elif symbol == self._delimiter:
                if not executable:
                    return match.start(), position
            else:
                line = _DELIMITER_LINE.match(text, match.start())
                if line is not None:
                    self._delimiter = line.group(1)
                    self._edge = _edge(self._delimiter)
                    return start, line.end()
        return None


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a dump, without their delimiters."""
    ends = StatementEnds()
    start = 0
    while (bounds := ends.find(text, start)) is not None:
        end, following = bounds
        if end > start:
            yield text[start:end]
        start = following
    if text[start:].strip():
        yield text[start:]


def _edge(delimiter: str) -> re.Pattern[str]:
    """Return a pattern of all that may begin or end something, given the current delimiter."""
    return re.compile(
        rf"['\"`#]|--|/\*M?!|/\*|\*/|{re.escape(delimiter)}|^[ \t]*DELIMITER\b", re.IGNORECASE | re.MULTILINE
    )


def used_database(statement: str) -> str | None:
    """Return the database that a USE statement names; None for any other statement."""
    match = _USE.match(statement, lead_end(statement))
    if match is None:
        return None
    quoted, plain = match.groups()
    return str(plain) if quoted is None else str(quoted).replace("``", "`")
