"""Each fuzzing target takes its seeds, cut and changed at places, and whatever was once found with it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import DOCUMENTED, TARGETS, tried

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
