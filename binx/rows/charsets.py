"""Names of character sets and collations as DDL uses them."""

from __future__ import annotations

from binx.event.charset import charset

_MOST_BYTES = 4
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
    """The collation with its charset in front, where it was named without."""
    if collation is None or charset is None or not collation.startswith(_ANY_CHARSET):
        return collation
    return f"{charset}_{collation}"


def stored_members(
    members: tuple[str, ...] | None, name: str | None, literals: str | None
) -> tuple[str, ...] | None:
    """The members of an ENUM or SET as a column of the charset keeps them.

    Trailing spaces are stripped, and what the charset lacks becomes ``?``; of a binary column's members the
    bytes are kept.

    Args:
        members: as the statement writes them.
        name: the column's charset; None where unknown.
        literals: the charset of the statement's texts; None where unknown.
    """
    if members is None:
        return None
    if name == "binary":
        return reread_members(members, literals, name)
    stripped = tuple(member.rstrip(" ") for member in members)
    found = None if name is None else charset(name)
    if found is None or found.max_bytes > 1:
        return stripped
    return tuple(found.decode(found.encode(member)) for member in stripped)


def reread_members(
    members: tuple[str, ...] | None, old: str | None, new: str | None
) -> tuple[str, ...] | None:
    """The members after CONVERT TO CHARACTER SET, which leaves their bytes as they were in the old charset.

    None where the bytes cannot be told.
    """
    before, after = (None if name is None else charset(name) for name in (old, new))
    if members is None or before is None or after is None:
        return members
    encoded = [before.encode(member) for member in members]
    if [before.decode(data) for data in encoded] != [*members]:
        return None
    return tuple(after.decode(data) for data in encoded)


def bytes_per_character(name: str | None) -> int:
    """The most bytes that a character takes; of a charset that is not known, what utf8mb4 takes."""
    found = None if name is None else charset(name)
    return _MOST_BYTES if found is None else found.max_bytes
