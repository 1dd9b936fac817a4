"""Every command on files that are cut or have a flipped bit: an error that can be told, or the right answer.

Some places are tried of each file; ``BINX_EVERY_BIT=1`` tries all, ``BINX_EVERY_BIT=9`` every ninth bit.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from binx.cli.run import run
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from tests.archive.places import SHOP
from tests.conftest import TESTDATA
from tests.source.ages import EXAMPLE_IDENTITY, EXAMPLE_RECIPIENT

STRIDE = int(os.environ.get("BINX_EVERY_BIT", "0"))
"""From one bit that is flipped to the next; 0 for some bits of a file."""

PLACES = 6
"""How many bits are flipped of a file then, and at how many bytes it is cut."""

MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
ENCRYPTED = MYSQL / "encrypted"

COMMANDS = {
    "ls": ["ls", "LOG"],
    "show": ["show", "LOG"],
    "events": ["events", "--json", "LOG"],
    "stats": ["stats", "--json", "--by", "table", "LOG"],
    "verify": ["verify", "--json", "LOG"],
    "why": ["why", "--table", "%.%", "--pk", "1", "LOG"],
    "diff": ["diff", "LOG", "WHOLE"],
    "index": ["index", "-o", "OUT", "LOG"],
    "binlog": ["extract", "-o", "OUT/slice", "LOG"],
    "sql": ["extract", "--format", "sql", "-o", "OUT/slice", "LOG"],
    "undo": ["extract", "--format", "sql", "--reverse", "-o", "OUT/slice", "LOG"],
    "json": ["extract", "--format", "json", "--rows", "-o", "OUT/slice", "LOG"],
    "thl": ["extract", "--format", "thl", "-o", "OUT/slice", "LOG"],
    "salvage": ["extract", "--on-damage", "salvage", "-o", "OUT/slice", "LOG"],
    "to-parquet": ["to-parquet", "-o", "OUT/lake", "LOG"],
    "to-parquet, salvage": ["to-parquet", "--on-damage", "salvage", "-o", "OUT/lake", "LOG"],
    "archive": ["archive", "--on-damage", "keep", "FOLDER", "--to", "OUT/archive", "--parquet", "OUT/lake"],
}


class Answer(NamedTuple):
    """What a command did: its exit code, what it printed, and what it wrote."""

    code: int
    out: str
    files: dict[str, bytes]


class Asked:
    """Runs commands in this process, in a folder of their own."""

    def __init__(self, folder: Path, captured: Callable[[], tuple[str, str]]) -> None:
        self._folder = folder
        self._captured = captured

    def __call__(self, arguments: list[str], **places: Path) -> Answer:
        """Run a command; upper-case words of its arguments stand for places."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        words = {"OUT": self._folder, **places}
        given = [
            "/".join([str(words.get(head, head)), *rest])
            for head, *rest in (one.split("/") for one in arguments)
        ]
        self._captured()
        code = run(given)
        out, err = self._captured()
        assert code in (0, 1, 3, 4), (given, code, err)
        assert "bug in binx" not in err, (given, err)
        assert not list(self._folder.rglob(".binx-*")), given
        assert code != 1 or "error" in err, (given, err)
        files = {
            str(path.relative_to(self._folder)): path.read_bytes()
            for path in sorted(self._folder.rglob("*"))
            if path.is_file() and path.name != "_lock"
        }
        return Answer(code, out, files)


@pytest.fixture
def ask(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Asked]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    environment = dict(os.environ)
    yield Asked(tmp_path / "out", lambda: (captured := capfd.readouterr()) and (captured.out, captured.err))
    for number, handler in handlers.items():
        signal.signal(number, handler)
    os.environ.clear()
    os.environ.update(environment)


def is_told(answer: Answer) -> bool:
    """Whether a listing of events has one that is damaged, or a log is left to later as it seems to go on."""
    return '"checksum": "bad"' in answer.out or "0 archived, 1 may still be written" in answer.out


