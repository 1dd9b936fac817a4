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
from binx.cli.commands import ENTRIES
from binx.kernels.crc32 import backend
from tests.cli.conftest import Shop
from tests.cli.process import binx
from tests.conftest import PROJECT

SELDOM = {
    "click",
    "pathlib",
    "uuid",
    "json",
    "zoneinfo",
    "pickle",
    "binx.source.keyring",
    "binx.log.damage",
    "binx.event.gtid",
}
"""What takes milliseconds to load, and hardly any command needs."""

RECORDS = {"dataclasses", "inspect", "hashlib"}
"""What takes as long, and a listing can do without."""

HEAVY = {"pyarrow", "rich", "zstandard", "sqlglot", "pyspark", "pandas", "numpy", "duckdb"}


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


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_the_overview_needs_neither_click_nor_kernels(arguments: list[str]) -> None:
    loaded = modules_after(*arguments)
    assert not loaded & (HEAVY | {"click", "dataclasses", "pathlib"})
    assert not [name for name in loaded if name.startswith(("binx.kernels", "binx.event", "binx.log"))]


def test_extracting_by_gtid_loads_nothing_heavy(shop: Shop, tmp_path: Path) -> None:
    output = tmp_path / "one.binlog"
    loaded = modules_after(
        "extract", "--gtid", shop.demo["gtid"], "--format", "binlog", *shop.logs, "-o", output, "--quiet"
    )
    assert output.stat().st_size > 0
    assert not loaded & (HEAVY | SELDOM)


def test_making_an_index_loads_no_arrow(shop: Shop, tmp_path: Path) -> None:
    loaded = modules_after("index", "--quiet", "-o", tmp_path, shop.logs[0])
    assert len(list(tmp_path.iterdir())) == 1
    assert loaded & HEAVY == {"zstandard"}
    assert not loaded & {"dataclasses", "inspect", "tempfile", "json", "decimal"}


def test_making_a_data_set_loads_no_classes_that_are_slow_to_make(shop: Shop, tmp_path: Path) -> None:
    program = [sys.executable, "-X", "importtime", "-m", "binx"]
    command = ["to-parquet", "--quiet", "--jobs", "1", str(shop.logs[0]), "-o", str(tmp_path)]
    done = subprocess.run([*program, *command], cwd=PROJECT, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()} - modules_of_python()
    assert "pyarrow.lib" in loaded
    assert not loaded & {"numpy", "dataclasses", "shutil", "tempfile"}


def test_listing_loads_neither_arrow_nor_rich(shop: Shop) -> None:
    loaded = modules_after("ls", "--quiet", shop.logs[0])
    assert not loaded & (HEAVY | SELDOM | RECORDS)


def test_verifying_loads_neither_arrow_nor_what_it_needs_for_damage_alone(shop: Shop) -> None:
    loaded = modules_after("verify", "--quiet", shop.logs[0])
    assert not loaded & (HEAVY | RECORDS | SELDOM - {"pathlib", "binx.log.damage"})


@pytest.mark.parametrize("command", [entry.name for entry in ENTRIES])
def test_help_of_a_command_loads_no_other_command(command: str) -> None:
    loaded = modules_after(command, "--help")
    others = {f"binx.cli.{entry.name.replace('-', '_')}" for entry in ENTRIES if entry.name != command}
    assert not loaded & others
    assert not loaded & HEAVY


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


def loaded_by_program(*arguments: str | Path) -> set[str]:
    """Names of the modules that the program, as its console script runs it, has when its command ends."""
    program = (
        "import atexit, sys\nfrom binx.cli.main import main\n"
        "names = lambda: [name for name, module in sys.modules.items() if module is not None]\n"
        "atexit.register(lambda: print(*names(), sep='\\n', file=sys.stderr))\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_converting_loads_of_pyarrow_what_it_needs(tmp_path: Path) -> None:
    plain = tmp_path / "mysql-bin.000001"
    plain.write_bytes((PROJECT / "testdata/mysql-9.7/small/no_checksum.binlog").read_bytes())
    loaded = loaded_by_program("to-parquet", plain, "-o", tmp_path / "lake", "--jobs", "1", "--quiet")
    assert "pyarrow" in loaded
    assert not loaded & {"numpy", "pandas", "pyarrow.compute", "pyarrow.parquet", "logging"}


def test_pyarrow_makes_its_functions_without_reading_docstrings(tmp_path: Path) -> None:
    log = PROJECT / "testdata/mysql-9.7/small/no_checksum.binlog"
    loaded = loaded_by_program("extract", "--format", "json", "-o", tmp_path / "out", "--quiet", log)
    assert "pyarrow.compute" in loaded
    # Only the module that reads docstrings needs it.
    assert "pydoc" not in loaded
