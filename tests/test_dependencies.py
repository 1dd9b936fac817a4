"""What binx needs has a lowest version, which ``make lowest`` tests, and an upper bound."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from binx.version import DISTRIBUTION
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


@pytest.mark.parametrize("lacking", ["*.so", "scan.*.so"])
def test_sources_without_compiled_modules_say_so(lacking: str, tmp_path: Path) -> None:
    """As in the folder of a checkout, which Python prefers to the installed package, or one that is newer."""
    shutil.copytree(
        PROJECT / "binx", tmp_path / "binx", ignore=shutil.ignore_patterns(lacking, "__pycache__")
    )
    said = f"expected a compiled module beside {tmp_path}/binx/kernels/"
    for words, beginning in (
        (["-c", "import binx; binx.open('x')"], f"ImportError: {said}"),
        (["-m", "binx", "ls", "x"], f"binx: error: {said}"),
    ):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith(beginning)


HINT = re.compile(r"pip install[^`\n]*?'?(binx[-\w]*)\[([\w,]+)\]")
CALLED = re.compile(r"install_command\('(\w+)'\)")


def hints() -> set[str]:
    """What pages and messages say that pip installs."""
    pages = [PROJECT / "README.md", *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("man/text/*.md")]
    found = {
        f"{name}[{extra}]"
        for page in pages
        for name, extras in HINT.findall(page.read_text("utf-8"))
        for extra in extras.split(",")
    }
    sources = [path.read_text("utf-8") for path in (PROJECT / "binx").rglob("*.py")]
    return found | {f"{DISTRIBUTION}[{extra}]" for text in sources for extra in CALLED.findall(text)}


def test_pip_installs_what_pages_and_messages_say(tmp_path: Path) -> None:
    """From a wheel with binx's name and extras, and nothing else."""
    installed = distribution(DISTRIBUTION)
    wheel = tmp_path / f"{DISTRIBUTION.replace('-', '_')}-{installed.version}-py3-none-any.whl"
    info = f"{DISTRIBUTION.replace('-', '_')}-{installed.version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{info}/METADATA", str(installed.metadata))
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    wanted = sorted(hints() | {f"{DISTRIBUTION}[all]"})
    assert len(wanted) > 6
    command = [
        "install",
        "--dry-run",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        "--find-links",
        str(tmp_path),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *command, *wanted], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "does not provide the extra" not in done.stderr


def test_all_has_every_extra() -> None:
    extras = set(distribution(DISTRIBUTION).metadata.get_all("Provides-Extra") or ())
    text = (PROJECT / "pyproject.toml").read_text("utf-8")
    everything = tomllib.loads(text)["project"]["optional-dependencies"]["all"]
    assert everything == [f"{DISTRIBUTION}[{','.join(extra for extra in _extras(text) if extra != 'all')}]"]
    assert extras == set(_extras(text))


def _extras(text: str) -> list[str]:
    return list(tomllib.loads(text)["project"]["optional-dependencies"])
