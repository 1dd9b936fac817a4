"""Values as SQL literals.

Row values are read in the session that the script sets up, in which backslashes escape: texts with
backslashes, line breaks, tabs or zero bytes are single-quoted with escapes, which keeps them readable. Names
and settings are read in sessions of any ``sql_mode``, possibly with NO_BACKSLASH_ESCAPES: there such texts
are hexadecimal (:func:`text_literal`). Texts with other control characters are always hexadecimal. Numbers
with an exponent are DOUBLE, those without are exact (MySQL manual, "String Literals", "Numeric Literals").
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.event.charset import DEFAULT_CHARSET, Charset
from binx.event.charset import charset as charset_of_name
from binx.kernels.render.transactions import Spelling
from binx.rows.change_groups import BatchImages
from binx.rows.columns.arrays import decoded
from binx.rows.columns.schema import Provenance
from binx.rows.columns.types import Kind, LogicalType, bytes_literal
from binx.source.wording import encoded
from binx.sql.values import TEXT, Spelled, ValueWriter, as_text, is_long, mapped_charset

_FLOAT32_MAX = 3.4028234663852886e38
"""Its shortest decimal form, 3.4028235e38, is greater, and servers reject it as out of range."""

_PRINTABLE = re.compile(rb"[\x20-\x5b\x5d-\x7e]*")

_UNSAFE = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Characters that make a text hexadecimal, as in the kernel."""

