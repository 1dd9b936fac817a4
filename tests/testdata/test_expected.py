"""The committed test data is complete, small, and of one piece with the recipe and with itself."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from testdata.small import split_sections
from tests.conftest import TESTDATA

SERVERS = ("mysql-9.7", "mariadb-10.11")
RECIPES = sorted(TESTDATA.glob("*/small/*.sql"))
LOGS = sorted(
    [
        *TESTDATA.glob("*/[!e]*/mysql-bin.0*"),
        *TESTDATA.glob("*/encrypted/decrypted/*"),
        *TESTDATA.glob("*/small/*.binlog"),
    ]
)
SHOP_TABLES = sorted(TESTDATA.glob("*/shop/expected/tables.json"))
FIVE_MEGABYTES = 5_000_000
MAGIC = b"\xfebin"
HEADER = struct.Struct("<IBIIIH")
FORMAT_DESCRIPTION, STOP, ROTATE = 15, 3, 4
IN_USE = 1


def name_of(path: Path) -> str:
    return str(path.relative_to(TESTDATA))


def events(path: Path) -> list[tuple[int, int]]:
    """Type and flags of each event."""
    data = path.read_bytes()
    position, found = len(MAGIC), []
    while position < len(data):
        _, kind, _, size, _, flags = HEADER.unpack_from(data, position)
        found.append((kind, flags))
        position += size
    assert position == len(data)
    return found


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def test_all_of_it_is_smaller_than_five_megabytes() -> None:
    folders = [TESTDATA / server for server in SERVERS]
    sizes = [path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert sum(sizes) < FIVE_MEGABYTES


@pytest.mark.parametrize("server", SERVERS)
def test_each_server_has_a_shop_a_log_in_use_and_small_logs(server: str) -> None:
    assert (TESTDATA / server / "shop" / "demo.json").exists()
    assert (TESTDATA / server / "in-use" / "mysql-bin.000001").exists()
    assert list((TESTDATA / server / "small").glob("*.binlog"))


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_each_recipe_says_its_purpose_and_has_its_log_listing_and_rows(recipe: Path) -> None:
    text = recipe.read_text()
    assert text.splitlines()[0].endswith(".")
    assert split_sections(text)["log"].strip()
    assert all(recipe.with_suffix(suffix).exists() for suffix in (".binlog", ".txt", ".expected.json"))


@pytest.mark.parametrize("server", SERVERS)
def test_each_small_log_has_its_recipe(server: str) -> None:
    folder = TESTDATA / server / "small"
    recipes = {recipe.stem for recipe in folder.glob("*.sql")}
    for pattern in ("*.binlog", "*.txt", "*.expected.json"):
        assert {path.name.split(".")[0] for path in folder.glob(pattern)} == recipes


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_the_readme_lists_each_recipe(recipe: Path) -> None:
    assert f"`{recipe.stem}`" in (TESTDATA / "README.md").read_text()


@pytest.mark.parametrize("log", LOGS, ids=name_of)
def test_each_log_is_whole_and_begins_with_a_format_description(log: Path) -> None:
    assert log.read_bytes().startswith(MAGIC)
    assert events(log)[0][0] == FORMAT_DESCRIPTION


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_each_listing_is_of_the_log_beside_it(recipe: Path) -> None:
    ends = re.findall(rb"^#.* end_log_pos (\d+)", recipe.with_suffix(".txt").read_bytes(), re.MULTILINE)
    assert int(ends[-1]) == recipe.with_suffix(".binlog").stat().st_size


@pytest.mark.parametrize("server", SERVERS)
def test_the_shop_is_a_chain_of_closed_logs_that_ends_with_a_stop(server: str) -> None:
    shop = TESTDATA / server / "shop"
    chain = [shop / name for name in (shop / "mysql-bin.index").read_text().split()]
    assert sorted(chain) == sorted(shop.glob("mysql-bin.0*"))
    assert [events(log)[-1][0] for log in chain] == [ROTATE] * (len(chain) - 1) + [STOP]
    assert not any(events(log)[0][1] & IN_USE for log in chain)


@pytest.mark.parametrize("server", SERVERS)
def test_the_log_in_use_says_so(server: str) -> None:
    found = events(TESTDATA / server / "in-use" / "mysql-bin.000001")
    assert found[0][1] & IN_USE
    assert found[-1][0] not in (STOP, ROTATE)


@pytest.mark.parametrize("tables", SHOP_TABLES, ids=name_of)
def test_each_table_of_the_shop_has_all_its_rows(tables: Path) -> None:
    described = read_json(tables)["tables"]
    assert {facts["file"] for facts in described.values()} == {
        path.name for path in tables.parent.glob("*.jsonl")
    }
    for facts in described.values():
        rows = [json.loads(line) for line in (tables.parent / facts["file"]).read_text().splitlines()]
        assert len(rows) == facts["rows"]
        assert {len(row) for row in rows} <= {len(facts["columns"])}
        assert facts["state_from_rows"] == (facts["note"] is None)


@pytest.mark.parametrize("tables", SHOP_TABLES, ids=name_of)
def test_the_shops_transactions_are_those_that_its_server_executed(tables: Path) -> None:
    last = re.split("[:-]", read_json(tables)["gtid_executed"])[-1]
    counted = read_json(tables.with_name("files.json"))["files"]
    assert sum(file["transactions"] for file in counted.values()) == int(last)


@pytest.mark.parametrize("server", SERVERS)
def test_the_demos_transaction_stands_in_its_file(server: str) -> None:
    shop = TESTDATA / server / "shop"
    demo = read_json(shop / "demo.json")
    assert demo["gtid"].count("-") in (2, 4)
    assert len(MAGIC) < demo["start"] < demo["end"] < (shop / demo["file"]).stat().st_size
