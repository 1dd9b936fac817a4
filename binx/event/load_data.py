"""LOAD DATA under statement-based logging: the file in blocks, then the statement.

Sources: MySQL's libs/mysql/binlog/event/load_data_events.cpp, MariaDB's
sql/log_event.cc (MariaDB 10.11 and older write the same).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.header import EventHeader
from binx.event.query import Query, read_query_head, read_query_tail
from binx.event.reader import body_reader

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
    """Read BEGIN_LOAD_QUERY or APPEND_BLOCK.

    Raises:
        DamagedError: the body is cut.
    """
    reader = body_reader(body, header)
    fixed = reader.slice(description.post_header_length(header.type, _BLOCK_POST_HEADER))
    return LoadBlock(fixed.u32(), reader.rest())


def parse_delete_file(body: memoryview, header: EventHeader, description: FormatDescription) -> DeleteFile:
    """Read DELETE_FILE.

    Raises:
        DamagedError: the body is cut.
    """
    reader = body_reader(body, header)
    return DeleteFile(reader.u32())


def parse_execute_load_query(
    body: memoryview, header: EventHeader, description: FormatDescription
) -> ExecuteLoadQuery:
    """Read EXECUTE_LOAD_QUERY.

    Raises:
        DamagedError: the body is cut, or contradicts itself.
    """
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
