"""Values as SQL literals.

Values of rows are read in the session that the script itself sets, in which backslashes escape: texts with
backslashes, ends of lines, tabs or zeros stand in single quotes with escapes, so that they can be read. Names
and settings are read in sessions of any ``sql_mode``, maybe with NO_BACKSLASH_ESCAPES:
there such texts are hexadecimal (:func:`text_literal`). Texts with other control characters always are.
Numbers with an exponent are DOUBLE, those without are exact (MySQL manual, "String Literals", "Numeric
Literals").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.event.charset import DEFAULT_CHARSET, Charset
from binx.event.charset import charset as charset_of_name
from binx.kernels.render.row_changes import Spelling
from binx.rows.columns.arrays import UNMAPPED_CHARSETS, whole_text
from binx.rows.columns.types import INTEGER_NAMES, Kind, LogicalType
from binx.slices.pieces import Spelled
from binx.slices.texts import (
    EXACT_DIGITS,
    TEXT,
    LongText,
    Writer,
    as_text,
    constant,
    decimals,
    is_long,
    quoted_times,
)
from binx.source.wording import encoded

NULL = b"NULL"

_QUOTE = b"'"

FLOAT32_MAX = 3.4028234663852886e38
"""Its shortest digits, 3.4028235e38, lie above it, and servers refuse them as too large."""

_PRINTABLE = re.compile(rb"[\x20-\x5b\x5d-\x7e]*")

_UNSAFE = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""As in the kernel: what sends a text of a row into hexadecimal."""

_ESCAPED = frozenset("\\\n\r\t\0")
"""What has an escape, which is one only in sessions in which backslashes escape."""

