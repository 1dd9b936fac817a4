r"""Decode and encode text in the server's character sets.

Python has a codec of a similar name for most of them, but many differ in details:
MySQL's ``latin1`` is Windows-1252 with its five undefined bytes assigned, ``cp866`` and
``greek`` differ from today's in a few places, and three sets have no codec at all.
If no codec agrees with the server, a table of all 256 bytes replaces it;
for multi-byte sets, the characters that the codec lacks are listed separately.

Source: the answers of MySQL 9.7 and MariaDB 10.11 (which agree) to
``CONVERT(CONVERT(x'NN' USING charset) USING utf8mb4)`` for each character, and
INFORMATION_SCHEMA.CHARACTER_SETS.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from binx.event.collation import collation_charset

UNDEFINED = "\ufffe"
"""Marks undefined bytes in a table, as in Python's ``charmap_decode``."""

BINARY_COLLATION = 63
"""The collation of columns that hold bytes, not text."""

DEFAULT_CHARSET = "utf8mb4"

PIECE_BYTES = 1024 * 1024
"""Bytes of a long value that are decoded at once."""


class Charset(NamedTuple):
    """A character set as the servers name it.

    Attributes:
        codec: the Python codec that, with the changes ``decode`` makes, agrees with the server; None if
            there is none.
        table: the 256 characters of a single-byte set without a codec, UNDEFINED for undefined bytes.
    """

    name: str
    codec: str | None
    table: str | None
    max_bytes: int

    @property
    def is_binary(self) -> bool:
        """Whether this is ``binary``: bytes that are not text."""
        return self.codec is None and self.table is None

    def decode(self, data: bytes | memoryview) -> str:
        r"""Decode ``data``; invalid bytes become ``\xNN``, and ``binary`` is decoded as UTF-8."""
        if self.table is not None:
            return codecs.charmap_decode(bytes(data), "backslashreplace", self.table)[0]
        return self._as_server(data, "backslashreplace")

    def encode(self, text: str) -> bytes:
        """Encode a text as servers do, with ``?`` for characters that the set lacks; binary is UTF-8."""
        if self.table is not None:
            return codecs.charmap_encode(text, "replace", _bytes_of_characters(self.table))[0]
        codec, others = self.codec or "utf-8", _other_bytes(self.name)
        if others.keys().isdisjoint(text):
            return text.encode(codec, "replace")
        return b"".join(others.get(character) or character.encode(codec, "replace") for character in text)

    def storable(self, text: str) -> str:
        """Convert a text as a server does, with ``?`` for characters that the set lacks."""
        if self.is_binary:
            return text
        return "".join(character if self._has(character) else "?" for character in text)

    def _has(self, character: str) -> bool:
        if self.name in _WITHOUT_SURROGATES and character > "\uffff":
            return False
        if character in _ONLY_IN_CODEC.get(self.name, ""):
            return False
        return self.decode_strictly(self.encode(character)) == character

    def to_utf8(self, data: bytes) -> bytes:
        r"""Transcode ``data`` to UTF-8, with the escapes of :meth:`decode`."""
        if self.codec != "utf_8" or len(data) <= PIECE_BYTES:
            return self.decode(data).encode()
        # Decoded to a single str, a value may take twelve times its size.
        decoder = codecs.getincrementaldecoder("utf_8")("backslashreplace")
        view, written = memoryview(data), io.BytesIO()
        for start in range(0, len(data), PIECE_BYTES):
            is_last = start + PIECE_BYTES >= len(data)
            written.write(decoder.decode(view[start : start + PIECE_BYTES], is_last).encode())
        return written.getvalue()

    def decode_strictly(self, data: bytes | memoryview) -> str | None:
        """Decode ``data``; None if a byte is not part of a character, or the set is binary."""
        try:
            if self.table is not None:
                return codecs.charmap_decode(bytes(data), "strict", self.table)[0]
            return None if self.codec is None else self._as_server(data, "strict")
        except UnicodeDecodeError:
            return None

    def is_written_back(self, text: str) -> bool:
        """Whether servers encode ``text`` to the same bytes that ``decode_strictly`` read it from.

        Some sets encode a character twice, for example for two vendors; servers write only one of the two.
        """
        return self.is_one_to_one or _not_written_back(self.name).isdisjoint(text)

    @property
    def is_one_to_one(self) -> bool:
        """Whether each character has only one byte sequence."""
        return self.name not in _NOT_ONE_TO_ONE

    def _as_server(self, data: bytes | memoryview, errors: str) -> str:
        """Decode with the codec, corrected for characters that servers map differently or in addition."""
        if self.name == "eucjpms":
            data = bytes(data).replace(*_EUCJPMS_TILDE)
        more = _with_more_characters(self.name, errors) if self.name in _MORE_CHARACTERS else errors
        text = str(data, self.codec or "utf-8", more)
        changes = _CHANGED_CHARACTERS.get(self.name, {})
        if self.name == "gb18030":
            # The two characters are swapped.
            return text.translate(changes)
        for number, character in changes.items():
            # For long text, much faster than str.translate.
            text = text.replace(chr(number), character)
        return text


