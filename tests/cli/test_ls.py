"""``binx ls``: a line a transaction."""

from __future__ import annotations

import json
import struct
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal
from tests.conftest import TESTDATA
from tests.log import building as b


def listed(*arguments: object) -> list[dict[str, Any]]:
    ended = binx("ls", "--json", *map(str, arguments))
    assert (ended.code, ended.err) == (0, "")
    return [json.loads(line) for line in ended.lines]


def test_as_many_lines_as_the_servers_reader_finds_transactions(shop: Shop, mariadb_shop: Shop) -> None:
    for chain in (shop, mariadb_shop):
        assert len(binx("ls", *chain.logs).lines) == chain.transactions


def test_a_line_in_a_pipe_has_plain_fields_with_tabs_between(shop: Shop) -> None:
    demo = shop.demo
    ended = binx("ls", "--gtid", demo["gtid"], *shop.logs)
    (line,) = ended.lines
    time, gtid, kind, size, rows, file, start, tables = line.split("\t")
    assert (gtid, kind, file) == (demo["gtid"], "dml", demo["file"])
    assert (int(start), int(size)) == (demo["start"], demo["end"] - demo["start"])
    assert time.endswith("Z")
    assert int(rows) == sum(sum(kinds.values()) for kinds in demo["tables"].values())
    assert tables.split(", ")[0] == "shop.orders +1 ~1"
    assert "shop.order_items +3 -1" in tables


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("--gtid", "--include-gtids"), ("--exclude-gtid", "--exclude-gtids"), ("--db", "--database")],
)
def test_options_have_the_names_of_mysqlbinlog_too(shop: Shop, ours: str, theirs: str) -> None:
    value = "shop" if ours == "--db" else shop.demo["gtid"]
    some = binx("ls", theirs, value, *shop.logs)
    assert some == binx("ls", ours, value, *shop.logs)
    assert 0 < len(some.lines) < shop.transactions


def test_files_come_in_the_order_of_their_chain(shop: Shop) -> None:
    assert binx("ls", *shop.logs[::-1]) == binx("ls", *shop.logs)
    assert binx("ls", "mysql-bin.index", cwd=shop.folder) == binx("ls", *shop.logs)


def test_standard_input_lists_as_the_file_does(shop: Shop) -> None:
    data = shop.logs[0].read_bytes()
    piped = binx("ls", "-", stdin=data).out.replace("\tstdin\t", f"\t{shop.logs[0].name}\t")
    assert piped == binx("ls", shop.logs[0]).out


def test_gtids_that_are_not_there_are_named(shop: Shop) -> None:
    source = shop.demo["gtid"].partition(":")[0]
    ended = binx("ls", "--gtid", f"{shop.demo['gtid']},{source}:70000-70002", *shop.logs)
    assert ended.code == 4
    assert len(ended.lines) == 1
    assert ended.err == f"binx: error: not in these files: {source}:70000-70002\n"


def test_times_are_echoed_in_utc_unless_quiet(shop: Shop) -> None:
    arguments = ("--since", "2020-02-03 04:05+01:00", "--until", "2099-01-01", shop.logs[0])
    ended = binx("ls", *arguments)
    assert ended.err == (
        "binx: transactions committed from 2020-02-03T03:05:00Z to before 2099-01-01T00:00:00Z (UTC)\n"
    )
    assert binx("ls", "--quiet", *arguments).err == ""


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_that_nothing_passes_is_said_unless_quiet(shop: Shop, as_json: tuple[str, ...]) -> None:
    told = "binx: no transaction that matches in these files"
    asked: list[str | Path] = ["ls", "--table", "shop.order", *as_json, shop.logs[0]]
    for ended in (binx(*asked), on_terminal(*asked, width=100)):
        assert ended.code == 0
        assert told in ended.err + ended.out
    assert told not in on_terminal("ls", "--table", "shop.orders", *as_json, shop.logs[0], width=100).out
    assert binx(*asked, "--quiet").err == ""


