"""Who may connect: the handshake, TLS, and the proof of a password, as a server has them.

The package mysql-mimic has a server's side of the protocol too, but not caching_sha2_password, without which
no replica of MySQL 9 logs in, nor dumps of the log; what would be left of it is the first packet.

Sources: MySQL's "Client/Server Protocol" (Protocol::HandshakeV10, Protocol::HandshakeResponse41),
sql/auth/sha2_password.cc and sql/auth/sql_authentication.cc (``native_password_authenticate``).
"""

from __future__ import annotations

import secrets
import ssl
from dataclasses import dataclass, field
from enum import IntFlag
from hashlib import sha1, sha256
from hmac import compare_digest

from binx.errors import DamagedError, ServerError, UsageError
from binx.event.reader import Reader
from binx.serve.channel import Channel


class Capability(IntFlag):
    """What client and server can do; the names are MySQL's."""

    LONG_PASSWORD = 0x1
    LONG_FLAG = 0x4
    CONNECT_WITH_DB = 0x8
    PROTOCOL_41 = 0x200
    SSL = 0x800
    TRANSACTIONS = 0x2000
    SECURE_CONNECTION = 0x8000
    PLUGIN_AUTH = 0x80000
    PLUGIN_AUTH_LENENC_CLIENT_DATA = 0x200000


_OURS = (
    Capability.LONG_PASSWORD
    | Capability.LONG_FLAG
    | Capability.CONNECT_WITH_DB
    | Capability.PROTOCOL_41
    | Capability.TRANSACTIONS
    | Capability.SECURE_CONNECTION
    | Capability.PLUGIN_AUTH
    | Capability.PLUGIN_AUTH_LENENC_CLIENT_DATA
)

CACHING_SHA2 = "caching_sha2_password"
NATIVE = "mysql_native_password"

_PROTOCOL = 10
_SALT_SIZE = 20
_SALT_FIRST = 8
_UTF8 = 45
_FIXED_SIZE = 32
_MOST_BYTES = 1 << 16
"""Of a message before a client is let in; attributes of its connection are most of it."""
_SWITCH = b"\xfe"
_PROVED = b"\1\3"
"""The password was proved with its hash (``fast_auth_success``): it need not be sent."""
_ACCESS_DENIED, _DENIED_STATE = 1045, "28000"
_TLS_REQUIRED, _GENERAL_STATE = 3159, "HY000"


@dataclass(frozen=True, slots=True)
class Account:
    """The one account that may connect."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Entrance:
    """How clients come in.

    Attributes:
        account: None lets everybody in.
        tls: the server's certificate and key; None if it has none.
        requires_tls: whether a connection without TLS is refused.
    """

    account: Account | None = None
    tls: ssl.SSLContext | None = None
    requires_tls: bool = False

    def admit(self, channel: Channel, version: str, number: int, plugin: str) -> None:
        """Greet a client, and let it in if it proves who it is.

        Args:
            version: the server version to name.
            number: the connection's number.
            plugin: the authentication method to begin with.

        Raises:
            ServerError: the client is refused, and has been told so.
            ConnectionLostError: it has gone.
            DamagedError: what it said is no client's.
        """
        salt = _new_salt()
        capabilities = _OURS | (Capability.SSL if self.tls is not None else Capability(0))
        channel.send(_greeting(version, number, plugin, salt, capabilities))
        answer = channel.receive(_MOST_BYTES)
        if self.tls is not None and len(answer) == _FIXED_SIZE and _capabilities(answer) & Capability.SSL:
            channel.encrypt(self.tls)
            answer = channel.receive(_MOST_BYTES)
        user, proof, method = _parse_answer(answer)
        if self.requires_tls and not channel.is_encrypted:
            self._refuse(
                channel,
                _TLS_REQUIRED,
                _GENERAL_STATE,
                "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
            )
        if method != plugin:
            plugin = method if method in (CACHING_SHA2, NATIVE) else plugin
            salt = _new_salt()
            channel.send(_SWITCH + plugin.encode() + b"\0" + salt + b"\0")
            proof = channel.receive(_MOST_BYTES)
        if self.account is not None and not self._is_proved(user, proof, plugin, salt):
            self._refuse(
                channel,
                _ACCESS_DENIED,
                _DENIED_STATE,
                f"Access denied for user '{user}'@'{channel.peer}'"
                f" (using password: {'YES' if proof else 'NO'})",
            )
        if plugin == CACHING_SHA2 and proof.rstrip(b"\0"):
            channel.send(_PROVED)
        channel.send_ok()

    def _is_proved(self, user: str, proof: bytes, plugin: str, salt: bytes) -> bool:
        assert self.account is not None
        password = self.account.password.encode()
        expected = b""
        if password:
            expected = (_sha2_proof if plugin == CACHING_SHA2 else _native_proof)(password, salt)
        given = proof if len(proof) == len(expected) else proof.rstrip(b"\0")
        known = compare_digest(user.encode("utf-8", "surrogateescape"), self.account.user.encode())
        return compare_digest(given, expected) and known

    @staticmethod
    def _refuse(channel: Channel, number: int, state: str, text: str) -> None:
        channel.send_error(number, state, text)
        raise ServerError(f"refused: {text}", server=channel.peer, number=number)


def server_tls(certificate: str, key: str | None) -> ssl.SSLContext:
    """Return the settings of a server with a certificate.

    Raises:
        UsageError: the files cannot be read, or do not belong together.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"the files of --tls-cert or --tls-key cannot be used: {error}") from error
    return context


