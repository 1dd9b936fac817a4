"""Damaged logs: nothing is written of them, or exactly the transactions that are whole."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from binx.dataset.predecessors import SourceReport
from binx.errors import AbsentError, BinxError, DamagedError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, open_files
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.slices.extraction import ExtractReport, extract
from binx.slices.options import ExtractOptions, SliceFormat
from binx.where.condition import Condition
from tests.conftest import TESTDATA
from tests.exports import export
from tests.log import building as b

SHOP = TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000001"
SMALL = TESTDATA / "mysql-9.7" / "small"
STRIDE = 8 if os.environ.get("BINX_EVERY_BIT") else 997
SALVAGE = OnDamage.SALVAGE


def exported(path: Path, folder: Path, on_damage: OnDamage = SALVAGE) -> SourceReport:
    (report,) = export(folder, [path], on_damage=on_damage)
    return report


def written(folder: Path, data: bytes, name: str = "mysql-bin.000001") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    return path


def cut_out(
    path: Path,
    output: Path,
    form: SliceFormat = SliceFormat.BINLOG,
    *,
    on_damage: OnDamage = SALVAGE,
    selection: Selection | None = None,
    rows: bool = False,
) -> ExtractReport:
    options = ExtractOptions(format=form, on_damage=on_damage, rows=rows)
    with open_chain([str(path)], on_damage=on_damage) as chain:
        return extract(chain, selection or Selection(), str(output), options)


def spans(path: Path) -> dict[str, tuple[int, int]]:
    with BinlogFile.open(str(path)) as file:
        return {
            table.gtid(index) or str(table.value("start", index)): (
                table.value("start", index),
                table.value("end", index),
            )
            for table in Scan(file, Level.LEVEL_EVENTS)
            for index in range(len(table))
        }


@pytest.fixture
def hit(tmp_path: Path) -> tuple[Path, set[str]]:
    """A log with three damaged places, and the GTIDs of the transactions that they touch."""
    data = bytearray(SHOP.read_bytes())
    places = [(20_000, 1), (90_000, 5000), (200_000, 300)]
    for start, size in places:
        data[start : start + size] = bytes(byte ^ 0x5A for byte in data[start : start + size])
    touched = {
        gtid
        for gtid, (first, end) in spans(SHOP).items()
        if any(first < start + size and start < end for start, size in places)
    }
    return written(tmp_path / "hit", bytes(data)), touched


def test_nothing_is_written_of_a_damaged_log(hit: tuple[Path, set[str]], tmp_path: Path) -> None:
    for form in SliceFormat:
        with pytest.raises(DamagedError):
            cut_out(hit[0], tmp_path / "out", form, on_damage=OnDamage.STOP)
    with pytest.raises(DamagedError):
        exported(hit[0], tmp_path / "lake", OnDamage.STOP)
    assert not (tmp_path / "out").exists()
    assert not list((tmp_path / "lake").glob("_manifest/*"))


def test_salvage_writes_a_binary_log_of_all_whole_transactions(
    hit: tuple[Path, set[str]], tmp_path: Path
) -> None:
    path, touched = hit
    report = cut_out(path, tmp_path / "mysql-bin.000001")
    known = spans(SHOP)
    assert list(spans(tmp_path / "mysql-bin.000001")) == [gtid for gtid in known if gtid not in touched]
    assert report.transactions == len(known) - len(touched)
    assert len(report.damage) == 3
    assert all(one.startswith(f"{path}: bytes ") for one in report.damage)


@pytest.mark.parametrize("form", [SliceFormat.JSON, SliceFormat.SQL])
def test_salvage_writes_text_of_all_whole_transactions(
    hit: tuple[Path, set[str]], tmp_path: Path, form: SliceFormat
) -> None:
    """As text they are what the undamaged log gives for them."""
    path, touched = hit
    report = cut_out(path, tmp_path / "salvaged", form)
    lost = GtidSet.parse(",".join(touched))
    cut_out(SHOP, tmp_path / "whole", form, on_damage=OnDamage.STOP, selection=Selection(exclude_gtids=lost))
    assert report.transactions == len(spans(SHOP)) - len(touched)
    if form is SliceFormat.JSON:
        salvaged, whole = (
            [json.loads(line) for line in (tmp_path / name).read_text("utf-8").splitlines()]
            for name in ("salvaged", "whole")
        )
        for one in [*salvaged, *whole]:
            one.pop("seqno", None)
        assert salvaged == whole
    else:
        # Generated columns and ON UPDATE are known from DDL alone, and so not after damage.
        salvaged, whole = (
            re.findall(r"GTID_NEXT *= *'[^']*'|^[A-Z]+ (?:INTO|FROM)? ?`.*?`\.`.*?`", text, re.MULTILINE)
            for text in ((tmp_path / name).read_text("utf-8") for name in ("salvaged", "whole"))
        )
        # Several rows of one table may be one statement.
        assert len(salvaged) > report.transactions
        assert salvaged == whole


def rows(folder: Path) -> list[Any]:
    pattern = folder / "changes" / "*" / "*" / "*.parquet"
    query = (
        "SELECT filename, _commit_version, _row, _change_type, _transaction"
        f" FROM read_parquet('{pattern}', union_by_name=true, filename=true) ORDER BY ALL"
    )
    found: list[Any] = duckdb.connect().execute(query).fetchall()
    return [(Path(one[0]).parent.name, *one[1:]) for one in found]


def test_salvage_writes_parquet_of_all_whole_transactions(hit: tuple[Path, set[str]], tmp_path: Path) -> None:
    path, touched = hit
    report = exported(path, tmp_path / "salvaged")
    exported(SHOP, tmp_path / "whole", OnDamage.STOP)
    whole = rows(tmp_path / "whole")
    assert rows(tmp_path / "salvaged") == [one for one in whole if one[-1] not in touched]
    manifest = report.manifest
    assert len(manifest["damage"]) == 3
    assert all(one["end"] > one["start"] for one in manifest["damage"])
    assert sum("could not be read" in loss for loss in manifest["losses"]) == 3
    assert GtidSet.parse(manifest["gtid_set"]).isdisjoint(GtidSet.parse(",".join(touched)))
    for one in manifest["conservation"]:
        assert one["images"] == one["written"] + one["filtered"] + one["undecodable"]
    assert exported(path, tmp_path / "salvaged").kept


def test_a_whole_log_is_salvaged_to_what_it_is(tmp_path: Path) -> None:
    report = exported(SHOP, tmp_path / "salvaged")
    plain = exported(SHOP, tmp_path / "plain", OnDamage.STOP)
    assert report.manifest["damage"] == plain.manifest["damage"] == []
    assert report.manifest["files"] == plain.manifest["files"]
    assert "on_damage" not in plain.manifest["request"]
    cut_out(SHOP, tmp_path / "salvaged.binlog")
    cut_out(SHOP, tmp_path / "plain.binlog", on_damage=OnDamage.STOP)
    assert (tmp_path / "salvaged.binlog").read_bytes() == (tmp_path / "plain.binlog").read_bytes()


# What has no checksums, and is found out only when it is decoded.


def undecodable_log(value: int) -> bytes:
    """Two transactions around one of two rows events; the last image's null bitmap and value are given."""
    good = (b.BEGIN, b.table_map(), b.rows(1, 2), b.xid())
    bad = (
        b.BEGIN,
        b.table_map(),
        b.rows(3),
        b.json_map(table_id=10),
        b.json_rows(value, table_id=10),
        b.xid(),
    )
    return b.whole_log(b.gtid(1), *good, b.gtid(2), *bad, b.gtid(3), *good, b.STOP)


