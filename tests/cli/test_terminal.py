"""What a person sees: narrow and wide terminals, with and without colours."""

from __future__ import annotations

import re
import shutil
import unicodedata
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
PATIENT = "from binx.cli import progress\nprogress._PATIENCE = 3600.0"
COMMANDS = [
    ["ls"],
    ["ls", "--sort", "bytes"],
    ["ls", "--columns", "time,server,thread,duration,tables", "--tz", "Asia/Tokyo"],
    ["ls", "--columns", "gtid,transaction,file,start,uncompressed_bytes,kind"],
    ["events", "--inner"],
    ["show", "--limit", "40", "--hex"],
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
    coloured = on_terminal(*arguments, *shop.logs, width=width, code=PATIENT)
    plain = on_terminal(*arguments, *shop.logs, width=width, code=PATIENT, env={"NO_COLOR": "1"})
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


def test_a_narrow_terminal_shows_tables_and_leaves_out_what_they_tell(shop: Shop) -> None:
    plain = {"NO_COLOR": "1"}
    head, *lines = on_terminal("ls", shop.logs[1], width=60, env=plain).lines
    assert head.split() == ["COMMITTED", "(UTC)", "GTID", "SIZE", "TABLES"]
    assert lines[0].endswith("  ALTER TABLE c…")
    assert lines[1].endswith("  shop.orders ~…")
    asked = on_terminal("ls", "--columns", "time,kind,rows,tables", shop.logs[1], width=60, env=plain)
    assert asked.lines[0].split() == ["COMMITTED", "(UTC)", "KIND", "ROWS", "TABLES"]


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
    assert on_terminal("ls", missing, width=80).out.startswith("binx: \x1b[1;31merror:\x1b[0m ")
    assert on_terminal("ls", missing, width=80, env={"NO_COLOR": "1"}).out.startswith("binx: error: ")


def test_parquets_summary_reads_well(shop: Shop, tmp_path: Path) -> None:
    shown = on_terminal("to-parquet", shop.logs[3], "-o", tmp_path / "lake", width=100)
    assert shown.code == 0
    (line,) = shown.lines
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
