"""Logs that MySQL encrypted: read with the server's keys, held against what the server itself decrypts."""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import sys
from pathlib import Path

import pytest

from binx.errors import BinxError, EncryptedError, SourceError, TruncatedError, UsageError
from binx.log.file import BinlogFile
from binx.source import open_source
from binx.source.keyring import Keys, given_keys, read_keyring
from testdata import encrypted
from tests.conftest import CORPUS

KEYRINGS = [encrypted.FOLDER / name for name in (encrypted.KEYRING_BEFORE, encrypted.KEYRING)]
KEYRING = KEYRINGS[0]
LOG = encrypted.FOLDER / encrypted.LOGS[0]
LOGS = [encrypted.FOLDER / name for name in encrypted.LOGS]
PLUGIN_KEYRING = CORPUS.parent / "corpus/keyrings/rpl_nogtid_encryption_keyring_master"


def keys() -> Keys:
    return given_keys(list(map(str, KEYRINGS)))


def key_of(log: Path) -> bytes:
    name = log.read_bytes()[7 : 7 + log.read_bytes()[6]].decode()
    return {**read_keyring(str(KEYRINGS[0])), **read_keyring(str(KEYRINGS[1]))}[name]


def plugin_keyring(entries: dict[str, bytes], version: bytes = b"2.0") -> bytes:
    """A file of the keyring_file plugin."""
    mask = b"*305=Ljt0*!@$Hnm(*-9-w;:"
    body = b""
    for name, key in entries.items():
        hidden = bytes(byte ^ mask[index % len(mask)] for index, byte in enumerate(key))
        texts = [name.encode(), b"AES", b"user", hidden]
        size = 40 + sum(map(len, texts))
        padding = -size % 8
        sizes = [size + padding, *map(len, texts)]
        body += b"".join(number.to_bytes(8, "little") for number in sizes) + b"".join(texts) + bytes(padding)
    digest = hashlib.sha256(body).digest() if version == b"2.0" else b""
    return b"Keyring file version:" + version + body + b"EOF" + digest


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_a_log_is_what_its_server_decrypts(log: Path) -> None:
    expected = (encrypted.FOLDER / "decrypted" / log.name).read_bytes()
    source = open_source(str(log), keys())
    assert (source.name, source.size) == (log.name, len(expected))
    assert bytes(source.window(0, source.size)) == expected
    numbers = random.Random(5)
    for _ in range(100):
        start = numbers.randrange(len(expected))
        stop = start + numbers.choice([1, 15, 16, 17, 300])
        assert bytes(source.window(start, stop)) == expected[start:stop]


def test_logs_before_and_after_a_rotation_need_different_keys() -> None:
    assert key_of(LOGS[0]) != key_of(LOGS[1])
    for log, other in (LOGS, LOGS[::-1]):
        with pytest.raises(EncryptedError, match="is not the one the file was encrypted with"):
            open_source(str(log), Keys(single=key_of(other), origin="somewhere"))


def test_a_compressed_encrypted_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / f"{LOG.name}.gz"
    path.write_bytes(gzip.compress(LOG.read_bytes()))
    source = open_source(str(path), keys())
    assert source.name == LOG.name
    assert bytes(source.window(0, 4)) == b"\xfebin"


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key = key_of(LOG)
    (tmp_path / "hex").write_text(key.hex() + "\n")
    (tmp_path / "raw").write_bytes(key)
    for name, value in (
        ("BINX_KEYRING", KEYRING),
        ("BINX_KEY_FILE", tmp_path / "hex"),
        ("BINX_KEY_FILE", tmp_path / "raw"),
        ("BINX_KEY", key.hex().upper()),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, str(value))
            open_source(str(LOG)).close()


def test_without_a_key_the_message_names_it_and_the_ways_out() -> None:
    with pytest.raises(EncryptedError) as caught:
        BinlogFile.open(str(LOG))
    for part in ("MySQLReplicationKey_", "--keyring", "--key-file", "BINX_KEY", "--read-from-remote-server"):
        assert part in str(caught.value)
    assert caught.value.path == str(LOG)


def test_a_keyring_without_the_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "keyring").write_bytes(plugin_keyring({"another": bytes(32)}))
    with pytest.raises(EncryptedError, match=r"it is not in .*keyring;"):
        open_source(str(LOG), given_keys([str(tmp_path / "keyring")]))


