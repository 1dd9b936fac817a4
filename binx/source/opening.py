"""Open a path as the type of file that its first bytes indicate, regardless of its name."""

from __future__ import annotations

import sys

from binx.errors import SourceError
from binx.source.age import AgeFile, given_identities, refuse_armor
from binx.source.base import Source
from binx.source.compressed import GzipFile, ZstdFile
from binx.source.encrypted import EncryptedFile
from binx.source.keyring import Keys, given_keys
from binx.source.magic import ENCRYPTED_MAGIC, is_age, is_armored, is_gzip, is_zstd
from binx.source.plain import PlainFile, spool
from binx.source.remote import RemoteFile, is_uri

_HEAD = 4
_ARMOR_HEAD = 64


def open_source(path: str, keys: Keys | None = None) -> Source:
    """Open a path, a URI that ``pyarrow.fs`` supports, or ``-`` for standard input.

    It is decompressed and decrypted as it is read.

    Args:
        keys: for encrypted logs and files; None uses those in the environment.
    """
    source = decompressed(decrypted(_opened(path), keys))
    try:
        if bytes(source.window(0, _HEAD)) == ENCRYPTED_MAGIC:
            return EncryptedFile(source, given_keys() if keys is None else keys)
    except BaseException:
        source.close()
        raise
    return source


def _opened(path: str) -> Source:
    if path == "-":
        if sys.stdin is None:
            raise SourceError("cannot be read: standard input is closed", path=path)
        return spool(sys.stdin.buffer)
    return RemoteFile.open(path) if is_uri(path) else PlainFile.open(path)


def is_encrypted(source: Source) -> bool:
    """Whether the stored bytes of a source are encrypted, by a server or with age."""
    while isinstance(source, GzipFile | ZstdFile):
        source = source.inner
    return isinstance(source, AgeFile | EncryptedFile)


def decrypted(source: Source, keys: Keys | None = None) -> Source:
    """Return the source itself, or the decrypted content of an age file."""
    try:
        head = source.window(0, _ARMOR_HEAD)
        if is_age(head):
            identities = None if keys is None else keys.identities
            return AgeFile(source, given_identities() if identities is None else identities)
        if is_armored(head):
            raise refuse_armor(source.path)
    except BaseException:
        source.close()
        raise
    return source


def decompressed(source: Source, *, of_logs: bool = True) -> Source:
    """Return the source itself, or the decompressed content of a ``.zst`` or ``.gz`` file.

    Args:
        source: the file; it is closed with the returned source.
        of_logs: whether it must contain a binary log; only a ``.zst`` file may contain anything else.
    """
    try:
        head = bytes(source.window(0, _HEAD))
        if is_gzip(head):
            return GzipFile(source)
        if is_zstd(head):
            return ZstdFile(source, of_logs=of_logs)
    except BaseException:
        source.close()
        raise
    return source
