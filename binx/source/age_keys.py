"""The keys of age files: recipients, whom a file is encrypted to, and identities, who can decrypt it.

Of age's kinds it is X25519, the one that ``age-keygen`` makes: ``age1…`` and ``AGE-SECRET-KEY-1…``. Keys of
plugins, SSH and the post-quantum hybrid, and passphrases, are not taken, and are called by their names.

Source: C2SP's ``age.md``, https://age-encryption.org/v1, section "The X25519 recipient type"; the files are
those of age's options ``-R`` and ``-i``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from binx.errors import DamagedError, EncryptedError, SourceError, UsageError
from binx.source import bech32
from binx.source.age_header import AgeHeader, Stanza, decode_base64, encode_base64
from binx.source.age_primitives import (
    FILE_KEY_BYTES,
    KEY_BYTES,
    NONCE_BYTES,
    TAG_BYTES,
    cipher,
    derived,
    public_key,
    shared_secret,
)
from binx.source.wording import counted

IDENTITY_VARIABLE = "BINX_IDENTITY"
"""Environment variable: files of age identities, separated as in PATH."""

MOST_RECIPIENTS = 1000
"""Whom a file is encrypted to, at most."""

X25519 = "X25519"
"""How stanzas call this kind."""

_INFO = b"age-encryption.org/v1/X25519"
_RECIPIENT, _IDENTITY = "age", "age-secret-key-"
_PASSPHRASE = "scrypt"
_NONCE = bytes(NONCE_BYTES)
_LARGEST_FILE = 1024 * 1024
_GREASE = "-grease"
"""What the kinds of stanzas end in that stand there so that nobody relies on their absence."""
_SHOWN_KINDS = 3
_SHOWN_LETTERS = 40

_KINDS = (
    ("age1[^1]*$", "an invalid age1… key"),
    ("age1pq1", "a post-quantum recipient, which binx does not support"),
    ("age1", "a plugin recipient, which binx does not support"),
    ("age-secret-key-1", "an invalid or misplaced AGE-SECRET-KEY-1…"),
    ("age-secret-key-pq-1", "a post-quantum identity, which binx does not support"),
    ("age-plugin-", "a plugin identity, which binx does not support"),
    ("ssh-|-----begin (?!age)", "an SSH or other key, which binx does not support"),
    ("age-encryption|-----begin age", "an encrypted file; decrypt it first: age -d"),
)
"""What keys look like, whatever their case, and how they are called where another is expected."""

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Recipient:
    """Whom a file is encrypted to.

    Attributes:
        public: the public key.
    """

    public: bytes

    @property
    def text(self) -> str:
        """As age writes it: ``age1…``."""
        return bech32.encode(_RECIPIENT, self.public)

    def wrap(self, file_key: bytes) -> Stanza:
        """The file key, encrypted to the recipient with a key that is made for this.

        Raises:
            EncryptedError: the package cryptography is not installed.
        """
        ephemeral = os.urandom(KEY_BYTES)
        share = public_key(ephemeral)
        wrapping = derived(shared_secret(ephemeral, self.public), share + self.public, _INFO)
        body = cipher(wrapping).encrypt(_NONCE, file_key, None)
        return Stanza((X25519, encode_base64(share).decode("ascii")), body)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who can decrypt a file; never shown.

    Attributes:
        secret: the secret key.
        public: the public one.
    """

    secret: bytes = field(repr=False)
    public: bytes

    def unwrap(self, share: bytes, body: bytes) -> bytes | None:
        """The file key in a stanza; None where that is another recipient's.

        Raises:
            ValueError: the share is no key of a person.
        """
        from cryptography.exceptions import InvalidTag

        wrapping = derived(shared_secret(self.secret, share), share + self.public, _INFO)
        try:
            return cipher(wrapping).decrypt(_NONCE, body, None)
        except InvalidTag:
            return None


@dataclass(frozen=True, slots=True)
class FileKey:
    """The key of one file, by itself, as whoever has just written the file knows it; never shown."""

    key: bytes = field(repr=False)

    def file_key(self, header: AgeHeader, path: str) -> bytes:
        """The key."""
        del header, path
        return self.key


@dataclass(frozen=True, slots=True)
class Identities:
    """Identities at hand.

    Attributes:
        found: the identities.
        origin: where they are from, for messages.
    """

    found: tuple[Identity, ...] = ()
    origin: str = ""

    def file_key(self, header: AgeHeader, path: str) -> bytes:
        """The key of a file.

        Raises:
            EncryptedError: no identity is one of its recipients.
            DamagedError: a stanza is not as it must be.
        """
        wrapped = [_checked(stanza, path) for stanza in header.stanzas if stanza.kind == X25519]
        if any(stanza.kind == _PASSPHRASE for stanza in header.stanzas):
            raise EncryptedError(
                "the file is encrypted with a passphrase, which binx does not support; decrypt it: age -d",
                path=path,
            )
        for share, body in wrapped:
            for identity in self.found:
                try:
                    key = identity.unwrap(share, body)
                except ValueError:
                    raise _damaged_stanza(path) from None
                if key is not None:
                    return key
        raise EncryptedError(
            f"the file is encrypted with age to {_kinds(header)}, and {self._lack()}; give the file"
            " with the secret key from age-keygen (--identity FILE, or BINX_IDENTITY)",
            path=path,
        )

    def _lack(self) -> str:
        return f"the key is not in {self.origin}" if self.origin else "binx was given no identity"


