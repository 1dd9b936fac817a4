"""How the columns of Parquet files are encoded and compressed.

Rows from all over a table's first row group are written in each encoding, and the smallest result is taken;
how often values repeat in a whole row group is estimated. Columns that every data set has are settled
beforehand, by measurement. Only encodings that Spark's vectorized reader and DuckDB support are used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import ceil, log, log2
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.dataset.options import DEFAULT_ZSTD_LEVEL
from binx.log.arrow import ENCODED_ROWS

_SAMPLE_ROWS = 4_096
"""Rows written in each encoding to compare sizes; enough to show repetition in a large table's text."""

_COUNTED_ROWS = 16_384
"""Rows whose distinct values are counted."""

_SAMPLE_PIECES = 16
"""Pieces of a sample, from all over the first row group: its first rows may all be new keys, each once."""

_FEWEST_ROWS = 1_024
"""With fewer rows the encoding hardly matters, and there may be thousands of such files."""

_DICTIONARY_BYTES = 16 * 1024 * 1024
"""Dictionary size limit; beyond it, pyarrow writes the rest of a row group plain."""

_INTEGER_DECIMAL_DIGITS = 18
"""Decimals of up to this precision are written as integers."""

_WORTH = 0.85
"""A dictionary takes longer to write, unless it is this much smaller."""

_HOPELESS = 1.5
"""A dictionary this much larger in the sample will not be smaller in the row group."""

_COMPRESSIBLE = 0.95
"""Differences of which compression leaves more than this are not compressed: it takes 4 ns per value."""

_DELTA = "DELTA_BINARY_PACKED"

# Without it, pyarrow 23 and later end a page after 20,000 rows, however few bytes they take. Earlier ones do
# not know the argument.
_PAGES = {"max_rows_per_page": 1 << 20} if int(pa.__version__.partition(".")[0]) >= 23 else {}


def writer_settings(
    schema: pa.Schema,
    first: pa.Table | None,
    compression: str = "zstd",
    level: int | None = None,
    settled: Collection[str] = (),
) -> dict[str, Any]:
    """Return the arguments for ``pyarrow.parquet.ParquetWriter`` that encode and compress columns.

    By default, integers, times and short decimals use ``DELTA_BINARY_PACKED``, and text uses a dictionary,
    unless a sample is smaller in another encoding. Arrow's dictionaries are always written as such.

    Args:
        first: the first rows, or None.
        compression: the codec; columns in which it gains nothing are not compressed.
        level: of zstd; None for the default.
        settled: columns of which no sample is taken: their text is plain, and lists have dictionaries.
    """
    leaves = [leaf for field in schema for leaf in _leaves(field.name, field.type)]
    deltas = [field.name for field in schema if _is_integer(field.type)]
    words = [path for path, data_type in leaves if _has_dictionary(path, data_type, settled)]
    if compression == "zstd" and level is None:
        level = DEFAULT_ZSTD_LEVEL
    codecs: str | dict[str, str] = compression
    levels: int | dict[str, int] | None = level
    sampled = [name for name in schema.names if name not in settled]
    if first is not None and first.num_rows >= _FEWEST_ROWS and sampled:
        sample = _Sample(first.select(sampled), deltas)
        words = [path for path in words if path.partition(".")[0] in settled] + sample.words
        deltas = [path for path in deltas if path not in sample.words]
        if sample.incompressible and compression != "none":
            codecs = {path: "none" if path in sample.incompressible else compression for path, _ in leaves}
            if level is not None:
                levels = {path: level for path, codec in codecs.items() if codec != "none"}
    return {
        "compression": codecs,
        "compression_level": levels,
        "use_dictionary": words,
        "column_encoding": dict.fromkeys(deltas, _DELTA) or None,
        "dictionary_pagesize_limit": _DICTIONARY_BYTES,
        "store_decimal_as_integer": True,
        "write_batch_size": ENCODED_ROWS,
        **_PAGES,
    }


