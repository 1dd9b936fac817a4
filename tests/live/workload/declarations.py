"""Random declarations of columns, keys and charsets, as CREATE TABLE and ALTER TABLE have them."""

from __future__ import annotations

import re
from random import Random

from tests.live.workload.texts import Spelling

NAMES = (
    "a", "b", "c", "d", "e", "F", "g h", "k`x", "é", "first", "after", "position", "key1", "2x", "comment",
    'q"q',
)  # fmt: skip

TYPES = (
    ("INT",) * 4,
    (
        "INT UNSIGNED",
        "TINYINT(1)",
        "BIGINT(20) UNSIGNED ZEROFILL",
        "SMALLINT(3) ZEROFILL",
        "MEDIUMINT SIGNED",
    ),
    ("BOOLEAN", "INT(11)", "TINYINT(1) UNSIGNED", "BIGINT", "YEAR", "YEAR(4)", "DATE", "BIT", "BIT(9)"),
    (
        "BLOB",
        "TINYBLOB",
        "BLOB(300)",
        "VARBINARY(5)",
        "BINARY(3)",
        "BINARY",
        "LONG VARBINARY",
        "CHAR(3) BYTE",
    ),
    ("DATETIME", "DATETIME(3)", "TIMESTAMP", "TIMESTAMP(6)", "TIMESTAMP NULL", "TIME(2)", "DATE"),
    ("DECIMAL", "DECIMAL(7)", "DECIMAL(12,4) UNSIGNED", "NUMERIC(5,5)", "DECIMAL(0)", "POINT", "GEOMETRY"),
    ("FLOAT", "FLOAT(30)", "DOUBLE(7,2)", "DOUBLE UNSIGNED", "FLOAT(5,1)", "REAL", "FLOAT(24) UNSIGNED"),
    (
        "JSON",
        "NCHAR(3)",
        "NVARCHAR(4)",
        "LONG",
        "VARCHAR(3) ASCII",
        "TEXT ASCII",
        "CHAR BINARY",
        "LONG VARCHAR",
    ),
)
TEXTS = (
    ("VARCHAR(1)", "VARCHAR(10)", "VARCHAR(255)", "VARCHAR(300)", "CHAR(0)", "CHAR(7)"),
    ("TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "TEXT(100)", "TEXT(300)", "TEXT(70000)"),
    (
        "ENUM('x','y')",
        "ENUM('a;b','it''s')",
        "SET('p','q')",
        "ENUM('é','x')",
        "ENUM('日2','€')",
        "SET('é0','Ж')",
        "ENUM('z',X'C3A9',0x41)",
        "SET('é ','ß')",
        "ENUM('','\\t')",
    ),
)
MARIADB_TYPES = ("INET6", "UUID", "INET4", "VARCHAR(20) COMPRESSED", "TEXT COMPRESSED", "JSON")
MYSQL_TYPES = ("VECTOR(3)", "VECTOR", "JSON", "POINT SRID 4326")
GENERATED = ("GENERATED ALWAYS AS (1+1)", "AS (concat('a',',)'))", "AS ({})", "AS (length({}))")


class Declarations:
    """Makes declarations."""

    charsets = (
        "latin1",
        "utf8mb4",
        "utf8mb3",
        "utf8mb4",
        "binary",
        "latin2",
        "sjis",
        "cp1251",
        "ucs2",
        "gbk",
    )
    collations = (
        "latin1_bin", "utf8mb4_bin", "utf8mb4_unicode_ci", "latin2_general_ci", "binary", "sjis_bin",
        "cp1251_general_ci", "utf16_bin",
    )  # fmt: skip

    def __init__(self, random: Random, *, mariadb: bool) -> None:
        self._random = random
        self._mariadb = mariadb
        self.spelling = Spelling()

    def names(self, count: int) -> list[str]:
        """So many different names of columns."""
        return self._random.sample(NAMES, count)

    def some_column(self, columns: list[str]) -> str:
        """Mostly one that is there."""
        return self._random.choice(columns if columns and self._random.random() < 0.85 else NAMES)

    def name(self, column: str) -> str:
        """A column's name as statements write it, in other case at times where that is the same name."""
        if self._random.random() < 0.3 and re.fullmatch(r"[A-Za-z]\w*", column):
            column = column.upper()
            if self._random.random() < 0.5 and len(column) == 1:
                return column
        return self.spelling.name(column, ansi=self._random.random() < 0.5)

    def column(self, others: list[str], name: str | None = None) -> str:
        """Name, type and attributes of a column; a generated one may be made of the others."""
        return f"{self.name(name or self._random.choice(NAMES))} {self._type()}{self._attributes(others)}"

    def key_columns(self, columns: list[str]) -> str:
        """The parts of a key in their parentheses."""
        if not columns or self._random.random() < 0.05:
            return "((1+1))"
        chosen = self._random.sample(columns, min(len(columns), self._random.choice((1, 1, 2))))
        parts = [self.name(name) + self._random.choice(("", "", " DESC", "(3)")) for name in chosen]
        return f"({', '.join(parts)})"

    def charset_options(self) -> tuple[str, ...]:
        """Options of a table about its charset."""
        pick = self._random.choice
        return (
            f" CHARSET {pick(self.charsets)}",
            f" COLLATE {pick(self.collations)}",
            f" CHARACTER SET = {pick(self.charsets)}",
            " COLLATE utf8mb4_bin CHARACTER SET utf8mb4",
        )

    def _type(self) -> str:
        pick = self._random.choice
        chance = self._random.random()
        if chance < 0.1:
            return pick(MARIADB_TYPES if self._mariadb else MYSQL_TYPES)
        if chance < 0.45:
            text, charset = pick(pick(TEXTS)), self._charset()
            # Members that are bytes are shown by each server in its own way.
            return text if charset.endswith("binary") and not text.isascii() else text + charset
        return pick(pick(TYPES))

    def _charset(self) -> str:
        pick = self._random.choice
        collation = pick(self.collations[:-1])
        return pick(
            (
                "",
                "",
                "",
                f" CHARACTER SET {pick(self.charsets)}",
                f" COLLATE {collation}",
                f" CHARSET {collation.partition('_')[0]} COLLATE {collation}",
                " BINARY",
            )
        )

    def _attributes(self, others: list[str]) -> str:
        pick, chance = self._random.choice, self._random.random
        if chance() < 0.15 and others:
            expression = pick(GENERATED).format(self.spelling.name(pick(others)))
            kind = pick(("", " VIRTUAL", " STORED", " PERSISTENT" if self._mariadb else " STORED"))
            return f" {expression}{kind}" + pick(("", " INVISIBLE", " UNIQUE", " NOT NULL", " COMMENT 'v;'"))
        words = [pick(("NULL", "NOT NULL"))] if chance() < 0.35 else []
        words += (
            [pick(("DEFAULT 1", "DEFAULT NULL", "DEFAULT '1'", "DEFAULT (1+1)", "DEFAULT _latin1 0x31"))]
            if chance() < 0.2
            else []
        )
        words += [pick(("UNIQUE", "PRIMARY KEY", "KEY", "UNIQUE KEY"))] if chance() < 0.1 else []
        words += ["INVISIBLE"] if chance() < 0.1 else []
        words += [self._remark()] if chance() < 0.1 else []
        return "".join(f" {word}" for word in words)

    def _remark(self) -> str:
        text = self.spelling.text(self._random.choice(("a;b, FIRST", 'x\\"; DROP TABLE t1', "\\")))
        return self._random.choice(
            (
                f"COMMENT {text}",
                "CHECK (1=1)",
                "/*!50000 COMMENT 'y' */",
                "/* NOT NULL */",
                "/*!999999 UNIQUE */",
            )
        )
