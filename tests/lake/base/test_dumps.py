"""Backups as the base of a data set: dumps of mysqldump, and folders of MySQL Shell."""

from __future__ import annotations

import base64
import gzip
import hmac
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard

from binx.cli.run import run
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.errors import AbsentError, BinxError, UsageError
from binx.kernels.text.tuples import Encoding, TupleColumns
from binx.lake.base import dump_text
from binx.lake.base.importing import import_bases
from binx.log.selection.times import parse_time

DUMP = r"""-- MySQL dump 10.13  Distrib 9.7.0
-- Host: localhost    Database: shop
-- Server version	9.7.0
/*!50503 SET NAMES utf8mb4 */;
/*!40103 SET TIME_ZONE='+00:00' */;
-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='mysql-bin.000003', SOURCE_LOG_POS=4711;
DROP TABLE IF EXISTS `orders`;
CREATE TABLE `orders` (`id` int NOT NULL, `note` text, `at` timestamp NULL DEFAULT NULL,
  `twice` int GENERATED ALWAYS AS (`id` * 2) STORED, PRIMARY KEY (`id`)) DEFAULT CHARSET=utf8mb4;
--
-- Dumping data for table `orders`
--

INSERT INTO `orders` (`id`, `note`, `at`) VALUES (1,'a; INSERT INTO `orders` VALUES (','2026-11-24 03:00:00'),
(2,'b\'\\',NULL);
INSERT INTO `orders` (`id`, `note`, `at`) VALUES (3,NULL,'0000-00-00 00:00:00');
/*!50001 CREATE TABLE `seen` (`id` tinyint NOT NULL) ENGINE=MyISAM */;
DELIMITER ;;
/*!50003 CREATE TRIGGER `told` BEFORE INSERT ON `orders` FOR EACH ROW BEGIN
INSERT INTO `log` VALUES (1);
END */;;
DELIMITER ;
/*!50001 DROP TABLE IF EXISTS `seen`*/;
/*!50001 CREATE VIEW `seen` AS SELECT 1 */;
CREATE TABLE `log` (`id` int PRIMARY KEY);
--
-- Dumping data for table `log`
--
-- Dump completed
"""


def imported(tmp_path: Path, text: str | bytes, *tables: str) -> dict[str, Any]:
    """The manifest of a dump that is taken in."""
    dump = tmp_path / "dump.sql"
    dump.parent.mkdir(exist_ok=True)
    dump.write_bytes(text.encode() if isinstance(text, str) else text)
    (report,) = import_bases([str(dump)], str(tmp_path / "lake"), ParquetOptions(), tables=tables)
    return report.manifest


def rows_of(tmp_path: Path) -> list[dict[str, Any]]:
    (path,) = (tmp_path / "lake" / "changes" / "shop" / "orders").iterdir()
    rows: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
    return rows


@pytest.mark.parametrize("read_bytes", [1, 7, 64, 1 << 20])
def test_it_does_not_matter_how_much_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_bytes: int
) -> None:
    monkeypatch.setattr(dump_text, "_READ_BYTES", read_bytes)
    manifest = imported(tmp_path, DUMP)
    assert manifest["base"] == {
        "tool": "mysqldump", "file": "mysql-bin.000003", "position": 4711, "gtids": "",
        "written": manifest["base"]["written"],
    }  # fmt: skip
    rows = rows_of(tmp_path)
    assert [(row["id"], row["note"], row["twice"]) for row in rows] == [
        (1, "a; INSERT INTO `orders` VALUES (", None), (2, "b'\\", None), (3, None, None),
    ]  # fmt: skip
    assert {row["_commit_version"] for row in rows} == {(3 << 32 | 4711) - 1}
    assert {row["_present"] for row in rows} == {b"\x07"}
    assert dict(rows[2]["_misfits"]) == {"at": "0000-00-00 00:00:00"}
    (path,) = (tmp_path / "lake" / "statements").iterdir()
    effects_lists = pq.ParquetFile(path).read().column("effects").to_pylist()
    assert [effect["table"] for effects in effects_lists for effect in effects] == ["orders", "log"]


