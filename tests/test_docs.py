"""The documentation's Python examples are run, and its links lead somewhere."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest

import binx
import binx.api
from testdata.transcripts import PAGES as TRANSCRIPTS
from testdata.transcripts import prepared, run, written_again
from tests.cli.forking import forking
from tests.conftest import PROJECT

PAGES = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("testdata/*.md")])
SHOP = "bf1c133d-e590-11f1-8de0-02fc00000001"
"""The server of the shop's logs, for which pages write UUID."""

LINK = re.compile(r"\]\(([^)#]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_the_examples_of_a_page_are_true(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    results = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


@pytest.mark.parametrize("module", [binx, binx.api], ids=lambda module: module.__name__)
def test_the_examples_of_a_docstring_are_true(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    results = doctest.testmod(module)  # type: ignore[arg-type]
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for name, anchor in LINK.findall(page.read_text("utf-8")):
        if "://" in name:
            continue
        target = page.parent / name if name else page
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings are linked to, as GitHub makes them."""
    headings = HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_commands_of_a_transcript_print_what_stands_beneath_them(name: str) -> None:
    page = PROJECT / name
    text = page.read_text("utf-8")
    if "| jq " in text and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    assert text == written_again(page, forking().stand_in()), "run `make transcripts`"


OUTSIDE = re.compile(r"binx (pull|serve|load)|spark-submit|duckdb ")
"""Commands that need a server, a replica or Spark; ``make demo`` and the live tests run theirs."""


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    text = (PROJECT / "README.md").read_text("utf-8")
    blocks = re.findall(r"(?<!transcript -->\n)^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^\$ (binx .*)$", "".join(blocks), re.MULTILINE)
    place = prepared(tmp_path, forking().stand_in())
    backup = tmp_path / "backup" / "full"
    backup.mkdir(parents=True)
    backup.joinpath("xtrabackup_binlog_info").write_text(f"mysql-bin.000002\t198\t{SHOP}:1-374\n")
    inside = [command for command in commands if not OUTSIDE.match(command)]
    codes = {"--pk 4711": 4, "--reverse": 3}
    """No row has that key, and a column that the transaction wrote was dropped later."""
    assert len(inside) > 12
    for command in inside:
        here = command.replace("UUID", SHOP).replace("/backup", str(tmp_path / "backup"))
        output, code = run(here.replace("/var/lib/mysql", str(place)), place)
        expected = next((code for words, code in codes.items() if words in command), 0)
        assert code == expected, f"{command}\n{output}"


def test_the_change_log_begins_with_this_version() -> None:
    assert f"## {binx.__version__}\n" in (PROJECT / "CHANGELOG.md").read_text("utf-8")
