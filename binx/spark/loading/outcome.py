"""How a load ends: exit codes, and the one error that it raises on purpose."""

from __future__ import annotations

from enum import IntEnum


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
