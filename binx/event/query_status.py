"""The status variables of QUERY events: the session in which a statement ran.

Each is a code and a value whose size follows from the code, so a variable that
binx does not know ends the reading; the rest is kept as it is.

Sources: MySQL's libs/mysql/binlog/event/statement_events.h and .cpp
(``Query_event_status_vars``), MariaDB's sql/log_event.h (codes from 128 on).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from binx.event.reader import Reader

TOO_MANY_DATABASES = 254
"""In place of a count of databases: there were more than the server lists."""

_MARIADB_COMMIT_OR_ROLLBACK_ALTER = 0x04 | 0x08


class StatusCode(IntEnum):
    """The codes of status variables."""

    FLAGS2 = 0
    SQL_MODE = 1
    CATALOG = 2
    AUTO_INCREMENT = 3
    CHARSET = 4
    TIME_ZONE = 5
    CATALOG_NZ = 6
    LC_TIME_NAMES = 7
    CHARSET_DATABASE = 8
    TABLE_MAP_FOR_UPDATE = 9
    MASTER_DATA_WRITTEN = 10
    INVOKER = 11
    UPDATED_DB_NAMES = 12
    MICROSECONDS = 13
    COMMIT_TS = 14
    COMMIT_TS2 = 15
    EXPLICIT_DEFAULTS_FOR_TIMESTAMP = 16
    DDL_LOGGED_WITH_XID = 17
    DEFAULT_COLLATION_FOR_UTF8MB4 = 18
    SQL_REQUIRE_PRIMARY_KEY = 19
    DEFAULT_TABLE_ENCRYPTION = 20
    ENABLE_CASCADE_TRIGGERS = 21
    MARIADB_HRNOW = 128
    MARIADB_XID = 129
    MARIADB_GTID_FLAGS3 = 130
    MARIADB_CHARACTER_SET_COLLATIONS = 131
    MARIADB_DUMMY = 255


class QueryStatus(NamedTuple):
    """What a QUERY event says of its session; None is what it does not say.

    Attributes:
        flags2: session options as bits.
        sql_mode: SQL mode as bits.
        catalog: always ``std``.
        auto_increment_increment: step of AUTO_INCREMENT values.
        auto_increment_offset: first AUTO_INCREMENT value.
        character_set_client: collation number of the statement's text.
        collation_connection: collation number.
        collation_server: collation number.
        time_zone: as in ``SYSTEM`` or ``+03:00``.
        lc_time_names: number of the locale.
        collation_database: collation number of the default database, where it differs from the server's.
        table_map_for_update: bits of the tables that a multi-table UPDATE changes.
        master_data_written: bytes of the event on the first server (relay logs only).
        invoker_user: who ran the statement, as CURRENT_USER() says.
        invoker_host: from where.
        updated_databases: names of the databases that the statement changes; empty where there were too many
            to list.
        microseconds: part of a second to add to the header's timestamp.
        commit_timestamps: logical clock of MySQL 5.7's development.
        explicit_defaults_for_timestamp: the variable.
        ddl_xid: transaction number of an atomic DDL in the engine (MySQL 8.0).
        default_collation_for_utf8mb4: collation number.
        sql_require_primary_key: the variable.
        default_table_encryption: the variable.
        enable_cascade_triggers: the variable (MySQL 9.6).
        mariadb_xid: transaction number of a crash-safe DDL in the engine (MariaDB 10.6).
        mariadb_gtid_flags: the extra flags of MariaDB's GTID, of a two-phase ALTER.
        mariadb_alter_sequence: sequence number of the START ALTER that this ends.
        mariadb_character_set_collations: pairs of character set and collation numbers.
        unknown: codes that binx does not know, each with all bytes from there on.
    """

    flags2: int | None = None
    sql_mode: int | None = None
    catalog: str | None = None
    auto_increment_increment: int | None = None
    auto_increment_offset: int | None = None
    character_set_client: int | None = None
    collation_connection: int | None = None
    collation_server: int | None = None
    time_zone: str | None = None
    lc_time_names: int | None = None
    collation_database: int | None = None
    table_map_for_update: int | None = None
    master_data_written: int | None = None
    invoker_user: str | None = None
    invoker_host: str | None = None
    updated_databases: tuple[str, ...] | None = None
    microseconds: int | None = None
    commit_timestamps: tuple[int, ...] | None = None
    explicit_defaults_for_timestamp: bool | None = None
    ddl_xid: int | None = None
    default_collation_for_utf8mb4: int | None = None
    sql_require_primary_key: bool | None = None
    default_table_encryption: bool | None = None
    enable_cascade_triggers: bool | None = None
    mariadb_xid: int | None = None
    mariadb_gtid_flags: int | None = None
    mariadb_alter_sequence: int | None = None
    mariadb_character_set_collations: tuple[tuple[int, int], ...] | None = None
    unknown: tuple[tuple[int, bytes], ...] = ()


def _flag(reader: Reader) -> bool:
    return reader.u8() != 0


def _text(reader: Reader) -> str:
    return reader.text(reader.u8())


def _catalog(reader: Reader) -> str:
    """MySQL 5.0.0 to 5.0.3 put a zero byte after the name, which its length leaves out."""
    length = reader.u8()
    name = reader.text(length)
    if length:
        reader.skip(1)
    return name


def _zero_terminated(reader: Reader) -> str:
    name = bytearray()
    while (byte := reader.u8()) != 0:
        name.append(byte)
    return name.decode("utf-8", "backslashreplace")


def _databases(reader: Reader) -> tuple[str, ...]:
    count = reader.u8()
    if count == TOO_MANY_DATABASES:
        return ()
    return tuple(_zero_terminated(reader) for _ in range(count))


def _charset_collations(reader: Reader) -> tuple[tuple[int, int], ...]:
    return tuple((reader.u16(), reader.u16()) for _ in range(reader.u8()))


_Values = dict[str, object]
_READERS: dict[int, Callable[[Reader], _Values]] = {
    StatusCode.FLAGS2: lambda r: {"flags2": r.u32()},
    StatusCode.SQL_MODE: lambda r: {"sql_mode": r.u64()},
    StatusCode.CATALOG: lambda r: {"catalog": _catalog(r)},
    StatusCode.AUTO_INCREMENT: lambda r: {
        "auto_increment_increment": r.u16(),
        "auto_increment_offset": r.u16(),
    },
    StatusCode.CHARSET: lambda r: {
        "character_set_client": r.u16(),
        "collation_connection": r.u16(),
        "collation_server": r.u16(),
    },
    StatusCode.TIME_ZONE: lambda r: {"time_zone": _text(r)},
    StatusCode.CATALOG_NZ: lambda r: {"catalog": _text(r)},
    StatusCode.LC_TIME_NAMES: lambda r: {"lc_time_names": r.u16()},
    StatusCode.CHARSET_DATABASE: lambda r: {"collation_database": r.u16()},
    StatusCode.TABLE_MAP_FOR_UPDATE: lambda r: {"table_map_for_update": r.u64()},
    StatusCode.MASTER_DATA_WRITTEN: lambda r: {"master_data_written": r.u32()},
    StatusCode.INVOKER: lambda r: {"invoker_user": _text(r), "invoker_host": _text(r)},
    StatusCode.UPDATED_DB_NAMES: lambda r: {"updated_databases": _databases(r)},
    StatusCode.MICROSECONDS: lambda r: {"microseconds": r.u24()},
    StatusCode.COMMIT_TS: lambda r: {"commit_timestamps": (r.u64(),)},
    StatusCode.COMMIT_TS2: lambda r: {"commit_timestamps": (r.u64(), r.u64())},
    StatusCode.EXPLICIT_DEFAULTS_FOR_TIMESTAMP: lambda r: {"explicit_defaults_for_timestamp": _flag(r)},
    StatusCode.DDL_LOGGED_WITH_XID: lambda r: {"ddl_xid": r.u64()},
    StatusCode.DEFAULT_COLLATION_FOR_UTF8MB4: lambda r: {"default_collation_for_utf8mb4": r.u16()},
    StatusCode.SQL_REQUIRE_PRIMARY_KEY: lambda r: {"sql_require_primary_key": _flag(r)},
    StatusCode.DEFAULT_TABLE_ENCRYPTION: lambda r: {"default_table_encryption": _flag(r)},
    StatusCode.ENABLE_CASCADE_TRIGGERS: lambda r: {"enable_cascade_triggers": _flag(r)},
    StatusCode.MARIADB_HRNOW: lambda r: {"microseconds": r.u24()},
    StatusCode.MARIADB_XID: lambda r: {"mariadb_xid": r.u64()},
    StatusCode.MARIADB_CHARACTER_SET_COLLATIONS: lambda r: {
        "mariadb_character_set_collations": _charset_collations(r)
    },
    StatusCode.MARIADB_DUMMY: lambda r: {},
}


def _gtid_flags(reader: Reader) -> _Values:
    flags = reader.u8()
    if flags & _MARIADB_COMMIT_OR_ROLLBACK_ALTER:
        return {"mariadb_gtid_flags": flags, "mariadb_alter_sequence": reader.u64()}
    return {"mariadb_gtid_flags": flags}


_READERS[StatusCode.MARIADB_GTID_FLAGS3] = _gtid_flags


def parse_status(reader: Reader) -> QueryStatus:
    """Read all status variables.

    Args:
        reader: over the status variables alone.
    """
    values: dict[str, object] = {}
    while reader.remaining:
        code = reader.u8()
        read = _READERS.get(code)
        if read is None:
            values["unknown"] = ((code, bytes(reader.rest())),)
        else:
            values.update(read(reader))
    return QueryStatus(**values)  # type: ignore[arg-type]
