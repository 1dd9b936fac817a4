"""``binx events``: every event of the logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binx.stats.event_list import EVENT_COLUMNS, PLAIN_EVENT_COLUMNS
from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal


def test_events_of_all_files_come_in_the_order_of_their_chain(shop: Shop) -> None:
    lines = [line.split("\t") for line in binx("events", *shop.logs[::-1]).lines]
    assert {len(line) for line in lines} == {len(PLAIN_EVENT_COLUMNS)}
    assert list(dict.fromkeys(line[0] for line in lines)) == [log.name for log in shop.logs]
    for log in shop.logs:
        own = [line for line in lines if line[0] == log.name]
        assert [4, *(int(line[4]) for line in own)] == [*(int(line[1]) for line in own), log.stat().st_size]


def test_json_has_an_object_a_line(shop: Shop) -> None:
    ended = binx("events", "--json", "--limit", "3", shop.logs[0])
    documents = [json.loads(line) for line in ended.lines]
    assert [one["type"] for one in documents] == ["FORMAT_DESCRIPTION", "PREVIOUS_GTIDS", "GTID"]
    assert all(list(one) == list(EVENT_COLUMNS) for one in documents)


def test_the_events_of_a_transaction_are_found_by_position(shop: Shop) -> None:
    demo = shop.demo
    first, last = f"{demo['file']}:{demo['start']}", f"{demo['file']}:{demo['end']}"
    lines = binx("events", "--start-position", first, "--stop-position", last, *shop.logs).lines
    assert {line.split("\t")[10] for line in lines} == {demo["gtid"]}
    assert int(lines[0].split("\t")[1]) == demo["start"]
    assert int(lines[-1].split("\t")[4]) == demo["end"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--type", "quarry"], 2, "expected an event type"),
        (["--start-position", "nowhere.000001:4"], 4, "is not among the files"),
        (["--start-position", "4"], 2, "expected FILE:POS"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_is_said(shop: Shop, arguments: list[str], code: int, said: str) -> None:
    ended = binx("events", *arguments, *shop.logs)
    assert ended.code == code
    assert said in ended.err


def test_wrong_checksums_are_listed_and_told(shop: Shop, tmp_path: Path) -> None:
    data = bytearray(shop.logs[0].read_bytes())
    data[-1] ^= 1
    path = tmp_path / shop.logs[0].name
    path.write_bytes(data)
    ended = binx("events", path)
    assert ended.code == 3
    assert ended.err.startswith(f"binx: warning: {path}: events with wrong checksums: 1, the first at ")
    assert [line.split("\t")[8] for line in ended.lines].count("bad") == 1
    assert binx("events", "--no-checksums", path).code == 0
    assert "  bad  " in on_terminal("events", path, width=100).out


def test_a_cut_file_is_listed_up_to_the_cut(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / shop.logs[0].name
    path.write_bytes(shop.logs[0].read_bytes()[:-3])
    ended = binx("events", path)
    assert ended.code == 1
    assert ended.lines == binx("events", shop.logs[0]).lines[:-1]
    assert "ends inside an event" in ended.err


def test_a_terminal_has_a_head_for_each_file(shop: Shop) -> None:
    shown = on_terminal("events", "--quiet", *shop.logs, width=200, env={"NO_COLOR": "1"})
    heads = [number for number, line in enumerate(shown.lines) if line.lstrip().startswith("POSITION")]
    assert [shown.lines[number - 1] for number in heads] == [log.name for log in shop.logs]
    assert shop.demo["gtid"] in shown.out
