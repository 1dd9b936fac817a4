"""Files that were encrypted with age, decrypted as they are read, from any offset on.

Behind the header stand pieces of 64 KiB, each encrypted and authenticated by itself, so that what is wanted
is decrypted and no more. Number and end are part of the encryption: pieces cannot be left out, repeated or
put elsewhere. The last one is decrypted when a file is opened, and tells whether it was cut.

Source: C2SP's ``age.md``, https://age-encryption.org/v1, section "Payload".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from binx.errors import DamagedError, EncryptedError, TruncatedError
from binx.source.age_header import AgeHeader, parse_header
from binx.source.age_primitives import FILE_KEY_BYTES, TAG_BYTES, cipher, derived
from binx.source.base import Source
from binx.source.chunks import ChunkedSource, even_span
from binx.source.names import own_name, unencrypted_name

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

PAYLOAD_NONCE_BYTES = 16
"""Bytes between the header and the first piece."""

PIECE_BYTES = 64 * 1024
"""Bytes of a piece, as they are behind their encryption; only the last one may have fewer."""

_STORED_BYTES = PIECE_BYTES + TAG_BYTES
_COUNTER_BYTES = 11


class Opener(Protocol):
    """What knows the key of a file, or can find it out."""

    def file_key(self, header: AgeHeader, path: str) -> bytes:
        """The key of the file that begins with a header.

        Raises:
            EncryptedError: it cannot be told.
            DamagedError: the header is not as it must be.
        """


def payload_cipher(file_key: bytes, nonce: bytes) -> ChaCha20Poly1305:
    """What encrypts and decrypts a file's pieces.

    Args:
        file_key: the file's.
        nonce: the 16 bytes behind its header.

    Raises:
        EncryptedError: the package cryptography is not installed.
    """
    return cipher(derived(file_key, nonce, b"payload"))


def piece_nonce(number: int, *, is_last: bool) -> bytes:
    """The nonce of a piece, from its number and whether it is the last one."""
    return number.to_bytes(_COUNTER_BYTES, "big") + bytes([is_last])


class AgeFile(ChunkedSource):
    """What is inside an age file.

    Args:
        inner: the encrypted bytes; closed with this.
        opener: what knows the key.

    Raises:
        EncryptedError: no key fits, or the package that decrypts is not installed.
        TruncatedError: the file is cut.
        DamagedError: its header or its last piece is not as it was written.
        SourceError: it cannot be read.
    """

    def __init__(self, inner: Source, opener: Opener) -> None:
        header = parse_header(inner)
        key = opener.file_key(header, inner.path)
        if len(key) != FILE_KEY_BYTES or not header.is_made_with(key):
            raise DamagedError(
                "the header of the age file has been changed; copy the file again",
                path=inner.path,
                offset=0,
            )
        self._inner = inner
        self._start = header.size + PAYLOAD_NONCE_BYTES
        stored = inner.size - self._start
        self._count = -(-stored // _STORED_BYTES)
        if stored < TAG_BYTES or stored - (self._count - 1) * _STORED_BYTES < TAG_BYTES:
            raise self._cut(inner.size)
        self._cipher = payload_cipher(key, bytes(inner.window(header.size, self._start)))
        size = stored - self._count * TAG_BYTES
        super().__init__(inner.path, own_name(unencrypted_name(inner.name)), size)
        self._check_end()

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._inner.close()

    def _span(self, position: int) -> tuple[int, int]:
        return even_span(position, self.size, PIECE_BYTES)

    def _load(self, start: int, stop: int) -> bytes:
        number = start // PIECE_BYTES
        piece = self._decrypted(number, is_last=number == self._count - 1)
        if piece is None:
            raise self._changed(number)
        return piece

    def _check_end(self) -> None:
        """See that the last piece is there, and is the last one."""
        last = self._count - 1
        piece = self._decrypted(last, is_last=True)
        if piece is None:
            raise self._cut(self._inner.size) if self._decrypted(last, is_last=False) else self._changed(last)
        if not piece and last:
            raise self._changed(last)

    def _decrypted(self, number: int, *, is_last: bool) -> bytes | None:
        """A piece; None where its bytes are not those that were written."""
        from cryptography.exceptions import InvalidTag

        at = self._start + number * _STORED_BYTES
        stored = self._inner.window(at, at + _STORED_BYTES)
        try:
            return self._cipher.decrypt(piece_nonce(number, is_last=is_last), stored, None)
        except InvalidTag:
            return None

    def _changed(self, number: int) -> DamagedError:
        return DamagedError(
            f"piece {number} of the age file has been changed; copy the file again from its origin",
            path=self._inner.path,
            offset=self._start + number * _STORED_BYTES,
        )

    def _cut(self, offset: int) -> TruncatedError:
        return TruncatedError(
            "the age file ends before its last piece; it was truncated, copy it again from its origin",
            path=self._inner.path,
            offset=offset,
        )


def refuse_armor(path: str) -> EncryptedError:
    """What is said of an age file that is written as text."""
    return EncryptedError(
        "the file is an armored age file (--armor), which does not allow random access; decrypt it: age -d",
        path=path,
    )


__all__ = [
    "PAYLOAD_NONCE_BYTES",
    "PIECE_BYTES",
    "AgeFile",
    "Opener",
    "payload_cipher",
    "piece_nonce",
    "refuse_armor",
]
