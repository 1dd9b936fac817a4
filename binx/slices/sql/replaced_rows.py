"""Rows that MySQL 9.6 and later log as deleted and inserted, or as deleted twice.

These servers log rows that follow a foreign key before the row that they follow. Of rows that refer to one
that REPLACE deletes, they log nothing if the inserted row has the same value: those rows stay, but a DELETE
with foreign key checks would take them along. A DELETE of several tables may meet rows again that followed a
key, and logs them once more.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.rows import RowsFlag
from binx.rows.images import DELETE, INSERT, BatchImages, Images
from binx.slices.sql.foreign_keys import key_texts
from binx.slices.sql.session import flagged_rows


def replaced_rows(images: BatchImages) -> pa.BooleanArray | None:
    """Return which rows were deleted or inserted by a statement that did both; None if none was."""
    deleted, inserted = _logged(images, DELETE), _logged(images, INSERT)
    if deleted is None or inserted is None:
        return None
    statements = _statements(images)
    both = [pc.is_in(statements, value_set=statements.filter(which)) for which in (deleted, inserted)]
    replaced = pc.and_(pc.and_(*both), pc.or_(deleted, inserted))
    return replaced if replaced.true_count else None


def keeping_rows(images: BatchImages, places: tuple[int, ...]) -> pa.BooleanArray:
    """Return which rows have values in some columns that a row has which the same statement deleted."""
    values = _values(images, places)
    return pc.is_in(values, value_set=values.filter(_logged(images, DELETE)), skip_nulls=True)


def rows_logged_again(images: BatchImages, key: tuple[int, ...]) -> pa.BooleanArray | None:
    """Return which rows were deleted though they had followed a foreign key before; None if none was."""
    deleted, unchecked = _logged(images, DELETE), flagged_rows(images, RowsFlag.NO_FOREIGN_KEY_CHECKS)
    if deleted is None or unchecked is None or not key:
        return None
    values = _values(images, key)
    followed = pc.is_in(values, value_set=values.filter(pc.and_(deleted, unchecked)), skip_nulls=True)
    again = pc.and_(pc.and_(deleted, pc.invert(unchecked)), followed)
    return again if again.true_count else None


def _logged(images: BatchImages, kind: int) -> pa.BooleanArray | None:
    """Return which rows are of a kind, and have what follows them in the log too; None if none is."""
    kinds = images.changes.change_types
    logged = flagged_rows(images, RowsFlag.USE_SQL_FOREIGN_KEY) if kind in kinds else None
    if logged is None:
        return None
    codes = pa.Array.from_buffers(pa.int8(), len(kinds), [None, pa.py_buffer(kinds)])
    return pc.and_(logged, pc.equal(codes, pa.scalar(kind, pa.int8())))


def _statements(images: BatchImages) -> pa.Array:
    """Return the number of each row's statement, among those of the batch."""
    facts = [fact for name in ("_commit_version", "_statement") if (fact := images.system(name)) is not None]
    begins = pc.or_(*(pc.not_equal(fact.slice(1), fact.slice(0, len(fact) - 1)) for fact in facts))
    return pc.cumulative_sum(pa.concat_arrays([pa.array([False]), begins]).cast(pa.int32()))


def _values(images: BatchImages, places: tuple[int, ...]) -> pa.Array:
    """Return the number of each row's statement with the row's values as a text; null if one is null."""
    every = Images(None, tuple(range(len(images.columns))))
    statements = _statements(images).cast(pa.string())
    return pc.binary_join_element_wise(statements, key_texts(images, places, every), " ")
