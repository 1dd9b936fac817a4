"""What a server is, which logs it has, and how it is asked for one.

Sources: MySQL's sql/rpl_source.cc (``com_binlog_dump``, ``com_binlog_dump_gtid``, ``register_replica``),
sql/rpl_replica.cc (``get_master_version_and_clock``), MariaDB's sql/sql_repl.cc and sql/slave.cc.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from binx.errors import AbsentError, ServerError, UnsupportedError
from binx.event.format import Flavour
from binx.event.gtid.previous import encode_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.pull.client import Client
from binx.pull.options import Login
from binx.source.names import number_of

COM_BINLOG_DUMP = 0x12
COM_REGISTER_SLAVE = 0x15
COM_BINLOG_DUMP_GTID = 0x1E

ANNOTATED_ROWS = 2
"""The flag of a dump that has a MariaDB send ANNOTATE_ROWS, without which files have holes."""
THROUGH_GTIDS = 4
"""The flag of a dump that begins behind a set of GTIDs."""

_ALL_OF_MARIADB = 4
"""``MARIA_SLAVE_CAPABILITY_GTID``: events come as they are, none is replaced by one for older replicas."""

_FIRST_POSITION = 4
_SYNTAX_ERROR = 1064
_SEMI_SYNC_STATES = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")


class LogPlace(NamedTuple):
    """A place in a server's logs, ordered as they are.

    Attributes:
        number: of the log.
        position: offset there.
        log: its name.
    """

    number: int
    position: int
    log: str

    @classmethod
    def of(cls, log: str, position: int) -> LogPlace:
        """The place by the log's name."""
        return cls(number_of(log), position, log)


class ServerFacts(NamedTuple):
    """What a server says of itself.

    Attributes:
        flavour: MySQL or MariaDB.
        version: as it names itself.
        server_id: the id that its events have.
        uuid: its UUID; empty for MariaDB, which has none.
        checksums: whether its newest events have a CRC32.
    """

    flavour: Flavour
    version: str
    server_id: int
    uuid: str
    checksums: bool


