"""The columns of a data set's files that have statistics."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa


def with_statistics(schema: pa.Schema, keys: Collection[str] = ()) -> list[str]:
    """The columns whose least and largest values are kept: numbers, times, and the text of keys.

    They are what rows are looked up by in order; of other text they would cost more than they help.
    """
    return [
        field.name
        for field in schema
        if _is_number(field.type) or (_is_text(field.type) and field.name in keys)
    ]


def _is_number(data_type: pa.DataType) -> bool:
    """Whether values are numbers of some kind, times among them."""
    return bool(
        pa.types.is_integer(data_type)
        or pa.types.is_temporal(data_type)
        or pa.types.is_decimal(data_type)
        or pa.types.is_floating(data_type)
    )


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_binary(data_type))
