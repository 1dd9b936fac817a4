"""Random settings of servers and sessions, as far as they decide what a log looks like."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.live.workload.texts import CLIENT_CHARSETS, Spelling

SQL_MODES = (
    "",
    "STRICT_TRANS_TABLES",
    "NO_BACKSLASH_ESCAPES",
    "ANSI_QUOTES,PIPES_AS_CONCAT",
    "STRICT_ALL_TABLES",
)
TIME_ZONES = ("+00:00", "-08:00", "+05:30", "SYSTEM")


@dataclass(frozen=True, slots=True)
class Session:
    """How one session was set up."""

    settings: str
    spelling: Spelling
    format: str
    whole_images: bool


def random_session(random: Random, *, mariadb: bool, rows_only: bool = False) -> Session:
    """A session; four of five log rows, or all."""
    mode = random.choice(SQL_MODES)
    charset = random.choice(("utf8mb4", "utf8mb4", "utf8mb4", *CLIENT_CHARSETS))
    log_format = random.choice(("ROW", "ROW", "ROW", "ROW", "ROW", "ROW", "MIXED", "STATEMENT"))
    log_format = "ROW" if rows_only else log_format
    values = {
        "sql_mode": f"'{mode}'",
        "time_zone": f"'{random.choice(TIME_ZONES)}'",
        "binlog_format": log_format,
        "binlog_row_image": random.choice(("FULL", "FULL", "FULL", "MINIMAL", "NOBLOB")),
        "auto_increment_increment": str(random.choice((1, 1, 2))),
        "timestamp": random.choice(
            ("DEFAULT", "DEFAULT", "DEFAULT", f"{random.randint(10**9, 2 * 10**9)}.25")
        ),
        "foreign_key_checks": random.choice("01"),
        "innodb_lock_wait_timeout": "1",
        "lock_wait_timeout": "1",
    }
    values |= _mariadb(random) if mariadb else _mysql(random)
    settings = f"SET NAMES {charset};\nSET " + ", ".join(
        f"SESSION {name} = {value}" for name, value in values.items()
    )
    settings += f";\nSET @number = {random.randint(-100, 100)}, @ignored = NULL;\n"
    spelling = Spelling(charset, "NO_BACKSLASH_ESCAPES" not in mode, "ANSI_QUOTES" in mode)
    return Session(settings, spelling, log_format, values["binlog_row_image"] == "FULL")


def _mysql(random: Random) -> dict[str, str]:
    return {
        "binlog_transaction_compression": random.choice(("OFF", "OFF", "ON")),
        "binlog_transaction_compression_level_zstd": str(random.choice((1, 3, 19))),
        "binlog_rows_query_log_events": random.choice(("OFF", "ON")),
        "binlog_row_value_options": random.choice(("''", "'PARTIAL_JSON'")),
        "unique_checks": random.choice("11110"),
        "xa_detach_on_prepare": "ON",
    }


def _mariadb(random: Random) -> dict[str, str]:
    return {
        "binlog_annotate_row_events": random.choice(("OFF", "ON")),
        "gtid_domain_id": str(random.choice((0, 0, 0, 7))),
        "server_id": str(random.choice((10, 10, 10, 4294967295))),
        "skip_parallel_replication": random.choice("01"),
    }


def global_change(random: Random, *, mariadb: bool) -> str:
    """A setting that all sessions from then on have."""
    if mariadb:
        return random.choice(
            (
                "SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10",
                "SET GLOBAL log_bin_compress = OFF",
                "SET GLOBAL binlog_row_metadata = FULL",
                "SET GLOBAL binlog_row_metadata = MINIMAL",
                "SET GLOBAL binlog_row_metadata = NO_LOG",
                "SET GLOBAL binlog_checksum = NONE",
                "SET GLOBAL binlog_checksum = CRC32",
                "FLUSH BINARY LOGS",
            )
        )
    return random.choice(
        (
            "SET GLOBAL binlog_row_metadata = FULL",
            "SET GLOBAL binlog_row_metadata = MINIMAL",
            "SET GLOBAL binlog_checksum = NONE",
            "SET GLOBAL binlog_checksum = CRC32",
            "FLUSH BINARY LOGS",
        )
    )


def first_settings(random: Random, *, mariadb: bool) -> list[str]:
    """What a round begins with."""
    if mariadb:
        metadata = random.choice(("FULL", "MINIMAL", "NO_LOG"))
        return [f"SET GLOBAL binlog_row_metadata = {metadata}", "SET GLOBAL binlog_checksum = CRC32"]
    metadata = random.choice(("FULL", "MINIMAL"))
    return [f"SET GLOBAL binlog_row_metadata = {metadata}", "SET GLOBAL binlog_checksum = CRC32"]


def last_settings(*, mariadb: bool) -> list[str]:
    """What a round leaves behind: a server as it was started."""
    if mariadb:
        return [
            "SET GLOBAL log_bin_compress = OFF",
            "SET GLOBAL binlog_row_metadata = NO_LOG, GLOBAL binlog_checksum = CRC32",
        ]
    return ["SET GLOBAL binlog_row_metadata = MINIMAL, GLOBAL binlog_checksum = CRC32"]
