"""Convert a dump's values to Arrow columns, with the types of rows decoded from logs."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import DamagedError
from binx.rows.columns.arrays import ColumnArrays, ColumnBuffers
from binx.rows.columns.types import INTEGER_NAMES, ArrowOptions, Kind, LogicalType, arrow_type

Misfit = tuple[int, str]
"""Row number and text of a value that the Arrow type cannot hold; it is null in the column."""

UTF8MB3 = frozenset({"utf8", "utf8mb3"})
"""Names of the character set that mysqldump before MySQL 8.0 writes; it has no characters beyond U+FFFF."""
_SUPPLEMENTARY = frozenset({"utf8mb4", "utf16", "utf16le", "utf32", "gb18030"})
"""Character sets that have them."""

_SRID_SIZE = 4
_BITS_SIZE = 8
_SHOWN = 40
_DATE_SIZE = 10
_MOST_HOURS = 838
_NUMBERS = frozenset({*INTEGER_NAMES, Kind.YEAR, Kind.FLOAT32, Kind.FLOAT64, Kind.DECIMAL})
_MOMENTS = frozenset({Kind.DATE, Kind.DATETIME, Kind.TIMESTAMP})
_ODD_DAY = r"^0000|-00|-02-(29|3)|-(0[469]|11)-31"
"""Matches every date that a server can store and that may not exist in the calendar."""

_TIME = r"^(?P<sign>-?)(?P<hour>\d{2,3}):(?P<minute>[0-5]\d):(?P<second>[0-5]\d)(?:\.(?P<fraction>\d{1,6}))?$"
_FRACTION_DIGITS = 6


class DumpColumn:
    """One column of a dump.

    Attributes:
        unsure: number of values with ``?`` where the server wrote that for characters that the dump's
            character set lacks.

    Args:
        names: the dump's character set; ``binary`` for text in the column's own.
    """

    def __init__(self, logical: LogicalType, options: ArrowOptions, names: str) -> None:
        self.unsure = 0
        lacks = logical.kind is Kind.JSON or logical.charset in _SUPPLEMENTARY
        self._lacks = lacks and names in UTF8MB3
        self._logical = logical
        self._type: pa.DataType = arrow_type(logical, options)
        charset = (logical.charset if names == "binary" else None) or "utf8mb4"
        self._text_arrays = ColumnArrays(LogicalType(Kind.TEXT, "text", charset=charset), ArrowOptions())
        self._arrays = ColumnArrays(logical, ArrowOptions())

    @property
    def undecodable(self) -> int:
        r"""Number of values that are invalid in their character set; they contain ``\xNN`` escapes."""
        return self._text_arrays.undecodable

    def array(self, text_column: tuple[Any, int, Any, Any], rows: int) -> tuple[pa.Array, list[Misfit]]:
        """Convert texts to the column's values.

        Raises:
            DamagedError, ArrowInvalid: a value is not of the column's type.
        """
        validity, nulls, offsets, data = text_column
        texts = ColumnBuffers(offsets, data, None, validity, nulls)
        kind = self._logical.kind
        if kind in _MOMENTS:
            return _moments(texts.array(pa.string(), rows), self._type)
        return self._values(kind, texts, rows), []

    def _values(self, kind: Kind, texts: ColumnBuffers, rows: int) -> pa.Array:
        if kind in _NUMBERS:
            return texts.array(pa.string(), rows).cast(self._type)
        if kind in (Kind.BITS, Kind.BOOL):
            numbers = _bits(texts.array(pa.binary(), rows))
            return (numbers if kind is Kind.BOOL else numbers.view(pa.uint64())).cast(self._type)
        if kind is Kind.TIME:
            return _times(texts.array(pa.string(), rows)).cast(self._type)
        if kind is Kind.GEOMETRY:
            return _decoded(self._arrays, _with_srids(texts, texts.array(pa.binary(), rows)), rows)
        if kind in (Kind.BINARY, Kind.VECTOR):
            return _decoded(self._arrays, texts, rows)
        text = _decoded(self._text_arrays, texts, rows)
        if self._lacks:
            self.unsure += pc.sum(pc.match_substring(text, "?")).as_py() or 0
        if kind is Kind.ENUM:
            # Indices have 32 bits, as in rows decoded from logs.
            return text.dictionary_encode()
        if isinstance(self._type, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(self._type, text)
        return text.cast(self._type)


def _decoded(column: ColumnArrays, buffers: ColumnBuffers, rows: int) -> pa.Array:
    """Convert buffers as for rows decoded from logs."""
    decoded = column.column(buffers, rows)
    return decoded if isinstance(decoded, pa.Array) else decoded.array(column.type, rows)


def _moments(texts: pa.Array, data_type: pa.DataType) -> tuple[pa.Array, list[Misfit]]:
    """Parse dates and times; those that do not exist in the calendar become null misfits."""
    zone = pa.types.is_timestamp(data_type) and data_type.tz is not None
    read_as = pa.timestamp("us") if zone else data_type
    misfits: list[Misfit] = []
    suspects = pc.indices_nonzero(pc.match_substring_regex(texts, _ODD_DAY))
    if len(suspects):
        pairs = zip(suspects.to_pylist(), texts.take(suspects).to_pylist(), strict=True)
        misfits = [(row, text) for row, text in pairs if not _is_day(text[:_DATE_SIZE])]
        flags = bytearray(len(texts))
        for row, _ in misfits:
            flags[row] = 1
        lost = pa.Array.from_buffers(pa.uint8(), len(texts), [None, pa.py_buffer(flags)]).cast(pa.bool_())
        texts = pc.if_else(lost, pa.nulls(len(texts), pa.string()), texts)
    return texts.cast(read_as).cast(data_type), misfits


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _times(texts: pa.Array) -> pa.Array:
    """Parse TIME values to microseconds."""
    groups = pc.extract_regex(texts, _TIME)
    if groups.null_count > texts.null_count:
        raise _wrong_value(texts.filter(pc.and_(groups.is_null(), texts.is_valid()))[0].as_py())
    sign, *clock, fraction = groups.flatten()
    fraction = pc.utf8_rpad(fraction, _FRACTION_DIGITS, "0")
    hours, minutes, seconds, microseconds = (group.cast(pa.int64()) for group in (*clock, fraction))
    if len(texts) and (pc.max(hours).as_py() or 0) > _MOST_HOURS:
        raise _wrong_value(texts.filter(pc.greater(hours, _integer(_MOST_HOURS)))[0].as_py())
    for number, size in ((minutes, 60), (seconds, 60), (microseconds, 1_000_000)):
        hours = pc.add(pc.multiply(hours, _integer(size)), number)
    return pc.if_else(pc.equal(sign, pa.scalar("-", pa.string())), pc.negate(hours), hours)


def _bits(values: pa.Array) -> pa.Array:
    """Convert the big-endian bytes of BIT columns to numbers."""
    validity, offsets, data = values.buffers()
    if (pc.max(pc.binary_length(values)).as_py() or 0) > _BITS_SIZE:
        raise DamagedError(f"expected a BIT of at most {_BITS_SIZE} bytes, found more")
    bounds, octets = np.frombuffer(offsets, np.int32)[: len(values) + 1], np.frombuffer(data, np.uint8)
    numbers = np.zeros(len(values), np.int64)
    for index in range(_BITS_SIZE):
        positions = bounds[1:] - 1 - index
        present = np.flatnonzero(positions >= bounds[:-1])
        numbers[present] |= octets[positions[present]].astype(np.int64) << 8 * index
    buffers = [validity, pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.int64(), len(values), buffers, values.null_count)


def _with_srids(buffers: ColumnBuffers, values: pa.Array) -> ColumnBuffers:
    """Split geometries into shapes and the SRIDs before them."""
    if (pc.min(pc.binary_length(values)).as_py() or _SRID_SIZE) < _SRID_SIZE:
        raise DamagedError("expected a geometry, found fewer bytes than its reference system takes")
    _, offsets, data = values.fill_null(pa.scalar(bytes(_SRID_SIZE), pa.binary())).buffers()
    bounds, octets = np.frombuffer(offsets, np.int32)[: len(values) + 1], np.frombuffer(data, np.uint8)
    heads = bounds[:-1, None] + np.arange(_SRID_SIZE, dtype=np.int32)
    is_shape = np.ones(len(octets), np.bool_)
    is_shape[heads] = False
    without = bounds - _SRID_SIZE * np.arange(len(values) + 1, dtype=np.int32)
    return buffers._replace(values=without, data=octets[is_shape], srids=octets[heads].tobytes())


def _integer(number: int) -> pa.Scalar:
    return pa.scalar(number, pa.int64())


def _wrong_value(text: str) -> DamagedError:
    return DamagedError(f"expected a value of the column's type, found {text[:_SHOWN]!r}")
