"""Transactions as lines, whole pages at a time: JSON objects, or fields with tabs between."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from itertools import pairwise

from binx.errors import UsageError
from binx.kernels.render.transactions import TextColumn, TransactionTexts
from binx.log.identifiers import anonymous_id
from binx.log.selection.moments import zone_offset
from binx.source.wording import encoded
from binx.stats.text import json_string, safe_text
from binx.stats.transaction import Page

COLUMNS = tuple(column.name.removeprefix("COLUMN_").lower() for column in TextColumn)[
    : TextColumn.COLUMN_DURATION + 1
]
"""The names of columns, as JSON has them; ``duration`` is not in the data set."""

ALIASES = {
    "time": "commit_timestamp",
    "size": "bytes",
    "server": "server_id",
    "thread": "thread_id",
    "position": "start",
}
"""Shorter names that a user may give."""

JSON_COLUMNS = COLUMNS[: TextColumn.COLUMN_DURATION]
"""What an object has unless other columns are asked for."""

PLAIN_COLUMNS = ("commit_timestamp", "gtid", "kind", "bytes", "rows", "file", "start", "tables")
"""What a plain line has unless other columns are asked for."""


def parse_columns(text: str) -> tuple[str, ...]:
    """Read a list of columns with commas between.

    Raises:
        UsageError: one of them is none, or comes twice.
    """
    names = [ALIASES.get(name.strip().lower(), name.strip().lower()) for name in text.split(",")]
    for name in names:
        if name not in COLUMNS:
            raise UsageError(f"expected columns such as {', '.join(COLUMNS)}, found {name!r}")
    if len(set(names)) < len(names):
        raise UsageError(f"expected each column once, found {text!r}")
    return tuple(names)


class LineWriter:
    """Makes lines of pages."""

    def __init__(
        self, columns: Sequence[str] | None = None, *, as_json: bool = False, zone: tzinfo = UTC
    ) -> None:
        chosen = columns or (JSON_COLUMNS if as_json else PLAIN_COLUMNS)
        self._json = as_json
        self._lines = TransactionTexts(
            [(_lead(place, name, as_json), COLUMNS.index(name), b"") for place, name in enumerate(chosen)],
            b"}\n" if as_json else b"\n",
            as_json,
            b"null" if as_json else b"-",
            None if zone is UTC else zone_offset(zone),
        )
        self._page: Page | None = None

    def lines(self, page: Page) -> bytes:
        """The lines of a page's transactions that are wanted."""
        return self._render(page, page.mask)[0]

    def each(self, page: Page, indexes: Sequence[int]) -> list[bytes]:
        """A line for each of some places in a page, which ascend."""
        mask = bytearray(len(page.table))
        for index in indexes:
            mask[index] = 1
        text, ends = self._render(page, mask)
        places = [0, *memoryview(ends).cast("q")]
        return [text[start:end] for start, end in pairwise(places)]

    def _render(self, page: Page, mask: bytearray | None) -> tuple[bytes, bytes]:
        """Lines, and where each ends in them: 8 bytes each, native byte order."""
        if self._page is None or self._page.scan is not page.scan:
            self._begin_file(page)
        self._page = page
        first_seqno = page.first_seqno if page.numbered else -1
        return self._lines.render(page.table, mask, first_seqno)

    def _begin_file(self, page: Page) -> None:
        name_of = _json_name if self._json else _plain_name
        shown = json_string if self._json else safe_text
        self._lines.begin_file(
            encoded(shown(page.file.name)),
            page.file.commit_version(0),
            page.epoch,
            lambda number: encoded(name_of(*page.scan.table_name(number))),
            lambda start: anonymous_id(page.file, start).encode(),
            None if self._json else lambda start, end: encoded(safe_text(page.statement_text(start, end))),
        )


def _lead(place: int, name: str, as_json: bool) -> bytes:
    """What stands before a field: its name in JSON, else a tab between fields."""
    if as_json:
        return f'{", " if place else "{"}"{name}": '.encode()
    return b"\t" if place else b""


def _plain_name(db: str, table: str) -> str:
    return safe_text(f"{db}.{table}")


def _json_name(db: str, table: str) -> str:
    return f'{{"db": {json_string(db)}, "table": {json_string(table)}'
