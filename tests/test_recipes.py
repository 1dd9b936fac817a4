"""What the recipes show beside commands: manifests, programs and the arguments in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.cli.process import binx
from tests.conftest import PROJECT

RECIPES = sorted(PROJECT.glob("docs/recipes/*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(page.read_text("utf-8")) if name == language]


def test_the_list_of_recipes_names_each() -> None:
    listed = (PROJECT / "docs" / "recipes" / "README.md").read_text("utf-8")
    assert [page.name for page in RECIPES if f"]({page.name})" not in listed] == ["README.md"]


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: str(page.name))
def test_yaml_and_python_of_a_recipe_can_be_parsed(page: Path) -> None:
    for text in blocks(page, "yaml"):
        assert yaml.safe_load(text)
    for text in blocks(page, "python"):
        compile(text, page.name, "exec")


def test_the_containers_give_binx_options_that_it_has(tmp_path: Path) -> None:
    (manifest,) = blocks(PROJECT / "docs" / "recipes" / "kubernetes.md", "yaml")
    pod = yaml.safe_load(manifest)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    for container in (*pod["initContainers"], *pod["containers"]):
        ended = binx(*[argument.replace("s3:/", str(tmp_path)) for argument in container["args"]])
        assert ended.code == 1, "the folders of the containers are not here"
        assert "no such option" not in ended.err
        assert "Usage" not in ended.err