def test_a_transaction_that_cannot_be_decoded_to_its_end_leaves_no_row(tmp_path: Path) -> None:
    path = written(tmp_path / "log", undecodable_log(0xEE))
    with pytest.raises(BinxError):
        exported(path, tmp_path / "stopped", OnDamage.STOP)
    report = exported(path, tmp_path / "lake")
    transactions = [one[-1] for one in rows(tmp_path / "lake")]
    assert transactions == [f"{b.UUID_TEXT}:{number}" for number in (1, 1, 3, 3)]
    (damage,) = report.manifest["damage"]
    assert damage["cause"] == "undecodable"
    assert damage["gtid"] == f"{b.UUID_TEXT}:2"
    conservation = {one["table"]: one for one in report.manifest["conservation"]}
    assert conservation["orders"]["undecodable"] == 1
    assert conservation["documents"]["undecodable"] == 1
    assert report.manifest["gtid_set"] == f"{b.UUID_TEXT}:1:3"


def test_such_a_transaction_is_left_out_of_text_too(tmp_path: Path) -> None:
    path = written(tmp_path / "log", undecodable_log(0xEE))
    report = cut_out(path, tmp_path / "out", SliceFormat.JSON)
    lines = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").splitlines()]
    assert [line["gtid"] for line in lines] == [f"{b.UUID_TEXT}:1", f"{b.UUID_TEXT}:3"]
    (damage,) = report.damage
    assert damage.startswith("a transaction is left out: ")
    assert f"{b.UUID_TEXT}:2" in damage
    assert report.transactions == 2


def test_where_nothing_is_whole_the_damage_is_reported(tmp_path: Path) -> None:
    data = bytearray(b.whole_log(b.gtid(1), b.BEGIN, b.table_map(), b.rows(1), b.xid(), b.STOP))
    start = len(b.whole_log(b.gtid(1), b.BEGIN))
    data[start : start + 19] = bytes(19)
    path = written(tmp_path / "log", bytes(data))
    with pytest.raises(AbsentError, match="are damaged"):
        cut_out(path, tmp_path / "out")


