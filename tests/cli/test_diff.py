"""``binx diff``: its report, its JSON and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal
from tests.compare.test_diff import altered
from tests.conftest import TESTDATA


@pytest.fixture
def replica(shop: Shop, tmp_path: Path) -> Path:
    """A folder with a log that lacks one of the shop's transactions."""
    folder = tmp_path / "replica"
    folder.mkdir()
    target = folder / "mysql-bin.000001"
    done = binx("extract", "--quiet", "--exclude-gtid", shop.demo["gtid"], *shop.logs, "-o", target)
    assert done.code == 0, done.err
    return folder


def test_equal_logs(shop: Shop) -> None:
    ended = binx("diff", shop.folder, shop.folder)
    assert ended.code == 0, ended.err
    titles = {"in both": "1,629", "only in A": "0", "only in B": "0", "different": "0"}
    assert ended.lines[2:] == [f"{title:<18}{count}" for title, count in titles.items()]


def test_what_was_before_the_other_s_logs_is_told_so_that_all_are_accounted_for(shop: Shop) -> None:
    first, both = shop.logs[0], shop.logs[:2]
    for sides, before in (((first, both[1]), "B"), ((both[1], first), "A")):
        ended = binx("diff", "--gtids", *sides)
        assert ended.code == 3
        told = ended.lines.index(f"before {before}          374")
        assert ended.lines[told + 1].endswith(":1-374")
        assert ended.lines[told + 2] == f"    {before} had these before its first log"
        other = "A" if before == "B" else "B"
        assert f"only in {before}         446" in ended.lines
        assert f"only in {other}         0" in ended.lines


def test_what_a_replica_lacks(shop: Shop, replica: Path) -> None:
    ended = binx("diff", shop.folder, replica)
    assert ended.code == 3
    assert "only in A         1" in ended.lines
    assert f"  {shop.demo['gtid']}" in ended.lines
    assert f"  errant: {shop.demo['gtid']}" in ended.lines


def test_what_differs_is_shown_by_row_and_value(shop: Shop, tmp_path: Path) -> None:
    log = TESTDATA / "mysql-9.7" / "small" / "xa.binlog"
    other = altered(log, b"in between", b"IN BETWEEN", tmp_path / "xa.binlog")
    ended = binx("diff", log, other)
    assert ended.code == 3
    place = next(
        number for number, line in enumerate(ended.lines) if line.startswith("    insert small.t id = ")
    )
    assert ended.lines[place + 1 :] == ['      text  A  "in between"', '            B  "IN BETWEEN"']


def test_gtids_from_a_dump_are_perhaps_purged_until_told(shop: Shop, tmp_path: Path) -> None:
    gtids = shop.demo["gtid"].partition(":")[0] + ":1-100"
    later = tmp_path / "mysql-bin.000001"
    assert binx("extract", "--quiet", "--exclude-gtid", gtids, *shop.logs, "-o", later).code == 0
    ended = binx("diff", "--gtids", shop.folder, later)
    assert f"  perhaps purged: {gtids}" in ended.lines
    assert not any("errant" in line for line in ended.lines)
    assert ended.code == 3
    assert binx("diff", "--gtids", "--purged-b", gtids, shop.folder, later).code == 0


def test_json(shop: Shop, replica: Path) -> None:
    ended = binx("diff", "--gtids", "--json", "--quiet", replica, shop.folder)
    assert (ended.code, ended.err) == (3, "")
    document = json.loads(ended.out)
    assert document["only_right"] == {
        "gtids": shop.demo["gtid"],
        "count": 1,
        "errant": shop.demo["gtid"],
        "perhaps_purged": "",
        "statements": "",
    }
    assert (document["equal"], document["compared"]) == (False, False)


@pytest.mark.parametrize("options", [(), ("--gtids",)])
def test_what_neither_side_has_is_no_equality(shop: Shop, options: tuple[str, ...]) -> None:
    source = shop.demo["gtid"].partition(":")[0]
    asked = ("--gtid", f"{shop.demo['gtid']},{source}:999999")
    ended = binx("diff", *options, *asked, shop.folder, shop.folder)
    assert ended.code == 4
    assert f"not in these files: {source}:999999" in ended.err
    assert "in both           1" in ended.lines


def test_what_one_side_has_is_a_difference_not_absent(shop: Shop, replica: Path) -> None:
    ended = binx("diff", "--quiet", "--gtid", shop.demo["gtid"], shop.folder, replica)
    assert (ended.code, ended.err) == (3, "")


def test_two_sides_are_wanted(shop: Shop) -> None:
    ended = binx("diff", shop.folder)
    assert ended.code == 2
    assert "Missing argument 'B'" in ended.err


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


def test_a_terminal_gets_whole_lines_with_colours(shop: Shop) -> None:
    plain = on_terminal(*KEY, *shop.logs, width=60, env={"NO_COLOR": "1"})
    assert plain.lines[:-1] == binx(*KEY, *shop.logs).lines
    assert "\x1b[32m" in on_terminal(*KEY, *shop.logs, width=60).out


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
