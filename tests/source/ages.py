"""Keys and age files for tests, made by pyrage: rage, an implementation that is not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binx.source.age import AgeFile, given_identities
from binx.source.byte_source import Source
from tests.log.searching import Bytes

EXAMPLE_IDENTITY = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
EXAMPLE_RECIPIENT = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
"""The key that the standard gives as an example: 32 times the letter B."""


def rage() -> Any:
    """The package, without which the tests skip."""
    return pytest.importorskip("pyrage")


def make_key(folder: Path, name: str = "key.txt") -> tuple[Path, str]:
    """A file with a new identity, as ``age-keygen`` writes it, and its recipient."""
    identity = rage().x25519.Identity.generate()
    recipient = str(identity.to_public())
    path = folder / name
    path.write_text(f"# created: 2026-11-21T09:48:52Z\n# public key: {recipient}\n{identity}\n")
    return path, recipient


def recipient_of(key: Path) -> str:
    """The recipient that a file of :func:`make_key` names."""
    return key.read_text().split("public key: ")[1].split("\n")[0]


def forget_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the environment names a key."""
    for name in ("BINX_KEYRING", "BINX_KEY_FILE", "BINX_KEY", "BINX_IDENTITY"):
        monkeypatch.delenv(name, raising=False)


def encrypted(data: bytes, *recipients: str) -> bytes:
    """An age file."""
    pyrage = rage()
    return bytes(pyrage.encrypt(data, [pyrage.x25519.Recipient.from_str(text) for text in recipients]))


def decrypted(data: bytes, key: Path) -> bytes:
    """What is inside of one."""
    pyrage = rage()
    (line,) = [line for line in key.read_text().splitlines() if not line.startswith("#")]
    return bytes(pyrage.decrypt(data, [pyrage.x25519.Identity.from_str(line)]))


def opened(data: bytes, key: Path, name: str = "mysql-bin.000001.age") -> AgeFile:
    """An age file, opened with the identities in a file."""
    return AgeFile(Bytes(data, name), given_identities([str(key)]))


def everything(source: Source) -> bytes:
    """All bytes of a source."""
    return bytes(source.window(0, source.size))


class Key:
    """A key: the file of its identity, and its recipient."""

    def __init__(self, folder: Path, name: str = "key.txt") -> None:
        self.path, self.text = make_key(folder, name)
