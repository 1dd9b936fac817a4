"""QUERY events (a statement and its session state) and LOAD DATA events (file blocks, then the statement).

BEGIN, COMMIT, DDL, and all changes under statement-based logging are QUERY events.

Sources: MySQL's libs/mysql/binlog/event/statement_events.cpp (``Query_event``) and load_data_events.cpp,
MariaDB's sql/log_event.h (status codes from 128 on) and log_event.cc (``Query_compressed_log_event``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from binx.event.charset import BINARY_COLLATION, DEFAULT_CHARSET, Charset, charset, collation_to_charset
from binx.event.format import Flavour, FormatDescription
from binx.event.header import EventHeader, EventType
from binx.event.mariadb import MariadbGtidExtraFlag
from binx.event.reader import Reader, body_reader, uncompress

_POST_HEADER = 13

_WITHOUT_EFFECT = MariadbGtidExtraFlag.START_ALTER | MariadbGtidExtraFlag.ROLLBACK_ALTER

_SHOWN = re.compile(
    rb"CREATE (?:OR REPLACE )?TABLE (?:IF NOT EXISTS )?"
    rb"(?:(?:`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\")\.?){1,2} \(\n  [`\"]"
)
"""How statements begin that servers write themselves (sql_show.cc, ``store_create_info``)."""


_HEAD = Struct("<IIBHH")
"""Connection, seconds, size of the database's name, error, size of the status variables."""

UPDATED_DB_NAMES = 12
"""The code before the names of the databases that a statement changes."""

TOO_MANY_DATABASES = 254
"""In place of a count of databases: there were more than the server lists."""

_ENDS_ALTER = MariadbGtidExtraFlag.COMMIT_ALTER | MariadbGtidExtraFlag.ROLLBACK_ALTER


