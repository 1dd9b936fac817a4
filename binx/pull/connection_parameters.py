"""Connection parameters: a URL, and the option files of MySQL's and MariaDB's clients.

Source: MySQL manual, "Using Option Files".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from binx.errors import SourceError, UsageError

PORT = 3306
_SCHEMES = ("mysql", "mariadb")

_GROUPS = ("client", "binx")
_SYSTEM_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
"""The option files that clients read by default; later ones take precedence."""

_OPTIONS = ("host", "port", "socket", "user", "password", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key")
_GROUP = re.compile(r"\[\s*([^\]]*?)\s*\]")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "s": " ", "\\": "\\", '"': '"', "'": "'"}
_DEEPEST = 10
_PUBLIC_KEY = b"-----BEGIN PUBLIC KEY-----"


class TlsMode(Enum):
    """How a connection is encrypted, as in MySQL's ``--ssl-mode``."""

    DISABLE = "disable"
    PREFERRED = "preferred"
    REQUIRED = "required"
    VERIFY_CA = "verify-ca"
    VERIFY_IDENTITY = "verify-identity"

    @property
    def verifies(self) -> bool:
        """Whether the server's certificate is verified."""
        return self in (TlsMode.VERIFY_CA, TlsMode.VERIFY_IDENTITY)


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS settings: the mode, and the files of CA, client certificate and its key."""

    mode: TlsMode = TlsMode.PREFERRED
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @classmethod
    def of(cls, mode: str | None, ca: str | None, certificate: str | None, key: str | None) -> Tls:
        """Build from options; a CA alone implies verification against it, as in MySQL's clients."""
        if key is not None and certificate is None:
            raise UsageError("--tls-key requires --tls-cert")
        implied = TlsMode.VERIFY_CA if ca else TlsMode.REQUIRED if certificate else TlsMode.PREFERRED
        chosen = TlsMode(mode) if mode is not None else implied
        if chosen.verifies and ca is None:
            raise UsageError(f"--tls {chosen.value} requires --tls-ca")
        if chosen is TlsMode.PREFERRED and implied is not chosen:
            raise UsageError(
                "--tls preferred takes no certificates; use required, verify-ca or verify-identity"
            )
        return cls(chosen, ca, certificate, key)


@dataclass(frozen=True, slots=True)
class Login:
    """A server and an account; a Unix socket, if set, is used instead of host and port.

    Attributes:
        public_key: the server's RSA key as PEM, for passwords on connections without TLS.
    """

    host: str = "localhost"
    port: int = PORT
    socket: str | None = None
    user: str = ""
    password: str = field(default="", repr=False)
    tls: Tls = Tls()
    public_key: bytes | None = None

    @property
    def server(self) -> str:
        """The server's name in messages."""
        if self.socket is not None:
            return self.socket
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def parse_url(url: str) -> dict[str, str | int]:
    """Parse ``mysql://user@host:3306`` into fields of :class:`Login`; absent parts are omitted."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"expected mysql://USER@HOST:PORT, found {error}") from error
    if parts.scheme not in _SCHEMES or parts.path.strip("/") or parts.query or parts.fragment:
        # Not in the message: the URL may hold a password.
        raise UsageError("expected a server such as mysql://user@host:3306")
    fields = {"host": parts.hostname, "port": port, "user": parts.username, "password": parts.password}
    return {
        name: unquote(value) if isinstance(value, str) else value
        for name, value in fields.items()
        if value is not None
    }


def read_public_key(path: str) -> bytes:
    """Read a server's public key.

    Raises:
        SourceError: the file cannot be read.
        UsageError: it is no public key in PEM.
    """
    try:
        key = Path(path).read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=path) from error
    if not key.startswith(_PUBLIC_KEY):
        raise UsageError(f"expected a file that begins with {_PUBLIC_KEY.decode()}, found another in {path}")
    return key


def read_defaults(path: str | None) -> dict[str, str]:
    """Read the connection options from one option file, or from those that all clients read."""
    files = [Path(name).expanduser() for name in _SYSTEM_FILES] if path is None else [Path(path)]
    options: dict[str, str] = {}
    for file in files:
        if path is not None or file.is_file():
            options |= {name: value for name, value in _options(file, 0) if name in _OPTIONS}
    return options


def _options(path: Path, depth: int) -> Iterator[tuple[str, str]]:
    """Yield names and values of the relevant groups; included files are read in place."""
    try:
        lines = path.read_text("utf-8", "surrogateescape").splitlines()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=str(path)) from error
    group = ""
    for line in map(str.strip, lines):
        if line.startswith("!") and depth < _DEEPEST:
            directive, _, target = line.partition(" ")
            included = Path(path.parent, target.strip())
            if directive == "!include":
                yield from _options(included, depth + 1)
            elif directive == "!includedir" and included.is_dir():
                for file in sorted(included.glob("*.cnf")):
                    yield from _options(file, depth + 1)
        elif header := _GROUP.fullmatch(line):
            group = header[1]
        elif line and line[0] not in "#;" and group in _GROUPS:
            name, _, value = line.partition("=")
            yield name.strip().removeprefix("loose-").replace("_", "-"), _value(value.strip())


def _value(text: str) -> str:
    """Return a value without quotes and trailing comment, with escapes resolved."""
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        text = text[1:-1]
    else:
        text = re.split(r"\s+#", text, maxsplit=1)[0]
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), text)
