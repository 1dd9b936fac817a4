"""A dump of SQL: its statements, and as of when it is, which the user says, or the dump's own comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, unique
from typing import NamedTuple

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.log.backup_position import position_in_dump
from binx.log.selection.moments import parse_time

_DELIMITER_LINE = re.compile(r"^[ \t]*DELIMITER[ \t]+(\S+)[^\n]*$", re.IGNORECASE | re.MULTILINE)
_LINE_COMMENT = re.compile(r"(?:--(?=\s|$)|#)[^\n]*")
_QUOTED = {
    "'": re.compile(r"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'(?!')", re.DOTALL),
    '"': re.compile(r'"[^"\\]*(?:(?:\\.|"")[^"\\]*)*"(?!")', re.DOTALL),
    "`": re.compile(r"`[^`]*`"),
}
_USE = re.compile(r"\s*use\s+(?:`((?:[^`]|``)+)`|([^\s;`]+))\s*;?\s*$", re.IGNORECASE)


class StatementEnds:
    """Finds where the statements of a dump end, one after the other.

    Knows strings, quoted names, comments, and the client's DELIMITER command.
    """

    def __init__(self) -> None:
        self._delimiter = ";"
        self._edge = _edge(";")

    def behind(self, text: str, start: int) -> tuple[int, int] | None:
        """Where the statement that begins at ``start`` ends, and where the next one begins.

        A DELIMITER command is an empty statement. None where the text ends before: what follows a quote that
        does not end is one statement.
        """
        position = start
        executable = False
        while match := self._edge.search(text, position):
            found = match.group()
            position = match.end()
            if found in _QUOTED:
                quoted = _QUOTED[found].match(text, match.start())
                if quoted is None:
                    return None
                position = quoted.end()
            elif found in {"/*!", "/*M!"}:
                executable = True
            elif found == "*/":
                executable = False
            elif found == "/*":
                closed = text.find("*/", position)
                position = len(text) if closed < 0 else closed + 2
            elif found in {"#", "--"}:
                comment = _LINE_COMMENT.match(text, match.start())
                position = comment.end() if comment else position
            elif found == self._delimiter:
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
    """The statements of a dump, without their delimiters."""
    ends = StatementEnds()
    start = 0
    while (found := ends.behind(text, start)) is not None:
        end, following = found
        if end > start:
            yield text[start:end]
        start = following
    if text[start:].strip():
        yield text[start:]


def _edge(delimiter: str) -> re.Pattern[str]:
    """All that may begin or end something, given the delimiter of the moment."""
    return re.compile(
        rf"['\"`#]|--|/\*M?!|/\*|\*/|{re.escape(delimiter)}|^[ \t]*DELIMITER\b", re.IGNORECASE | re.MULTILINE
    )


def used_database(statement: str) -> str | None:
    """The database that a USE statement names; None for any other statement."""
    match = _USE.match(statement)
    if match is None:
        return None
    quoted, plain = match.groups()
    return str(plain) if quoted is None else str(quoted).replace("``", "`")


_HEAD = 65_536
"""Characters of a dump that may say as of when it is: they stand before its first table."""


@unique
class MomentKind(Enum):
    """How a moment is told."""

    START = "start"
    END = "end"
    POSITION = "position"
    GTIDS = "gtids"
    TIME = "time"
    UNKNOWN = "unknown"


class Moment(NamedTuple):
    """A moment in a server's logs.

    Attributes:
        text: the same in words, as in "as of …".
        file: POSITION: the log's name.
        position: POSITION: the offset in it.
        gtids: what was committed by then, where it is known; of a GTID alone, it and those before it of the
            same source.
        time: TIME: µs since 1970.
    """

    kind: MomentKind
    text: str
    file: str = ""
    position: int = 0
    gtids: GtidSet = GtidSet()
    time: int = 0


START = Moment(MomentKind.START, "the start of the logs")
END = Moment(MomentKind.END, "the end of the logs")
UNKNOWN = Moment(MomentKind.UNKNOWN, "an unknown moment")


def given_moment(text: str) -> Moment:
    """What stands behind the ``@`` of ``--schema FILE@…``.

    Raises:
        UsageError: it is neither ``start`` nor ``end``, and no GTID and no time.
    """
    word = text.strip().lower()
    if word in {"start", "end"}:
        return START if word == "start" else END
    for read in (_of_time, _of_gtids):
        try:
            return read(text)
        except UsageError:
            continue
    raise UsageError(
        f"expected start, end, a GTID or a time behind the @ of a schema file, found {text!r}; such as"
        " schema.sql@start, schema.sql@0-10-1234 or schema.sql@2026-11-21T09:30:00Z"
    )


def _of_gtids(text: str) -> Moment:
    found = GtidSet.parse(text)
    if not found:
        raise UsageError("no GTID")
    return Moment(MomentKind.GTIDS, f"GTID {text}", gtids=_up_to(found))


def _of_time(text: str) -> Moment:
    return Moment(MomentKind.TIME, text, time=parse_time(text))


def own_moment(dump: str) -> Moment:
    """What mysqldump or mariadb-dump notes with ``--source-data`` or ``--master-data``, or of GTIDs."""
    try:
        noted = position_in_dump(dump[:_HEAD])
    except UsageError:
        return UNKNOWN
    gtids = noted.gtids
    if any(isinstance(source, DomainSource) for source in gtids.sources):
        gtids = _up_to(gtids)
    if noted.file:
        return Moment(MomentKind.POSITION, f"{noted.file}:{noted.offset}", noted.file, noted.offset, gtids)
    return Moment(MomentKind.GTIDS, f"GTID {gtids}", gtids=gtids) if gtids else UNKNOWN


def _up_to(gtids: GtidSet) -> GtidSet:
    """What was committed where a GTID alone is the last of its source."""
    return GtidSet([(source, 1 if first == last else first, last) for source, first, last in gtids])