def test_wrong_checksums_are_found_unless_they_are_not_wanted(shop: Shop, tmp_path: Any) -> None:
    data = bytearray(shop.logs[0].read_bytes())
    data[-1] ^= 1
    path = tmp_path / shop.logs[0].name
    path.write_bytes(data)
    ended = binx("ls", path)
    assert ended.code == 1
    assert "checksum" in ended.err
    assert binx("ls", "--no-checksums", path).code == 0


def test_columns_are_those_asked_for(shop: Shop) -> None:
    (line,) = binx("ls", "--columns", "time,size,thread,seqno", "--gtid", shop.demo["gtid"], *shop.logs).lines
    time, size, thread, seqno = line.split("\t")
    (one,) = listed("--gtid", shop.demo["gtid"], *shop.logs)
    assert (time, int(size), int(thread)) == (one["commit_timestamp"], one["bytes"], one["thread_id"])
    assert (seqno, one["seqno"]) == ("-", None)
    (short,) = listed("--columns", "gtid,tables", "--gtid", shop.demo["gtid"], *shop.logs)
    assert short == {"gtid": one["gtid"], "tables": one["tables"]}


def test_times_are_shown_in_the_zone_asked_for(shop: Shop) -> None:
    here = binx("ls", "--columns", "time", shop.logs[0]).lines
    there = binx("ls", "--columns", "time", "--tz", "+05:30", shop.logs[0]).lines
    assert all(time.endswith("+05:30") for time in there)
    assert [datetime.fromisoformat(time) for time in there] == [datetime.fromisoformat(time) for time in here]


@pytest.mark.parametrize(
    ("sort", "key", "reverse"),
    [
        ("size", "bytes", True),
        ("size:asc", "bytes", False),
        ("rows:desc", "rows", True),
        ("time", "start", False),
    ],
)
def test_a_sort_key_has_a_direction(shop: Shop, sort: str, key: str, reverse: bool) -> None:
    log = shop.logs[4]
    everything = listed(log)
    if key != "start":
        everything.sort(key=lambda one: one[key], reverse=reverse)
    else:
        everything.sort(key=lambda one: one["commit_timestamp"])
    assert listed("--sort", sort, log) == everything
    assert listed("--sort", sort, "--limit", "7", log) == everything[:7]


def test_reverse_turns_a_direction_round(shop: Shop) -> None:
    log = shop.logs[4]
    assert binx("ls", "--sort", "size:asc", "--reverse", log) == binx("ls", "--sort", "size", log)


def gtids(*arguments: str | Path) -> list[str]:
    """The numbers of the GTIDs that are listed."""
    ended = binx("ls", "--quiet", "--columns", "gtid", *arguments)
    assert ended.code == 0, ended.err
    return [line.rpartition(":")[2] for line in ended.lines]


def test_a_gtid_as_it_is_shown_can_be_pasted(shop: Shop) -> None:
    server, _, number = shop.demo["gtid"].partition(":")
    for short in (f"{server[:8]}\N{HORIZONTAL ELLIPSIS}", f"{server[:8]}...", server[:6], server):
        assert gtids("--gtid", f"{short}:{number}", *shop.logs) == [number]
    ended = binx("ls", "--gtid", "ffff:1", *shop.logs)
    assert ended.code == 2
    assert "expected the first digits of the UUID of one server" in ended.err


def test_a_range_without_an_end_has_all_that_follow(shop: Shop) -> None:
    server = shop.demo["gtid"][:8]
    assert gtids("--gtid", f"{server}:1627-", *shop.logs) == ["1627", "1628", "1629"]
    ended = binx("ls", "--gtid", f"{server}:99999-", *shop.logs)
    assert ended.code == 4


def test_from_one_gtid_to_another_in_the_order_of_the_logs(shop: Shop) -> None:
    server = shop.demo["gtid"][:8]
    between = ("--from-gtid", f"{server}:372", "--until-gtid", f"{server}:376")
    assert gtids(*between, *shop.logs) == ["372", "373", "374", "375", "376"]
    assert binx("ls", "--from-gtid", f"{server}:99999", *shop.logs).code == 4
    ended = binx("ls", "--from-gtid", f"{server}:1-2", *shop.logs)
    assert (ended.code, "expected one GTID" in ended.err) == (2, True)


