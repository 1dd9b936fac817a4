"""Every file of the corpus of foreign binary logs is read whole, or refused with a message that says why."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.corpus.formats import PAGE, page
from tests.corpus.observing import READ, UNCHECKED, Observation, load_observations, observe

OBSERVATIONS = load_observations()

THEIR_NAMES = {
    "PRE_GA_WRITE_ROWS": "WRITE_ROWS_V0",
    "PRE_GA_UPDATE_ROWS": "UPDATE_ROWS_V0",
    "PRE_GA_DELETE_ROWS": "DELETE_ROWS_V0",
    "WRITE_ROWS_V2": "WRITE_ROWS",
    "UPDATE_ROWS_V2": "UPDATE_ROWS",
    "DELETE_ROWS_V2": "DELETE_ROWS",
    "MARIA_GTID": "MARIADB_GTID",
    "MARIA_GTID_LIST": "MARIADB_GTID_LIST",
    "BINLOG_CHECKPOINT": "MARIADB_BINLOG_CHECKPOINT",
}
"""What the catalogue calls event types otherwise."""


def of_file(one: Observation) -> str:
    return one.file


def counts(text: str) -> Counter[str]:
    """``QUERY:2,XID:1`` as counts."""
    pairs = (part.rsplit(":", 1) for part in text.split(",") if part)
    return Counter({THEIR_NAMES.get(name, name): int(count) for name, count in pairs})


@pytest.fixture(scope="module")
def catalogue(corpus: Path) -> dict[str, dict[str, str]]:
    """What others say of each file."""
    with (corpus.parent / "catalogue.tsv").open(encoding="utf-8", newline="") as lines:
        return {row["file"]: row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}


@pytest.mark.parametrize("expected", OBSERVATIONS, ids=of_file)
def test_a_file_is_read_or_refused(corpus: Path, expected: Observation) -> None:
    found = observe(corpus / expected.file)
    assert expected.message in found.message
    assert bool(expected.message) == bool(found.message)
    assert replace(found, message="") == replace(expected, message="")


@pytest.mark.parametrize(
    "expected", [one for one in OBSERVATIONS if one.outcome in (READ, UNCHECKED)], ids=of_file
)
def test_the_catalogue_counts_the_same_events(
    catalogue: dict[str, dict[str, str]], expected: Observation
) -> None:
    theirs = catalogue[expected.file]
    assert counts(expected.events) == counts(theirs["event_types"])
    assert expected.server == theirs["server_version"]


def test_there_is_a_line_for_every_file(corpus: Path) -> None:
    assert [one.file for one in OBSERVATIONS] == sorted(path.name for path in corpus.iterdir())


def test_nearly_all_are_read() -> None:
    outcomes = Counter(one.outcome for one in OBSERVATIONS)
    assert outcomes == {
        "read": 86,
        "read with --no-checksums": 5,
        "read with --keyring": 1,
        "stopped": 5,
        "refused": 10,
    }


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/formats.md is stale: run `make formats`"
