"""Compressed logs, and logs that their server encrypted."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binx.errors import (
    BinxError,
    DamagedError,
    EncryptedError,
    NotABinlogError,
    SourceError,
    TruncatedError,
    UsageError,
)
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.source import open_source, opening, spool
from binx.source.byte_source import CHUNK_BYTES, Source
from binx.source.keyring import ReplicationKeys, given_keys, read_keyring
from testdata import encrypted
from tests.conftest import CORPUS

MAGIC = b"\xfebin"
LOG = MAGIC + random.Random(7).randbytes(3 * CHUNK_BYTES // 2) + bytes(6 * CHUNK_BYTES) + b"end"


def one_frame(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def without_size(data: bytes) -> bytes:
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return stream.compress(data) + stream.flush()


def halves(compress: Callable[[bytes], bytes], data: bytes) -> bytes:
    middle = len(data) // 3
    return compress(data[:middle]) + compress(data[middle:])


SKIPPABLE = b"\x50\x2a\x4d\x18\x03\0\0\0abc"

FORMS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": one_frame,
    "zstd without its size": without_size,
    "zstd of two frames": lambda data: halves(one_frame, data),
    "zstd of frames without their size": lambda data: halves(without_size, data),
    "zstd with frames to skip": lambda data: SKIPPABLE + one_frame(data) + SKIPPABLE,
    "zstd with an empty frame": lambda data: one_frame(b"") + one_frame(data) + one_frame(b""),
    "gzip": gzip.compress,
    "gzip of two members": lambda data: halves(gzip.compress, data),
    "gzip with an empty member": lambda data: gzip.compress(b"") + gzip.compress(data),
    "gzip padded with zeros": lambda data: gzip.compress(data) + bytes(50),
}


def opened(data: bytes, folder: Path, name: str = "mysql-bin.000007.zst") -> Source:
    (folder / name).write_bytes(data)
    return open_source(str(folder / name))


@pytest.fixture(params=FORMS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return opened(FORMS[request.param](LOG), tmp_path)


def test_any_span_in_any_order_is_that_of_the_log(source: Source) -> None:
    assert source.size == len(LOG)
    numbers = random.Random(3)
    assert bytes(source.window(len(LOG) - 3, len(LOG) + 5)) == b"end"
    for _ in range(40):
        start = numbers.randrange(len(LOG))
        stop = start + numbers.choice([1, 19, 1000, CHUNK_BYTES, 2 * CHUNK_BYTES + 5])
        assert bytes(source.window(start, stop)) == LOG[start:stop]
    assert source.window(0, 4).readonly
    assert bytes(source.window(len(LOG), len(LOG) + 1)) == b""


@pytest.mark.parametrize("suffix", [".zst", ".gz", ""])
def test_the_log_s_name_is_without_the_suffix(tmp_path: Path, suffix: str) -> None:
    source = opened(one_frame(LOG), tmp_path, "mysql-bin.000007" + suffix)
    assert source.name == "mysql-bin.000007"
    assert source.path == str(tmp_path / ("mysql-bin.000007" + suffix))


def test_a_plain_log_keeps_its_name_whatever_it_is(tmp_path: Path) -> None:
    (tmp_path / "mysql-bin.000007.zst").write_bytes(LOG)
    assert open_source(str(tmp_path / "mysql-bin.000007.zst")).name == "mysql-bin.000007.zst"


def test_compressed_standard_input_is_decompressed(tmp_path: Path) -> None:
    source = opening.decompressed(spool(io.BytesIO(gzip.compress(LOG))))
    assert (source.path, source.name, source.size) == ("-", "stdin", len(LOG))
    assert bytes(source.window(0, source.size)) == LOG


@pytest.mark.parametrize("form", FORMS)
def test_something_else_inside_is_no_binary_log(form: str, tmp_path: Path) -> None:
    for content in (b"", b"\xfe", b"SELECT 1;" * 1000, gzip.compress(LOG)):
        with pytest.raises(NotABinlogError, match=r"inside the (zstd|gzip) file"):
            opened(FORMS[form](content), tmp_path)


def whole(data: bytes, folder: Path) -> bytes:
    source = opened(data, folder)
    return bytes(source.window(0, source.size))


def outcome(data: bytes, folder: Path) -> tuple[bytes, BinxError | None]:
    try:
        return whole(data, folder), None
    except BinxError as error:
        return b"", error


SHORT = MAGIC + random.Random(1).randbytes(300) + bytes(200)


@pytest.mark.parametrize("form", FORMS)
def test_cut_anywhere_it_is_refused_with_its_place(form: str, tmp_path: Path) -> None:
    data = FORMS[form](SHORT)
    for size in range(4, len(data)):
        read, error = outcome(data[:size], tmp_path)
        if error is None:
            # Whole frames or members, or padding, are a whole file.
            assert SHORT.startswith(read)
            assert form not in ("zstd", "gzip", "zstd without its size")
        else:
            assert error.path is not None
            assert error.offset is not None


@pytest.mark.parametrize("form", ["zstd", "zstd of frames without their size", "gzip"])
def test_a_flipped_bit_anywhere_gives_an_error_or_the_right_bytes(form: str, tmp_path: Path) -> None:
    data = FORMS[form](SHORT)
    refused = 0
    for at in range(4, len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        try:
            assert whole(bytes(flipped), tmp_path) == SHORT
        except BinxError:
            refused += 1
    assert refused > len(data) * 9 // 10


def test_damage_names_the_frame_it_is_in(tmp_path: Path) -> None:
    first, second = one_frame(LOG[:1000]), one_frame(LOG[1000:3000])
    damaged = bytearray(first + second)
    damaged[len(first) + 500] ^= 1
    source = opened(bytes(damaged), tmp_path)
    assert bytes(source.window(0, 1000)) == LOG[:1000]
    with pytest.raises(DamagedError, match="zstd frame") as caught:
        source.window(1000, 1001)
    assert caught.value.offset == len(first)
    assert bytes(source.window(5, 10)) == LOG[5:10]


def seek_table(*sizes: tuple[int, int]) -> bytes:
    entries = b"".join(struct.pack("<II", *size) for size in sizes)
    footer = struct.pack("<IBI", len(sizes), 0, 0x8F92EAB1)
    return struct.pack("<II", 0x184D2A5E, len(entries) + len(footer)) + entries + footer


@pytest.mark.parametrize("wrong", [-1, 1, 2**31])
def test_a_frame_that_holds_another_number_of_bytes_than_the_table_says_is_damaged(
    wrong: int, tmp_path: Path
) -> None:
    first, second = one_frame(SHORT), one_frame(SHORT)
    table = seek_table((len(first), len(SHORT)), (len(second), len(SHORT) + wrong))
    source = opened(first + second + table, tmp_path)
    assert source.size == 2 * len(SHORT) + wrong
    assert bytes(source.window(0, len(SHORT))) == SHORT
    with pytest.raises(DamagedError, match="bytes from this frame") as caught:
        source.window(len(SHORT), source.size)
    assert caught.value.offset == len(first)


def test_a_table_that_does_not_fit_its_file_is_not_believed(tmp_path: Path) -> None:
    frame = one_frame(SHORT)
    source = opened(frame + frame + seek_table((len(frame), len(SHORT))), tmp_path)
    assert bytes(source.window(0, source.size)) == SHORT + SHORT


@pytest.mark.parametrize("form", ["zstd", "zstd without its size", "gzip"])
def test_a_bomb_is_read_in_bounded_memory(form: str, tmp_path: Path) -> None:
    log = MAGIC + bytes(150 * 1024 * 1024)
    data = FORMS[form](log)
    del log
    assert len(data) < 200_000
    tracemalloc.start()
    source = opened(data, tmp_path)
    for start in range(0, source.size, CHUNK_BYTES):
        source.window(start, start + CHUNK_BYTES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.size == 150 * 1024 * 1024 + 4
    assert peak < 100 * 1024 * 1024
    source.close()


def test_a_frame_that_needs_much_memory_is_refused_with_a_way_out(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=29, write_content_size=0)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    with pytest.raises(SourceError, match="--long=31"):
        opened(stream.compress(LOG) + stream.flush(), tmp_path)


@example(cuts=[1, 2, 3], spans=[(0, 4)])
@given(
    cuts=st.lists(st.integers(0, 2000), max_size=8),
    spans=st.lists(st.tuples(st.integers(0, 2100), st.integers(0, 2100)), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_frames_of_any_sizes_give_the_log(
    cuts: list[int], spans: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = LOG[:2000]
    edges = [0, *sorted(cuts), len(log)]
    parts = [log[first:last] for first, last in pairwise(edges)]
    source = opened(b"".join(map(one_frame, parts)), tmp_path_factory.mktemp("frames"))
    for start, stop in spans:
        assert bytes(source.window(start, stop)) == log[start:stop]
    source.close()


def test_what_the_programs_write_is_read(tmp_path: Path) -> None:
    (tmp_path / "mysql-bin.000007").write_bytes(LOG)
    for command in (["zstd", "-q", "-19"], ["zstd", "-q", "--no-check"], ["gzip", "-k", "-f"]):
        try:
            subprocess.run([*command, "-f", "mysql-bin.000007"], cwd=tmp_path, check=True)
        except FileNotFoundError:
            pytest.skip(f"{command[0]} is not installed")
        suffix = ".gz" if command[0] == "gzip" else ".zst"
        source = open_source(str(tmp_path / f"mysql-bin.000007{suffix}"))
        assert bytes(source.window(0, source.size)) == LOG


def test_a_cut_file_is_distinguished_from_a_damaged_one(tmp_path: Path) -> None:
    for form in ("zstd", "gzip"):
        with pytest.raises(TruncatedError, match="was truncated"):
            whole(FORMS[form](SHORT)[:-6], tmp_path)


KEYRINGS = [encrypted.FOLDER / name for name in (encrypted.KEYRING_BEFORE, encrypted.KEYRING)]
KEYRING = KEYRINGS[0]
ENCRYPTED_LOG = encrypted.FOLDER / encrypted.LOGS[0]
LOGS = [encrypted.FOLDER / name for name in encrypted.LOGS]
PLUGIN_KEYRING = CORPUS.parent / "corpus/keyrings/rpl_nogtid_encryption_keyring_master"


def keys() -> ReplicationKeys:
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
            open_source(str(log), ReplicationKeys(single=key_of(other), origin="somewhere"))


def test_a_compressed_encrypted_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / f"{ENCRYPTED_LOG.name}.gz"
    path.write_bytes(gzip.compress(ENCRYPTED_LOG.read_bytes()))
    source = open_source(str(path), keys())
    assert source.name == ENCRYPTED_LOG.name
    assert bytes(source.window(0, 4)) == b"\xfebin"


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key = key_of(ENCRYPTED_LOG)
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
            open_source(str(ENCRYPTED_LOG)).close()


def test_without_a_key_the_message_names_it_and_the_ways_out() -> None:
    with pytest.raises(EncryptedError) as caught:
        BinlogFile.open(str(ENCRYPTED_LOG))
    for part in ("MySQLReplicationKey_", "--keyring", "--key-file", "BINX_KEY", "--read-from-remote-server"):
        assert part in str(caught.value)
    assert caught.value.path == str(ENCRYPTED_LOG)


def test_a_keyring_without_the_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "keyring").write_bytes(plugin_keyring({"another": bytes(32)}))
    with pytest.raises(EncryptedError, match=r"it is not in .*keyring;"):
        open_source(str(ENCRYPTED_LOG), given_keys([str(tmp_path / "keyring")]))


@pytest.mark.parametrize("version", [b"1.0", b"2.0"])
def test_the_plugin_s_keyring_is_read(version: bytes, tmp_path: Path) -> None:
    entries = {"one": bytes(range(32)), "two": b"short", "": b""}
    (tmp_path / "keyring").write_bytes(plugin_keyring(entries, version))
    assert read_keyring(str(tmp_path / "keyring")) == entries


def test_a_log_and_a_keyring_of_a_server_of_2018_are_read(corpus: Path) -> None:
    file = BinlogFile.open(str(corpus / "unreadable-8e1454.binlog"), given_keys([str(PLUGIN_KEYRING)]))
    assert file.format.server_version.startswith("8.0")
    assert sum(len(table) for table in Scan(file)) == 3


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
    shown = repr(keys()) + repr(ReplicationKeys(single=b"k" * 32))
    assert "kkk" not in shown
    assert all(
        repr(key)[2:10] not in shown and key.hex() not in shown for key in read_keyring(str(KEYRING)).values()
    )


def test_every_damage_to_the_header_is_reported(tmp_path: Path) -> None:
    data, path = ENCRYPTED_LOG.read_bytes(), tmp_path / "mysql-bin.000001"
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


def test_a_header_of_a_later_version_is_reported(tmp_path: Path) -> None:
    data, path = bytearray(ENCRYPTED_LOG.read_bytes()), tmp_path / "mysql-bin.000001"
    data[4] = 2
    path.write_bytes(data)
    with pytest.raises(EncryptedError, match="version 1, found version 2"):
        open_source(str(path), keys())


def test_without_the_package_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(EncryptedError, match=r"pip install 'binx-binlog\[encryption\]'"):
        open_source(str(ENCRYPTED_LOG), keys())


def test_a_copy_from_before_a_rotation_needs_the_keyring_from_before() -> None:
    open_source(str(LOGS[0]), given_keys([str(KEYRINGS[0])])).close()
    open_source(str(LOGS[1]), given_keys([str(KEYRINGS[1])])).close()
    with pytest.raises(EncryptedError, match="it is not in"):
        open_source(str(LOGS[0]), given_keys([str(KEYRINGS[1])]))


def test_keyrings_in_the_environment_are_separated_as_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINX_KEYRING", os.pathsep.join(map(str, KEYRINGS)))
    for log in LOGS:
        open_source(str(log)).close()
