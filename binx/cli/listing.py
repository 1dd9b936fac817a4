"""Transactions as lines for people: columns that are fitted to the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from itertools import chain, islice
from typing import Any, NamedTuple

from binx.cli.layout import GAP, ROOMY, UNKNOWN
from binx.log.selection.moments import zone_name
from binx.stats.text import (
    bytes_text,
    fit_text,
    number_text,
    pad_text,
    safe_text,
    second_text,
    short_transaction,
    tables_text,
    text_width,
    time_text,
    transaction_duration_text,
)
from binx.stats.transaction import ListedTransaction

TERMINAL_COLUMNS = ("commit_timestamp", "gtid", "kind", "bytes", "rows", "tables")
"""What a line on a terminal has unless other columns are asked for."""

_MEASURED = 200
_TABLES_LEAST = 12
_FIRST_TO_GO = ("kind", "rows")
"""Columns that make room for tables, which tell the same for most transactions."""
_HEAD, _FAINT, _END = "\x1b[1m", "\x1b[2m", "\x1b[0m"

_TITLES = {
    "commit_timestamp": "COMMITTED",
    "original_commit_timestamp": "ORIGINAL COMMIT",
    "begin_timestamp": "BEGUN",
    "bytes": "SIZE",
    "uncompressed_bytes": "UNCOMPRESSED",
}
_TIMES = ("commit_timestamp", "original_commit_timestamp", "begin_timestamp")
_SIZES = ("bytes", "uncompressed_bytes")
_NAMES = ("transaction", "gtid")
_TEXTS = ("kind", "how", "file", "commit_time_source")


class _Column(NamedTuple):
    title: str
    text: Callable[[ListedTransaction], str]
    right: bool = False


def listing_lines(
    transactions: Iterable[ListedTransaction],
    width: int,
    *,
    colour: bool,
    columns: Sequence[str] = TERMINAL_COLUMNS,
    zone: tzinfo = UTC,
) -> Iterator[str]:
    """A head and a line a transaction for a terminal, as the transactions come."""
    rest = iter(transactions)
    first = list(islice(rest, _MEASURED))
    # Tables take what the others leave, at the end of the line.
    names = [*(name for name in columns if name != "tables"), *(["tables"] if "tables" in columns else [])]
    shown = [_column(name, zone, roomy=width >= ROOMY) for name in names]
    widths = [
        0
        if name == "tables"
        else max([text_width(column.title), *(text_width(column.text(one)) for one in first)])
        for name, column in zip(names, shown, strict=True)
    ]
    if columns is TERMINAL_COLUMNS:
        for name in _FIRST_TO_GO:
            if sum(widths) + len(GAP) * (len(widths) - 1) + _TABLES_LEAST > width:
                place = names.index(name)
                del names[place], shown[place], widths[place]
                shown[-1] = shown[-1]._replace(text=lambda one: _done(one) or one.kind)

    def line(cells: Iterable[str]) -> str:
        padded = (
            pad_text(cell, size, right=column.right)
            for cell, size, column in zip(cells, widths, shown, strict=True)
        )
        return fit_text(GAP.join(padded).rstrip(), width)

    titles = line(column.title for column in shown)
    yield f"{_HEAD}{titles}{_END}" if colour else titles
    for one in chain(first, rest):
        text = line(column.text(one) for column in shown)
        yield f"{_FAINT}{text[: widths[0]]}{_END}{text[widths[0] :]}" if colour else text


def _column(name: str, zone: tzinfo, *, roomy: bool) -> _Column:
    title = _TITLES.get(name, name.replace("_", " ").upper())
    if name == "tables":
        return _Column(title, _done)
    if name in _TIMES:
        shown_time = time_text if roomy else second_text
        return _Column(f"{title} ({zone_name(zone)})", _known(name, lambda moment: shown_time(moment, zone)))
    if name in _NAMES:
        return _Column(title, _known(name, safe_text if roomy else short_transaction))
    if name in _TEXTS:
        return _Column(title, _known(name, safe_text))
    if name in _SIZES:
        return _Column(title, _known(name, bytes_text), right=True)
    if name == "duration":
        return _Column(title, lambda one: transaction_duration_text(one.duration_seconds), right=True)
    counts = name in ("rows", "events", "statements")
    return _Column(title, _known(name, number_text if counts else str), right=True)


def _done(one: ListedTransaction) -> str:
    """What a transaction did to its tables, or the schema statement that it is."""
    return tables_text(one.tables) or safe_text(one.statement or "")


def _known(name: str, show: Callable[[Any], str]) -> Callable[[ListedTransaction], str]:
    def text(one: ListedTransaction) -> str:
        value = getattr(one, name)
        return UNKNOWN if value is None else show(value)

    return text
