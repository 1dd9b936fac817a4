"""A synthetic data set of row changes, as large as asked: what ``binx load`` is measured with.

One large table, ``bench.orders``, whose rows are inserted, updated (full images) and deleted so that about a
quarter of the images' number is alive in the end, or many small ones like it. The files are written by the
contract of the data set and with the exporter's own encodings, straight from arrays: a server would need
hours to log as much.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.dataset.encoding import writer_settings
from binx.dataset.parquet_file import with_statistics

DB, TABLE, VERSION = "bench", "orders", "0a0b0c0d"
BASE, SERVER_ID, IDENTITY = "mysql-bin", 97, "5eed5eed"
ROWS_A_LOG = 500_000
ROWS_A_TRANSACTION = 20
_ROW_GROUP = 131_072
_BYTES_A_TRANSACTION = 2_000
_START = datetime(2026, 11, 1, tzinfo=UTC)
_STATES = ["new", "paid", "packed", "shipped", "returned"]
_CENT = Decimal("0.01")
_UTC = pa.timestamp("us", tz="UTC")
_CHANGES = ["insert", "update_preimage", "update_postimage", "delete"]
_INSERT, _BEFORE, _AFTER, _DELETE = range(4)
_COLUMNS = {
    "id": pa.int32(),
    "customer": pa.int32(),
    "state": pa.dictionary(pa.int32(), pa.string()),
    "amount": pa.decimal128(10, 2),
    "changed": pa.timestamp("us"),
    "note": pa.string(),
}


@dataclass(slots=True)
class Shop:
    """The table as it is after the logs that were written: which ids live, and their columns."""

    most: int
    seed: int = 1
    logs: int = 0
    ids: int = 0
    alive: np.ndarray[Any, Any] = field(init=False)
    amounts: np.ndarray[Any, Any] = field(init=False)
    states: np.ndarray[Any, Any] = field(init=False)
    changed: np.ndarray[Any, Any] = field(init=False)
    random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.alive = np.zeros(self.most, bool)
        self.amounts = np.zeros(self.most, np.int64)
        self.states = np.zeros(self.most, np.int8)
        self.changed = np.zeros(self.most, np.int64)
        self.random = np.random.default_rng(self.seed)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.alive.sum())

    def write_log(self, folder: Path, images: int = ROWS_A_LOG, *, recent: bool = False) -> None:
        """Let changes happen, and write them as the export of one binary log.

        Args:
            folder: the data set.
            images: how many row images, about.
            recent: whether only the newest rows are changed.
        """
        write_export(folder, self.logs + 1, {TABLE: self.changes(images, recent=recent)})

    def changes(self, images: int, *, recent: bool = False) -> pa.Table:
        """Let changes happen, as :meth:`write_log` writes them; of one image it is an update."""
        inserts, deletes = images * 3 // 10, images * 5 // 100
        updates = max((images - inserts - deletes) // 2, 1)
        new = np.arange(self.ids, self.ids + inserts)
        (live,) = np.nonzero(self.alive)
        if recent:
            live = live[-4 * (updates + deletes) :]
        old = self.random.choice(live, min(updates + deletes, len(live)), replace=False)
        deleted, updated = old[:deletes], old[deletes:]
        kinds = np.concatenate([np.full(len(new), 0), np.full(len(updated), 1), np.full(len(deleted), 2)])
        ids = np.concatenate([new, updated, deleted])
        order = self.random.permutation(len(ids))
        kinds, ids = kinds[order], ids[order]
        self.logs += 1
        self.ids += inserts
        return _Images.of(kinds).table(self, ids, kinds)


@dataclass(frozen=True, slots=True)
class _Images:
    """Which change each image belongs to, and the image's type; an update has two."""

    change: np.ndarray[Any, Any]
    type: np.ndarray[Any, Any]

    @classmethod
    def of(cls, kinds: np.ndarray[Any, Any]) -> _Images:
        change = np.repeat(np.arange(len(kinds)), np.where(kinds == 1, 2, 1))
        second = np.concatenate([[False], change[1:] == change[:-1]])
        kind = kinds[change]
        types = np.select([kind == 0, kind == 2, second], [_INSERT, _DELETE, _AFTER], _BEFORE)
        return cls(change, types.astype(np.int8))

    def table(self, shop: Shop, ids: np.ndarray[Any, Any], kinds: np.ndarray[Any, Any]) -> pa.Table:
        """The images as the exporter would write them; the shop goes on to the state after them."""
        count = len(ids)
        moment = np.arange(count) * 40 + shop.logs * 86_400_000_000 // 4
        amounts = shop.random.integers(100, 99_999_99, count)
        states = shop.random.integers(0, len(_STATES), count).astype(np.int8)
        before: dict[str, Any] = {
            "amounts": shop.amounts[ids],
            "states": shop.states[ids],
            "changed": shop.changed[ids],
        }
        after: dict[str, Any] = {"amounts": amounts, "states": states, "changed": moment}
        new = (self.type == _INSERT) | (self.type == _AFTER)
        values: dict[str, Any] = {
            name: np.where(new, after[name][self.change], before[name][self.change]) for name in after
        }
        shop.amounts[ids], shop.states[ids], shop.changed[ids] = amounts, states, moment
        shop.alive[ids] = kinds != 2
        row_ids = ids[self.change]
        transaction = self.change // ROWS_A_TRANSACTION
        scn = (shop.logs << 32) + 157 + transaction * _BYTES_A_TRANSACTION
        time = pa.array(
            int(_START.timestamp() * 1e6) + transaction * 40 * ROWS_A_TRANSACTION
            + shop.logs * (86_400_000_000 // 4), _UTC,
        )  # fmt: skip
        gtids = pa.array([
            f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{shop.logs * 1_000_000 + number}"
            for number in range(count // ROWS_A_TRANSACTION + 1)
        ])  # fmt: skip
        words = pa.array([
            f"leave it with the neighbours on the {side}, ring {times} times"
            for side in ("left", "right") for times in range(50)
        ])  # fmt: skip
        columns: dict[str, Any] = {
            "_change_type": pa.DictionaryArray.from_arrays(pa.array(self.type), pa.array(_CHANGES)),
            "_commit_version": pa.array(scn, pa.int64()),
            "_commit_timestamp": time,
            "_row": pa.array(self.change % ROWS_A_TRANSACTION, pa.int64()),
            "_transaction": gtids.take(pa.array(transaction, pa.int32())),
            "_event_timestamp": time,
            "_position": pa.array(scn & 0xFFFFFFFF, pa.int64()),
            "_statement": pa.array(self.change * 0, pa.int32()),
            "_present": pa.nulls(len(row_ids), pa.binary()),
            "id": pa.array(row_ids, pa.int32()),
            "customer": pa.array(row_ids * 7 % 100_003, pa.int32()),
            "state": pa.DictionaryArray.from_arrays(
                pa.array(values["states"], pa.int32()), pa.array(_STATES)
            ),
            "amount": pc.multiply(
                pa.array(values["amounts"], pa.int64()).cast(pa.decimal128(19, 0)),
                pa.scalar(_CENT, pa.decimal128(3, 2)),
            ).cast(pa.decimal128(10, 2)),
            "changed": pa.array(int(_START.timestamp() * 1e6) + values["changed"], pa.timestamp("us")),
            "note": pc.binary_join_element_wise(
                words.take(pa.array(row_ids % len(words))), _voucher(row_ids), "; voucher "
            ),
        }  # fmt: skip
        return pa.table(columns)


def _voucher(ids: np.ndarray[Any, Any]) -> pa.Array:
    """A text for each id that no compression foresees."""
    mixed = (ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(8)
    return pc.cast(pa.array(mixed), pa.string())


def write_export(folder: Path, number: int, changes: Mapping[str, pa.Table]) -> None:
    """Write a log's images by table, their schema records, and the manifest last."""
    name = f"{BASE}.{number:06}"
    source = f"{name}.{IDENTITY}"
    files: list[dict[str, Any]] = []
    counts: list[dict[str, Any]] = []
    sums: list[dict[str, Any]] = []
    for table, rows in changes.items():
        path = f"changes/{DB}/{table}/{source}-157-0.parquet"
        _write_changes(folder / path, rows)
        schema = f"schemas/{DB}/{table}/{VERSION}.json"
        _write_json(folder / schema, _schema_record(table))
        with (folder / path).open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        facts = {"db": DB, "table": table, "schema_version": VERSION}
        first, last = _commit_versions(rows)
        files += [
            {
                "path": path, "kind": "changes", **facts, "rows": rows.num_rows,
                "bytes": (folder / path).stat().st_size, "sha256": sha256, "partial_rows": 0,
                "first_commit_version": first, "last_commit_version": last,
            },
            {"path": schema, "kind": "schema", **facts},
        ]  # fmt: skip
        kinds = {one["values"]: one["counts"] for one in rows["_change_type"].value_counts().to_pylist()}
        counts.append({
            "db": DB, "table": table, "inserts": kinds.get("insert", 0),
            "updates": kinds.get("update_postimage", 0), "deletes": kinds.get("delete", 0),
        })  # fmt: skip
        sums.append({
            "db": DB, "table": table, "images": rows.num_rows, "written": rows.num_rows,
            "filtered": 0, "undecodable": 0,
        })  # fmt: skip
    versions = [_commit_versions(rows) for rows in changes.values()]
    times = pa.concat_arrays([rows["_commit_timestamp"].combine_chunks() for rows in changes.values()])
    document = {
        "contract": 1,
        "binx": "0.1.0",
        "source": {
            "name": name, "identity": IDENTITY, "file_number": number, "bytes": 0, "sha256": "0" * 64,
            "server_id": SERVER_ID, "server_version": "9.7.0", "flavour": "mysql", "create_timestamp": 0,
            "header_timestamp": int(_START.timestamp()) + number, "in_use": False,
        },
        "gtid_set": "",
        "first_commit_version": min(first for first, _ in versions),
        "last_commit_version": max(last for _, last in versions),
        "first_commit_timestamp": pc.min(times).as_py().isoformat(),
        "last_commit_timestamp": pc.max(times).as_py().isoformat(),
        "files": files,
        "tables": counts,
        "conservation": sums,
        "request": {"selection": {}},
        "losses": [],
    }  # fmt: skip
    _write_json(folder / "_manifest" / f"{source}.json", document)


def _write_changes(place: Path, rows: pa.Table) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    rows = rows.replace_schema_metadata({"binx.schema_version": VERSION})
    with pq.ParquetWriter(
        place,
        rows.schema,
        write_statistics=with_statistics(rows.schema),
        **writer_settings(rows.schema, rows),
    ) as writer:
        writer.write_table(rows, row_group_size=_ROW_GROUP)


def _commit_versions(rows: pa.Table) -> tuple[int, int]:
    """The first and the last of a log's images."""
    return rows["_commit_version"][0].as_py(), rows["_commit_version"][-1].as_py()


def _schema_record(table: str) -> dict[str, Any]:
    columns = [
        {"name": name, "source_name": name, "arrow_type": str(kind),
         "primary_key_position": 0 if name == "id" else None}
        for name, kind in _COLUMNS.items()
    ]  # fmt: skip
    return {
        "db": DB, "table": table, "valid_from": 1, "ddl": "", "primary_key": ["id"],
        "columns": columns, "warnings": [], "version": VERSION,
    }  # fmt: skip


def _write_json(path: Path, document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1), "utf-8")
