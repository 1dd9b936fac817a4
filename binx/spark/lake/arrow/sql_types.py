"""Types as SQL names them, and what rules about their values share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from binx.spark.lake.model import Column, Epoch

Rule = Callable[[Any], Any]
"""A value, or the text of a misfit, to the one after; raises :class:`UnknownError`."""

_TYPE = re.compile(r"\s*(?P<base>[a-z]\w*)\s*(?:\((?P<arguments>.*)\))?\s*(?P<rest>.*)", re.I | re.S)
_MEMBER = re.compile(r"'((?:[^'\\]|''|\\.)*)'")
INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_CHARACTERS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
_BYTES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}


class UnknownError(Exception):
    """Only the server knows what became of the value."""


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type as COLUMN_TYPE has it: name, what stands in parentheses, whether it is unsigned."""

    base: str
    arguments: str
    rest: str

    @property
    def numbers(self) -> list[int]:
        """The numbers in parentheses."""
        return [int(one) for one in re.findall(r"\d+", self.arguments)]

    @property
    def members(self) -> list[str]:
        """Of ENUM and SET."""
        return [one.replace("''", "'").replace("\\\\", "\\") for one in _MEMBER.findall(self.arguments)]

    @property
    def size(self) -> int:
        """The first number; of a fraction of seconds the digits."""
        return self.numbers[0] if self.numbers else 1 if self.base in ("char", "binary") else 0

    @property
    def scale(self) -> int:
        """Digits behind the point."""
        return self.numbers[1] if self.base == "decimal" and len(self.numbers) > 1 else 0

    @property
    def kind(self) -> str:
        """The family of types that it follows the rules of."""
        if self.base in INTEGERS:
            return "int"
        if self.base in _CHARACTERS:
            return "text"
        if self.base in _BYTES:
            return "bytes"
        return {"float": "real", "double": "real"}.get(self.base, self.base)


def sql_type(column: Column) -> SqlType | None:
    """The SQL type of a column; None where it is not known."""
    found = _TYPE.match(column.mysql_type)
    if found is None:
        return None
    base = found["base"].lower()
    return SqlType(
        {"integer": "int", "numeric": "decimal", "dec": "decimal"}.get(base, base),
        found["arguments"] or "",
        found["rest"].lower(),
    )


class Misfit(str):
    """The text of a value that its type cannot hold."""

    __slots__ = ()


def unknown(value: Any) -> Any:
    """Only the server knows."""
    raise UnknownError


@dataclass(frozen=True, slots=True)
class Case:
    """A column's type before and after, with the epoch that begins with it."""

    old: SqlType
    new: SqlType
    former: Column
    column: Column
    epoch: Epoch


def no_misfit(rule: Rule) -> Rule:
    """A rule that tells nothing of misfits."""

    def checked(value: Any) -> Any:
        if isinstance(value, Misfit):
            raise UnknownError
        return rule(value)

    return checked
