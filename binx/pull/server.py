"""A connection to a server: its properties, its logs, and requests for dumps.

PyMySQL connects, encrypts and logs in; only this file and ``guarded.py`` depend on it and on its internals.

Sources: MySQL's sql/rpl_source.cc (``com_binlog_dump``, ``com_binlog_dump_gtid``, ``register_replica``),
sql/rpl_replica.cc (``get_master_version_and_clock``), MariaDB's sql/sql_repl.cc and sql/slave.cc.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

from binx.errors import AbsentError, BinxError, ConnectionLostError, ServerError, UnsupportedError, UsageError
from binx.event.format import MAGIC_SIZE, Flavour, split_version
from binx.event.gtid.domains import domain_positions
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.pull.login import Login, Tls, TlsMode
from binx.pull.requests import ANNOTATED_ROWS, COM_REGISTER_REPLICA, DumpRequest, Registration
from binx.source.names import number_of
from binx.version import install_command

if TYPE_CHECKING:
    from binx.pull.guarded import GuardedConnection

_ALL_OF_MARIADB = 4
"""``MARIA_SLAVE_CAPABILITY_GTID``: events are sent unchanged, not replaced for older replicas."""

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 15
_LONGEST_NUMBER = 20
_SYNTAX_ERROR = 1064
_NOT_PRIVILEGED = 1227
_CLIENT_ERRORS = 2
"""Errors from 2000 to 2999 are the client's own."""
_ACCESS_DENIED = (1044, 1045, 1698)
_ENDED = (0, 1040, 1042, 1043, 1053, 1077, 1078, 1079, 1080, 1152, 1153, 1156, 1158, 1159, 1160, 1161, 1184)
_KILLED = (1203, 1226, 1317, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 3032, 3169, 4031)
_LOST = frozenset({*_ENDED, *_KILLED})
"""Errors after which reconnecting may help: too many connections, shutdown, killed, timeout, lost."""

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


