"""What is pulled, where from, and where to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet

PORT = 3306
_SCHEMES = ("mysql", "mariadb")


class TlsMode(Enum):
    """How a connection is encrypted, in the words of MySQL's clients."""

    DISABLE = "disable"
    PREFERRED = "preferred"
    REQUIRED = "required"
    VERIFY_CA = "verify-ca"
    VERIFY_IDENTITY = "verify-identity"


@dataclass(frozen=True, slots=True)
class Tls:
    """Encryption of the connection.

    Attributes:
        mode: what is asked of the server.
        ca: file of the authorities whose certificates are believed.
        certificate: file of the client's own certificate.
        key: file of its key.
    """

    mode: TlsMode = TlsMode.PREFERRED
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @classmethod
    def of(cls, mode: str | None, ca: str | None, certificate: str | None, key: str | None) -> Tls:
        """What options say; a CA alone asks for a server that it vouches for, as MySQL's clients do.

        Raises:
            UsageError: they contradict each other.
        """
        if key is not None and certificate is None:
            raise UsageError("--tls-key requires --tls-cert")
        implied = TlsMode.VERIFY_CA if ca else TlsMode.REQUIRED if certificate else TlsMode.PREFERRED
        chosen = TlsMode(mode) if mode is not None else implied
        if chosen in (TlsMode.VERIFY_CA, TlsMode.VERIFY_IDENTITY) and ca is None:
            raise UsageError(f"--tls {chosen.value} requires --tls-ca")
        if chosen is TlsMode.PREFERRED and implied is not chosen:
            raise UsageError(
                "--tls preferred takes no certificates; use required, verify-ca or verify-identity"
            )
        return cls(chosen, ca, certificate, key)


@dataclass(frozen=True, slots=True)
class Login:
    """Whom to connect to, and as whom.

    Attributes:
        host: its name or address.
        port: its TCP port.
        socket: its Unix socket, which is used instead where there is one.
        user: the account.
        password: its password; it is in no message.
        tls: encryption of the connection.
    """

    host: str = "localhost"
    port: int = PORT
    socket: str | None = None
    user: str = ""
    password: str = field(default="", repr=False)
    tls: Tls = Tls()

    @property
    def server(self) -> str:
        """What the server is called in messages."""
        if self.socket is not None:
            return self.socket
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def parse_url(url: str) -> dict[str, str | int]:
    """The parts of ``mysql://user@host:3306`` by the names of :class:`Login`, without those that it lacks.

    Raises:
        UsageError: it is no such URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"expected mysql://USER@HOST:PORT, found {error}") from error
    if parts.scheme not in _SCHEMES or parts.path.strip("/") or parts.query or parts.fragment:
        # The URL itself may hold a password.
        raise UsageError("expected a server such as mysql://user@host:3306")
    found = {"host": parts.hostname, "port": port, "user": parts.username, "password": parts.password}
    return {
        name: unquote(value) if isinstance(value, str) else value
        for name, value in found.items()
        if value is not None
    }


@dataclass(frozen=True, slots=True)
class Start:
    """Where a new chain of logs begins: with a log, or with the log of the first GTID that a set lacks.

    Attributes:
        log: the log's name; None: the oldest that the server has.
        gtids: the transactions that need not be pulled.
        continues: the GTIDs are those that the chain before has.
    """

    log: str | None = None
    gtids: GtidSet | None = None
    continues: bool = False


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What is asked of a pull.

    Attributes:
        login: the server.
        folder: where the logs go.
        start: where a new chain begins.
        new_chain: whether one is to begin, though there is one already.
        follow: whether to wait for what the server will write; else it ends where the server is now.
        semi_sync: whether the server waits for acknowledgements.
        interval: whether files are brought to the disk once a second only, not with each transaction.
        server_id: what the server knows the pull by; None: a number made of the machine and the folder.
        heartbeat: seconds after which a server that has nothing to send shows that it is there.
        archive: an archive that takes the closed logs.
        parquet: a data set that takes their row changes.
    """

    login: Login
    folder: Path
    start: Start = Start()
    new_chain: bool = False
    follow: bool = False
    semi_sync: bool = False
    interval: bool = False
    server_id: int | None = None
    heartbeat: float = 10.0
    archive: str | None = None
    parquet: str | None = None


__all__ = ["PORT", "Login", "PullRequest", "Start", "Tls", "TlsMode", "parse_url"]
