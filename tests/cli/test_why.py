"""``binx why``: its text on a terminal and in a pipe, and its refusals."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal

KEY = ("why", "--table", "shop.orders", "--pk", "9007199254740992")


def test_changes_have_both_values(shop: Shop) -> None:
    ended = binx(*KEY, *shop.logs)
    assert ended.code == 0
    assert '            *   status       "new" -> "paid"' in ended.lines
    assert ended.err == "binx: changes: 4\n"
    assert "\x1b" not in ended.out


def test_json_is_a_line_a_change(shop: Shop) -> None:
    ended = binx(*KEY, "--json", "--quiet", *shop.logs)
    types = [json.loads(line)["type"] for line in ended.lines]
    assert types == ["create", "insert", "update", "update"]
    assert ended.err == ""
    assert len(binx(*KEY, "--limit", "2", "--json", *shop.logs).lines) == 2


@pytest.mark.parametrize("width", [60, 200])
def test_lines_fit_the_terminal(shop: Shop, width: int) -> None:
    plain = on_terminal(*KEY, *shop.logs, width=width, env={"NO_COLOR": "1"})
    assert max(map(len, plain.lines)) <= width
    assert "\x1b" not in plain.out
    assert "\x1b[32m" in on_terminal(*KEY, *shop.logs, width=width).out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--pk", "1"], 2, "expected exactly one table"),
        (["--table", "shop.orders"], 2, "expected either a key (--pk VALUE) or a condition"),
        (["--table", "shop.orders", "--pk", "5"], 4, "no changes of the row in these files"),
        (["--table", "shop.orders", "--where", "id = 0"], 4, "no changes of the row in these files"),
        (["--table", "shop.orders", "--where", "idd = 1"], 4, "no table has idd"),
        (["--table", "shop.orders", "--pk", "1", "--pk", "2"], 2, "expected 1 value, found 2"),
        (["--table", "shop.orders", "--pk", "one"], 2, "expected a number"),
        (["--table", "shop.orders", "--where", "id +"], 2, "'--where'"),
    ],
)
def test_what_cannot_be_told(shop: Shop, arguments: list[str], code: int, said: str) -> None:
    ended = binx("why", *arguments, *shop.logs)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


def test_the_statement_that_a_change_was_logged_with_is_shown(mariadb_shop: Shop) -> None:
    key = ("why", "--table", "shop.customers", "--pk", "8", "--limit", "2", "--quiet")
    created, inserted = (json.loads(line) for line in binx(*key, "--json", *mariadb_shop.logs).lines)
    assert created["statement_text"] is None
    assert inserted["statement_text"].startswith("INSERT INTO customers (id, email")
    assert any(
        line.startswith("  INSERT INTO customers (id, email") for line in binx(*key, *mariadb_shop.logs).lines
    )
