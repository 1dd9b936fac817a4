"""The folder that MySQL Shell's dump utilities write is a base.

The folders are made here by its documentation, and hold no byte that a Shell wrote.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard

from binx.base.importing import import_bases
from binx.dataset.options import ParquetOptions
from binx.errors import BinxError

SQL = """-- MySQLShell dump 2.0.1  Distrib Ver 8.4.0 for Linux on x86_64
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
CREATE TABLE IF NOT EXISTS `orders` (
  `id` int NOT NULL,
  `note` varchar(50) DEFAULT NULL,
  `bytes` varbinary(20) DEFAULT NULL,
  `bits` bit(12) DEFAULT NULL,
  `at` timestamp NULL DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
"""
GTIDS = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77"
COLUMNS = ["id", "note", "bytes", "bits", "at"]
OPTIONS = {
    "schema": "shop", "table": "orders", "columns": COLUMNS, "compression": "zstd",
    "decodeColumns": {"bytes": "FROM_BASE64", "bits": "UNHEX"}, "defaultCharacterSet": "utf8mb4",
    "fieldsTerminatedBy": "\t", "fieldsEnclosedBy": "", "fieldsOptionallyEnclosed": False,
    "fieldsEscapedBy": "\\", "linesTerminatedBy": "\n",
}  # fmt: skip
BYTES = base64.b64encode(b"\0\tx").decode()
CHUNKS = {
    "shop@orders@0.tsv.zst": [
        ("1", r"a\tb\\\n", BYTES, "0ABC", "2026-11-24 03:00:00"),
        ("2", r"\N", r"\N", r"\N", r"\N"),
    ],
    "shop@orders@1.tsv.zst": [],
    "shop@orders@@2.tsv.zst": [("3", "", "", "0001", "0000-00-00 00:00:00")],
}


class Folder:
    """A dump of one table; its notes may be changed before it is written."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[str, Any]] = {
            "@.json": {
                "dumper": "mysqlsh Ver 8.4.0", "version": "2.0.1", "schemas": ["shop"], "tzUtc": True,
                "basenames": {"shop": "shop"}, "serverVersion": "8.4.0", "consistent": True,
                "binlogFile": "mysql-bin.000003", "binlogPosition": 4711, "gtidExecuted": GTIDS,
            },
            "@.done.json": {"end": "2026-11-24 03:00:01", "chunkFileBytes": dict.fromkeys(CHUNKS, 10)},
            "shop.json": {"schema": "shop", "tables": ["orders"], "basenames": {"orders": "shop@orders"}},
            "shop@orders.json": {
                "options": dict(OPTIONS), "includesData": True, "includesDdl": True, "extension": "tsv.zst",
            },
        }  # fmt: skip

    def write(self, folder: Path) -> Path:
        folder.mkdir()
        for name, notes in self.notes.items():
            (folder / name).write_text(json.dumps(notes))
        (folder / "shop@orders.sql").write_text(SQL)
        for name, lines in CHUNKS.items():
            text = "".join("\t".join(fields) + "\n" for fields in lines)
            (folder / name).write_bytes(zstandard.compress(text.encode()))
        return folder


def taken(tmp_path: Path, folder: Path) -> dict[str, Any]:
    (report,) = import_bases([str(folder)], str(tmp_path / "lake"), ParquetOptions())
    return report.manifest


def test_rows_of_all_chunks_are_values_of_their_columns(tmp_path: Path) -> None:
    manifest = taken(tmp_path, Folder().write(tmp_path / "dump"))
    assert manifest["base"] == {
        "tool": "MySQL Shell", "file": "mysql-bin.000003", "position": 4711, "gtids": GTIDS,
    }  # fmt: skip
    assert manifest["source"]["server_version"] == "8.4.0"
    (path,) = (tmp_path / "lake" / "changes" / "shop" / "orders").iterdir()
    rows = pq.ParquetFile(path).read().to_pylist()
    assert [tuple(row[name] for name in COLUMNS[:4]) for row in rows] == [
        (1, "a\tb\\\n", b"\0\tx", 0xABC), (2, None, None, None), (3, "", b"", 1),
    ]  # fmt: skip
    assert rows[0]["at"].isoformat() == "2026-11-24T03:00:00+00:00"
    assert dict(rows[2]["_misfits"]) == {"at": "0000-00-00 00:00:00"}
    assert [row["_row"] for row in rows] == [0, 1, 2]


def test_partitions_have_files_of_their_own(tmp_path: Path) -> None:
    made = Folder()
    made.notes["shop@orders.json"]["basenames"] = {"p0": "shop@orders@p0"}
    made.notes["@.done.json"]["chunkFileBytes"] = {"shop@orders@p0@@0.tsv.zst": 10}
    folder = made.write(tmp_path / "dump")
    (folder / "shop@orders@p0@@0.tsv.zst").write_bytes(zstandard.compress(b"7\t\\N\t\\N\t\\N\t\\N\n"))
    assert taken(tmp_path, folder)["tables"] == [
        {"db": "shop", "table": "orders", "inserts": 1, "updates": 0, "deletes": 0}
    ]


def test_a_table_without_rows_is_left_out_and_named(tmp_path: Path) -> None:
    made = Folder()
    made.notes["shop@orders.json"]["includesData"] = False
    assert taken(tmp_path, made.write(tmp_path / "dump"))["losses"] == [
        "shop.orders: its rows are left out, because the dump has only its CREATE TABLE"
    ]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda made: made.notes.pop("@.done.json"), "is not there: the dump is not whole"),
        (
            lambda made: made.notes["@.done.json"]["chunkFileBytes"].update({"shop@orders@@9.tsv.zst": 1}),
            "cannot be read",
        ),
        (lambda made: made.notes["@.done.json"]["chunkFileBytes"].clear(), "expected files with the rows of"),
        (lambda made: made.notes["@.json"].update(tzUtc=False), "make it with tzUtc"),
        (
            lambda made: made.notes["shop@orders.json"]["options"].update(fieldsTerminatedBy=","),
            "in the default dialect",
        ),
        (
            lambda made: made.notes["shop@orders.json"]["options"].update(columns=COLUMNS[:4]),
            "as many fields as the table has columns",
        ),
        (
            lambda made: made.notes["shop@orders.json"]["options"].update(decodeColumns={"bytes": "ROT13"}),
            "found ROT13",
        ),
        (lambda made: made.notes["shop.json"].update(tables="orders"), "expected tables in the notes of"),
    ],
)
def test_what_is_not_whole_or_not_understood_is_refused(
    tmp_path: Path, spoil: Callable[[Folder], object], message: str
) -> None:
    made = Folder()
    spoil(made)
    with pytest.raises(BinxError, match=message):
        taken(tmp_path, made.write(tmp_path / "dump"))
    assert not list((tmp_path / "lake").glob("_manifest/*.json"))
