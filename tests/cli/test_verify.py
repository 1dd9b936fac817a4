"""``binx verify`` as a person and a script meet it."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal
from tests.conftest import TESTDATA
from tests.log import building as b

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


def test_a_session_that_cannot_be_read_is_told_as_commands_that_show_it_do(tmp_path: Path) -> None:
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
    assert "a statement's session variables" in " ".join(verified.out.split())
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


def test_the_next_log_tells_what_is_lost_and_it_is_counted_once(damaged: Path) -> None:
    ended = binx("verify", damaged, CHAIN[1])
    assert ended.code == 3
    assert "2. lost gtids: " in ended.out
    assert "2 problems, at least 2 transactions lost: 2 files" in ended.out
    assert ended.err == ""


def test_json_is_one_object(damaged: Path) -> None:
    ended = binx("verify", "--json", damaged)
    assert ended.code == 3
    (line,) = ended.lines
    document = json.loads(line)
    assert document["ok"] is False
    assert [problem["kind"] for problem in document["problems"]] == ["checksum"]
    assert document["files"][0]["damaged_bytes"] > 1000


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


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    ended = binx("verify", tmp_path / "mysql-bin.000001")
    assert ended.code == 1
    assert "cannot be opened" in ended.err


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
