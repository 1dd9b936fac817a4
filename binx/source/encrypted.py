"""Decrypt binary logs that MySQL 8.0.14 or later encrypted, with random access.

A header of 512 bytes names the replication master key, and holds the file's own password, encrypted with that
key. A whole binary log including its magic follows, encrypted with AES-256 in counter mode. Positions in the
log, as the server reports them, are those of the decrypted bytes.

Sources: MySQL's sql/rpl_log_encryption.cc (``Rpl_encryption_header_v1``), sql/stream_cipher.cc
(``Aes_ctr_cipher``); WL#10957.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from binx.errors import EncryptedError, TruncatedError
from binx.source.byte_source import ChunkedSource, Source
from binx.source.keyring import KEY_BYTES, ReplicationKeys
from binx.source.magic import ENCRYPTED_MAGIC, MAGIC
from binx.version import install_command

HEADER_SIZE = 512
"""Size of the header before the encrypted log."""

_VERSION = 1
_KEY_NAME, _PASSWORD, _IV = 1, 2, 3
_PASSWORD_SIZE = 32
_BLOCK = 16
_NONCE_SIZE = 8

_ADVICE = (
    "give the server's keyring (--keyring FILE, or BINX_KEYRING), or the key (--key-file FILE, BINX_KEY_FILE"
    " or BINX_KEY), or let the server decrypt it: mysqlbinlog --read-from-remote-server"
)


@dataclass(frozen=True, slots=True)
class EncryptionHeader:
    """The header of an encrypted log.

    Attributes:
        key_name: the replication master key's name in the keyring.
        password: the file's password, encrypted with that key.
        iv: the initialization vector of that encryption.
    """

    key_name: str
    password: bytes
    iv: bytes


def parse_header(data: memoryview | bytes, path: str) -> EncryptionHeader:
    """Parse the header."""
    header = bytes(data[:HEADER_SIZE])
    if len(header) < HEADER_SIZE:
        raise TruncatedError(
            f"expected an encryption header of {HEADER_SIZE} bytes, found {len(header)}; the file was"
            " truncated",
            path=path,
            offset=len(header),
        )
    position = len(ENCRYPTED_MAGIC)
    if header[position] != _VERSION:
        raise EncryptedError(
            f"expected an encryption header of version {_VERSION}, found version {header[position]};"
            " a newer server wrote the file",
            path=path,
            offset=position,
        )
    position += 1
    fields: dict[int, bytes] = {}
    while position < HEADER_SIZE - 1 and (kind := header[position]):
        sizes = {_KEY_NAME: 1 + header[position + 1], _PASSWORD: _PASSWORD_SIZE, _IV: _BLOCK}
        if kind not in sizes:
            raise EncryptedError(
                f"expected the fields 1 to 3 of the encryption header, found {kind}",
                path=path,
                offset=position,
            )
        fields[kind] = header[position + 1 : position + 1 + sizes[kind]]
        position += 1 + sizes[kind]
    name, password, iv = fields.get(_KEY_NAME, b""), fields.get(_PASSWORD, b""), fields.get(_IV, b"")
    if len(name) < 2 or len(password) != _PASSWORD_SIZE or len(iv) != _BLOCK:
        raise EncryptedError(
            "expected a key name, a password and a vector in the encryption header; some are missing",
            path=path,
            offset=position,
        )
    return EncryptionHeader(name[1:].decode("utf-8", "backslashreplace"), password, iv)


class EncryptedFile(ChunkedSource):
    """The decrypted binary log of an encrypted file."""

    def __init__(self, inner: Source, keys: ReplicationKeys) -> None:
        header = parse_header(inner.window(0, HEADER_SIZE), inner.path)
        key = keys.find(header.key_name)
        if key is None:
            reason = f"it is not in {keys.origin}" if keys.origin else "binx was given no key"
            raise EncryptedError(
                f"the file is encrypted by MySQL (binlog_encryption=ON) with the key {header.key_name},"
                f" and {reason}; {_ADVICE}",
                path=inner.path,
            )
        if len(key) != KEY_BYTES:
            raise EncryptedError(
                f"expected the key {header.key_name} to have {KEY_BYTES} bytes, found {len(key)}",
                path=keys.origin,
            )
        self._inner = inner
        # EVP_BytesToKey with SHA-512, no salt and one round: one digest holds the key and the vector.
        derived = hashlib.sha512(_decrypted(key, header)).digest()
        self._key = derived[:KEY_BYTES]
        self._nonce = derived[KEY_BYTES : KEY_BYTES + _NONCE_SIZE]
        super().__init__(inner.path, inner.name, max(inner.size - HEADER_SIZE, 0))
        if self.size >= len(MAGIC) and bytes(self._load(0, len(MAGIC))) != MAGIC:
            raise EncryptedError(
                f"the key {header.key_name} from {keys.origin} is not the one the file was encrypted"
                f" with; {_ADVICE}",
                path=inner.path,
            )

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._inner.close()

    def _load(self, start: int, stop: int) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher, modes
        from cryptography.hazmat.primitives.ciphers.algorithms import AES

        counter = self._nonce + (start // _BLOCK).to_bytes(_BLOCK - _NONCE_SIZE, "big")
        decryptor = Cipher(AES(self._key), modes.CTR(counter)).decryptor()
        return decryptor.update(self._inner.window(HEADER_SIZE + start, HEADER_SIZE + stop))


def _decrypted(key: bytes, header: EncryptionHeader) -> bytes:
    """Decrypt the file's password."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, modes
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
    except ImportError:
        raise EncryptedError(
            "encrypted logs need the package cryptography, which is not installed:"
            f" {install_command('encryption')}"
        ) from None
    decryptor = Cipher(AES(key), modes.CBC(header.iv)).decryptor()
    return decryptor.update(header.password) + decryptor.finalize()