class QueryStatus(NamedTuple):
    """The session state that a QUERY event records; None for what it does not record.

    Collations and locales are numbers; ``flags2``, ``sql_mode`` and ``mariadb_gtid_flags`` are bits;
    ``unknown`` has the codes that binx does not know, each with all bytes from there on.
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
    # Of the default database, where it differs from the server's.
    collation_database: int | None = None
    # Bits of the tables that a multi-table UPDATE changes.
    table_map_for_update: int | None = None
    # Bytes of the event on the first server (relay logs only).
    master_data_written: int | None = None
    # Who ran the statement, as CURRENT_USER() says.
    invoker_user: str | None = None
    invoker_host: str | None = None
    # Databases that the statement changes; empty where there were too many to list.
    updated_databases: tuple[str, ...] | None = None
    # To add to the header's timestamp.
    microseconds: int | None = None
    # Logical clock of MySQL 5.7's development.
    commit_timestamps: tuple[int, ...] | None = None
    explicit_defaults_for_timestamp: bool | None = None
    # Transaction number of an atomic DDL in the engine (MySQL 8.0); of a crash-safe one (MariaDB 10.6).
    ddl_xid: int | None = None
    default_collation_for_utf8mb4: int | None = None
    sql_require_primary_key: bool | None = None
    default_table_encryption: bool | None = None
    enable_cascade_triggers: bool | None = None
    mariadb_xid: int | None = None
    mariadb_gtid_flags: int | None = None
    # Sequence number of the START ALTER that this ends.
    mariadb_alter_sequence: int | None = None
    mariadb_character_set_collations: tuple[tuple[int, int], ...] | None = None
    unknown: tuple[tuple[int, bytes], ...] = ()


def _text(reader: Reader) -> str:
    return reader.text(reader.u8())


def _catalog(reader: Reader) -> str:
    """MySQL 5.0.0 to 5.0.3 put a zero byte after the name, which its length leaves out."""
    name = _text(reader)
    if name:
        reader.take(1)
    return name


def _zero_terminated(reader: Reader) -> str:
    name = bytearray()
    while (byte := reader.u8()) != 0:
        name.append(byte)
    return name.decode("utf-8", "backslashreplace")


def _databases(reader: Reader) -> tuple[str, ...]:
    count = reader.u8()
    return () if count == TOO_MANY_DATABASES else tuple(_zero_terminated(reader) for _ in range(count))


def _gtid_flags(reader: Reader) -> dict[str, object]:
    flags = reader.u8()
    if flags & _ENDS_ALTER:
        return {"mariadb_gtid_flags": flags, "mariadb_alter_sequence": reader.u64()}
    return {"mariadb_gtid_flags": flags}


_STATUS: dict[int, Callable[[Reader], dict[str, object]]] = {
    0: lambda r: {"flags2": r.u32()},
    1: lambda r: {"sql_mode": r.u64()},
    2: lambda r: {"catalog": _catalog(r)},
    3: lambda r: {"auto_increment_increment": r.u16(), "auto_increment_offset": r.u16()},
    4: lambda r: {
        "character_set_client": r.u16(),
        "collation_connection": r.u16(),
        "collation_server": r.u16(),
    },
    5: lambda r: {"time_zone": _text(r)},
    6: lambda r: {"catalog": _text(r)},
    7: lambda r: {"lc_time_names": r.u16()},
    8: lambda r: {"collation_database": r.u16()},
    9: lambda r: {"table_map_for_update": r.u64()},
    10: lambda r: {"master_data_written": r.u32()},
    11: lambda r: {"invoker_user": _text(r), "invoker_host": _text(r)},
    UPDATED_DB_NAMES: lambda r: {"updated_databases": _databases(r)},
    13: lambda r: {"microseconds": r.unsigned(3)},
    14: lambda r: {"commit_timestamps": (r.u64(),)},
    15: lambda r: {"commit_timestamps": (r.u64(), r.u64())},
    16: lambda r: {"explicit_defaults_for_timestamp": r.u8() != 0},
    17: lambda r: {"ddl_xid": r.u64()},
    18: lambda r: {"default_collation_for_utf8mb4": r.u16()},
    19: lambda r: {"sql_require_primary_key": r.u8() != 0},
    20: lambda r: {"default_table_encryption": r.u8() != 0},
    21: lambda r: {"enable_cascade_triggers": r.u8() != 0},
    128: lambda r: {"microseconds": r.unsigned(3)},
    129: lambda r: {"mariadb_xid": r.u64()},
    130: _gtid_flags,
    131: lambda r: {
        "mariadb_character_set_collations": tuple((r.u16(), r.u16()) for _ in range(r.u8())),
    },
    255: lambda r: {},
}
"""What follows each code (``Query_event_status_vars``); a code that binx does not know ends the reading."""


def parse_status(reader: Reader) -> QueryStatus:
    """Read all status variables; the reader is over them alone."""
    values: dict[str, object] = {}
    while reader.remaining:
        code = reader.u8()
        read = _STATUS.get(code)
        if read is None:
            values["unknown"] = ((code, bytes(reader.rest())),)
        else:
            values.update(read(reader))
    return QueryStatus(**values)  # type: ignore[arg-type]


class Query(NamedTuple):
    """One statement.

    Attributes:
        execution_time: seconds from its start to its end.
        error_code: the error that it ended with on its server, 0 for none.
        database: the session's default database, empty where it had none.
        sql: the statement's bytes, in the client's character set.
        flavour: whose server wrote it; what bits of the session's options mean depends on it.
    """

    thread_id: int
    execution_time: int
    error_code: int
    database: str
    sql: bytes
    status: QueryStatus
    flavour: Flavour
    version: tuple[int, int, int]

    @property
    def charset(self) -> Charset:
        """The client's character set; utf8mb4 if the event has none that binx knows.

        A statement that the server wrote itself is in UTF-8, whatever the client's.
        """
        found = statement_charset(self.status)
        if found.name != DEFAULT_CHARSET and self.by_server and _utf8().decode_strictly(self.sql) is not None:
            return _utf8()
        return found

    @property
    def by_server(self) -> bool:
        """Whether it looks as the CREATE TABLE that a server makes of another, as of CREATE … SELECT.

        Such a one escapes by backslashes in all sessions.
        """
        return _SHOWN.match(self.sql) is not None

    @property
    def text(self) -> str:
        r"""The statement as text; bytes that its character set does not have become ``\xNN``."""
        return self.charset.decode(self.sql)

    @property
    def sql_is_text(self) -> bool:
        """Whether every byte of the statement is part of a character, so that ``text`` lost nothing."""
        return self.charset.decode_strictly(self.sql) is not None

    @property
    def takes_effect(self) -> bool:
        """Whether the statement takes effect.

        With ``binlog_alter_two_phase``, MariaDB logs an ALTER TABLE when it starts and again when it ends. It
        takes effect with COMMIT ALTER, not with START ALTER, nor with ROLLBACK ALTER, which says that it
        failed. Source: MariaDB's sql/log_event_server.cc (``handle_split_alter_query_log_event``).
        """
        return not (self.status.mariadb_gtid_flags or 0) & _WITHOUT_EFFECT


def statement_charset(status: QueryStatus) -> Charset:
    """Return the character set of a statement's bytes; utf8mb4 if the session's is unknown or binary."""
    number = status.character_set_client
    known = None if number is None or number == BINARY_COLLATION else collation_to_charset(number)
    return known or _utf8()


def _utf8() -> Charset:
    found = charset(DEFAULT_CHARSET)
    assert found is not None
    return found


def _read_query(
    fixed: Reader, reader: Reader, description: FormatDescription, *, compressed: bool = False
) -> Query:
    thread_id, execution_time, database_size, error_code, status_size = _HEAD.unpack(fixed.take(_HEAD.size))
    status = parse_status(reader.slice(status_size))
    database = reader.text(database_size)
    if reader.u8() != 0:
        raise reader.damaged("expected a zero byte after the database's name")
    sql = uncompress(reader) if compressed else bytes(reader.rest())
    return Query(
        thread_id, execution_time, error_code, database, sql, status, description.flavour, description.version
    )


def parse_query(body: memoryview, header: EventHeader, description: FormatDescription) -> Query:
    """Read QUERY or MariaDB's QUERY_COMPRESSED."""
    reader = body_reader(body, header)
    fixed = reader.slice(description.post_header_length(header.type, _POST_HEADER))
    return _read_query(
        fixed, reader, description, compressed=header.type == EventType.MARIADB_QUERY_COMPRESSED
    )


