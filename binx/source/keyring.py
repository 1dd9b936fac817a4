"""Read MySQL's replication master keys from keyring files of both kinds, or a single key.

Sources: MySQL's components/keyrings/keyring_file and keyring_common/json_data (component_keyring_file),
plugin/keyring (keyring_file: buffered_file_io.cc, keyring_key.cc ``xor_data``, digest.cc).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct, error

from binx.errors import EncryptedError, SourceError, UsageError
from binx.source.age import Identities, given_identities

KEYRING_VARIABLE = "BINX_KEYRING"
"""Environment variable: keyring files, separated as in PATH."""

KEY_FILE_VARIABLE = "BINX_KEY_FILE"
"""Environment variable: a file that holds one replication master key."""

KEY_VARIABLE = "BINX_KEY"
"""Environment variable: one replication master key in hex digits."""

KEY_BYTES = 32

_LARGEST_FILE = 64 * 1024 * 1024
_PLUGIN_HEADER = b"Keyring file version:"
_PLUGIN_VERSIONS = (b"1.0", b"2.0")
_PLUGIN_END = b"EOF"
_OBFUSCATION = b"*305=Ljt0*!@$Hnm(*-9-w;:"
_ENTRY = Struct("<5Q")
_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class ReplicationKeys:
    """Replication master keys; their values are never shown.

    Attributes:
        by_name: keys of a keyring, by name.
        single: a key given without a name, used for any key name.
        origin: their source, for messages.
        identities: age files' identities; None uses those in the environment.
    """

    by_name: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    single: bytes | None = field(default=None, repr=False)
    origin: str = ""
    identities: Identities | None = None

    def find(self, name: str) -> bytes | None:
        """Return the key of that name, or the single key."""
        return self.by_name.get(name, self.single)


def given_keys(
    keyrings: Sequence[str] = (), key_file: str | None = None, identities: Sequence[str] = ()
) -> ReplicationKeys:
    """Read the keys from the arguments, else from the environment.

    A key is read from a file or the environment only: a command line is visible to all users of a machine.

    Args:
        keyrings: paths of keyring files. A server that rotates its master key keeps only the new one, so that
            copies of earlier logs need the earlier keyring.
        key_file: path of a file that holds a key: 64 hex digits, or 32 bytes.
        identities: paths of files of age identities; those in the environment are read once there is an age
            file.
    """
    if not keyrings:
        keyrings = [path for path in os.environ.get(KEYRING_VARIABLE, "").split(os.pathsep) if path]
    key_file = key_file or os.environ.get(KEY_FILE_VARIABLE)
    text = os.environ.get(KEY_VARIABLE)
    single = None
    if key_file:
        single = _key(_contents(key_file), key_file)
    elif text:
        single = _key(text.encode("utf-8", "replace"), KEY_VARIABLE)
    by_name: dict[str, bytes] = {}
    for path in keyrings:
        by_name |= read_keyring(path)
    single_origin = key_file or (KEY_VARIABLE if text else None)
    origin = " and ".join([*keyrings, *([single_origin] if single_origin else [])])
    if not identities:
        return ReplicationKeys(by_name, single, origin)
    return ReplicationKeys(by_name, single, origin, given_identities(identities))


def read_keyring(path: str) -> dict[str, bytes]:
    """Return the keys in a keyring file, by name."""
    data = _contents(path)
    return _plugin_keys(data, path) if data.startswith(_PLUGIN_HEADER) else _component_keys(data, path)


def _component_keys(data: bytes, path: str) -> dict[str, bytes]:
    """Parse component_keyring_file: a JSON document with the keys in hex digits."""
    try:
        elements = json.loads(data)["elements"]
        return {str(element["data_id"]): bytes.fromhex(element["data"]) for element in elements}
    except (ValueError, KeyError, TypeError, RecursionError):
        # json's error message may show part of the document.
        raise EncryptedError(
            "expected a keyring of component_keyring_file (JSON) or the keyring_file plugin, found neither",
            path=path,
        ) from None


def _plugin_keys(data: bytes, path: str) -> dict[str, bytes]:
    """Parse keyring_file: a version, entries of five sizes and four texts, and their SHA-256."""
    start = len(_PLUGIN_HEADER) + len(_PLUGIN_VERSIONS[0])
    version = data[len(_PLUGIN_HEADER) : start]
    if version not in _PLUGIN_VERSIONS:
        raise EncryptedError(
            f"expected a keyring file of version 1.0 or 2.0, found version {ascii(version)[1:]}", path=path
        )
    digest_size = 0 if version == _PLUGIN_VERSIONS[0] else hashlib.sha256().digest_size
    end = len(data) - digest_size - len(_PLUGIN_END)
    damaged = EncryptedError("the keyring file is damaged; copy it again from the server", path=path)
    if end < start or data[end : end + len(_PLUGIN_END)] != _PLUGIN_END:
        raise damaged
    entries, digest = data[start:end], data[end + len(_PLUGIN_END) :]
    if digest_size and not hmac.compare_digest(hashlib.sha256(entries).digest(), digest):
        raise damaged
    keys = {}
    position = 0
    while position < len(entries):
        try:
            size, *sizes = _ENTRY.unpack_from(entries, position)
        except error:
            raise damaged from None
        if size < _ENTRY.size + sum(sizes) or size > len(entries) - position or size % _ALIGNMENT:
            raise damaged
        texts = []
        offset = position + _ENTRY.size
        for length in sizes:
            texts.append(entries[offset : offset + length])
            offset += length
        name, _, _, hidden = texts
        keys[name.decode("utf-8", "backslashreplace")] = bytes(
            byte ^ _OBFUSCATION[index % len(_OBFUSCATION)] for index, byte in enumerate(hidden)
        )
        position += size
    return keys


def _key(data: bytes, origin: str) -> bytes:
    if len(data) == KEY_BYTES:
        return data
    try:
        key = bytes.fromhex(data.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise UsageError(
            f"expected a key of {KEY_BYTES} bytes, in {2 * KEY_BYTES} hex digits or as they are,"
            f" found {len(data)} bytes of something else",
            path=origin,
        )
    return key


def _contents(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LARGEST_FILE)
    except OSError as problem:
        raise SourceError(f"cannot be opened: {problem.strerror}", path=path) from problem