class Server:
    """A server that was logged in to.

    Args:
        login: the server and the account.

    Raises:
        ServerError: it refuses; ConnectionLostError: it cannot be reached.
        UnsupportedError: it writes no binary log.
    """

    def __init__(self, login: Login) -> None:
        self.name = login.server
        self.client = Client(login)
        try:
            self.facts = self._read_facts()
        except BaseException:
            self.close()
            raise

    def _read_facts(self) -> ServerFacts:
        first = self.client.rows(
            "SELECT @@version AS version, @@server_id AS id, @@log_bin AS log_bin,"
            " @@global.binlog_checksum AS checksum"
        )[0]
        if not int(first["log_bin"]):
            raise UnsupportedError("the server writes no binary log (log_bin is OFF)", path=self.name)
        version = str(first["version"])
        flavour = Flavour.MARIADB if "mariadb" in version.lower() else Flavour.MYSQL
        uuid = ""
        if flavour is Flavour.MYSQL:
            uuid = str(self.client.rows("SELECT @@server_uuid AS uuid")[0]["uuid"])
        checksums = str(first["checksum"]).upper() not in ("NONE", "0")
        return ServerFacts(flavour, version, int(first["id"]), uuid, checksums)

    @property
    def is_mariadb(self) -> bool:
        """Whether it is a MariaDB."""
        return self.facts.flavour is Flavour.MARIADB

    def logs(self) -> list[tuple[str, int]]:
        """Names and sizes of its logs, oldest first.

        Raises:
            ServerError: as :meth:`Client.rows`.
        """
        rows = self.client.rows("SHOW BINARY LOGS")
        return [(str(row["Log_name"]), int(row["File_size"])) for row in rows]

    def end(self) -> LogPlace:
        """Where its newest log ends now.

        Raises:
            ServerError: as :meth:`Client.rows`.
        """
        try:
            rows = self.client.rows("SHOW BINARY LOG STATUS")
        except ServerError as error:
            # Before MySQL 8.2, and with MariaDB.
            if error.number != _SYNTAX_ERROR:
                raise
            rows = self.client.rows("SHOW MASTER STATUS")
        return LogPlace.of(str(rows[0]["File"]), int(rows[0]["Position"]))

    def waits_for_acknowledgements(self) -> bool:
        """Whether semi-synchronous replication is on."""
        rows = self.client.rows("SHOW GLOBAL VARIABLES LIKE 'rpl\\_semi\\_sync\\_%\\_enabled'")
        return any(row["Variable_name"] in _SEMI_SYNC_STATES and row["Value"] in ("ON", "1") for row in rows)

    def register(self, server_id: int, heartbeat: float, *, semi_sync: bool) -> None:
        """Become one of its replicas, which it lists and sends events to as they are in its files.

        Args:
            server_id: what it is to know this one by.
            heartbeat: seconds without an event after which it shows that it is there.
            semi_sync: whether it is to wait for acknowledgements.

        Raises:
            ServerError: as :meth:`Client.rows`.
        """
        period = int(heartbeat * 1_000_000_000)
        settings = {"master_heartbeat_period": period, "master_binlog_checksum": None}
        if self.is_mariadb:
            settings["mariadb_slave_capability"] = _ALL_OF_MARIADB
        else:
            settings |= {"source_heartbeat_period": period, "source_binlog_checksum": None}
        if semi_sync:
            settings["rpl_semi_sync_slave"] = 1
            if not self.is_mariadb:
                settings["rpl_semi_sync_replica"] = 1
        self.client.rows(
            "SET "
            + ", ".join(
                f"@{name} = {'@@global.binlog_checksum' if value is None else value}"
                for name, value in settings.items()
            )
        )
        if not self.is_mariadb:
            # A server ends what an earlier connection of the same replica still asks of it.
            name = str(uuid5(NAMESPACE_OID, f"binx pull {server_id}"))
            self.client.rows("SET @replica_uuid = %s, @slave_uuid = %s", (name, name))
        nameless = b"\0"
        body = struct.pack("<I", server_id) + b"\4binx" + nameless + nameless + struct.pack("<HII", 0, 0, 0)
        self.client.command(COM_REGISTER_SLAVE, body, answered=True)

    def dump(self, log: str, position: int, server_id: int) -> None:
        """Ask for a log from an event on, and for all behind it, without end.

        Raises:
            ServerError: the server is gone; what it refuses comes in place of the log.
        """
        flags = ANNOTATED_ROWS if self.is_mariadb else 0
        body = struct.pack("<IHI", position, flags, server_id) + log.encode("utf-8", "surrogateescape")
        self.client.command(COM_BINLOG_DUMP, body, answered=False)

    def dump_behind(self, gtids: GtidSet, server_id: int) -> None:
        """Ask for the log with the first transaction that a set lacks; the events in it are not all sent.

        Raises:
            ServerError: as :meth:`dump`.
        """
        if self.is_mariadb:
            self.client.rows("SET @slave_connect_state = %s, @slave_gtid_strict_mode = 0", (_last_of(gtids),))
            self.dump("", _FIRST_POSITION, server_id)
            return
        encoded = encode_previous_gtids(gtids)
        body = struct.pack("<HIIQI", THROUGH_GTIDS, server_id, 0, _FIRST_POSITION, len(encoded))
        self.client.command(COM_BINLOG_DUMP_GTID, body + encoded, answered=False)

    def require_semi_sync(self) -> None:
        """See to it that the server waits for acknowledgements.

        Raises:
            UnsupportedError: it does not.
        """
        if not self.waits_for_acknowledgements():
            way = (
                "SET GLOBAL rpl_semi_sync_master_enabled = ON"
                if self.is_mariadb
                else "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so';"
                " SET GLOBAL rpl_semi_sync_source_enabled = ON"
            )
            raise UnsupportedError(
                f"expected a server that waits for acknowledgements, found semi-synchronous replication"
                f" off; turn it on ({way}) or leave out --semi-sync",
                path=self.name,
            )

    def close(self) -> None:
        """End the connection."""
        with suppress(Exception):
            self.client.close()


def _last_of(gtids: GtidSet) -> str:
    """The last GTID of each of MariaDB's domains, as ``@slave_connect_state`` takes them.

    Raises:
        AbsentError: they are MySQL's.
    """
    last: dict[int, tuple[int, int]] = {}
    for source, _, number in gtids:
        if not isinstance(source, DomainSource):
            raise AbsentError(f"expected GTIDs of MariaDB, such as 0-1-100, found {source}:{number}")
        if number > last.get(source.domain, (0, 0))[0]:
            last[source.domain] = number, source.server_id
    return ",".join(f"{domain}-{server}-{number}" for domain, (number, server) in sorted(last.items()))


__all__ = ["LogPlace", "Server", "ServerFacts"]
