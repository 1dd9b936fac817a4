"""PyMySQL's connection, which tells only the right server the password, and reads a bounded answer.

Any server can ask for the password: by a plugin that sends it in clear text, or by an RSA key to encrypt it
with. Who stands between client and server can do both. Hence a password goes out in clear text only over a
Unix socket or TLS that verified the server, and encrypted only with a key that the user has given.

Sources: MySQL's sql-common/client_authentication.cc, sql-common/client.cc (``clear_password_auth_client``);
PyMySQL's connections.py and _auth.py, whose attributes ``_secure`` and ``server_public_key`` decide it.
"""

from __future__ import annotations

from typing import Any

from pymysql.connections import Connection

from binx.errors import DamagedError, ServerError

ANSWER_MAXIMUM = 64 << 20
"""Bytes of one answer: 1,000 times what a server with 10,000 logs lists."""

_CLEAR_TEXT = (b"mysql_clear_password", b"dialog")
_WEAK = (b"mysql_old_password",)
_WAYS = (
    "verify the server by --tls-ca FILE (MySQL's own is ca.pem in its data directory), use its Unix socket,"
    " or, without TLS, give its RSA key by --server-public-key FILE (public_key.pem there)"
)


class GuardedConnection(Connection):  # type: ignore[misc]
    """A connection that keeps the password from servers that are not proved to be the right one.

    Args:
        is_proved: whether TLS verifies the server, or a Unix socket leads to it.
        public_key: the server's RSA key, as PEM; None if it is not known.
        options: of PyMySQL's connection.
    """

    _auth_plugin_name: str

    def __init__(self, *, is_proved: bool, public_key: bytes | None, **options: Any) -> None:
        self._is_proved = is_proved
        self._pinned_key = public_key
        self._bytes_left = ANSWER_MAXIMUM
        super().__init__(**options)

    @property
    def _secure(self) -> bool:
        """Whether PyMySQL may send the password as it is."""
        return self._is_proved

    @_secure.setter
    def _secure(self, _: bool) -> None:
        """PyMySQL says yes to any TLS; that it is encrypted proves nothing of who reads it."""

    @property
    def server_public_key(self) -> bytes | None:
        """The key that PyMySQL encrypts the password with; where there is none, it would ask the server."""
        if self._pinned_key is None and self.password:
            raise self._refusal("asks for the password by an RSA key of its own")
        return self._pinned_key

    @server_public_key.setter
    def server_public_key(self, _: bytes | None) -> None:
        """What a server sends is no key of the user's."""

    def begin_answer(self) -> None:
        """Grant the next answer its bytes."""
        self._bytes_left = ANSWER_MAXIMUM

    def _refusal(self, what: str) -> ServerError:
        return ServerError(
            f"expected a server that is proved to be the right one, found one that {what}: {_WAYS}",
            server=self.unix_socket or f"{self.host}:{self.port}",
        )

    def _get_server_information(self) -> None:
        super()._get_server_information()
        if self._auth_plugin_name == "sha256_password" and not self._is_proved:
            # PyMySQL would send the password with its first packet over TLS; so the server asks again.
            self._auth_plugin_name = "caching_sha2_password"

    def _process_auth(self, plugin_name: bytes, auth_packet: Any, handler: Any = None) -> Any:
        if plugin_name in _CLEAR_TEXT and not self._is_proved:
            raise self._refusal(f"asks for the password in clear text ({plugin_name.decode()})")
        if plugin_name in _WEAK and not self._is_proved:
            raise self._refusal(f"asks for a proof that tells the password ({plugin_name.decode()})")
        return super()._process_auth(plugin_name, auth_packet, handler)

    def _read_bytes(self, num_bytes: int) -> bytes:
        self._bytes_left -= num_bytes
        if self._bytes_left < 0:
            raise DamagedError(
                f"expected an answer of at most {ANSWER_MAXIMUM >> 20} MiB, found a longer one"
            )
        data: bytes = super()._read_bytes(num_bytes)
        return data
