"""What is wanted where a file is damaged; how it is done loads only where something is."""

from __future__ import annotations

from enum import Enum


class OnDamage(Enum):
    """What a reader does where a file is damaged."""

    STOP = "stop"
    """It raises the error."""
    SALVAGE = "salvage"
    """It reads on at the next transaction that is whole, and lists what it passed over."""


__all__ = ["OnDamage"]
