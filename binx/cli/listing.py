"""Transactions as lines: columns for people, tabs for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from binx.cli.sections import GAP, ROOMY, UNKNOWN, short_time, short_transaction
from binx.stats.text import (
    MINUS,
    bytes_text,
    fit_text,
    number_text,
    pad_text,
    safe_text,
    tables_text,
    text_width,
    time_text,
)
from binx.stats.transaction import ListedTransaction, moment_json

_MEASURED = 200
_TABLES_LEAST = 12
_HEAD, _FAINT, _END = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class _Column(NamedTuple):
    title: str
    text: Callable[[ListedTransaction], str]
    right: bool = False


def plain_line(one: ListedTransaction) -> str:
    """A transaction for programs: time, GTID, kind, bytes, rows, file, start, tables, with tabs between."""
    cells = (
        str(moment_json(one.commit_timestamp)),
        one.gtid or UNKNOWN,
        one.kind,
        str(one.bytes),
        UNKNOWN if one.rows is None else str(one.rows),
        safe_text(one.file),
        str(one.start),
        tables_text(one.tables).replace(MINUS, "-") or UNKNOWN,
    )
    return "\t".join(cells)


def listing_lines(transactions: Iterable[ListedTransaction], width: int, *, colour: bool) -> Iterator[str]:
    """A head and a line a transaction for a terminal, as the transactions come.

    Args:
        transactions: what to list; the first few hundred decide how wide the columns are.
        width: of the terminal.
        colour: whether the head stands out and times stand back.
    """
    rest = iter(transactions)
    first = list(islice(rest, _MEASURED))
    columns = _columns(roomy=width >= ROOMY)
    widths = [
        max([text_width(column.title), *(text_width(column.text(one)) for one in first)])
        for column in columns
    ]
    left = width - sum(widths) - len(GAP) * len(widths)
    shows_tables = left >= _TABLES_LEAST
    titles = GAP.join(
        pad_text(column.title, size, right=column.right) for column, size in zip(columns, widths, strict=True)
    )
    titles = fit_text(f"{titles}{GAP}TABLES" if shows_tables else titles, width)
    yield f"{_HEAD}{titles}{_END}" if colour else titles
    for one in chain(first, rest):
        line = GAP.join(
            pad_text(column.text(one), size, right=column.right)
            for column, size in zip(columns, widths, strict=True)
        )
        if shows_tables:
            line += GAP + tables_text(one.tables)
        line = fit_text(line.rstrip(), width)
        yield f"{_FAINT}{line[: widths[0]]}{_END}{line[widths[0] :]}" if colour else line


def _columns(*, roomy: bool) -> list[_Column]:
    return [
        _Column("COMMITTED (UTC)", _full_time if roomy else _short_time),
        _Column("GTID", _full_gtid if roomy else _short_gtid),
        _Column("KIND", lambda one: one.kind),
        _Column("SIZE", lambda one: bytes_text(one.bytes), right=True),
        _Column("ROWS", lambda one: UNKNOWN if one.rows is None else number_text(one.rows), right=True),
    ]


def _full_time(one: ListedTransaction) -> str:
    return time_text(one.commit_timestamp)


def _short_time(one: ListedTransaction) -> str:
    return short_time(one.commit_timestamp)


def _full_gtid(one: ListedTransaction) -> str:
    return one.gtid or UNKNOWN


def _short_gtid(one: ListedTransaction) -> str:
    return short_transaction(one.gtid) if one.gtid else UNKNOWN
