"""The fuzzer's targets and its changes to logs, each tried for a moment."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from binx.event.header import EventType
from binx.kernels.walk.scan import Level
from binx.source.magic import ZSTD_MAGIC
from tests.conftest import PROJECT, TESTDATA
from tests.fuzz.mutating import changed_log, split
from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import DOCUMENTED, TARGETS, tried
from tests.log.searching import read

FOUND = Path(__file__).parent / "found"
SEEDS_TRIED = 12


def changed(seed: bytes, dice: random.Random) -> Iterator[bytes]:
    """The seed, cut, and with a byte changed."""
    yield seed
    if seed:
        yield seed[: dice.randrange(len(seed))]
        other = bytearray(seed)
        other[dice.randrange(len(seed))] = dice.randrange(256)
        yield bytes(other)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_raises_only_what_is_documented(name: str) -> None:
    dice = random.Random(name)
    seeds = [seed for seed in SEEDS[name]() if len(seed) < 16 * 1024]
    for seed in dice.sample(seeds, min(SEEDS_TRIED, len(seeds))):
        for data in changed(seed, dice):
            tried(TARGETS[name], data)


@pytest.mark.parametrize(
    "path", sorted(FOUND.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_what_was_found_once_is_dealt_with(path: Path) -> None:
    tried(TARGETS[path.parent.name], path.read_bytes())


@pytest.mark.parametrize("name", ["ddl", "gtid_text", "manifest", "where", "archive_manifest", "keyring"])
@pytest.mark.parametrize(
    "opening", ["[", "(", '{"a":', "/*!", "NOT ", "a=(", "`", "\\x00" * 4, "CREATE TABLE t (a "]
)
def test_a_thousandfold_nesting_is_dealt_with(name: str, opening: str) -> None:
    tried(TARGETS[name], opening.encode() * 3_000)


def test_make_runs_them_all() -> None:
    text = (PROJECT / "Makefile").read_text("utf-8")
    found = re.search(r"^FUZZ_TARGETS \?= ((?:.*\\\n)*.*)", text, re.MULTILINE)
    assert found
    assert set(found[1].replace("\\", "").split()) == set(TARGETS)


def is_read(name: str, seed: bytes) -> bool:
    try:
        TARGETS[name](seed)
    except DOCUMENTED:
        return False
    return True


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_has_seeds_that_it_reads_to_the_end(name: str) -> None:
    assert any(is_read(name, seed) for seed in SEEDS[name]())


SMALL = TESTDATA / "mysql-9.7" / "small"
MOST = 1 << 20
TRIED = 60


def other_bytes(data: bytes, most: int) -> bytes:
    """A byte more or another one, in the middle."""
    middle = len(data) // 2
    return (data[:middle] + b"\x07" + data[middle + len(data) % 2 :])[:most]


def altered(name: str) -> list[bytes]:
    data = (SMALL / f"{name}.binlog").read_bytes()
    return [changed_log(data, MOST, seed, other_bytes) for seed in range(TRIED)]


@pytest.mark.parametrize("name", ["all_types", "compressed", "tagged_gtids", "no_checksum"])
def test_most_changed_logs_have_whole_events(name: str) -> None:
    data = (SMALL / f"{name}.binlog").read_bytes()
    logs = altered(name)
    assert sum(log != data for log in logs) > TRIED * 0.9
    assert sum(split(log)[1] == b"" for log in logs) > TRIED * 0.7


def test_transactions_are_as_long_as_their_gtid_events_say() -> None:
    """Both ways of finding them agree in many logs where a transaction has another size than before."""
    sizes = split((SMALL / "all_types.binlog").read_bytes())[0]
    agreed = 0
    for log in altered("all_types"):
        if list(map(len, split(log)[0])) == list(map(len, sizes)):
            continue
        walked, jumped = (read(log, level, verify=False) for level in (Level.LEVEL_EVENTS, Level.LEVEL_INDEX))
        places = [[one[:2] for one in reading.transactions] for reading in (walked, jumped)]
        agreed += walked.error is None and jumped.error is None and places[0] == places[1]
    assert agreed > TRIED * 0.2


def test_events_within_compressed_ones_are_changed() -> None:
    """Most compressed events still decompress, many to other events than before."""

    def inner(log: bytes) -> list[bytes]:
        payloads = (event for event in split(log)[0] if event[4] == EventType.TRANSACTION_PAYLOAD)
        found = []
        for event in payloads:
            with suppress(ValueError, zstandard.ZstdError):
                stream = event[event.index(ZSTD_MAGIC) :]
                found.append(zstandard.ZstdDecompressor().decompressobj().decompress(stream))
        return found

    known = set(inner((SMALL / "compressed.binlog").read_bytes()))
    found = {plain for log in altered("compressed") for plain in inner(log)} - known
    assert len(found) > 3
    assert sum(split(plain, 0)[1] == b"" for plain in found) > len(found) * 0.7
