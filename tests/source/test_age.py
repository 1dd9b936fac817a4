"""Files that others encrypted with age: read from any place on, and any change of them met."""

from __future__ import annotations

import gzip
import random
import sys
from pathlib import Path

import pytest

from binx.errors import BinxError, DamagedError, EncryptedError, TruncatedError
from binx.log.file import BinlogFile
from binx.log.inputs import expand_paths
from binx.source import open_source
from binx.source.age import PIECE_BYTES, AgeFile
from binx.source.age_header import Stanza, encode_base64, encode_header
from binx.source.age_keys import Identities, given_identities
from binx.source.keyring import given_keys
from testdata import encrypted as encrypted_logs
from tests.conftest import TESTDATA
from tests.log.memory import Bytes
from tests.source.ages import (
    decrypted,
    encrypted,
    everything,
    make_key,
    new_identity,
    opened,
    rage,
    recipient_of,
)

LOG = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001"


class TestReading:
    @pytest.mark.parametrize(
        "size",
        [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES - 1, 3 * PIECE_BYTES, 200_000],
    )
    def test_sizes_around_that_of_a_piece(self, size: int, key: Path) -> None:
        data = random.Random(size).randbytes(size)
        source = opened(encrypted(data, recipient_of(key)), key)
        assert (source.size, everything(source)) == (size, data)

    def test_windows_anywhere(self, key: Path) -> None:
        data = random.Random(1).randbytes(5 * PIECE_BYTES + 77)
        source = opened(encrypted(data, recipient_of(key)), key)
        places = random.Random(2)
        for _ in range(200):
            start = places.randrange(len(data))
            stop = start + places.randrange(1, 2 * PIECE_BYTES)
            assert source.window(start, stop) == data[start:stop]

    def test_only_the_pieces_that_are_wanted_are_read(self, key: Path) -> None:
        data = bytes(100 * PIECE_BYTES)
        stored = Watched(encrypted(data, recipient_of(key)))
        source = AgeFile(stored, given_identities([str(key)]))
        stored.asked.clear()
        source.window(50 * PIECE_BYTES - 10, 50 * PIECE_BYTES + 10)
        assert sum(stop - start for start, stop in stored.asked) == 2 * (PIECE_BYTES + 16)

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

    def test_stanzas_of_kinds_that_nobody_knows_are_passed_over(self) -> None:
        identities, recipient = new_identity()
        file_key = bytes(range(16))
        stanzas = [Stanza(("grease", "x"), b"y" * 100), Stanza(("x25519",), b""), recipient.wrap(file_key)]
        found = Bytes(sealed(file_key, stanzas, b"secret"))
        assert everything(AgeFile(found, identities)) == b"secret"


