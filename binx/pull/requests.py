"""What a replica asks a source for: to be registered, and for a dump of the binary log, in both directions.

Sources: MySQL's sql/rpl_source.cc (``register_replica``, ``com_binlog_dump``, ``com_binlog_dump_gtid``),
MariaDB's sql/sql_repl.cc.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from binx.errors import DamagedError
from binx.event.format import MAGIC_SIZE
from binx.event.gtid.previous import decode_gtids, encode_previous_gtids
from binx.event.gtid.sets import GtidSet

COM_BINLOG_DUMP = 0x12
COM_REGISTER_REPLICA = 0x15
COM_BINLOG_DUMP_GTID = 0x1E

ENDS_AT_THE_END = 1
"""Dump flag: end the dump where the log ends, as mysqlbinlog asks, in place of waiting for more."""
ANNOTATED_ROWS = 2
"""Dump flag with which a MariaDB sends ANNOTATE_ROWS; without it files would have holes."""
HEARTBEATS_WITH_FIELDS = 2
"""Dump flag of MySQL: heartbeats as HEARTBEAT_V2, which has room for positions after 4 GiB."""
THROUGH_GTIDS = 4
"""Dump flag for a start after a GTID set."""

_BY_POSITION = struct.Struct("<IHI")
_BY_GTIDS = struct.Struct("<HII")
_FIXED = struct.Struct("<I")
_POSITION = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class DumpRequest:
    """A request for a dump.

    Attributes:
        log: name of the log to begin with; empty for the first one, or if GTIDs decide.
        position: offset in it.
        gtids: of MySQL, the transactions that the replica has; None if the position decides.
    """

    server_id: int
    log: str = ""
    position: int = MAGIC_SIZE
    flags: int = 0
    gtids: GtidSet | None = None

    def encode(self) -> tuple[int, bytes]:
        """Return the command's number and its body."""
        name = self.log.encode("utf-8", "surrogateescape")
        if self.gtids is None:
            return COM_BINLOG_DUMP, _BY_POSITION.pack(self.position, self.flags, self.server_id) + name
        gtids = encode_previous_gtids(self.gtids)
        head = _BY_GTIDS.pack(self.flags | THROUGH_GTIDS, self.server_id, len(name)) + name
        return COM_BINLOG_DUMP_GTID, head + _POSITION.pack(self.position) + _FIXED.pack(len(gtids)) + gtids

    @classmethod
    def parse(cls, command: int, body: bytes) -> DumpRequest:
        """Read the body of one of the two commands.

        Raises:
            DamagedError: it is cut, or its GTIDs are not in order.
        """
        try:
            if command == COM_BINLOG_DUMP:
                position, flags, server_id = _BY_POSITION.unpack_from(body)
                name = body[_BY_POSITION.size :].split(b"\0", 1)[0]
                return cls(server_id, name.decode("utf-8", "surrogateescape"), position, flags)
            flags, server_id, length = _BY_GTIDS.unpack_from(body)
            name = body[_BY_GTIDS.size : _BY_GTIDS.size + length].split(b"\0", 1)[0]
            rest = body[_BY_GTIDS.size + length :]
            (position,) = _POSITION.unpack_from(rest)
            (size,) = _FIXED.unpack_from(rest, _POSITION.size)
        except struct.error as error:
            raise DamagedError(f"expected a request for a dump, found {len(body)} bytes of one") from error
        gtids = decode_gtids(rest[_POSITION.size + _FIXED.size :][:size])
        return cls(server_id, name.decode("utf-8", "surrogateescape"), position, flags, gtids)


@dataclass(frozen=True, slots=True)
class Registration:
    """What a replica says of itself, so that SHOW REPLICAS lists it; the source does not connect to it.

    Attributes:
        host: what the replica's ``report_host`` says, often nothing.
    """

    server_id: int
    host: str

    def encode(self) -> bytes:
        """Return the body of the command."""
        host = self.host.encode()
        nameless = b"\0"
        return b"".join(
            [
                _FIXED.pack(self.server_id),
                bytes([len(host)]) + host,
                nameless + nameless,
                struct.pack("<HII", 0, 0, 0),
            ]
        )

    @classmethod
    def parse(cls, body: bytes) -> Registration:
        """Read the command's body up to the host.

        Raises:
            DamagedError: it is cut.
        """
        if len(body) <= _FIXED.size or len(body) < _FIXED.size + 1 + body[_FIXED.size]:
            raise DamagedError(f"expected the registration of a replica, found {len(body)} bytes of one")
        host = body[_FIXED.size + 1 :][: body[_FIXED.size]]
        return cls(_FIXED.unpack_from(body)[0], host.decode("utf-8", "backslashreplace"))
