"""Completion in shells: the real shells are asked, where this machine has them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import after, binx, environment

CALL = """
eval "$(binx completion bash)"
compopt() { :; }
COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
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


def completed(line: str, path: str, cwd: Path | None = None) -> list[str]:
    """What bash offers at the end of a line."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    done = subprocess.run(
        [bash, "--norc", "-c", CALL, "bash", line],
        env=environment({"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("binx ex", ["extract"]),
        ("binx extract --exc", ["--exclude-gtid"]),
        ("binx extract --format s", ["sql"]),
        ("binx to-parquet --compression z", ["zstd"]),
        ("binx completion f", ["fish"]),
    ],
)
def test_commands_options_and_words(line: str, offered: list[str], path: str) -> None:
    assert completed(line, path) == offered


def test_tables_databases_and_gtids_come_from_the_files_on_the_line(shop: Shop, path: str) -> None:
    log = shop.logs[0]
    source = shop.demo["gtid"].partition(":")[0]
    assert completed(f"binx ls {log} --table shop.or", path) == ["shop.order_items", "shop.orders"]
    assert completed(f"binx ls {log} --db s", path) == ["shop"]
    assert completed(f"binx ls {log} --gtid {source[:5]}", path)[0] == f"{source}:374"
    assert completed(f"binx ls {log} --gtid {source}:37", path) == ["374", "373", "372", "371", "370", "37"]
    assert completed(f"binx ls {log} --gtid {source}:1,{source}:36", path)[-1] == "36"


def test_before_a_file_is_typed_they_come_from_the_current_folder(shop: Shop, path: str) -> None:
    assert completed("binx ls --table shop.or", path, shop.logs[0].parent) == [
        "shop.order_items",
        "shop.orders",
    ]


def test_a_mariadb_gtid(mariadb_shop: Shop, path: str) -> None:
    assert completed(f"binx ls {mariadb_shop.logs[0]} --gtid 0-10-374", path) == ["0-10-374"]


def test_what_is_no_log_offers_nothing(tmp_path: Path, path: str) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    assert completed(f"binx ls {tmp_path / 'notes.txt'} --table s", path) == []


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


def test_fish_offers_the_same(shop: Shop, path: str) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    script = f"binx completion fish | source; complete -C 'binx ls {shop.logs[0]} --table shop.or'"
    done = subprocess.run(
        [fish, "--no-config", "-c", script],
        env=environment({"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(done.stdout.split()) == ["shop.order_items", "shop.orders"]


def test_index_files_alone_are_asked(shop: Shop, tmp_path: Path) -> None:
    """The limit is that of logs without index files."""
    log = tmp_path / "mysql-bin.000001"
    shutil.copy(shop.logs[0], log)
    words = {
        "_BINX_COMPLETE": "bash_complete",
        "COMP_LINE": f"binx ls {shlex.quote(str(log))} --table shop.orde",
        "COMP_CWORD": "4",
    }
    limited = after("from binx.cli import completing\ncompleting.READ_BYTES = 0")
    words["COMP_WORDS"] = words["COMP_LINE"]

    def asked() -> str:
        done = subprocess.run(limited, env=environment(words), capture_output=True, text=True, check=False)
        return done.stdout

    assert "shop.orders" not in asked()
    assert binx("index", log).code == 0
    assert "shop.orders" in asked()


def test_patterns_and_folders_on_the_line_stand_for_their_logs(shop: Shop, path: str) -> None:
    assert completed(f"binx ls {shop.folder} --table shop.orders", path) == ["shop.orders"]
    assert completed(f"binx ls {shop.folder}/mysql-bin.0* --table shop.orders", path) == ["shop.orders"]
