"""What the session must be for single row changes."""

from __future__ import annotations

from enum import IntFlag

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.rows import RowsFlag
from binx.export.images import BatchImages
from binx.kernels.rowflags import rows_flags
from binx.log.file import BinlogFile
from binx.rows.types import Kind
from binx.source import READ_BYTES


class RowMark(IntFlag):
    """What the session must be for a row change."""

    NO_FOREIGN_KEY_CHECKS = 1
    LENIENT = 2
    """It holds an ENUM's error value, which a strict session refuses."""


_MARKS = bytes(
    RowMark.NO_FOREIGN_KEY_CHECKS if flags & RowsFlag.NO_FOREIGN_KEY_CHECKS else 0 for flags in range(256)
)
"""The mark of each low byte of a rows event's flags."""


_ERROR_VALUE = 0
"""The place of an ENUM's error value among its names."""


def row_marks(images: BatchImages, file: BinlogFile) -> pa.Array | None:
    """What the session must be, row by row; None where nothing special."""
    flagged = images.changes.rows_flags & RowsFlag.NO_FOREIGN_KEY_CHECKS
    marks = _event_marks(file, images.system("_position")) if flagged else None
    for place, column in enumerate(images.columns):
        if (
            column.type.kind is Kind.ENUM
            and column.type.members is not None
            and "" not in column.type.members
        ):
            codes = images.column(place).indices
            errors = pc.fill_null(pc.equal(codes, pa.scalar(_ERROR_VALUE, codes.type)), False)
            if pc.any(errors).as_py():
                lenient = pc.if_else(
                    errors, pa.scalar(int(RowMark.LENIENT), pa.uint8()), pa.scalar(0, pa.uint8())
                )
                marks = lenient if marks is None else pc.bit_wise_or(marks, lenient)
    return marks


def _event_marks(file: BinlogFile, positions: pa.Array | None) -> pa.Array | None:
    """Which rows were changed in a session without foreign key checks, as the flags of their events say.

    Events within compressed payloads have no place in the file, and count as those of a usual session.
    """
    assert positions is not None
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
    marks = flags.translate(_MARKS)
    if not any(marks):
        return None
    return pc.run_end_decode(
        pa.RunEndEncodedArray.from_arrays(
            runs.run_ends, pa.Array.from_buffers(pa.uint8(), len(marks), [None, pa.py_buffer(marks)])
        )
    )
