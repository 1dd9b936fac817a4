"""QUERY: a statement, with the session that it ran in; LOAD DATA: the file in blocks, then the statement.

BEGIN, COMMIT, DDL, and all changes under statement-based logging are QUERY events.

Sources: MySQL's libs/mysql/binlog/event/statement_events.cpp (``Query_event``) and load_data_events.cpp,
MariaDB's sql/log_event.cc (``Query_compressed_log_event``).
"""

from __future__ import annotations

import re
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from binx.event.charset import BINARY_COLLATION, DEFAULT_CHARSET, Charset, charset, collation_to_charset
from binx.event.format import Flavour, FormatDescription
from binx.event.header import EventHeader, EventType
from binx.event.mariadb import MariadbGtidExtraFlag
from binx.event.query_status import QueryStatus, parse_status
from binx.event.reader import Reader, body_reader, uncompress

_POST_HEADER = 13

_WITHOUT_EFFECT = MariadbGtidExtraFlag.START_ALTER | MariadbGtidExtraFlag.ROLLBACK_ALTER

_SHOWN = re.compile(
    rb"CREATE (?:OR REPLACE )?TABLE (?:IF NOT EXISTS )?"
    rb"(?:(?:`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\")\.?){1,2} \(\n  [`\"]"
)
"""How statements begin that servers write themselves (sql_show.cc, ``store_create_info``)."""


_HEAD = Struct("<IIBHH")
"""What :class:`QueryHead` is made of."""


class Query(NamedTuple):
    """One statement.

    Attributes:
        thread_id: id of the connection that ran it.
        execution_time: seconds from its start to its end.
        error_code: the error that it ended with on its server, 0 for none.
        database: the session's default database, empty where it had none.
        sql: the statement's bytes, in the client's character set.
        status: the session.
        flavour: whose server wrote it; what bits of the session's options mean depends on it.
        version: of that server.
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
        """The client's character set; utf8mb4 where the event does not name one that binx knows.

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
        """Whether the statement does what it says.

        With ``binlog_alter_two_phase``, MariaDB logs an ALTER TABLE when it starts and again when it ends. It
        takes effect with COMMIT ALTER, not with START ALTER, nor with ROLLBACK ALTER, which says that it
        failed. Source: MariaDB's sql/log_event_server.cc (``handle_split_alter_query_log_event``).
        """
        return not (self.status.mariadb_gtid_flags or 0) & _WITHOUT_EFFECT


class QueryHead(NamedTuple):
    """The fixed part that QUERY and EXECUTE_LOAD_QUERY begin with.

    Attributes:
        thread_id: id of the connection.
        execution_time: seconds.
        database_size: bytes of the database's name.
        error_code: 0 for none.
        status_size: bytes of the status variables.
    """

    thread_id: int
    execution_time: int
    database_size: int
    error_code: int
    status_size: int


def statement_charset(status: QueryStatus) -> Charset:
    """The character set of a statement's bytes; utf8mb4 where the session does not tell, or is binary."""
    number = status.character_set_client
    known = None if number is None or number == BINARY_COLLATION else collation_to_charset(number)
    return known or _utf8()


def _utf8() -> Charset:
    found = charset(DEFAULT_CHARSET)
    assert found is not None
    return found


def read_query_head(reader: Reader) -> QueryHead:
    """Read the first 13 bytes of QUERY or EXECUTE_LOAD_QUERY."""
    return QueryHead._make(_HEAD.unpack(reader.take(_HEAD.size)))


def read_query_tail(reader: Reader, head: QueryHead) -> tuple[QueryStatus, str]:
    """Read status variables and database name, which leaves the statement."""
    status = parse_status(reader.slice(head.status_size))
    database = reader.text(head.database_size)
    if reader.u8() != 0:
        raise reader.damaged("expected a zero byte after the database's name")
    return status, database


def parse_query(body: memoryview, header: EventHeader, description: FormatDescription) -> Query:
    """Read QUERY or MariaDB's QUERY_COMPRESSED."""
    reader = body_reader(body, header)
    fixed = reader.slice(description.post_header_length(header.type, _POST_HEADER))
    head = read_query_head(fixed)
    status, database = read_query_tail(reader, head)
    compressed = header.type == EventType.MARIADB_QUERY_COMPRESSED
    return Query(
        thread_id=head.thread_id,
        execution_time=head.execution_time,
        error_code=head.error_code,
        database=database,
        sql=uncompress(reader) if compressed else bytes(reader.rest()),
        status=status,
        flavour=description.flavour,
        version=description.version,
    )


_BLOCK_POST_HEADER = 4
_EXECUTE_POST_HEADER = 26


class DuplicateHandling(IntEnum):
    """What LOAD DATA does with a row whose key is there already."""

    ERROR = 0
    IGNORE = 1
    REPLACE = 2


class LoadBlock(NamedTuple):
    """A piece of the file that LOAD DATA reads: BEGIN_LOAD_QUERY the first, APPEND_BLOCK those after it.

    Attributes:
        file_id: number of the file in its log.
        data: the piece's bytes.
    """

    file_id: int
    data: memoryview


class DeleteFile(NamedTuple):
    """The LOAD DATA failed; its file is to be forgotten.

    Attributes:
        file_id: number of the file in its log.
    """

    file_id: int


class ExecuteLoadQuery(NamedTuple):
    """The LOAD DATA statement.

    Attributes:
        query: the statement and its session.
        file_id: number of the file that holds its data.
        file_name_start: where in the statement's bytes the part with the file's name begins.
        file_name_end: where it ends; a server that runs the statement puts another name there.
        duplicates: what happens to duplicate keys.
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
    head = read_query_head(fixed)
    file_id, start, end, handling = fixed.u32(), fixed.u32(), fixed.u32(), fixed.u8()
    status, database = read_query_tail(reader, head)
    sql = bytes(reader.rest())
    if not start <= end <= len(sql):
        raise reader.damaged(f"expected the file's name within {len(sql)} bytes, found {start} to {end}")
    if handling not in set(DuplicateHandling):
        raise reader.damaged(f"expected 0, 1 or 2 for duplicate keys, found {handling}")
    query = Query(
        thread_id=head.thread_id,
        execution_time=head.execution_time,
        error_code=head.error_code,
        database=database,
        sql=sql,
        status=status,
        flavour=description.flavour,
        version=description.version,
    )
    return ExecuteLoadQuery(query, file_id, start, end, DuplicateHandling(handling))
