"""Completion in shells: the real shells are asked, where this machine has them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.process import binx, environment

CALL = """
eval "$(binx completion bash)"
compopt() { :; }
COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_binx_completion binx
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with a ``binx`` that is the one at test."""
    program = tmp_path / "binx"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m binx "$@"\n')
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def completed(line: str, path: str) -> list[str]:
    """What bash offers at the end of a line."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    done = subprocess.run(
        [bash, "--norc", "-c", CALL, "bash", line],
        env=environment({"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("binx ex", ["extract"]),
        ("binx extract --exc", ["--exclude-gtid", "--exclude-gtids"]),
        ("binx extract --format s", ["sql"]),
        ("binx to-parquet --compression z", ["zstd"]),
        ("binx completion f", ["fish"]),
        ("binx stats --by ta", ["table"]),
        ("binx stats --by hour,ta", ["hour,table"]),
        ("binx ls --sort du", ["duration"]),
    ],
)
def test_commands_options_and_words(line: str, offered: list[str], path: str) -> None:
    assert completed(line, path) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_one_that_its_shell_can_read(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(binx("completion", shell).out)
    assert "binx" in script.read_text()
    done = subprocess.run([program, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
