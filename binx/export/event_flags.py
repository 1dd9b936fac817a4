"""The flags of the rows events that row changes come from."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.rowflags import rows_flags
from binx.log.file import BinlogFile
from binx.source import READ_BYTES


def event_flags(file: BinlogFile, positions: pa.Array) -> pa.Array:
    """The low byte of the flags of the rows event of each row change, uint8.

    Events within compressed payloads have no place in the file, and count as those without flags.

    Args:
        file: the log.
        positions: the offsets of the events, a row change each; rows of one event stand together.
    """
    runs = pc.run_end_encode(positions)
    places = memoryview(runs.values.buffers()[1]).cast("q")[runs.values.offset :][: len(runs.values)]
    flags = bytearray(len(places))
    lengths, done = file.format.post_header_lengths, 0
    while done < len(places):
        origin = places[done]
        known = done
        done = rows_flags(
            file.source.window(origin, origin + READ_BYTES), origin, places, known, lengths, flags
        )
        if done == known:
            # A payload event of a few bytes at the file's end.
            done += 1
    of_runs = pa.Array.from_buffers(pa.uint8(), len(flags), [None, pa.py_buffer(flags)])
    return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(runs.run_ends, of_runs))


__all__ = ["event_flags"]
