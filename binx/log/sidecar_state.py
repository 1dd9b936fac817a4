"""What can be said of a log's index file."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from binx.errors import BinxError, StaleError
from binx.log.file import BinlogFile
from binx.log.sidecar import Sidecar
from binx.source.remote import is_uri


class SidecarState(Enum):
    """What can be said of a log's index file."""

    TRUE = "true"
    """It is whole, and true of the log."""
    ABSENT = "absent"
    STALE = "stale"
    """It was made of another log, or of this one when it was not as it is now."""
    DAMAGED = "damaged"
    """It cannot be read, or its bytes are not those that were written."""


def examine_sidecar(file: BinlogFile, path: str) -> tuple[SidecarState, str | None]:
    """What state a log's index file is in, and why it cannot be used; all of its section is read.

    Args:
        file: the log.
        path: where its index file would be.
    """
    if not is_uri(path) and not Path(path).exists():
        return SidecarState.ABSENT, None
    try:
        sidecar = Sidecar.find(path, file)
        if sidecar is None:
            return SidecarState.ABSENT, None
        try:
            for block in sidecar.directory.blocks:
                sidecar.table(block)
        finally:
            sidecar.close()
    except StaleError as error:
        return SidecarState.STALE, error.message
    except BinxError as error:
        return SidecarState.DAMAGED, error.message
    return SidecarState.TRUE, None


__all__ = ["SidecarState", "examine_sidecar"]
