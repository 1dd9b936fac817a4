"""Whatever a log, a folder or a command line holds: on a terminal nothing but binx moves the cursor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.process import Ended, binx, on_terminal
from tests.cli.strange_names import NAME, TEXT, damaged_log, strange_log
from tests.log.building import UUID_TEXT

OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[2K|\x1b\[1A|\x1b\[\?25[lh]|\r")
"""Colours, and what a progress bar comes and goes with."""

AT_ONCE = "from binx.cli import progress\nprogress._PATIENCE = -1.0"
PATIENT = "from binx.cli import progress\nprogress._PATIENCE = 3600.0"
LOG = "mysql-bin.000001"
SQL = ["extract", "--format", "sql", "--exclude-gtid", f"{UUID_TEXT}:7"]
"""Without LOAD DATA, which SQL cannot hold."""

COMMANDS = [
    ["ls", LOG],
    ["ls", "--json", LOG],
    ["ls", "--columns", "time,gtid,kind,file,tables", LOG],
    ["show", LOG],
    ["show", "--hex", LOG],
    ["show", "--json", LOG],
    ["events", "--inner", LOG],
    ["events", "--json", LOG],
    ["stats", LOG],
    ["stats", "--by", "table,source,file", LOG],
    ["stats", "--json", LOG],
    ["stats", "--csv", LOG],
    ["stats", "--html", "-", LOG],
    ["verify", LOG],
    ["verify", "--json", LOG],
    ["why", "--table", f"{NAME}.{NAME}", "--pk", "7", LOG],
    ["why", "--table", f"{NAME}.*", "--pk", TEXT, LOG],
    ["diff", LOG, "other.000001"],
    ["diff", LOG, "damaged.000001"],
    [*SQL, LOG],
    ["extract", "--format", "thl", LOG],
    ["extract", "--format", "json", LOG],
    ["extract", "--format", "json", "--rows", LOG],
    [*SQL, "-o", "/dev/stdout", LOG],
    ["extract", "--format", "sql", "--reverse", "--gtid", f"{UUID_TEXT}:1-2", LOG],
    ["extract", "--on-damage", "salvage", "-o", "slice", "damaged.000001"],
    ["extract", "--table", f"{NAME}.{NAME}", "--format", "json", LOG],
    ["extract", "-o", f"{NAME}/slice", LOG],
    ["index", "-o", f"indexes{NAME}", LOG],
    ["to-parquet", "-o", f"lake{NAME}", LOG],
    ["to-parquet", "--schema", "dump.sql", "-o", "lake", LOG],
    ["to-parquet", "--on-damage", "salvage", "-o", "lake", "damaged.000001"],
    ["verify", "damaged.000001"],
    ["stats", "--json", "damaged.000001"],
    ["ls", f"absent{NAME}"],
    ["to-parquet", "--where", TEXT, "-o", "lake", LOG],
    ["ls", f"--{NAME}", LOG],
    [NAME],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("strange")
    (place / LOG).write_bytes(strange_log())
    (place / "other.000001").write_bytes(strange_log().replace(b"own", b"OWN"))
    (place / "damaged.000001").write_bytes(damaged_log())
    (place / "dump.sql").write_text(f"CREATE TABLE `{NAME}` (a FOO\x1b[2J);\nALTER TABLE `{NAME}`")
    return place


def check(ended: Ended) -> None:
    assert "bug in binx" not in ended.out
    driving = {character for character in OWN.sub("", ended.out) if not character.isprintable()}
    assert driving <= {"\n"}, ascii(ended.out)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: ascii(" ".join(arguments)))
def test_no_name_or_value_drives_the_terminal(arguments: list[str], folder: Path) -> None:
    ended = on_terminal(*arguments, width=120, cwd=folder, code=PATIENT)
    check(ended)
    assert ended.out


@pytest.mark.parametrize("command", ["extract", "to-parquet", "archive"])
def test_nor_does_one_beside_a_progress_bar(command: str, folder: Path, tmp_path: Path) -> None:
    source = tmp_path / f"logs{NAME}"
    source.mkdir()
    log = source / f"mysql-bin{NAME}.000001"
    log.write_bytes(strange_log())
    arguments = {
        "extract": ["extract", "-o", "slice", str(log)],
        "to-parquet": ["to-parquet", "-o", "lake", str(log)],
        "archive": ["archive", str(source), "--to", f"archive{NAME}"],
    }[command]
    ended = on_terminal(*arguments, width=100, cwd=tmp_path, code=AT_ONCE)
    assert command in ended.out
    check(ended)


def test_an_archive_of_logs_with_strange_names_is_told_of_without_harm(tmp_path: Path) -> None:
    source, place = tmp_path / f"logs{NAME}", tmp_path / f"archive{NAME}"
    source.mkdir()
    for number, data in ((1, strange_log()), (2, damaged_log()), (3, strange_log())):
        (source / f"mysql-bin\x1b[2J\u202e.00000{number}").write_bytes(data)
    commands: list[list[str | Path]] = [
        ["archive", "--dry-run", source, "--to", place],
        ["archive", "--on-damage", "keep", source, "--to", place, "--parquet", tmp_path / f"lake{NAME}"],
        ["archive", "--check", source, "--to", place],
        ["archive", "--check", "--json", "--to", place],
        ["archive", "--restore", NAME, "--to", place, "-o", tmp_path / "restored"],
        ["archive", source, "--to", place, "--prune", "0"],
    ]
    for arguments in commands:
        check(on_terminal(*arguments, width=120, code=PATIENT))
    (source / "mysql-bin.index").write_text(f"./mysql-bin.000009{NAME}\n")
    check(on_terminal("archive", source, "--to", place, width=120, code=PATIENT))


def test_files_and_pipes_get_what_the_log_says(folder: Path) -> None:
    for arguments in (SQL, ["extract", "--format", "thl"], ["stats", "--csv"]):
        assert NAME.splitlines()[0] in binx(*arguments, LOG, cwd=folder).out
    told = on_terminal("stats", "--csv", LOG, width=120, cwd=folder, code=PATIENT).out
    assert "control characters are shown as" in told


@pytest.mark.parametrize(
    "command", [["to-parquet", "-o", "lake"], ["show"], ["extract", "-o", f"{NAME}/slice"]]
)
def test_no_name_begins_a_line_that_could_be_taken_for_binxs_own(command: list[str], folder: Path) -> None:
    ended = binx(*command, "--table", f"{NAME}.*", LOG, cwd=folder)
    assert r"\x0d\x0a" in ended.err
    assert all(line.startswith("binx: ") for line in ended.err.split("\n")[:-1])
