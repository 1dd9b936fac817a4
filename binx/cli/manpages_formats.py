r"""Manual pages of section 5, on formats of files, made from the pages of the documentation.

The pages are written in the small part of Markdown that this module knows: headings, paragraphs, lists,
tables, blocks of code, and bold, code and links in them. A table's rows become tagged paragraphs, the first
column being the tag, since terminals have no room for wide cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from binx.cli.roff import escaped, guarded

SECTION = 5


class FormatPage(NamedTuple):
    """A page about a format.

    Attributes:
        name: the manual page's.
        summary: what it is about.
        source: the documentation's page, in ``docs/``.
    """

    name: str
    summary: str
    source: str


PAGES = (
    FormatPage("binx-parquet", "the data set that binx to-parquet writes", "dataset.md"),
    FormatPage("binx-index-file", "what binx index keeps beside a log", "index-file.md"),
)

_HEADING = re.compile(r"(#+) (.*)")
_INLINE = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*|\*(?=\S)(.+?)\*|\[([^\]]+)\]\([^)]*\)")
_ITEM = re.compile(r"(?:[-*]|\d+\.) (.*)")
_INDENT = "    "
_RULE = re.compile(r"\|[\s:|-]+\|")


def body_of(markdown: str) -> list[str]:
    """The page's text in man(7)'s macros, without its first heading."""
    lines: list[str] = []
    for block in _blocks(markdown):
        lines += _block(block)
    return lines


def _blocks(markdown: str) -> Iterator[list[str]]:
    """Lines that belong together: between blank ones, or within a fence."""
    block: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        if line.startswith("```"):
            if not fenced and block:
                yield block
                block = []
            block.append(line)
            fenced = not fenced
            if not fenced:
                yield block
                block = []
        elif line.strip() or fenced:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _block(block: list[str]) -> list[str]:
    first = block[0]
    heading = _HEADING.fullmatch(first)
    if heading is not None:
        title = escaped(heading[2].replace("`", ""))
        macro = {1: "", 2: f".SH {title.upper()}"}.get(len(heading[1]), f".SS {title}")
        return [macro, *(_block(block[1:]) if block[1:] else [])] if macro else []
    if first.startswith("```"):
        return _code(block[1:-1])
    if all(line.startswith(_INDENT) for line in block):
        return _code([line.removeprefix(_INDENT) for line in block])
    if first.startswith("|"):
        return _table(block)
    if _ITEM.match(first):
        return _items(block)
    return [".PP", guarded(_inline(" ".join(block)))]


def _code(lines: list[str]) -> list[str]:
    code = [guarded(escaped(line)) for line in lines]
    return [".PP", ".RS 4", ".nf", ".ft CR", *code, ".ft R", ".fi", ".RE"]


def _table(block: list[str]) -> list[str]:
    rows = [_cells(line) for line in block if not _RULE.fullmatch(line.strip())]
    lines: list[str] = []
    for first, *others in rows[1:]:
        rest = "; ".join(_inline(cell) for cell in others if cell)
        lines += [".TP", guarded(_inline(first)), guarded(rest or r"\ ")]
    return lines


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _items(block: list[str]) -> list[str]:
    lines: list[str] = []
    for line in block:
        item = _ITEM.match(line)
        if item is not None:
            lines += [r".IP \(bu 2", guarded(_inline(item[1]))]
        else:
            lines.append(guarded(_inline(line.strip())))
    return lines


def _inline(text: str) -> str:
    """Bold code and emphasis; of links their text."""
    parts: list[str] = []
    end = 0
    for found in _INLINE.finditer(text):
        parts.append(escaped(text[end : found.start()]))
        code, bold, italic, link = found.groups()
        if link is not None:
            parts.append(_inline(link))
        elif italic is not None:
            parts.append(rf"\fI{escaped(italic)}\fR")
        else:
            parts.append(rf"\fB{escaped((code or bold).replace('`', ''))}\fR")
        end = found.end()
    parts.append(escaped(text[end:]))
    return "".join(parts)