_CODECS = {
    "ascii": ("ascii", 1),
    "big5": ("big5", 2),
    "cp1250": ("cp1250", 1),
    "cp1251": ("cp1251", 1),
    "cp1257": ("cp1257", 1),
    "cp850": ("cp850", 1),
    "cp852": ("cp852", 1),
    "cp932": ("cp932", 2),
    "eucjpms": ("euc_jp", 3),
    "euckr": ("cp949", 2),
    "gb18030": ("gb18030", 4),
    "gb2312": ("gb2312", 2),
    "gbk": ("gbk", 2),
    "hp8": ("hp_roman8", 1),
    "koi8r": ("koi8_r", 1),
    "latin2": ("iso8859_2", 1),
    "latin5": ("iso8859_9", 1),
    "latin7": ("iso8859_13", 1),
    "macce": ("mac_latin2", 1),
    "macroman": ("mac_roman", 1),
    "sjis": ("shift_jis", 2),
    "tis620": ("tis_620", 1),
    "ucs2": ("utf_16_be", 2),
    "ujis": ("euc_jp", 3),
    "utf16": ("utf_16_be", 4),
    "utf16le": ("utf_16_le", 4),
    "utf32": ("utf_32_be", 4),
    "utf8mb3": ("utf_8", 3),
    "utf8mb4": ("utf_8", 4),
}
"""Character sets for which Python has a codec: the codec's name, and the maximum bytes per character."""

_CHANGED_CHARACTERS = {
    "eucjpms": {0x301C: "\uff5e", 0x2016: "\u2225", 0x2212: "\uff0d"}
    | {0xA2: "\uffe0", 0xA3: "\uffe1", 0xA6: "\uffe4", 0xAC: "\uffe2"},
    "gb18030": {0xE7C7: "\u1e3f", 0x1E3F: "\ue7c7"},
    "sjis": {0xFF3C: "\\"},
    "ujis": {0xFF3C: "\\"},
}
"""Characters of multi-byte sets that servers map differently: the codec's character, and the server's."""

_EUCJPMS_TILDE = (b"\x8f\xa2\xb7", b"\xa1\xc1")
"""Bytes that servers decode to a full-width tilde but the codec to ASCII's, and that tilde's other bytes."""

_USER_DEFINED = (
    (b"\xf5\xa1", "".join(map(chr, range(0xE000, 0xE3AC)))),
    (b"\x8f\xf5\xa1", "".join(map(chr, range(0xE3AC, 0xE758)))),
)

_MORE_CHARACTERS: dict[str, tuple[tuple[bytes, str], ...]] = {
    "big5": ((b"\xf9\xd6", "碁銹裏墻恒粧嫺"),),
    "eucjpms": (
        (b"\xad\xa1", "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩ"),
        (b"\xad\xc0", "㍉㌔㌢㍍㌘㌧㌃㌶㍑㍗㌍㌦㌣㌫㍊㌻㎜㎝㎞㎎㎏㏄㎡"),
        (b"\xad\xdf", "㍻〝〟№㏍℡㊤㊥㊦㊧㊨㈱㈲㈹㍾㍽㍼≒≡∫∮∑√⊥∠∟⊿∵∩∪"),
        (
            b"\x8f\xf3\xf3",
            "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩ＇＂㈱№℡炻仼僴凬匇匤﨎咊坙﨏\ufa10增寬峵嵓﨑德悅愠敎昻晥\ufa12\uf929栁﨓﨔橫櫢淸淲瀨\ufa15\ufa16甁皂皞\ufa17"
            "礰\ufa18\ufa19\ufa1a\ufa1b竧\ufa1c\ufa1d綠緖\ufa1e荢﨟薰\ufa20﨡蠇\ufa22譿賴赶﨣﨤\ufa25郞\ufa26鄕﨧﨨閒\uf9dc"
            "﨩霻靍靑\ufa2a\ufa2b\ufa2c馞髙魲\ufa2d黑",
        ),
        *_USER_DEFINED,
    ),
    "ujis": _USER_DEFINED,
}
"""Characters that the codecs of multi-byte sets lack, in runs: the first one's bytes, and the characters in
rows of 94."""

