"""A table with a column of each type, its random rows, and random conditions on them."""

from __future__ import annotations

import re
from random import Random

SMALL = (
    "0",
    "1",
    "2",
    "-1",
    "7",
    "10",
    "127",
    "200",
    "1.5",
    "-0.5",
    "0.1",
    "12.25",
    "1e1",
    "2026",
    "20260102",
)
LARGE = (
    "9007199254740993",
    "18446744073709551615",
    "-9223372036854775808",
    "123456789012345678901234.5",
    "1e30",
)
DAYS = ("2026-01-01", "2025-12-31", "2026-01-02", "1999-02-28", "2024-02-29")
ODD_DAYS = ("0000-00-00", "2026-00-01", "2026-01-00", "0000-01-01", "2024-02-31")
"""What servers without strict mode store; in conditions, MySQL refuses most of them."""
CLOCKS = ("00:00:00", "23:59:59", "12:30:00.5", "05:06:07.25", "22:00:00.000001")
SPANS = ("-838:59:59", "00:00:00", "12:30:00.5", "100:00:01.25", "-00:00:01", "12:30")
TEXTS = ("", "a", "b", "A", "ab", "é", "10", "1.5", "abc", "a%b", "a_b", "x\\y", "2026-01-01", "🍀")
_TYPED = re.compile("^(?:DATE|TIME|TIMESTAMP) ")
OFFSETS = ("+00:00", "+02:00", "-11:30", "+05:30", "-03:00")

COLUMNS = {
    "ti": ("TINYINT", "whole"),
    "tu": ("TINYINT UNSIGNED", "whole"),
    "i": ("INT", "whole"),
    "bs": ("BIGINT", "whole"),
    "bu": ("BIGINT UNSIGNED", "whole"),
    "zi": ("INT(6) ZEROFILL", "whole"),
    "zd": ("DECIMAL(8,2) ZEROFILL", "number"),
    "de": ("DECIMAL(10,4)", "number"),
    "dw": ("DECIMAL(60,20)", "number"),
    "fl": ("FLOAT", "number"),
    "db": ("DOUBLE", "number"),
    "b1": ("BIT(1)", "bit"),
    "b20": ("BIT(20)", "whole"),
    "yr": ("YEAR", "year"),
    "da": ("DATE", "day"),
    "dt": ("DATETIME(3)", "moment"),
    "d0": ("DATETIME", "moment"),
    "ts": ("TIMESTAMP(6) NULL", "moment"),
    "tm": ("TIME(2)", "span"),
    "vc": ("VARCHAR(20) COLLATE {}", "text"),
    "l1": ("VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin", "text"),
    "tx": ("TEXT COLLATE {}", "text"),
    "ch": ("CHAR(10) COLLATE {}", "text"),
    "vb": ("VARBINARY(20)", "text"),
    "bl": ("BLOB", "text"),
    "en": ("ENUM('a','b','10','B') COLLATE {}", "member"),
    "ee": ("ENUM('b','','a') COLLATE {}", "member"),
    "se": ("SET('a','b','10') COLLATE {}", "member"),
}
"""Types by the columns' names, and what sort of values they have."""


