"""The current state that a data set's changes lead to.

A second, plain reading of the data set: it knows Parquet and the rules of the data set's columns, and
nothing of the code that wrote them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from testdata.compare import as_integers

Row = dict[str, Any]
Key = tuple[Any, ...]

ORDER = {"delete": 0, "update_preimage": 0, "update_postimage": 1, "insert": 1}


def listed_files(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The entries of a kind in all manifests."""
    for path in sorted((folder / "_manifest").glob("*.json")):
        for entry in json.loads(path.read_text("utf-8"))["files"]:
            if entry["kind"] == kind:
                yield entry


def absent_values(folder: Path, entry: dict[str, Any]) -> dict[str, str | None]:
    """What the schema record of a file says that columns hold which an inserted row's image lacks."""
    version = pq.read_schema(folder / entry["path"]).metadata[b"binx.schema_version"].decode()
    for schema in listed_files(folder, "schema"):
        if (schema["db"], schema["table"]) == (entry["db"], entry["table"]) and version in schema["path"]:
            columns = json.loads((folder / schema["path"]).read_text("utf-8"))["columns"]
            told = {column["name"]: column["absent"] for column in columns if column["absent"] is not None}
            return {
                name: absent["misfit"] if absent["value"] is None else absent["value"]
                for name, absent in told.items()
            }
    raise AssertionError(f"no schema record {version}")


def changes(folder: Path, db: str, table: str) -> list[tuple[Row, list[str], dict[str, str | None]]]:
    """All row images of a table in order, each with its columns and what they hold where they are absent."""
    images: list[tuple[Row, list[str], dict[str, str | None]]] = []
    for entry in listed_files(folder, "changes"):
        if (entry["db"], entry["table"]) == (db, table):
            content = pq.read_table(folder / entry["path"], partitioning=None)
            columns = [name for name in content.column_names if not name.startswith("_")]
            plain = content.set_column(0, "_change_type", content.column(0).cast(pa.string()))
            rows = to_rows(plain)
            absent = absent_values(folder, entry)
            images += [(row, columns, absent) for row in rows]
    images.sort(
        key=lambda image: (image[0]["_commit_version"], image[0]["_row"], ORDER[image[0]["_change_type"]])
    )
    return images


def to_rows(content: pa.Table) -> list[Row]:
    """Rows as Python values; times stay integers of microseconds, which Python's types cannot all hold."""
    fields = [as_integers(content.column(name)) for name in content.column_names]
    rows: list[Row] = pa.table(fields, names=content.column_names).to_pylist()
    return rows


def undone(folder: Path) -> set[str]:
    """Transactions that were prepared and rolled back later."""
    prepared: dict[str, str] = {}
    rolled_back: set[str] = set()
    statements = [
        row
        for entry in listed_files(folder, "statements")
        for row in pq.read_table(folder / entry["path"])
        .select(["commit_version", "transaction", "sql"])
        .to_pylist()
    ]
    for row in sorted(statements, key=lambda row: row["commit_version"]):
        if row["sql"].startswith("XA PREPARE "):
            prepared[row["sql"].removeprefix("XA PREPARE ")] = row["transaction"]
        elif row["sql"].startswith("XA ROLLBACK "):
            rolled_back.add(prepared.get(row["sql"].removeprefix("XA ROLLBACK "), ""))
    return rolled_back


def plain(value: Any) -> Any:
    """Spatial and vector values as the bytes that the server stores."""
    if isinstance(value, dict):
        return int(value["srid"]).to_bytes(4, "little") + value["wkb"]
    if isinstance(value, list):
        return pa.array(value, pa.float32()).buffers()[1].to_pybytes()[: 4 * len(value)]
    return value


def current_state(folder: Path, db: str, table: str, key: list[str]) -> list[Row]:
    """The rows that are left, as the last image of each has them; misfits as their text."""
    state: dict[Key, Row] = {}
    rolled_back = undone(folder)
    for row, columns, absent in changes(folder, db, table):
        if row["_transaction"] in rolled_back:
            continue
        misfits = dict(row.get("_misfits") or [])
        present = row["_present"]
        texts = {
            name: misfits.get(name, plain(row[name]))
            for place, name in enumerate(columns)
            if present is None or present[place // 8] >> (place % 8) & 1
        }
        if row["_change_type"] in ("delete", "update_preimage"):
            moved = state.pop(tuple(texts[name] for name in key), {})
        else:
            before = moved if row["_change_type"] == "update_postimage" else absent
            merged = {name: texts.get(name, before.get(name)) for name in columns}
            state[tuple(merged[name] for name in key)] = merged
    return list(state.values())
