"""The manual pages: as the commands are, and as groff wants them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from binx.cli.application import ENTRIES
from binx.cli.manpages import pages, write_pages
from binx.stats.dimensions import Dimension
from binx.stats.event_list import PLAIN_EVENT_COLUMNS
from binx.stats.lines import ALIASES, COLUMNS
from tests.conftest import PROJECT

DOCS = PROJECT / "docs"
NAMES = ["binx.1", *(f"binx-{entry.name}.1" for entry in ENTRIES)]


def test_there_is_a_page_for_every_command() -> None:
    assert sorted(pages(DOCS)) == sorted(NAMES)


def groff(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run groff, without a sanitizer that this process may have: it is not the program that is looked at."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(
        ["groff", "-man", *arguments], capture_output=True, text=True, env=plain, check=False
    )


@pytest.mark.parametrize("name", NAMES)
def test_groff_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    write_pages(tmp_path, DOCS)
    done = groff("-ww", "-z", "-Tutf8", str(tmp_path / name))
    assert (done.returncode, done.stderr) == (0, "")


def test_text_comes_out_as_it_was_written(tmp_path: Path) -> None:
    write_pages(tmp_path, DOCS)
    done = groff("-Tascii", "-P-cbou", str(tmp_path / "binx-extract.1"))
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    assert "--exclude-gtid, --exclude-gtids SET" in shown
    assert "* and ? match: 'shop.*'." in shown
    assert (
        "binx extract --since '2026-11-21 09:30' --until '2026-11-21 09:45' --table shop.orders \\" in shown
    )


def test_pages_of_commands_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "binx-gone.1").touch()
    (tmp_path / "binx-gone.5").touch()
    (tmp_path / "other.1").touch()
    write_pages(tmp_path, DOCS)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*NAMES, "other.1"])


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("events", PLAIN_EVENT_COLUMNS),
        ("ls", [*COLUMNS, *ALIASES]),
        ("stats", [one.value for one in Dimension]),
    ],
)
def test_a_page_lists_all_names_that_there_are(command: str, names: Sequence[str]) -> None:
    text = (DOCS / "commands" / f"{command}.md").read_text("utf-8")
    assert [name for name in names if name not in text] == []
