"""Convert sqlglot's literals to literals of a condition."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from datetime import date, datetime

from sqlglot import exp

from binx.errors import UsageError
from binx.where.comparison import clock
from binx.where.numbers import leading_number
from binx.where.operands import Literal

_SHOWN = 60

_TYPED: dict[str, tuple[Callable[[str], object], str]] = {
    "DATE": (date.fromisoformat, "DATE '2026-11-21'"),
    "TIME": (clock, "TIME '-12:34:56.5'"),
    "TIMESTAMP": (datetime.fromisoformat, "TIMESTAMP '2026-11-21 09:30:00.25'"),
}
"""For each type keyword of a literal, a parser of its text and an example."""


def literal_of(node: exp.Expr) -> Literal | None:
    """Return a literal of the condition; None for other expressions.

    Raises:
        UsageError: a date, time or byte literal is invalid.
    """
    if isinstance(node, exp.Paren):
        return literal_of(node.this)
    if isinstance(node, exp.Null):
        return Literal(None)
    if isinstance(node, exp.Boolean):
        return Literal("1" if node.this else "0", number=True)
    if isinstance(node, exp.Literal):
        return Literal(node.this, number=not node.is_string)
    if isinstance(node, exp.HexString | exp.BitString):
        return _digits(node)
    if isinstance(node, exp.Neg):
        inner = literal_of(node.this)
        if inner is not None and inner.number and isinstance(inner.value, str):
            return Literal(f"-{inner.value}", number=True)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        return _typed(node)
    return None


def as_number(literal: Literal) -> Literal:
    """Convert a literal that is compared with a number: its text becomes its leading number."""
    if not isinstance(literal.value, str) or literal.number:
        return literal
    return literal._replace(value=leading_number(literal.value), number=True)


def _typed(node: exp.Cast) -> Literal:
    """Return ``DATE '…'``, ``TIME '…'`` or ``TIMESTAMP '…'`` as a literal; other casts count as text."""
    text, name = str(node.this.this), node.to.this.name
    name = "TIMESTAMP" if name.startswith(("TIMESTAMP", "DATETIME")) else name
    if name not in _TYPED:
        return Literal(text)
    read, example = _TYPED[name]
    try:
        read(text.strip())
    except ValueError:
        raise UsageError(f"expected a literal such as {example}, found {name} {text[:_SHOWN]!r}") from None
    return Literal(text, temporal=True)


def _digits(node: exp.HexString | exp.BitString) -> Literal:
    """Return the bytes of ``x'…'`` or ``b'…'``; compared with numbers, they count as a number."""
    digits = str(node.this)
    try:
        if isinstance(node, exp.HexString):
            return Literal(binascii.unhexlify(digits.zfill(len(digits) + len(digits) % 2)))
        number = int(digits, 2)
        return Literal(number.to_bytes(max(1, (len(digits) + 7) // 8)))
    except ValueError:
        raise UsageError(f"expected the digits of x'…' or b'…', found {digits[:_SHOWN]!r}") from None
