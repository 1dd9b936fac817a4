"""All kinds of columns that a server has."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.live.workload.documents import any_geometry, any_inet, any_json, any_uuid, any_vector
from tests.live.workload.kind import Kind
from tests.live.workload.numbers import any_bit, any_decimal, any_floating, any_integer, decimal_key
from tests.live.workload.strings import (
    any_bytes,
    any_character,
    any_compressed,
    any_enum,
    any_set,
    any_text,
    binary_key,
    varchar_key,
)
from tests.live.workload.times import any_date, any_datetime, any_time, any_timestamp, any_year, date_key

SHAPES = frozenset({"GEOMETRY", "POINT", "LINESTRING", "POLYGON"})
"""The types of spatial columns."""

Maker = Callable[[Random, bool], Kind]

_COMMON: tuple[Maker, ...] = (
    any_integer, any_integer, any_integer, any_floating, any_decimal, any_decimal, any_bit, any_date,
    any_time, any_datetime, any_timestamp, any_year, any_character, any_character, any_character, any_text,
    any_text, any_bytes, any_bytes, any_enum, any_set, any_json, any_json, any_geometry,
)  # fmt: skip
_ONLY_MYSQL: tuple[Maker, ...] = (any_vector, any_json)
_ONLY_MARIADB: tuple[Maker, ...] = (any_inet, any_uuid, any_compressed, any_compressed)


def random_kind(random: Random, *, mariadb: bool) -> Kind:
    """One of all kinds that a server has."""
    makers = [*_COMMON, *(_ONLY_MARIADB if mariadb else _ONLY_MYSQL)]
    return random.choice(makers)(random, mariadb)


def key_kind(random: Random, *, mariadb: bool) -> Kind:
    """A kind that makes a good key."""
    makers: list[Maker] = [
        any_integer,
        any_integer,
        any_integer,
        varchar_key,
        binary_key,
        date_key,
        decimal_key,
        any_enum,
    ]
    return random.choice(makers)(random, mariadb)