def parse_recipient(text: str) -> Recipient:
    """A recipient's text.

    Raises:
        UsageError: it is none of this kind. What is said does not show the text, which may be a secret.
        EncryptedError: the package cryptography is not installed.
    """
    return _parsed(text, "a recipient (age1…)", _recipient)


def read_recipients(path: str) -> list[Recipient]:
    """The recipients in a file: one a line, empty lines and those that begin with ``#`` passed over.

    Raises:
        SourceError: it cannot be read.
        UsageError: a line is no recipient of this kind, or there is none.
        EncryptedError: the package cryptography is not installed.
    """
    return list(_keys_in(path, "a recipient (age1…)", _recipient))


def given_identities(paths: Sequence[str] = ()) -> Identities:
    """The identities that were given: by argument, else in the environment.

    They are taken from files only: a command line is shown to all users of a machine.

    Args:
        paths: of files as ``age-keygen`` writes them.

    Raises:
        SourceError: a file cannot be read.
        UsageError: a line is no identity of this kind, or there is none.
        EncryptedError: the package cryptography is not installed.
    """
    if not paths:
        paths = [path for path in os.environ.get(IDENTITY_VARIABLE, "").split(os.pathsep) if path]
    found = [one for path in paths for one in _keys_in(path, "an identity (AGE-SECRET-KEY-1…)", _identity)]
    return Identities(tuple(found), " and ".join(paths))


def _recipient(text: str) -> Recipient:
    name, public = bech32.decode(text)
    if name == _IDENTITY:
        raise ValueError("that is the secret key; age-keygen -y FILE prints the recipient")
    if name != _RECIPIENT or len(public) != KEY_BYTES or text != text.lower():
        raise ValueError("it is another kind of key")
    try:
        shared_secret(bytes(KEY_BYTES), public)
    except ValueError:
        raise ValueError("it is of low order and gives no protection") from None
    return Recipient(public)


def _identity(text: str) -> Identity:
    name, secret = bech32.decode(text)
    if name != _IDENTITY or len(secret) != KEY_BYTES or text != text.upper():
        raise ValueError("it is another kind of key")
    return Identity(secret, public_key(secret))


def _keys_in(path: str, expected: str, parse: Callable[[str], _Key]) -> Iterator[_Key]:
    count = 0
    for number, line in enumerate(_lines(path), 1):
        if line and not line.startswith("#"):
            try:
                yield _parsed(line, expected, parse)
            except UsageError as error:
                raise UsageError(f"line {number}: {error.message}", path=path) from None
            count += 1
    if not count:
        raise UsageError(f"expected {expected} in the file, found none", path=path)


def _lines(path: str) -> Iterable[str]:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_LARGEST_FILE)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise SourceError(f"cannot be opened: {reason}", path=path) from problem
    return (line.strip() for line in data.decode("utf-8", "replace").split("\n"))


def _parsed(text: str, expected: str, parse: Callable[[str], _Key]) -> _Key:
    try:
        return parse(text)
    except ValueError as error:
        shapes = (kind for shape, kind in _KINDS if re.match(shape, text, re.IGNORECASE))
        found = next(shapes, "something else")
        more = "" if "not take" in found or "itself" in found else f" ({error})"
        raise UsageError(f"expected {expected}, found {found}{more}") from None


def _checked(stanza: Stanza, path: str) -> tuple[bytes, bytes]:
    """The share and the body of a stanza, which have to be as long as they must be before they are used."""
    try:
        _, text = stanza.arguments
        share = decode_base64(text.encode("ascii"))
    except ValueError:
        raise _damaged_stanza(path) from None
    if len(share) != KEY_BYTES or len(stanza.body) != FILE_KEY_BYTES + TAG_BYTES:
        raise _damaged_stanza(path)
    return share, stanza.body


def _damaged_stanza(path: str) -> DamagedError:
    return DamagedError(
        "expected an X25519 recipient in the header of an age file, found another's length or value; copy the"
        " file again",
        path=path,
    )


def _kinds(header: AgeHeader) -> str:
    """To whom a file is encrypted, as far as its header tells."""
    stanzas = [stanza for stanza in header.stanzas if not stanza.kind.endswith(_GREASE)]
    count = len(stanzas)
    others = sorted({stanza.kind[:_SHOWN_LETTERS] for stanza in stanzas} - {X25519})
    kinds = ", ".join(others[:_SHOWN_KINDS])
    known = f" (including {kinds}, which binx does not support)" if others else ""
    return f"{counted(count, 'recipient')}{known}"


__all__ = [
    "IDENTITY_VARIABLE",
    "MOST_RECIPIENTS",
    "FileKey",
    "Identities",
    "Identity",
    "Recipient",
    "given_identities",
    "parse_recipient",
    "read_recipients",
]
