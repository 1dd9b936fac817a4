"""Cells whose type ALTER TABLE changed are what SELECT shows, or unknown, in every SQL mode."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from binx.lake.at_moment import table_at
from testdata.expected import describe_table, select_rows
from testdata.servers import Server, ServerError
from tests.live.logs import export_last
from tests.live.tables_at_end import compare_rows
from tests.live.test_differential import ROUNDS

VALUES = {
    "TINYINT": "0|1|-128|NULL",
    "INT UNSIGNED": "0|1|70|4294967295",
    "INT(6) ZEROFILL": "0|12|999999",
    "BIGINT": "9007199254740993|-9007199254740993|5",
    "DECIMAL(10,2)": "1.25|-1.25|99999999.99|0",
    "DECIMAL(40,4)": "1.5|123456789012345678901234567890123456.1234",
    "FLOAT": "0.1|1.5|-16777217",
    "DOUBLE": "0.1|1.5|1e300",
    "BIT(1)": "0|1",
    "BIT(9)": "0|511",
    "YEAR": "0|1970|2155",
    "DATE": "'2024-02-29'|'0000-00-00'|'2024-02-31'|'1000-01-01'|'9999-12-31'",
    "DATETIME": "'2024-02-29 10:11:12'|'0000-00-00'|'2038-01-20 00:00:00'",
    "DATETIME(3)": "'2024-02-29 23:59:59.999'|'2024-02-29 10:11:12'",
    "TIMESTAMP(3) NULL": "'2024-02-29 23:59:59.999'|'0000-00-00'|NULL",
    "TIME": "'-838:59:59'|'10:11:12'",
    "TIME(3)": "'10:11:12.999'",
    "CHAR(4)": "'ab'|'abcd'|''|'1'",
    "VARCHAR(6)": "'ab '|'abcdef'|'12'|'2024-1'|'é'",
    "VARCHAR(6) CHARACTER SET latin1": "'é'|'ab'",
    "TEXT": "'ab '|'0001'|'🍀'",
    "BINARY(4)": "'ab'|'abcd'",
    "VARBINARY(6)": "'ab'|'abcd'|'é'",
    "ENUM('0','1')": "'0'|'1'|'x'",
    "ENUM('a','b')": "'a'|'b'|''",
    "SET('a','b')": "'a,b'|''",
    "JSON": "'{\"a\": 1}'|'[1.50, \"x\"]'",
}
OTHERS = (
    *("SMALLINT", "BIGINT UNSIGNED", "DECIMAL(12,2)", "DECIMAL(12,4)", "DECIMAL(60,4)", "BIT(12)"),
    *("DATETIME(6)", "TIMESTAMP(6) NULL", "TIME(6)", "CHAR(6)", "VARCHAR(3)", "VARCHAR(60)"),
    *("VARCHAR(60) CHARACTER SET latin1", "VARCHAR(60) CHARACTER SET utf8mb3", "TINYTEXT", "LONGTEXT"),
    *("INT", "DOUBLE", "DATETIME", "DATE", "TIME", "YEAR", "INT UNSIGNED", "BINARY(4)"),
    *("VARBINARY(20)", "BINARY(6)", "ENUM('0','1','2')", "ENUM('b','a','c')", "ENUM('a','b','c')"),
    *("SET('a','b','c')", "SET('b','a')", "VARCHAR(6) NOT NULL", "DOUBLE UNSIGNED", "BLOB"),
)
KEPT = {
    ("TINYINT", "INT"), ("INT UNSIGNED", "BIGINT UNSIGNED"), ("INT UNSIGNED", "VARCHAR(60)"),
    ("INT UNSIGNED", "DECIMAL(12,2)"), ("DECIMAL(10,2)", "DECIMAL(12,4)"), ("FLOAT", "DOUBLE"),
    ("DATETIME", "DATETIME(6)"), ("TIMESTAMP(3) NULL", "TIMESTAMP(6) NULL"), ("TIME", "TIME(6)"),
    ("CHAR(4)", "CHAR(6)"), ("VARCHAR(6)", "VARCHAR(60)"), ("VARCHAR(6)", "LONGTEXT"),
    ("VARCHAR(6) CHARACTER SET latin1", "VARCHAR(60)"), ("VARBINARY(6)", "BLOB"),
    ("ENUM('a','b')", "ENUM('a','b','c')"), ("ENUM('a','b')", "VARCHAR(60)"),
    ("SET('a','b')", "SET('a','b','c')"),
}  # fmt: skip
"""Conversions that keep valid values; of those with others, at least the first value."""
MODES = (
    *("", "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE"),
    *("PAD_CHAR_TO_FULL_LENGTH", "ALLOW_INVALID_DATES"),
)


@pytest.mark.parametrize("first", range(len(MODES) if ROUNDS else 1))
def test_a_conversion_is_what_select_shows_or_unknown(server: Server, first: int, tmp_path: Path) -> None:
    """One table for each type; each of its columns is converted by a statement of its own."""
    server.sql("DROP DATABASE IF EXISTS conversions; CREATE DATABASE conversions")
    server.flush_logs()
    for number, (old, listed) in enumerate(VALUES.items()):
        columns = ", ".join(f"c{place} {old}" for place in range(len(OTHERS)))
        rows = ", ".join(
            f"({place}{f', {value}' * len(OTHERS)})" for place, value in enumerate(listed.split("|"))
        )
        server.sql(
            f"SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+05:30';"
            f" CREATE TABLE t{number} (id INT PRIMARY KEY, {columns});"
            f" INSERT IGNORE INTO t{number} VALUES {rows}",
            db="conversions",
        )
        for place, new in enumerate(OTHERS):
            # Without ROUNDS, a third of the other conversions shows that they are unknown or exact.
            if not ROUNDS and (old, new) not in KEPT and (number + place) % 3:
                continue
            mode = MODES[(number + place + first) % len(MODES)]
            # A server may refuse a conversion.
            with suppress(ServerError):
                server.sql(
                    f"SET SESSION sql_mode = '{mode}', time_zone = '+05:30';"
                    f" ALTER TABLE t{number} MODIFY c{place} {new}",
                    db="conversions",
                )
        # With the statements of all others, each table would take as long as all of them.
        export_last(server, tmp_path / f"t{number}")
    told = []
    for number, old in enumerate(VALUES):
        found = table_at(str(tmp_path / f"t{number}"), f"conversions.t{number}", None).rows
        described = describe_table(server, "conversions", f"t{number}")
        answers = select_rows(server, "conversions", f"t{number}", described)
        listed_differences, _ = compare_rows(f"t{number}", found, [0], described, answers)
        # A column that the server left as it was is printed with zeros.
        padded = {
            name
            for (name,) in server.query(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = 'conversions'"
                f" AND table_name = 't{number}' AND column_type LIKE '%zerofill'"
            )
        }
        told += [
            f"{old}: {one}"
            for one in listed_differences
            if one.partition(":")[0].rpartition(".")[2] not in padded
        ]
        unknown = found.to_pylist()[0]["_unknown"] or ()
        told += [
            f"{old} to {new} is unknown"
            for place, new in enumerate(OTHERS)
            if (old, new) in KEPT and f"c{place}" in unknown
        ]
    assert not told, "\n".join(told)
