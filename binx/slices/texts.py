"""Columns of values as columns of text, whole columns at a time: what SQL and JSON have in common.

All texts are ``large_binary`` in UTF-8: a value of 1 GiB doubles in hexadecimal, and offsets of 32 bits end
at 2 GiB. Texts that are too long to be turned into UTF-8 in one go are turned piece by piece.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.charset import Charset
from binx.kernels.render.row_changes import Spelling
from binx.log.arrow import arrow_array
from binx.rows.columns.types import LogicalType
from binx.rows.images import BatchImages, Images
from binx.slices.pieces import Spelled
from binx.source.wording import encoded

Writer = Callable[[pa.Array, LogicalType], tuple[Spelled, ...]]
"""Gives a column of a type as text."""

TEXT = pa.large_binary()
EMPTY = pa.scalar(b"", TEXT)

EXACT_DIGITS = 18
"""Digits of a DECIMAL that 64 bits hold."""


def constant(text: str | bytes) -> pa.Scalar:
    """A text that stands beside every value."""
    return pa.scalar(encoded(text) if isinstance(text, str) else text, TEXT)


def python_reals(array: pa.Array) -> pa.Array:
    """Floating-point numbers as Python prints them, those of 32 bits by the fewest digits that tell them."""
    texts = as_text(array).to_pylist()
    return pa.array([None if text is None else repr(float(text)).encode() for text in texts], TEXT)


def python_json_reals(array: pa.Array) -> pa.Array:
    """The same as JSON of Python has them: what no number is stands in quotes."""
    texts, finite = python_reals(array), pc.is_finite(array)
    return texts if pc.all(finite).as_py() else pc.if_else(finite, texts, quoted(texts, '"'))


def as_text(array: pa.Array) -> pa.Array:
    """Numbers as digits, text as it is."""
    if pa.types.is_large_binary(array.type):
        return array
    return array.cast(pa.large_string()).cast(TEXT)


def quoted(array: pa.Array, quote: str) -> pa.Array:
    """Texts that need no escaping, between quotes."""
    return pc.binary_join_element_wise(constant(quote), array, constant(quote), EMPTY)


def quoted_times(spelling: Spelling, quote: bytes, null: bytes) -> Writer:
    """Writes a column of dates or times between quotes."""

    def write(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
        return (Spelled(spelling, array, quote, quote, null, parameter=logical.fraction),)

    return write


def decimals(array: pa.Array) -> pa.Array:
    """All digits of DECIMAL values, never with an exponent, which would make them floating-point."""
    texts = array.cast(pa.string())
    scientific = pc.fill_null(pc.match_substring(texts, "E"), False)
    if pc.any(scientific).as_py():
        plain = [format(value, "f") for value in array.filter(scientific).to_pylist()]
        texts = pc.replace_with_mask(texts, scientific, pa.array(plain, pa.string()))
    return as_text(texts)


def per_distinct(array: pa.Array, convert: Any) -> pa.Array:
    """Convert each distinct value once, in Python."""
    words = array.dictionary_encode()
    values = pa.array([convert(value) for value in words.dictionary.to_pylist()], TEXT)
    return values.take(words.indices)


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


LONG_BYTES = 1024 * 1024
"""Bytes from which on a value is long."""

CHUNK_BYTES = 64 * 1024
"""How much of a long value is taken at a time."""

_OVERLAP = 8
"""More bytes than a character has in any set."""


def is_long(array: pa.Array) -> bool:
    """Whether a column, of bytes or text, has a long value."""
    if array.nbytes < LONG_BYTES:
        return False
    # Typing knows this function only by the name that pyarrow makes when it is loaded.
    compute: Any = pc
    return bool((compute.max(compute.binary_length(array)).as_py() or 0) >= LONG_BYTES)


class LongText:
    """The values of a column of bytes as text, in pieces."""

    def __init__(self, array: pa.Array, charset: Charset) -> None:
        self._array = array
        self._charset = charset

    def chunks(self, row: int) -> Iterator[memoryview]:
        """The bytes of a row's value."""
        return chunks_of(self._array, row)

    def strict(self, row: int) -> Iterator[str | None]:
        """The text of a row's value; None where it is no text in its character set, and then nothing more."""
        for piece in self._whole(row):
            text = self._charset.decode_strictly(piece)
            yield text
            if text is None:
                return

    def text(self, row: int) -> Iterator[str]:
        r"""The text of a row's value, with ``\xNN`` for bytes that are no character."""
        return map(self._charset.decode, self._whole(row))

    def _whole(self, row: int) -> Iterator[bytes]:
        """The bytes in pieces that end where a character ends, as far as they are characters."""
        begun = b""
        for chunk in self.chunks(row):
            begun += chunk
            whole = self._whole_size(begun)
            yield begun[:whole]
            begun = begun[whole:]
        if begun:
            yield begun

    def _whole_size(self, data: bytes) -> int:
        """How many of the first bytes are whole characters: a codec keeps back the beginning of one."""
        if self._charset.max_bytes == 1 or self._charset.codec is None:
            return len(data)
        decoder = codecs.getincrementaldecoder(self._charset.codec)("replace")
        decoder.decode(data)
        held, _ = decoder.getstate()
        return len(data) - min(len(held), _OVERLAP)


