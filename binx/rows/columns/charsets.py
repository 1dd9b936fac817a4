"""Character set and collation names in DDL."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import NamedTuple

from binx.event.charset import DEFAULT_CHARSET, Charset, charset

_MOST_BYTES = 4
_ESCAPED_BYTE = re.compile(r"\\x([0-9a-f]{2})")
_LEAST_BYTES = {"ucs2": 2, "utf16": 2, "utf16le": 2, "utf32": 4}
_ANY_CHARSET = "uca1400_"
"""MariaDB's collations of Unicode 14 may be named without the charset, which the context gives."""


def charset_name(name: str) -> str:
    """The canonical name: lower case, and ``utf8mb3`` for ``utf8``, as servers of today call it."""
    folded = name.lower()
    return "utf8mb3" if folded == "utf8" else folded


def collation_name(name: str) -> str:
    """The canonical name: lower case, and ``utf8mb3_…`` for ``utf8_…``."""
    folded = name.lower()
    return f"utf8mb3_{folded[5:]}" if folded.startswith("utf8_") else folded


def charset_of_collation(collation: str | None) -> str | None:
    """The charset that a collation belongs to; None for those that fit several."""
    if collation is None or collation.startswith(_ANY_CHARSET):
        return None
    return collation.partition("_")[0]


def full_collation_name(collation: str | None, charset: str | None) -> str | None:
    """Return the collation with its charset as prefix, if it was named without."""
    if collation is None or charset is None or not collation.startswith(_ANY_CHARSET):
        return collation
    return f"{charset}_{collation}"


class Literals(NamedTuple):
    """How a session's literals are read.

    Attributes:
        connection: the charset that the server converts them to first; None where unknown. If it is binary,
            they are bytes in the column's charset.
        client: the charset that the client sends them in; None where unknown.
    """

    connection: str | None = None
    client: str | None = None


def stored_text(text: str | bytes, name: str | None, literals: Literals) -> str:
    """A literal of a statement as a column of the charset keeps it, with ? for what is lacking on the way.

    Args:
        text: as the statement writes it; hexadecimal and bit literals are bytes in the column's charset.
    """
    found = _known(name)
    if isinstance(text, str) and literals.connection == "binary":
        text = _known(literals.client).encode(text)
    if isinstance(text, bytes):
        return found.decode(_padded(text, name))
    connection = _known(literals.connection)
    text = connection.kept(text)
    return found.decode(connection.encode(text)) if found.is_binary else found.kept(text)


def stored_members(
    members: tuple[str | bytes, ...] | None, name: str | None, literals: Literals
) -> tuple[str, ...] | None:
    """The members of an ENUM or SET as a column of the charset keeps them, without spaces at their ends."""
    if members is None:
        return None
    stored = (stored_text(member, name, literals) for member in members)
    return tuple(stored) if name == "binary" else tuple(text.rstrip(" ") for text in stored)


def _known(name: str | None) -> Charset:
    found = charset(name or DEFAULT_CHARSET) or charset(DEFAULT_CHARSET)
    assert found is not None
    return found


def _padded(data: bytes, name: str | None) -> bytes:
    """Bytes of a character set with two or four bytes a character at least, zeros in front."""
    least = _LEAST_BYTES.get(name or "", 1)
    return bytes(-len(data) % least) + data


def reread_members(
    members: tuple[str, ...] | None, old: str | None, new: str | None
) -> tuple[str, ...] | None:
    """The members after CONVERT TO CHARACTER SET, which leaves their bytes as they were in the old charset.

    None where the bytes cannot be told.
    """
    before, after = (None if name is None else charset(name) for name in (old, new))
    if members is None or before is None or after is None:
        return members
    encoded = [_bytes_of(member, before) for member in members]
    if [before.decode(data) for data in encoded] != [*members]:
        return None
    return tuple(after.decode(data) for data in encoded)


def _bytes_of(text: str, name: Charset) -> bytes:
    r"""The bytes that a charset decodes as a text, where ``\xNN`` stands for a byte that is no character."""
    parts = _ESCAPED_BYTE.split(text)
    pairs = zip_longest(parts[::2], parts[1::2], fillvalue="")
    return b"".join(name.encode(plain) + bytes.fromhex(escaped) for plain, escaped in pairs)


def bytes_per_character(name: str | None) -> int:
    """The most bytes that a character takes; of a charset that is not known, what utf8mb4 takes."""
    found = None if name is None else charset(name)
    return _MOST_BYTES if found is None else found.max_bytes
