"""Columns as the text that an export writes for them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from binx.rows.change_groups import numbers
from binx.slices.rendering import Changes, MergedChanges, columns
from binx.sql.values import Spelled


def texts_of(values: Iterable[Spelled], rows: int) -> list[bytes]:
    """The text of each row of a column."""
    versions, places = pa.array([7] * rows, pa.int64()), pa.array(range(rows), pa.int64())
    parts = [*columns(b"", values, None)]
    piece = MergedChanges([Changes(numbers(versions), numbers(places), None, rows, parts)])
    return [b"".join(piece.text(row, row + 1)) for row in range(rows)]
