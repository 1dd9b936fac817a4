"""A client's connection to a server, with what PyMySQL keeps to itself: commands, and the socket.

PyMySQL connects, encrypts and logs in. This is the one file that knows it.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from binx.errors import BinxError, ConnectionLostError, ServerError, UsageError
from binx.pull.options import Login, Tls, TlsMode

CONNECT_SECONDS = 10
ANSWER_SECONDS = 15
_MISSING = "binx pull needs the package PyMySQL; install it: pip install 'binx[pull]'"
_ACCESS_DENIED = (1044, 1045, 1698)
_GONE = frozenset(
    {0, 1040, 1042, 1043, 1053, 1077, 1078, 1079, 1080, 1152, 1153, 1156, 1158, 1159, 1160, 1161}
)
_KILLED = frozenset({1184, 1203, 1226, 1317, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 3032, 3169, 4031})
LOST = _GONE | _KILLED
"""Numbers of errors after which one may connect again: too many, shut down, killed, timed out, lost."""


class Client:
    """One connection.

    Args:
        login: the server, and the account.

    Raises:
        ServerError: it refuses; ConnectionLostError: it cannot be reached.
        BinxError: PyMySQL is not installed.
    """

    def __init__(self, login: Login) -> None:
        self._server = login.server
        self._pymysql = _package()
        tls = login.tls
        plain = tls.mode is TlsMode.DISABLE or (login.socket is not None and tls.mode is TlsMode.PREFERRED)
        with self._errors():
            self._connection: Any = self._pymysql.connections.Connection(
                user=login.user or None,
                password=login.password.encode(),
                host=login.host,
                port=login.port,
                unix_socket=login.socket,
                charset="utf8mb4",
                autocommit=None,
                connect_timeout=CONNECT_SECONDS,
                read_timeout=ANSWER_SECONDS,
                write_timeout=ANSWER_SECONDS,
                program_name="binx",
                ssl_disabled=plain,
                ssl=None if plain or tls.mode is TlsMode.PREFERRED else _context(tls),
            )

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return isinstance(self._connection._sock, ssl.SSLSocket)

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[dict[str, Any]]:
        """What a statement answers, a row a dictionary.

        Raises:
            ServerError: the server refuses it; ConnectionLostError: it is gone.
        """
        with self._errors(), self._connection.cursor(self._pymysql.cursors.DictCursor) as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall() or ())

    def command(self, number: int, body: bytes, *, answered: bool) -> None:
        """Send a command.

        Args:
            number: the command's.
            body: what follows upon it.
            answered: whether the server says that all is well; else what it answers is left on the socket.

        Raises:
            ServerError: the server refuses it; ConnectionLostError: it is gone.
        """
        with self._errors():
            self._connection._execute_command(number, body)
            if answered:
                self._connection._read_packet()

    @property
    def socket(self) -> socket.socket:
        """The socket, from which all that was answered so far has been read."""
        found: socket.socket = self._connection._sock
        return found

    def close(self) -> None:
        """End the connection, without a word."""
        with suppress(Exception):
            self._connection._force_close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of PyMySQL into ours."""
        try:
            yield
        except self._pymysql.err.MySQLError as error:
            number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            text = str(error.args[1]) if len(error.args) > 1 else str(error)
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                number = -1
            raise server_error(number, text, self._server) from error
        except RuntimeError as error:
            # A package is missing that a way of logging in needs.
            raise BinxError(str(error)) from error
        except (OSError, IndexError, ValueError) as error:
            # PyMySQL lets some of them through, and takes answers that are cut for what they are not.
            raise server_error(0, str(error), self._server) from error


def server_error(number: int, text: str, server: str) -> ServerError:
    """The error that a server's error amounts to: refused, or lost.

    Args:
        number: of the error; 0: there was none.
        text: what the server said.
        server: what it is called.
    """
    is_own = number <= 0 or number // 1000 == _CLIENT_ERRORS
    said = f"the connection failed: {text}" if is_own else f"the server says: {text} ({number})"
    if number in LOST and "CERTIFICATE_VERIFY_FAILED" not in text:
        return ConnectionLostError(said, server=server, number=number)
    if number in _ACCESS_DENIED:
        said += "; check user and password, and that the account may connect from this host"
    elif number == _NOT_PRIVILEGED:
        said += "; grant REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG MONITOR) to the account"
    elif "CERTIFICATE_VERIFY_FAILED" in text:
        said += "; give the CA that signed the server's certificate with --tls-ca"
    return ServerError(said, server=server, number=number)


_NOT_PRIVILEGED = 1227
_CLIENT_ERRORS = 2
"""Errors from 2000 to 2999 are of the client itself."""


def _package() -> ModuleType:
    try:
        import pymysql
        import pymysql.cursors
    except ImportError as error:
        raise BinxError(_MISSING) from error
    package: ModuleType = pymysql
    return package


def _context(tls: Tls) -> ssl.SSLContext:
    """What the ssl module must know of a connection.

    Raises:
        UsageError: a file cannot be read, or holds no certificate or key.
    """
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        # The certificates that MySQL makes for itself do not pass what Python 3.13 checks by default.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.check_hostname = tls.mode is TlsMode.VERIFY_IDENTITY
        verifies = tls.mode in (TlsMode.VERIFY_CA, TlsMode.VERIFY_IDENTITY)
        context.verify_mode = ssl.CERT_REQUIRED if verifies else ssl.CERT_NONE
        if tls.certificate is not None:
            context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"the files of --tls-ca, --tls-cert or --tls-key cannot be used: {error}") from error
    return context


__all__ = ["LOST", "Client", "server_error"]
