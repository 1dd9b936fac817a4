"""``binx stats``: figures for people and programs."""

from __future__ import annotations

import json

from tests.cli.conftest import Shop
from tests.cli.process import binx


def test_json_has_the_contracts_names_and_the_servers_counts(shop: Shop) -> None:
    ended = binx("stats", "--json", *shop.logs)
    assert (ended.code, ended.err) == (0, "")
    figures = json.loads(ended.out)
    names = "files transactions events bytes first last tables kinds largest longest histogram warnings"
    assert set(names.split()) <= set(figures)
    assert figures["transactions"] == shop.transactions
    assert figures["bytes"] == sum(log.stat().st_size for log in shop.logs)
    for table in figures["tables"]:
        name = f"{table['db']}.{table['table']}"
        for kind in ("inserts", "updates", "deletes"):
            found = [file["tables"].get(name, {}).get(kind, 0) for file in shop.files.values()]
            assert table[kind] == sum(found)


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


def test_damage_is_listed_with_exit_code_3(shop: Shop, tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path), "mysql-bin.000001")
    path.write_bytes(shop.logs[0].read_bytes()[:-40_000])
    ended = binx("stats", "--json", path, shop.logs[1])
    assert ended.code == 3
    assert ended.err.count("binx: warning: ") == 1
    assert str(path) in ended.err
    figures = json.loads(ended.out)
    assert figures["complete"] is False
    assert figures["files"][1]["transactions"] == shop.files["mysql-bin.000002"]["transactions"]