_WITHOUT_SURROGATES = frozenset({"ucs2", "utf8mb3"})
"""Sets without characters beyond the Basic Multilingual Plane, whose codecs have them."""

_NOT_ONE_TO_ONE = frozenset({"armscii8", "big5", "cp932", "eucjpms", "sjis", "ujis"})
"""Character sets with several byte sequences for one character."""

_ONLY_IN_CODEC = {"big5": "╴￣ˍ", "cp932": "\x80\uf8f0\uf8f1\uf8f2\uf8f3"}
"""Characters that the codec has but servers do not: they decode them to U+FFFD."""

_CHANGED: dict[str, tuple[str, dict[int, str]]] = {
    "latin1": ("cp1252", {0x81: "\x81", 0x8D: "\x8d", 0x8F: "\x8f", 0x90: "\x90", 0x9D: "\x9d"}),
    "hebrew": ("iso8859_8", {0xAF: "\u203e"}),
    "koi8u": ("koi8_u", {0x95: "\u2022"}),
    "greek": (
        "iso8859_7",
        {0xA1: "\u02bd", 0xA2: "\u02bc", 0xA4: UNDEFINED, 0xA5: UNDEFINED, 0xAA: UNDEFINED},
    ),
    "cp866": ("cp866", {0xFC: "\u207f", 0xFD: "\xb2"}),
    "cp1256": ("cp1256", dict.fromkeys((0x8A, 0x8F, 0x98, 0x9A, 0x9F, 0xAA, 0xC0, 0xFF), UNDEFINED)),
    "dec8": (
        "latin_1",
        dict.fromkeys(
            (0xA4, 0xA6, 0xAC, 0xAD, 0xAE, 0xAF, 0xB4, 0xB8, 0xBE, 0xD0, 0xDE, 0xF0, 0xFE, 0xFF), UNDEFINED
        )
        | {0xA8: "\xa4", 0xD7: "\u0152", 0xDD: "\u0178", 0xF7: "\u0153", 0xFD: "\xff"},
    ),
    "swe7": ("ascii", dict(zip(b"@[\\]^`{|}~\x7f", "ÉÄÖÅÜéäöåü" + UNDEFINED, strict=True))),
}
"""Single-byte sets that differ from a codec in some bytes."""

_UPPER_HALVES = {
    "armscii8": (
        "".join(map(chr, range(0x80, 0xA1)))
        + "\u2741\xa7\u0589)(\xbb\xab\u2014.\u055d,-\u055f\u2026\u055c\u055b\u055e"
        + "".join(chr(0x531 + index) + chr(0x561 + index) for index in range(38))
        + "\u2019'"
    ),
    "keybcs2": (
        "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘťáíóúňŇŮÔšřŕŔ¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
        "\u03b1\xdf\u0393\u03c0\u03a3\u03c3\xb5\u03c4\u03a6\u0398\u03a9\u03b4\u221e\u03c6\u03b5\u2229"
        "\u2261\xb1\u2265\u2264\u2320\u2321\xf7\u2248\xb0\u2219\xb7\u221a\u207f\xb2\u25a0\xa0"
    ),
    "geostd8": (
        "\u20ac\ufffe\u201a\ufffe\u201e\u2026\u2020\u2021\ufffe\u2030\ufffe\u2039\ufffe\ufffe\ufffe\ufffe"
        "\ufffe\u2018\u2019\u201c\u201d\u2022\u2013\u2014\ufffe\ufffe\ufffe\u203a\ufffe\ufffe\ufffe\ufffe"
        + "".join(map(chr, range(0xA0, 0xC0)))
        + "\u10d0\u10d1\u10d2\u10d3\u10d4\u10d5\u10d6\u10f1\u10d7\u10d8\u10d9\u10da\u10db\u10dc\u10f2\u10dd"
        "\u10de\u10df\u10e0\u10e1\u10e2\u10f3\u10e3\u10e4\u10e5\u10e6\u10e7\u10e8\u10e9\u10ea\u10eb\u10ec"
        "\u10ed\u10ee\u10f4\u10ef\u10f0\u10f5" + UNDEFINED * 23 + "\u2116" + UNDEFINED * 2
    ),
}
"""Bytes 0x80 to 0xFF of single-byte sets without a similar codec; lower bytes are ASCII."""


