r"""Texts that do nothing to a terminal: names come from logs that anyone may have written."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""A line whose invisible characters, line feeds too, are shown as ``\xNN``, ``\uNNNN`` or ``\n``."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
