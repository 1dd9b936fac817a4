"""The lines of docs/cron.md are ones that cron, systemd and binx understand."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from binx.cli.application import load_command
from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "cron.md").read_text("utf-8")
FIELD = re.compile(r"(\*|\d+(-\d+)?(,\d+(-\d+)?)*)(/\d+)?")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def units() -> dict[str, str]:
    """The units by the names of their files, which stand before them."""
    names = re.findall(r"`/etc/systemd/system/([\w.-]+)`:", PAGE)
    return dict(zip(names, blocks("ini"), strict=True))


def command_lines() -> list[str]:
    """Every call of ``binx archive`` on the page."""
    return re.findall(r"binx (archive [^\n|]*)", "\n".join([*blocks("crontab"), *blocks("ini"), indented()]))


def indented() -> str:
    return "\n".join(re.findall(r"^    \$ (.*)$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("line", command_lines())
def test_a_command_line_is_understood(line: str) -> None:
    arguments = shlex.split(line)[1:]
    with load_command("archive").make_context("archive", arguments) as context:
        assert context.params["archive"] == "/backup/binlogs"
    assert len(command_lines()) >= 8


def test_the_crontab_has_five_fields_and_a_command() -> None:
    (table,) = blocks("crontab")
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    assert len(lines) == 2
    for line in lines:
        *fields, command = line.split(maxsplit=5)
        assert [FIELD.fullmatch(field) is not None for field in fields] == [True] * 5
        assert "%" not in command
        assert subprocess.run(["sh", "-n", "-c", command], check=False).returncode == 0


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    for name, text in units().items():
        program = text.replace("/usr/local/bin/binx", sys.executable).replace("User=mysql", "User=root")
        (tmp_path / name).write_text(program)
    for name in units():
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert [line for line in done.stderr.splitlines() if "binx-archive" in line] == []


def test_the_timer_belongs_to_the_service() -> None:
    assert sorted(units()) == ["binx-archive.service", "binx-archive.timer"]
    keys = {line.partition("=")[0] for text in units().values() for line in text.splitlines() if "=" in line}
    assert {"Type", "ExecStart", "OnCalendar", "WantedBy"} <= keys
