"""SQL's texts: identifiers that are hard to quote, and literals in the spelling that a session needs."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

ODD_NAMES = (
    "plain", "Mixed Case", "with space", "back`tick", 'double"quote', "single'quote", "per%cent", "sl/ash",
    "dash-ed", "dot.ted", "ünïcode", "имя", "名前", "select", "order", "a,b", "semi;colon", "paren(s)",
    "#hash", "--dashes", "back\\slash", "=equals", "_row", "_change_type", "$dollar", "1digit", "tab\tin",
    "{brace}", "@at",
)  # fmt: skip
"""Words of which names of databases, tables and columns are made."""

MOST_NAME = 50

REPERTOIRES = {
    "utf8mb4": "aZ09 é ß 浩 🍀 한 я '\"\\`%_\n\t,;-",
    "utf8mb3": "aZ09 é ß 浩 한 я '\"\\,",
    "latin1": "aZ09 éßÿñ€ '\"\\",
    "ascii": "abcXYZ019 ~'\"\\%",
    "gbk": "中文漢字 aZ'\\",
    "gb18030": "中文漢字 aZ🍀",
    "gb2312": "中文字 aZ",
    "big5": "中文漢字功 aZ'\\",
    "sjis": "日本語カナｱ表ソ aZ'\\",
    "cp932": "日本語カナｱ表ソ①髙 aZ",
    "ujis": "日本語カナｱ aZ",
    "eucjpms": "日本語カナｱ aZ",
    "euckr": "한국어 aZ",
    "cp1251": "Привет aZ №",
    "koi8r": "Привет aZ",
    "koi8u": "Привіт aZ",
    "cp866": "Привет aZ",
    "greek": "αβγδΩ aZ",
    "hebrew": "שלום aZ",
    "latin2": "žščřđ aZ",
    "latin5": "ğışİ aZ",
    "latin7": "āčēģ aZ",
    "cp850": "éßñ░ aZ",
    "cp852": "žšč aZ",
    "cp1250": "žščř€ aZ",
    "cp1256": "سلام aZ",
    "cp1257": "āčēģ aZ",
    "macroman": "éßñ aZ",
    "macce": "žšč aZ",
    "tis620": "สวัสดี aZ",
    "armscii8": "Հայ aZ",
    "dec8": "éßñ aZ",
    "hp8": "éßñ aZ",
    "ucs2": "aZ é 浩 я '\\",
    "utf16": "aZ é 浩 🍀 '\\",
    "utf16le": "aZ é 浩 🍀 '\\",
    "utf32": "aZ é 浩 🍀 '\\",
}
"""Characters that each character set has."""

CLIENT_CHARSETS = ("utf8mb4", "latin1", "cp1251", "koi8r")
"""Character sets in which sessions speak."""

_CODECS = {"utf8mb4": "utf-8", "latin1": "cp1252", "cp1251": "cp1251", "koi8r": "koi8_r", "ascii": "ascii"}


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a session wants its texts."""

    charset: str = "utf8mb4"
    backslash: bool = True
    ansi_quotes: bool = False

    def text(self, value: str) -> str:
        """A literal of a text."""
        if any(character < " " for character in value) or not self._can_say(value):
            return f"_utf8mb4 x'{value.encode().hex()}'"
        if "\\" in value and self.charset == "ascii":
            return f"_utf8mb4 x'{value.encode().hex()}'"
        escaped = value.replace("\\", "\\\\") if self.backslash else value
        return "'" + escaped.replace("'", "''") + "'"

    def name(self, identifier: str, *, ansi: bool = False) -> str:
        """A quoted identifier; ``ansi`` takes double quotes where the session allows it."""
        if ansi and self.ansi_quotes:
            return '"' + identifier.replace('"', '""') + '"'
        return quoted(identifier)

    def can_name(self, identifier: str) -> bool:
        """Whether the client's character set has the identifier."""
        return self._can_say(identifier)

    def encoded(self, sql: str) -> bytes:
        """A statement as the client sends it, with ? for what its character set lacks."""
        return sql.encode(_CODECS[self.charset], "replace")

    def _can_say(self, value: str) -> bool:
        try:
            value.encode(_CODECS[self.charset])
        except UnicodeEncodeError:
            return False
        return True


NEUTRAL = Spelling("ascii")
"""Literals that mean the same in every session."""


def quoted(identifier: str) -> str:
    """An identifier between backticks."""
    return "`" + identifier.replace("`", "``") + "`"


def random_name(random: Random, taken: set[str], *, odd: float = 0.5) -> str:
    """A name that none of the others equals, and that is added to them."""
    while True:
        if random.random() < odd:
            name = "_".join(random.sample(ODD_NAMES, random.choice((1, 1, 2))))[:MOST_NAME]
        else:
            name = f"{random.choice('abcdefgh')}{random.randrange(1000)}"
        # Servers compare most names without case, and some accents fold away.
        if name.casefold() not in taken and not name.endswith(" "):
            taken.add(name.casefold())
            return name


def random_text(random: Random, charset: str, most: int) -> str:
    """A text that a character set has, often short."""
    size = random.choice((0, 1, 2, random.randint(0, most), random.randint(0, min(most, 12)), most))
    return "".join(random.choice(REPERTOIRES[charset]) for _ in range(min(size, most)))
