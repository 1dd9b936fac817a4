"""Writing to file descriptors, which take as much at a time as they like."""

from __future__ import annotations

import os


def write_whole(descriptor: int, data: bytes | memoryview) -> None:
    """Write all bytes, in as many steps as the system takes.

    Raises:
        OSError: the system does not take them.
    """
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
