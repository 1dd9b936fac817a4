"""What the measured binary logs hold: SQL that makes a real server write each kind.

Rows are made by the server itself, by procedures and ``INSERT … SELECT``, so that the client sends little.
Sizes are megabytes of 1,000,000 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from textwrap import dedent

from testdata.servers import MariaDBServer, MySQLServer, Server

MEGABYTE = 1_000_000
LARGEST_BINLOG = 1 << 30
"""What ``max_binlog_size`` allows at most; a log that outgrows it goes on in another file."""

OLTP_SESSIONS = 4
OLTP_ACCOUNTS = 10_000
OLTP_CALL = 500
OLTP_BYTES = 1_100
"""What a small transaction takes in MySQL's log, roughly; only the size of each step depends on it."""

BULK_TRANSACTIONS = 36
BULK_INSERT_BYTES = 87
BULK_UPDATE_BYTES = 170
BULK_DELETE_BYTES = 85
"""What a row change takes in the log, roughly; only the log's final size depends on it."""

WIDE_ROWS = 2_000
WIDE_ROWS_A_TRANSACTION = 200

FAST = ("--innodb-doublewrite=OFF", f"--max-binlog-size={LARGEST_BINLOG}", "--binlog-cache-size=32M")
FAST_MYSQL = (
    *FAST,
    "--innodb-redo-log-capacity=1G",
    "--innodb-buffer-pool-size=1G",
    "--innodb-log-writer-threads=OFF",
    "--performance-schema=OFF",
)
FAST_MARIADB = (*FAST, "--innodb-log-file-size=512M", "--innodb-buffer-pool-size=1G")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one kind of binary log is made.

    Attributes:
        kind: its name.
        title: what is in it, for people.
        version: raised whenever another log comes of it, so that no log made before is taken for it.
        server: which server writes it.
        options: the server's options.
        tables: statements that make the tables; they stand in the log, so that readers know columns' names.
        prepare: statements that fill tables and make procedures; they are not logged.
        record: does the work until the log holds about so many megabytes.
    """

    kind: str
    title: str
    version: int
    server: type[Server]
    options: tuple[str, ...]
    tables: str
    prepare: str
    record: Callable[[Server, int], None]

    def make(self, server: Server, size: int) -> None:
        """Let a running server that has logged nothing yet write the log, and close it.

        Raises:
            ServerError: a statement failed.
        """
        server.sql(f"CREATE DATABASE bench; USE bench;\n{self.tables}")
        server.script(f"SET SESSION sql_log_bin = 0;\n{self.prepare}", "bench")
        self.record(server, size)
        server.flush_logs()


def _numbers(digits: int) -> str:
    """Statements that make a table of the numbers of so many digits."""
    names = "abcdef"[:digits]
    sum_of_digits = " + ".join(f"{10**place} * {name}.digit" for place, name in enumerate(names))
    tables = ", ".join(f"digits {name}" for name in names)
    return (
        "CREATE TABLE digits (digit INT PRIMARY KEY) ENGINE=InnoDB;\n"
        "INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);\n"
        "CREATE TABLE numbers (number INT PRIMARY KEY) ENGINE=InnoDB;\n"
        f"INSERT INTO numbers SELECT {sum_of_digits} FROM {tables};\n"
    )


OLTP_TABLES = dedent("""\
    CREATE TABLE accounts (id INT PRIMARY KEY, owner VARCHAR(300) NOT NULL, balance DECIMAL(12,2) NOT NULL,
      changed DATETIME NOT NULL) ENGINE=InnoDB;
    CREATE TABLE orders (id INT PRIMARY KEY, account INT NOT NULL, amount DECIMAL(10,2) NOT NULL,
      note VARCHAR(300) NOT NULL) ENGINE=InnoDB;
    CREATE TABLE stock (product INT PRIMARY KEY, warehouse SMALLINT NOT NULL, pieces INT NOT NULL,
      changed TIMESTAMP NOT NULL) ENGINE=InnoDB;
    CREATE TABLE journal (id INT PRIMARY KEY, account INT NOT NULL, at DATETIME(3) NOT NULL,
      text VARCHAR(80) NULL) ENGINE=InnoDB;
    """)

OLTP_PREPARE = _numbers(4) + dedent(f"""\
    INSERT INTO accounts
      SELECT number, concat('Owner ', number, ', customer since ', 1990 + number % 30, ', ',
          sha2(number, 256), ', ', number % 97, ' High Street, Springfield; invoices by post, parcels to the',
          ' neighbours on the left, no advertising, speaks to nobody before ten'),
        1000.00, '2026-01-01'
      FROM numbers WHERE number < {OLTP_ACCOUNTS};
    INSERT INTO stock
      SELECT number, number % 9, 100000, '2026-01-01' FROM numbers WHERE number < {OLTP_ACCOUNTS};
    DELIMITER //
    CREATE PROCEDURE work(first INT, step INT, transactions INT)
    BEGIN
      DECLARE number INT DEFAULT first;
      DECLARE done INT DEFAULT 0;
      WHILE done < transactions DO
        START TRANSACTION;
        INSERT INTO orders VALUES (number, number % {OLTP_ACCOUNTS}, number % 9973 / 7,
          concat('order ', number, ', please deliver on a weekday before noon and ring twice; the dog is',
            ' friendly, the garden gate sticks and wants a push; voucher ',
            left(sha2(number, 256), 20 + number % 40)));
        IF done % 4 <> 0 THEN
          UPDATE accounts SET balance = balance - number % 100 / 4, changed = now()
            WHERE id = number % {OLTP_ACCOUNTS};
        END IF;
        IF done % 4 = 1 THEN
          UPDATE stock SET pieces = pieces - 1, changed = now() WHERE product = number * 31 % {OLTP_ACCOUNTS};
        END IF;
        IF done % 8 = 3 THEN
          INSERT INTO journal VALUES (number, number % {OLTP_ACCOUNTS}, now(3), concat('order ', number));
        END IF;
        IF done % 8 = 7 AND done > 20 THEN
          DELETE FROM orders WHERE id = number - 20 * step;
        END IF;
        COMMIT;
        SET number = number + step;
        SET done = done + 1;
      END WHILE;
    END //
    DELIMITER ;
    """)


def _record_oltp(server: Server, size: int) -> None:
    """Have several sessions work side by side; each takes numbers of its own."""
    next_number = 1
    with ThreadPoolExecutor(OLTP_SESSIONS) as sessions:
        while (missing := size * MEGABYTE - _log_size(server)) > 0:
            calls = max(1, min(40, missing // (OLTP_BYTES * OLTP_CALL * OLTP_SESSIONS)))
            texts = []
            for session in range(OLTP_SESSIONS):
                firsts = (next_number + session + call * OLTP_CALL * OLTP_SESSIONS for call in range(calls))
                texts.append(
                    "".join(f"CALL work({first}, {OLTP_SESSIONS}, {OLTP_CALL});\n" for first in firsts)
                )
            list(sessions.map(lambda text: server.script(text, "bench"), texts))
            next_number += calls * OLTP_CALL * OLTP_SESSIONS


def _log_size(server: Server) -> int:
    return server.binlogs()[-1].stat().st_size


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
    return _numbers(4) + (
        f"INSERT INTO wide SELECT n, {', '.join(values)}"
        f" FROM (SELECT number AS n FROM numbers WHERE number < {WIDE_ROWS}) AS numbered;\n"
    )


def _record_wide(server: Server, size: int) -> None:
    """Update slices of the table, a few columns of each row, again and again."""
    turn = 0
    while _log_size(server) < size * MEGABYTE:
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

CHARSETS_PREPARE = dedent("""\
    SET NAMES utf8mb4;
    DELIMITER //
    CREATE PROCEDURE work(first INT, step INT, transactions INT)
    BEGIN
      DECLARE number INT DEFAULT first;
      DECLARE done INT DEFAULT 0;
      WHILE done < transactions DO
        START TRANSACTION;
        INSERT INTO customers VALUES (number,
          concat('Jürgen Müller, Königstraße ', number, ', Köln, n° ', number % 9),
          concat('Иванов Пётр, улица Ленина ', number, ', Москва'),
          concat('王小明, 北京市朝阳区 ', number, ' 号'),
          concat('山田太郎, 東京都千代田区 ', number), 0);
        IF done % 2 = 1 THEN
          UPDATE customers SET visits = visits + 1, west = concat('Zoë, ', west) WHERE id = number - step;
        END IF;
        COMMIT;
        SET number = number + step;
        SET done = done + 1;
      END WHILE;
    END //
    DELIMITER ;
    """)

RECIPES: Mapping[str, Recipe] = {
    recipe.kind: recipe
    for recipe in (
        Recipe(
            kind="oltp",
            title="small transactions",
            version=1,
            server=MySQLServer,
            options=FAST_MYSQL,
            tables=OLTP_TABLES,
            prepare=OLTP_PREPARE,
            record=_record_oltp,
        ),
        Recipe(
            kind="bulk",
            title="few big transactions, 9 mixed columns",
            version=1,
            server=MySQLServer,
            options=FAST_MYSQL,
            tables=BULK_TABLES,
            prepare=_numbers(6),
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
            kind="zstd",
            title="the work of bulk, in compressed payloads",
            version=1,
            server=MySQLServer,
            options=(*FAST_MYSQL, "--binlog-transaction-compression=ON"),
            tables=BULK_TABLES,
            prepare=_numbers(6),
            record=_record_bulk,
        ),
        Recipe(
            kind="mariadb",
            title="small transactions of MariaDB",
            version=1,
            server=MariaDBServer,
            options=FAST_MARIADB,
            tables=OLTP_TABLES,
            prepare=OLTP_PREPARE,
            record=_record_oltp,
        ),
        Recipe(
            kind="charsets",
            title="small transactions with text in latin1, cp1251, gbk and sjis",
            version=1,
            server=MariaDBServer,
            options=FAST_MARIADB,
            tables=CHARSETS_TABLES,
            prepare=CHARSETS_PREPARE,
            record=_record_oltp,
        ),
    )
}
"""Every kind of log by its name."""
