"""``binx stats`` and ``binx verify``: figures and problems for people and programs."""

from __future__ import annotations

import csv
import json
import re
import struct
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal
from tests.conftest import TESTDATA
from tests.log import building as b


def test_a_pipe_gets_plain_numbers(shop: Shop) -> None:
    ended = binx("stats", *shop.logs)
    assert ended.code == 0
    assert "\x1b" not in ended.out
    head = ended.lines[2].split()
    assert head[:3] == ["5", str(sum(log.stat().st_size for log in shop.logs)), str(shop.transactions)]
    assert any(line.split()[:3:2] == ["shop.orders", "411"] for line in ended.lines)


def test_top_says_how_many(shop: Shop) -> None:
    figures = json.loads(binx("stats", "--json", "--top", "3", *shop.logs).out)
    assert len(figures["largest"]) == 3
    assert "tables (3 of 13)" in binx("stats", "--top", "3", *shop.logs).lines


def test_a_quick_look_leaves_out_what_it_does_not_know(shop: Shop) -> None:
    figures = json.loads(binx("stats", "--quick", "--json", *shop.logs).out)
    assert figures["tables"] is None
    assert figures["transactions"] == shop.transactions
    assert not [line for line in binx("stats", "--quick", *shop.logs).lines if line.startswith("tables")]


