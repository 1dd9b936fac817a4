"""Options of an undo."""

from __future__ import annotations

from enum import Enum


class OnConflict(Enum):
    """How to handle rows that differ from what the log left."""

    STOP = "stop"
    """List them and undo nothing."""
    SKIP = "skip"
    """List them and leave them as they are; undo all others."""
    FORCE = "force"
    """Find rows by key only, and restore them regardless of later changes."""
