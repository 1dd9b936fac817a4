"""What a column of a random table holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.live.workload.texts import REPERTOIRES, Spelling, random_text

Literal = Callable[[Random, Spelling], str]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a column holds."""

    sql: str
    literal: Literal
    simple_default: bool = True
    integer: bool = False
    json: bool = False


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


_BLOBS = {"TINYBLOB": 255, "BLOB": 3000, "MEDIUMBLOB": 70_000, "LONGBLOB": 300}
_TEXTS = {"TINYTEXT": 60, "TEXT": 2000, "MEDIUMTEXT": 20_000, "LONGTEXT": 300}
_MARIADB_LACKS = {"gb18030"}


def random_charset(random: Random, *, mariadb: bool) -> str:
    """A character set of text columns, often the usual one."""
    if random.random() < 0.3:
        return random.choice(("utf8mb4", "latin1"))
    return random.choice([name for name in REPERTOIRES if not (mariadb and name in _MARIADB_LACKS)])


def any_character(random: Random, mariadb: bool) -> Kind:
    charset = random_charset(random, mariadb=mariadb)
    most = random.choice((0, 1, 10, 63, 64, 85, 86, 200, 255))
    name = random.choice((f"CHAR({most})", f"VARCHAR({most + random.choice((0, 100))})"))
    return _text_kind(name, charset, most)


def any_text(random: Random, mariadb: bool) -> Kind:
    charset = random_charset(random, mariadb=mariadb)
    name = random.choice(list(_TEXTS))
    return _text_kind(name, charset, _TEXTS[name], simple=mariadb)


def _text_kind(name: str, charset: str, most: int, *, simple: bool = True) -> Kind:
    def literal(values: Random, spelling: Spelling) -> str:
        return spelling.text(random_text(values, charset, most))

    return Kind(f"{name} CHARACTER SET {charset}", literal, simple_default=simple and most > 0)


