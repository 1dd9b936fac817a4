"""Files encrypted with age, and the keys that open them."""

from __future__ import annotations

import base64
import gzip
import os
import random
import resource
import signal
import sys
from pathlib import Path

import pytest

from binx.errors import BinxError, DamagedError, EncryptedError, SourceError, UsageError
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import expand_paths
from binx.log.scan import Scan
from binx.source import open_source, plain
from binx.source.age import AgeFile, Identities, given_identities, parse_recipient, read_recipients
from binx.source.keyring import given_keys
from testdata import encrypted as encrypted_logs
from tests.conftest import TESTDATA
from tests.log.searching import Bytes
from tests.source.ages import (
    EXAMPLE_IDENTITY,
    EXAMPLE_RECIPIENT,
    decrypted,
    encrypted,
    everything,
    make_key,
    opened,
    rage,
    recipient_of,
)

LOG = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001"
PIECE_BYTES = 64 * 1024


class TestReading:
    @pytest.mark.parametrize("size", [1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 200_000])
    def test_sizes_around_that_of_a_piece(self, size: int, key: Path) -> None:
        data = random.Random(size).randbytes(size)
        source = opened(encrypted(data, recipient_of(key)), key)
        assert (source.size, everything(source)) == (size, data)

    def test_each_recipient_opens_it(self, tmp_path: Path) -> None:
        keys = [make_key(tmp_path, f"key{number}") for number in range(3)]
        data = encrypted(b"secret", *(recipient for _, recipient in keys))
        for path, _ in keys:
            assert everything(opened(data, path)) == b"secret"

    def test_of_several_identities_one_has_to_fit(self, key: Path, tmp_path: Path) -> None:
        other, _ = make_key(tmp_path, "other")
        both = tmp_path / "both"
        both.write_text(other.read_text() + "\n  \n" + key.read_text())
        assert everything(opened(encrypted(b"secret", recipient_of(key)), both)) == b"secret"

    def test_of_many_files_few_stand_in_the_temporary_folder(
        self, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(plain, "MOST_COPIES", 2)
        files = [opened(encrypted(bytes([n]) * 100, recipient_of(key)), key) for n in range(5)]
        for _ in range(2):
            for number, file in enumerate(files):
                assert everything(file) == bytes([number]) * 100
                assert len(plain._copies) == 2
        for file in files:
            file.close()
        assert not plain._copies


class TestLogs:
    def test_a_log_is_read_in_place(self, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data = LOG.read_bytes()
        monkeypatch.setenv("BINX_IDENTITY", str(key))
        for name, content in (
            ("mysql-bin.000001.age", data),
            ("mysql-bin.000001.gz.age", gzip.compress(data)),
        ):
            path = tmp_path / name
            path.write_bytes(encrypted(content, recipient_of(key)))
            with BinlogFile.open(str(path)) as file:
                assert (file.name, file.file_number, file.path) == ("mysql-bin.000001", 1, str(path))
                assert everything(file.source) == data
                assert sum(len(table) for table in Scan(file)) == 374

    def test_one_that_its_server_encrypted_too_needs_both_keys(self, key: Path, tmp_path: Path) -> None:
        folder = encrypted_logs.FOLDER
        path = tmp_path / "mysql-bin.000001.age"
        path.write_bytes(encrypted((folder / encrypted_logs.LOGS[0]).read_bytes(), recipient_of(key)))
        keys = given_keys([str(folder / encrypted_logs.KEYRING_BEFORE)], identities=[str(key)])
        with BinlogFile.open(str(path), keys) as file:
            assert everything(file.source) == (folder / "decrypted" / encrypted_logs.LOGS[0]).read_bytes()
        with pytest.raises(EncryptedError, match="encrypted by MySQL"):
            BinlogFile.open(str(path), given_keys(identities=[str(key)]))

    def test_they_are_found_in_a_folder_by_their_first_bytes(self, key: Path, tmp_path: Path) -> None:
        folder = tmp_path / "logs"
        folder.mkdir()
        for name in (
            "mysql-bin.000001.zst.age",
            "mysql-bin.000002.age",
            "notes.age",
            "mysql-bin.000001.binx.age",
        ):
            (folder / name).write_bytes(encrypted(b"x", recipient_of(key)))
        found = [Path(path).name for path in expand_paths([str(folder)])]
        assert found == ["mysql-bin.000001.zst.age", "mysql-bin.000002.age"]
        by_pattern = [Path(path).name for path in expand_paths([str(folder / "mysql-bin.*")])]
        assert by_pattern == found


class TestDamage:
    def test_each_changed_byte_is_met(self, key: Path) -> None:
        data = encrypted(b"content of a log", recipient_of(key))
        for at in range(len(data)):
            for bit in (1, 0x80):
                changed = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
                with pytest.raises((DamagedError, EncryptedError)):
                    opened(changed, key)

    def test_each_cut_is_met(self, key: Path) -> None:
        data = encrypted(b"content of a log", recipient_of(key))
        for size in range(len(data)):
            with pytest.raises(DamagedError):
                opened(data[:size], key)

    def test_a_cut_between_pieces_is_met(self, key: Path) -> None:
        data = encrypted(bytes(3 * PIECE_BYTES), recipient_of(key))
        begin = len(data) - 3 * (PIECE_BYTES + 16)
        for pieces in range(3):
            with pytest.raises(DamagedError, match="cut or has been changed"):
                opened(data[: begin + pieces * (PIECE_BYTES + 16)], key)

    def test_what_cannot_be_read_is_reported_as_it_is(self, key: Path) -> None:
        class Failing(Bytes):
            def window(self, start: int, stop: int) -> memoryview:
                raise SourceError("the disk is gone", path="log.age")

        with pytest.raises(SourceError, match="the disk is gone"):
            AgeFile(Failing(b"x" * 100), given_identities([str(key)]))

    def test_a_full_folder_for_temporary_files_is_reported(self, key: Path) -> None:
        data = encrypted(bytes(2_000_000), recipient_of(key))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(SourceError, match="set TMPDIR"):
                opened(data, key)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)


class TestMessages:
    def test_without_an_identity_it_says_how_to_give_one(self, key: Path, tmp_path: Path) -> None:
        path = tmp_path / "mysql-bin.000001.age"
        path.write_bytes(encrypted(LOG.read_bytes(), recipient_of(key)))
        with pytest.raises(EncryptedError) as caught:
            BinlogFile.open(str(path))
        for part in (str(path), "encrypted with age", "no identity", "--identity FILE", "BINX_IDENTITY"):
            assert part in str(caught.value)

    def test_an_identity_that_does_not_fit_is_named_by_its_file(self, key: Path, tmp_path: Path) -> None:
        other, _ = make_key(tmp_path, "other")
        with pytest.raises(EncryptedError, match=f"the key is not in {other}"):
            opened(encrypted(b"x", recipient_of(key), recipient_of(key)), other)

    def test_passphrases_and_other_kinds_of_keys_are_left_to_age(self, key: Path) -> None:
        pyrage = rage()
        public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN alice@rust"
        for data in (
            pyrage.passphrase.encrypt(b"x", "words"),
            pyrage.encrypt(b"x", [pyrage.ssh.Recipient.from_str(public)]),
        ):
            with pytest.raises(EncryptedError, match="other kinds of keys, and passphrases: age -d"):
                opened(bytes(data), key)

    def test_armor_is_not_taken(self, key: Path, tmp_path: Path) -> None:
        pyrage = rage()
        recipient = pyrage.x25519.Recipient.from_str(recipient_of(key))
        path = tmp_path / "mysql-bin.000001.age"
        lines = base64.encodebytes(bytes(pyrage.encrypt(b"x", [recipient]))).decode()
        path.write_text(f"-----BEGIN AGE ENCRYPTED FILE-----\n{lines}-----END AGE ENCRYPTED FILE-----\n")
        with pytest.raises(EncryptedError, match="--armor"):
            open_source(str(path), given_keys(identities=[str(key)]))

    def test_without_the_package_it_says_how_to_install_it(
        self, key: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = encrypted(b"x", recipient_of(key))
        identities = given_identities([str(key)])
        monkeypatch.setitem(sys.modules, "pyrage", None)
        with pytest.raises(EncryptedError, match=r"pip install 'binx-binlog\[encryption\]'"):
            AgeFile(Bytes(data), identities)


def test_rage_reads_it_back_too(key: Path) -> None:
    """The helpers of these tests agree with each other."""
    assert decrypted(encrypted(b"x", recipient_of(key)), key) == b"x"


def test_no_identities_open_nothing(key: Path) -> None:
    with pytest.raises(BinxError, match="binx was given no identity"):
        AgeFile(Bytes(encrypted(b"x", recipient_of(key))), Identities())


def test_identities_come_from_the_environment_too(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = make_key(tmp_path, "other")
    monkeypatch.setenv("BINX_IDENTITY", f"{other}{os.pathsep}{key}")
    assert len(given_identities().keys) == 2
    assert given_identities([str(key)]).origin == str(key)


def test_nothing_shows_a_secret(key: Path) -> None:
    identities = given_identities([str(key)])
    (identity,) = identities.keys
    assert identity in key.read_text()
    assert identity not in repr(identities)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="absent"):
        given_identities([str(tmp_path / "absent")])
    with pytest.raises(SourceError, match="absent"):
        read_recipients(str(tmp_path / "absent"))


def test_recipients_are_read_as_age_does(tmp_path: Path) -> None:
    lines = tmp_path / "recipients"
    lines.write_text(f"# backup\n\n{EXAMPLE_RECIPIENT}\r\n  {EXAMPLE_RECIPIENT}\n")
    assert read_recipients(str(lines)) == [EXAMPLE_RECIPIENT] * 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello nobody", "another or an invalid key"),
        (EXAMPLE_RECIPIENT[:-1] + "q", "another or an invalid key"),
        (EXAMPLE_IDENTITY, "a secret key; age-keygen -y"),
        (EXAMPLE_IDENTITY.lower(), "a secret key; age-keygen -y"),
        ("age1pq1" + "q" * 1959, "another or an invalid key"),
        ("age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t", "another"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "another or an invalid key"),
    ],
)
def test_other_kinds_are_refused_and_not_shown(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_recipient(text)
    assert text not in str(caught.value)
    file = tmp_path / "keys"
    file.write_text(f"# first line\n{text}\n")
    for read in (read_recipients, lambda path: given_identities([path])):
        if text.upper() != EXAMPLE_IDENTITY:
            with pytest.raises(UsageError, match="line 2: ") as caught:
                read(str(file))
            assert text not in str(caught.value)


def test_a_file_without_keys_is_reported(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# nothing\n\n")
    for read in (read_recipients, lambda path: given_identities([path])):
        with pytest.raises(UsageError, match="found none"):
            read(str(tmp_path / "keys"))
