"""Writing age files: what :mod:`binx.source.age` reads, and ``age -d`` decrypts.

Source: C2SP's ``age.md``, https://age-encryption.org/v1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from binx.errors import UsageError
from binx.export.output import Sink
from binx.source.age import PAYLOAD_NONCE_BYTES, PIECE_BYTES, payload_cipher, piece_nonce
from binx.source.age_header import encode_header
from binx.source.age_keys import MOST_RECIPIENTS, FileKey, Recipient
from binx.source.age_primitives import FILE_KEY_BYTES

if TYPE_CHECKING:
    from typing_extensions import Buffer


class AgeWriter:
    """Encrypts what is written to it; the file has its end when :meth:`finish` was called.

    Args:
        output: where the encrypted bytes go; it stays open.
        recipients: whom the file is encrypted to, at least one.

    Attributes:
        key: the file's own key, for whoever reads it again right after.

    Raises:
        UsageError: there are no recipients, or too many.
        EncryptedError: the package cryptography is not installed.
        OutputError: the output cannot be written.
    """

    def __init__(self, output: Sink, recipients: Sequence[Recipient]) -> None:
        if not 0 < len(recipients) <= MOST_RECIPIENTS:
            raise UsageError(
                f"expected 1 to {MOST_RECIPIENTS} recipients to encrypt to, found {len(recipients)}"
            )
        file_key, nonce = os.urandom(FILE_KEY_BYTES), os.urandom(PAYLOAD_NONCE_BYTES)
        self.key = FileKey(file_key)
        self._output = output
        self._cipher = payload_cipher(file_key, nonce)
        self._pending = bytearray()
        self._number = 0
        output.write(encode_header([one.wrap(file_key) for one in recipients], file_key) + nonce)

    def write(self, data: Buffer, /) -> int:
        """Add bytes.

        Raises:
            OutputError: the output cannot be written.
        """
        with memoryview(data) as given:
            self._pending += given
            size = given.nbytes
        # A piece that is full may be the last one, which only the next byte tells.
        full = (len(self._pending) - 1) // PIECE_BYTES
        with memoryview(self._pending) as pending:
            for start in range(0, full * PIECE_BYTES, PIECE_BYTES):
                self._put(pending[start : start + PIECE_BYTES], is_last=False)
        if full > 0:
            del self._pending[: full * PIECE_BYTES]
        return size

    def finish(self) -> None:
        """Write the last piece.

        Raises:
            OutputError: the output cannot be written.
        """
        self._put(self._pending, is_last=True)

    def _put(self, piece: bytearray | memoryview, *, is_last: bool) -> None:
        nonce = piece_nonce(self._number, is_last=is_last)
        self._output.write(self._cipher.encrypt(nonce, piece, None))
        self._number += 1


__all__ = ["AgeWriter"]
