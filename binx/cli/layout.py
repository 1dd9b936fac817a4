"""Lay out tables: fitted to the terminal for people, aligned with plain numbers in a pipe.

On a narrow terminal, values first get a short form, then the least important columns are omitted, and only
then are texts truncated; each table defines the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from binx.stats.text import fit_text, pad_text, safe_text, text_width

if TYPE_CHECKING:
    from binx.stats.sections import Section, SectionColumn

UNKNOWN = "-"
ROOMY = 110
"""Terminal width from which values are shown in full."""

_GAP = "  "
_BOLD, _END = "\x1b[1m", "\x1b[0m"
_WORD = re.compile(r"\s*(?:`[^`]*`|\S)+\s?")
_ESCAPES = re.compile(r"\x1b\[[\d;]*m")
_LEAST = 12
_NUMBERS = "number"
_MEASURED = 200


def section_lines(section: Section, width: int | None, *, colour: bool = False) -> Iterator[str]:
    """Yield a table with its title: for a terminal of that width, or plain if None."""
    if width is None:
        yield section.title.lower()
        cells = [[column.title.lower() for column in section.columns]]
        for row in section.rows:
            cells.append(
                [
                    _text(value, column.form.programs)
                    for value, column in zip(row, section.columns, strict=True)
                ]
            )
        right = [column.form.kind == _NUMBERS for column in section.columns]
        yield from (_GAP + line for line in aligned_lines(cells, right))
        return
    yield _bold(fit_text(section.title, width), colour)
    yield from screen_lines(section.columns, section.rows, width, colour=colour)


def aligned_lines(cells: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Align rows of texts in columns."""
    widths = [max(map(text_width, texts)) for texts in zip(*cells, strict=True)]
    return [_GAP.join(map(_padded, texts, widths, right)).rstrip() for texts in cells]


def _padded(text: str, width: int, right: bool) -> str:
    return pad_text(text, width, right=right)


def screen_lines(
    columns: Sequence[SectionColumn], rows: Iterable[Sequence[Any]], width: int, *, colour: bool
) -> Iterator[str]:
    """Yield a header and a line per row for a terminal, streaming; widths are those of the first rows."""
    forms = [
        column.form.people if width >= ROOMY else column.form.short or column.form.people
        for column in columns
    ]
    cells = ([_text(value, form) for value, form in zip(row, forms, strict=True)] for row in rows)
    first = [[column.title for column in columns], *islice(cells, _MEASURED)]
    widths = [max(map(text_width, texts)) for texts in zip(*first, strict=True)]
    indexes = _fitting_indexes(columns, widths, width)
    columns = [columns[index] for index in indexes]
    fitted = _fitted(columns, [widths[index] for index in indexes], width)
    for number, texts in enumerate(chain(first, cells)):
        line = fit_text(_line([texts[index] for index in indexes], columns, fitted), width)
        yield line if number else _bold(line, colour)


def sentences(title: str, texts: Sequence[str], width: int | None, *, colour: bool = False) -> Iterator[str]:
    """Yield sentences below a title, each starting on a new line."""
    if width is None:
        yield from (title.lower(), *(_GAP + safe_text(text) for text in texts))
        return
    yield _bold(title, colour)
    for text in texts:
        yield from wrap(safe_text(text), width, initial_indent="- ", subsequent_indent="  ")


def folded(line: str, width: int, indent: str | None = None) -> Iterator[str]:
    """Yield a line in parts of at most that width, broken at words; what is in backticks stays together.

    A word that is too long for any part stays where it is, for the terminal to break.

    Args:
        indent: what further parts begin with; by default two columns more than the line.
    """
    if len(line) <= width:
        yield line
        return
    if indent is None:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
    part, used = "", 0
    for word in _WORD.findall(line):
        shown = _ESCAPES.sub("", word)
        size = text_width(shown.strip())
        if part.strip() and used + size > width >= len(indent) + size:
            yield part.rstrip()
            part, used = indent + word.lstrip(), len(indent) + text_width(shown.lstrip())
        else:
            part, used = part + word, used + text_width(shown)
    yield part.rstrip()


def _bold(text: str, colour: bool) -> str:
    return f"{_BOLD}{text}{_END}" if colour else text


def _text(value: Any, write: Any) -> str:
    return UNKNOWN if value is None or value == UNKNOWN else write(value)


def _line(texts: Sequence[str], columns: Sequence[SectionColumn], widths: Sequence[int]) -> str:
    return _GAP.join(
        pad_text(fit_text(text, width) if column.cut else text, width, right=column.form.kind == _NUMBERS)
        for text, column, width in zip(texts, columns, widths, strict=True)
    ).rstrip()


def _fitting_indexes(columns: Sequence[SectionColumn], widths: Sequence[int], width: int) -> list[int]:
    """Return the indexes of the columns that fit on the terminal."""
    indexes = list(range(len(columns)))
    while True:
        needed = sum(min(widths[index], _LEAST) if columns[index].cut else widths[index] for index in indexes)
        if needed + len(_GAP) * (len(indexes) - 1) <= width or len(indexes) == 1:
            return indexes
        # Without a spare one it is the last: half a number would be a wrong one.
        most = max(columns[index].spare for index in indexes)
        indexes = [index for index in indexes if columns[index].spare != most] if most else indexes[:-1]


def _fitted(columns: Sequence[SectionColumn], widths: Sequence[int], width: int) -> list[int]:
    """Return the columns' widths: truncatable columns narrowed, the widest most, or the last one widened."""
    fitted = list(widths)
    excess = sum(fitted) + len(_GAP) * (len(fitted) - 1) - width
    cuts = [index for index, column in enumerate(columns) if column.cut]
    if excess < 0 and cuts and cuts[-1] == len(columns) - 1:
        fitted[-1] -= excess
    while excess > 0 and cuts:
        widest = max(cuts, key=lambda index: fitted[index])
        if fitted[widest] <= 1:
            break
        fitted[widest] -= 1
        excess -= 1
    return fitted
