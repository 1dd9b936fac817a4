"""Columns as the text that an export writes for them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from binx.rows.images import numbers
from binx.slices.rendering import Changes, Part, Piece, Spelled, assembled, columns, kernel_part


def texts_of(values: Iterable[Spelled], rows: int) -> list[bytes]:
    """The text of each row of a column."""
    return texts_of_parts(assembled(columns(b"", values, None)), rows)


def texts_of_parts(parts: list[Part], rows: int) -> list[bytes]:
    """The texts of as many row changes."""
    versions, places = pa.array([7] * rows, pa.int64()), pa.array(range(rows), pa.int64())
    told = [kernel_part(part) for part in parts]
    piece = Piece([Changes(numbers(versions), numbers(places), None, rows, told)])
    return [b"".join(piece.text(row, row + 1)) for row in range(rows)]
