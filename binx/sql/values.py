"""Write columns as text, whole columns at a time: the format of each type in JSON, SQL and THL.

========================================  ===========================================================
in JSON
========================================  ===========================================================
integers, BIT(2–64), YEAR                 numbers, all digits, also beyond 2^53
FLOAT, DOUBLE                             numbers, the shortest digits that give the same value
DECIMAL                                   strings, all digits
BIT(1)                                    ``true`` and ``false``
DATE, TIME, DATETIME                      strings as the server prints them: ``"2026-03-02 09:30:00.25"``
TIMESTAMP                                 RFC 3339 in UTC: ``"2026-03-02T09:30:00.25Z"``
text, ENUM, SET, INET4, INET6, UUID       strings, members of a SET separated by commas
BINARY, VARBINARY, BLOB                   base64 strings, as in Debezium and Maxwell
JSON                                      the document itself; MariaDB's JSON is text
GEOMETRY and its subtypes                 ``{"srid": 4326, "wkb": "…base64…"}``
VECTOR                                    an array of numbers
========================================  ===========================================================

A value that its Arrow type cannot hold (a zero or partial date, say) is the text that the server prints. NULL
is ``null``, and so is a JSON document ``null``. THL has the same without quotes, bytes in hexadecimal, BIT(1)
as 1 or 0, and NULL as ``NULL``. See :mod:`binx.sql.literals` for SQL.

Texts are ``large_binary`` in UTF-8: a value of 1 GiB doubles in hexadecimal, and 32-bit offsets end at 2 GiB.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.charset import DEFAULT_CHARSET, Charset
from binx.event.charset import charset as charset_of_name
from binx.kernels.render.transactions import Spelling
from binx.rows.change_groups import BatchImages
from binx.rows.columns.arrays import UNMAPPED_CHARSETS, decoded
from binx.rows.columns.server_texts import decimal_texts
from binx.rows.columns.types import INTEGER_NAMES, Kind, LogicalType

TEXT = pa.large_binary()

_LONG_BYTES = 1024 * 1024
_INTEGERS = frozenset({*INTEGER_NAMES, Kind.BITS, Kind.YEAR})
_MEMBERS = frozenset({Kind.ENUM, Kind.SET})
_INTEGER_TEXT = r"^-?[0-9]+$"


class Spelled(NamedTuple):
    """A column as text.

    Attributes:
        spelling: how its values are written.
        open, close: text around each non-null value.
        null: text for null.
        odd_open, odd_close: text around the digits of a string that is not UTF-8, in SQL.
        parameter: fractional digits, or the scale.
    """

    spelling: Spelling
    column: pa.Array | None = None
    open: bytes = b""
    close: bytes = b""
    null: bytes = b""
    odd_open: bytes = b""
    odd_close: bytes = b""
    parameter: int = 0

    def within(self, opening: bytes, closing: bytes) -> Spelled:
        """Return a copy with more text around each non-null value."""
        return self._replace(open=opening + self.open, close=self.close + closing)


ColumnTexts = Callable[[int], tuple[Spelled, ...]]
"""Returns the values of the column at an index as text."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)


def plain_json(value: object) -> str:
    """Return a plain value as JSON on one line."""
    return _ENCODER.encode(value)


