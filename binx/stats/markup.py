"""Markup of pages, valid as HTML and as XML; no text can become markup."""

from __future__ import annotations

import html

from binx.stats.text import safe_text

_VOID = frozenset({"meta", "rect", "line", "col"})


class Markup(str):
    """Text that is already markup; all other texts are escaped."""

    __slots__ = ()


Child = str | int | None
"""Content of an element: markup, text, a number, or nothing."""


def escaped(child: Child) -> Markup:
    """Convert a child to markup; invisible characters, and those invalid in XML, become visible escapes."""
    if isinstance(child, Markup):
        return child
    return Markup("" if child is None else html.escape(safe_text(str(child))))


def element(name: str, /, *children: Child, **attributes: str | int | float | None) -> Markup:
    """Render an element.

    Args:
        attributes: by name, with ``_`` for a hyphen and at the end of Python keywords (``class_``); None
            omits an attribute.
    """
    head = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{''.join(map(escaped, children))}</{name}>")


def _number(value: str | int | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
