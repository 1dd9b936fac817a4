"""Files that were encrypted with age."""

from __future__ import annotations

import io
import os
import tempfile
from collections import OrderedDict
from threading import RLock
from typing import TYPE_CHECKING

from binx.errors import BinxError, DamagedError, EncryptedError, SourceError
from binx.source.age_keys import Identities, pyrage
from binx.source.base import Source
from binx.source.names import own_name, unencrypted_name
from binx.source.plain import PlainFile

if TYPE_CHECKING:
    from typing_extensions import Buffer

_UNKNOWN_KEY = "No matching keys found"
"""What pyrage says where no identity is a recipient."""


MOST_DECRYPTED = 8
"""Files whose contents stand in the temporary folder at once; others are decrypted again when asked for."""

_decrypted: OrderedDict[AgeFile, PlainFile] = OrderedDict()
"""The contents at hand, those that were asked for last at the end."""

_lock = RLock()


class AgeFile:
    """What is inside an age file.

    It is decrypted as a whole, into an unnamed file, since pyrage reads from the beginning to the end.

    Raises:
        EncryptedError: none is, or the package that decrypts is not installed.
        DamagedError: the file is cut, or not as it was written.
        SourceError: it cannot be read, or the folder for temporary files has no space.
    """

    def __init__(self, inner: Source, identities: Identities) -> None:
        self.path = inner.path
        self.name = own_name(unencrypted_name(inner.name))
        self._inner = inner
        self._identities = identities
        self.size = self._content().size

    def window(self, start: int, stop: int) -> memoryview:
        """The bytes of ``[start, stop)``; see :class:`~binx.source.base.Source`."""
        with _lock:
            return self._content().window(start, stop)

    def release(self, start: int, stop: int) -> None:
        """Say that bytes will not be looked at soon."""
        with _lock:
            if self in _decrypted:
                _decrypted[self].release(start, stop)

    def close(self) -> None:
        """Close the file, and remove its contents."""
        with _lock:
            content = _decrypted.pop(self, None)
        if content is not None:
            content.close()
        self._inner.close()

    def _content(self) -> PlainFile:
        with _lock:
            content = _decrypted.pop(self, None)
            _decrypted[self] = self._decrypt() if content is None else content
            while len(_decrypted) > MOST_DECRYPTED:
                _decrypted.popitem(last=False)[1].close()
            return _decrypted[self]

    def _decrypt(self) -> PlainFile:
        with tempfile.TemporaryFile(prefix="binx-") as file:
            _decrypt(self._inner, file, self._identities)
            file.flush()
            descriptor = os.dup(file.fileno())
        try:
            return PlainFile(descriptor, self.path, self.name)
        except BaseException:
            os.close(descriptor)
            raise


def _decrypt(inner: Source, file: io.BufferedIOBase, identities: Identities) -> None:
    package = pyrage()
    reader, writer = _Reader(inner), _Writer(file)
    keys = [package.x25519.Identity.from_str(text) for text in identities.found]
    told: Exception | None = None
    try:
        package.decrypt_io(io.BufferedReader(reader), writer, keys)
    except (package.DecryptError, OSError) as error:
        told = error
    # Of errors of the two sides pyrage gives on the texts at most, and none of those of its last write.
    if reader.problem is not None:
        raise reader.problem
    if writer.problem is not None:
        raise SourceError(
            f"cannot be decrypted into {tempfile.gettempdir()}: {writer.problem.strerror}; set TMPDIR to"
            " a folder with more space",
            path=inner.path,
        ) from writer.problem
    if told is not None and _UNKNOWN_KEY in str(told):
        raise _no_key(inner.path, identities)
    if told is not None:
        raise DamagedError(
            f"the age file is cut or has been changed ({told}); copy it again from its origin",
            path=inner.path,
        )


def _no_key(path: str, identities: Identities) -> EncryptedError:
    lack = f"the key is not in {identities.origin}" if identities.origin else "binx was given no identity"
    return EncryptedError(
        f"the file is encrypted with age, and {lack}; give the file with the secret key from age-keygen"
        " (--identity FILE, or BINX_IDENTITY); other kinds of keys, and passphrases: age -d",
        path=path,
    )


class _Reader(io.RawIOBase):
    """The encrypted bytes, as pyrage reads them."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.problem: BinxError | None = None
        self._source = source
        self._place = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read the next bytes."""
        with memoryview(buffer) as room:
            try:
                found = self._source.window(self._place, min(self._place + len(room), self._source.size))
            except BinxError as problem:
                self.problem = problem
                raise OSError from problem
            room[: len(found)] = found
        self._place += len(found)
        return len(found)


class _Writer:
    """What takes the decrypted bytes from pyrage."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self.problem: OSError | None = None
        self._file = file

    def write(self, data: bytes) -> int:
        """Write all bytes."""
        try:
            return self._file.write(data)
        except OSError as problem:
            self.problem = problem
            raise

    def flush(self) -> None:
        """Write what is held back."""
        try:
            self._file.flush()
        except OSError as problem:
            self.problem = problem
            raise


def refuse_armor(path: str) -> EncryptedError:
    """What is said of an age file that is written as text."""
    return EncryptedError(
        "the file is an armored age file (--armor), which binx does not read; decrypt it: age -d",
        path=path,
    )
