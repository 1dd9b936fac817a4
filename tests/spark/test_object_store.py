"""A load from and to an object store, without a rename; its lock is a file that each writer announces."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.errors import ExitCode, OutputError
from binx.spark.lake.place import Place
from tests.cli.process import binx
from tests.object_store import Bucket, object_store
from tests.spark.test_state import ORDERS, insert, orders

pytest.importorskip("pyspark")


def put(bucket: Bucket, folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            name = f"lake/{path.relative_to(folder).as_posix()}"
            bucket.client.put_object(Bucket=bucket.name, Key=name, Body=path.read_bytes())


def test_tables_are_loaded_from_and_to_an_object_store(tmp_path: Path) -> None:
    """In processes of its own: workers inherit credentials from the process that starts Java."""
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"))
    with object_store() as service:
        bucket = Bucket(service, "load")
        for number in (1, 2):
            server.export(tmp_path / "lake", server.logs[-1], whole=True)
            put(bucket, tmp_path / "lake")
            ended = binx("load", bucket.place("lake"), "-o", bucket.place("tables"), "--verify", "--json")
            assert ended.code == ExitCode.DONE, ended.err
            assert json.loads(ended.out)["load"] == number
            if number == 2:
                break
            server.rotate()
            server.transaction(("update", ORDERS, (1,), {"name": "x"}), insert(3), ("delete", ORDERS, (2,)))
        state = json.loads(bucket.read("tables/_state.json"))
        place = Place(bucket.place("tables"))
        [life] = state["lives"].values()
        files = [place.inside(file["path"]) for file in life["ranges"]]
        rows = pa.concat_tables(
            pq.read_table(path, filesystem=place.filesystem, partitioning=None) for path in files
        )
        found = [(row["id"], row["name"]) for row in rows.to_pylist()]
        assert sorted(found) == [(1, "x"), (3, None)]
        counted = {file["path"] for life in state["lives"].values() for file in life["ranges"]}
        counted |= {file["path"] for file in state["history"]} | set(state["garbage"])
        assert {name for name in bucket.contents("tables") if name.endswith(".parquet")} == counted
        assert not [name for name in bucket.contents("tables") if name.startswith(("_lock", "_pending"))]


def test_of_two_loads_one_gives_way() -> None:
    with object_store() as service:
        bucket = Bucket(service, "locks")
        place = Place(bucket.place("tables"))
        with place.locked(broken=False):
            with pytest.raises(OutputError, match="--break-lock"), place.locked(broken=False):
                pytest.fail("both hold it")
            with place.locked(broken=True):
                pass
        with place.locked(broken=False):
            pass
