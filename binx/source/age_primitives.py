"""The cryptography of age: three functions, all of the package cryptography (OpenSSL).

Source: C2SP's ``age.md``, https://age-encryption.org/v1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binx.errors import EncryptedError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

KEY_BYTES = 32
"""Bytes of every key but the file key."""

FILE_KEY_BYTES = 16

TAG_BYTES = 16
"""What authenticated encryption adds."""

NONCE_BYTES = 12


def derived(key: bytes, salt: bytes, info: bytes) -> bytes:
    """A key of 32 bytes out of another: HKDF-SHA-256 (RFC 5869).

    Raises:
        EncryptedError: the package cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise _not_installed() from None
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=info).derive(key)


def cipher(key: bytes) -> ChaCha20Poly1305:
    """ChaCha20-Poly1305 (RFC 8439) with a key.

    Raises:
        EncryptedError: the package cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    except ImportError:
        raise _not_installed() from None
    return ChaCha20Poly1305(key)


def public_key(secret: bytes) -> bytes:
    """The public key of a secret one: X25519 (RFC 7748) of the base point.

    Raises:
        EncryptedError: the package cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    except ImportError:
        raise _not_installed() from None
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def shared_secret(secret: bytes, public: bytes) -> bytes:
    """What two sides have in common: X25519 of one's secret key and the other's public one.

    Raises:
        ValueError: the public key is of low order, and the outcome would be zero whatever the secret.
        EncryptedError: the package cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    except ImportError:
        raise _not_installed() from None
    return X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(public))


def _not_installed() -> EncryptedError:
    return EncryptedError(
        "age files need the package cryptography, which is not installed: pip install 'binx[encryption]'"
    )


__all__ = [
    "FILE_KEY_BYTES",
    "KEY_BYTES",
    "NONCE_BYTES",
    "TAG_BYTES",
    "cipher",
    "derived",
    "public_key",
    "shared_secret",
]
