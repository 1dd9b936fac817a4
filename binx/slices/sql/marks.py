"""What the session must be for single row changes."""

from __future__ import annotations

from enum import IntFlag

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.rows import RowsFlag
from binx.log.file import BinlogFile
from binx.rows.columns.types import Kind
from binx.rows.images import BatchImages
from binx.slices.event_flags import event_flags


class RowMark(IntFlag):
    """What the session must be for a row change."""

    NO_FOREIGN_KEY_CHECKS = 1
    LENIENT = 2
    """It holds an ENUM's error value, or leaves out a NOT NULL column, which a strict session refuses."""


_ERROR_VALUE = 0
"""The number of an ENUM's error value, and its place among the names."""


def row_marks(images: BatchImages, file: BinlogFile) -> pa.Array | None:
    """What the session must be, row by row; None where nothing special."""
    flagged = images.changes.rows_flags & RowsFlag.NO_FOREIGN_KEY_CHECKS
    marks = _event_marks(file, images.system("_position")) if flagged else None
    for place, column in enumerate(images.columns):
        if column.type.kind is Kind.ENUM and column.type.members is not None:
            values = images.column(place)
            codes = values if pa.types.is_integer(values.type) else values.indices
            errors = pc.fill_null(pc.equal(codes, pa.scalar(_ERROR_VALUE, codes.type)), False)
            if pc.any(errors).as_py():
                lenient = pc.if_else(
                    errors, pa.scalar(int(RowMark.LENIENT), pa.uint8()), pa.scalar(0, pa.uint8())
                )
                marks = lenient if marks is None else pc.bit_wise_or(marks, lenient)
    return marks


def _event_marks(file: BinlogFile, positions: pa.Array | None) -> pa.Array | None:
    """Which rows were changed in a session without foreign key checks, as the flags of their events say."""
    assert positions is not None
    bit = pa.scalar(int(RowsFlag.NO_FOREIGN_KEY_CHECKS), pa.uint8())
    flagged = pc.equal(pc.bit_wise_and(event_flags(file, positions), bit), bit)
    if not flagged.true_count:
        return None
    mark = pa.scalar(int(RowMark.NO_FOREIGN_KEY_CHECKS), pa.uint8())
    return pc.if_else(flagged, mark, pa.scalar(0, pa.uint8()))
