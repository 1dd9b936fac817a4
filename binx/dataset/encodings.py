"""How the columns of a Parquet file are encoded: its first rows are written in each way, the smallest wins.

Only encodings are used that Spark's vectorized reader and DuckDB take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_SAMPLE_ROWS = 4_096
"""Rows that are written in each way. Text that repeats in a large table repeats among so many."""

_FEWEST_ROWS = 1_024
"""Of fewer rows it does not matter, and there may be thousands of such files."""

_DICTIONARY_BYTES = 4 * 1024 * 1024
"""Where the words of a row group take more, pyarrow writes its other values plain."""

_INTEGER_DECIMAL_DIGITS = 18
"""Decimals of so many digits are written as integers."""

_WORTH = 0.9
"""A dictionary takes longer to write than differences, and must be smaller by a tenth."""


def writer_settings(
    schema: pa.Schema, first: pa.Table | None, identifiers: Collection[str] = ()
) -> dict[str, Any]:
    """Arguments of ``pyarrow.parquet.ParquetWriter`` that say how columns are encoded.

    Whole numbers, times and short decimals are written as differences (``DELTA_BINARY_PACKED``), identifiers
    as what differs from the value before (``DELTA_BYTE_ARRAY``), and text through a dictionary, where the
    first rows are not smaller in another way.

    Args:
        first: the first rows; None where there are none.
        identifiers: columns of text that mostly ascend, as GTIDs do.
    """
    differences = {
        field.name: "DELTA_BYTE_ARRAY" if field.name in identifiers else "DELTA_BINARY_PACKED"
        for field in schema
        if field.name in identifiers or _is_whole(field.type)
    }
    words = [path for field in schema for path in _texts(field.name, field.type) if path not in differences]
    if first is not None and first.num_rows >= _FEWEST_ROWS:
        words, differences = _smallest(first.slice(0, _SAMPLE_ROWS), differences)
    return {
        "use_dictionary": words,
        "column_encoding": differences or None,
        "dictionary_pagesize_limit": _DICTIONARY_BYTES,
        "store_decimal_as_integer": True,
    }


def _smallest(sample: pa.Table, differences: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The columns to write through dictionaries, and those to write as differences; others are plain."""
    in_words = _sizes(sample, use_dictionary=True)
    without = _sizes(sample, use_dictionary=False, column_encoding=differences or None)
    words = [
        path
        for path, size in in_words.items()
        if size < without[path] * (_WORTH if path in differences else 1)
    ]
    return words, {path: encoding for path, encoding in differences.items() if path not in words}


def _sizes(sample: pa.Table, **settings: Any) -> dict[str, int]:
    """What the columns of a sample come to, by their paths."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        sample.schema,
        compression="zstd",
        compression_level=1,
        write_statistics=False,
        store_decimal_as_integer=True,
        **settings,
    ) as writer:
        writer.write_table(sample)
    group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
    columns = (group.column(place) for place in range(group.num_columns))
    return {column.path_in_schema: column.total_compressed_size for column in columns}


def _is_whole(data_type: pa.DataType) -> bool:
    """Whether values are written as whole numbers of 32 or 64 bits."""
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision <= _INTEGER_DECIMAL_DIGITS)
    return bool(pa.types.is_integer(data_type) or pa.types.is_temporal(data_type))


def _texts(path: str, data_type: pa.DataType) -> Iterator[str]:
    """The paths of a column's leaves that are text."""
    if pa.types.is_list(data_type):
        yield from _texts(f"{path}.list.element", data_type.value_type)
    elif pa.types.is_struct(data_type):
        for field in data_type:
            yield from _texts(f"{path}.{field.name}", field.type)
    elif pa.types.is_dictionary(data_type) or pa.types.is_string(data_type):
        yield path


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
