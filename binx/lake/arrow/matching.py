"""Which rows of a table match a condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import AbsentError
from binx.lake.arrow.column_types import logical_type
from binx.lake.tables.lives import SchemaSpan
from binx.rows.columns.schema import folded_name
from binx.source.wording import did_you_mean
from binx.where.condition import Condition, TableFrame
from binx.where.operands import Operand, zerofill_digits

Numbers = Any
"""A NumPy array."""


def matching_rows(rows: pa.Table, epoch: SchemaSpan, condition: Condition, table: str, path: str) -> Numbers:
    """Return a mask of the images that match; values that only the server knows are NULL.

    Args:
        rows: images in the columns of an epoch.
        table, path: for errors.

    Raises:
        AbsentError: the table lacks a column of the condition.
        IncomparableError: a column cannot be compared with its literals.
    """
    operands = {}
    for column in epoch.columns:
        values = rows.column(f"v{column.id}").combine_chunks()
        known, misfits = f"p{column.id}", f"m{column.id}"
        if known in rows.column_names:
            values = pc.if_else(rows.column(known).combine_chunks(), values, pa.scalar(None, values.type))
        texts = rows.column(misfits).combine_chunks() if misfits in rows.column_names else None
        operands[folded_name(column.name)] = Operand(
            values, logical_type(column, values.type), texts, zerofill_digits(column.mysql_type)
        )
    lacking = condition.columns - set(operands)
    if lacking:
        absent = min(lacking)
        raise AbsentError(f"{table} has no column {absent}{did_you_mean(absent, operands)}", path=path)
    marks = condition.matching(TableFrame(operands, len(rows)))
    return np.asarray(marks.to_numpy(zero_copy_only=False), bool)
