"""Functions of a table's columns that remember what they gave for tables of the same ones."""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

_Columns = TypeVar("_Columns", bound=Sized)
_More = ParamSpec("_More")
_Made = TypeVar("_Made")

_ALIKE_TABLES = 64
"""For how many sorts of tables it is remembered."""

_FEW_COLUMNS = 96
"""How many columns these have at most."""

_WIDE_TABLES = 4
"""For how many sorts of tables with more columns, which take room."""


def made_once_for_alike_tables(
    make: Callable[Concatenate[_Columns, _More], _Made],
) -> Callable[Concatenate[_Columns, _More], _Made]:
    """Have tables of the same columns share what a function makes of them.

    Args:
        make: takes the columns first. All that it takes can be hashed, and nobody changes what it gives.
    """
    few, many = lru_cache(_ALIKE_TABLES)(make), lru_cache(_WIDE_TABLES)(make)

    @wraps(make)
    def shared(columns: _Columns, /, *more: _More.args, **named: _More.kwargs) -> _Made:
        remembered = few if len(columns) <= _FEW_COLUMNS else many
        return cast("Callable[..., Any]", remembered)(columns, *more, **named)  # type: ignore[no-any-return]

    return shared


__all__ = ["made_once_for_alike_tables"]
