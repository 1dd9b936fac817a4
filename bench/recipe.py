"""How a measured binary log is made: a recipe, and what recipes share.

Sizes are megabytes of 1,000,000 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from textwrap import indent

from testdata.servers import Server

MEGABYTE = 1_000_000
LARGEST_BINLOG = 1 << 30
"""What ``max_binlog_size`` allows at most; a log that outgrows it goes on in another file."""

FAST = ("--innodb-doublewrite=OFF", f"--max-binlog-size={LARGEST_BINLOG}", "--binlog-cache-size=32M")
FAST_MYSQL = (
    *FAST,
    "--innodb-redo-log-capacity=1G",
    "--innodb-buffer-pool-size=1G",
    "--innodb-log-writer-threads=OFF",
    "--performance-schema=OFF",
)
FAST_MARIADB = (*FAST, "--innodb-log-file-size=512M", "--innodb-buffer-pool-size=1G")
COMPRESSED = "--binlog-transaction-compression=ON"


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


def numbers(digits: int) -> str:
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


def log_size(server: Server) -> int:
    """Bytes that the server's current log has."""
    return server.binlogs()[-1].stat().st_size


def work_procedure(statements: str) -> str:
    """Statements that make the procedure that :func:`call_procedure` calls.

    Args:
        statements: those of one transaction, each with its semicolon. ``number`` identifies it; the session's
            transaction before it had ``number - step``. ``done`` counts the transactions of a call.
    """
    return (
        "DELIMITER //\n"
        "CREATE PROCEDURE work(first INT, step INT, transactions INT)\n"
        "BEGIN\n"
        "  DECLARE number INT DEFAULT first;\n"
        "  DECLARE done INT DEFAULT 0;\n"
        "  WHILE done < transactions DO\n"
        "    START TRANSACTION;\n"
        f"{indent(statements, '    ')}"
        "    COMMIT;\n"
        "    SET number = number + step;\n"
        "    SET done = done + 1;\n"
        "  END WHILE;\n"
        "END //\n"
        "DELIMITER ;\n"
    )


_TRANSACTIONS_OF_A_CALL = 500


def call_procedure(server: Server, size: int, transaction_bytes: int, sessions: Sequence[str]) -> None:
    """Have sessions call ``work(first, step, transactions)`` until the log holds so many megabytes.

    Each session takes numbers of its own.

    Args:
        transaction_bytes: what a transaction takes in the log, roughly; the size of each step depends on it.
        sessions: statements that each session begins with.
    """
    count, first = len(sessions), 1
    with ThreadPoolExecutor(count) as pool:
        while (missing := size * MEGABYTE - log_size(server)) > 0:
            calls = max(1, min(40, missing // (transaction_bytes * _TRANSACTIONS_OF_A_CALL * count)))
            step = _TRANSACTIONS_OF_A_CALL * count
            texts = [
                start
                + "".join(
                    f"CALL work({first + number + call * step}, {count}, {_TRANSACTIONS_OF_A_CALL});\n"
                    for call in range(calls)
                )
                for number, start in enumerate(sessions)
            ]
            list(pool.map(partial(server.script, db="bench"), texts))
            first += calls * step
