"""What row changes for people are made of, whoever writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from binx.stats.text import pad_text, safe_text, text_width

INDENT = " " * 14
"""Stands before lines below an event."""

CHANGED = f"{INDENT[:-2]}*   "
"""Stands before the name of a column that an update changed."""

ARROW = " -> "
"""Stands between the old and the new value."""

OPERATIONS = {"insert": "INSERT INTO", "update": "UPDATE", "delete": "DELETE FROM"}

_NAME_MOST = 32


def padded_names(names: Sequence[str]) -> dict[str, str]:
    """Names as they stand below each other."""
    size = min(max([text_width(safe_text(name)) for name in names], default=0), _NAME_MOST)
    return {name: pad_text(safe_text(name), size) for name in names}


def difference_text(operations: object) -> str:
    """Operations that changed a part of a document."""
    return safe_text(f"changed by {json.dumps(operations, ensure_ascii=False)}")
