"""The committed test data is complete, small, and of one piece with the recipe and with itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from testdata.small import split_sections
from tests.conftest import TESTDATA

SERVERS = ("mysql-9.7", "mariadb-10.11")
RECIPES = sorted(TESTDATA.glob("*/small/*.sql"))
FIVE_MEGABYTES = 5_000_000


def name_of(path: Path) -> str:
    return str(path.relative_to(TESTDATA))


def test_all_of_it_is_smaller_than_five_megabytes() -> None:
    folders = [TESTDATA / server for server in SERVERS]
    sizes = [path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert sum(sizes) < FIVE_MEGABYTES


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_each_recipe_says_its_purpose_and_has_its_log_listing_and_rows(recipe: Path) -> None:
    text = recipe.read_text()
    assert text.splitlines()[0].endswith(".")
    assert split_sections(text)["log"].strip()
    assert all(recipe.with_suffix(suffix).exists() for suffix in (".binlog", ".txt", ".expected.json"))


@pytest.mark.parametrize("server", SERVERS)
def test_each_small_log_has_its_recipe(server: str) -> None:
    folder = TESTDATA / server / "small"
    recipes = {recipe.stem for recipe in folder.glob("*.sql")}
    for pattern in ("*.binlog", "*.txt", "*.expected.json"):
        assert {path.name.split(".")[0] for path in folder.glob(pattern)} == recipes


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_the_readme_lists_each_recipe(recipe: Path) -> None:
    assert f"`{recipe.stem}`" in (TESTDATA / "README.md").read_text()
