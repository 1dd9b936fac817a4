"""Starting up: what is loaded for which command, and the answers that need no command."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest

from binx import __version__
from binx.cli.application import ENTRIES
from binx.kernels.crc32 import backend
from tests.cli.conftest import Shop
from tests.cli.process import binx
from tests.conftest import PROJECT

HEAVY = {"pyarrow", "rich", "sqlglot", "pyspark", "pandas", "numpy", "duckdb"}


def modules_of_python() -> set[str]:
    """Names of the modules that Python has imported before any program."""
    return set(_run("import sys\nprint(*sys.modules, sep='\\n')").stdout.split())


def modules_after(*arguments: str | Path) -> set[str]:
    """Names of all modules that a command line has imported when it ends."""
    program = (
        "import sys\nfrom binx.cli.main import run\ncode = run(sys.argv[1:])\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)\nsys.exit(code)"
    )
    return set(_run(program, *arguments).stderr.split()) - modules_of_python()


def _run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program without ``site``: the finder of an editable install loads what users do not load."""
    return subprocess.run(
        [sys.executable, "-S", "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT), *sys.path]))},
    )


def test_extracting_by_gtid_loads_nothing_heavy(shop: Shop, tmp_path: Path) -> None:
    output = tmp_path / "one.binlog"
    loaded = modules_after("extract", "--gtid", shop.demo["gtid"], *shop.logs, "-o", output, "--quiet")
    assert output.stat().st_size > 0
    assert not loaded & HEAVY


@pytest.mark.parametrize("command", ["ls", "verify"])
def test_listing_and_verifying_load_nothing_heavy(command: str, shop: Shop) -> None:
    assert not modules_after(command, "--quiet", shop.logs[0]) & HEAVY


@pytest.mark.parametrize("command", [entry.name for entry in ENTRIES])
def test_help_of_a_command_loads_no_other_command(command: str) -> None:
    loaded = modules_after(command, "--help")
    modules = {entry.name: f"binx.cli.commands.{entry.name.replace('-', '_')}" for entry in ENTRIES}
    assert loaded & set(modules.values()) == {modules[command]}
    # What makes or reads index files needs Arrow for all that it does.
    assert not loaded & (HEAVY - {"pyarrow", "numpy"})


def test_the_overview_names_every_command_and_fits_60_columns() -> None:
    shown = binx()
    assert shown.code == 0
    assert shown.out == binx("--help").out == binx("help").out
    assert all(f"  {entry.name} " in shown.out for entry in ENTRIES)
    assert max(map(len, shown.lines)) <= 60


def test_version() -> None:
    assert binx("--version") == binx("--version", env={"NO_COLOR": "1"})
    first, second = binx("--version").lines
    assert first == f"binx {__version__}"
    assert f"Python {platform.python_version()}, CRC32 by {backend()}, " in second
    assert f"pyarrow {pyarrow.__version__}" in second
    assert not modules_after("--version") & HEAVY


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_help_of_a_command_ends_with_examples(entry: object) -> None:
    name = entry.name  # type: ignore[attr-defined]
    shown = binx(name, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == binx("help", name).out
    assert shown.out.startswith(f"Usage: binx {name}")
    _, _, examples = shown.out.partition("\nExamples:\n")
    assert "  # " in examples
    assert name in examples
