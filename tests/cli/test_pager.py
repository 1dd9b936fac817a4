"""Long output on a terminal goes through a pager; what a pager gets is what a terminal would."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal

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