def _new_salt() -> bytes:
    """Return random bytes without zeros, at which clients would end them."""
    return bytes(1 + secrets.randbelow(127) for _ in range(_SALT_SIZE))


def _greeting(version: str, number: int, plugin: str, salt: bytes, capabilities: Capability) -> bytes:
    low, high = (int(capabilities) & 0xFFFF, int(capabilities) >> 16)
    return b"".join(
        [
            bytes([_PROTOCOL]) + version.encode() + b"\0",
            number.to_bytes(4, "little") + salt[:_SALT_FIRST] + b"\0",
            low.to_bytes(2, "little")
            + bytes([_UTF8])
            + (2).to_bytes(2, "little")
            + high.to_bytes(2, "little"),
            bytes([_SALT_SIZE + 1]) + bytes(10) + salt[_SALT_FIRST:] + b"\0",
            plugin.encode() + b"\0",
        ]
    )


def _capabilities(answer: bytes) -> Capability:
    return Capability(int.from_bytes(answer[:4], "little") & int(_OURS | Capability.SSL))


def _parse_answer(answer: bytes) -> tuple[str, bytes, str]:
    """Return user, proof of the password, and the method of the proof."""
    capabilities = _capabilities(answer)
    if not capabilities & Capability.PROTOCOL_41 or len(answer) < _FIXED_SIZE:
        raise DamagedError("expected the answer of a client of MySQL 4.1 or later, found another")
    reader = Reader(answer)
    reader.take(_FIXED_SIZE)
    user = _terminated(reader)
    # A proof has 32 bytes at most, so that its length is one byte in either way.
    proof = reader.raw(reader.u8())
    if capabilities & Capability.CONNECT_WITH_DB:
        _terminated(reader)
    method = _terminated(reader).decode("ascii", "replace") if reader.remaining else NATIVE
    return user.decode("utf-8", "surrogateescape"), proof, method


def _terminated(reader: Reader) -> bytes:
    """Read a text up to its zero byte."""
    text = bytearray()
    while reader.remaining and (byte := reader.u8()):
        text.append(byte)
    return bytes(text)


def _sha2_proof(password: bytes, salt: bytes) -> bytes:
    once = sha256(password).digest()
    return _mixed(once, sha256(sha256(once).digest() + salt).digest())


def _native_proof(password: bytes, salt: bytes) -> bytes:
    once = sha1(password).digest()
    return _mixed(once, sha1(salt + sha1(once).digest()).digest())


def _mixed(one: bytes, other: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(one, other, strict=True))
