"""What a script that undoes changes does with rows that are not as the log left them."""

from __future__ import annotations

from enum import Enum


class OnConflict(Enum):
    """What is done with rows that are not as the log left them."""

    STOP = "stop"
    """They are listed, and nothing is undone."""
    SKIP = "skip"
    """They are listed and left alone; all others are undone."""
    FORCE = "force"
    """They are found by their key alone, and set back whatever was done to them since."""