def test_damage_is_listed_with_exit_code_3(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(shop.logs[0].read_bytes()[:-40_000])
    ended = binx("stats", "--json", path, shop.logs[1])
    assert ended.code == 3
    assert ended.err.count("binx: warning: ") == 1
    assert str(path) in ended.err
    figures = json.loads(ended.out)
    assert figures["complete"] is False
    assert figures["files"][1]["transactions"] == shop.files["mysql-bin.000002"]["transactions"]


def test_by_shows_a_line_a_group_and_nothing_else(shop: Shop) -> None:
    ended = binx("stats", "--by", "day", "--by", "table", "--tz", "+02:00", *shop.logs)
    assert ended.code == 0
    assert ended.lines[0] == "by day and table"
    assert ended.lines[1].split()[:3] == ["day", "(+02:00)", "database"]
    orders = next(line.split() for line in ended.lines if "  orders " in line)
    assert orders[1:3] == ["shop", "orders"]
    warnings = ended.lines.index("warnings")
    assert len([line for line in ended.lines[2:warnings] if line]) == 13  # All groups of a time.
    assert len([line for line in ended.lines if not line.startswith("  ") and line]) == 2
    assert binx("stats", "--by", "table", *shop.logs).lines[0] == "by table (10 of 13)"


def test_csv_is_one_tidy_table(shop: Shop) -> None:
    ended = binx("stats", "--csv", *shop.logs)
    assert (ended.code, ended.err) == (0, "")
    rows = list(csv.DictReader(ended.lines))
    figures = json.loads(binx("stats", "--json", *shop.logs).out)
    assert [
        {name: str(table[name]) for name in ("db", "table", "bytes", "inserts", "updates", "deletes")}
        for table in figures["tables"]
    ] == [{name: row[name] for name in row if name not in ("transactions", "rows")} for row in rows]
    assert len(binx("stats", "--csv", "--by", "hour,kind", "--top", "2", *shop.logs).lines) == 3
    assert binx("stats", "--csv", "--json", *shop.logs).code == 2


def test_json_has_the_groups_that_were_asked_for(shop: Shop) -> None:
    figures = json.loads(binx("stats", "--json", "--by", "kind", *shop.logs).out)
    assert figures["breakdown"]["by"] == ["kind"]
    assert {group["kind"]: group["bytes"] for group in figures["breakdown"]["groups"]} == {
        kind["kind"]: kind["bytes"] for kind in figures["kinds"]
    }
    assert json.loads(binx("stats", "--json", shop.logs[0]).out)["breakdown"] is None


def test_options_that_say_which_transactions_are_those_of_ls(shop: Shop) -> None:
    options = ["--table", "shop.orders", "--min-bytes", "1K"]
    listed = [json.loads(line) for line in binx("ls", "--json", *options, *shop.logs).lines]
    figures = json.loads(binx("stats", "--json", *options, *shop.logs).out)
    assert figures["transactions"] == len(listed) > 0
    assert figures["selected_bytes"] == sum(one["bytes"] for one in listed)
    assert figures["rows"] == sum(one["rows"] for one in listed)
    assert figures["selection"] == {"table": ["shop.orders"], "min_bytes": 1024}


def test_a_gtid_that_is_not_there_ends_with_code_4(shop: Shop) -> None:
    uuid = shop.demo["gtid"].partition(":")[0]
    ended = binx("stats", "--gtid", f"{uuid}:1,{uuid}:999999", *shop.logs)
    assert ended.code == 4
    assert f"not in these files: {uuid}:999999" in ended.err


def test_problems_between_logs_are_among_the_warnings_also_for_gtids(shop: Shop) -> None:
    """All that was asked for is there, so the exit code is 0."""
    first, _, third, *_ = shop.logs
    ended = binx("stats", "--json", "--gtid", shop.demo["gtid"].partition(":")[0] + ":1", first, third)
    figures = json.loads(ended.out)
    assert (ended.code, figures["transactions"]) == (0, 1)
    assert "chain" in [warning["kind"] for warning in figures["warnings"]]


def test_html_is_a_page_in_a_file_of_its_own(shop: Shop, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ended = binx("stats", "--html", page, "--by", "kind", "--tz", "+02:00", *shop.logs)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    text = page.read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>\n")
    assert "shop.orders" in text
    assert "By kind" in text
    assert binx("stats", "--html", "-", "--by", "kind", "--tz", "+02:00", *shop.logs).out == text


def test_html_goes_with_no_other_format_and_into_a_folder_that_is_there(shop: Shop, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert binx("stats", "--html", page, "--csv", shop.logs[0]).code == 2
    ended = binx("stats", "--html", tmp_path / "none" / "report.html", shop.logs[0])
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert not list(tmp_path.iterdir())


def test_all_groups_of_time_are_shown_and_no_empty_columns(shop: Shop) -> None:
    by_time = binx("stats", "--by", "minute,table", *shop.logs)
    groups = json.loads(binx("stats", "--by", "minute,table", "--json", *shop.logs).out)["breakdown"][
        "groups"
    ]
    assert len(groups) > 10
    assert len(by_time.lines[: by_time.lines.index("")]) == len(groups) + 2
    assert len(binx("stats", "--by", "thread", *shop.logs).lines) < 20
    heads = binx("stats", "--by", "kind", "--kind", "ddl", *shop.logs).lines[1].split()
    assert heads == ["kind", "transactions", "bytes", "share"]
    assert "deletes" in binx("stats", "--by", "kind", *shop.logs).lines[1].split()


SHOP = TESTDATA / "mysql-9.7" / "shop"
CHAIN = sorted(SHOP.glob("mysql-bin.0*"))


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    data = bytearray(CHAIN[0].read_bytes())
    data[40_000:41_000] = bytes(1000)
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(data)
    return path


def test_whole_logs() -> None:
    ended = binx("verify", SHOP / "mysql-bin.index")
    assert ended.code == 0
    assert ended.err == ""
    assert len(ended.lines) == 6
    assert re.fullmatch(r".*mysql-bin\.000001: 9\.7\.\S+, 258 KiB, \d+ transactions, closed", ended.lines[0])
    assert ended.lines[-1].startswith("ok: 5 files, ")


def test_quiet_says_nothing_of_whole_logs() -> None:
    ended = binx("verify", "--quiet", *CHAIN)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_session_that_cannot_be_read_is_reported_as_by_commands_that_show_it(tmp_path: Path) -> None:
    """A time zone whose name is cut, under checksums and lengths that are right."""
    path = tmp_path / "mysql-bin.000001"
    cut = struct.pack("<IIBHH", 3, 0, 4, 0, 2) + b"\x05\xff" + b"shop\0CREATE TABLE t (i int)"
    path.write_bytes(b.whole_log(b.gtid(1), b.event(2, cut), b.gtid(2), b.query("DROP TABLE t"), b.STOP))
    verified, shown = binx("verify", path), binx("show", path)
    assert (verified.code, shown.code) == (3, 1)
    assert "expected 255 more bytes" in shown.err
    place = len(b.whole_log(b.gtid(1)))
    assert [problem["start"] for problem in json.loads(binx("verify", "--json", path).out)["problems"]] == [
        place
    ]
    assert "QUERY: expected 255 more bytes" in " ".join(verified.out.split())
    salvaged = binx("extract", "--format", "sql", "--on-damage", "salvage", path)
    assert (salvaged.code, "DROP TABLE t" in salvaged.out) == (3, True)


def test_damage_is_listed_with_what_to_do(damaged: Path) -> None:
    ended = binx("verify", damaged)
    assert ended.code == 3
    assert f"1. checksum: {damaged}, from byte " in ended.out
    for word in ("what", "gtid", "means", "do"):
        assert re.search(rf"^   {word} ", ended.out, re.MULTILINE)
    assert re.search(r"^1 problem, at least \d transactions? lost: 1 file, ", ended.out, re.MULTILINE)
    assert damaged.read_bytes().count(bytes(1000)) == 1


def test_the_next_log_says_what_is_lost_and_it_is_counted_once(damaged: Path) -> None:
    ended = binx("verify", damaged, CHAIN[1])
    assert ended.code == 3
    assert "2. lost gtids: " in ended.out
    assert "2 problems, at least 2 transactions lost: 2 files" in ended.out
    assert ended.err == ""


def test_quick_compares_no_checksums(tmp_path: Path) -> None:
    data = bytearray(CHAIN[0].read_bytes())
    data[-1] ^= 1
    path = tmp_path / "mysql-bin.000001"
    path.write_bytes(data)
    assert binx("verify", path).code == 3
    ended = binx("verify", "--quick", path)
    assert ended.code == 0
    assert "checksums not verified" in ended.lines[-1]


def test_a_missing_log_of_the_chain_has_a_code_of_its_own() -> None:
    ended = binx("verify", CHAIN[0], CHAIN[2])
    assert ended.code == 4
    assert "1. missing file: " in ended.out
    assert "expected mysql-bin.000002 to follow" in ended.out


def test_a_log_in_use_is_whole_and_said_to_be_in_use() -> None:
    ended = binx("verify", TESTDATA / "mysql-9.7" / "in-use" / "mysql-bin.000001")
    assert ended.code == 0
    assert "marked as being written" in ended.err


def test_on_a_terminal_lines_are_broken_and_names_cannot_drive_it(damaged: Path) -> None:
    strange = damaged.with_name("a\x1b[31mb.000001")
    damaged.rename(strange)
    ended = on_terminal("verify", strange, width=70)
    assert ended.code == 3
    shown = re.sub(r"\x1b\[(?:\d+;)*\d*m", "", ended.out)
    assert "\\x1b[31mb" in shown
    assert "\x1b[31mb" not in ended.out
    told = [line for line in shown.splitlines() if line.startswith("   ")]
    assert max(map(len, told)) <= 70


def test_another_logs_first_event_stands_in_for_a_damaged_one(shop: Shop, tmp_path: Path) -> None:
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes(b"ABCD" + shop.logs[0].read_bytes()[4:])
    assert "with --format-from" in binx("verify", log).out
    ended = binx("verify", "--format-from", shop.logs[1], log)
    assert ended.code == 3
    assert ended.lines[-1].startswith("1 problem: 1 file")
    assert "374 transactions" in ended.lines[-1]
