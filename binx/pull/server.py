"""A server whose logs are read: its properties, its logs, and requests for dumps.

Sources: MySQL's sql/rpl_source.cc (``com_binlog_dump``, ``com_binlog_dump_gtid``, ``register_replica``),
sql/rpl_replica.cc (``get_master_version_and_clock``), MariaDB's sql/sql_repl.cc and sql/slave.cc.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from binx.errors import AbsentError, ServerError, UnsupportedError
from binx.event.format import MAGIC_SIZE, Flavour, flavour_of, split_version
from binx.event.gtid.domains import domain_positions
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.pull.connection import Connection
from binx.pull.connection_parameters import Login
from binx.pull.requests import ANNOTATED_ROWS, COM_REGISTER_REPLICA, DumpRequest, Registration
from binx.source.log_names import number_of

_SYNTAX_ERROR = 1064

_ALL_OF_MARIADB = 4
"""``MARIA_SLAVE_CAPABILITY_GTID``: events are sent unchanged, not replaced for older replicas."""

_SEMI_SYNC_STATES = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")
_SOURCE_PLUGIN_SINCE = (8, 0, 26)
"""Older versions of MySQL have a plugin of the old name only."""


class LogPosition(NamedTuple):
    """A position in a server's logs, in log order: number of the log, offset, its name."""

    number: int
    position: int
    log: str

    @classmethod
    def of(cls, log: str, position: int) -> LogPosition:
        """Build a position from the log's name."""
        return cls(number_of(log), position, log)


class ServerFacts(NamedTuple):
    """Properties of a server.

    Attributes:
        uuid: empty for MariaDB, which has none.
        checksums: whether new events have a CRC32.
    """

    flavour: Flavour
    version: str
    server_id: int
    uuid: str
    checksums: bool


class Server(Connection):
    """A connection to a server whose logs are read; see :class:`Connection`.

    Raises:
        UnsupportedError: it writes no binary log.
    """

    def __init__(self, login: Login) -> None:
        super().__init__(login)
        try:
            self.facts = self._read_facts()
        except BaseException:
            self.close()
            raise

    @property
    def is_mariadb(self) -> bool:
        """Whether it is a MariaDB server."""
        return self.facts.flavour is Flavour.MARIADB

    def logs(self) -> list[tuple[str, int]]:
        """Names and sizes of its logs, oldest first."""
        rows = self.rows("SHOW BINARY LOGS", ("Log_name", "File_size"))
        return [(row["Log_name"], self.number(row["File_size"], "the size of a log")) for row in rows]

    def end(self) -> LogPosition:
        """The current end of the newest log."""
        columns = ("File", "Position")
        try:
            row = self.row("SHOW BINARY LOG STATUS", columns)
        except ServerError as error:
            # Before MySQL 8.2, and with MariaDB.
            if error.number != _SYNTAX_ERROR:
                raise
            row = self.row("SHOW MASTER STATUS", columns)
        return LogPosition.of(row["File"], self.number(row["Position"], "a position"))

    def register(self, server_id: int, heartbeat: float, *, semi_sync: bool) -> None:
        """Register as a replica, so that the server lists it and sends it events unchanged.

        Args:
            server_id: the replica's server id.
            heartbeat: seconds without an event after which the server sends a heartbeat.
            semi_sync: whether the server waits for acknowledgements.
        """
        period = int(heartbeat * 1_000_000_000)
        checksum = "@@global.binlog_checksum"
        settings: dict[str, object] = {"master_heartbeat_period": period, "master_binlog_checksum": checksum}
        if self.is_mariadb:
            settings["mariadb_slave_capability"] = _ALL_OF_MARIADB
        else:
            settings |= {"source_heartbeat_period": period, "source_binlog_checksum": checksum}
        if semi_sync:
            settings["rpl_semi_sync_slave"] = 1
            if not self.is_mariadb:
                settings["rpl_semi_sync_replica"] = 1
        self.execute("SET " + ", ".join(f"@{name} = {value}" for name, value in settings.items()))
        if not self.is_mariadb:
            # A server ends a dump that an earlier connection of the same replica still runs.
            name = str(uuid5(NAMESPACE_OID, f"binx pull {server_id}"))
            self.execute("SET @replica_uuid = %s, @slave_uuid = %s", (name, name))
        self.command(COM_REGISTER_REPLICA, Registration(server_id, "binx").encode())
        with self.errors():
            self._connection._read_packet()

    def dump(self, log: str, position: int, server_id: int) -> None:
        """Request a dump from an event on, without end; a rejection arrives as its first packet."""
        flags = ANNOTATED_ROWS if self.is_mariadb else 0
        self.command(*DumpRequest(server_id, log, position, flags).encode())

    def dump_after(self, gtids: GtidSet, server_id: int) -> None:
        """Request a dump from the log with the first transaction that a set lacks; others may be left out."""
        if self.is_mariadb:
            for source in gtids.sources:
                if not isinstance(source, DomainSource):
                    raise AbsentError(f"expected GTIDs of MariaDB, such as 0-1-100, found those of {source}")
            position = domain_positions(gtids)
            self.execute("SET @slave_connect_state = %s, @slave_gtid_strict_mode = 0", (position,))
            self.dump("", MAGIC_SIZE, server_id)
            return
        self.command(*DumpRequest(server_id, gtids=gtids).encode())

    def require_semi_sync(self) -> None:
        """Raise UnsupportedError if semi-synchronous replication is not enabled on the server."""
        statement = "SHOW GLOBAL VARIABLES LIKE 'rpl\\_semi\\_sync\\_%\\_enabled'"
        rows = self.rows(statement, ("Variable_name", "Value"))
        if any(row["Variable_name"] in _SEMI_SYNC_STATES and row["Value"] in ("ON", "1") for row in rows):
            return
        statement = "SET GLOBAL rpl_semi_sync_master_enabled = ON"
        if not self.is_mariadb:
            side = "source" if split_version(self.facts.version) >= _SOURCE_PLUGIN_SINCE else "master"
            plugin = f"INSTALL PLUGIN rpl_semi_sync_{side} SONAME 'semisync_{side}.so'"
            statement = f"{plugin}; SET GLOBAL rpl_semi_sync_{side}_enabled = ON"
        raise UnsupportedError(
            f"expected a server that waits for acknowledgements, found semi-synchronous replication"
            f" off; turn it on ({statement}) or leave out --semi-sync",
            path=self.name,
        )

    def _read_facts(self) -> ServerFacts:
        first = self.row(
            "SELECT @@version AS version, @@server_id AS id, @@log_bin AS log_bin,"
            " @@global.binlog_checksum AS checksum",
            ("version", "id", "log_bin", "checksum"),
        )
        if not self.number(first["log_bin"], "log_bin"):
            raise UnsupportedError("the server writes no binary log (log_bin is OFF)", path=self.name)
        version = first["version"]
        flavour = flavour_of(version)
        uuid = ""
        if flavour is Flavour.MYSQL:
            uuid = self.row("SELECT @@server_uuid AS uuid", ("uuid",))["uuid"]
        checksums = first["checksum"].upper() not in ("NONE", "0")
        return ServerFacts(flavour, version, self.number(first["id"], "a server id"), uuid, checksums)