def value_of(array: pa.Array, row: int) -> memoryview:
    """The bytes of a value of a column of bytes or text, where they are: Arrow's scalars would be copies."""
    _, offsets, data = array.buffers()
    wide = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    places = memoryview(offsets).cast("q" if wide else "i")[array.offset + row :]
    return memoryview(data or b"").cast("B")[places[0] : places[1]]


def chunks_of(array: pa.Array, row: int) -> Iterator[memoryview]:
    """The bytes of a value of a column of bytes or text, in chunks."""
    value = value_of(array, row)
    for start in range(0, len(value), CHUNK_BYTES):
        yield value[start : start + CHUNK_BYTES]


def long_values_differ(array: pa.Array, rows: pa.Array, others: pa.Array) -> pa.BooleanArray:
    """Whether the values of some rows are others than those of other rows, without a copy of any."""
    valid = array.is_valid().to_pylist()

    def differ(one: int, other: int) -> bool:
        if not (valid[one] and valid[other]):
            return valid[one] is not valid[other]
        return value_of(array, one) != value_of(array, other)

    return arrow_array(list(map(differ, rows.to_pylist(), others.to_pylist())), pa.bool_())


def changed_values(images: BatchImages, place: int, before: Images, after: Images) -> pa.BooleanArray:
    """For which updates a column's value is another one than before, to the last bit."""
    if place not in before.columns:
        return pa.repeat(pa.scalar(True), images.size_of(after))
    changed = None
    for values in _comparable(images, place):
        if _has_bytes(values.type) and is_long(values):
            which = long_values_differ(values, before.rows, after.rows)
        else:
            old, new = before.pick(values), after.pick(values)
            which = pc.not_equal(old, new)
            if old.null_count or new.null_count:
                which = pc.fill_null(which, pc.xor(old.is_null(), new.is_null()))
        changed = which if changed is None else pc.or_(changed, which)
    return changed


def _comparable(images: BatchImages, place: int) -> Iterator[pa.Array]:
    """Columns of which one differs where the column's values do."""
    column = images.column(place)
    kind = column.type
    if pa.types.is_struct(kind):
        yield from column.flatten()
    elif pa.types.is_list(kind):
        yield _bytes_of_floats(column)
    elif pa.types.is_dictionary(kind):
        yield column.indices
    elif pa.types.is_floating(kind):
        yield column.view(pa.int32() if kind == pa.float32() else pa.int64())
    else:
        yield column
    misfits = images.misfits.get(images.columns[place].name)
    if misfits is not None:
        texts = dict(misfits)
        yield pa.array([texts.get(row) for row in range(len(column))], pa.string())


def _has_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_string(kind))


def _bytes_of_floats(array: pa.Array) -> pa.Array:
    """A column of VECTOR as the bytes of its floats."""
    offsets = pc.shift_left(
        pa.Array.from_buffers(pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset),
        pa.scalar(2, pa.int32()),
    )
    data = pa.Array.from_buffers(
        pa.binary(), len(array), [None, offsets.buffers()[1], array.values.buffers()[1]]
    )
    return pc.if_else(array.is_valid(), data, pa.scalar(None, pa.binary())) if array.null_count else data