class Server:
    """A connection to a server.

    Raises:
        UnsupportedError: it writes no binary log.
        BinxError: PyMySQL is not installed.
    """

    def __init__(self, login: Login) -> None:
        self.name = login.server
        tls = login.tls
        connection = _guarded_connection()
        plain = tls.mode is TlsMode.DISABLE or (login.socket is not None and tls.mode is TlsMode.PREFERRED)
        with self._errors():
            self._connection: Any = connection(
                is_proved=login.socket is not None or tls.mode.verifies,
                public_key=login.public_key,
                user=login.user or None,
                password=login.password.encode(),
                host=login.host,
                port=login.port,
                unix_socket=login.socket,
                charset="utf8mb4",
                autocommit=None,
                connect_timeout=_CONNECT_SECONDS,
                read_timeout=_ANSWER_SECONDS,
                write_timeout=_ANSWER_SECONDS,
                program_name="binx",
                ssl_disabled=plain,
                ssl=None if plain or tls.mode is TlsMode.PREFERRED else _context(tls),
            )
        try:
            self.facts = self._read_facts()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection without COM_QUIT."""
        with suppress(Exception):
            self._connection._force_close()

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return isinstance(self._connection._sock, ssl.SSLSocket)

    @property
    def socket(self) -> socket.socket:
        """The socket, with all responses so far read."""
        connected: socket.socket = self._connection._sock
        return connected

    @property
    def is_mariadb(self) -> bool:
        """Whether it is a MariaDB server."""
        return self.facts.flavour is Flavour.MARIADB

    def logs(self) -> list[tuple[str, int]]:
        """Names and sizes of its logs, oldest first."""
        rows = self._rows("SHOW BINARY LOGS", ("Log_name", "File_size"))
        return [(row["Log_name"], self._number(row["File_size"], "the size of a log")) for row in rows]

    def end(self) -> LogPosition:
        """The current end of the newest log."""
        columns = ("File", "Position")
        try:
            row = self._row("SHOW BINARY LOG STATUS", columns)
        except ServerError as error:
            # Before MySQL 8.2, and with MariaDB.
            if error.number != _SYNTAX_ERROR:
                raise
            row = self._row("SHOW MASTER STATUS", columns)
        return LogPosition.of(row["File"], self._number(row["Position"], "a position"))

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
        self._execute("SET " + ", ".join(f"@{name} = {value}" for name, value in settings.items()))
        if not self.is_mariadb:
            # A server ends a dump that an earlier connection of the same replica still runs.
            name = str(uuid5(NAMESPACE_OID, f"binx pull {server_id}"))
            self._execute("SET @replica_uuid = %s, @slave_uuid = %s", (name, name))
        self._command(COM_REGISTER_REPLICA, Registration(server_id, "binx").encode())
        with self._errors():
            self._connection._read_packet()

    def dump(self, log: str, position: int, server_id: int) -> None:
        """Request a dump from an event on, without end; a rejection arrives as its first packet."""
        flags = ANNOTATED_ROWS if self.is_mariadb else 0
        self._command(*DumpRequest(server_id, log, position, flags).encode())

    def dump_after(self, gtids: GtidSet, server_id: int) -> None:
        """Request a dump from the log with the first transaction that a set lacks; others may be left out."""
        if self.is_mariadb:
            for source in gtids.sources:
                if not isinstance(source, DomainSource):
                    raise AbsentError(f"expected GTIDs of MariaDB, such as 0-1-100, found those of {source}")
            position = domain_positions(gtids)
            self._execute("SET @slave_connect_state = %s, @slave_gtid_strict_mode = 0", (position,))
            self.dump("", MAGIC_SIZE, server_id)
            return
        self._command(*DumpRequest(server_id, gtids=gtids).encode())

    def require_semi_sync(self) -> None:
        """Raise UnsupportedError if semi-synchronous replication is not enabled on the server."""
        statement = "SHOW GLOBAL VARIABLES LIKE 'rpl\\_semi\\_sync\\_%\\_enabled'"
        rows = self._rows(statement, ("Variable_name", "Value"))
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
        first = self._row(
            "SELECT @@version AS version, @@server_id AS id, @@log_bin AS log_bin,"
            " @@global.binlog_checksum AS checksum",
            ("version", "id", "log_bin", "checksum"),
        )
        if not self._number(first["log_bin"], "log_bin"):
            raise UnsupportedError("the server writes no binary log (log_bin is OFF)", path=self.name)
        version = first["version"]
        flavour = Flavour.MARIADB if "mariadb" in version.lower() else Flavour.MYSQL
        uuid = ""
        if flavour is Flavour.MYSQL:
            uuid = self._row("SELECT @@server_uuid AS uuid", ("uuid",))["uuid"]
        checksums = first["checksum"].upper() not in ("NONE", "0")
        return ServerFacts(flavour, version, self._number(first["id"], "a server id"), uuid, checksums)

    def _row(self, statement: str, columns: Sequence[str]) -> dict[str, str]:
        """Return the one row of an answer; see :meth:`_rows`."""
        rows = self._rows(statement, columns)
        if len(rows) != 1:
            raise self._odd(statement, f"one row, found {len(rows)}")
        return rows[0]

    def _rows(self, statement: str, columns: Sequence[str]) -> list[dict[str, str]]:
        """Return an answer's rows, each with some of its columns, as text.

        Raises:
            ServerError: a column is missing, or NULL.
        """
        names, rows = self._execute(statement)
        for column in columns:
            if column not in names:
                raise self._odd(statement, f"a column {column}, found {', '.join(names) or 'none'}")
        indexes = [names.index(column) for column in columns]
        found = []
        for row in rows:
            values = [row[index] for index in indexes]
            if None in values:
                raise self._odd(statement, f"a value of {columns[values.index(None)]}, found NULL")
            found.append({column: str(value) for column, value in zip(columns, values, strict=True)})
        return found

    def _execute(
        self, statement: str, values: tuple[object, ...] = ()
    ) -> tuple[list[str], list[tuple[object, ...]]]:
        """Run a statement; return the names of the answer's columns, and its rows."""
        with self._errors(), self._connection.cursor() as cursor:
            self._connection.begin_answer()
            cursor.execute(statement, values or None)
            return [column[0] for column in cursor.description or ()], list(cursor.fetchall() or ())

    def _number(self, text: str, what: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
            raise ServerError(f"expected {what} as a number, found {text[:40]!r}", server=self.name)
        return int(text)

    def _odd(self, statement: str, difference: str) -> ServerError:
        query = statement.partition(" AS ")[0][:40]
        return ServerError(
            f"expected of {query!r} what a MySQL or MariaDB server answers: {difference}; is it one, and"
            " nothing in between?",
            server=self.name,
        )

    def _command(self, number: int, body: bytes) -> None:
        with self._errors():
            self._connection.begin_answer()
            self._connection._execute_command(number, body)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert PyMySQL's errors."""
        from pymysql.err import MySQLError

        try:
            yield
        except MySQLError as error:
            number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            text = str(error.args[1]) if len(error.args) > 1 else str(error)
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                number = -1
            raise server_error(number, text, self.name) from error
        except RuntimeError as error:
            # A package required by an authentication method is missing.
            raise BinxError(str(error)) from error
        except BinxError:
            raise
        except Exception as error:
            # PyMySQL does not check the packets that it takes apart: of one that is cut or is no server's,
            # any of Python's errors comes.
            text = str(error) if isinstance(error, OSError) else f"the answer is no MySQL server's ({error})"
            raise server_error(0, text, self.name) from error


def server_error(number: int, text: str, server: str) -> ServerError:
    """Return the error for a server's error number: rejected, or lost; 0 if it is not the server's."""
    is_own = number <= 0 or number // 1000 == _CLIENT_ERRORS
    message = f"the connection failed: {text}" if is_own else f"the server says: {text} ({number})"
    if number in _LOST and "CERTIFICATE_VERIFY_FAILED" not in text:
        return ConnectionLostError(message, server=server, number=number)
    if number in _ACCESS_DENIED:
        message += "; check user and password, and that the account may connect from this host"
    elif number == _NOT_PRIVILEGED:
        message += "; grant REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG MONITOR) to the account"
    elif "CERTIFICATE_VERIFY_FAILED" in text:
        message += "; give the CA that signed the server's certificate with --tls-ca"
    return ServerError(message, server=server, number=number)


def _guarded_connection() -> type[GuardedConnection]:
    try:
        from binx.pull.guarded import GuardedConnection
    except ImportError as error:
        raise BinxError(
            f"binx pull needs the package PyMySQL; install it: {install_command('pull')}"
        ) from error
    return GuardedConnection


def _context(tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        # The certificates that MySQL generates fail checks that Python 3.13 enables by default.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.check_hostname = tls.mode is TlsMode.VERIFY_IDENTITY
        context.verify_mode = ssl.CERT_REQUIRED if tls.mode.verifies else ssl.CERT_NONE
        if tls.certificate is not None:
            context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"the files of --tls-ca, --tls-cert or --tls-key cannot be used: {error}") from error
    return context
