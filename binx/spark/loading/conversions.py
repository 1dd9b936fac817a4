"""Whether a column's new type makes a server change the values that rows have already.

``ALTER TABLE … MODIFY`` and ``CHANGE`` convert the rows that are there, and no row event tells that. What a
type cannot hold is rounded in every SQL mode where it is a fraction (of numbers, of seconds, of a day); what
is too long or too large is cut without strict mode, and an error with it.

Sources: MySQL manual, "Data Type Conversion" under ALTER TABLE, "Precision Math" and "Fractional Seconds in
Time Values"; MariaDB rounds numbers alike, and cuts fractions of seconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TYPE = re.compile(r"\s*(?P<base>[a-z]\w*)\s*(?:\((?P<arguments>[^)]*)\))?\s*(?P<rest>.*)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_ALIASES = {
    "integer": "int",
    "int4": "int",
    "int1": "tinyint",
    "int2": "smallint",
    "int3": "mediumint",
    "middleint": "mediumint",
    "int8": "bigint",
    "bool": "tinyint",
    "boolean": "tinyint",
    "dec": "decimal",
    "numeric": "decimal",
    "fixed": "decimal",
    "number": "decimal",
    "float4": "float",
    "float8": "double",
    "real": "double",
    "character": "char",
    "nchar": "char",
    "nvarchar": "varchar",
    "varcharacter": "varchar",
    "varchar2": "varchar",
    "json": "longtext",
}
_INTEGERS = {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8}
_FLOATS = {"float": 1, "double": 2}
_MOMENTS = ("datetime", "timestamp", "time")
_TEXTS = {
    "tinytext": 255,
    "tinyblob": 255,
    "text": 65_535,
    "blob": 65_535,
    "mediumtext": 2**24 - 1,
    "mediumblob": 2**24 - 1,
    "longtext": 2**32 - 1,
    "longblob": 2**32 - 1,
}
_SIZED = ("char", "varchar", "binary", "varbinary")


@dataclass(frozen=True, slots=True)
class _Type:
    """A type as SQL writes it: its name, the numbers in parentheses, whether it is unsigned."""

    base: str
    numbers: tuple[int, ...]
    unsigned: bool

    @property
    def scale(self) -> int:
        """Digits behind the point, of whole numbers 0."""
        return self.numbers[1] if self.base == "decimal" and len(self.numbers) > 1 else 0

    @property
    def whole(self) -> int:
        """Digits before the point of a DECIMAL."""
        return (self.numbers[0] if self.numbers else 10) - self.scale

    @property
    def fraction(self) -> int:
        """Digits of the second's fraction."""
        return self.numbers[0] if self.numbers else 0

    @property
    def length(self) -> int | None:
        """Characters or bytes that a text may have; None of other types."""
        if self.base in _SIZED:
            return self.numbers[0] if self.numbers else 1
        return _TEXTS.get(self.base)


def _parsed(text: str) -> _Type | None:
    found = _TYPE.match(text)
    if found is None:
        return None
    base = found["base"].lower()
    numbers = tuple(map(int, _NUMBER.findall(found["arguments"] or "")))
    rest = found["rest"].lower()
    return _Type(_ALIASES.get(base, base), numbers, "unsigned" in rest or "zerofill" in rest)


def changes_values(old: str, new: str, *, strict: bool) -> bool:
    """Whether values of rows that are there may be others when their column has a new type.

    Args:
        old: the type before, as ``COLUMN_TYPE`` has it.
        new: the type as the statement writes it.
        strict: whether the session had a strict SQL mode, in which what does not fit is an error.
    """
    before, after = _parsed(old), _parsed(new)
    if before is None or after is None:
        return False
    return _rounds(before, after) or (not strict and _cuts(before, after))


def _rounds(old: _Type, new: _Type) -> bool:
    exact = new.base in _INTEGERS or new.base == "decimal"
    if old.base == "decimal" and exact:
        return new.scale < old.scale
    if old.base in _FLOATS:
        return exact or _FLOATS.get(new.base, 2) < _FLOATS[old.base]
    if old.base == "decimal" and new.base in _FLOATS:
        return True
    if old.base in _MOMENTS and new.base in _MOMENTS:
        return new.fraction < old.fraction or (old.base != "time" and new.base == "time")
    return old.base in ("datetime", "timestamp") and new.base == "date"


def _cuts(old: _Type, new: _Type) -> bool:
    if old.length is not None and new.length is not None:
        return new.length < old.length
    if old.base in _INTEGERS and new.base in _INTEGERS:
        narrower = _INTEGERS[new.base] < _INTEGERS[old.base]
        return narrower or (new.unsigned and not old.unsigned) or _loses_top_bit(old, new)
    return old.base == new.base == "decimal" and new.whole < old.whole


def _loses_top_bit(old: _Type, new: _Type) -> bool:
    return old.unsigned and not new.unsigned and _INTEGERS[new.base] == _INTEGERS[old.base]


__all__ = ["changes_values"]