class Watched(Bytes):
    """A source that remembers what was asked for."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.asked: list[tuple[int, int]] = []

    def window(self, start: int, stop: int) -> memoryview:
        found = super().window(start, stop)
        self.asked.append((start, start + len(found)))
        return found


def sealed(file_key: bytes, stanzas: list[Stanza], content: bytes) -> bytes:
    """A small age file with any header."""
    from binx.source.age import payload_cipher, piece_nonce

    nonce = bytes(16)
    piece = payload_cipher(file_key, nonce).encrypt(piece_nonce(0, is_last=True), content, None)
    return encode_header(stanzas, file_key) + nonce + piece


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
                assert sum(len(table) for table in file.scan()) == 374

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

    def test_each_cut_is_met_when_the_file_is_opened(self, key: Path) -> None:
        data = encrypted(b"content of a log", recipient_of(key))
        for size in range(len(data)):
            with pytest.raises(DamagedError):
                opened(data[:size], key)
            with pytest.raises(DamagedError):
                opened(data + data[: size + 1], key)

    def test_a_cut_between_pieces_is_met(self, key: Path) -> None:
        data = encrypted(bytes(3 * PIECE_BYTES), recipient_of(key))
        begin = len(data) - 3 * (PIECE_BYTES + 16)
        for pieces in range(3):
            with pytest.raises(TruncatedError, match="was truncated"):
                opened(data[: begin + pieces * (PIECE_BYTES + 16)], key)

    def test_pieces_in_another_order_are_met_when_they_are_read(self, key: Path) -> None:
        data = encrypted(bytes(3 * PIECE_BYTES), recipient_of(key))
        stored = PIECE_BYTES + 16
        begin = len(data) - 3 * stored
        first, second, third = (data[begin + n * stored : begin + (n + 1) * stored] for n in range(3))
        source = opened(data[:begin] + second + first + third, key, name="log.age")
        with pytest.raises(DamagedError, match="piece 0 of the age file") as caught:
            source.window(0, 1)
        assert (caught.value.path, caught.value.offset) == ("log.age", begin)
        assert source.window(2 * PIECE_BYTES, 2 * PIECE_BYTES + 5) == bytes(5)

    def test_an_empty_piece_behind_others_is_met(self) -> None:
        """The only way in which the same bytes could be written twice."""
        from binx.source.age import payload_cipher, piece_nonce

        identities, recipient = new_identity()
        file_key, nonce = bytes(16), bytes(16)
        cipher = payload_cipher(file_key, nonce)
        pieces = [
            cipher.encrypt(piece_nonce(number, is_last=is_last), content, None)
            for number, is_last, content in ((0, False, bytes(PIECE_BYTES)), (1, True, b""))
        ]
        header = encode_header([recipient.wrap(file_key)], file_key)
        with pytest.raises(DamagedError, match="piece 1 of the age file"):
            AgeFile(Bytes(header + nonce + b"".join(pieces)), identities)

    @pytest.mark.parametrize(
        ("arguments", "body"),
        [
            ((), 32),
            (("QUFB",), 32),
            ((encode_base64(bytes(range(31))).decode(),), 32),
            ((encode_base64(bytes(range(33))).decode(),), 32),
            ((encode_base64(bytes(range(32))).decode() + "=",), 32),
            ((encode_base64(bytes(range(32))).decode(), "more"), 32),
            ((encode_base64(bytes(range(32))).decode(),), 31),
            ((encode_base64(bytes(range(32))).decode(),), 33),
            ((encode_base64(bytes(32)).decode(),), 32),
        ],
    )
    def test_a_stanza_that_is_not_as_it_must_be_is_refused(
        self, arguments: tuple[str, ...], body: int
    ) -> None:
        """Also beside one that fits, so that two programs never read one file as two."""
        identities, recipient = new_identity()
        file_key = bytes(16)
        stanzas = [Stanza(("X25519", *arguments), bytes(body)), recipient.wrap(file_key)]
        with pytest.raises(DamagedError, match="expected an X25519 recipient"):
            AgeFile(Bytes(sealed(file_key, stanzas, b"")), identities)

    def test_a_file_key_of_another_length_is_refused(self) -> None:
        """A body of 32 bytes holds one of 16; nothing else is decrypted."""
        identities, recipient = new_identity()
        assert recipient.wrap(bytes(16)).body != recipient.wrap(bytes(16)).body
        with pytest.raises(DamagedError, match="expected an X25519 recipient"):
            AgeFile(Bytes(sealed(bytes(16), [recipient.wrap(bytes(17))], b"")), identities)

    def test_a_header_of_another_file_is_met(self, key: Path) -> None:
        """A stanza that is added by whoever does not know the file key."""
        _, recipient = new_identity()
        data = encrypted(b"secret", recipient_of(key))
        end = data.index(b"\n---")
        added = encode_header([recipient.wrap(bytes(16))], bytes(16))
        stanza = added[added.index(b"\n->") : added.index(b"\n---")]
        with pytest.raises(DamagedError, match="the header of the age file"):
            opened(data[:end] + stanza + data[end:], key)


class TestMessages:
    def test_without_an_identity_it_says_how_to_give_one(self, key: Path, tmp_path: Path) -> None:
        path = tmp_path / "mysql-bin.000001.age"
        path.write_bytes(encrypted(LOG.read_bytes(), recipient_of(key)))
        with pytest.raises(EncryptedError) as caught:
            BinlogFile.open(str(path))
        for part in (str(path), "with age to 1 recipient", "no identity", "--identity FILE", "BINX_IDENTITY"):
            assert part in str(caught.value)

    def test_an_identity_that_does_not_fit_is_named_by_its_file(self, key: Path, tmp_path: Path) -> None:
        other, _ = make_key(tmp_path, "other")
        with pytest.raises(EncryptedError, match=f"the key is not in {other}"):
            opened(encrypted(b"x", recipient_of(key), recipient_of(key)), other)

    def test_a_passphrase_is_not_taken(self, key: Path) -> None:
        data = rage().passphrase.encrypt(b"x", "words")
        with pytest.raises(EncryptedError, match="with a passphrase"):
            opened(bytes(data), key)

    def test_an_ssh_key_is_not_taken(self, key: Path) -> None:
        pyrage = rage()
        public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN alice@rust"
        data = pyrage.encrypt(b"x", [pyrage.ssh.Recipient.from_str(public)])
        with pytest.raises(EncryptedError, match="including ssh-ed25519"):
            opened(bytes(data), key)

    def test_armor_is_not_taken(self, key: Path, tmp_path: Path) -> None:
        pyrage = rage()
        recipient = pyrage.x25519.Recipient.from_str(recipient_of(key))
        path = tmp_path / "mysql-bin.000001.age"
        path.write_bytes(bytes(pyrage.encrypt(LOG.read_bytes(), [recipient], armored=True)))
        with pytest.raises(EncryptedError, match="--armor"):
            open_source(str(path), given_keys(identities=[str(key)]))

    def test_without_the_package_it_says_how_to_install_it(
        self, key: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = encrypted(b"x", recipient_of(key))
        for module in ("asymmetric.x25519", "ciphers.aead", "kdf.hkdf"):
            with monkeypatch.context() as patch:
                patch.setitem(sys.modules, f"cryptography.hazmat.primitives.{module}", None)
                with pytest.raises(EncryptedError, match=r"pip install 'binx\[encryption\]'"):
                    opened(data, key)


def test_rage_reads_it_back_too(key: Path) -> None:
    """The helpers of these tests agree with each other."""
    assert decrypted(encrypted(b"x", recipient_of(key)), key) == b"x"


def test_no_identities_open_nothing(key: Path) -> None:
    with pytest.raises(BinxError, match="binx was given no identity"):
        AgeFile(Bytes(encrypted(b"x", recipient_of(key))), Identities())
