"""Tables of figures: fitted to the terminal for people, aligned with plain numbers in a pipe.

What a terminal is too narrow for gives way in an order that each table says: long values get a short form,
columns that matter least are left out, and only then are texts cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from binx.stats.text import fit_text, pad_text, safe_text, text_width

if TYPE_CHECKING:
    from binx.stats.sections import Column, Section

GAP = "  "
UNKNOWN = "-"
ROOMY = 110
"""Width of a terminal from which on values are shown at full length."""

_HEAD, _TITLE, _END = "\x1b[2m", "\x1b[1m", "\x1b[0m"
_LEAST = 12


def plain_lines(section: Section) -> list[str]:
    """A section for a pipe: aligned columns, plain numbers, no more decoration than a title."""
    cells = _cells(section, [column.form.programs for column in section.columns])
    titles = [column.title.lower() for column in section.columns]
    lines = _aligned(section.columns, [titles, *cells], _widths([titles, *cells]))
    return [section.title.lower(), *(GAP + line for line in lines)]


def lines_for_people(section: Section, width: int, *, colour: bool) -> list[str]:
    """A section for a terminal; no line is wider than that."""
    forms = [column.form.people if width >= ROOMY else column.form.short for column in section.columns]
    cells = [[column.title for column in section.columns], *_cells(section, forms)]
    widths = _widths(cells)
    kept = _kept(section.columns, widths, width)
    columns = [section.columns[place] for place in kept]
    fitted = _fitted(columns, [widths[place] for place in kept], width)
    lines = _aligned(columns, [[texts[place] for place in kept] for texts in cells], fitted)
    if colour:
        lines[0] = f"{_HEAD}{lines[0]}{_END}"
    return [_title(section.title, width, colour=colour), *lines]


def list_for_people(title: str, texts: Sequence[str], width: int, *, colour: bool) -> list[str]:
    """Sentences for a terminal, each beginning on a line of its own."""
    lines = [_title(title, width, colour=colour)]
    for text in texts:
        lines += wrap(safe_text(text), width, initial_indent="- ", subsequent_indent="  ")
    return lines


def plain_list(title: str, texts: Sequence[str]) -> list[str]:
    """Sentences for a pipe, one a line."""
    return [title.lower(), *(GAP + safe_text(text) for text in texts)]


def _title(title: str, width: int, *, colour: bool) -> str:
    fitted = fit_text(title, width)
    return f"{_TITLE}{fitted}{_END}" if colour else fitted


def _cells(section: Section, forms: Sequence[Callable[[Any], str]]) -> list[list[str]]:
    return [
        [UNKNOWN if value is None else write(value) for write, value in zip(forms, row, strict=True)]
        for row in section.rows
    ]


def _widths(cells: list[list[str]]) -> list[int]:
    return [max(map(text_width, texts)) for texts in zip(*cells, strict=True)]


def _kept(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """The places of the columns that the terminal has room for."""
    kept = list(range(len(columns)))
    while True:
        needed = sum(min(widths[place], _LEAST) if columns[place].cut else widths[place] for place in kept)
        spare = [place for place in kept if columns[place].spare]
        if needed + len(GAP) * (len(kept) - 1) <= width or not spare:
            return kept
        kept.remove(max(spare, key=lambda place: columns[place].spare))


def _fitted(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """The columns' widths, those that may be cut off narrowed, the widest most."""
    fitted = list(widths)
    excess = sum(fitted) + len(GAP) * (len(fitted) - 1) - width
    cuts = [place for place, column in enumerate(columns) if column.cut]
    while excess > 0 and cuts:
        widest = max(cuts, key=lambda place: fitted[place])
        if fitted[widest] <= 1:
            break
        fitted[widest] -= 1
        excess -= 1
    return fitted


def _aligned(columns: Sequence[Column], cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    return [
        GAP.join(
            pad_text(fit_text(text, size), size, right=column.form.is_number)
            for text, size, column in zip(texts, widths, columns, strict=True)
        ).rstrip()
        for texts in cells
    ]