# Any damage at all.


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["tagged_gtids", "row_image_minimal", "compressed", "rollback"])
def test_whatever_bit_is_flipped_only_whole_transactions_come_out(name: str, tmp_path: Path) -> None:
    source = SMALL / f"{name}.binlog"
    original = source.read_bytes()
    whole = written(tmp_path / "whole", original)
    cut_out(whole, tmp_path / "whole.json", SliceFormat.JSON, on_damage=OnDamage.STOP)
    known = [bare(line) for line in (tmp_path / "whole.json").read_text("utf-8").splitlines()]
    begins, first = spans(source), open_files([str(source)])[0].first_position
    for bit in range(first * 8, len(original) * 8, STRIDE):
        data = bytearray(original)
        data[bit // 8] ^= 1 << bit % 8
        path = written(tmp_path / "flipped", bytes(data))
        with pytest.raises(BinxError):
            cut_out(path, tmp_path / "out.json", SliceFormat.JSON, on_damage=OnDamage.STOP)
        report = cut_out(path, tmp_path / "out.json", SliceFormat.JSON)
        assert len(report.damage) == 1
        lines = [bare(line) for line in (tmp_path / "out.json").read_text("utf-8").splitlines()]
        hit = any(start <= bit // 8 < end for start, end in begins.values())
        assert len(lines) == len(known) - hit, bit
        assert all(line in known for line in lines), bit


def bare(line: str) -> Any:
    """A transaction's line without its number in the chain, and without columns' names: DDL may be lost."""
    document = json.loads(line)
    document.pop("seqno", None)
    for change in document.get("changes", ()):
        for image in ("before", "after"):
            if isinstance(change.get(image), dict):
                change[image] = list(change[image].values())
    return document


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["no_checksum"])
def test_without_checksums_any_flipped_bit_gives_an_answer_or_an_error(name: str, tmp_path: Path) -> None:
    original = (SMALL / f"{name}.binlog").read_bytes()
    for bit in range(200 * 8, len(original) * 8, STRIDE // 2):
        data = bytearray(original)
        data[bit // 8] ^= 1 << bit % 8
        path = written(tmp_path / "flipped", bytes(data))
        for form in SliceFormat:
            for on_damage in OnDamage:
                try:
                    cut_out(path, tmp_path / "out", form, on_damage=on_damage)
                except BinxError:
                    continue
        for on_damage in OnDamage:
            try:
                exported(path, tmp_path / f"lake-{on_damage.value}", on_damage)
            except BinxError:
                continue


def orders_log(*, damaged: bool) -> bytes:
    """A table's definition and an insert, some bytes that may be damaged, and two inserts more."""
    insert = (b.BEGIN, b.table_map(), b.rows(1), b.xid())
    before = (b.gtid(1), b.query("CREATE TABLE orders (id INT)"), b.gtid(2), *insert)
    data = bytearray(b.whole_log(*before, b.gtid(3), *insert, b.gtid(4), *insert, b.STOP))
    if damaged:
        start = len(b.whole_log(*before))
        data[start : start + 19] = bytes(19)
    return bytes(data)


@pytest.mark.parametrize("damaged", [False, True])
def test_after_damage_no_name_is_guessed(tmp_path: Path, damaged: bool) -> None:
    """The lost bytes may have held ALTER TABLE: only what the log says of columns afterwards is believed."""
    path = written(tmp_path / "log", orders_log(damaged=damaged))
    cut_out(path, tmp_path / "out", SliceFormat.JSON, rows=True)
    lines = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").splitlines()]
    after = [line["after"] for line in lines if "after" in line]
    assert after == ([{"id": 1}, {"c1": 1}] if damaged else [{"id": 1}, {"id": 1}, {"id": 1}])
    exported(path, tmp_path / "lake")
    query = f"SELECT * FROM read_parquet('{tmp_path}/lake/changes/shop/orders/*', union_by_name=true)"
    columns = {one[0] for one in duckdb.connect().execute(query).description or ()}
    assert {"id", "c1"} & columns == ({"id", "c1"} if damaged else {"id"})


@pytest.mark.parametrize("damaged", [False, True])
def test_after_damage_a_condition_knows_no_table(tmp_path: Path, damaged: bool) -> None:
    """What was called id before may be another column now."""
    path = written(tmp_path / "log", orders_log(damaged=damaged))
    (report,) = export(tmp_path / "lake", [path], on_damage=SALVAGE, where=Condition("id = 1"))
    assert report.manifest["gtid_set"] == f"{b.UUID_TEXT}:{'2' if damaged else '2-4'}"
    assert len(rows(tmp_path / "lake")) == report.rows == (1 if damaged else 3)


@pytest.mark.parametrize("damaged", [False, True])
def test_nor_does_it_in_the_logs_after_one_that_is_there_already(tmp_path: Path, damaged: bool) -> None:
    first = written(tmp_path / "log", orders_log(damaged=damaged))
    insert = (b.BEGIN, b.table_map(), b.rows(1), b.xid())
    second = written(tmp_path / "log", b.whole_log(b.gtid(5), *insert, b.STOP), "mysql-bin.000002")
    export(tmp_path / "lake", [first], on_damage=SALVAGE, where=Condition("id = 1"))
    kept, report = export(tmp_path / "lake", [first, second], on_damage=SALVAGE, where=Condition("id = 1"))
    assert (kept.kept, report.kept) == (True, False)
    assert report.manifest["gtid_set"] == ("" if damaged else f"{b.UUID_TEXT}:5")
