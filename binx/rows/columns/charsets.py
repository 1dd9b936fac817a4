"""Normalize character set and collation names of DDL, and convert its literals to column charsets."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import NamedTuple

from binx.event.charset import Charset, charset, charset_or_default

_MOST_BYTES = 4
_ESCAPED_BYTE = re.compile(r"\\x([0-9a-f]{2})")
_LEAST_BYTES = {"ucs2": 2, "utf16": 2, "utf16le": 2, "utf32": 4}
_ANY_CHARSET = "uca1400_"
"""MariaDB's Unicode 14 collations may be named without the charset, which then follows from the context."""

_DEFAULT_COLLATION = "default"
"""MariaDB's name for the default collation of a charset that also follows from the context."""


def charset_name(name: str) -> str:
    """Return the canonical name: lower case, and ``utf8mb3`` for ``utf8``, as in current servers."""
    folded = name.lower()
    return "utf8mb3" if folded == "utf8" else folded


def collation_name(name: str) -> str:
    """Return the canonical name: lower case, and ``utf8mb3_…`` for ``utf8_…``."""
    folded = name.lower()
    return f"utf8mb3_{folded[5:]}" if folded.startswith("utf8_") else folded


def charset_of_collation(collation: str | None) -> str | None:
    """Return a collation's charset; None if it fits several."""
    if collation is None or collation == _DEFAULT_COLLATION or collation.startswith(_ANY_CHARSET):
        return None
    return collation.partition("_")[0]


def full_collation_name(collation: str | None, charset: str | None) -> str | None:
    """Return the collation with its charset as prefix, if it was named without; None for the default one."""
    if collation == _DEFAULT_COLLATION:
        return None
    if collation is None or charset is None or not collation.startswith(_ANY_CHARSET):
        return collation
    return f"{charset}_{collation}"


class Literals(NamedTuple):
    """The charsets of a session's literals.

    Attributes:
        connection: the charset that the server first converts literals to; None if unknown. If it is binary,
            literals are bytes in the column's charset.
        client: the charset in which the client sends literals; None if unknown.
    """

    connection: str | None = None
    client: str | None = None


def stored_text(text: str | bytes, name: str | None, literals: Literals) -> str:
    """Convert a literal as the server stores it in a column, with ? for characters lost on the way.

    Args:
        text: the literal's text; hexadecimal and bit literals are bytes in the column's charset.
    """
    target = charset_or_default(name)
    if isinstance(text, str) and literals.connection == "binary":
        text = charset_or_default(literals.client).encode(text)
    if isinstance(text, bytes):
        return target.decode(_padded(text, name))
    connection = charset_or_default(literals.connection)
    text = connection.storable(text)
    return target.decode(connection.encode(text)) if target.is_binary else target.storable(text)


def stored_members(
    members: tuple[str | bytes, ...] | None, name: str | None, literals: Literals
) -> tuple[str, ...] | None:
    """Convert the members of an ENUM or SET as the server stores them, without trailing spaces."""
    if members is None:
        return None
    stored = (stored_text(member, name, literals) for member in members)
    return tuple(stored) if name == "binary" else tuple(text.rstrip(" ") for text in stored)


def _padded(data: bytes, name: str | None) -> bytes:
    """Pad bytes with leading zeros, for character sets of at least two or four bytes per character."""
    least = _LEAST_BYTES.get(name or "", 1)
    return bytes(-len(data) % least) + data


def reread_members(
    members: tuple[str, ...] | None, old: str | None, new: str | None
) -> tuple[str, ...] | None:
    """Return the members after CONVERT TO CHARACTER SET, which leaves their bytes as in the old charset.

    None if the bytes cannot be recovered.
    """
    before, after = (None if name is None else charset(name) for name in (old, new))
    if members is None or before is None or after is None:
        return members
    encoded = [_encoded(member, before) for member in members]
    if [before.decode(data) for data in encoded] != [*members]:
        return None
    return tuple(after.decode(data) for data in encoded)


def _encoded(text: str, charset: Charset) -> bytes:
    r"""Encode a text in a charset; ``\xNN`` stands for a byte that is not part of a character."""
    pieces = _ESCAPED_BYTE.split(text)
    pairs = zip_longest(pieces[::2], pieces[1::2], fillvalue="")
    return b"".join(charset.encode(plain) + bytes.fromhex(escaped) for plain, escaped in pairs)


def bytes_per_character(name: str | None) -> int:
    """Return the maximum bytes per character; for an unknown charset, those of utf8mb4."""
    known = None if name is None else charset(name)
    return _MOST_BYTES if known is None else known.max_bytes