_ESCAPES = str.maketrans({"'": "''", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\0"})
_ESCAPED = frozenset("\\\n\r\t\0")
"""Characters whose escapes are valid only in sessions in which backslashes escape."""


def comment_text(text: str) -> str:
    """Escape unprintable characters, so that a comment stays on its line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text)


def text_literal(text: str, *, escapes: bool = False) -> str:
    """Quote a string; with ``escapes`` for sessions in which backslashes escape, else for all."""
    if text.isprintable() and "'" not in text and "\\" not in text:
        return f"'{text}'"
    text = encoded(text).decode()
    if _UNSAFE.search(text) or not (escapes or _ESCAPED.isdisjoint(text)):
        return f"_utf8mb4 {bytes_literal(text.encode().hex())}"
    return f"'{text.translate(_ESCAPES)}'"


class SqlValues(ValueWriter):
    """Writes columns as SQL.

    Args:
        compared: write values for comparisons: FLOAT with the digits of the corresponding DOUBLE, text in
            utf8mb4.
    """

    null = b"NULL"
    quote = b"'"
    string = Spelling.SPELL_SQL
    true, false = b"1", b"0"

    def __init__(self, *, compared: bool = False) -> None:
        self._compared = compared

    def column(self, images: BatchImages, index: int) -> tuple[Spelled, ...]:
        """Write a column; text of an unknown character set as bytes, which servers accept unchanged."""
        if not has_unknown_charset(images, index):
            return super().column(images, index)
        array = images.column(index)
        if is_long(array):
            return (self.binary(array)._replace(null=self.null),)
        literals = array.cast(pa.binary()).dictionary_encode()
        # Printable ASCII stays text, because it is the same in nearly all character sets.
        texts = [
            text_literal(value.decode()) if _PRINTABLE.fullmatch(value) else bytes_literal(value.hex())
            for value in literals.dictionary.to_pylist()
        ]
        return (Spelled(Spelling.SPELL_TEXT, pa.array(texts, TEXT).take(literals.indices), null=self.null),)

    def misfit(self, text: str, logical: LogicalType) -> str:
        """Write the number of an ENUM or SET value, or the text of another value that does not fit."""
        return text if logical.kind in {Kind.ENUM, Kind.SET} else text_literal(text)

    def decimals(self, array: pa.Array) -> Spelled:
        """DECIMAL without quotes."""
        return super().decimals(array)._replace(open=b"", close=b"")

    def binary(self, array: pa.Array) -> Spelled:
        """Bytes in hexadecimal."""
        return Spelled(Spelling.SPELL_HEXADECIMAL, array, b"x'", b"'")

    def vector(self, array: pa.Array) -> Spelled:
        """The bytes of the floats."""
        return self.binary(array)

    def document(self, array: pa.Array) -> Spelled:
        """A document's text, or an expression that preserves the types of its values."""
        are_written = pc.or_(pc.starts_with(array, "JSON_"), pc.starts_with(array, "CAST"))
        if not pc.any(are_written).as_py():
            return Spelled(self.string, array)
        literals = [
            text if text is None or is_written else text_literal(text, escapes=True)
            for text, is_written in zip(
                array.cast(pa.large_string()).to_pylist(), are_written.to_pylist(), strict=True
            )
        ]
        return Spelled(Spelling.SPELL_TEXT, pa.array(literals, pa.large_string()).cast(TEXT))

    def text(self, array: pa.Array, logical: LogicalType) -> Spelled:
        """Text as characters; bytes that are invalid in its character set unchanged."""
        charset = mapped_charset(array, logical)
        if charset is None:
            known = None if logical.charset is None else charset_of_name(logical.charset)
            return self._with_bytes_of(DEFAULT_CHARSET if known is None else known.name, array)
        text = decoded(array, charset)
        if text is not None and _are_written_back(text, charset):
            return self._with_bytes_of(DEFAULT_CHARSET, text)
        words = array.dictionary_encode()
        literals = [self._literal(charset, value) for value in words.dictionary.to_pylist()]
        return Spelled(Spelling.SPELL_TEXT, pa.array(literals, TEXT).take(words.indices))

    def _with_bytes_of(self, charset: str, array: pa.Array) -> Spelled:
        odd_open, odd_close = self._around(charset)
        return Spelled(self.string, array, odd_open=odd_open, odd_close=odd_close)

    def _around(self, charset: str) -> tuple[bytes, bytes]:
        """Return the text around the digits of bytes that are taken unchanged."""
        if self._compared:
            return f"CONVERT(_{charset} x'".encode(), b"' USING utf8mb4)"
        return f"_{charset} x'".encode(), b"'"

    def _literal(self, charset: Charset, value: bytes) -> bytes:
        text = charset.decode_strictly(value)
        if text is not None and charset.is_written_back(text):
            return text_literal(text, escapes=True).encode()
        return value.hex().encode().join(self._around(charset.name))

    def reals(self, array: pa.Array) -> Spelled:
        """Shortest digits that parse to the same number, always with an exponent.

        Raises:
            RefusedError: SQL has no literal for a number.
        """
        if self._compared and pa.types.is_float32(array.type):
            array = array.cast(pa.float64())
        if not pc.all(pc.is_finite(array)).as_py() and array.null_count < len(array):
            raise RefusedError("found NaN or infinity, for which SQL has no literal")
        texts = as_text(array)
        if pa.types.is_float32(array.type):
            wide = array.cast(pa.float64())
            again = texts.cast(pa.large_string()).cast(pa.float64()).cast(pa.float32())
            largest = pc.equal(pc.abs(wide), pa.scalar(_FLOAT32_MAX))
            astray = pc.or_(pc.not_equal(again, array), largest)
            if pc.any(astray).as_py():
                texts = pc.if_else(astray, as_text(wide), texts)
        return Spelled(Spelling.SPELL_REAL, texts)

    def members(self, array: pa.Array, logical: LogicalType) -> Spelled:
        """ENUM and SET by name; by number if the members are unknown or ambiguous."""
        if logical.members is None or not pa.types.is_integer(array.type):
            return super().members(array, logical)
        distinct = array.dictionary_encode()
        literal = _enum_literal if logical.kind is Kind.ENUM else _set_literal
        texts = [literal(number, logical.members) for number in distinct.dictionary.to_pylist()]
        return Spelled(Spelling.SPELL_TEXT, pa.array(texts, pa.string()).take(distinct.indices))

    def geometry(self, srid: pa.Array, wkb: pa.Array) -> tuple[Spelled, ...]:
        """The server's storage format: SRID in four bytes, little-endian, then WKB."""
        are_empty = pc.equal(pc.binary_length(wkb), 0)
        if pc.any(are_empty).as_py():
            # Empty values have no SRID either: MariaDB stores them in existing rows when a column is added.
            stored = pa.Array.from_buffers(
                pa.binary(4), len(srid), srid.buffers(), srid.null_count, srid.offset
            )
            srid = pc.if_else(are_empty, pa.scalar(b"", pa.binary()), stored.cast(pa.binary()))
        return (
            Spelled(Spelling.SPELL_HEXADECIMAL, srid, open=b"x'"),
            Spelled(Spelling.SPELL_HEXADECIMAL, wkb, close=b"'"),
        )


def has_unknown_charset(images: BatchImages, index: int) -> bool:
    """Whether neither the log nor a definition gives the character set of a text column."""
    column = images.columns[index]
    return column.type.kind is Kind.TEXT and column.provenance.charset is Provenance.NONE


def _are_written_back(texts: pa.Array, charset: Charset) -> bool:
    """Whether a server encodes each text to the same bytes again."""
    if charset.is_one_to_one:
        return True
    known = texts.drop_null()
    whole = pa.ListArray.from_arrays(pa.array([0, len(known)], pa.int32()), known)
    return charset.is_written_back(pc.binary_join(whole, "")[0].as_py())


def _enum_literal(number: int, members: tuple[str, ...]) -> str:
    name = members[number - 1] if 0 < number <= len(members) else ""
    return text_literal(name) if name and members.count(name) == 1 else str(number)


def _set_literal(number: int, members: tuple[str, ...]) -> str:
    names = [member for bit, member in enumerate(members) if number >> bit & 1]
    is_clear = names and all(name and members.count(name) == 1 for name in names)
    return text_literal(",".join(names)) if is_clear else str(number)
