"""A connection to a server, and its errors.

PyMySQL connects, encrypts and logs in; only this file and ``guarded.py`` depend on it and on its internals.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from binx.errors import BinxError, ConnectionLostError, ServerError, UsageError
from binx.pull.connection_parameters import Login, Tls, TlsMode
from binx.version import install_command

if TYPE_CHECKING:
    from binx.pull.guarded import GuardedConnection

READING = "REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG MONITOR)"
"""What an account needs to read logs."""

_CONNECT_SECONDS = 10
ANSWER_SECONDS = 15
_LONGEST_NUMBER = 20
_NOT_PRIVILEGED = 1227
_CLIENT_ERRORS = 2
"""Errors from 2000 to 2999 are the client's own."""
_ACCESS_DENIED = (1044, 1045, 1698)
_ENDED = (0, 1040, 1042, 1043, 1053, 1077, 1078, 1079, 1080, 1152, 1153, 1156, 1158, 1159, 1160, 1161, 1184)
_KILLED = (1203, 1226, 1317, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 3032, 3169, 4031)
_LOST = frozenset({*_ENDED, *_KILLED})
"""Errors after which reconnecting may help: too many connections, shutdown, killed, timeout, lost."""


class Connection:
    """A connection to a server.

    Args:
        grants: what the account needs, for messages.
        answer_seconds: how long to wait for an answer.

    Raises:
        BinxError: PyMySQL is not installed.
        ServerError: the server refuses; :class:`ConnectionLostError` if it is not there.
    """

    def __init__(self, login: Login, grants: str = READING, answer_seconds: float = ANSWER_SECONDS) -> None:
        self.name = login.server
        self._grants = grants
        tls = login.tls
        connection = _guarded_connection()
        plain = tls.mode is TlsMode.DISABLE or (login.socket is not None and tls.mode is TlsMode.PREFERRED)
        with self.errors():
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
                read_timeout=answer_seconds,
                write_timeout=answer_seconds,
                program_name="binx",
                ssl_disabled=plain,
                ssl=None if plain or tls.mode is TlsMode.PREFERRED else _context(tls),
            )

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

    def row(self, statement: str, columns: Sequence[str]) -> dict[str, str]:
        """Return the one row of an answer; see :meth:`rows`."""
        rows = self.rows(statement, columns)
        if len(rows) != 1:
            raise self._odd(statement, f"one row, found {len(rows)}")
        return rows[0]

    def rows(self, statement: str, columns: Sequence[str]) -> list[dict[str, str]]:
        """Return an answer's rows, each with some of its columns, as text.

        Raises:
            ServerError: a column is missing, or NULL.
        """
        names, rows = self.execute(statement)
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

    def execute(
        self, statement: str, values: tuple[object, ...] = ()
    ) -> tuple[list[str], list[tuple[object, ...]]]:
        """Run a statement; return the names of the answer's columns, and its rows."""
        with self.errors(), self._connection.cursor() as cursor:
            self._connection.begin_answer()
            cursor.execute(statement, values or None)
            return [column[0] for column in cursor.description or ()], list(cursor.fetchall() or ())

    def number(self, text: str, what: str) -> int:
        """Read a number out of an answer."""
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

    def command(self, number: int, body: bytes) -> None:
        """Send a command; its answer is not read."""
        with self.errors():
            self._connection.begin_answer()
            self._connection._execute_command(number, body)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Convert PyMySQL's errors."""
        from pymysql.err import MySQLError

        try:
            yield
        except MySQLError as error:
            number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            text = str(error.args[1]) if len(error.args) > 1 else str(error)
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                number = -1
            raise server_error(number, text, self.name, self._grants) from error
        except RuntimeError as error:
            # A package required by an authentication method is missing.
            raise BinxError(str(error)) from error
        except BinxError:
            raise
        except Exception as error:
            # PyMySQL does not check the packets that it takes apart: of one that is cut or is no server's,
            # any of Python's errors comes.
            text = str(error) if isinstance(error, OSError) else f"the answer is no MySQL server's ({error})"
            raise server_error(0, text, self.name, self._grants) from error


def server_error(number: int, text: str, server: str, grants: str = READING) -> ServerError:
    """Return the error for a server's error number: rejected, or lost; 0 if it is not the server's.

    Args:
        grants: what the account needs.
    """
    is_own = number <= 0 or number // 1000 == _CLIENT_ERRORS
    message = f"the connection failed: {text}" if is_own else f"the server says: {text} ({number})"
    if number in _LOST and "CERTIFICATE_VERIFY_FAILED" not in text:
        return ConnectionLostError(message, server=server, number=number)
    if number in _ACCESS_DENIED:
        message += "; check user and password, and that the account may connect from this host"
    elif number == _NOT_PRIVILEGED:
        message += f"; grant {grants} to the account"
    elif "CERTIFICATE_VERIFY_FAILED" in text:
        message += "; give the CA that signed the server's certificate with --tls-ca"
    return ServerError(message, server=server, number=number)


def _guarded_connection() -> type[GuardedConnection]:
    try:
        from binx.pull.guarded import GuardedConnection
    except ImportError as error:
        raise BinxError(
            f"a connection to a server needs the package PyMySQL; install it: {install_command('pull')}"
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
