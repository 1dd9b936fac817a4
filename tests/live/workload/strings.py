"""Columns of text in all character sets, of bytes, and of members."""

from __future__ import annotations

from random import Random

from tests.live.workload.kind import Kind
from tests.live.workload.texts import REPERTOIRES, Spelling, random_text

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