def test_only_a_part_of_a_dump_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_text, "_READ_BYTES", 4096)
    rows = ",".join(f"({number},NULL,NULL)" for number in range(4, 40_000))
    dump = tmp_path / "dump.sql"
    dump.write_text(
        DUMP.replace("/*!50001", f"INSERT INTO `orders` (`id`, `note`, `at`) VALUES {rows};\n/*!50001", 1)
    )
    largest = 0
    with dump_text.open_text(str(dump)) as text:
        for statement in text.statements():
            if isinstance(statement, dump_text.Insert):
                columns = TupleColumns([Encoding.PLAIN] * 3)
                columns.begin()
                while not text.rows(columns, 100, 1 << 20):
                    columns.finish()
                    largest = max(largest, len(text._window))
    assert 0 < largest <= 3 * 4096


def test_a_dump_is_taken_once(tmp_path: Path) -> None:
    imported(tmp_path, DUMP)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "lake").rglob("*.parquet")}
    imported(tmp_path, DUMP)
    assert written == {path: path.stat().st_mtime_ns for path in (tmp_path / "lake").rglob("*.parquet")}
    assert DataSet(tmp_path / "lake").forget("dump.sql")
    assert not list((tmp_path / "lake").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("changed", "written"), [("2001-01-01", "23T13"), ("2026-11-24", "24T00"), ("2030-01-01", "24T17")]
)
def test_a_dump_was_written_within_a_day_of_what_it_notes(tmp_path: Path, changed: str, written: str) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(DUMP.replace("-- Dump completed", "-- Dump completed on 2026-11-24  3:00:00"))
    os.utime(dump, (parse_time(changed) // 1_000_000,) * 2)
    (report,) = import_bases([str(dump)], str(tmp_path / "lake"), ParquetOptions())
    assert report.manifest["base"]["written"] == f"2026-11-{written}:00:00Z"


def test_gtids_at_the_end_of_a_compressed_dump_are_found(tmp_path: Path) -> None:
    text = DUMP + "-- Preferably use GTID\n\n-- SET GLOBAL gtid_slave_pos='0-10-131';\n"
    manifest = imported(tmp_path, gzip.compress(text.encode()))
    assert (manifest["base"]["position"], manifest["base"]["gtids"]) == (4711, "0-10-131")


def test_a_folder_of_mydumper_is_one_backup(tmp_path: Path) -> None:
    """Text is in the character sets of columns there, strings have double quotes, rows lines of their own."""
    folder = tmp_path / "backup"
    folder.mkdir()
    head = "/*!40101 SET NAMES binary*/;\n/*!40103 SET TIME_ZONE='+00:00' */;\n"
    sql = "CREATE TABLE `or.ders` (`id` int PRIMARY KEY, `a` text CHARSET latin1, `b` text CHARSET utf8mb4);"
    (folder / "metadata").write_text(
        "Started dump at: 2026-11-24 04:51:40\nSHOW MASTER STATUS:\n\tLog: mysql-bin.000001\n\tPos: 63730\n"
        "\tGTID:0-10-131\n\nFinished dump at: 2026-11-24 04:51:40\n"
    )
    (folder / "shop.x-schema-create.sql").write_text("CREATE DATABASE `shop.x`;\n")
    (folder / "shop.x.or.ders-schema.sql.gz").write_bytes(gzip.compress((head + sql).encode()))
    (folder / "shop.x.or.ders-schema-triggers.sql").write_text("CREATE TRIGGER t BEFORE DELETE ON x;\n")
    (folder / "shop.x.seen-schema.sql").write_text("CREATE TABLE `seen` (`id` int);\n")
    (folder / "shop.x.seen-schema-view.sql").write_text(
        "DROP TABLE `seen`;\nCREATE VIEW `seen` AS SELECT 1;\n"
    )
    with pytest.raises(AbsentError, match="--no-data"):
        list(import_bases([str(folder)], str(tmp_path / "lake"), ParquetOptions()))
    for chunk, row in enumerate(((1, "é"), (2, "\\\"\\\\N\\'"))):
        number, text = row
        rows = (
            f'INSERT INTO `or.ders` VALUES\n({number},"'.encode()
            + text.encode("latin-1")
            + f'","{text}")\n;\n'.encode()
        )
        path = folder / f"shop.x.or.ders.0000{chunk}.sql.zst"
        path.write_bytes(zstandard.compress(head.encode() + rows))
    (report,) = import_bases([str(folder)], str(tmp_path / "lake"), ParquetOptions())
    assert report.manifest["base"]["gtids"] == "0-10-131"
    assert report.manifest["source"]["flavour"] == "mariadb"
    (path,) = (tmp_path / "lake" / "changes" / "shop.x" / "or.ders").iterdir()
    rows_there = pq.ParquetFile(path).read().select(["id", "a", "b", "_row"]).to_pylist()
    assert [tuple(row.values()) for row in rows_there] == [(1, "é", "é", 0), (2, "\"\\N'", "\"\\N'", 1)]
    (path,) = (tmp_path / "lake" / "statements").iterdir()
    assert len(pq.ParquetFile(path).read()) == 1


def test_rows_of_a_table_that_come_again_after_others_are_all_there(tmp_path: Path) -> None:
    last = "INSERT INTO `orders` (`id`, `note`, `at`) VALUES (3,NULL,'0000-00-00 00:00:00');\n"
    assert last in DUMP
    manifest = imported(
        tmp_path,
        DUMP.replace(last, "").replace(
            "-- Dumping data for table `log`\n--\n",
            "-- Dumping data for table `log`\n--\nINSERT INTO `log` VALUES (1);\n" + last,
        ),
    )
    files = [entry for entry in manifest["files"] if entry.get("table") == "orders" and "rows" in entry]
    paths = [tmp_path / "lake" / entry["path"] for entry in files]
    assert [entry["rows"] for entry in files] == [pq.read_metadata(path).num_rows for path in paths]
    rows = [row for path in paths for row in pq.ParquetFile(path).read(["id", "_row"]).to_pylist()]
    assert sorted((row["id"], row["_row"]) for row in rows) == [(1, 0), (2, 1), (3, 2)]


@pytest.mark.parametrize(
    ("pattern", "taken_in"),
    [("`a.b`.c", ("a.b", "c")), ("a.`b.c`", ("a", "b.c")), ("a.*", ("a", "b.c")), ("a.?*.c", None)],
)
def test_names_with_dots_are_distinguished(
    tmp_path: Path, pattern: str, taken_in: tuple[str, str] | None
) -> None:
    table = (
        "CREATE TABLE {0} (id int PRIMARY KEY);\n-- Dumping data for table {0}\nINSERT INTO {0} VALUES (1);\n"
    )
    tables = "USE `a.b`;\n" + table.format("`c`") + "USE a;\n" + table.format("`b.c`")
    dump = DUMP[: DUMP.index("DROP ")] + tables + "-- Dump completed\n"
    if taken_in is None:
        with pytest.raises(UsageError, match=r"expected DB\.TABLE"):
            imported(tmp_path, dump, pattern)
        return
    files = imported(tmp_path, dump, pattern)["files"]
    assert [(file["db"], file["table"]) for file in files if file["kind"] == "changes"] == [taken_in]


def test_only_tables_that_are_asked_for_are_taken(tmp_path: Path) -> None:
    with pytest.raises(AbsentError):
        imported(tmp_path, DUMP, "shop.*", "shop.customers")
    manifest = imported(tmp_path, DUMP, "shop.l*")
    assert not [entry for entry in manifest["files"] if entry["kind"] == "changes"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("NAMES utf8mb4", "NAMES latin1", "--default-character-set"),
        ("SET TIME_ZONE", "SET @old_zone", "--skip-tz-utc"),
        ("CREATE TABLE `orders`", "CREATE TABLE `other`", "--no-create-info"),
        ("(`id`, `note`, `at`)", "(`id`, `note`, `when`)", "columns of shop.orders"),
        ("-- CHANGE", "-- chance", "--source-data"),
        ("(2,'b", "(2,now(),'b", "expected a value"),
        ("(2,'b", "('two','b", "column id of shop.orders: .*two"),
        ("INTO `orders`", 'INTO "orders"', "--compatible"),
        ("-- Dump completed", "", "cut off"),
        ("CREATE TABLE", "CREATE VIEW", "--no-create-info"),
        ("-- Host: localhost    Database: shop", "", "with --databases"),
    ],
)
def test_what_cannot_be_taken_is_refused_as_a_whole(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    with pytest.raises(BinxError, match=expected):
        imported(tmp_path, DUMP.replace(old, new))
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("(-- Dumping data for table `orders`\n--\n)", r"\1-- WHERE:  id < 10\n", "WHERE:  id < 10"),
        ("-- Dumping data for table `orders`|INSERT INTO `orders` .*?;\n", "", "only its CREATE TABLE"),
        ("-- MySQL dump|INSERT INTO `orders` .*?;\n|-- Dumping data for table `orders`", "-- ", "only its"),
        (r"\(`id`, (`note`, `at`\) VALUES \()\d,", r"(\1", "lacks columns of its key"),
    ],
)
def test_a_table_that_is_there_in_part_is_left_out(tmp_path: Path, old: str, new: str, reason: str) -> None:
    text = re.sub(old, new, DUMP, flags=re.DOTALL)
    manifest = imported(tmp_path, text.replace("(2,'b", "('b") if "key" in reason else text)
    [loss] = manifest["losses"]
    assert loss.startswith("shop.orders: ")
    assert reason in loss
    assert not [entry for entry in manifest["files"] if entry["kind"] == "changes"]
    (path,) = (tmp_path / "lake" / "statements").iterdir()
    effects_lists = pq.ParquetFile(path).read().column("effects").to_pylist()
    assert [effect["table"] for effects in effects_lists for effect in effects] == ["log"]


