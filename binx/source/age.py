"""Files encrypted with age, and their keys.

Only age's X25519 keys are supported, which ``age-keygen`` makes: recipients ``age1…``, to which a file is
encrypted, and identities ``AGE-SECRET-KEY-1…``, which decrypt it. Key files have the format of age's options
``-R`` and ``-i``.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from binx.errors import DamagedError, EncryptedError, SourceError, UsageError
from binx.source.byte_source import Source, SourceReader
from binx.source.log_names import own_name, unencrypted_name
from binx.source.plain import UnpackedFile
from binx.version import install_command

IDENTITY_VARIABLE = "BINX_IDENTITY"
"""Environment variable: files of age identities, separated as in PATH."""

_LARGEST_FILE = 1024 * 1024
_SECRET = "AGE-SECRET-KEY-"
_UNKNOWN_KEY = "No matching keys found"
"""pyrage's error if no identity is a recipient."""


@dataclass(frozen=True, slots=True)
class Identities:
    """Available identities, and the files that they were read from."""

    keys: tuple[str, ...] = field(default=(), repr=False)
    origin: str = ""


def pyrage() -> Any:
    """Import the package that encrypts and decrypts."""
    try:
        import pyrage as package
    except ImportError:
        raise EncryptedError(f"age files need the package pyrage: {install_command('encryption')}") from None
    return package


def parse_recipient(text: str) -> str:
    """Check a recipient in age's notation."""
    expected = "expected a recipient (age1…), found"
    if text.upper().startswith(_SECRET):
        raise UsageError(f"{expected} a secret key; age-keygen -y FILE prints the recipient")
    try:
        return str(pyrage().x25519.Recipient.from_str(text))
    except pyrage().RecipientError as error:
        raise UsageError(f"{expected} another or an invalid key: {error}") from None


def _parse_identity(text: str) -> str:
    try:
        pyrage().x25519.Identity.from_str(text)
    except pyrage().IdentityError as error:
        raise UsageError(
            f"expected an identity (AGE-SECRET-KEY-1…), found another or an invalid key: {error}"
        ) from None
    return text


def read_recipients(path: str) -> list[str]:
    """Read a file's recipients, one per line; empty lines and lines that begin with ``#`` are skipped."""
    return list(_keys_in(path, parse_recipient))


def given_identities(paths: Sequence[str] = ()) -> Identities:
    """Read the identities from the arguments, else from the environment.

    They are read from files only: a command line is visible to all users of a machine.
    """
    if not paths:
        paths = [path for path in os.environ.get(IDENTITY_VARIABLE, "").split(os.pathsep) if path]
    keys = [key for path in paths for key in _keys_in(path, _parse_identity)]
    return Identities(tuple(keys), " and ".join(paths))


def _keys_in(path: str, parse: Callable[[str], str]) -> Iterator[str]:
    try:
        with Path(path).open("rb") as file:
            lines = file.read(_LARGEST_FILE).decode("utf-8", "replace").split("\n")
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise SourceError(f"cannot be opened: {reason}", path=path) from problem
    count = 0
    for number, line in enumerate(map(str.strip, lines), 1):
        if line and not line.startswith("#"):
            try:
                yield parse(line)
            except UsageError as error:
                raise UsageError(f"line {number}: {error.message}", path=path) from None
            count += 1
    if not count:
        raise UsageError("expected keys in the file, one a line, found none", path=path)


class AgeFile(UnpackedFile):
    """The decrypted content of an age file."""

    def __init__(self, inner: Source, identities: Identities) -> None:
        self._identities = identities
        super().__init__(inner, own_name(unencrypted_name(inner.name)))

    def unpack(self, file: IO[bytes]) -> None:
        """Decrypt the whole file."""
        package = pyrage()
        reader, writer = SourceReader(self.inner), CheckedWriter(file.write)
        keys = [package.x25519.Identity.from_str(text) for text in self._identities.keys]
        failure: Exception | None = None
        try:
            package.decrypt_io(io.BufferedReader(reader), writer, keys)
        except (package.DecryptError, OSError) as error:
            failure = error
        for problem in (reader.problem, writer.problem):
            if problem is not None:
                raise problem
        if failure is not None and _UNKNOWN_KEY in str(failure):
            raise self._no_key()
        if failure is not None:
            raise DamagedError(
                f"the age file is cut or has been changed ({failure}); copy it again from its origin",
                path=self.path,
            )

    def _no_key(self) -> EncryptedError:
        origin = self._identities.origin
        reason = f"the key is not in {origin}" if origin else "binx was given no identity"
        return EncryptedError(
            f"the file is encrypted with age, and {reason}; give the file with the secret key from age-keygen"
            " (--identity FILE, or BINX_IDENTITY); other kinds of keys, and passphrases: age -d",
            path=self.path,
        )


class CheckedWriter:
    """A sink for pyrage, which loses the type of errors raised here, and ignores those of its last write."""

    def __init__(self, write: Callable[[bytes], int | None]) -> None:
        self.problem: Exception | None = None
        self._write = write

    def write(self, data: bytes) -> int:
        """Write all bytes."""
        try:
            self._write(data)
        except Exception as problem:
            self.problem = problem
            raise
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""


def refuse_armor(path: str) -> EncryptedError:
    """Return the error for an ASCII-armored age file."""
    return EncryptedError(
        "the file is an armored age file (--armor), which binx does not read; decrypt it: age -d",
        path=path,
    )
