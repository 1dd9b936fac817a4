"""JSON that does nothing to a terminal, whatever names and values are in it."""

from __future__ import annotations

import json
import re
from typing import Any

# JSON itself escapes those below 0x20; these are the rest of the control characters, among them one that
# begins a terminal's commands as ESC does, and those that change the direction of text or the line.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_text(document: Any, *, indent: int | None = None) -> str:
    """A document as JSON; characters beyond ASCII stand as they are, but for those that control.

    Args:
        document: what :mod:`json` takes.
        indent: as there.
    """
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    return text if text.isascii() and "\x7f" not in text else _UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


__all__ = ["json_text"]
