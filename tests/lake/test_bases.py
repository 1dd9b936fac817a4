"""Bases stand where their GTIDs say, whatever came first, and what they hold does not count again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from binx.dataset.options import ParquetOptions
from binx.errors import BinxError
from binx.lake.at_moment import TableAt, table_at
from binx.lake.base.importing import import_bases
from tests.lake.conftest import Load
from tests.lake.dataset import Name, Server, renumbered, write_export

ORDERS: Name = ("shop", "orders")
FIELDS = (("id", pa.int32()), ("note", pa.string()))


def server_with(rows: int) -> Server:
    """A table whose CREATE is the first transaction of the first log; each row is one of the second."""
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.rotate()
    for number in range(1, rows + 1):
        server.transaction(("insert", ORDERS, {"id": number, "note": "logged"}))
    return server


def take_base(lake: Path, ids: Iterable[int], gtids: str, position: str = "") -> None:
    """A dump with these rows that holds these transactions."""
    values = ",".join(f"({number},'dumped')" for number in ids)
    where = f"SET @@GLOBAL.GTID_PURGED='{gtids}';\n" if gtids else ""
    if position:
        file, _, offset = position.partition(":")
        where += f"-- CHANGE MASTER TO MASTER_LOG_FILE='{file}', MASTER_LOG_POS={offset};\n"
    lake.mkdir(exist_ok=True)
    dump = lake / f".dump-{len(list(lake.iterdir()))}.sql"
    dump.write_text(
        f"{where}USE `shop`;\nCREATE TABLE `orders`"
        " (`id` int NOT NULL, `note` varchar(100), PRIMARY KEY (`id`)) DEFAULT CHARSET=utf8mb4;\n"
        f"INSERT INTO `orders` VALUES {values};\n"
    )
    list(import_bases([str(dump)], str(lake), ParquetOptions()))


def gtid(server: Server, numbers: str) -> str:
    return f"3e11fa47-0000-0000-0000-0000000000{server.server_id:02}:{numbers}"


def notes(state: TableAt) -> dict[int, str]:
    return {row["id"]: row["note"] for row in state.rows.to_pylist()}


def test_what_a_set_with_holes_lacks_is_applied_and_nothing_else(tmp_path: Path) -> None:
    server = server_with(6)
    server.export(tmp_path, server.logs[1], whole=True)
    # The rows 1, 2 and 4 are of the transactions 2, 3 and 5.
    take_base(tmp_path, (1, 2, 4), gtid(server, "1-3:5"))
    state = table_at(str(tmp_path), "shop.orders", None)
    held = {1: "dumped", 2: "dumped", 4: "dumped"}
    assert notes(state) == {**dict.fromkeys(range(1, 7), "logged"), **held}
    assert not state.missing
    assert notes(table_at(str(tmp_path), "shop.orders", gtid(server, "4"))) == {**held, 3: "logged"}


def test_a_base_that_stands_at_a_rename_comes_after_it(tmp_path: Path) -> None:
    server = server_with(1)
    former, sales = ("shop", "former"), ("shop", "sales")
    server.rename((ORDERS, former), (former, sales), (sales, ORDERS))
    take_base(tmp_path, (7,), gtid(server, "1-3"))
    server.export(tmp_path, server.logs[1], whole=True)
    state = table_at(str(tmp_path), "shop.orders", None)
    assert (notes(state), state.missing) == ({7: "dumped"}, [])


def test_a_moment_before_the_base_is_what_the_logs_say(tmp_path: Path) -> None:
    server = server_with(6)
    server.export_all(tmp_path, whole=True)
    take_base(tmp_path, (1, 2, 3), gtid(server, "1-4"))
    assert notes(table_at(str(tmp_path), "shop.orders", gtid(server, "3"))) == {1: "logged", 2: "logged"}
    assert notes(table_at(str(tmp_path), "shop.orders", gtid(server, "4")))[3] == "dumped"


def test_logs_of_a_replica_from_before_the_base_are_not_applied_again(tmp_path: Path) -> None:
    server = server_with(6)
    copied = renumbered(server.logs[1], 40)
    write_export(tmp_path, copied, server_id=12, versions=[(ORDERS, server.versions[ORDERS])], whole=True)
    server.transaction(("update", ORDERS, (1,), {"note": "later"}))
    server.logs[1].images[:] = server.logs[1].images[-2:]
    write_export(
        tmp_path,
        server.logs[1],
        identity="5e6f7a8b",
        versions=[(ORDERS, server.versions[ORDERS])],
        whole=True,
    )
    take_base(tmp_path, range(1, 7), gtid(server, "1-7"))
    expected = {**dict.fromkeys(range(1, 7), "dumped"), 1: "later"}
    assert notes(table_at(str(tmp_path), "shop.orders", None)) == expected


def test_a_transaction_prepared_before_a_base_and_committed_after_it_is_reported(tmp_path: Path) -> None:
    server = server_with(2)
    end = server.xa("X'01',X'',1", ("insert", ORDERS, {"id": 9, "note": "prepared"}))
    end("COMMIT")
    server.export(tmp_path, server.logs[1], whole=True)
    take_base(tmp_path, (1, 2), gtid(server, "1-4"))
    assert "XA" in " ".join(table_at(str(tmp_path), "shop.orders", None).missing)


def test_a_base_whose_log_no_server_has_stops_the_table(tmp_path: Path) -> None:
    server = server_with(2)
    server.export(tmp_path, server.logs[1], whole=True)
    take_base(tmp_path, (1,), "", "other-bin.000001:4")
    with pytest.raises(BinxError, match="no server has logs"):
        table_at(str(tmp_path), "shop.orders", None)


def test_a_base_that_comes_after_the_logs_mends_the_table(
    tmp_path: Path, load: Load, rows: Callable[..., list[dict[str, Any]]]
) -> None:
    server = server_with(4)
    lake, output = tmp_path / "lake", tmp_path / "tables"
    server.export(lake, server.logs[1], whole=True)
    code, summary = load(lake, output)
    assert code == 3
    assert summary["tables"][0]["completeness"].startswith("partial")
    take_base(lake, (0, 1, 2), gtid(server, "1-3"))
    code, summary = load(lake, output)
    assert (code, summary["tables"][0]["completeness"]) == (0, "yes")
    assert [(row["id"], row["note"]) for row in rows(output, ORDERS)] == [
        (0, "dumped"), (1, "dumped"), (2, "dumped"), (3, "logged"), (4, "logged"),
    ]  # fmt: skip
    server.rotate()
    server.transaction(("delete", ORDERS, (3,)))
    server.export(lake, server.logs[2], whole=True)
    assert load(lake, output)[0] == 0
    assert [row["id"] for row in rows(output, ORDERS)] == [0, 1, 2, 4]


def test_a_base_that_cannot_be_read_leaves_the_table_as_it_was(tmp_path: Path, load: Load) -> None:
    server = server_with(3)
    lake, output = tmp_path / "lake", tmp_path / "tables"

    def viewed() -> list[tuple[Any, ...]]:
        with duckdb.connect() as views:
            views.execute((output / "views.sql").read_text())
            return views.execute("SELECT id, note FROM shop.orders ORDER BY id").fetchall()

    server.export(lake, server.logs[1], whole=True)
    load(lake, output)
    take_base(lake, (0, 1), gtid(server, "1-2"))
    [file] = [path for path in (lake / "changes").rglob("*.parquet") if "dump" in path.name]
    content = file.read_bytes()
    file.write_bytes(b"damaged")
    for _ in range(2):
        code, summary = load(lake, output)
        assert (code, "cannot be loaded" in summary["tables"][0]["error"]) == (1, True)
        assert viewed() == [(1, "logged"), (2, "logged"), (3, "logged")]
    file.write_bytes(content)
    assert load(lake, output)[0] == 0
    assert viewed() == [(0, "dumped"), (1, "dumped"), (2, "logged"), (3, "logged")]
