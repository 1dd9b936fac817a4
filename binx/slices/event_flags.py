"""The flags of the rows events that row changes come from."""

from __future__ import annotations

import pyarrow as pa

from binx.kernels.copy.rows_events import rows_flags
from binx.log.file import BinlogFile
from binx.source import READ_BYTES

_HEAD_BYTES = 64
"""More than header and post-header of a rows event take."""

_NEAR = 16 * 1024
"""Bytes between events, on the average, below which they are read with what stands between."""


def event_flags(file: BinlogFile, positions: pa.Array) -> pa.Array:
    """The low byte of the flags of the rows event of each row change, uint8.

    Events within compressed payloads have no place in the file, and count as those without flags.

    Args:
        file: the log.
        positions: the offsets of the events, a row change each; rows of one event stand together.
    """
    places = memoryview(positions.buffers()[1]).cast("q")[positions.offset :][: len(positions)]
    flags = bytearray(len(places))
    lengths, done = file.format.post_header_lengths, 0
    while done < len(places):
        origin, known = places[done], done
        size = READ_BYTES if places[-1] - origin < _NEAR * (len(places) - done) else _HEAD_BYTES
        done = rows_flags(file.source.window(origin, origin + size), origin, places, known, lengths, flags)
        if done == known:
            # A payload event of a few bytes at the file's end.
            done += 1
    return pa.Array.from_buffers(pa.uint8(), len(flags), [None, pa.py_buffer(flags)])
