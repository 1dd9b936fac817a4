"""How a load ends: exit codes, and the one error that it raises on purpose."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

_TRACEBACK = "Traceback (most recent call last):"


class ExitCode(IntEnum):
    """What the process returns; the same numbers as those of the command ``binx``."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    LOSSES = 3
    ABSENT = 4


class LoadError(Exception):
    """Something that the loader found and can explain.

    Args:
        message: what was expected, what was found, what to do about it.
        exit_code: what the process returns.
    """

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def reason_of(error: Exception) -> str:
    """What Java says of the first cause of an error of Spark, or Python in a task, in one line."""
    origin: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while origin is not None and origin.getCause() is not None:
        origin = origin.getCause()
    lines = (str(error) if origin is None else str(origin.toString())).strip().split("\n")
    if any(line.startswith(_TRACEBACK) for line in lines) or _TRACEBACK in lines[0]:
        return [line for line in lines if line.strip() and not line.startswith(" ")][-1]
    return lines[0]
