"""What binx needs has a lowest version, which ``make lowest`` tests, and an upper bound."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

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


def test_sources_without_compiled_modules_say_so(tmp_path: Path) -> None:
    """As in the folder of a checkout, which Python prefers to the installed package."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(PROJECT / "binx", tmp_path / "binx", ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-c", "import binx; binx.open('x')"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: expected compiled modules in {tmp_path}/binx/kernels, found binx's")
