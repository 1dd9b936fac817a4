"""Keys of encrypted logs stand in nothing that binx says or writes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyrage
import pytest

from binx.source.keyring import read_keyring
from binx.storage.age import AgeWriter
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.source.ages import EXAMPLE_RECIPIENT
from tests.source.test_encrypted import key_of

FOLDER = TESTDATA / "mysql-9.7" / "encrypted"
KEYRING = FOLDER / "keyring.json"
LOG = FOLDER / "mysql-bin.000003"
COMMANDS = [
    ["ls", "--json"],
    ["stats", "--json"],
    ["verify", "--json"],
    ["show", "--hex"],
    ["events"],
    ["to-parquet", "-o", "lake"],
    ["index", "-o", "indexes"],
    ["extract", "-o", "out"],
]


def secrets() -> list[bytes]:
    """The keys, as bytes, as hexadecimal digits and as Python shows them."""
    # What has other sizes are numbers of keys, which are no secret.
    keys = [key for key in read_keyring(str(KEYRING)).values() if len(key) == 32]
    assert keys
    return [
        form
        for key in keys
        for form in (key, key.hex().encode(), key.hex().upper().encode(), repr(key)[2:-1].encode())
    ]


@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_key_is_said_or_written(command: list[str], damaged: bool, tmp_path: Path) -> None:
    log = tmp_path / LOG.name
    data = bytearray(LOG.read_bytes())
    if damaged:
        data[len(data) // 2] ^= 1
    log.write_bytes(data)
    ended = binx(*command, "--keyring", KEYRING, log, cwd=tmp_path, env={"BINX_TRACEBACK": "1"})
    assert ended.code in ((1, 3) if damaged else (0,)), ended.err
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != log]
    for text in (ended.out.encode(), ended.err.encode(), *written):
        assert not any(secret in text for secret in secrets())


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_identity_is_said_or_written(command: list[str], fits: bool, tmp_path: Path) -> None:
    log, key = tmp_path / "mysql-bin.000001.age", tmp_path / "key.txt"
    stream = io.BytesIO()
    identity = pyrage.x25519.Identity.generate()
    key.write_text(str(identity))
    writer = AgeWriter(stream, [str(identity.to_public()) if fits else EXAMPLE_RECIPIENT])
    writer.write((TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog").read_bytes())
    writer.finish()
    log.write_bytes(stream.getvalue())
    ended = binx(*command, "--identity", key, log, cwd=tmp_path, env={"BINX_TRACEBACK": "1"})
    assert ended.code in ((0,) if fits else (1, 3)), ended.err
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != key]
    for text in (ended.out.encode(), ended.err.encode(), *written):
        assert str(identity).encode() not in text


def test_a_key_of_another_log_is_not_said(tmp_path: Path) -> None:
    document = json.loads(KEYRING.read_text("utf-8"))
    for element in document["elements"]:
        element["data"] = "5a" * (len(element["data"]) // 2)
    (tmp_path / "keyring").write_text(json.dumps(document))
    ended = binx("ls", "--keyring", tmp_path / "keyring", LOG, env={"BINX_TRACEBACK": "1"})
    assert ended.code == 1
    assert "5a5a" not in (ended.out + ended.err).lower()
    assert "ZZZZ" not in (ended.out + ended.err)


@pytest.mark.parametrize("option", ["keyring", "key-file"])
def test_keys_may_be_set_for_all_commands_in_the_file_of_defaults(option: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(key_of(LOG).hex())
    config = tmp_path / "config.toml"
    config.write_text(f'{option} = "{KEYRING if option == "keyring" else tmp_path / "key"}"\n')
    ended = binx("ls", LOG, env={"BINX_CONFIG": str(config)})
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines


def test_an_index_file_that_is_not_encrypted_as_its_log_is_is_told(tmp_path: Path) -> None:
    """An index in the clear beside an encrypted log tells GTIDs, times and names of tables."""
    plain = TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog"
    written = binx("index", "--keyring", KEYRING, "-o", tmp_path, LOG, plain)
    assert written.code == 0
    assert "GTIDs, times and table names of 1 encrypted log" in written.err
    runs: list[list[str | Path]] = [["--keyring", KEYRING, LOG], ["--force", plain]]
    for arguments in runs:
        assert binx("index", "-o", tmp_path, *arguments).err == ""
    assert binx("index", "--quiet", "--force", "--keyring", KEYRING, "-o", tmp_path, LOG).err == ""
