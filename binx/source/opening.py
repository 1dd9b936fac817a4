"""Open a path as the type of file that its first bytes indicate, regardless of its name.

What reads encrypted and compressed files is imported for such a file: it takes a tenth of a short command.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from binx.errors import SourceError
from binx.source.byte_source import Source
from binx.source.magic import ENCRYPTED_MAGIC, is_age, is_armored, is_gzip, is_zstd
from binx.source.plain import PlainFile, spool
from binx.source.remote import RemoteFile, is_uri

if TYPE_CHECKING:
    from binx.source.keyring import ReplicationKeys

_HEAD = 4
_ARMOR_HEAD = 64


def open_source(path: str, keys: ReplicationKeys | None = None) -> Source:
    """Open a path, a URI that ``pyarrow.fs`` supports, or ``-`` for standard input.

    It is decompressed and decrypted as it is read.

    Args:
        keys: for encrypted logs and files; None uses those in the environment.
    """
    source = decompressed(decrypted(_opened(path), keys))
    try:
        if bytes(source.window(0, _HEAD)) == ENCRYPTED_MAGIC:
            from binx.source.encrypted import EncryptedFile
            from binx.source.keyring import given_keys

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
    from binx.source.age import AgeFile
    from binx.source.compressed import GzipFile, ZstdFile
    from binx.source.encrypted import EncryptedFile

    while isinstance(source, GzipFile | ZstdFile):
        source = source.inner
    return isinstance(source, AgeFile | EncryptedFile)


def decrypted(source: Source, keys: ReplicationKeys | None = None) -> Source:
    """Return the source itself, or the decrypted content of an age file."""
    try:
        head = source.window(0, _ARMOR_HEAD)
        if is_age(head):
            from binx.source.age import AgeFile, given_identities

            identities = None if keys is None else keys.identities
            return AgeFile(source, given_identities() if identities is None else identities)
        if is_armored(head):
            from binx.source.age import refuse_armor

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
            from binx.source.compressed import GzipFile

            return GzipFile(source)
        if is_zstd(head):
            from binx.source.compressed import ZstdFile

            return ZstdFile(source, of_logs=of_logs)
    except BaseException:
        source.close()
        raise
    return source
