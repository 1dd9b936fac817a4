"""The page on statistics names all that there is."""

from __future__ import annotations

import inspect
import re

from binx.stats import findings
from binx.stats.dimensions import MEASURES, Dimension
from binx.stats.gather import gather
from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "statistics.md").read_text("utf-8")


def first_cells(title: str) -> list[str]:
    """The names in the first column of the table of a part of the page."""
    (part,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_every_name_of_the_json_is_explained() -> None:
    assert sorted(first_cells("As JSON")) == sorted(gather([]))


def test_every_warning_is_explained() -> None:
    codes = re.findall(r'yield (?:\(\s*)?"(\w+)"', inspect.getsource(findings))
    assert sorted(first_cells("Warnings")) == sorted(codes)


def test_every_dimension_and_sum_is_explained() -> None:
    assert sorted(first_cells("Broken down")) == sorted(one.value for one in Dimension)
    for one in Dimension:
        assert all(f"`{column}`" in PAGE for column in one.columns)
    assert all(f"`{measure}`" in PAGE for measure in MEASURES)