def test_kinds_and_texts(shop: Shop) -> None:
    ended = binx("ls", "--columns", "kind,gtid", "--kind", "ddl,xa", *shop.logs)
    kinds = {line.partition("\t")[0] for line in ended.lines}
    assert kinds == {"ddl", "xa_prepare", "xa_commit", "xa_rollback"}
    assert gtids("--kind", "ddl", "--grep", "create table ORDERS (", *shop.logs) == ["4"]
    assert "expected kinds such as" in binx("ls", "--kind", "dll", *shop.logs).err


def test_times_without_a_zone_are_in_the_zone_that_is_shown(shop: Shop) -> None:
    shown = binx("ls", "--quiet", "--tz", "Asia/Tokyo", "--limit", "1", *shop.logs).lines[0]
    assert shown.startswith("2026-11-21T18:48:52.150090+09:00")
    there = ("--tz", "Asia/Tokyo", "--since", "2026-11-21T18:48:52.150090")
    until = ("--until", "2026-11-21T18:48:52.150091")
    assert gtids(*there, *until, *shop.logs) == ["1"]


def test_schema_statements_stand_in_the_place_of_tables(shop: Shop) -> None:
    plain = binx("ls", "--kind", "ddl", "--limit", "1", *shop.logs)
    assert plain.lines[0].endswith("\tCREATE DATABASE shop DEFAULT CHARACTER SET utf8mb4")
    shown = on_terminal("ls", "--kind", "ddl", "--limit", "1", *shop.logs, width=160, env={"NO_COLOR": "1"})
    assert "CREATE DATABASE shop" in shown.lines[1]
    quick = binx("ls", "--quick", "--kind", "ddl", "--limit", "1", *shop.logs)
    assert quick.lines[0].endswith("\t-")


def test_a_statement_that_cannot_be_read_is_listed_and_reported(tmp_path: Path) -> None:
    no_name = b.event(2, struct.pack("<IIBHH", 1, 1, 4, 0, 0) + b"shopsDROP TABLE caf\xe9")
    log = tmp_path / "mysql-bin.000001"
    log.write_bytes(b.whole_log(b.gtid(1), no_name, b.gtid(2), b.query("DROP TABLE a")))
    for ended in (
        binx("ls", log),
        binx("ls", "--sort", "size", log),
        on_terminal("ls", log, width=120, env={"NO_COLOR": "1"}),
    ):
        assert ended.code == 3
        assert [line[:4] for line in ended.lines].count("1970") == 2
        told = "expected a zero byte after the database's name; the statement is listed without its text"
        assert told in ended.out + ended.err
        assert "DROP TABLE a" in ended.out


def test_a_condition_chooses_the_transactions_that_extract_takes(shop: Shop, tmp_path: Path) -> None:
    paid = "before.status <> 'paid' AND after.status = 'paid'"
    extracted = binx("extract", "--format", "json", "--table", "shop.orders", "--where", paid, *shop.logs)
    wanted = [json.loads(line)["gtid"].partition(":")[2] for line in extracted.lines]
    assert len(wanted) > 5
    assert gtids("--table", "shop.orders", "--where", paid, *shop.logs) == wanted
    ended = binx("ls", "--where", "no_such_column = 1", *shop.logs)
    assert ended.code == 4
    assert "no_such_column" in ended.err
    assert binx("ls", "--quick", "--where", paid, *shop.logs).code == 2


@pytest.mark.parametrize("first", [1, 100, 500])
def test_a_range_of_gtids_without_end_goes_on_through_all_logs(shop: Shop, first: int) -> None:
    source = shop.demo["gtid"].partition(":")[0]
    ended = binx("ls", "--columns", "gtid", "--gtid", f"{source}:{first}-", *shop.logs)
    assert ended.code == 0
    assert ended.lines == [f"{source}:{number}" for number in range(first, shop.transactions + 1)]


def test_the_text_of_a_change_that_is_logged_as_a_statement_is_listed() -> None:
    log = TESTDATA / "mysql-9.7" / "small" / "statements.binlog"
    changed = binx("ls", "--kind", "dml", "--columns", "tables", log).lines
    assert changed[1] == "INSERT INTO t (e) VALUES (@bytes)"
    assert "small.t +1" in changed
    assert "BEGIN" not in changed