def some(many: int, stride: int) -> range:
    """Places among so many, spread over all of them."""
    return range(0, many, stride or max(1, many // PLACES) | 1)


def flipped(data: bytes) -> Iterator[bytes]:
    """The same with one bit flipped, for some bits."""
    for bit in some(len(data) * 8, STRIDE):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def cut(data: bytes) -> Iterator[bytes]:
    """The beginning of it, cut at some bytes."""
    for size in some(len(data), (STRIDE + 7) // 8):
        yield data[:size]


def copy(log: Path, folder: Path) -> Path:
    """A log under a name that a server gives, in a folder of its own."""
    folder.mkdir()
    return Path(shutil.copy(log, folder / "mysql-bin.000001"))


def whole_ends(log: Path) -> set[int]:
    """Where a log can end and nobody sees that anything is missing."""
    with BinlogFile.open(str(log)) as file:
        spans = [
            (table.value("start", index), table.value("end", index))
            for table in Scan(file)
            for index in range(len(table))
        ]
    return {place for span in spans for place in span} | {file.first_position}


LOGS = [
    MYSQL / "small" / "tagged_gtids.binlog",
    MYSQL / "small" / "compressed.binlog",
    MARIADB / "small" / "savepoints.binlog",
]
"""With checksums: what a flipped bit changes is met, or it is in what nobody reads."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_flipped_bit_in_a_log_is_met_or_changes_no_answer(
    log: Path, command: str, ask: Asked, tmp_path: Path
) -> None:
    whole, damaged = copy(log, tmp_path / "whole"), copy(log, tmp_path / "damaged")
    arguments = COMMANDS[command]
    expected = ask(arguments, LOG=whole, WHOLE=whole, FOLDER=whole.parent)
    for data in flipped(log.read_bytes()):
        damaged.write_bytes(data)
        answer = ask(arguments, LOG=damaged, WHOLE=whole, FOLDER=damaged.parent)
        if answer.code == 0 and not is_told(answer):
            assert answer.out.replace(str(damaged), str(whole)) == expected.out
            assert sorted(answer.files) == sorted(expected.files)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_log_that_is_cut_is_reported_or_ends_with_a_whole_transaction(
    log: Path, command: str, ask: Asked, tmp_path: Path
) -> None:
    whole, damaged = copy(log, tmp_path / "whole"), copy(log, tmp_path / "damaged")
    ends = whole_ends(log)
    for data in cut(log.read_bytes()):
        damaged.write_bytes(data)
        answer = ask(COMMANDS[command], LOG=damaged, WHOLE=whole, FOLDER=damaged.parent)
        # A log that goes on is left to a later run of archive.
        if answer.code == 0 and command != "archive":
            assert len(data) in ends, len(data)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("shop", [MYSQL, MARIADB], ids=lambda shop: shop.name)
def test_a_log_without_checksums_gives_an_answer_or_an_error(
    shop: Path, command: str, ask: Asked, tmp_path: Path
) -> None:
    log = shop / "small" / "no_checksum.binlog"
    whole, damaged = copy(log, tmp_path / "whole"), copy(log, tmp_path / "damaged")
    for change in (flipped, cut):
        for data in change(log.read_bytes()):
            damaged.write_bytes(data)
            ask(COMMANDS[command], LOG=damaged, WHOLE=whole, FOLDER=damaged.parent)


READING = [
    ["ls", "LOG"],
    ["ls", "--no-index", "LOG"],
    ["extract", "--format", "json", "-o", "OUT/slice", "LOG"],
    ["stats", "--quick", "--json", "LOG"],
]


@pytest.mark.parametrize("change", [flipped, cut])
def test_a_damaged_index_file_changes_no_answer(
    change: Callable[[bytes], Iterator[bytes]], ask: Asked, tmp_path: Path
) -> None:
    """What is read is that of the index file, or of the log itself."""
    log = copy(LOGS[0], tmp_path / "log")
    without = [ask(arguments, LOG=log) for arguments in READING]
    assert run(["index", "--quiet", str(log)]) == 0
    index = log.with_name(f"{log.name}.binx")
    known = [ask(arguments, LOG=log) for arguments in READING]
    for data in change(index.read_bytes()):
        index.write_bytes(data)
        for arguments, one, other in zip(READING, without, known, strict=True):
            assert ask(arguments, LOG=log) in (one, other)


@pytest.fixture
def encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of one log that is encrypted, to be read with the standard's example."""
    source, identity = tmp_path / "source", tmp_path / "key.txt"
    source.mkdir()
    shutil.copy(SHOP / "mysql-bin.000005", source)
    identity.write_text(EXAMPLE_IDENTITY)
    monkeypatch.setenv("BINX_IDENTITY", str(identity))
    place = tmp_path / "archive"
    arguments = ["archive", "--quiet", str(source), "--to", str(place), "--encrypt-to", EXAMPLE_RECIPIENT]
    assert run(arguments) == 0
    return place


@pytest.mark.parametrize("change", [flipped, cut])
def test_a_damaged_object_of_an_encrypted_archive_is_met_or_changes_no_answer(
    change: Callable[[bytes], Iterator[bytes]], ask: Asked, encrypted: Path
) -> None:
    """Of a damaged index nothing is used: the log tells the same, more slowly."""
    (log,) = encrypted.glob("*.zst.age")
    (index,) = encrypted.glob("*.binx.age")
    restore = ["archive", "--restore", "mysql-bin.000005", "--to", "ARCHIVE", "-o", "OUT/log"]
    commands = [["ls", "LOG"], ["extract", "-o", "OUT/slice", "LOG"], restore]
    known = [ask(arguments, LOG=log, ARCHIVE=encrypted) for arguments in commands]
    for damaged in (log, index):
        original = damaged.read_bytes()
        for data in change(original):
            damaged.write_bytes(data)
            assert ask(["archive", "--check", "--to", "ARCHIVE"], ARCHIVE=encrypted).code in (3, 4)
            for arguments, expected in zip(commands, known, strict=True):
                answer = ask(arguments, LOG=log, ARCHIVE=encrypted)
                if damaged == index:
                    assert (answer.code, answer.out, answer.files) == expected
                elif answer.code == 0:
                    assert answer == expected
                else:
                    assert answer.files == {}, arguments
        damaged.write_bytes(original)


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """An archive of one log and its tables."""
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(SHOP / "mysql-bin.000005", source)
    place, lake = tmp_path / "archive", tmp_path / "lake"
    assert run(["archive", "--quiet", str(source), "--to", str(place), "--parquet", str(lake)]) == 0
    return place


@pytest.mark.parametrize("change", [flipped, cut])
def test_a_damaged_object_of_an_archive_is_met_or_changes_no_answer(
    change: Callable[[bytes], Iterator[bytes]], ask: Asked, archived: Path
) -> None:
    (log,) = archived.glob("*.zst")
    commands = [
        *READING,
        ["verify", "LOG"],
        ["archive", "--restore", "mysql-bin.000005", "--to", "ARCHIVE", "-o", "OUT/log"],
        ["archive", "--since", "2020-01-01", "--to", "ARCHIVE", "-o", "OUT/log"],
    ]
    known = [ask(arguments, LOG=log, ARCHIVE=archived) for arguments in commands]
    for data in change(log.read_bytes()):
        log.write_bytes(data)
        assert ask(["archive", "--check", "--to", "ARCHIVE"], ARCHIVE=archived).code in (3, 4)
        for arguments, expected in zip(commands, known, strict=True):
            answer = ask(arguments, LOG=log, ARCHIVE=archived)
            assert answer == expected if answer.code == 0 else answer.files == {}, arguments


@pytest.mark.parametrize("change", [flipped, cut])
def test_a_damaged_manifest_is_reported_or_gives_what_was_archived(
    change: Callable[[bytes], Iterator[bytes]], ask: Asked, archived: Path
) -> None:
    (manifest,) = archived.glob("_manifest/*")
    whole = (SHOP / "mysql-bin.000005").read_bytes()
    restore = ["archive", "--restore", "mysql-bin.000005", "--to", "ARCHIVE", "-o", "OUT/log"]
    original = manifest.read_bytes()
    for data in change(original):
        manifest.write_bytes(data)
        ask(["archive", "--check", "--to", "ARCHIVE"], ARCHIVE=archived)
        answer = ask(restore, ARCHIVE=archived)
        assert answer.files == ({"log": whole} if answer.code == 0 else {})


@pytest.mark.parametrize("change", [flipped, cut])
def test_a_damaged_manifest_of_a_data_set_is_reported_or_the_data_set_written_again(
    change: Callable[[bytes], Iterator[bytes]], ask: Asked, archived: Path
) -> None:
    lake = archived.parent / "lake"
    (manifest,) = lake.glob("_manifest/*")
    for data in change(manifest.read_bytes()):
        manifest.write_bytes(data)
        ask(["to-parquet", "LOG", "-o", "LAKE"], LOG=SHOP / "mysql-bin.000005", LAKE=lake)


@pytest.mark.parametrize("change", [flipped, cut])
def test_a_damaged_keyring_is_reported_or_gives_what_was_encrypted(
    change: Callable[[bytes], Iterator[bytes]], ask: Asked, tmp_path: Path
) -> None:
    keyring, log = tmp_path / "keyring", ENCRYPTED / "mysql-bin.000003"
    original = (ENCRYPTED / "keyring.json").read_bytes()
    keyring.write_bytes(original)
    arguments = ["extract", "--format", "json", "--keyring", "KEYRING", "-o", "OUT/slice", "LOG"]
    expected = ask(arguments, KEYRING=keyring, LOG=log)
    assert expected.code == 0
    for data in change(original):
        keyring.write_bytes(data)
        answer = ask(arguments, KEYRING=keyring, LOG=log)
        assert answer == expected if answer.code == 0 else answer.files == {}