def test_a_table_with_rows_is_taken_without_a_comment_about_them(tmp_path: Path) -> None:
    manifest = imported(tmp_path, DUMP.replace("-- Dumping data for table `orders`", "-- nothing"))
    assert manifest["losses"] == []
    assert [entry["rows"] for entry in manifest["files"] if entry["kind"] == "changes"] == [3]


def test_a_sequence_is_no_table(tmp_path: Path) -> None:
    text = DUMP.replace("CREATE TABLE `log`", "CREATE SEQUENCE `s`;\nCREATE TABLE `log`")
    assert not imported(tmp_path, text)["losses"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_dump_that_is_cut_off_is_refused(tmp_path: Path, mark: str) -> None:
    text = f"{mark}{DUMP}".encode()
    assert imported(tmp_path / "whole", text)["losses"] == []
    for size in range(text.index(b"DROP TABLE"), text.index(b"-- Dump completed"), 3):
        with pytest.raises(BinxError):
            imported(tmp_path, text[:size])


@pytest.mark.parametrize(("raw", "text"), [(False, b"b\xff"), (True, b"\xc3")])
def test_bytes_that_are_no_text_are_counted_as_losses(tmp_path: Path, raw: bool, text: bytes) -> None:
    dump = DUMP.encode().replace(b"b\\'", text)
    manifest = imported(tmp_path, dump.replace(b"NAMES utf8mb4", b"NAMES binary") if raw else dump)
    assert [row["note"] for row in rows_of(tmp_path)][1] == f"{'' if raw else 'b'}\\x{text[-1]:x}\\"
    (loss,) = manifest["losses"]
    assert loss.startswith("shop.orders: 1 value of column note with bytes that are not valid")


@pytest.mark.parametrize(
    ("names", "charset", "losses"), [("utf8", "utf8mb4", 1), ("utf8", "latin1", 0), ("utf8mb4", "utf8mb4", 0)]
)
def test_values_that_a_dump_in_utf8_may_not_have_whole_are_losses(
    tmp_path: Path, names: str, charset: str, losses: int
) -> None:
    """As mysqldump writes it by default up to MySQL 5.7; what utf8 lacks is ? there."""
    dump = DUMP.replace("NAMES utf8mb4", f"NAMES {names}").replace("CHARSET=utf8mb4", f"CHARSET={charset}")
    found = imported(tmp_path, dump.replace("(3,NULL,", "(3,'is it?',"))["losses"]
    told = "shop.orders: 1 value of column note with ?, which the dump also has for characters beyond U+FFFF"
    assert [loss.partition(",")[0] for loss in found] == [told.partition(",")[0]] * losses


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


def imported_by_shell(tmp_path: Path, folder: Path) -> dict[str, Any]:
    (report,) = import_bases([str(folder)], str(tmp_path / "lake"), ParquetOptions())
    return report.manifest


def test_rows_of_all_chunks_are_values_of_their_columns(tmp_path: Path) -> None:
    manifest = imported_by_shell(tmp_path, Folder().write(tmp_path / "dump"))
    assert manifest["base"] == {
        "tool": "MySQL Shell", "file": "mysql-bin.000003", "position": 4711, "gtids": GTIDS,
        "written": manifest["base"]["written"],
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
    dump = Folder()
    dump.notes["shop@orders.json"]["basenames"] = {"p0": "shop@orders@p0"}
    dump.notes["@.done.json"]["chunkFileBytes"] = {"shop@orders@p0@@0.tsv.zst": 10}
    folder = dump.write(tmp_path / "dump")
    (folder / "shop@orders@p0@@0.tsv.zst").write_bytes(zstandard.compress(b"7\t\\N\t\\N\t\\N\t\\N\n"))
    assert imported_by_shell(tmp_path, folder)["tables"] == [
        {"db": "shop", "table": "orders", "inserts": 1, "updates": 0, "deletes": 0}
    ]


def test_a_table_without_rows_is_left_out_and_named(tmp_path: Path) -> None:
    dump = Folder()
    dump.notes["shop@orders.json"]["includesData"] = False
    assert imported_by_shell(tmp_path, dump.write(tmp_path / "dump"))["losses"] == [
        "shop.orders: its rows are left out, because the dump has only its CREATE TABLE"
    ]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda dump: dump.notes.pop("@.done.json"), "is not there: the dump is not whole"),
        (
            lambda dump: dump.notes["@.done.json"]["chunkFileBytes"].update({"shop@orders@@9.tsv.zst": 1}),
            "cannot be read",
        ),
        (lambda dump: dump.notes["@.done.json"]["chunkFileBytes"].clear(), "expected files with the rows of"),
        (lambda dump: dump.notes["@.json"].update(tzUtc=False), "make it with tzUtc"),
        (
            lambda dump: dump.notes["shop@orders.json"]["options"].update(fieldsTerminatedBy=","),
            "in the default dialect",
        ),
        (
            lambda dump: dump.notes["shop@orders.json"]["options"].update(columns=COLUMNS[:4]),
            "as many fields as the table has columns",
        ),
        (
            lambda dump: dump.notes["shop@orders.json"]["options"].update(decodeColumns={"bytes": "ROT13"}),
            "found ROT13",
        ),
        (lambda dump: dump.notes["shop.json"].update(tables="orders"), "expected tables in the notes of"),
    ],
)
def test_what_is_not_whole_or_not_understood_is_refused(
    tmp_path: Path, spoil: Callable[[Folder], object], message: str
) -> None:
    dump = Folder()
    spoil(dump)
    with pytest.raises(BinxError, match=message):
        imported_by_shell(tmp_path, dump.write(tmp_path / "dump"))
    assert not list((tmp_path / "lake").glob("_manifest/*.json"))


