"""The keys of age files: recipients, whom a file is encrypted to, and identities, who can decrypt it.

Of age's kinds it is X25519, the one that ``age-keygen`` makes: ``age1…`` and ``AGE-SECRET-KEY-1…``. The files
are those of age's options ``-R`` and ``-i``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from binx.errors import EncryptedError, SourceError, UsageError

IDENTITY_VARIABLE = "BINX_IDENTITY"
"""Environment variable: files of age identities, separated as in PATH."""

_LARGEST_FILE = 1024 * 1024
_SECRET = "AGE-SECRET-KEY-"


@dataclass(frozen=True, slots=True)
class Identities:
    """Identities at hand."""

    found: tuple[str, ...] = field(default=(), repr=False)
    origin: str = ""


def pyrage() -> Any:
    """The package that encrypts and decrypts.

    Raises:
        EncryptedError: it is not installed.
    """
    try:
        import pyrage as package
    except ImportError:
        raise EncryptedError("age files need the package pyrage: pip install 'binx[encryption]'") from None
    return package


def parse_recipient(text: str) -> str:
    """A recipient, as age writes it.

    Raises:
        UsageError: it is none of this kind. What is said does not show the text, which may be a secret.
        EncryptedError: the package pyrage is not installed.
    """
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
    """The recipients in a file: one a line, empty lines and those that begin with ``#`` passed over.

    Raises:
        SourceError: it cannot be read.
        UsageError: a line is no recipient of this kind, or there is none.
        EncryptedError: the package pyrage is not installed.
    """
    return list(_keys_in(path, parse_recipient))


def given_identities(paths: Sequence[str] = ()) -> Identities:
    """The identities that were given: by argument, else in the environment.

    They are taken from files only: a command line is shown to all users of a machine.

    Raises:
        SourceError: a file cannot be read.
        UsageError: a line is no identity of this kind, or there is none.
        EncryptedError: the package pyrage is not installed.
    """
    if not paths:
        paths = [path for path in os.environ.get(IDENTITY_VARIABLE, "").split(os.pathsep) if path]
    found = [one for path in paths for one in _keys_in(path, _parse_identity)]
    return Identities(tuple(found), " and ".join(paths))


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
