"""Transactions as lines: columns for people, tabs for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from binx.stats.transaction import ListedTransaction, moment_json
from binx.stats.text import (
    ELLIPSIS,
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

_UNKNOWN = "-"
_GAP = "  "
_MEASURED = 200
_ROOMY = 110
_TABLES_LEAST = 12
_UUID_SHOWN = 8
_SECONDS = 19
_HEAD, _FAINT, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Column(NamedTuple):
    """A column for people."""

    title: str
    text: Callable[[ListedTransaction], str]
    right: bool = False


def plain_line(one: ListedTransaction) -> str:
    """A transaction for programs: time, GTID, kind, bytes, rows, file, start, tables, with tabs between."""
    cells = (
        str(moment_json(one.commit_timestamp)),
        one.gtid or _UNKNOWN,
        one.kind,
        str(one.bytes),
        _UNKNOWN if one.rows is None else str(one.rows),
        safe_text(one.file),
        str(one.start),
        tables_text(one.tables).replace(MINUS, "-") or _UNKNOWN,
    )
    return "\t".join(cells)


def lines_for_people(transactions: Iterable[ListedTransaction], width: int, *, colour: bool) -> Iterator[str]:
    """A head and a line a transaction, none wider than the terminal.

    Args:
        transactions: what to list; the first few hundred decide how wide the columns are.
        width: of the terminal.
        colour: whether the head and less important cells stand out or back.
    """
    rest = iter(transactions)
    first = list(islice(rest, _MEASURED))
    columns = _columns(roomy=width >= _ROOMY)
    widths = [
        max([text_width(column.title), *(text_width(column.text(one)) for one in first)])
        for column in columns
    ]
    left = width - sum(widths) - len(_GAP) * len(widths)
    shows_tables = left >= _TABLES_LEAST
    head = [
        pad_text(column.title, size, right=column.right) for column, size in zip(columns, widths, strict=True)
    ]
    titles = _GAP.join([*head, "TABLES"] if shows_tables else head)
    yield f"{_HEAD}{titles}{_PLAIN}" if colour else titles
    for one in chain(first, rest):
        cells = [
            pad_text(column.text(one), size, right=column.right)
            for column, size in zip(columns, widths, strict=True)
        ]
        if colour:
            cells[0] = f"{_FAINT}{cells[0]}{_PLAIN}"
        if shows_tables:
            cells.append(fit_text(tables_text(one.tables), left))
        yield _GAP.join(cells).rstrip()


def _columns(*, roomy: bool) -> list[Column]:
    return [
        Column("COMMITTED (UTC)" if roomy else "COMMITTED", _time if roomy else _second),
        Column("GTID", _gtid if roomy else _short_gtid),
        Column("KIND", lambda one: one.kind),
        Column("SIZE", lambda one: bytes_text(one.bytes), right=True),
        Column("ROWS", lambda one: _UNKNOWN if one.rows is None else number_text(one.rows), right=True),
    ]


def _time(one: ListedTransaction) -> str:
    return time_text(one.commit_timestamp)


def _second(one: ListedTransaction) -> str:
    return time_text(one.commit_timestamp)[:_SECONDS]


def _gtid(one: ListedTransaction) -> str:
    return one.gtid or _UNKNOWN


def _short_gtid(one: ListedTransaction) -> str:
    """The GTID with the first digits of its UUID, which is enough to tell servers apart."""
    if one.gtid is None:
        return _UNKNOWN
    source, colon, number = one.gtid.partition(":")
    return f"{source[:_UUID_SHOWN]}{ELLIPSIS}:{number}" if colon else source