SECRET = b"a secret of over 16 bytes"


def test_rules_about_personal_data_apply_to_backups_as_to_logs(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(DUMP, "utf-8")
    (tmp_path / "key").write_bytes(SECRET)
    lake = tmp_path / "lake"
    command = ["base", str(tmp_path / "dump.sql"), "-o", str(lake), "--quiet"]
    rules = ["--hash-columns", "shop.orders.note", "--drop-columns", "shop.orders.at"]
    rules += ["--hash-key", str(tmp_path / "key")]
    assert run([*command, *rules]) == 0
    [file] = lake.glob("changes/shop/orders/*.parquet")
    rows = pq.read_table(file, partitioning=None).to_pylist()
    notes = (b"a; INSERT INTO `orders` VALUES (", b"b'\\")
    expected = [hmac.new(SECRET, note, "sha256").hexdigest() for note in notes]
    assert [row["note"] for row in rows] == [*expected, None]
    assert "at" not in rows[0]
    assert not any("0000-00-00" in repr(row) for row in rows)
    [statements] = lake.glob("statements/*.parquet")
    texts = pq.read_table(statements, columns=["sql"]).column("sql").to_pylist()
    assert not any(text and "`note`" in text for text in texts)
    [manifest] = lake.glob("_manifest/*.json")
    assert json.loads(manifest.read_text("utf-8"))["rules_matched"] == ["shop.orders.at", "shop.orders.note"]


def test_a_rule_whose_column_a_backup_lacks_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(DUMP, "utf-8")
    command = ["base", str(tmp_path / "dump.sql"), "-o", str(tmp_path / "lake"), "--quiet"]
    assert run([*command, "--drop-columns", "shop.orders.nota"]) == 3
    assert not list((tmp_path / "lake").rglob("*.parquet"))
    assert run([*command, "--drop-columns", "shop.orders.nota", "--allow-unmatched-rules"]) == 0
