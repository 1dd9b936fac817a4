"""Format transactions as lines, many at a time: JSON objects, or tab-separated fields."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from datetime import UTC, tzinfo
from itertools import pairwise

from binx.errors import DamagedError, UnsupportedError, UsageError
from binx.kernels.render.transactions import TextColumn, TransactionTexts
from binx.log.identifiers import anonymous_id
from binx.log.selection.times import zone_offset
from binx.log.transaction_events import first_statement
from binx.slices.search import Selected
from binx.source.log_names import printable
from binx.source.wording import did_you_mean, encoded
from binx.stats.text import safe_text

COLUMNS = tuple(column.name.removeprefix("COLUMN_").lower() for column in TextColumn)[
    : TextColumn.COLUMN_DURATION + 1
]
"""Column names, as in JSON; ``duration`` is not in the data set."""

ALIASES = {
    "time": "commit_timestamp",
    "size": "bytes",
    "server": "server_id",
    "thread": "thread_id",
    "position": "start",
}
"""Short names accepted in options."""

JSON_COLUMNS = COLUMNS[: TextColumn.COLUMN_DURATION]
"""Default fields of a JSON object."""

PLAIN_COLUMNS = ("commit_timestamp", "gtid", "kind", "bytes", "rows", "file", "start", "tables")
"""Default fields of a plain line."""

_STATEMENT = 500
"""Maximum number of characters shown of a statement."""


def parse_columns(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of columns."""
    names = [ALIASES.get(name.strip().lower(), name.strip().lower()) for name in text.split(",")]
    for name in names:
        if name not in COLUMNS:
            raise UsageError(
                f"expected columns such as {', '.join(COLUMNS)}, found {name!r}{did_you_mean(name, COLUMNS)}"
            )
    if len(set(names)) < len(names):
        raise UsageError(f"expected each column once, found {text!r}")
    return tuple(names)


class LineWriter:
    """Formats transactions as lines.

    Attributes:
        unread: statements that could not be parsed, in sentences.
    """

    def __init__(
        self, columns: Sequence[str] | None = None, *, as_json: bool = False, zone: tzinfo = UTC
    ) -> None:
        chosen = columns or (JSON_COLUMNS if as_json else PLAIN_COLUMNS)
        self.unread: list[str] = []
        self._json = as_json
        self._texts = TransactionTexts(
            [(_lead(index, name, as_json), COLUMNS.index(name), b"") for index, name in enumerate(chosen)],
            b"}\n" if as_json else b"\n",
            as_json,
            b"null" if as_json else b"-",
            None if zone is UTC else zone_offset(zone),
        )
        self._last: Selected | None = None

    def lines(self, part: Selected) -> bytes:
        """Return the lines of the marked transactions."""
        return self._render(part, part.table.marked(part.mask))[0]

    def each(self, part: Selected, indexes: Sequence[int]) -> list[bytes]:
        """Return a line for each of some transactions, whose indexes ascend."""
        text, ends = self._render(part, array("q", indexes))
        return [text[start:end] for start, end in pairwise([0, *memoryview(ends).cast("q")])]

    def _render(self, part: Selected, taken: array[int]) -> tuple[bytes, bytes]:
        """Return lines, and their end offsets: 8 bytes each, native byte order."""
        if self._last is None or self._last.scan is not part.scan:
            self._begin_file(part)
        self._last = part
        first_seqno = part.first_seqno if part.is_numbered else -1
        return self._texts.render(part.table, taken, first_seqno)

    def _begin_file(self, part: Selected) -> None:
        file, scan = part.scan.file, part.scan
        name_of = _json_name if self._json else _plain_name

        def statement(start: int, end: int) -> bytes:
            try:
                text = first_statement(file, start, end, part.table.format)
            except (DamagedError, UnsupportedError) as error:
                self.unread.append(f"{error}; the statement is listed without its text")
                return b""
            return encoded(safe_text(" ".join(text.split())[:_STATEMENT]) or "-")

        self._texts.begin_file(
            encoded(_json_string(file.name) if self._json else safe_text(file.name)),
            file.commit_version(0),
            part.epoch,
            lambda number: encoded(name_of(*scan.table_name(number))),
            lambda start: anonymous_id(file, start).encode(),
            None if self._json else statement,
        )


def _lead(index: int, name: str, as_json: bool) -> bytes:
    """Return what precedes a field: its name in JSON, else a tab between fields."""
    if as_json:
        return f'{", " if index else "{"}"{name}": '.encode()
    return b"\t" if index else b""


def _plain_name(db: str, table: str) -> str:
    return safe_text(f"{db}.{table}")


def _json_name(db: str, table: str) -> str:
    return f'{{"db": {_json_string(db)}, "table": {_json_string(table)}'


def _json_string(text: str) -> str:
    return json.dumps(printable(text), ensure_ascii=False)