class ValueWriter:
    """Writes columns in a format; this base class writes JSON.

    Attributes:
        null: text for NULL.
        quote: quote around values that need no escapes.
        string: spelling of strings, with their quotes.
        true, false: BIT(1).
    """

    null = b"null"
    quote = b'"'
    string = Spelling.SPELL_JSON
    true, false = b"true", b"false"

    def column(self, images: BatchImages, index: int) -> tuple[Spelled, ...]:
        """Write a column of a batch, including values that do not fit its type, which are null in it."""
        column = images.columns[index]
        return self.values(images.column(index), column.type, images.misfits.get(column.name, ()))

    def values(
        self, values: pa.Array, logical: LogicalType, misfits: Sequence[tuple[int, str]]
    ) -> tuple[Spelled, ...]:
        """Write values of a type; ``misfits`` are the row and text of each that does not fit it.

        Args:
            values, logical: as in :meth:`spelled`.
        """
        spelled = self.spelled(values, logical)
        if not misfits:
            return spelled
        rows = pa.array([row for row, _ in misfits], pa.int64())
        texts = pa.array([self.misfit(text, logical).encode() for _, text in misfits], TEXT)
        which = pc.is_in(pa.array(range(len(values)), pa.int64()), value_set=rows)
        nulls = pc.if_else(values.is_valid(), pa.scalar(None, TEXT), pa.scalar(self.null, TEXT))
        misfit_texts = Spelled(Spelling.SPELL_TEXT, pc.replace_with_mask(nulls, which, texts))
        return (*(spelling._replace(null=b"") for spelling in spelled), misfit_texts)

    def spelled(self, array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
        """Write values of a type; one value may take several columns.

        Args:
            array: the column, of the type's Arrow type; JSON as its storage; text as text, or as bytes in its
                own character set.
            logical: its type.
        """
        first, *rest = self._spelled(array, logical)
        return (first._replace(null=self.null), *rest)

    def _spelled(self, array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
        kind = logical.kind
        if kind is Kind.GEOMETRY:
            return self.geometry(*array.flatten())
        return (self._single(kind, array, logical),)

    def _single(self, kind: Kind, array: pa.Array, logical: LogicalType) -> Spelled:
        if kind in _INTEGERS:
            return integers(array)
        if kind in _MEMBERS:
            return self.members(array, logical)
        match kind:
            case Kind.FLOAT32 | Kind.FLOAT64:
                return self.reals(array)
            case Kind.DECIMAL:
                return self.decimals(array)
            case Kind.BOOL:
                return Spelled(
                    Spelling.SPELL_TEXT, pc.if_else(array, constant(self.true), constant(self.false))
                )
            case Kind.DATE | Kind.DATETIME | Kind.TIMESTAMP | Kind.TIME:
                return self.times(kind, array, logical.fraction)
            case Kind.TEXT:
                return self.text(array, logical)
            case Kind.BINARY:
                return self.binary(array)
            case Kind.JSON:
                return self.document(array)
            case Kind.VECTOR:
                return self.vector(array)
            case _:
                return Spelled(self.string, array)

    def misfit(self, text: str, _: LogicalType) -> str:
        """Write a value that does not fit its column's type."""
        return plain_json(text)

    def quoted(self, spelling: Spelling, array: pa.Array, digits: int = 0) -> Spelled:
        """Write quoted values that need no escapes; ``digits`` are those of a fraction, or a scale."""
        return Spelled(spelling, array, self.quote, self.quote, parameter=digits)

    def decimals(self, array: pa.Array) -> Spelled:
        """DECIMAL, with all digits."""
        if not pa.types.is_decimal(array.type):
            return self.quoted(Spelling.SPELL_TEXT, array)
        if pa.types.is_decimal128(array.type):
            return self.quoted(Spelling.SPELL_DECIMAL, array, array.type.scale)
        return self.quoted(Spelling.SPELL_TEXT, as_text(decimal_texts(array)))

    def times(self, kind: Kind, array: pa.Array, digits: int) -> Spelled:
        """DATE, TIME, DATETIME and TIMESTAMP."""
        return self.quoted(_TIMES[kind], array, digits)

    def members(self, array: pa.Array, logical: LogicalType) -> Spelled:
        """ENUM and SET by name; by number if the members are not known."""
        return integers(array) if logical.members is None else Spelled(self.string, array)

    def text(self, array: pa.Array, logical: LogicalType) -> Spelled:
        r"""Text from any character set, with ``\xNN`` for invalid bytes."""
        charset = mapped_charset(array, logical)
        if charset is not None:
            texts = decoded(array, charset)
            array = (
                per_distinct(array, lambda value: charset.decode(value).encode()) if texts is None else texts
            )
        return Spelled(self.string, array)

    def reals(self, array: pa.Array) -> Spelled:
        """FLOAT and DOUBLE."""
        return Spelled(Spelling.SPELL_TEXT, _json_reals(array))

    def binary(self, array: pa.Array) -> Spelled:
        """Bytes."""
        return self.quoted(Spelling.SPELL_BASE64, array)

    def document(self, array: pa.Array) -> Spelled:
        """MySQL's documents; those of MariaDB are text."""
        return Spelled(Spelling.SPELL_TEXT, array)

    def geometry(self, srid: pa.Array, wkb: pa.Array) -> tuple[Spelled, ...]:
        """A spatial reference system ID and a shape."""
        return (
            Spelled(Spelling.SPELL_UNSIGNED, srid, open=b'{"srid": '),
            Spelled(Spelling.SPELL_BASE64, wkb, open=b', "wkb": "', close=b'"}'),
        )

    def vector(self, array: pa.Array) -> Spelled:
        """A list of numbers."""
        offsets = pa.Array.from_buffers(
            pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset
        )
        lists = pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), _json_reals(array.values))
        texts = pc.binary_join(lists, constant(b", "))
        if array.null_count:
            texts = pc.if_else(array.is_valid(), texts, pa.scalar(None, TEXT))
        return Spelled(Spelling.SPELL_TEXT, texts, b"[", b"]")


_TIMES = {
    Kind.DATE: Spelling.SPELL_DATE,
    Kind.DATETIME: Spelling.SPELL_MOMENT,
    Kind.TIMESTAMP: Spelling.SPELL_MOMENT,
    Kind.TIME: Spelling.SPELL_TIME,
}


class JsonValues(ValueWriter):
    """Writes columns as JSON."""

    def times(self, kind: Kind, array: pa.Array, digits: int) -> Spelled:
        """TIMESTAMP in RFC 3339."""
        if kind is not Kind.TIMESTAMP:
            return super().times(kind, array, digits)
        return Spelled(Spelling.SPELL_INSTANT, array, self.quote, b"Z" + self.quote, parameter=digits)


