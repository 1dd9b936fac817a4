"""What a column of a random table holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.live.workload.texts import Spelling

Literal = Callable[[Random, Spelling], str]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a column holds.

    Attributes:
        sql: the type, with its character set.
        literal: a random value as a session spells it.
        simple_default: whether DEFAULT takes a literal.
        integer: whether it is a number that can be counted up.
        json: whether it is MySQL's JSON.
    """

    sql: str
    literal: Literal
    simple_default: bool = True
    integer: bool = False
    json: bool = False
