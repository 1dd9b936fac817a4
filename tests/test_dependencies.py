"""What binx needs has a lowest version, which ``make lowest`` tests, and an upper bound."""

from __future__ import annotations

import pytest

from tests.conftest import PROJECT
from tests.lowest import pins


def test_each_has_both_bounds() -> None:
    found = dict(pin.split("==") for pin in pins((PROJECT / "pyproject.toml").read_text("utf-8")))
    assert found.keys() >= {"click", "pyarrow", "rich", "sqlglot", "zstandard", "cryptography"}


@pytest.mark.parametrize("requirement", ["click>=8.1", "click<9", "click"])
def test_one_without_a_bound_is_refused(requirement: str) -> None:
    extras = "{ encryption = [], pull = [] }"
    text = f'[project]\ndependencies = ["{requirement}"]\noptional-dependencies = {extras}\n'
    with pytest.raises(ValueError, match="a lower and an upper bound"):
        list(pins(text))