class Conditions:
    """Makes rows and conditions, of which binx says what servers say, or refuses them."""

    def __init__(self, random: Random, *, mariadb: bool) -> None:
        self._random = random
        self._mariadb = mariadb

    def create(self, table: str) -> str:
        """The statement that makes the table; its texts are compared as they are."""
        collation = "utf8mb4_nopad_bin" if self._mariadb else "utf8mb4_0900_bin"
        columns = ", ".join(f"{name} {kind.format(collation)}" for name, (kind, _) in COLUMNS.items())
        return f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns}) DEFAULT CHARSET utf8mb4"

    def row(self, number: int) -> str:
        """The values of a row, as INSERT IGNORE takes them."""
        values = [
            _TYPED.sub("", self._value(sort)) if self._random.random() > 0.15 else "NULL"
            for _, sort in COLUMNS.values()
        ]
        return f"({', '.join([str(number), *values])})"

    def _value(self, sort: str) -> str:
        if sort in {"day", "moment"} and self._random.random() < 0.3:
            return f"'{self._random.choice(ODD_DAYS)}'"
        return self._literal(sort)

    def condition(self, depth: int = 2) -> str:
        """A condition."""
        chance = self._random.random()
        if depth and chance < 0.35:
            word = self._random.choice(("AND", "OR", "XOR"))
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        if depth and chance < 0.45:
            return f"NOT ({self.condition(depth - 1)})"
        name = self._random.choice([*COLUMNS])
        sort = COLUMNS[name][1]
        if chance > 0.85:
            sort = self._random.choice([sort for _, sort in COLUMNS.values() if sort not in {"text", "bit"}])
        return self._comparison(name, sort)

    def _comparison(self, name: str, sort: str) -> str:
        pick = self._random.choice
        negated = pick(("", "", "NOT "))
        kind = self._random.randrange(10)
        if kind == 0:
            return f"{name} IS {negated}{pick(('NULL', 'NULL', 'TRUE', 'FALSE'))}"
        if kind == 1 and name not in {"tu", "bu"}:
            # In a list with a DOUBLE, MySQL takes -1 and the largest unsigned number for one.
            items = [self._literal(sort) for _ in range(pick((1, 2, 4)))]
            few = ", ".join(item for item in items if "18446744073709551615" not in item) or "NULL"
            return f"{name} {negated}IN ({few}{pick(('', '', ', NULL'))})"
        if kind == 2:
            # MySQL takes bytes beside a number for 0.
            if sort == "text":
                return f"{name} {negated}BETWEEN '{pick(TEXTS)}' AND {pick((repr(pick(TEXTS)), pick(SMALL)))}"
            bounds = f"{self._literal(sort)} AND {self._literal(sort)}"
            # MySQL takes the largest unsigned number in quotes, beside a number without, for -1.
            bounds = bounds.replace("'18446744073709551615'", "18446744073709551615")
            return f"{name} {negated}BETWEEN {bounds}"
        if kind == 3 and sort in {"text", "member"}:
            pattern = pick(("%", "a%", "%b%", "_", "a\\\\_b", "%\\\\%%", "A", "é", ""))
            return f"{name} {negated}LIKE '{pattern}'"
        if kind == 4 and sort in {"text", "member"}:
            return f"{name} {negated}REGEXP '{pick(('^a', 'b$', '^[0-9]+$', 'a|b', '.'))}'"
        if kind in {3, 4}:
            pattern = pick(("2026%", "%-01", "%:__%", "-%", "%.5%", "0%", "%0", "1_", "0000%", "%.000000"))
            return f"{name} {negated}LIKE '{pattern}'"
        sign = pick(("=", "<>", "<", "<=", ">", ">=", "<=>", "!="))
        literal = pick((self._literal(sort),) * 9 + ("NULL",))
        return f"{literal} {sign} {name}" if pick((False, False, True)) else f"{name} {sign} {literal}"

    def _literal(self, sort: str) -> str:
        pick = self._random.choice
        if sort in {"whole", "number"}:
            number = pick((*SMALL, *SMALL, *LARGE))
            return pick((number, number, f"'{number}'"))
        if sort == "bit":
            return pick(("0", "1", "b'1'", "'1'", "2"))
        if sort == "year":
            return pick(("2026", "1901", "'2026'", "0", "2155", "2025.5"))
        if sort == "day":
            return (
                f"'{pick(DAYS)}'"
                if pick((0, 0, 1))
                else pick((f"DATE '{pick(DAYS)}'", f"'{self._moment()}'"))
            )
        if sort == "moment":
            zone = "" if self._mariadb else pick(("", "", "", pick(OFFSETS)))
            moment = f"'{self._moment()}{zone}'"
            return pick((moment, moment, f"TIMESTAMP {moment}", f"'{pick(DAYS)}'"))
        if sort == "span":
            return pick(("", "", "TIME ")) + f"'{pick(SPANS)}'"
        if sort == "member":
            return pick(
                ("'a'", "'b'", "'10'", "'B'", "'a,b'", "'b,10'", "''", "1", "2", "0", "3", "'zz'", "10")
            )
        return pick((f"'{pick(TEXTS)}'", f"'{pick(TEXTS)}'", f"x'{pick(TEXTS).encode().hex()}'", pick(SMALL)))

    def _moment(self) -> str:
        return f"{self._random.choice(DAYS)} {self._random.choice(CLOCKS)}"
