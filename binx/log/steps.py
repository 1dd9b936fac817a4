"""What is done with each file, for people who ask how an answer came about.

The steps are sentences about files: opened, passed over, walked. Nobody listens unless told to.
"""

from __future__ import annotations

from collections.abc import Callable

_listeners: list[Callable[[str], None]] = []


def listen(listener: Callable[[str], None] | None) -> None:
    """Set who is told of the steps from now on; None for nobody."""
    _listeners[:] = [] if listener is None else [listener]


def tell(path: str, step: str) -> None:
    """Tell of a step.

    Args:
        path: the file's, as the user named it.
        step: what was done with it, and why.
    """
    for listener in _listeners:
        listener(f"{path}: {step}")


__all__ = ["listen", "tell"]
