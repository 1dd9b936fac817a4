"""Columns of numbers: integers, floating point, decimals, bits."""

from __future__ import annotations

from random import Random

from tests.live.workload.kind import Kind
from tests.live.workload.texts import Spelling

_INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}


def integer_kind(name: str = "INT", *, unsigned: bool = False) -> Kind:
    """An integer with its extremes among its values."""
    bits = _INTEGER_BITS[name]
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def literal(random: Random, _: Spelling) -> str:
        return str(random.choice((low, high, 0, 1, random.randint(low, high), random.randint(0, 100))))

    return Kind(f"{name}{' UNSIGNED' if unsigned else ''}", literal, integer=True)


def any_integer(random: Random, _: bool) -> Kind:
    return integer_kind(random.choice(list(_INTEGER_BITS)), unsigned=random.random() < 0.5)


def any_floating(random: Random, _: bool) -> Kind:
    name = random.choice(
        ("FLOAT", "DOUBLE", "FLOAT", "DOUBLE UNSIGNED", "REAL", "FLOAT(7,3)", "DOUBLE(12,2)")
    )

    def literal(values: Random, _: Spelling) -> str:
        whole = values.uniform(-1000, 1000)
        return repr(values.choice((0.0, 1.5, 0.1, -0.0, 1e-30, 3.4e38, whole, round(whole, 2), 16777217.0)))

    return Kind(name, literal)


def any_decimal(random: Random, _: bool) -> Kind:
    precision = random.choice((1, 5, 9, 10, 18, 19, 38, 39, 65, random.randint(1, 65)))
    scale = random.choice((0, min(2, precision), min(30, precision), random.randint(0, min(30, precision))))
    return _decimal_of(precision, scale, unsigned=random.random() < 0.2)


def decimal_key(_: Random, __: bool) -> Kind:
    return _decimal_of(6, 2, unsigned=False)


def _decimal_of(precision: int, scale: int, *, unsigned: bool) -> Kind:
    def literal(values: Random, _: Spelling) -> str:
        digits = "".join(values.choice("0123456789") for _ in range(precision))
        digits = values.choice((digits, "9" * precision, "0" * precision, "0" * (precision - 1) + "1"))
        text = digits[: precision - scale] + ("." + digits[precision - scale :] if scale else "")
        sign = "" if unsigned else values.choice(("", "-"))
        return sign + (text if not text.startswith(".") else "0" + text)

    return Kind(f"DECIMAL({precision},{scale}){' UNSIGNED' if unsigned else ''}", literal)


def any_bit(random: Random, _: bool) -> Kind:
    width = random.choice((1, 2, 7, 8, 9, 33, 63, 64))

    def literal(values: Random, _: Spelling) -> str:
        return f"b'{values.choice((0, 1, 2**width - 1, values.getrandbits(width))):b}'"

    return Kind(f"BIT({width})", literal)
