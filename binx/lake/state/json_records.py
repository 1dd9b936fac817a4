"""Records as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from binx.event.gtid.sets import GtidSet

Reader = Callable[[Any], Any]


def to_json(record: Any) -> bytes:
    """Return a record as JSON."""
    return json.dumps(record, ensure_ascii=False, default=_plain).encode()


def _plain(value: Any) -> Any:
    names = _names_of(value.__class__)
    if names is not None:
        return {name: _with_text_keys(getattr(value, name)) for name in names}
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, GtidSet):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that a state holds")


@cache
def _names_of(kind: Hashable) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields; None for other classes."""
    return tuple(field.name for field in fields(kind) if field.init) if is_dataclass(kind) else None


def _with_text_keys(value: Any) -> Any:
    """Turn a dictionary whose keys are not valid in JSON into a list of pairs."""
    is_listed = isinstance(value, dict) and not all(isinstance(key, str) for key in value)
    return list(value.items()) if is_listed else value


@cache
def reader_of(kind: Any) -> Reader:
    """Return a function that parses a type's values from the output of :func:`to_json`.

    It raises a ValueError, TypeError or KeyError for anything else: what documents of earlier contracts lack
    is for their migration to give.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is GtidSet:
        return GtidSet.parse
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        readers = {field.name: reader_of(hints[field.name]) for field in fields(kind) if field.init}
        return lambda data: kind(**{name: read(data[name]) for name, read in readers.items()})
    if origin in (Union, UnionType):
        inner = reader_of(next(argument for argument in arguments if argument is not type(None)))
        return lambda data: None if data is None else inner(data)
    if origin in (list, set) or (origin is tuple and arguments[-1] is Ellipsis):
        each = reader_of(arguments[0])
        return lambda data: origin(map(each, _checked(data, list)))
    if origin is dict:
        key, value = map(reader_of, arguments)
        return lambda data: {
            key(name): value(other) for name, other in (data.items() if isinstance(data, dict) else data)
        }
    if origin is tuple or hasattr(kind, "_fields"):
        make = tuple if origin is tuple else kind._make
        each_one = [reader_of(argument) for argument in (arguments or get_type_hints(kind).values())]
        return lambda data: make(read(item) for read, item in zip(each_one, data, strict=True))
    if isinstance(kind, type) and kind in (str, int, bool, float):
        return lambda data: _checked(data, kind)
    return lambda data: data


def _checked(data: Any, kind: type) -> Any:
    if not isinstance(data, kind):
        raise TypeError(f"expected {kind.__name__}, found {type(data).__name__}")
    return data