class _Sample:
    """Rows from all over a row group, written in each encoding.

    Args:
        rows: the row group.
        deltas: columns that can be written as differences.

    Attributes:
        words: paths of the columns that a dictionary makes smaller.
        incompressible: columns of differences that compression does not make smaller.
    """

    def __init__(self, rows: pa.Table, deltas: Collection[str]) -> None:
        self._whole = rows.num_rows
        self._rows = _pieces(rows, _SAMPLE_ROWS)
        self._more = _pieces(rows, _COUNTED_ROWS)
        dictionaries = {field.name for field in rows.schema if pa.types.is_dictionary(field.type)}
        with_words = self._sizes(use_dictionary=True)
        deltas = [path for path in deltas if path in with_words]
        without = self._sizes(use_dictionary=False, column_encoding=dict.fromkeys(deltas, _DELTA) or None)
        self.words = [
            path
            for path, (size, _) in with_words.items()
            if path in dictionaries or self._is_worth(path, size, without[path][0])
        ]
        self.incompressible = {
            path
            for path in deltas
            if path not in self.words and without[path][0] > without[path][1] * _COMPRESSIBLE
        }

    def _is_worth(self, path: str, size: int, without: int) -> bool:
        """Whether a dictionary makes a column smaller, given its sizes in the sample.

        The more rows, the more of their values are old ones, at a rate that two counts show.
        """
        if path not in self._rows.column_names or size > _HOPELESS * without:
            return size < _WORTH * without
        rows, more = self._rows.num_rows, self._more.num_rows
        few, many = _distinct(self._rows.column(path)), _distinct(self._more.column(path))
        growth = log(many / few) / log(more / rows) if more > rows else 1
        values = many * (self._whole / more) ** growth
        codes = min(size, rows * _bits(few) / 8)
        scale = self._whole / rows
        estimate = (size - codes) * values / few + codes * scale * _bits(values) / _bits(few)
        return bool(estimate < _WORTH * without * scale)

    def _sizes(self, **settings: Any) -> dict[str, tuple[int, int]]:
        """Return the bytes of each column, compressed and not, by its path."""
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(
            sink,
            self._rows.schema,
            compression="zstd",
            compression_level=DEFAULT_ZSTD_LEVEL,
            write_statistics=False,
            dictionary_pagesize_limit=_DICTIONARY_BYTES,
            store_decimal_as_integer=True,
            write_batch_size=ENCODED_ROWS,
            **settings,
        ) as writer:
            writer.write_table(self._rows)
        group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
        columns = (group.column(index) for index in range(group.num_columns))
        return {
            column.path_in_schema: (column.total_compressed_size, column.total_uncompressed_size)
            for column in columns
        }


def _pieces(rows: pa.Table, most: int) -> pa.Table:
    """Return up to so many rows, from all over the rows."""
    size = most // _SAMPLE_PIECES
    step = max(size, -(-rows.num_rows // _SAMPLE_PIECES))
    return pa.concat_tables(
        [rows.slice(start, size) for start in range(0, rows.num_rows, step)]
    ).combine_chunks()


def _distinct(column: pa.ChunkedArray) -> int:
    values = column.chunk(0)
    count: int = pc.count_distinct(getattr(values, "storage", values)).as_py()
    return max(1, count)


def _bits(values: float) -> int:
    """Return the bits of a number that tells so many values apart."""
    return max(1, ceil(log2(values)))


def _has_dictionary(path: str, data_type: pa.DataType, settled: Collection[str]) -> bool:
    """Whether a leaf has a dictionary without a sample."""
    column, _, rest = path.partition(".")
    if pa.types.is_dictionary(data_type):
        return True
    return bool(rest) if column in settled else bool(pa.types.is_string(data_type))


def _is_integer(data_type: pa.DataType) -> bool:
    """Whether values are written as 32-bit or 64-bit integers."""
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision <= _INTEGER_DECIMAL_DIGITS)
    return bool(pa.types.is_integer(data_type) or pa.types.is_temporal(data_type))


def _leaves(path: str, data_type: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the paths and types of what a column consists of in a Parquet file."""
    if pa.types.is_list(data_type):
        yield from _leaves(f"{path}.list.element", data_type.value_type)
    elif pa.types.is_map(data_type):
        yield from _leaves(f"{path}.key_value.key", data_type.key_type)
        yield from _leaves(f"{path}.key_value.value", data_type.item_type)
    elif pa.types.is_struct(data_type):
        for field in data_type:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path, data_type
