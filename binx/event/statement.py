"""Events that stand around statements: values they used, their text under row logging, how they end.

Sources: MySQL's libs/mysql/binlog/event/statement_events.cpp,
control_events.cpp and rows_event.cpp, MariaDB's sql/log_event.cc
(``Annotate_rows_log_event``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.header import EventHeader, EventType
from binx.event.reader import Reader, body_reader


class IntvarType(IntEnum):
    """Which variable an INTVAR event sets."""

    LAST_INSERT_ID = 1
    INSERT_ID = 2


class Intvar(NamedTuple):
    """A value of AUTO_INCREMENT or LAST_INSERT_ID() for the statement that follows.

    Attributes:
        type: which of the two; a number where binx knows no such variable.
        value: the value.
    """

    type: int
    value: int

    @property
    def name(self) -> str:
        """The variable's name in SET."""
        return IntvarType(self.type).name.lower() if self.type in set(IntvarType) else f"variable {self.type}"


class Rand(NamedTuple):
    """The seeds of RAND() for the statement that follows.

    Attributes:
        seed1: value of ``rand_seed1``.
        seed2: value of ``rand_seed2``.
    """

    seed1: int
    seed2: int


class RowsQuery(NamedTuple):
    """The statement whose row changes follow (ROWS_QUERY, MariaDB's ANNOTATE_ROWS).

    Attributes:
        sql: the statement's bytes, utf8 for MySQL, in the client's character set for MariaDB.
    """

    sql: bytes

    @property
    def text(self) -> str:
        r"""The statement read as UTF-8; other bytes become ``\xNN``."""
        return self.sql.decode("utf-8", "backslashreplace")


class Xid(NamedTuple):
    """The end of a transaction that was committed in a transactional engine.

    Attributes:
        xid: the transaction's number in its server, which begins anew at each start.
    """

    xid: int


class XaXid(NamedTuple):
    """The name that an XA transaction's coordinator gave it.

    Attributes:
        format_id: how the coordinator builds such names; 1 where it did not say.
        gtrid: the global transaction id, at most 64 bytes.
        bqual: the branch qualifier, at most 64 bytes.
    """

    format_id: int
    gtrid: bytes
    bqual: bytes

    def __str__(self) -> str:
        return f"X'{self.gtrid.hex()}',X'{self.bqual.hex()}',{self.format_id}"


class XaPrepare(NamedTuple):
    """The end of an XA transaction's first phase.

    Attributes:
        one_phase: it was committed at once (XA COMMIT … ONE PHASE).
        xid: its name.
    """

    one_phase: bool
    xid: XaXid


_MAX_XID_PART = 64


def parse_intvar(body: memoryview, header: EventHeader, description: FormatDescription) -> Intvar:
    """Read INTVAR.

    Raises:
        DamagedError: the body is cut.
    """
    reader = _reader_after_post_header(body, header, description)
    return Intvar(reader.u8(), reader.u64())


def parse_rand(body: memoryview, header: EventHeader, description: FormatDescription) -> Rand:
    """Read RAND.

    Raises:
        DamagedError: the body is cut.
    """
    reader = _reader_after_post_header(body, header, description)
    return Rand(reader.u64(), reader.u64())


def parse_rows_query(body: memoryview, header: EventHeader, description: FormatDescription) -> RowsQuery:
    """Read ROWS_QUERY, whose first byte is a length that counts modulo 256 and is not used, or ANNOTATE_ROWS.

    Raises:
        DamagedError: the body is cut.
    """
    reader = _reader_after_post_header(body, header, description)
    if header.type == EventType.ROWS_QUERY:
        reader.skip(1)
    return RowsQuery(bytes(reader.rest()))


def parse_xid(body: memoryview, header: EventHeader, description: FormatDescription) -> Xid:
    """Read XID.

    Raises:
        DamagedError: the body is cut.
    """
    return Xid(_reader_after_post_header(body, header, description).u64())


def parse_xa_prepare(body: memoryview, header: EventHeader, description: FormatDescription) -> XaPrepare:
    """Read XA_PREPARE.

    Raises:
        DamagedError: the body is cut, or a part of the name is longer than XA allows.
    """
    reader = _reader_after_post_header(body, header, description)
    one_phase = reader.u8() != 0
    format_id, gtrid_size, bqual_size = reader.i32(), reader.u32(), reader.u32()
    return XaPrepare(one_phase, read_xa_xid(reader, format_id, gtrid_size, bqual_size))


def read_xa_xid(reader: Reader, format_id: int, gtrid_size: int, bqual_size: int) -> XaXid:
    """Read the two parts of an XA transaction's name.

    Raises:
        DamagedError: they are cut, or longer than XA allows.
    """
    if gtrid_size > _MAX_XID_PART or bqual_size > _MAX_XID_PART:
        raise reader.damaged(
            f"expected at most {_MAX_XID_PART} bytes in each part of an XA name, "
            f"found {gtrid_size} and {bqual_size}"
        )
    return XaXid(format_id, reader.raw(gtrid_size), reader.raw(bqual_size))


def _reader_after_post_header(
    body: memoryview, header: EventHeader, description: FormatDescription
) -> Reader:
    """These events have no fixed part that the format description counts, but a newer server may add one."""
    reader = body_reader(body, header)
    reader.skip(description.post_header_length(header.type, 0))
    return reader
