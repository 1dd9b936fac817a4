"""The page on the architecture says what is: its rooms are the layers, its stations are files."""

from __future__ import annotations

import re

import pytest

from tests.conftest import PROJECT
from tests.decisions import classes, modules
from tests.test_layers import LAYERS

PAGE = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")}
WAYS = [title for title in SECTIONS if title.startswith("The way of")]


def test_the_rooms_are_the_layers_from_the_ground_up() -> None:
    rooms = [
        name.removesuffix(".py").rstrip("/") for name in re.findall(r"^\| `([\w./]+)` \|", PAGE, re.MULTILINE)
    ]
    listed = [room for room in rooms if room in LAYERS]
    assert listed == list(LAYERS)


@pytest.mark.parametrize("way", WAYS)
def test_a_way_has_at_most_eight_stations_and_each_is_there(way: str) -> None:
    stations = re.findall(r"^\d+\. (.*)$", SECTIONS[way], re.MULTILINE)
    assert 0 < len(stations) <= 8
    for station in stations:
        paths = re.findall(r"`(binx/[\w/]+\.\w+)`", station)
        assert paths, station
        for path in paths:
            assert (PROJECT / path).is_file(), path


def test_there_are_three_ways() -> None:
    assert len(WAYS) == 3


def test_what_is_large_is_there() -> None:
    (section,) = (part for title, part in SECTIONS.items() if title.startswith("What stays"))
    for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        for path in re.findall(r"`([\w/.]+)`", row):
            assert (PROJECT / "binx" / path).exists(), path


def test_no_class_name_stands_for_two_things() -> None:
    assert classes(modules()) == {}