@cache
def _more_characters(name: str) -> Mapping[bytes, str]:
    """Return the characters that the set's codec lacks, by their bytes."""
    characters = {}
    for first, run in _MORE_CHARACTERS[name]:
        *lead, row, cell = first
        for index, character in enumerate(run, cell - 0xA1):
            characters[bytes((*lead, row + index // 94, 0xA1 + index % 94))] = character
    return characters


@cache
def _bytes_of_characters(table: str) -> dict[int, int]:
    """Return the byte of each character of a single-byte set: the lowest one if there are several."""
    return {ord(table[byte]): byte for byte in range(0xFF, -1, -1) if table[byte] != UNDEFINED}


@cache
def _other_bytes(name: str) -> Mapping[str, bytes]:
    """Return the characters of a multi-byte set that servers do not encode as the codec does, if at all."""
    codec = _CODECS.get(name, ("utf-8", 4))[0]
    others: dict[str, bytes] = {}
    if name in _MORE_CHARACTERS:
        for data, character in _more_characters(name).items():
            written = character.encode(codec, "replace")
            if written == b"?" or len(written) > len(data):
                others.setdefault(character, data)
    if name == "cp932":
        # Of IBM's characters, the codec writes the copies in NEC's rows.
        for data in (bytes((lead, trail)) for lead in range(0xFA, 0xFD) for trail in range(0x40, 0xFD)):
            character = data.decode("cp932", "replace")
            if len(character) == 1 and character.encode("cp932", "replace")[0] in _NEC_SELECTED:
                others[character] = data
    if name != "ujis":
        # The backslash of ujis is written as ASCII's, the one of sjis as the full-width one.
        changed = _CHANGED_CHARACTERS.get(name, {})
        others |= {character: chr(number).encode(codec) for number, character in changed.items()}
    return others


_NEC_SELECTED = b"\xed\xee"
"""The leading bytes of the rows of cp932 that repeat IBM's characters."""


@cache
def _not_written_back(name: str) -> frozenset[str]:
    """Return the characters that some bytes decode to which servers do not write for them."""
    known = charset(name)
    assert known is not None
    leads = (b"", b"\x8f") if known.max_bytes == 3 else (b"",)
    sequences = [bytes((byte,)) for byte in range(0x100)]
    if known.max_bytes > 1:
        sequences += [
            bytes((*lead, high, low))
            for lead in leads
            for high in range(0x80, 0x100)
            for low in range(0x40, 0x100)
        ]
    decoded = ((data, known.decode_strictly(data)) for data in sequences)
    several = {text for data, text in decoded if text and len(text) == 1 and known.encode(text) != data}
    return frozenset(several.union(_ONLY_IN_CODEC.get(name, "")))


@cache
def _with_more_characters(name: str, errors: str) -> str:
    """Return the name of an error handler that handles what a codec lacks, and delegates the rest."""
    fallback: Callable[[UnicodeError], tuple[str | bytes, int]] = codecs.lookup_error(errors)
    more = _more_characters(name)

    def handle(error: UnicodeError) -> tuple[str | bytes, int]:
        if isinstance(error, UnicodeDecodeError):
            for end in (error.start + 2, error.start + 3):
                character = more.get(error.object[error.start : end])
                if character is not None:
                    return character, end
        return fallback(error)

    handler = f"binx-{name}-{errors}"
    codecs.register_error(handler, handle)
    return handler


def _changed_table(codec: str, changes: Mapping[int, str]) -> str:
    table = bytes(range(256)).decode(codec, "replace").replace("\ufffd", UNDEFINED)
    return "".join(changes.get(byte, table[byte]) for byte in range(256))


@cache
def charset(name: str) -> Charset | None:
    """Return the character set of that name, ``utf8`` included; None if unknown."""
    known = "utf8mb3" if name == "utf8" else name
    if known == "binary":
        return Charset("binary", None, None, 1)
    if known in _CODECS:
        codec, max_bytes = _CODECS[known]
        return Charset(known, codec, None, max_bytes)
    if known in _CHANGED:
        return Charset(known, None, _changed_table(*_CHANGED[known]), 1)
    if known in _UPPER_HALVES:
        return Charset(known, None, "".join(map(chr, range(0x80))) + _UPPER_HALVES[known], 1)
    return None


def charset_or_default(name: str | None) -> Charset:
    """Return the character set of that name; utf8mb4 if the name is None or unknown."""
    known = charset(name or DEFAULT_CHARSET) or charset(DEFAULT_CHARSET)
    assert known is not None
    return known


@cache
def collation_to_charset(number: int) -> Charset | None:
    """Return the character set of collation ``number``; None if the ID is unknown."""
    name = collation_charset(number)
    return None if name is None else charset(name)
