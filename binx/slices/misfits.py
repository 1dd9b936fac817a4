"""Values that the type of their column could not take, back in their places among the column's texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.parts import Spelled, Spelling
from binx.slices.texts import TEXT


def with_misfits(
    values: tuple[Spelled, ...],
    column: pa.Array,
    misfits: Sequence[tuple[int, str]] | None,
    null: bytes,
    spell: Callable[[str], str] = str,
) -> tuple[Spelled, ...]:
    """The texts of a column, in which misfits are null, with those of the misfits."""
    if misfits is None:
        return values
    which = pc.is_in(
        pa.array(range(len(column)), pa.int64()), value_set=pa.array([row for row, _ in misfits], pa.int64())
    )
    nulls = pc.if_else(column.is_valid(), pa.scalar(None, TEXT), pa.scalar(null, TEXT))
    texts = pc.replace_with_mask(nulls, which, pa.array([spell(text).encode() for _, text in misfits], TEXT))
    return (*(one._replace(null=b"") for one in values), Spelled(Spelling.SPELL_TEXT, texts))
