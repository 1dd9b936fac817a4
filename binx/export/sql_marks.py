"""What the session must be for single row changes."""

from __future__ import annotations

from enum import IntFlag

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.header import HEADER_SIZE, EventType
from binx.event.rows import RowsFlag
from binx.export.images import BatchImages
from binx.log.file import BinlogFile
from binx.rows.types import Kind

_SHORT_TABLE_ID = 6


class RowMark(IntFlag):
    """What the session must be for a row change."""

    NO_FOREIGN_KEY_CHECKS = 1
    LENIENT = 2
    """It holds an ENUM's error value, which a strict session refuses."""


def row_marks(images: BatchImages, file: BinlogFile) -> pa.Array | None:
    """What the session must be, row by row; None where nothing special."""
    marks = _event_marks(file, images.system("_position"))
    for place, column in enumerate(images.columns):
        if (
            column.type.kind is Kind.ENUM
            and column.type.members is not None
            and "" not in column.type.members
        ):
            errors = pc.fill_null(pc.equal(images.column(place).cast(pa.string()), ""), False)
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
    flags = [_event_mark(file, position) for position in runs.values.to_pylist()]
    if not any(flags):
        return None
    return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(runs.run_ends, pa.array(flags, pa.uint8())))


def _event_mark(file: BinlogFile, position: int) -> int:
    head = file.source.window(position, position + HEADER_SIZE + 8)
    event_type = head[4]
    if event_type == EventType.TRANSACTION_PAYLOAD:
        return 0
    width = 4 if file.format.post_header_length(event_type, 8) == _SHORT_TABLE_ID else 6
    start = HEADER_SIZE + width
    flags = int.from_bytes(head[start : start + 2], "little")
    return RowMark.NO_FOREIGN_KEY_CHECKS if flags & RowsFlag.NO_FOREIGN_KEY_CHECKS else 0
