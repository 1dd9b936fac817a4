"""What the measured binary logs hold: SQL that makes a real server write each kind.

Rows are made by the server itself, by procedures and ``INSERT … SELECT``, so that the client sends little.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

from bench.recipe import (
    FAST_MARIADB,
    FAST_MYSQL,
    MEGABYTE,
    Recipe,
    call_procedure,
    log_size,
    numbers,
    work_procedure,
)
from bench.workloads import WORKLOADS
from testdata.servers import MariaDBServer, MySQLServer, Server

CHARSETS_SESSIONS = 4
CHARSETS_BYTES = 1_100

BULK_TRANSACTIONS = 36
BULK_INSERT_BYTES = 87
BULK_UPDATE_BYTES = 170
BULK_DELETE_BYTES = 85
"""What a row change takes in the log, roughly; only the log's final size depends on it."""

WIDE_ROWS = 2_000
WIDE_ROWS_A_TRANSACTION = 200


BULK_TABLES = dedent("""\
    CREATE TABLE sales (id BIGINT PRIMARY KEY, customer INT NOT NULL, product SMALLINT UNSIGNED NOT NULL,
      price DECIMAL(10,2) NOT NULL, weight DOUBLE NULL, placed DATETIME(6) NOT NULL,
      state ENUM('new','paid','sent','returned') NOT NULL, reference VARCHAR(64) NOT NULL,
      note VARCHAR(200) NULL) ENGINE=InnoDB;
    """)


def _record_bulk(server: Server, size: int) -> None:
    """Of three transactions one inserts, one updates the half of that, one deletes the other half."""
    inserted = BULK_INSERT_BYTES + (BULK_UPDATE_BYTES + BULK_DELETE_BYTES) // 2
    rows = max(10, size * MEGABYTE * 3 // (BULK_TRANSACTIONS * inserted))
    text = []
    for number in range(BULK_TRANSACTIONS // 3):
        first = number * rows
        text.append(_bulk_insert(first, rows))
        text.append(
            "UPDATE sales SET state = 'paid', price = price * 1.07"
            f" WHERE id >= {first} AND id < {first + rows} AND id % 2 = 0;\n"
        )
        text.append(f"DELETE FROM sales WHERE id >= {first} AND id < {first + rows} AND id % 2 = 1;\n")
    server.script("".join(text), "bench")


def _bulk_insert(first: int, rows: int) -> str:
    return (
        "INSERT INTO sales SELECT n, n * 31 % 100003, n % 5000, n % 99991 / 7,"
        " IF(n % 5 = 0, NULL, n / 13.0),"
        " '2026-01-01 00:00:00.000000' + INTERVAL n * 1234567 MICROSECOND, 1 + n % 4,"
        " left(sha2(n, 256), 24 + n % 17),"
        " IF(n % 3 = 0, concat('parcel ', n, ', to be left with the neighbour'), NULL)"
        f" FROM (SELECT {first} + number AS n FROM numbers WHERE number < {rows}) AS numbered;\n"
    )


_WIDE_COLUMNS: Mapping[str, tuple[int, str, str]] = {
    "count": (16, "INT NOT NULL", "n * {place} % 100000"),
    "total": (8, "BIGINT NOT NULL", "n * 1000003 * {place}"),
    "flag": (8, "TINYINT NOT NULL", "n % {place}"),
    "price": (8, "DECIMAL(10,2) NOT NULL", "n % 9999 / {place}"),
    "ratio": (5, "DOUBLE NULL", "n / {place}"),
    "at": (5, "DATETIME NULL", "'2026-01-01' + INTERVAL n * {place} SECOND"),
    "text": (9, "VARCHAR(60) NULL", "left(sha2(n * {place}, 256), 24 + {place})"),
}
"""How many columns of a sort the wide table has beside its key, their type, and their value in row ``n``."""


def _wide_tables() -> str:
    columns = [
        f"{name}{place} {definition}"
        for name, (count, definition, _) in _WIDE_COLUMNS.items()
        for place in range(1, count + 1)
    ]
    return f"CREATE TABLE wide (id INT PRIMARY KEY, {', '.join(columns)}) ENGINE=InnoDB;\n"


def _wide_prepare() -> str:
    values = [
        value.format(place=place + 1)
        for count, _, value in _WIDE_COLUMNS.values()
        for place in range(1, count + 1)
    ]
    return numbers(4) + (
        f"INSERT INTO wide SELECT n, {', '.join(values)}"
        f" FROM (SELECT number AS n FROM numbers WHERE number < {WIDE_ROWS}) AS numbered;\n"
    )


def _record_wide(server: Server, size: int) -> None:
    """Update slices of the table, a few columns of each row, again and again."""
    turn = 0
    while log_size(server) < size * MEGABYTE:
        turn += 1
        text = [
            f"UPDATE wide SET count1 = count1 + 1, total2 = total2 + {turn}, price3 = {turn} % 9999 / 8,"
            f" text4 = left(sha2(id + {turn}, 256), 20), at1 = at1 + INTERVAL 1 HOUR"
            f" WHERE id >= {first} AND id < {first + WIDE_ROWS_A_TRANSACTION};\n"
            for first in range(0, WIDE_ROWS, WIDE_ROWS_A_TRANSACTION)
        ]
        server.script("".join(text), "bench")


CHARSETS_TABLES = dedent("""\
    CREATE TABLE customers (id INT PRIMARY KEY, west VARCHAR(80) CHARACTER SET latin1 NOT NULL,
      east VARCHAR(80) CHARACTER SET cp1251 NOT NULL, north VARCHAR(80) CHARACTER SET gbk NOT NULL,
      far VARCHAR(80) CHARACTER SET sjis NOT NULL, visits INT NOT NULL) ENGINE=InnoDB;
    """)

CHARSETS_PREPARE = "SET NAMES utf8mb4;\n" + work_procedure(
    dedent("""\
    INSERT INTO customers VALUES (number,
      concat('Jürgen Müller, Königstraße ', number, ', Köln, n° ', number % 9),
      concat('Иванов Пётр, улица Ленина ', number, ', Москва'),
      concat('王小明, 北京市朝阳区 ', number, ' 号'),
      concat('山田太郎, 東京都千代田区 ', number), 0);
    IF done % 2 = 1 THEN
      UPDATE customers SET visits = visits + 1, west = concat('Zoë, ', west) WHERE id = number - step;
    END IF;
    """)
)


def _record_charsets(server: Server, size: int) -> None:
    call_procedure(server, size, CHARSETS_BYTES, [""] * CHARSETS_SESSIONS)


RECIPES: Mapping[str, Recipe] = {
    recipe.kind: recipe
    for recipe in (
        *WORKLOADS,
        Recipe(
            kind="bulk",
            title="few big transactions, 9 mixed columns",
            version=1,
            server=MySQLServer,
            options=FAST_MYSQL,
            tables=BULK_TABLES,
            prepare=numbers(6),
            record=_record_bulk,
        ),
        Recipe(
            kind="wide",
            title="updates of 60 columns, full images",
            version=1,
            server=MySQLServer,
            options=FAST_MYSQL,
            tables=_wide_tables(),
            prepare=_wide_prepare(),
            record=_record_wide,
        ),
        Recipe(
            kind="charsets",
            title="small transactions with text in latin1, cp1251, gbk and sjis",
            version=1,
            server=MariaDBServer,
            options=FAST_MARIADB,
            tables=CHARSETS_TABLES,
            prepare=CHARSETS_PREPARE,
            record=_record_charsets,
        ),
    )
}
"""Every kind of log by its name."""