class ThlValues(JsonValues):
    """Writes columns as Tungsten's listing."""

    null = b"NULL"
    quote = b""
    string = Spelling.SPELL_ESCAPED
    true, false = b"1", b"0"

    def misfit(self, text: str, _: LogicalType) -> str:
        """The text, unquoted."""
        return text

    def binary(self, array: pa.Array) -> Spelled:
        """Bytes in hexadecimal."""
        return Spelled(Spelling.SPELL_HEXADECIMAL, array)


class ReadableValues(JsonValues):
    """JSON that is parsed again for display.

    Bytes are ``{"hex": …}`` and documents ``{"document": …}`` with their text, which distinguishes them from
    text and from each other. For a value of 1 MiB or more only the start is written, ``{"start": …,
    "is_text": …, "bytes": …, "digest": …}``.
    """

    def text(self, array: pa.Array, logical: LogicalType) -> Spelled:
        """Text, or its start."""
        if not is_long(array):
            return super().text(array, logical)
        charset = mapped_charset(array, logical) or _utf8()
        return _long_starts(array, charset, charset.decode)

    def binary(self, array: pa.Array) -> Spelled:
        """Bytes, or the first of them."""
        if is_long(array):
            return _long_starts(array, None, lambda value: {"hex": value.hex()})
        return Spelled(Spelling.SPELL_HEXADECIMAL, array, b'{"hex": "', b'"}')

    def document(self, array: pa.Array) -> Spelled:
        """A document, or the start of its text."""
        if is_long(array):
            return _long_starts(array, _utf8(), lambda value: {"document": value.decode()})
        return Spelled(Spelling.SPELL_JSON, array, b'{"document": ', b"}")


def _utf8() -> Charset:
    charset = charset_of_name(DEFAULT_CHARSET)
    assert charset is not None
    return charset


_START_CHARACTERS, _START_BYTES = 1024, 4096


def _long_starts(array: pa.Array, charset: Charset | None, short: Callable[[bytes], object]) -> Spelled:
    """Write a column that has some long values."""

    def text(value: memoryview) -> bytes:
        document = short(bytes(value)) if len(value) < _LONG_BYTES else _long_start(value, charset)
        return plain_json(document).encode()

    texts = [text(memoryview(one.as_buffer())) if one.is_valid else None for one in array]
    return Spelled(Spelling.SPELL_TEXT, pa.array(texts, TEXT))


def _long_start(value: memoryview, charset: Charset | None) -> dict[str, object]:
    first = bytes(value[:_START_BYTES])
    start = first.hex() if charset is None else charset.decode(first)
    return {
        "start": start[:_START_CHARACTERS],
        "is_text": charset is not None,
        "bytes": len(value),
        "digest": blake2b(value, digest_size=16).hexdigest(),
    }


def constant(text: bytes) -> pa.Scalar:
    """Return a text to combine with every value."""
    return pa.scalar(text, TEXT)


def mapped_charset(array: pa.Array, logical: LogicalType) -> Charset | None:
    """Return the character set of a column's bytes; None if they are UTF-8."""
    charset = None if logical.charset is None else charset_of_name(logical.charset)
    if charset is None or charset.name in UNMAPPED_CHARSETS or not pa.types.is_binary(array.type):
        return None
    return charset


def integers(array: pa.Array) -> Spelled:
    """Integers."""
    unsigned = pa.types.is_unsigned_integer(array.type)
    return Spelled(Spelling.SPELL_UNSIGNED if unsigned else Spelling.SPELL_SIGNED, array)


def as_text(array: pa.Array) -> pa.Array:
    """Return numbers as digits, and text unchanged."""
    if pa.types.is_large_binary(array.type):
        return array
    return array.cast(pa.large_string()).cast(TEXT)


def per_distinct(array: pa.Array, convert: Callable[[bytes], bytes]) -> pa.Array:
    """Convert each distinct value once, in Python."""
    distinct = array.dictionary_encode()
    values = pa.array([convert(value) for value in distinct.dictionary.to_pylist()], TEXT)
    return values.take(distinct.indices)


def is_long(array: pa.Array) -> bool:
    """Whether a column of bytes or text has a value of 1 MiB or more."""
    if array.nbytes < _LONG_BYTES:
        return False
    # pyarrow creates this function at import time, so type checkers do not know it.
    compute: Any = pc
    return bool((compute.max(compute.binary_length(array)).as_py() or 0) >= _LONG_BYTES)


def _json_reals(array: pa.Array) -> pa.Array:
    """Write floats with a point or an exponent, so that readers keep -0.0 and do not parse them as integers.

    JSON has no numbers for NaN and infinity; no server stores them, so they are strings.
    """
    texts = as_text(array)
    pointed = pc.binary_join_element_wise(texts, constant(b".0"), constant(b""))
    texts = pc.if_else(pc.match_substring_regex(texts, _INTEGER_TEXT), pointed, texts)
    finite = pc.is_finite(array)
    if pc.all(finite).as_py():
        return texts
    quoted = pc.binary_join_element_wise(constant(b'"'), texts, constant(b'"'), constant(b""))
    return pc.if_else(finite, texts, quoted)