@pytest.mark.parametrize("version", [b"1.0", b"2.0"])
def test_the_plugin_s_keyring_is_read(version: bytes, tmp_path: Path) -> None:
    entries = {"one": bytes(range(32)), "two": b"short", "": b""}
    (tmp_path / "keyring").write_bytes(plugin_keyring(entries, version))
    assert read_keyring(str(tmp_path / "keyring")) == entries


def test_a_log_and_a_keyring_of_a_server_of_2018_are_read(corpus: Path) -> None:
    file = BinlogFile.open(str(corpus / "unreadable-8e1454.binlog"), given_keys([str(PLUGIN_KEYRING)]))
    assert file.format.server_version.startswith("8.0")
    assert sum(len(table) for table in file.scan()) == 3


def test_every_flipped_bit_and_every_cut_of_the_plugin_s_keyring_is_met(tmp_path: Path) -> None:
    data = plugin_keyring({"one": bytes(range(32)), "two": b"short"})
    path = tmp_path / "keyring"
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        with pytest.raises(EncryptedError):
            read_keyring(str(path))
        path.write_bytes(data[:at])
        with pytest.raises(EncryptedError):
            read_keyring(str(path))


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "null",
        '{"elements": 5}',
        '{"elements": [{"data_id": "k"}]}',
        '{"elements": [{"data_id": "k", "data": "secret!"}]}',
        '{"elements": [{"data_id": "k", "data": 5}]}',
        "[" * 100_000,
        "\x00\xff",
    ],
)
def test_another_file_is_no_keyring_and_is_not_shown(text: str, tmp_path: Path) -> None:
    (tmp_path / "keyring").write_text(text)
    with pytest.raises(EncryptedError, match="found neither") as caught:
        read_keyring(str(tmp_path / "keyring"))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_absent_keyring_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="absent"):
        given_keys([str(tmp_path / "absent")])


@pytest.mark.parametrize("key", ["", "ab", "zz" * 32, "ab" * 33])
def test_a_key_of_another_form_is_refused_and_not_shown(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(key)
    with pytest.raises(UsageError) as caught:
        given_keys(key_file=str(tmp_path / "key"))
    assert not key or key not in str(caught.value)
    if key:
        monkeypatch.setenv("BINX_KEY", key)
        with pytest.raises(UsageError):
            given_keys()


def test_keys_are_not_shown() -> None:
    shown = repr(keys()) + repr(Keys(single=b"k" * 32))
    assert "kkk" not in shown
    assert all(
        repr(key)[2:10] not in shown and key.hex() not in shown for key in read_keyring(str(KEYRING)).values()
    )


def test_every_damage_to_the_header_is_told(tmp_path: Path) -> None:
    data, path = LOG.read_bytes(), tmp_path / "mysql-bin.000001"
    end = data.index(bytes(100))
    for at in range(4, end):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(EncryptedError):
            open_source(str(path), keys())
    for size in range(4, 516):
        path.write_bytes(data[:size])
        with pytest.raises(BinxError):
            BinlogFile.open(str(path), keys())
    path.write_bytes(data[:300])
    with pytest.raises(TruncatedError, match="header of 512 bytes, found 300"):
        open_source(str(path), keys())


def test_a_header_of_a_later_version_is_told(tmp_path: Path) -> None:
    data, path = bytearray(LOG.read_bytes()), tmp_path / "mysql-bin.000001"
    data[4] = 2
    path.write_bytes(data)
    with pytest.raises(EncryptedError, match="version 1, found version 2"):
        open_source(str(path), keys())


def test_without_the_package_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(EncryptedError, match=r"pip install 'binx\[encryption\]'"):
        open_source(str(LOG), keys())


def test_a_copy_from_before_a_rotation_needs_the_keyring_from_before() -> None:
    open_source(str(LOGS[0]), given_keys([str(KEYRINGS[0])])).close()
    open_source(str(LOGS[1]), given_keys([str(KEYRINGS[1])])).close()
    with pytest.raises(EncryptedError, match="it is not in"):
        open_source(str(LOGS[0]), given_keys([str(KEYRINGS[1])]))


def test_keyrings_in_the_environment_are_separated_as_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINX_KEYRING", os.pathsep.join(map(str, KEYRINGS)))
    for log in LOGS:
        open_source(str(log)).close()
