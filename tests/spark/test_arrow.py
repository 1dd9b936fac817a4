"""History that goes through Arrow is the one that Spark's writer makes, and in order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.spark.loading.arrow import write_history
from tests.spark.conftest import Load
from tests.spark.dataset import Server
from tests.spark.test_state import ORDERS, Rows

FIELDS = [
    ("id", pa.int32()), ("big", pa.uint64()), ("small", pa.int16()), ("price", pa.decimal128(10, 2)),
    ("ratio", pa.float64()), ("flag", pa.bool_()), ("day", pa.date32()), ("at", pa.timestamp("us")),
    ("seen", pa.timestamp("us", "UTC")), ("took", pa.duration("us")), ("name", pa.string()),
    ("state", pa.dictionary(pa.int32(), pa.string())), ("raw", pa.binary()), ("doc", pa.json_()),
    ("place", pa.struct([("srid", pa.uint32()), ("wkb", pa.binary())])), ("vector", pa.list_(pa.float32())),
]  # fmt: skip


def row(number: int) -> dict[str, Any]:
    return {
        "id": number, "big": (1 << 64) - 1 - number, "small": -number, "price": Decimal(number) / 4,
        "ratio": number / 3, "flag": number % 2 == 0, "day": date(2026, 1, 1 + number % 28),
        "at": datetime(1, 1, 1) + timedelta(days=number), "seen": datetime(2026, 1, 1, tzinfo=UTC),
        "took": timedelta(hours=-number), "name": f"n{number}", "state": "abc"[number % 3],
        "raw": bytes([number]), "doc": f'{{"n": {number}}}', "place": {"srid": 4326, "wkb": b"\x01"},
        "vector": [float(number), 0.5],
    }  # fmt: skip


def busy() -> Server:
    """Updates that keep the key, and one that moves a row; columns that come later; two days."""
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    for number in range(12):
        server.transaction(("insert", ORDERS, row(number)), ("update", ORDERS, (number,), {"small": 7}))
        if number % 4 == 3:
            server.rotate()
    server.transaction(("update", ORDERS, (3,), {"id": 103, "name": None}), ("delete", ORDERS, (5,)))
    server.rotate()
    server.alter(ORDERS, "ALTER TABLE orders ADD note text", [*FIELDS, ("note", pa.string())])
    server.transaction(
        ("insert", ORDERS, {**row(20), "note": "new"}), ("update", ORDERS, (1,), {"note": "x"})
    )
    return server


def contents(output: Path) -> tuple[list[Any], list[Any]]:
    """The columns of a table's history with their types, and its rows in the order of the changes."""
    files = output / "shop" / "orders" / "history" / "**" / "*.parquet"
    source = f"read_parquet('{files}', union_by_name = true, hive_partitioning = true)"
    order = "_commit_version, _row, _change_type <> 'update_preimage'"
    found = duckdb.execute(f"SELECT * FROM {source} ORDER BY {order}")
    return [(one[0], str(one[1])) for one in found.description], found.fetchall()


Both = Callable[[Server], tuple[dict[str, Any], dict[str, Any]]]


@pytest.fixture
def both(tmp_path: Path, load: Load) -> Both:
    """Load a server's logs in two pieces, once by Spark's writer and once through Arrow."""

    def twice(server: Server, name: str) -> dict[str, Any]:
        summary: dict[str, Any] = {}
        for logs in (server.logs[:2], server.logs):
            for log in logs:
                server.export(tmp_path / name, log)
            code, summary = load(tmp_path / name, tmp_path / f"{name} out")
            assert code == 0, summary
        return summary

    def both(server: Server) -> tuple[dict[str, Any], dict[str, Any]]:
        written: list[int] = []

        def write(*given: Any) -> dict[str, Any]:
            figures = write_history(*given)
            written.append(figures["rows"])
            return figures

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("binx.spark.loading.history.goes_through_arrow", lambda *_: False)
            by_spark = twice(server, "spark")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("binx.spark.loading.history.write_history", write)
            by_arrow = twice(server, "arrow")
        assert written[1] == by_arrow["tables"][0]["loaded"]
        return by_spark, by_arrow

    return both


def test_rows_types_and_figures_are_those_of_sparks_writer(tmp_path: Path, both: Both, rows: Rows) -> None:
    server = busy()
    by_spark, by_arrow = both(server)
    kept = {"output": "", "seconds": 0}
    assert {**by_arrow, **kept} == {**by_spark, **kept}
    assert contents(tmp_path / "arrow out") == contents(tmp_path / "spark out")
    assert rows(tmp_path / "arrow out", ORDERS) == rows(tmp_path / "spark out", ORDERS)
    folder = tmp_path / "arrow out/shop/orders/history"
    assert {path.name for path in folder.iterdir()} == {"commit_date=2026-11-20", "commit_date=2026-11-21"}
    for path in folder.rglob("*.parquet"):
        places = pq.read_table(path, columns=["_commit_version", "_row", "_change_type"]).to_pylist()
        in_order = [(one["_commit_version"], one["_row"], one["_change_type"][-9:]) for one in places]
        assert in_order == sorted(in_order, key=lambda one: (one[0], one[1], one[2] == "postimage"))


def test_a_key_that_moves_is_seen(tmp_path: Path, both: Both, rows: Rows) -> None:
    server = busy()
    both(server)
    ids = [row["id"] for row in rows(tmp_path / "arrow out", ORDERS)]
    assert sorted(ids) == sorted(key[0] for key in server.tables[ORDERS])
    assert 103 in ids
    assert 3 not in ids