def varchar_key(random: Random, _: bool) -> Kind:
    sql, charset = random.choice(
        (
            ("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "utf8mb4"),
            ("VARCHAR(12) CHARACTER SET latin1", "latin1"),
            ("CHAR(9) CHARACTER SET cp1251", "cp1251"),
        )
    )
    return Kind(sql, lambda values, spelling: spelling.text(random_text(values, charset, 6)))


def any_bytes(random: Random, mariadb: bool) -> Kind:
    most = random.choice((0, 1, 4, 16, 255))
    name = random.choice((f"BINARY({most})", f"VARBINARY({most + random.choice((0, 300))})", *_BLOBS))
    return _bytes_kind(name, _BLOBS.get(name, most), simple=name not in _BLOBS or mariadb)


def binary_key(_: Random, __: bool) -> Kind:
    return _bytes_kind("BINARY(4)", 4)


def _bytes_kind(name: str, most: int, *, simple: bool = True) -> Kind:
    def literal(values: Random, _: Spelling) -> str:
        size = values.choice((0, most, values.randint(0, most), values.randint(0, min(most, 8))))
        return f"x'{values.choice((values.randbytes(size), bytes(size))).hex()}'"

    return Kind(name, literal, simple_default=simple)


def _members(random: Random, most: int) -> list[str]:
    odd = ["", "it's", "with space", "ünï", "имя", "per%cent", 'quo"te', "back\\slash", "(x)", "NULL"]
    chosen = random.sample(odd, random.randint(0, len(odd)))
    return [*chosen, *(f"m{number}" for number in range(random.randint(1, most)))]


def _member_list(members: list[str]) -> str:
    # Doubled backslashes would mean two of them in sessions whose mode does not escape.
    return ", ".join(Spelling(charset="utf8mb4").text(member) for member in members)


def any_enum(random: Random, _: bool) -> Kind:
    members = [member for member in _members(random, random.choice((3, 30, 300))) if "\\" not in member]

    def literal(values: Random, spelling: Spelling) -> str:
        return values.choice((spelling.text(values.choice(members)), str(values.randint(1, len(members)))))

    return Kind(f"ENUM({_member_list(members)}) CHARACTER SET utf8mb4", literal)


def any_set(random: Random, _: bool) -> Kind:
    candidates = _members(random, random.choice((3, 9, 33, 54)))
    members = [member for member in candidates if member and "\\" not in member]

    def literal(values: Random, spelling: Spelling) -> str:
        chosen = values.sample(members, values.randint(0, min(len(members), 5)))
        return values.choice((spelling.text(",".join(chosen)), str(values.getrandbits(len(members)))))

    return Kind(f"SET({_member_list(members)}) CHARACTER SET utf8mb4", literal)


def any_compressed(random: Random, _: bool) -> Kind:
    charset = random_charset(random, mariadb=True)
    name = random.choice(("VARCHAR(300)", "TEXT", "BLOB", "LONGTEXT", "VARBINARY(200)"))
    if "B" in name.replace("VARBINARY", "B") and "TEXT" not in name and "CHAR" not in name:
        kind = _bytes_kind(f"{name} COMPRESSED", 200)
    else:
        plain = _text_kind(name, charset, 280)
        kind = Kind(f"{name} COMPRESSED CHARACTER SET {charset}", plain.literal)
    return Kind(kind.sql, kind.literal, simple_default=False)


def any_date(random: Random, _: bool) -> Kind:
    def literal(values: Random, spelling: Spelling) -> str:
        odd = values.choice(
            ("0000-00-00", "2024-00-00", "9999-12-31", "1000-01-01", "0001-01-01", "2024-02-29")
        )
        return spelling.text(odd if values.random() < 0.3 else random_day(values))

    return Kind("DATE", literal)


def date_key(_: Random, __: bool) -> Kind:
    return Kind("DATE", lambda values, spelling: spelling.text(random_day(values)))


def random_day(random: Random) -> str:
    return f"{random.randint(1000, 9999)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"


def random_clock(random: Random, hours: int) -> str:
    return f"{random.randint(0, hours):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"


def _fraction(random: Random) -> tuple[int, str]:
    digits = random.randint(0, 6)
    return digits, f"({digits})" if digits or random.random() < 0.3 else ""


def any_time(random: Random, _: bool) -> Kind:
    digits, argument = _fraction(random)

    def literal(values: Random, spelling: Spelling) -> str:
        part = (
            f".{values.choice((0, 1, 10**digits - 1, values.randrange(10**digits))):0{digits}}"
            if digits
            else ""
        )
        text = values.choice(
            ("-838:59:59", "838:59:59", f"-00:00:00{part}", random_clock(values, 838) + part)
        )
        return spelling.text(values.choice(("", "-")) + text.lstrip("-"))

    return Kind(f"TIME{argument}", literal)


def any_datetime(random: Random, _: bool) -> Kind:
    digits, argument = _fraction(random)

    def literal(values: Random, spelling: Spelling) -> str:
        part = f".{values.randrange(10**digits):0{digits}}" if digits else ""
        odd = values.choice(("0000-00-00", "2024-05-00 01:02:03", "9999-12-31 23:59:59", "0001-01-01"))
        return spelling.text(
            odd if values.random() < 0.2 else f"{random_day(values)} {random_clock(values, 23)}{part}"
        )

    return Kind(f"DATETIME{argument}", literal)


def any_timestamp(random: Random, _: bool) -> Kind:
    digits, argument = _fraction(random)

    def literal(values: Random, spelling: Spelling) -> str:
        if values.random() < 0.15:
            return values.choice(("'0000-00-00'", "'2038-01-18 00:00:00'", "'1970-01-03 00:00:01'"))
        part = f".{values.randrange(10**digits):0{digits}}" if digits else ""
        day = f"{values.randint(1971, 2037)}-{values.randint(1, 12):02}-{values.randint(1, 28):02}"
        return spelling.text(f"{day} {random_clock(values, 23)}{part}")

    return Kind(f"TIMESTAMP{argument}", literal)


def any_year(_: Random, __: bool) -> Kind:
    return Kind("YEAR", lambda values, _: str(values.choice((0, 1901, 2155, values.randint(1901, 2155)))))


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