_BLOCK_POST_HEADER = 4
_EXECUTE_POST_HEADER = 26


class DuplicateHandling(IntEnum):
    """What LOAD DATA does with a row whose key is there already."""

    ERROR = 0
    IGNORE = 1
    REPLACE = 2


class LoadBlock(NamedTuple):
    """A piece of the file that LOAD DATA reads: BEGIN_LOAD_QUERY the first, APPEND_BLOCK those after it."""

    file_id: int
    data: memoryview


class DeleteFile(NamedTuple):
    """The LOAD DATA failed; its file is to be forgotten."""

    file_id: int


class ExecuteLoadQuery(NamedTuple):
    """The LOAD DATA statement.

    Attributes:
        file_name_start: where in the statement's bytes the part with the file's name begins.
        file_name_end: where it ends; a server that runs the statement puts another name there.
    """

    query: Query
    file_id: int
    file_name_start: int
    file_name_end: int
    duplicates: DuplicateHandling


def parse_load_block(body: memoryview, header: EventHeader, description: FormatDescription) -> LoadBlock:
    """Read BEGIN_LOAD_QUERY or APPEND_BLOCK."""
    reader = body_reader(body, header)
    fixed = reader.slice(description.post_header_length(header.type, _BLOCK_POST_HEADER))
    return LoadBlock(fixed.u32(), reader.rest())


def parse_delete_file(body: memoryview, header: EventHeader, description: FormatDescription) -> DeleteFile:
    """Read DELETE_FILE."""
    reader = body_reader(body, header)
    return DeleteFile(reader.u32())


def parse_execute_load_query(
    body: memoryview, header: EventHeader, description: FormatDescription
) -> ExecuteLoadQuery:
    """Read EXECUTE_LOAD_QUERY."""
    reader = body_reader(body, header)
    fixed = reader.slice(description.post_header_length(header.type, _EXECUTE_POST_HEADER))
    query = _read_query(fixed, reader, description)
    file_id, start, end, handling = fixed.u32(), fixed.u32(), fixed.u32(), fixed.u8()
    if not start <= end <= len(query.sql):
        raise reader.damaged(
            f"expected the file's name within {len(query.sql)} bytes, found {start} to {end}"
        )
    if handling not in set(DuplicateHandling):
        raise reader.damaged(f"expected 0, 1 or 2 for duplicate keys, found {handling}")
    return ExecuteLoadQuery(query, file_id, start, end, DuplicateHandling(handling))
