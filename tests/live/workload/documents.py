"""Columns of JSON, shapes, vectors and MariaDB's addresses."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.live.workload.kind import Kind
from tests.live.workload.texts import Spelling, random_text
from tests.live.workload.times import random_clock, random_day

_SHAPES = (
    "POINT(1.5 -2)", "POINT(10 20)", "LINESTRING(0 0, 1 1, 2 0)", "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))",
    "MULTIPOINT(1 1, 2 2)", "GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))",
)  # fmt: skip  # fmt: skip
_FAMILIES = {
    "GEOMETRY": _SHAPES,
    "POINT": _SHAPES[:2],
    "LINESTRING": _SHAPES[2:3],
    "POLYGON": _SHAPES[3:4],
}


def json_literal(random: Random, spelling: Spelling, depth: int = 0) -> str:
    """A JSON document as an expression, with values that only the server's functions make."""
    choices: list[Callable[[], str]] = [
        lambda: "CAST('null' AS JSON)",
        lambda: random.choice(("TRUE", "FALSE")),
        lambda: str(
            random.choice((0, -1, 32767, -32769, 2**31, -(2**63), 2**63 - 1, random.randint(-99, 99)))
        ),
        lambda: random.choice(("1.5e0", "0.1e0", "-1e300", "1e-5", "123456.789e3", "12345678901234567890e0")),
        lambda: random.choice(("CAST(-123.4560 AS DECIMAL(20,4))", "CAST(0.10 AS DECIMAL(3,2))")),
        lambda: spelling.text(random_text(random, "utf8mb4", 40)),
        lambda: f"CAST('{random_day(random)}' AS DATE)",
        lambda: f"CAST('{random_day(random)} {random_clock(random, 23)}.25' AS DATETIME(6))",
        lambda: f"CAST('{random_clock(random, 838)}' AS TIME(3))",
        lambda: f"CAST(x'{random.randbytes(5).hex()}' AS BINARY)",
        lambda: f"REPEAT('x', {random.choice((127, 128, 300, 20000))})",
    ]
    if depth < 3 and random.random() < (0.9 if depth == 0 else 0.3):
        parts = [json_literal(random, spelling, depth + 1) for _ in range(random.randint(0, 4))]
        if random.random() < 0.5:
            return f"JSON_ARRAY({', '.join(parts)})"
        keys = ("'a'", "'b'", spelling.text("ключ"), "''", spelling.text('quo"te'))
        members = [f"{keys[place]}, {part}" for place, part in enumerate(parts)]
        return f"JSON_OBJECT({', '.join(members)})"
    text = random.choice(choices)()
    return text if depth else f"JSON_EXTRACT(JSON_ARRAY({text}), '$[0]')"


def any_json(_: Random, mariadb: bool) -> Kind:
    if mariadb:
        texts = ("null", '{"a": 1}', '[1, "é", {"b": null}]', '"x"', "1.50")
        return Kind("JSON", lambda values, spelling: spelling.text(values.choice(texts)))
    return Kind("JSON", json_literal, simple_default=False, json=True)


def any_geometry(random: Random, mariadb: bool) -> Kind:
    name = random.choice(list(_FAMILIES))

    def literal(values: Random, _: Spelling) -> str:
        number = "" if mariadb else values.choice(("", ", 4326", ", 3857"))
        return f"ST_GeomFromText('{values.choice(_FAMILIES[name])}'{number})"

    return Kind(name, literal, simple_default=False)


def any_vector(random: Random, _: bool) -> Kind:
    size = random.choice((1, 2, 5))

    def literal(values: Random, _: Spelling) -> str:
        return f"STRING_TO_VECTOR('{[round(values.uniform(-9, 9), 3) for _ in range(size)]}')"

    return Kind(f"VECTOR({size})", literal, simple_default=False)


def any_inet(random: Random, _: bool) -> Kind:
    name = random.choice(("INET4", "INET6"))
    texts = (
        ("0.0.0.0", "192.168.1.77", "255.255.255.255")
        if name == "INET4"
        else ("::", "::1", "2001:db8::ff00:42")
    )
    return Kind(name, lambda values, spelling: spelling.text(values.choice(texts)))


def any_uuid(_: Random, __: bool) -> Kind:
    def literal(values: Random, spelling: Spelling) -> str:
        digits = values.randbytes(16).hex()
        return spelling.text("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))

    return Kind("UUID", literal)
