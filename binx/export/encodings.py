"""How each column of a Parquet file is encoded, by its type and by the first rows that are written.

What was measured is told in ``docs/performance.md``. Only encodings are chosen that Spark's vectorized reader
and DuckDB take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_TRANSACTION = "_transaction"
_SAMPLE_ROWS = 4096
_DISTINCT_SHARE = 16
"""Words are worth a dictionary where each stands in so many rows, on average."""

_INTEGER_DECIMAL_DIGITS = 18
"""Decimals of so many digits are written as integers."""


def column_settings(
    schema: pa.Schema,
    first: pa.RecordBatch | None,
    keys: Collection[str] = (),
    identifiers: Collection[str] = (),
) -> dict[str, Any]:
    """Arguments of ``pyarrow.parquet.ParquetWriter``.

    Whole numbers, times and decimals are written as differences (``DELTA_BINARY_PACKED``), which is quicker
    and smaller than to leave them to the compression, but where a column does not change at all. Words from a
    short list go through a dictionary; for any other column a dictionary costs more than it saves. Statistics
    are kept of what is compared in order: numbers, times and the text of keys.

    Args:
        schema: of the file.
        first: the first rows; they decide where the type alone does not. None where there are none.
        keys: columns of text that rows are looked up by.
        identifiers: columns of text that ascend, as GTIDs do; each value is written as what differs from
            the one before.
    """
    differences = {}
    statistics = []
    words = [path for field in schema for path in _dictionaries(field.name, field.type)]
    for place, field in enumerate(schema):
        column = None if first is None else first.column(place)
        if _is_number(field.type):
            statistics.append(field.name)
            if _is_whole(field.type) and not _is_constant(column):
                differences[field.name] = "DELTA_BINARY_PACKED"
        elif pa.types.is_dictionary(field.type):
            if not _has_few_words(column):
                words.remove(field.name)
        elif field.name in identifiers:
            differences[field.name] = "DELTA_BYTE_ARRAY"
        elif pa.types.is_string(field.type) or pa.types.is_binary(field.type):
            if field.name in keys:
                statistics.append(field.name)
            if _repeats(column):
                words.append(field.name)
    return {
        "use_dictionary": words,
        "column_encoding": differences,
        "write_statistics": statistics,
        "store_decimal_as_integer": True,
    }


def with_distinct_words(batch: pa.RecordBatch, words: Collection[str]) -> pa.RecordBatch:
    """The batch, with no word twice in the dictionary of transactions.

    A log can hold a GTID twice, and Arrow's writer takes each word of a dictionary for another: behind its
    words it writes as many bytes as those that it left out have, and these are what the memory held before.

    Args:
        batch: rows.
        words: the columns that are written through dictionaries.
    """
    if _TRANSACTION not in words or _TRANSACTION not in batch.schema.names:
        return batch
    column = batch.column(_TRANSACTION)
    if pc.count_distinct(column.dictionary).as_py() == len(column.dictionary):
        return batch
    place = batch.schema.get_field_index(_TRANSACTION)
    encoded = column.dictionary_decode().dictionary_encode()
    return batch.set_column(place, batch.schema.field(place), encoded)


def _dictionaries(path: str, data_type: pa.DataType) -> Iterator[str]:
    """The paths of a column's leaves that Arrow has as dictionaries."""
    if pa.types.is_dictionary(data_type):
        yield path
    elif pa.types.is_list(data_type):
        yield from _dictionaries(f"{path}.list.element", data_type.value_type)
    elif pa.types.is_struct(data_type):
        for field in data_type:
            yield from _dictionaries(f"{path}.{field.name}", field.type)


def _is_number(data_type: pa.DataType) -> bool:
    """Whether values are numbers of some kind, times among them."""
    return bool(
        pa.types.is_integer(data_type)
        or pa.types.is_temporal(data_type)
        or pa.types.is_decimal(data_type)
        or pa.types.is_floating(data_type)
    )


def _is_whole(data_type: pa.DataType) -> bool:
    """Whether values are written as whole numbers of 32 or 64 bits."""
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision <= _INTEGER_DECIMAL_DIGITS)
    return not pa.types.is_floating(data_type)


def _is_constant(column: pa.Array | None) -> bool:
    """Whether all values are the same as the first, nulls aside."""
    if column is None or not len(column):
        return False
    return bool(pc.all(pc.equal(column, column[0])).as_py() and column[0].is_valid)


def _has_few_words(column: pa.DictionaryArray | None) -> bool:
    """Whether a dictionary is much shorter than its column."""
    if column is None or len(column) <= _SAMPLE_ROWS:
        return True
    return len(column.dictionary) * _DISTINCT_SHARE <= len(column)


def _repeats(column: pa.Array | None) -> bool:
    """Whether a sample of the values, from the middle, has few distinct ones."""
    if column is None or len(column) - column.null_count < _SAMPLE_ROWS:
        return False
    sample = column.slice((len(column) - _SAMPLE_ROWS) // 2, _SAMPLE_ROWS)
    return bool(pc.count_distinct(sample).as_py() * _DISTINCT_SHARE <= _SAMPLE_ROWS)
