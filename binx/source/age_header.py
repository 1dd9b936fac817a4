"""The header of an age file: a stanza for each recipient, which wraps the file key, and a code over all.

Source: C2SP's ``age.md``, https://age-encryption.org/v1, sections "Header" and "ABNF definition of file
header". What that grammar does not allow is refused, so that no two texts mean the same.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass

from binx.errors import DamagedError, TruncatedError
from binx.source.age_primitives import derived
from binx.source.base import Source

VERSION_LINE = b"age-encryption.org/v1\n"

LARGEST_HEADER = 256 * 1024
"""Bytes of a header that is read, at most: age itself knows no limit. So many hold 2,600 recipients."""

_STANZA, _END = b"-> ", b"---"
_COLUMNS = 64
_MAC_LINE = re.compile(rb"--- ([A-Za-z0-9+/]{43})")
_ARGUMENTS = re.compile(rb"[!-~]+(?: [!-~]+)*")
_LETTERS = re.compile(rb"[A-Za-z0-9+/]*")


@dataclass(frozen=True, slots=True)
class Stanza:
    """The file key, wrapped for one recipient.

    Attributes:
        arguments: the recipient's kind, and what it needs more.
        body: the wrapped key.
    """

    arguments: tuple[str, ...]
    body: bytes

    @property
    def kind(self) -> str:
        """The recipient's kind, such as ``X25519``."""
        return self.arguments[0]


@dataclass(frozen=True, slots=True)
class AgeHeader:
    """What stands before the encrypted bytes.

    Attributes:
        stanzas: one for each recipient, at least one.
        text: the bytes that the code at the end is of.
        mac: that code.
        size: its bytes, with that code.
    """

    stanzas: tuple[Stanza, ...]
    text: bytes
    mac: bytes
    size: int

    def is_made_with(self, file_key: bytes) -> bool:
        """Whether the code is the one that a file key gives: nothing was changed then."""
        return hmac.compare_digest(_mac(file_key, self.text), self.mac)


def parse_header(source: Source) -> AgeHeader:
    """Read the header that a file begins with.

    Raises:
        TruncatedError: the file ends within it.
        DamagedError: it is none of version 1, or too large.
        SourceError: the file cannot be read.
    """
    return _Parser(bytes(source.window(0, LARGEST_HEADER)), source.path, source.size).header()


def encode_header(stanzas: Iterable[Stanza], file_key: bytes) -> bytes:
    """A header's text.

    Args:
        stanzas: at least one.
        file_key: what they wrap.

    Raises:
        EncryptedError: the package cryptography is not installed.
    """
    text = b"".join([VERSION_LINE, *map(_encode_stanza, stanzas), _END])
    return text + b" " + encode_base64(_mac(file_key, text)) + b"\n"


def encode_base64(data: bytes) -> bytes:
    """Bytes in base64, without padding."""
    return b64encode(data).rstrip(b"=")


def decode_base64(text: bytes) -> bytes:
    """The same back.

    Raises:
        ValueError: there is padding, another character, or a bit in the last one that means nothing.
    """
    if not _LETTERS.fullmatch(text) or len(text) % 4 == 1:
        raise ValueError("expected base64 without padding")
    data = b64decode(text + b"=" * (-len(text) % 4))
    if encode_base64(data) != text:
        raise ValueError("expected base64 in its only form")
    return data


def _encode_stanza(stanza: Stanza) -> bytes:
    body = encode_base64(stanza.body)
    # The last line is always shorter than the others, and empty where they hold all.
    lines = [body[start : start + _COLUMNS] for start in range(0, len(body) + 1, _COLUMNS)]
    return b"\n".join([_STANZA + " ".join(stanza.arguments).encode("ascii"), *lines, b""])


def _mac(file_key: bytes, text: bytes) -> bytes:
    return hmac.digest(derived(file_key, b"", b"header"), text, hashlib.sha256)


class _Parser:
    """A header's text, from its beginning to its end."""

    def __init__(self, data: bytes, path: str, size: int) -> None:
        self._data = data
        self._path = path
        self._size = size
        self._at = 0

    def header(self) -> AgeHeader:
        if VERSION_LINE.startswith(self._data):
            raise self._cut()
        if not self._data.startswith(VERSION_LINE):
            found = self._data[: len(VERSION_LINE) + 8].split(b"\n")[0]
            raise self._damaged(
                f"expected a file of age version 1, which begins with"
                f" {VERSION_LINE.decode().strip()}, found {ascii(found)[2:-1]}"
            )
        self._at = len(VERSION_LINE)
        stanzas: list[Stanza] = []
        while self._data.startswith(_STANZA, self._at):
            stanzas.append(self._stanza())
        begin = self._at
        line = self._line()
        found_mac = _MAC_LINE.fullmatch(line)
        if found_mac is None or not stanzas:
            self._at = begin
            raise self._damaged("expected the recipients of an age file and a code over them, found no such")
        mac = self._bytes(found_mac[1], begin)
        return AgeHeader(tuple(stanzas), self._data[: begin + len(_END)], mac, self._at)

    def _stanza(self) -> Stanza:
        begin = self._at
        arguments = self._line().removeprefix(_STANZA)
        if not _ARGUMENTS.fullmatch(arguments):
            self._at = begin
            raise self._damaged("expected what kind a recipient of the age file is, found no such line")
        body = []
        while True:
            begin = self._at
            line = self._line()
            if len(line) > _COLUMNS:
                self._at = begin
                raise self._damaged(f"expected lines of at most {_COLUMNS} letters, found a longer one")
            body.append(line)
            if len(line) < _COLUMNS:
                return Stanza(tuple(arguments.decode("ascii").split(" ")), self._bytes(b"".join(body), begin))

    def _line(self) -> bytes:
        end = self._data.find(b"\n", self._at)
        if end < 0:
            if self._size > len(self._data):
                raise self._damaged(f"expected the header's end within {LARGEST_HEADER} bytes, found none")
            raise self._cut()
        line = self._data[self._at : end]
        self._at = end + 1
        return line

    def _bytes(self, text: bytes, offset: int) -> bytes:
        try:
            return decode_base64(text)
        except ValueError as error:
            self._at = offset
            raise self._damaged(f"{error} in the header of an age file, found something else") from None

    def _cut(self) -> TruncatedError:
        return TruncatedError(
            "the file ends within the header of an age file; it was truncated, copy it again from its origin",
            path=self._path,
            offset=self._size,
        )

    def _damaged(self, message: str) -> DamagedError:
        return DamagedError(f"{message}; copy the file again", path=self._path, offset=self._at)


__all__ = [
    "LARGEST_HEADER",
    "VERSION_LINE",
    "AgeHeader",
    "Stanza",
    "decode_base64",
    "encode_base64",
    "encode_header",
    "parse_header",
]
