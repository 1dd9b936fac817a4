"""What a person sees: narrow and wide terminals, pagers, colours, and no name that drives them."""

from __future__ import annotations

import re
import shutil
import unicodedata
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import Ended, binx, on_terminal
from tests.cli.strange_names import NAME, TEXT, damaged_log, strange_log
from tests.log.building import UUID_TEXT

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = [
    ["ls"],
    ["ls", "--sort", "bytes"],
    ["ls", "--columns", "time,server,thread,duration,tables", "--tz", "Asia/Tokyo"],
    ["ls", "--columns", "gtid,transaction,file,start,uncompressed_bytes,kind"],
    ["events", "--inner"],
    ["stats"],
    ["stats", "--quick", "--top", "3"],
    ["stats", "--by", "hour,table,kind", "--tz", "Asia/Tokyo"],
    ["stats", "--by", "source,thread,file,size"],
]


def columns(line: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in ESCAPE.sub("", line)
    )


@pytest.mark.parametrize("width", [60, 200])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_line_is_wider_than_the_terminal_with_colours_and_without(
    shop: Shop, arguments: list[str], width: int
) -> None:
    coloured = on_terminal(*arguments, *shop.logs, width=width)
    plain = on_terminal(*arguments, *shop.logs, width=width, env={"NO_COLOR": "1"})
    assert (coloured.code, plain.code) == (0, 0)
    assert max(map(columns, plain.lines)) <= width
    assert "\x1b[" in coloured.out
    assert "\x1b" not in plain.out
    assert ESCAPE.sub("", coloured.out) == plain.out


def test_a_dumb_terminal_gets_no_colours(shop: Shop) -> None:
    assert "\x1b" not in on_terminal("ls", shop.logs[0], width=80, env={"TERM": "dumb"}).out


def test_a_wide_terminal_shows_whole_gtids_and_tables(shop: Shop) -> None:
    shown = on_terminal("ls", "--gtid", shop.demo["gtid"], *shop.logs, width=200).out
    assert shop.demo["gtid"] in shown
    assert "shop.orders +1 ~1, shop.order_items +3 -1" in shown


def test_a_narrow_terminal_shortens_gtids_and_keeps_their_numbers(shop: Shop) -> None:
    shown = on_terminal("ls", "--quiet", "--gtid", shop.demo["gtid"], *shop.logs, width=60).out
    uuid, _, number = shop.demo["gtid"].partition(":")
    assert uuid not in shown
    assert f"{uuid[:8]}…:{number}" in shown


def test_figures_on_a_narrow_terminal_keep_the_names_that_they_are_of(shop: Shop) -> None:
    shown = on_terminal("stats", *shop.logs, width=40, env={"NO_COLOR": "1"}).lines
    files = shown.index("Files")
    assert [line.split()[0] for line in shown[files + 2 : files + 7]] == [log.name for log in shop.logs]
    tables = next(place for place, line in enumerate(shown) if line.startswith("Tables"))
    names = {line.split()[0] for line in shown[tables + 2 : tables + 12]}
    assert {"shop.orders", "shop.products", "shop.visits"} <= names


def test_a_narrow_terminal_shows_tables_and_leaves_out_what_they_say(shop: Shop) -> None:
    plain = {"NO_COLOR": "1"}
    head, *lines = on_terminal("ls", shop.logs[1], width=60, env=plain).lines
    assert head.split() == ["COMMITTED", "(UTC)", "GTID", "SIZE", "TABLES"]
    assert lines[0].endswith("  ALTER TABLE c…")
    assert lines[1].endswith("  shop.orders ~…")
    asked = on_terminal("ls", "--columns", "time,kind,rows,tables", shop.logs[1], width=60, env=plain)
    assert asked.lines[0].split() == ["COMMITTED", "(UTC)", "KIND", "ROWS", "TABLES"]


@pytest.mark.parametrize("command", ["ls", "stats", "events"])
def test_no_number_is_cut_however_narrow_the_terminal(shop: Shop, command: str) -> None:
    shown = on_terminal(command, shop.logs[1], width=40, env={"NO_COLOR": "1"})
    assert shown.code == 0
    assert not [line for line in shown.lines if re.search(r"\d…(?: |$)", line)]


def test_numbers_have_separators_and_units(shop: Shop) -> None:
    shown = on_terminal("stats", *shop.logs, width=120).out
    assert "1,629" in shown
    assert "MiB" in shown