_ESCAPES = str.maketrans({"'": "''", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\0"})


def comment_text(text: str) -> str:
    """Text that stays within its line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text)


def identifier(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str, *, escapes: bool = False) -> str:
    """One string; with ``escapes`` for sessions in which backslashes escape, else for all."""
    text = encoded(text).decode()
    if _UNSAFE.search(text) or not (escapes or _ESCAPED.isdisjoint(text)):
        return f"_utf8mb4 x'{text.encode().hex()}'"
    return f"'{text.translate(_ESCAPES)}'"


def sql_literals(array: pa.Array, logical: LogicalType, *, exact: bool = False) -> tuple[Spelled, ...]:
    """A column as literals, ``NULL`` for nulls.

    Args:
        array: the column, of the type's Arrow type; JSON as its storage; text as text, or as bytes in its own
            character set.
        logical: its type.
        exact: write what comparisons need: FLOAT with the digits of the DOUBLE that it is, text in utf8mb4.

    Raises:
        RefusedError: a number that SQL has no literal for.
    """
    if exact and logical.kind is Kind.FLOAT32:
        array = array.cast(pa.float64())
    if logical.kind is Kind.TEXT:
        return (_characters(array, logical, exact),)
    return _WRITERS[logical.kind](array, logical)


def _characters(array: pa.Array, logical: LogicalType, exact: bool) -> Spelled:
    """Text as the characters it has; bytes that are none in its character set as they are."""
    charset = None if logical.charset is None else charset_of_name(logical.charset)
    if charset is None or charset.name in UNMAPPED_CHARSETS or not pa.types.is_binary(array.type):
        odd_open, odd_close = _bare(DEFAULT_CHARSET if charset is None else charset.name, exact)
        return Spelled(Spelling.SPELL_SQL, array, null=NULL, odd_open=odd_open, odd_close=odd_close)
    if is_long(array):
        literal = _LongCharacters(array, charset, exact).literal
        return Spelled(Spelling.SPELL_ASKED, array, null=NULL, ask=literal)
    text = whole_text(array, charset)
    if text is not None and _are_written_back(text, charset):
        odd_open, odd_close = _bare(DEFAULT_CHARSET, exact=False)
        return Spelled(Spelling.SPELL_SQL, text, null=NULL, odd_open=odd_open, odd_close=odd_close)
    words = array.dictionary_encode()
    values = words.dictionary.to_pylist()
    texts = [_written_back(charset, value) for value in values]
    opening, closing = _bare(charset.name, exact)
    literals = [
        b"%b%b%b" % (opening, value.hex().encode(), closing)
        if text is None
        else text_literal(text, escapes=True).encode()
        for value, text in zip(values, texts, strict=True)
    ]
    return Spelled(Spelling.SPELL_TEXT, pa.array(literals, TEXT).take(words.indices), null=NULL)


def unknown_text(array: pa.Array) -> tuple[Spelled]:
    """Text of which the log does not tell the character set: as bytes, which a server takes as they are.

    Printable ASCII stays text, as it is the same in nearly all sets.
    """
    if is_long(array):
        return (Spelled(Spelling.SPELL_HEXADECIMAL, array, b"x'", b"'", NULL),)
    words = array.cast(pa.binary()).dictionary_encode()
    literals = [
        text_literal(value.decode("ascii")).encode()
        if _PRINTABLE.fullmatch(value)
        else b"x'%b'" % value.hex().encode()
        for value in words.dictionary.to_pylist()
    ]
    return (Spelled(Spelling.SPELL_TEXT, pa.array(literals, TEXT).take(words.indices), null=NULL),)


def _bare(charset: str, exact: bool) -> tuple[bytes, bytes]:
    """What stands around the digits of bytes that are to be taken as they are."""
    if exact:
        return f"CONVERT(_{charset} x'".encode(), b"' USING utf8mb4)"
    return f"_{charset} x'".encode(), b"'"


def _written_back(charset: Charset, value: bytes) -> str | None:
    """A text of which a server makes the same bytes again; None where there is none."""
    text = charset.decode_strictly(value)
    return text if text is not None and charset.is_written_back(text) else None


def _are_written_back(texts: pa.Array, charset: Charset) -> bool:
    """Whether a server makes the same bytes again of each text."""
    if charset.is_one_to_one:
        return True
    known = texts.drop_null()
    whole = pa.ListArray.from_arrays(pa.array([0, len(known)], pa.int32()), known)
    return charset.is_written_back(pc.binary_join(whole, "")[0].as_py())


class _LongCharacters:
    """Long texts in a character set of their own, piece by piece."""

    def __init__(self, array: pa.Array, charset: Charset, exact: bool) -> None:
        self._texts = LongText(array, charset)
        self._charset = charset
        self._bare = _bare(charset.name, exact)

    def literal(self, row: int) -> Iterator[bytes]:
        """The literal of a row's value."""
        plain = True
        for text in self._texts.strict(row):
            if text is None or not self._charset.is_written_back(text):
                opening, closing = self._bare
                yield opening
                yield from (chunk.hex().encode() for chunk in self._texts.chunks(row))
                yield closing
                return
            plain = plain and not _UNSAFE.search(text)
        yield b"'" if plain else b"_utf8mb4 x'"
        for text in self._texts.strict(row):
            yield (text or "").translate(_ESCAPES).encode() if plain else (text or "").encode().hex().encode()
        yield b"'"


def _text(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    return (Spelled(Spelling.SPELL_SQL, array, null=NULL),)


def _integer(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
    unsigned = pa.types.is_unsigned_integer(array.type)
    return (Spelled(Spelling.SPELL_UNSIGNED if unsigned else Spelling.SPELL_SIGNED, array, null=NULL),)


def _decimal(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
    if not pa.types.is_decimal(array.type):
        return (Spelled(Spelling.SPELL_TEXT, array, null=NULL),)
    if array.type.precision > EXACT_DIGITS:
        return (Spelled(Spelling.SPELL_TEXT, decimals(array), null=NULL),)
    return (Spelled(Spelling.SPELL_DECIMAL, array, null=NULL, parameter=array.type.scale),)


def _real(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    """Shortest digits that are read back as the same number, always with an exponent."""
    if not pc.all(pc.is_finite(array)).as_py() and array.null_count < len(array):
        raise RefusedError("found NaN or infinity, for which SQL has no literal")
    texts = as_text(array)
    if pa.types.is_float32(array.type):
        wide = array.cast(pa.float64())
        again = texts.cast(pa.large_string()).cast(pa.float64())
        astray = pc.or_(
            pc.not_equal(again.cast(pa.float32()), array), pc.equal(pc.abs(wide), pa.scalar(FLOAT32_MAX))
        )
        if pc.any(astray).as_py():
            texts = pc.if_else(astray, as_text(wide), texts)
    return (Spelled(Spelling.SPELL_REAL, texts, null=NULL),)


def _bool(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    texts = pc.if_else(array, constant("1"), constant("0"))
    return (Spelled(Spelling.SPELL_TEXT, texts, null=NULL),)


def _binary(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    return (Spelled(Spelling.SPELL_HEXADECIMAL, array, b"x'", b"'", NULL),)


def _members(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
    """ENUM and SET by name; by number where the members are unknown, or names do not tell it."""
    if not pa.types.is_integer(array.type):
        return _text(array, logical)
    if logical.members is None:
        return _integer(array, logical)
    distinct = array.dictionary_encode()
    exact = _enum_literal if logical.kind is Kind.ENUM else _set_literal
    literals = [exact(number, logical.members) for number in distinct.dictionary.to_pylist()]
    return (Spelled(Spelling.SPELL_TEXT, pa.array(literals, pa.string()).take(distinct.indices), null=NULL),)


def _enum_literal(number: int, members: tuple[str, ...]) -> str:
    name = members[number - 1] if 0 < number <= len(members) else ""
    return text_literal(name) if name and members.count(name) == 1 else str(number)


def _set_literal(number: int, members: tuple[str, ...]) -> str:
    names = [member for place, member in enumerate(members) if number >> place & 1]
    is_told = names and all(name and members.count(name) == 1 for name in names)
    return text_literal(",".join(names)) if is_told else str(number)


def _geometry(array: pa.Array, _: LogicalType) -> tuple[Spelled, Spelled]:
    """As servers keep it: the reference system in four bytes, little-endian, then WKB."""
    srid, wkb = array.flatten()
    are_empty = pc.equal(pc.binary_length(wkb), 0)
    if pc.any(are_empty).as_py():
        # They have no reference system either: MariaDB gives them to rows that a column is added to.
        stored = pa.Array.from_buffers(pa.binary(4), len(srid), srid.buffers(), srid.null_count, srid.offset)
        srid = pc.if_else(are_empty, pa.scalar(b"", pa.binary()), stored.cast(pa.binary()))
    return (
        Spelled(Spelling.SPELL_HEXADECIMAL, srid, open=b"x'", null=NULL),
        Spelled(Spelling.SPELL_HEXADECIMAL, wkb, close=b"'"),
    )


_WRITERS: dict[Kind, Writer] = {
    **dict.fromkeys(INTEGER_NAMES, _integer),
    Kind.FLOAT32: _real,
    Kind.FLOAT64: _real,
    Kind.DECIMAL: _decimal,
    Kind.BOOL: _bool,
    Kind.BITS: _integer,
    Kind.DATE: quoted_times(Spelling.SPELL_DATE, _QUOTE, NULL),
    Kind.DATETIME: quoted_times(Spelling.SPELL_MOMENT, _QUOTE, NULL),
    Kind.TIMESTAMP: quoted_times(Spelling.SPELL_MOMENT, _QUOTE, NULL),
    Kind.TIME: quoted_times(Spelling.SPELL_TIME, _QUOTE, NULL),
    Kind.YEAR: _integer,
    Kind.TEXT: _text,
    Kind.BINARY: _binary,
    Kind.ENUM: _members,
    Kind.SET: _members,
    Kind.JSON: _text,
    Kind.GEOMETRY: _geometry,
    Kind.VECTOR: _binary,
    Kind.INET4: _text,
    Kind.INET6: _text,
    Kind.UUID: _text,
}
