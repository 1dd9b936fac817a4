"""Markup that is well-formed as HTML and as XML, and in which no text from a log can become markup."""

from __future__ import annotations

import html

from binx.stats.text import safe_text

_VOID = frozenset({"meta", "rect", "line", "col"})


class Markup(str):
    """A text that is markup already; all other texts are escaped."""

    __slots__ = ()


Child = str | int | None
"""What an element contains: markup, text, a number, or nothing."""


def escaped(child: Child) -> Markup:
    """A child as markup; what is invisible in a text, and what XML cannot hold, becomes visible escapes."""
    if isinstance(child, Markup):
        return child
    return Markup("" if child is None else html.escape(safe_text(str(child))))


def element(name: str, /, *children: Child, **attributes: str | int | float | None) -> Markup:
    """An element.

    Args:
        name: of the element.
        children: what is in it.
        attributes: by name, with ``_`` for a hyphen and one at the end of Python's own words (``class_``);
            None leaves one out.
    """
    head = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{''.join(map(escaped, children))}</{name}>")


def joined(*children: Child) -> Markup:
    """Several children one after another."""
    return Markup("".join(map(escaped, children)))


def _number(value: str | int | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