def test_a_zone_is_named_in_the_head(shop: Shop) -> None:
    shown = on_terminal("ls", "--tz", "Asia/Tokyo", "--limit", "1", shop.logs[0], width=120).out
    assert "COMMITTED (Asia/Tokyo)" in shown


def test_columns_overrides_the_terminals_width(shop: Shop) -> None:
    shown = on_terminal("ls", *shop.logs, width=200, env={"COLUMNS": "60"})
    assert max(map(columns, shown.lines)) <= 60


def test_errors_are_coloured_on_a_terminal_only_where_wanted(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    assert on_terminal("ls", missing, width=80).out.startswith("binx: \x1b[1;31merror:\x1b[0m")
    assert on_terminal("ls", missing, width=80, env={"NO_COLOR": "1"}).out.startswith("binx: error:")


def test_long_lines_break_at_words(shop: Shop, tmp_path: Path) -> None:
    shown = on_terminal("show", "--gtid", shop.demo["gtid"], *shop.logs, width=80, env={"NO_COLOR": "1"})
    lines = [line for line in shown.lines if not line.startswith(("      ", "  committed"))]
    assert max(map(columns, shown.lines)) <= 80, lines
    piped = binx("show", "--gtid", shop.demo["gtid"], *shop.logs).out
    assert " ".join(shown.out.split()) == " ".join(piped.split())
    error = on_terminal("extract", "--sinse", "x", "f", width=40, env={"NO_COLOR": "1"}).lines
    assert error == [
        "binx: error: no such option '--sinse';",
        "  did you mean --since?",
        "Try: binx extract --help",
    ]


def test_parquets_summary_reads_well(shop: Shop, tmp_path: Path) -> None:
    shown = on_terminal("to-parquet", shop.logs[3], "-o", tmp_path / "lake", width=100)
    assert shown.code == 0
    line, *parts = shown.lines
    warning = [part.strip() for part in parts]
    assert " ".join(warning).startswith("binx: ")
    assert "mysql-bin.000004: changes logged as statements: 4; the rows" in " ".join(warning)
    assert re.fullmatch(
        r"mysql-bin\.000004\.[0-9a-f]{8}  written  228 transactions  3,698 rows  \d+ files  [\d.]+ KiB", line
    )


IMPATIENT = "from binx.cli import progress\nprogress._PATIENCE = -1.0"


@pytest.mark.parametrize("command", ["extract", "to-parquet", "stats"])
def test_whoever_waits_sees_a_bar_that_goes_away(shop: Shop, tmp_path: Path, command: str) -> None:
    output = [] if command == "stats" else ["-o", str(tmp_path / "output")]
    arguments = (command, *output, *map(str, shop.logs))
    shown = on_terminal(*arguments, width=100, code=IMPATIENT)
    assert shown.code == 0
    assert re.search(rf"{command} .*[\d.]+/[\d.]+ [KM]iB", ESCAPE.sub("", shown.out))
    cleared = shown.out.rpartition("\x1b[2K")
    assert cleared[1]
    assert f"{command} " not in cleared[2]


@pytest.mark.parametrize(
    "arguments",
    [["index", "--force"], ["verify"], ["diff"], ["why", "--table", "shop.orders", "--pk", "0"]],
)
def test_whoever_waits_for_an_answer_sees_a_bar(shop: Shop, tmp_path: Path, arguments: list[str]) -> None:
    logs = [shutil.copy(log, tmp_path) for log in shop.logs[:2]]
    shown = ESCAPE.sub("", on_terminal(*arguments, *logs, width=100, code=IMPATIENT).out)
    assert re.search(rf"{arguments[0]} .*[\d.]+/[\d.]+ [KM]iB", shown)


def test_quiet_shows_no_bar(shop: Shop, tmp_path: Path) -> None:
    arguments = ("extract", "--quiet", "-o", str(tmp_path / "output"), *map(str, shop.logs))
    assert on_terminal(*arguments, width=100, code=IMPATIENT).out == ""


def test_a_pipe_never_gets_a_bar(shop: Shop, tmp_path: Path) -> None:
    assert "\x1b" not in binx("extract", *shop.logs, "-o", tmp_path / "output").err


MARKS = {"BINX_PAGER": "sed s/^/|/"}
"""A pager that marks each line it gets."""


@pytest.mark.parametrize("arguments", [["ls"], ["show", "--limit", "3"], ["stats"], ["events"], ["verify"]])
def test_a_terminals_lines_go_through_the_pager_with_their_width_and_colours(
    arguments: list[str], shop: Shop
) -> None:
    plain = on_terminal(*arguments, shop.logs[0], width=90)
    paged = on_terminal(*arguments, shop.logs[0], width=90, env=MARKS)
    assert paged.code == plain.code == 0
    assert paged.lines == [f"|{line}" for line in plain.lines]


@pytest.mark.parametrize(
    ("options", "env"),
    [
        (["--no-pager"], MARKS),
        (["--json"], MARKS),
        ([], MARKS | {"BINX_NO_PAGER": "1"}),
        ([], {"TERM": "dumb"}),
    ],
)
def test_no_pager_where_none_is_wanted(options: list[str], env: dict[str, str], shop: Shop) -> None:
    shown = on_terminal("ls", *options, shop.logs[0], width=90, env={"PAGER": "sed s/^/|/"} | env)
    assert shown.lines
    assert not [line for line in shown.lines if line.startswith("|")]


def test_binx_pager_comes_before_pager_and_one_that_is_missing_is_left_out(shop: Shop) -> None:
    shown = on_terminal("ls", shop.logs[0], width=90, env={"PAGER": "false", **MARKS})
    assert all(line.startswith("|") for line in shown.lines)
    shown = on_terminal("ls", "--limit", "1", shop.logs[0], width=90, env={"BINX_PAGER": "no-such-program"})
    assert "COMMITTED" in shown.out


def test_a_pager_that_ends_early_ends_the_command_without_a_word(shop: Shop) -> None:
    shown = on_terminal("show", *shop.logs, width=90, env={"BINX_PAGER": "head -n 1"})
    assert shown.code == 0
    assert len(shown.lines) == 1


def test_a_pipe_keeps_the_layout_of_a_terminal(shop: Shop) -> None:
    plain = {"COLUMNS": "90", "NO_COLOR": "1"}
    seen = on_terminal("ls", shop.logs[0], width=90, env=plain)
    piped = binx("ls", "--layout", "screen", shop.logs[0], env=plain)
    assert re.match(r"COMMITTED \(UTC\) +GTID", piped.out)
    assert piped.out + piped.err == seen.out
    assert binx("ls", "--layout", "text", shop.logs[0]).out == binx("ls", shop.logs[0]).out


OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[2K|\x1b\[1A|\x1b\[\?25[lh]|\r")
"""Colours, and what a progress bar comes and goes with."""

LOG = "mysql-bin.000001"
SQL = ["extract", "--format", "sql", "--exclude-gtid", f"{UUID_TEXT}:7"]
"""Without LOAD DATA, which needs a folder for its file."""

READERS = [
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


@pytest.mark.parametrize("arguments", READERS, ids=lambda arguments: ascii(" ".join(arguments)))
def test_no_name_or_value_drives_the_terminal(arguments: list[str], folder: Path) -> None:
    ended = on_terminal(*arguments, width=120, cwd=folder)
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
    ended = on_terminal(*arguments, width=100, cwd=tmp_path, code=IMPATIENT)
    assert command in ended.out
    check(ended)


def test_an_archive_of_logs_with_strange_names_is_reported_without_harm(tmp_path: Path) -> None:
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
        check(on_terminal(*arguments, width=120))
    (source / "mysql-bin.index").write_text(f"./mysql-bin.000009{NAME}\n")
    check(on_terminal("archive", source, "--to", place, width=120))


def test_files_and_pipes_get_what_the_log_says(folder: Path) -> None:
    for arguments in (SQL, ["extract", "--format", "thl"], ["stats", "--csv"]):
        assert NAME.splitlines()[0] in binx(*arguments, LOG, cwd=folder).out
    told = on_terminal("stats", "--csv", LOG, width=120, cwd=folder).out
    assert "control characters are shown as" in told


@pytest.mark.parametrize(
    "command", [["to-parquet", "-o", "lake"], ["show"], ["extract", "-o", f"{NAME}/slice"]]
)
def test_no_name_begins_a_line_that_could_be_taken_for_binxs_own(command: list[str], folder: Path) -> None:
    ended = binx(*command, "--table", f"{NAME}.*", LOG, cwd=folder)
    assert r"\x0d\x0a" in ended.err
    assert all(line.startswith("binx: ") for line in ended.err.split("\n")[:-1])
